"""Finds what the failures of one kind have in common: facts that hold for all of them, or for most."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from utils.checking.conditions import MAGNITUDES, ConditionName
from utils.checking.explaining.explanation import Finding
from utils.checking.explaining.facts import Fact, Facts, Trait, common, mostly
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Verdict

SHORT = 3  # positions that an axis must have before a fact speaks of its first or last

Look = Callable[[Verdict], Facts]  # gives the facts of a verdict


@dataclass(frozen=True)
class Failing:
    """The verdict on a case that fails, with the facts about it that a message may name."""

    verdict: Verdict
    facts: Facts

    @property
    def plain(self) -> Facts:
        """The facts without those that any look at the numbers shows."""
        return [fact for fact in self.facts if not fact.kind.has(Trait.LOOK)]

    @property
    def looks(self) -> Facts:
        return [fact for fact in self.facts if fact.kind.has(Trait.LOOK)]


def failures_like(shown: Verdict, verdicts: Sequence[Verdict], look: Look) -> list[Failing]:
    """The failures of the same kind as the shown one, on ordinary inputs or else under its own condition, with their facts."""
    kin = [verdict for verdict in verdicts if is_kin(verdict, shown) and verdict.part == shown.part]
    kin = [verdict for verdict in kin if not verdict.condition and not verdict.extreme] or [
        verdict for verdict in kin if (verdict.condition, verdict.extreme) == (shown.condition, shown.extreme)
    ]
    first = shown if shown in kin else kin[0]
    # where cases share one set of numbers, places are accidents
    accidental = Trait.PLACE | Trait.STEP if first.extreme or first.condition in MAGNITUDES else Trait(0)
    facts_by_verdict = [(verdict, [fact for fact in look(verdict) if not fact.kind.has(accidental)]) for verdict in kin]
    return [
        Failing(verdict, [fact for fact in facts if not _is_contradicted(fact, first, verdicts, look)])
        for verdict, facts in facts_by_verdict
    ]


def is_kin(one: Verdict, other: Verdict) -> bool:
    """Whether two cases fail in the same way: all problems of numbers alone count as one way."""
    return one.problem == other.problem or one.of_numbers and other.of_numbers


def _is_contradicted(fact: Fact, shown: Verdict, verdicts: Sequence[Verdict], look: Look) -> bool:
    """Whether another case of the part contradicts a fact.

    A fact about places along an axis is contradicted by a case with wrong numbers that does not show it, whatever its condition,
    and by an ordinary case that passes. A fact about each input, or each number, is contradicted by any case that fails in the
    same way without showing it.
    """
    part = [verdict for verdict in verdicts if verdict.part == shown.part]
    if fact.kind.has(Trait.PLACE):
        ordinary = [verdict for verdict in part if not verdict.extreme]
        others = [
            verdict
            for verdict in ordinary
            if verdict.of_numbers or verdict.passed and not verdict.condition and not verdict.near
        ]
        long = [
            verdict for verdict in others if verdict.case.sizes.get(fact.axis, 0 if verdict.passed else SHORT) >= SHORT
        ]
        return any(fact not in look(verdict) for verdict in long)
    return fact.kind.has(Trait.UNIVERSAL) and any(
        fact not in look(verdict) for verdict in part if is_kin(verdict, shown)
    )


def in_common(
    shown: Failing, kin: Sequence[Failing], verdicts: Sequence[Verdict], look: Look
) -> tuple[list[Finding], bool]:
    """What failures have in common, and whether a message names it beside the problem rather than in its place."""
    different = len({tuple(failing.verdict.case.given_sizes.items()) for failing in kin})
    facts = _versions_of(shown, common([failing.plain for failing in kin], different=different))
    beside = shown.verdict.problem is Problem.NOT_FINITE  # facts say where NaN comes from
    findings = [Finding(fact) for fact in facts]
    if not all(fact.kind.has(Trait.OPEN) for fact in facts):
        return findings, beside
    # open facts say where to look, not what for
    influence = _by_influence(shown.verdict, verdicts, look)
    if influence:
        return findings + influence, beside or not facts
    most = mostly([failing.plain for failing in kin], shown.plain)
    findings += [Finding(fact, on_most=True) for fact in most if fact not in facts]
    if len(findings) == len(facts) and shown.verdict.of_numbers:
        findings += map(Finding, _versions_of(shown, common([failing.looks for failing in kin], different=different)))
    return findings, beside


def _versions_of(shown: Failing, facts: Facts) -> Facts:
    """The shown case's own versions of facts: the sentences of equal facts may differ from case to case."""
    return [shown.facts[shown.facts.index(fact)] for fact in facts]


def _by_influence(shown: Verdict, verdicts: Sequence[Verdict], look: Look) -> list[Finding]:
    """Facts about inputs that a wrong result depends on and should not, or should and does not, where gradients were observed."""
    if not shown.of_numbers or shown.condition or shown.extreme:
        return []
    with_gradients = [
        verdict for verdict in verdicts if verdict.condition == ConditionName.GRADIENTS and verdict.of_numbers
    ]
    own = [verdict for verdict in with_gradients if verdict.part == shown.part]
    facts = common([[fact for fact in look(verdict) if fact.kind.has(Trait.INFLUENCE)] for verdict in own])
    return [Finding(fact, case=own[0].property) for fact in facts]
