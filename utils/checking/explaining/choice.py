"""Chooses what explains failures: a misconception, or what the failures have in common."""

from collections.abc import Sequence
from functools import cache

from utils.checking.conditions import ConditionName
from utils.checking.explaining.boundary import boundary_of
from utils.checking.explaining.explanation import Explanation
from utils.checking.explaining.facts import Facts
from utils.checking.explaining.misconceptions import diagnose
from utils.checking.explaining.relations import facts
from utils.checking.explaining.shared import Failing, Look, failures_like, in_common
from utils.checking.judging.problems import About, Problem
from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenExercise


def explain(exercise: FrozenExercise, verdicts: Sequence[Verdict]) -> Explanation:
    """The explanation of the failures among the verdicts; at least one verdict must be a failure.

    Where code fails under a condition or a circumstance alone, that explains it before any fact about its numbers.
    """
    failed = [verdict for verdict in verdicts if not verdict.passed]
    diagnosis = diagnose(exercise, verdicts, failed)
    shown = diagnosis.shown
    if diagnosis.misconception:
        is_undefined = any(verdict.is_undefined for verdict in verdicts)
        return Explanation(shown, diagnosis.misconception, diagnosis.where, is_undefined=is_undefined)
    look: Look = cache(lambda verdict: _known_facts(exercise, verdict))
    kin = failures_like(shown, verdicts, look)
    chosen = next((failing for failing in kin if failing.verdict.property == shown.property), kin[0])
    shown = chosen.verdict
    if all(_fails_by_its_call(verdict, shown) for verdict in failed):
        return Explanation(shown, called_by=shown.case.by)
    boundary = boundary_of(shown, chosen.facts, verdicts)
    # a boundary names the cause: facts that any look at the numbers shows would lead away from it
    if boundary.condition or boundary.circumstance:
        kin = [Failing(failing.verdict, failing.plain) for failing in kin]
        chosen = Failing(shown, chosen.plain)
    findings, beside = in_common(chosen, kin, verdicts, look)
    return Explanation(shown, findings=tuple(findings), beside=beside, boundary=boundary)


def _known_facts(exercise: FrozenExercise, verdict: Verdict) -> Facts:
    """The facts about a case's numbers: none where they are right, or where single numbers are not compared."""
    comparable = verdict.problem is not None and verdict.problem.has(About.NUMBERS | About.SHAPE)
    if not comparable or verdict.frozen.is_sketched or verdict.case.rows or verdict.frozen.units:
        return []
    return facts(exercise, verdict.frozen, verdict.observation)


def _fails_by_its_call(verdict: Verdict, shown: Verdict) -> bool:
    """Whether a case fails, as the shown one does, only because its arguments come by name, or by position."""
    alone = verdict.condition == ConditionName.CALLS and bool(verdict.case.by) and verdict.case.by == shown.case.by
    return alone and verdict.problem is not Problem.WRONG_SIGNATURE
