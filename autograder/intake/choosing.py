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
from autograder.intake.guard import guarded
from autograder.intake.notebook_file import MAX_VALUES, parse
from autograder.intake.places import Places, plain

SAME = 60.0  # seconds: files that were packed or copied together differ by less, and it says nothing
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
        """The more, the better: work; then what is damaged and may hold some; what is as handed out; another notebook."""
        kind = 2 if self.is_damaged else -1 if self.fault else 0 if self.other else 1
        return len(self.done), 0 if self.done else kind

    @property
    def is_meant(self) -> bool:
        """Whether it stands for what was handed in though it holds no work."""
        return self.candidate.is_meant or not (self.other or self.fault)


def choose(lying: Places, reader: Reader) -> tuple[Candidate | None, list[str]]:
    """The candidate to grade, and what is to be said about the choice; None if there is none.

    One that is alone is not read any further here: whoever grades it sees what it is.
    """
    found = reader.read(lying.near)
    if len(found) == 1 and found[0].is_meant and (not lying.far or _is_begun(found[0], reader.unit)):
        return found[0], _called(found[0], reader)
    weighed = _weighed(found, reader)
    if not any(one.done for one in weighed) and lying.far:
        away = _weighed(reader.read(lying.far), reader)
        weighed += [one for one in away if one.done]
    meant = [one for one in weighed if one.done or one.is_meant]
    if not meant:
        return None, []
    best = max(one.rank for one in meant)
    equal = [one for one in meant if one.rank == best]
    chosen = _newest(equal)
    rest = [one for one in weighed if one is not chosen]
    return chosen.candidate, [*_called(chosen.candidate, reader), *_left(chosen, rest, reader.unit)]


@guarded(lambda *_: False)
def _is_begun(candidate: Candidate, unit: str) -> bool:
    form = contents.handed_out(unit)
    notebook = None if candidate.data is None else parse(candidate.data)[0]
    if notebook is None:
        return False
    return not contents.other(notebook, unit, form) and contents.is_begun(notebook, form)


def _weighed(found: list[Candidate], reader: Reader) -> list[Weighed]:
    left, weighed = MAX_VALUES, []
    for one in found:
        values = sum(map((one.data or b"").count, (b",", b"[", b"{")))
        left -= values
        weighed.append(_weigh(one, reader.unit) if left >= 0 else _unread(None, one, reader.unit))
    return weighed


def _unread(
    error: BaseException | None, candidate: Candidate, unit: str, fault: str = "It is too large to be compared."
) -> Weighed:
    names = contents.handed_out(unit).exercises
    may_hold = candidate.is_meant if candidate.data is None else any(one.encode() in candidate.data for one in names)
    return Weighed(candidate, fault=fault, is_damaged=candidate.is_asked or may_hold)


@guarded(_unread)
def _weigh(candidate: Candidate, unit: str) -> Weighed:
    form = contents.handed_out(unit)
    notebook, fault, _ = parse(candidate.data) if candidate.data is not None else (None, candidate.fault, [])
    if notebook is None:
        return _unread(None, candidate, unit, fault)
    if said := contents.other(notebook, unit, form):
        return Weighed(candidate, other=said)
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
    """Of several that hold as much, the newest: by a date in its name, its own times, its number, or its file's time.

    Where only the file's time would tell, the one under its proper name comes first: files get new times when they are copied.
    """
    ages: tuple[tuple[Callable[[Weighed], Any], float], ...] = (  # what tells the age, and from which difference on
        (_day, 0),
        (lambda one: one.run, 0),
        (_packed, SAME),
        (_number, 0),
        (_is_asked, 0),
        (_file_time, SAME),
    )
    for told, apart in ages:
        said = [told(one) for one in equal]
        if len(equal) > 1 and None not in said:
            equal = [
                one for one, value in zip(equal, said) if value == max(said) or apart and max(said) - value < apart
            ]
    return equal[0]


def _day(one: Weighed) -> tuple | None:
    name = one.candidate.name
    days = [tuple(int(part or 0) for part in match.groups()) for match in _DAY.finditer(name)]
    days += [(int(y), int(m), int(d), 0, 0) for d, m, y, _, _ in _EUROPEAN_DAY.findall(name)]
    return days[-1] if days else None


def _is_asked(one: Weighed) -> bool:
    return one.candidate.is_asked


def _packed(one: Weighed) -> float | None:
    return one.candidate.packed


def _number(one: Weighed) -> tuple:
    """The numbers that copies and attempts get: of the folders, then of the file; a copy of a copy is newer than a copy."""
    *folders, file = PurePosixPath(_DAY.sub("", one.candidate.name)).parts
    return max(map(_numbered, folders), default=(0, 0)), _numbered(file)


def _numbered(name: str) -> tuple[int, int]:
    stem = re.sub(r"\.(ipynb|zip|json|txt)\b", "", name, flags=re.IGNORECASE)
    numbers = [int(next(filter(None, match.groups()))) for match in _NUMBER.finditer(stem)]
    return max(numbers, default=0), len(_COPY.findall(stem))


@guarded(lambda *_: None)
def _file_time(one: Weighed) -> float | None:
    return one.candidate.packed or os.stat(one.candidate.file, follow_symlinks=False).st_mtime


def _called(one: Candidate, reader: Reader) -> list[str]:
    """Where the notebook was found, if that is not where it should have been."""
    if one.is_asked:
        return []
    if one.inside:
        which = "" if PurePosixPath(one.inside).name == f"{reader.unit}.ipynb" else f", as {plain(one.inside)}"
        return [f"The notebook was handed in inside {plain(one.file.name)}{which}; it was taken out of it."]
    return [f"The notebook was called {plain(one.name)}; it was read in the place of {reader.unit}.ipynb."]


def _left(chosen: Weighed, rest: list[Weighed], unit: str) -> list[str]:
    """What else was there, and why it was not taken; those that hold most first."""
    if not rest:
        return []
    rest = sorted(rest, key=lambda one: one.rank, reverse=True)
    aside = ", ".join(f"{plain(one.candidate.name)} ({_holds(one)})" for one in rest[:3])
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


def _holds(one: Weighed) -> str:
    if one.done:
        return f"{len(one.done)} done"
    if one.fault:
        return "cannot be read"
    found = re.match(r"This is ((?:lesson|assignment) \d\d)", one.other)
    return found[1] if found else "another notebook" if one.other else "as handed out"
