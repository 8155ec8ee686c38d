"""What came of judging: a verdict for each case, and a result for the exercise."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from utils.checking.records import DrawnCase

ROBUSTNESS = (
    0.25  # the share of a part's points for what holds everywhere: types, layouts, sizes, magnitudes, repeated calls
)


@dataclass(frozen=True)
class Verdict:
    """What one case showed.

    Attributes:
        property: what the case examined.
        part: the part of the exercise whose points depend on it.
        problem: the kind of failure ("wrong_shape", "exception", ...), None where the case passed.
        sentence: what was wrong, for a student; empty where the case passed.
        detail: the numbers that show it; empty for a case that the student may not see.
        matches: the misconceptions that would have given just what was observed.
        compared: the misconceptions that were held against what was observed; of others nothing is known here.
        silent: those of them that give what is expected here.
        near: the case passed, but not by much: what fails elsewhere may be wrong here too, within tolerance.
        extreme: the case's numbers are large on purpose.
        facts: what wrong numbers have in common with the right ones, by key: see `utils.checking.explaining`.
        case: the case itself, for what is true of all that fail.
        idea: what failed is the idea, which has the points of its part; else it costs no more than `ROBUSTNESS` of them.
        undefined: some number of a result or of a gradient is NaN; of what stands for all cases, on any of them.
        where: of what stands for all cases, what is true of those that fail and of no other, where a misconception needs it.
        condition: the condition that the case adds to what the author declared; empty for a declared case.
    """

    property: str
    part: str
    problem: str | None
    sentence: str
    detail: str
    matches: tuple
    compared: tuple = ()
    silent: tuple = ()
    condition: str = ""
    facts: Mapping = field(default_factory=dict)
    extreme: bool = False
    near: bool = False
    undefined: bool = False
    where: str = ""
    case: DrawnCase | None = field(default=None, compare=False, repr=False)
    idea: bool = False

    @property
    def passed(self) -> bool:
        return self.problem is None


@dataclass(frozen=True)
class Result:
    """What all cases of an exercise together showed."""

    exercise: str
    points: float
    max_points: float
    problem: str | None
    misconception: str | None
    message: str
    verdicts: tuple
    relation: str | None = None  # what was found by comparing numbers, where no misconception explains them

    @property
    def passed(self) -> bool:
        return self.problem is None
