"""What the failures of one kind have in common: facts that hold of all of them, or of most."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from utils.checking.conditions import MAGNITUDES, ConditionName
from utils.checking.explaining.explanation import Finding
from utils.checking.explaining.facts import Fact, Facts, Trait, common, mostly
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Verdict

SHORT = 3  # positions along an axis before anything is told of its first or last

Look = Callable[[Verdict], Facts]  # gives the facts of a verdict


@dataclass(frozen=True)
class Failing:
    """A case that fails, with the facts about it that may be told."""

    verdict: Verdict
    facts: Facts

    @property
    def plain(self) -> Facts:
        """The facts but for those that any look shows."""
        return [fact for fact in self.facts if not fact.kind.has(Trait.LOOK)]

    @property
    def looks(self) -> Facts:
        return [fact for fact in self.facts if fact.kind.has(Trait.LOOK)]


def alike(shown: Verdict, verdicts: Sequence[Verdict], look: Look) -> list[Failing]:
    """The failures of the kind that is shown, on ordinary inputs or under its own condition, with the facts that hold of them."""
    kin = [one for one in verdicts if is_kin(one, shown) and one.part == shown.part]
    kin = [one for one in kin if not one.condition and not one.extreme] or [
        one for one in kin if (one.condition, one.extreme) == (shown.condition, shown.extreme)
    ]
    first = shown if shown in kin else kin[0]
    # where cases share one set of numbers, places are accidents
    accidental = Trait.PLACE | Trait.STEP if first.extreme or first.condition in MAGNITUDES else Trait(0)
    known = [(one, [fact for fact in look(one) if not fact.kind.has(accidental)]) for one in kin]
    return [
        Failing(one, [fact for fact in facts if not _is_belied(fact, first, verdicts, look)]) for one, facts in known
    ]


def is_kin(one: Verdict, other: Verdict) -> bool:
    """Whether two cases fail in one way: all that is wrong with numbers alone counts as one."""
    return one.problem == other.problem or one.of_numbers and other.of_numbers


def _is_belied(fact: Fact, shown: Verdict, verdicts: Sequence[Verdict], look: Look) -> bool:
    """Whether another case of the part speaks against a fact.

    Of facts about places along an axis that is one that fails in another way, whatever its condition, or an ordinary one that is
    right at all places; of those that speak of each input, or of each number, any that fails without showing them.
    """
    part = [one for one in verdicts if one.part == shown.part]
    if fact.kind.has(Trait.PLACE):
        ordinary = [one for one in part if not one.extreme]
        others = [one for one in ordinary if one.of_numbers or one.passed and not one.condition and not one.near]
        long = [one for one in others if one.case.sizes.get(fact.axis, 0 if one.passed else SHORT) >= SHORT]
        return any(fact not in look(one) for one in long)
    return fact.kind.has(Trait.UNIVERSAL) and any(fact not in look(one) for one in part if is_kin(one, shown))


def in_common(
    shown: Failing, kin: Sequence[Failing], verdicts: Sequence[Verdict], look: Look
) -> tuple[list[Finding], bool]:
    """What failures have in common, and whether it is to be told beside what is wrong rather than in its place."""
    different = len({tuple(one.verdict.case.given_sizes.items()) for one in kin})
    facts = _as_of(shown, common([one.plain for one in kin], different=different))
    beside = shown.verdict.problem is Problem.NOT_FINITE  # facts say where NaN comes from
    findings = [Finding(fact) for fact in facts]
    if not all(fact.kind.has(Trait.OPEN) for fact in facts):
        return findings, beside
    influence = _by_influence(shown.verdict, verdicts, look)  # open facts tell where to look, and not for what
    if influence:
        return findings + influence, beside or not facts
    most = mostly([one.plain for one in kin], shown.plain)
    findings += [Finding(fact, on_most=True) for fact in most if fact not in facts]
    if len(findings) == len(facts) and shown.verdict.of_numbers:
        findings += map(Finding, _as_of(shown, common([one.looks for one in kin], different=different)))
    return findings, beside


def _as_of(shown: Failing, facts: Facts) -> Facts:
    """The facts as the case that is shown has them: sentences may differ from case to case."""
    return [shown.facts[shown.facts.index(fact)] for fact in facts]


def _by_influence(shown: Verdict, verdicts: Sequence[Verdict], look: Look) -> list[Finding]:
    """What a wrong result depends on and should not, or the other way round, where gradients were seen."""
    if not shown.of_numbers or shown.condition or shown.extreme:
        return []
    with_gradients = [one for one in verdicts if one.condition == ConditionName.GRADIENTS and one.of_numbers]
    own = [one for one in with_gradients if one.part == shown.part]
    facts = common([[fact for fact in look(one) if fact.kind.has(Trait.INFLUENCE)] for one in own])
    return [Finding(fact, case=own[0].property) for fact in facts]
