"""The records of an explanation: a misconception, or what the failures have in common. Messages put them into words."""

from dataclasses import dataclass

from utils.checking.explaining.circumstances import Circumstance
from utils.checking.explaining.facts import Fact
from utils.checking.judging.verdict import Verdict


@dataclass(frozen=True)
class Finding:
    """A fact that a message names, and the cases on which it holds.

    Attributes:
        case: the headline of the case with the fact, where that is another case than the shown one.
        on_most: the fact holds on most of the inputs on which the code fails, not on all.
    """

    fact: Fact
    case: str = ""
    on_most: bool = False


@dataclass(frozen=True)
class Boundary:
    """The conditions or circumstances under which alone code fails.

    Attributes:
        condition: the condition under which alone anything fails; empty if ordinary inputs fail too.
        near_enough: results that pass are off by a little, too.
        circumstance: what is true of every case that fails, and of none that passes.
        only: no other property fails.
    """

    condition: str = ""
    near_enough: bool = False
    circumstance: Circumstance | None = None
    only: bool = False

    @property
    def names(self) -> list[str]:
        """The boundary's parts in short, for counting: "under large", "only here", "where N is 1"."""
        parts = [
            ("under", self.condition),
            ("only", "here" if self.only else ""),
            ("where", self.circumstance.words if self.circumstance else ""),
        ]
        return [f"{what} {words}" for what, words in parts if words]


@dataclass(frozen=True)
class Explanation:
    """The explanation of the failures of an exercise.

    Attributes:
        shown: the verdict that a student is shown.
        misconception: the name of the misconception that explains the failures; None where none does.
        where: what is true of the cases that fail and of no others, where the misconception needs it.
        is_undefined: on some case a number of a result or of a gradient is NaN.
        called_by: "name" or "position" where results are right unless arguments come in this way.
        findings: what the failures of the kind that is shown have in common.
        beside: the message names the findings beside the problem, not in its place.
        boundary: the conditions or circumstances under which alone the code fails.
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
        """The names of the findings, where no misconception explains the failures; None where there are none."""
        if self.misconception:
            return None
        if self.called_by:
            return f"called by {self.called_by}"
        names = [finding.fact.name for finding in self.findings if not finding.case and not finding.on_most]
        others = ["more"] * any(finding.case or finding.on_most for finding in self.findings)
        return ", ".join(names + others + self.boundary.names) or None
