"""Looks for the misconception that explains what failed, and chooses the verdict that a student is shown."""

from collections.abc import Sequence
from dataclasses import dataclass

from utils.checking.conditions import FINER, ConditionName
from utils.checking.explaining.boundary import circumstance_of
from utils.checking.explaining.circumstances import Circumstance
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenExercise


@dataclass(frozen=True)
class Diagnosis:
    """What is behind failures.

    Attributes:
        shown: the verdict that a student is shown.
        misconception: the name of the misconception that explains the failures; None where none does.
        where: the circumstance that the misconception needs: the value of an argument with which alone code fails.
    """

    shown: Verdict
    misconception: str | None = None
    where: Circumstance | None = None


def diagnose(exercise: FrozenExercise, verdicts: Sequence[Verdict], failed: Sequence[Verdict]) -> Diagnosis:
    """The misconception behind the failures, if there is one, and the verdict to show.

    Code that fails comes before code that is not written yet. A misconception is chosen that explains every failure; else one
    that explains all failures of the shown part and is contradicted by no other part, since each part may have a mistake of its
    own; else one that explains all failures where these are just the cases with a certain value of an argument. That value is
    the circumstance.
    """
    forbidden = next((verdict for verdict in failed if verdict.problem is Problem.FORBIDDEN_CALL), None)
    if forbidden:
        return Diagnosis(forbidden)
    written = [verdict for verdict in failed if verdict.problem is not Problem.UNFINISHED]
    written.sort(key=lambda verdict: verdict.condition in FINER and verdict.of_numbers)
    if not written:
        return Diagnosis(failed[0])
    shown = written[0]
    # wrong gradients show by the way under other conditions too
    if all(verdict.problem and verdict.problem.of_gradients for verdict in written):
        shown = next((verdict for verdict in written if verdict.condition == ConditionName.GRADIENTS), shown)
    misconception = _best_explanation(exercise, verdicts, written) or _explaining_part(
        exercise, shown.part, verdicts, written
    )
    where = None if misconception else circumstance_of(shown, verdicts)
    if where and where.of_an_argument:
        return Diagnosis(shown, _best_explanation(exercise, written, written), where)
    return Diagnosis(shown, misconception)


def _explaining_part(
    exercise: FrozenExercise, part: str, verdicts: Sequence[Verdict], written: Sequence[Verdict]
) -> str | None:
    """The misconception that explains all failures of a part, if no case of another part contradicts it."""
    here, elsewhere = ([verdict for verdict in verdicts if (verdict.part == part) == own] for own in (True, False))
    name = _best_explanation(exercise, here, [verdict for verdict in written if verdict.part == part])
    if name is None:
        return None
    universal = name in exercise.invented or name in exercise.universal
    return None if any(_contradicts(verdict, name, universal) for verdict in elsewhere) else name


def _contradicts(verdict: Verdict, name: str, universal: bool) -> bool:
    """Whether a case of another part speaks against a misconception; a `universal` one is said to hold for every result."""
    if not verdict.compared_with(name) or name in verdict.matches:
        return False
    # where the other case fails too, it may have a mistake of its own
    return verdict.passed or universal and not verdict.is_silent(name)


def _best_explanation(exercise: FrozenExercise, verdicts: Sequence[Verdict], failed: Sequence[Verdict]) -> str | None:
    """The misconception that predicts all failures and all plain cases that passed; None if there is none.

    Of several, declared ones come before invented ones, and then the one with the most right predictions.
    """
    candidates = [
        name
        for name in exercise.misconceptions
        if _explains(name, failed) and _is_not_contradicted(name, name in exercise.invented, verdicts, failed)
    ]
    return min(
        candidates, key=lambda name: (name in exercise.invented, -_net_predictions(name, verdicts)), default=None
    )


def _explains(name: str, failed: Sequence[Verdict]) -> bool:
    compared = [verdict for verdict in failed if verdict.compared_with(name)]
    return bool(compared) and all(name in verdict.matches for verdict in compared)


def _is_not_contradicted(name: str, invented: bool, verdicts: Sequence[Verdict], failed: Sequence[Verdict]) -> bool:
    """Whether no case contradicts a misconception.

    Under conditions, where sizes or tolerances are others, a declared misconception may predict a failure where the code passes,
    but not more often than it explains one. An invented one must predict every case that it was compared with, and never explains
    NaN alone.
    """
    own = [verdict for verdict in failed if name in verdict.matches]
    sure = any(verdict.problem is not Problem.NOT_FINITE for verdict in own)  # NaN matches NaN from any cause
    against = [other for other in verdicts if other.passed and other.compared_with(name) and name not in other.matches]
    if not against:
        return sure or not invented
    return sure and not invented and not any(verdict.case.plain for verdict in against) and len(against) <= len(own)


def _net_predictions(name: str, verdicts: Sequence[Verdict]) -> int:
    """The number of cases that a misconception predicts, less the number of those that it predicts wrongly."""
    return sum(
        (name in verdict.matches) - (verdict.compared_with(name) and name not in verdict.matches)
        for verdict in verdicts
    )
