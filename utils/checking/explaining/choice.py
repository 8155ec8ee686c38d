"""Chooses what to tell of failures: a misconception that explains them, or what they have in common."""

from collections.abc import Sequence
from functools import cache

from utils.checking.conditions import ConditionName
from utils.checking.explaining.boundary import boundary_of
from utils.checking.explaining.explanation import Explanation
from utils.checking.explaining.facts import Facts
from utils.checking.explaining.misconceptions import diagnose
from utils.checking.explaining.relations import facts
from utils.checking.explaining.shared import Failing, Look, alike, in_common
from utils.checking.judging.problems import About, Problem
from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenExercise


def explain(exercise: FrozenExercise, verdicts: Sequence[Verdict]) -> Explanation:
    """What is behind the failures among the verdicts, of which there is one at least.

    What fails under a condition or a circumstance alone is told by it, before what was found about its numbers.
    """
    failed = [one for one in verdicts if not one.passed]
    misconception, shown, where = diagnose(exercise, verdicts, failed)
    if misconception:
        return Explanation(shown, misconception, where, is_undefined=any(one.is_undefined for one in verdicts))
    look: Look = cache(lambda one: _facts(exercise, one))
    kin = alike(shown, verdicts, look)
    chosen = next((one for one in kin if one.verdict.property == shown.property), kin[0])
    shown = chosen.verdict
    if all(_fails_by_its_call(one, shown) for one in failed):
        return Explanation(shown, called_by=shown.case.by)
    boundary = boundary_of(shown, chosen.facts, verdicts)
    # which names the cause: what any look shows would lead away from it
    if boundary.condition or boundary.circumstance:
        kin = [Failing(one.verdict, one.plain) for one in kin]
        chosen = Failing(shown, chosen.plain)
    findings, beside = in_common(chosen, kin, verdicts, look)
    return Explanation(shown, findings=tuple(findings), beside=beside, boundary=boundary)


def _facts(exercise: FrozenExercise, one: Verdict) -> Facts:
    """What is known of a case by its numbers: nothing where they are right, or where single numbers are not looked at."""
    comparable = one.problem is not None and one.problem.has(About.NUMBERS | About.SHAPE)
    if not comparable or one.frozen.is_sketched or one.case.rows or one.frozen.units:
        return []
    return facts(exercise, one.frozen, one.observation)


def _fails_by_its_call(one: Verdict, shown: Verdict) -> bool:
    """Whether code took its arguments and fails where they come in one of the two ways, not where defaults are left."""
    alone = one.condition == ConditionName.CALLS and bool(one.case.by) and one.case.by == shown.case.by
    return alone and one.problem is not Problem.WRONG_SIGNATURE
