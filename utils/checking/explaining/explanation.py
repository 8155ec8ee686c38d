"""What is behind failures, as data: a misconception, or what the failures have in common. The words are elsewhere."""

from dataclasses import dataclass

from utils.checking.explaining.circumstances import Circumstance
from utils.checking.explaining.facts import Fact
from utils.checking.judging.verdict import Verdict


@dataclass(frozen=True)
class Finding:
    """A fact that is to be told, and of what it holds.

    Attributes:
        case: the headline of the case that shows it, where that is another one than is shown.
        on_most: it holds on most of the inputs on which the code fails, not on all.
    """

    fact: Fact
    case: str = ""
    on_most: bool = False


@dataclass(frozen=True)
class Boundary:
    """Under what alone code fails.

    Attributes:
        condition: the condition under which alone anything fails; empty if ordinary inputs fail too.
        near_enough: what passes is off by a little, too.
        circumstance: what is true of all that fails, and of nothing that passes.
        only: no other property fails.
    """

    condition: str = ""
    near_enough: bool = False
    circumstance: Circumstance | None = None
    only: bool = False

    @property
    def names(self) -> list[str]:
        """For whoever counts: "under large", "only here", "where N is 1"."""
        parts = [
            ("under", self.condition),
            ("only", "here" if self.only else ""),
            ("where", self.circumstance.words if self.circumstance else ""),
        ]
        return [f"{what} {words}" for what, words in parts if words]


@dataclass(frozen=True)
class Explanation:
    """What is behind the failures of an exercise.

    Attributes:
        shown: the verdict that a student is shown.
        misconception: the name of the one that explains them; None where none does.
        where: what is true of the cases that fail and of no other, where the misconception needs it.
        is_undefined: on some case a number of a result or of a gradient is NaN.
        called_by: "name" or "position" where results are right unless arguments come in this way.
        findings: what the failures of the kind that is shown have in common.
        beside: the findings are told beside what is wrong, not in place of it.
        boundary: under what alone the code fails.
    """

    shown: Verdict
    misconception: str | None = None
    where: Circumstance | None = None
    is_undefined: bool = False
    called_by: str = ""
    findings: tuple[Finding, ...] = ()
    beside: bool = False
    boundary: Boundary = Boundary()

    @property
    def relation(self) -> str | None:
        """The names of what was found where no misconception explains the failures; None where nothing was."""
        if self.misconception:
            return None
        if self.called_by:
            return f"called by {self.called_by}"
        names = [one.fact.name for one in self.findings if not one.case and not one.on_most]
        others = ["more"] * any(one.case or one.on_most for one in self.findings)
        return ", ".join(names + others + self.boundary.names) or None
