"""Chooses, of all the notebooks that a student handed in, the one that holds most work on the unit; says what else was there."""

import calendar
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from nbformat import NotebookNode

from autograder.intake import contents
from autograder.intake.candidates import Candidate, Reader
from autograder.intake.guard import SECONDS, guarded
from autograder.intake.notebook_file import MAX_VALUES, parse
from autograder.intake.places import Places, plain

# Seconds: the times of files that were packed or copied together differ by less, which says nothing of their ages.
SAME = 60.0
_DAY = re.compile(
    r"(?<!\d)(20\d\d)[-_. ]?(0[1-9]|1[0-2])[-_. ]?([0-2]\d|3[01])(?!\d)(?:[T_ -]+(\d\d)[-_.:h]?([0-5]\d)(?!\d))?"
)
_EUROPEAN_DAY = re.compile(r"(?<!\d)(\d\d?)[.](\d\d?)[.](20\d\d)()()")
_NUMBER = re.compile(
    r"(?:attempt|version|try|take|draft|submission|revision|rev|versuch|abgabe|\bv|_v)[\s_.-]*(\d{1,3})(?!\d)|\((\d{1,3})\)"
    r"|copy[\s_-]*(\d{1,3})|[-_ ](\d{1,3})(?=$|\.|-copy)",
    re.IGNORECASE,
)
_COPY = re.compile(r"\b(?:copy of|kopie von|copie de|copia de)\b|[-_ ](?:copy|kopie)\d*\b", re.IGNORECASE)


@dataclass(frozen=True)
class Weighed:
    """A candidate and what it holds."""

    candidate: Candidate
    done: frozenset[str] = frozenset()
    other: str = ""  # what it is instead of the unit's assignment
    fault: str = ""  # why it cannot be read
    is_damaged: bool = False  # it cannot be read, and there may be work in it
    run: float | None = None  # when a cell of it was last run, as Colab and JupyterLab note

    @cached_property
    def rank(self) -> tuple:
        """What candidates are compared by; the larger, the better.

        First comes how much work a candidate holds. Of those without work a damaged one, which may hold some, comes before
        one that is as handed out, which comes before another notebook.
        """
        kind = 2 if self.is_damaged else -1 if self.fault else 0 if self.other else 1
        return len(self.done), 0 if self.done else kind

    @property
    def is_meant(self) -> bool:
        """Whether it stands for what was handed in though it holds no work."""
        return self.candidate.is_meant or not (self.other or self.fault)


def choose(lying: Places, reader: Reader) -> tuple[Candidate | None, list[str]]:
    """The candidate to grade, and what is to be said about the choice; None if there is none.

    A candidate that is the only one is not read any further here: whoever grades it sees what it is.
    """
    candidates = reader.read(lying.near)
    if len(candidates) == 1 and candidates[0].is_meant and (not lying.far or _is_begun(candidates[0], reader.unit)):
        return candidates[0], _renaming_notes(candidates[0], reader)
    notebooks = _weigh_all(candidates, reader)
    if not any(notebook.done for notebook in notebooks) and lying.far:
        elsewhere = _weigh_all(reader.read(lying.far), reader)
        notebooks += [notebook for notebook in elsewhere if notebook.done]
    meant = [notebook for notebook in notebooks if notebook.done or notebook.is_meant]
    if not meant:
        return None, []
    best = max(notebook.rank for notebook in meant)
    equal = [notebook for notebook in meant if notebook.rank == best]
    chosen = _newest(equal)
    rest = [notebook for notebook in notebooks if notebook is not chosen]
    return chosen.candidate, [*_renaming_notes(chosen.candidate, reader), *_left_aside_notes(chosen, rest, reader.unit)]


@guarded(lambda *_: False, 3 * SECONDS)
def _is_begun(candidate: Candidate, unit: str) -> bool:
    form = contents.handed_out(unit)
    notebook = None if candidate.data is None else parse(candidate.data)[0]
    if notebook is None:
        return False
    return not contents.other(notebook, unit, form) and contents.is_begun(notebook, form)


def _weigh_all(candidates: list[Candidate], reader: Reader) -> list[Weighed]:
    values_left, notebooks = MAX_VALUES, []
    for candidate in candidates:
        values = sum(map((candidate.data or b"").count, (b",", b"[", b"{")))
        values_left -= values
        notebooks.append(
            _weigh(candidate, reader.unit) if values_left >= 0 else _unread_candidate(None, candidate, reader.unit)
        )
    return notebooks


def _unread_candidate(
    error: BaseException | None, candidate: Candidate, unit: str, fault: str = "It is too large to be compared."
) -> Weighed:
    names = contents.handed_out(unit).exercises
    may_hold = candidate.is_meant if candidate.data is None else any(name.encode() in candidate.data for name in names)
    return Weighed(candidate, fault=fault, is_damaged=candidate.is_asked or may_hold)


@guarded(_unread_candidate, 3 * SECONDS)  # its outputs may be long
def _weigh(candidate: Candidate, unit: str) -> Weighed:
    form = contents.handed_out(unit)
    notebook, fault, _ = parse(candidate.data) if candidate.data is not None else (None, candidate.fault, [])
    if notebook is None:
        return _unread_candidate(None, candidate, unit, fault)
    if other_notebook := contents.other(notebook, unit, form):
        return Weighed(candidate, other=other_notebook)
    return Weighed(candidate, contents.work(notebook, form), run=_last_run(notebook))


@guarded(lambda *_: None)
def _last_run(notebook: NotebookNode) -> float | None:
    stamps = []
    for cell in notebook.cells:
        colab, lab = cell.metadata.get("executionInfo", {}), cell.metadata.get("execution", {})
        if isinstance(colab.get("timestamp"), (int, float)):
            stamps.append(colab["timestamp"] / 1000)
        if isinstance(started := lab.get("iopub.execute_input"), str):
            stamps.append(calendar.timegm(time.strptime(started[:19], "%Y-%m-%dT%H:%M:%S")))
    return max(stamps, default=None)


def _newest(equal: list[Weighed]) -> Weighed:
    """Of several notebooks that hold as much, the newest: by a date in its name, its own times, its number, or its file's time.

    Before the file's time counts, a notebook under its proper name wins: files get new times when they are copied.
    """
    # what tells a notebook's age, and from which difference on
    criteria: tuple[tuple[Callable[[Weighed], Any], float], ...] = (
        (_day_in_name, 0),
        (lambda notebook: notebook.run, 0),
        (_packed_at, SAME),
        (_copy_numbers, 0),
        (_is_asked, 0),
        (_file_time, SAME),
    )
    for criterion, least_difference in criteria:
        values = [criterion(notebook) for notebook in equal]
        if len(equal) > 1 and None not in values:
            equal = [
                notebook
                for notebook, value in zip(equal, values)
                if value == max(values) or least_difference and max(values) - value < least_difference
            ]
    return equal[0]


def _day_in_name(notebook: Weighed) -> tuple | None:
    name = notebook.candidate.name
    days = [tuple(int(part or 0) for part in match.groups()) for match in _DAY.finditer(name)]
    days += [(int(y), int(m), int(d), 0, 0) for d, m, y, _, _ in _EUROPEAN_DAY.findall(name)]
    return days[-1] if days else None


def _is_asked(notebook: Weighed) -> bool:
    return notebook.candidate.is_asked


def _packed_at(notebook: Weighed) -> float | None:
    return notebook.candidate.packed


def _copy_numbers(notebook: Weighed) -> tuple:
    """The numbers that copies and attempts get, of the folders first and then of the file.

    A copy of a copy is newer than a copy.
    """
    *folders, file = PurePosixPath(_DAY.sub("", notebook.candidate.name)).parts
    return max(map(_numbers_in, folders), default=(0, 0)), _numbers_in(file)


def _numbers_in(name: str) -> tuple[int, int]:
    stem = re.sub(r"\.(ipynb|zip|json|txt)\b", "", name, flags=re.IGNORECASE)
    numbers = [int(next(filter(None, match.groups()))) for match in _NUMBER.finditer(stem)]
    return max(numbers, default=0), len(_COPY.findall(stem))


@guarded(lambda *_: None)
def _file_time(notebook: Weighed) -> float | None:
    return notebook.candidate.packed or os.stat(notebook.candidate.file, follow_symlinks=False).st_mtime


def _renaming_notes(candidate: Candidate, reader: Reader) -> list[str]:
    """A sentence on where the notebook was found, if that is not where it should have been."""
    if candidate.is_asked:
        return []
    if candidate.inside:
        alias = (
            "" if PurePosixPath(candidate.inside).name == f"{reader.unit}.ipynb" else f", as {plain(candidate.inside)}"
        )
        return [f"The notebook was handed in inside {plain(candidate.file.name)}{alias}; it was taken out of it."]
    return [f"The notebook was called {plain(candidate.name)}; it was read in the place of {reader.unit}.ipynb."]


def _left_aside_notes(chosen: Weighed, rest: list[Weighed], unit: str) -> list[str]:
    """A sentence on the notebooks that were not taken, those that hold most first, and why the chosen one was."""
    if not rest:
        return []
    rest = sorted(rest, key=lambda notebook: notebook.rank, reverse=True)
    aside = ", ".join(f"{plain(notebook.candidate.name)} ({_contents_in_words(notebook)})" for notebook in rest[:3])
    aside += f" and {len(rest) - 3} more" if len(rest) > 3 else ""
    name, count = plain(chosen.candidate.name), f"Of {len(rest) + 1} notebooks"
    if not chosen.done:
        return [f"{count} none holds work on this assignment; {name} was read. Left aside: {aside}."]
    form = contents.handed_out(unit)
    held = f"{len(chosen.done)} of {len(form.exercises) + len(form.written)} exercises and answers"
    why = "the most work"
    if len(rest[0].done) == len(chosen.done):
        why = "as much as any" if chosen.candidate.is_asked else "as much as any, and is the newest"
    return [f"{count} {name} was taken, since it holds {why} ({held}). Left aside: {aside}."]


def _contents_in_words(notebook: Weighed) -> str:
    if notebook.done:
        return f"{len(notebook.done)} done"
    if notebook.fault:
        return "cannot be read"
    match = re.match(r"This is ((?:lesson|assignment) \d\d)", notebook.other)
    return match[1] if match else "another notebook" if notebook.other else "as handed out"
