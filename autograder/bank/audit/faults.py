"""What an audit found wrong, told in one line for each cause."""

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from autograder.bank.cases.drawing import EDGE
from autograder.settings import ROOT
from utils.checking.judging.verdict import Result
from utils.checking.messages.describing import describe
from utils.checking.records import FrozenExercise

MOST = 3  # names or places that are told of one cause
_PLACE = re.compile(r"^(\S+) · (.*) — ")  # what a fault of a single case begins with


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with an exercise.

    Attributes:
        what: in words, with {} for the names of those of which it is so.
        name: of a misconception, an alternative or an answer; faults that differ in this alone have one cause.
        place: the case on which it was seen.
        hint: what to do about it.
    """

    exercise: str
    what: str
    name: str = ""
    place: str = ""
    hint: str = ""

    @classmethod
    def of(cls, exercise: FrozenExercise, result: Result, kind: str, name: str) -> "Fault":
        """The fault that a right answer fails; where it does under conditions alone, they can be waived."""
        failed = [one for one in result.verdicts if not one.passed]
        conditions = sorted({one.condition for one in failed} - {EDGE})
        said = re.split(r"[.:?;]\s", describe(exercise, failed[0]).sentence)[0]
        place = f"{failed[0].property}: {said}"
        if "" in conditions or any(one.condition == EDGE for one in failed):
            return cls(result.exercise, f"{kind} fails: {{}}", name, place)
        under = " and ".join(conditions)
        return cls(result.exercise, f"{kind} fails under {under} alone: {{}}", name, place, waive(conditions))


def waive(conditions: list[str]) -> str:
    """What an author may do about conditions that do not apply."""
    reasons = ", ".join(f'"{one}": "why"' for one in conditions)
    return f"where the text does not ask for that, waived={{{reasons}}}"


def told(faults: list[Fault]) -> tuple[str, ...]:
    """A line for each cause: what is wrong, of whom, where it was seen first, and what to do."""
    causes: dict[tuple, list[Fault]] = {}
    for one in faults:
        one = _placed(one)
        causes.setdefault((one.exercise, re.sub(r"\d[\d.e+-]*", "#", one.what), one.hint), []).append(one)
    return tuple(_line(each) for each in causes.values())


def _placed(one: Fault) -> Fault:
    """The fault with the case that its words begin with as its place."""
    found = _PLACE.match(one.what)
    return Fault(one.exercise, one.what[found.end() :], one.name, found[2], one.hint) if found else one


def _line(cause: list[Fault]) -> str:
    first = cause[0]
    names = list(dict.fromkeys(one.name for one in cause if one.name))
    places = list(dict.fromkeys(one.place for one in cause if one.place))
    said = first.what.replace("{}", _some(names))
    where = f" ({places[0]}{f'; and {len(places) - 1} more' if len(places) > 1 else ''})" if places else ""
    own = said.removeprefix(f"{first.exercise}: ")
    return f"{first.exercise}: {own}{where}{'; ' + first.hint if first.hint else ''}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def because(error: Exception) -> str:
    """An error in one line, with the last place in a declaration that it passed through."""
    text = (str(error).strip().splitlines() or [""])[0]
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "exercises" in Path(one.filename).parts]
    where = ""
    if frames:
        last = frames[-1]
        where = f", at {Path(last.filename).relative_to(ROOT)}:{last.lineno}: {last.line}"
    return f"{type(error).__name__}: {text}{where}"
