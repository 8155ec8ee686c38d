"""The records that judging gives: a verdict for each case, and a result for the exercise."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from utils.checking.judging.problems import Problem
from utils.checking.records import DrawnCase, FrozenCase, Observation


@dataclass(frozen=True, eq=False)
class Verdict:
    """The judgement of one case.

    Attributes:
        frozen: the case, with what is expected of it and what each misconception gives.
        observation: what was observed, as it was judged.
        problem: what is wrong; None where the case passed.
        matches: the misconceptions that would have given just what was observed.
        near: the case passed, but not by much: what fails elsewhere may be wrong here too, within tolerance.
        misses_idea: the failure is one of the exercise's idea, and costs all points of the part; else it costs no more than the
            share for robustness.
    """

    frozen: FrozenCase
    observation: Observation
    problem: Problem | None
    matches: tuple[str, ...] = ()
    near: bool = False
    misses_idea: bool = False

    @property
    def passed(self) -> bool:
        return self.problem is None

    @property
    def case(self) -> DrawnCase:
        return self.frozen.case

    @property
    def part(self) -> str:
        """The part of the exercise whose points depend on the case."""
        return self.case.part

    @property
    def condition(self) -> str:
        """The condition that the case adds to what the author declared; empty for a declared case."""
        return self.case.condition

    @property
    def extreme(self) -> bool:
        """Whether the case's numbers are large on purpose."""
        return self.case.extreme

    @property
    def of_numbers(self) -> bool:
        """Whether results of the right shape and type hold wrong numbers."""
        return self.problem is not None and self.problem.of_numbers

    def compared_with(self, misconception: str) -> bool:
        """Whether the misconception was compared with the observation; nothing is known here about others."""
        return misconception in self.frozen.mistakes

    def is_silent(self, misconception: str) -> bool:
        """Whether the misconception gives the expected results on this case."""
        return self.compared_with(misconception) and self.frozen.mistakes[misconception] is None

    @cached_property
    def is_undefined(self) -> bool:
        """Whether the case failed, and some number of a result or of a gradient is NaN."""
        return not self.passed and has_nan(self.observation)

    @property
    def property(self) -> str:  # the last one, since its name hides Python's own from here on
        """What the case examined, in the words of a headline."""
        return self.case.property


def has_nan(observation: Observation) -> bool:
    """Whether some number of a result, or of a gradient, is NaN."""
    arrays = [*(output.values for output in observation.outputs), *observation.gradients.values()]
    return any(array is not None and array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in arrays)


@dataclass(frozen=True)
class Result:
    """The judgement of an exercise from all its cases.

    Attributes:
        relation: names of the facts that were found by comparing numbers, where no misconception explains them.
    """

    exercise: str
    points: float
    max_points: float
    problem: str | None
    misconception: str | None
    message: str
    verdicts: tuple[Verdict, ...]
    relation: str | None = None

    @property
    def passed(self) -> bool:
        return self.problem is None
