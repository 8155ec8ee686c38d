"""Keeps the outcomes of grading, one line each, so that a run that was cut off goes on where it ended."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.outcomes import Outcome, is_record

# What every reader of an outcome relies on.
_NEEDED = {"student": str, "unit": str, "digest": str, "scores": dict, "comments": dict, "records": list}


class Journal:
    """A unit's outcomes by student, in a file that only grows while a run is under way.

    Each outcome is on disk before it is entered anywhere else; a line that a crash cut short is dropped. While a
    journal is open, no other run can open it; `wait_seconds` is how long to wait for one.

    Raises:
        KitError: another run has it open, or it holds a line that this version of the kit has not written.
    """

    def __init__(self, file: Path, left_out: tuple = ("notebook",), wait_seconds: float = 0.0):
        self.file, self.left_out = file, left_out
        file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = open(file.with_suffix(".lock"), "w")
        self._wait(time.monotonic() + wait_seconds)
        self.outcomes: dict[str, Outcome] = {}
        self.unrecorded: set[str] = set()
        self._read()

    def _wait(self, until: float) -> None:
        while True:
            try:
                return fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > until:
                    self._lock.close()
                    raise settings.KitError(f"another run is grading into {self.file}; wait for its end.") from None
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._opened.close()
        self._lock.close()

    def _read(self) -> None:
        whole = 0
        try:
            for entry, end in _entries(self.file):
                self._take(entry)
                whole = end
        except settings.KitError:
            self._lock.close()
            raise
        self._opened = open(self.file, "ab")
        if self._opened.tell() > whole:
            os.truncate(self.file, whole)
            self._opened.seek(whole)

    def _take(self, entry: dict) -> None:
        if "recorded" in entry:
            self.unrecorded -= set(entry["recorded"])
        else:
            self.outcomes[entry["student"]] = cast(Outcome, entry)
            self.unrecorded.add(entry["student"])

    def append(self, outcome: Outcome) -> None:
        """Notes an outcome; it is on disk when this returns. The graded notebook is a file of its own."""
        entry = {name: value for name, value in outcome.items() if name not in self.left_out}
        self._write(entry)
        self._take(json.loads(json.dumps(entry)))

    def recorded(self, students: list[str]) -> None:
        """Notes that these students' outcomes are in the gradebook."""
        if students:
            self._write({"recorded": sorted(students)})
            self.unrecorded -= set(students)

    def _write(self, entry: dict) -> None:
        start = self._opened.tell()
        try:
            self._opened.write(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self._opened.flush()
            os.fsync(self._opened.fileno())
        except OSError:
            os.truncate(self.file, start)
            raise

    def compact(self) -> None:
        """Rewrites the file with the last outcome of each student alone."""
        lines = [json.dumps(self.outcomes[student], ensure_ascii=False) for student in sorted(self.outcomes)]
        lines.append(json.dumps({"recorded": sorted(set(self.outcomes) - self.unrecorded)}))
        self._opened.close()
        write_atomically(self.file, "\n".join(lines) + "\n")
        self._opened = open(self.file, "ab")

    def discard(self) -> None:
        """Removes the file: its outcomes were taken over, or are not wanted."""
        self.file.unlink(missing_ok=True)


def journal_file(unit: str, kind: str = "journal") -> Path:
    """Where a unit's journal lies; `kind` is "regrade" for one whose outcomes wait to be accepted."""
    return settings.class_folder() / "results" / f"{unit}.{kind}.jsonl"


def load_outcomes(unit: str) -> dict[str, Outcome]:
    """The outcomes by student that a unit's journal holds, read without opening it; empty if there is none.

    Raises:
        KitError: it holds a line that this version of the kit has not written.
    """
    entries = (entry for entry, _ in _entries(journal_file(unit)))
    return {entry["student"]: cast(Outcome, entry) for entry in entries if "student" in entry}


def _entries(file: Path) -> Iterator[tuple[dict, int]]:
    """The entries of a journal, and where each one's line ends; a last line that was cut short is none.

    Raises:
        KitError: a line is none of this version of the kit.
    """
    lines, end = file.read_bytes().splitlines(keepends=True) if file.exists() else [], 0
    for number, line in enumerate(lines, 1):
        end += len(line)
        if not line.strip():
            continue
        try:
            entry, is_whole = json.loads(line), line.endswith(b"\n")
        except (ValueError, RecursionError):
            entry, is_whole = None, False
        if number == len(lines) and not is_whole:
            return
        if not _is_entry(entry):
            raise settings.KitError(
                f"{file}, line {number}: no outcome of this version of the kit; all other lines are as they were. Take this"
                " line out, or move the file away: marks stay in the gradebook, and submissions are graded again."
            )
        yield entry, end


def _is_entry(entry: object) -> bool:
    """Whether this version of the kit may have written an entry, and can work with it."""
    if not isinstance(entry, dict):
        return False
    if "recorded" in entry:
        return isinstance(entry["recorded"], list) and all(isinstance(name, str) for name in entry["recorded"])
    if not all(isinstance(entry.get(name), kind) for name, kind in _NEEDED.items()):
        return False
    return all(map(is_record, entry["records"]))
