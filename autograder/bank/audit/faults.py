"""What an audit found wrong, in one line for each cause."""

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from autograder.bank.cases.drawing import EDGE
from autograder.settings import ROOT
from utils.checking.judging.verdict import Result
from utils.checking.messages.describing import describe
from utils.checking.records import FrozenExercise

MOST = 3  # names that are listed for one cause
_PLACE = re.compile(r"^(\S+) · (.*) — ")  # what a fault of a single case begins with


@dataclass(frozen=True)
class Fault:
    """One fault of an exercise.

    Attributes:
        what: the fault in words, with {} for the names of the misconceptions, alternatives or answers that have it.
        name: the name of a misconception, an alternative or an answer; faults that differ in this alone have one cause.
        place: the case on which the fault was observed.
        hint: what to do about the fault.
    """

    exercise: str
    what: str
    name: str = ""
    place: str = ""
    hint: str = ""

    @classmethod
    def of(cls, exercise: FrozenExercise, result: Result, kind: str, name: str) -> "Fault":
        """The fault of a right answer that fails; where it fails under conditions alone, the hint is to waive them."""
        failed = [verdict for verdict in result.verdicts if not verdict.passed]
        conditions = sorted({verdict.condition for verdict in failed} - {EDGE})
        said = re.split(r"[.:?;]\s", describe(exercise, failed[0]).sentence)[0]
        place = f"{failed[0].property}: {said}"
        if "" in conditions or any(verdict.condition == EDGE for verdict in failed):
            return cls(result.exercise, f"{kind} fails: {{}}", name, place)
        under = " and ".join(conditions)
        return cls(result.exercise, f"{kind} fails under {under} alone: {{}}", name, place, waive(conditions))


def waive(conditions: list[str]) -> str:
    """What an author may do about conditions that do not apply."""
    reasons = ", ".join(f'"{condition}": "why"' for condition in conditions)
    return f"where the text does not ask for that, waived={{{reasons}}}"


def told(faults: list[Fault]) -> tuple[str, ...]:
    """A line for each cause: what is wrong, for which names, where it was observed first, and what to do."""
    causes: dict[tuple, list[Fault]] = {}
    for fault in faults:
        fault = _with_place(fault)
        causes.setdefault((fault.exercise, re.sub(r"\d[\d.e+-]*", "#", fault.what), fault.hint), []).append(fault)
    return tuple(_fault_line(cause) for cause in causes.values())


def _with_place(fault: Fault) -> Fault:
    """The fault with its place taken from the case that its text begins with."""
    match = _PLACE.match(fault.what)
    return Fault(fault.exercise, fault.what[match.end() :], fault.name, match[2], fault.hint) if match else fault


def _fault_line(cause: list[Fault]) -> str:
    first = cause[0]
    names = list(dict.fromkeys(fault.name for fault in cause if fault.name))
    places = list(dict.fromkeys(fault.place for fault in cause if fault.place))
    words = first.what.replace("{}", _first_names(names))
    where = f" ({places[0]}{f'; and {len(places) - 1} more' if len(places) > 1 else ''})" if places else ""
    own = words.removeprefix(f"{first.exercise}: ")
    return f"{first.exercise}: {own}{where}{'; ' + first.hint if first.hint else ''}"


def _first_names(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def because(error: Exception) -> str:
    """An error in one line, with the last place in a declaration that it passed through."""
    text = (str(error).strip().splitlines() or [""])[0]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "exercises" in Path(frame.filename).parts]
    where = ""
    if frames:
        last = frames[-1]
        where = f", at {Path(last.filename).relative_to(ROOT)}:{last.lineno}: {last.line}"
    return f"{type(error).__name__}: {text}{where}"
