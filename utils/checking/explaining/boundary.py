"""Looks for what parts the cases that fail from those that pass: a condition, or a circumstance of the inputs."""

from collections.abc import Sequence

from utils.checking.conditions import EXTREME, FINER, MAGNITUDES, ConditionName
from utils.checking.explaining.circumstances import Circumstance, has_large_numbers, where
from utils.checking.explaining.explanation import Boundary
from utils.checking.explaining.facts import Facts, Kind
from utils.checking.judging.problems import About, Problem
from utils.checking.judging.verdict import Verdict

PLAIN = ("", ConditionName.EDGE)  # of cases that an author declared
MANY_PASS = 3  # more cases than fail, before it is told that one property alone fails


def boundary_of(shown: Verdict, facts: Facts, verdicts: Sequence[Verdict]) -> Boundary:
    """Under what alone code fails that no misconception explains.

    What is wrong by little may pass elsewhere because it is within tolerance there: then only the size of numbers is told.

    Args:
        facts: what is known of the verdict that is shown.
    """
    if shown.problem is Problem.NOT_QUITE_ZERO:  # what is merely small elsewhere may pass there
        return Boundary()
    failed = [one for one in verdicts if not one.passed]
    condition = _condition(shown, failed)
    if any(fact.kind is Kind.CLOSE for fact in facts) and any(one.near for one in verdicts):
        return Boundary(condition if condition in MAGNITUDES else "", near_enough=True)
    one_property = len({one.property for one in failed}) == 1 and len(verdicts) > len(failed) + MANY_PASS
    circumstance = circumstance_of(shown, verdicts)
    return Boundary(condition, circumstance=circumstance, only=not condition and one_property)


def circumstance_of(shown: Verdict, verdicts: Sequence[Verdict]) -> Circumstance | None:
    """What is true of all inputs on which code fails and of none on which it passes; sought where it can be about inputs."""
    if shown.problem is None or shown.problem.has(About.WHOLE):
        return None
    known = [one for one in verdicts if not one.case.elsewhere]
    failed, passed = ([one.case for one in known if one.passed == good] for good in (False, True))
    return where(failed, passed)


def _condition(shown: Verdict, failed: Sequence[Verdict]) -> str:
    """The one condition that accounts for all failures; empty if ordinary inputs fail too, or other conditions do."""
    large = any(map(_is_large_alone, failed))  # in another type, layout or size too, if not there alone
    under = {ConditionName.LARGE if large and _is_large(one) else one.condition for one in failed}
    if under & set(PLAIN):
        return ""
    if ConditionName.LARGE in under and under <= EXTREME:
        return ConditionName.LARGE
    return "" if under - {shown.condition} - FINER else shown.condition


def _is_large(one: Verdict) -> bool:
    """Whether a case is extreme, and is so by the size of its numbers."""
    return one.extreme and has_large_numbers(one.case)


def _is_large_alone(one: Verdict) -> bool:
    """Whether the size of its numbers is all that is unusual about a case."""
    return one.condition in (*PLAIN, *MAGNITUDES) and not one.case.precision and _is_large(one)
