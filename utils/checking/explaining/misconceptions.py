"""Looks for the misconception that explains what failed, and chooses the verdict that a student is shown."""

from collections.abc import Sequence

from utils.checking.conditions import FINER, ConditionName
from utils.checking.explaining.boundary import circumstance_of
from utils.checking.explaining.circumstances import Circumstance
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenExercise

OF_ALL = "whatever"  # in a sentence that speaks of all that an argument may be


def diagnose(
    exercise: FrozenExercise, verdicts: Sequence[Verdict], failed: Sequence[Verdict]
) -> tuple[str | None, Verdict, Circumstance | None]:
    """The misconception behind what failed, or None; the verdict to show; and where alone the former holds, if not everywhere.

    What is written comes before what is not written yet. Best is a misconception that explains every failure; else one that
    explains all failures of the part that is shown and fails nowhere else, since each part may have a mistake of its own; or one
    that explains all failures where these are just the cases with an argument of some value, which is told with it.
    """
    forbidden = next((one for one in failed if one.problem is Problem.FORBIDDEN_CALL), None)
    if forbidden:
        return None, forbidden, None
    written = [one for one in failed if one.problem is not Problem.UNFINISHED]
    written.sort(key=lambda one: one.condition in FINER and one.of_numbers)
    if not written:
        return None, failed[0], None
    shown = written[0]
    if all(one.problem and one.problem.of_gradients for one in written):  # which other conditions show by the way
        shown = next((one for one in written if one.condition == ConditionName.GRADIENTS), shown)
    misconception = _explaining(exercise, verdicts, written) or _of_a_part(exercise, shown.part, verdicts, written)
    where = None if misconception else circumstance_of(shown, verdicts)
    if where and where.of_an_argument:
        return _explaining(exercise, written, written), shown, where
    return misconception, shown, None


def _of_a_part(
    exercise: FrozenExercise, part: str, verdicts: Sequence[Verdict], written: Sequence[Verdict]
) -> str | None:
    """The misconception that explains all failures of a part, if no case of another part belies it."""
    here, elsewhere = ([one for one in verdicts if (one.part == part) == own] for own in (True, False))
    name = _explaining(exercise, here, [one for one in written if one.part == part])
    universal = name is not None and (name in exercise.invented or OF_ALL in exercise.misconceptions[name])
    return None if name is None or any(_belies(one, name, universal) for one in elsewhere) else name


def _belies(one: Verdict, name: str, universal: bool) -> bool:
    """Whether a case of another part shows that a misconception is none or, if it is told of every result, not of this one."""
    if not one.compared_with(name) or name in one.matches:
        return False
    return one.passed or universal and not one.is_silent(name)  # where it fails too, it may have a mistake of its own


def _explaining(exercise: FrozenExercise, verdicts: Sequence[Verdict], failed: Sequence[Verdict]) -> str | None:
    """The misconception that predicts all of what failed, and all plain cases that passed; None if there is none.

    Of several it is one that was declared, and that is right most often.
    """
    candidates = [
        name
        for name in exercise.misconceptions
        if _explains(name, failed) and _holds(name, name in exercise.invented, verdicts, failed)
    ]
    return min(candidates, key=lambda name: (name in exercise.invented, -_times_right(name, verdicts)), default=None)


def _explains(name: str, failed: Sequence[Verdict]) -> bool:
    known = [one for one in failed if one.compared_with(name)]
    return bool(known) and all(name in one.matches for one in known)


def _holds(name: str, invented: bool, verdicts: Sequence[Verdict], failed: Sequence[Verdict]) -> bool:
    """Whether no case speaks against a misconception.

    Under conditions, where it may show by other sizes, or by a finer tolerance, it may fail where the code passes, but not more
    often than it explains. What nobody declared predicts all that it was held against, and explains no NaN.
    """
    own = [one for one in failed if name in one.matches]
    sure = any(one.problem is not Problem.NOT_FINITE for one in own)  # NaN is like NaN whatever made it
    against = [one for one in verdicts if one.passed and one.compared_with(name) and name not in one.matches]
    if not against:
        return sure or not invented
    return sure and not invented and not any(one.case.plain for one in against) and len(against) <= len(own)


def _times_right(name: str, verdicts: Sequence[Verdict]) -> int:
    """How many more cases a misconception predicts than it does not."""
    return sum((name in one.matches) - (one.compared_with(name) and name not in one.matches) for one in verdicts)
