"""Looks for what separates the cases that fail from those that pass: a condition, or a circumstance of the inputs."""

from collections.abc import Sequence

from utils.checking.conditions import EXTREME, FINER, MAGNITUDES, ConditionName
from utils.checking.explaining.circumstances import Circumstance, has_large_numbers, where
from utils.checking.explaining.explanation import Boundary
from utils.checking.explaining.facts import Facts, Kind
from utils.checking.judging.problems import About, Problem
from utils.checking.judging.verdict import Verdict

PLAIN = ("", ConditionName.EDGE)  # the conditions of cases that an author declared
MANY_PASS = 3  # more cases than this must pass before a message says that one property alone fails


def boundary_of(shown: Verdict, facts: Facts, verdicts: Sequence[Verdict]) -> Boundary:
    """The condition or the circumstance under which alone code fails, where no misconception explains it.

    A result that is wrong by little may pass elsewhere because it is within tolerance there: then only a condition of magnitude
    is named.

    Args:
        facts: what is known of the verdict that is shown.
    """
    if shown.problem is Problem.NOT_QUITE_ZERO:  # what is merely small elsewhere may pass there
        return Boundary()
    failed = [verdict for verdict in verdicts if not verdict.passed]
    condition = _only_condition(shown, failed)
    if any(fact.kind is Kind.CLOSE for fact in facts) and any(verdict.near for verdict in verdicts):
        return Boundary(condition if condition in MAGNITUDES else "", near_enough=True)
    one_property = len({verdict.property for verdict in failed}) == 1 and len(verdicts) > len(failed) + MANY_PASS
    circumstance = circumstance_of(shown, verdicts)
    return Boundary(condition, circumstance=circumstance, only=not condition and one_property)


def circumstance_of(shown: Verdict, verdicts: Sequence[Verdict]) -> Circumstance | None:
    """What is true of all inputs on which code fails and of none on which it passes; None where the problem is not of inputs."""
    if shown.problem is None or shown.problem.has(About.WHOLE):
        return None
    on_the_cpu = [verdict for verdict in verdicts if not verdict.case.elsewhere]
    failed, passed = ([verdict.case for verdict in on_the_cpu if verdict.passed == good] for good in (False, True))
    return where(failed, passed)


def _only_condition(shown: Verdict, failed: Sequence[Verdict]) -> str:
    """The name of the only condition under which code fails; empty if ordinary inputs fail too, or several conditions do."""
    large = any(map(_is_large_alone, failed))  # in another type, layout or size too, if not there alone
    under = {ConditionName.LARGE if large and _is_large(verdict) else verdict.condition for verdict in failed}
    if under & set(PLAIN):
        return ""
    if ConditionName.LARGE in under and under <= EXTREME:
        return ConditionName.LARGE
    return "" if under - {shown.condition} - FINER else shown.condition


def _is_large(verdict: Verdict) -> bool:
    """Whether a case is declared as extreme and has large numbers."""
    return verdict.extreme and has_large_numbers(verdict.case)


def _is_large_alone(verdict: Verdict) -> bool:
    """Whether the size of its numbers is all that is unusual about a case."""
    return verdict.condition in (*PLAIN, *MAGNITUDES) and not verdict.case.precision and _is_large(verdict)
