"""The cases on which an exercise of a submission is examined: a few joint ones at first, all where something fails on these."""

from collections.abc import Sequence
from functools import cached_property, lru_cache

from autograder.bank import catalogue
from autograder.bank.cases.drawing import draw
from autograder.bank.cases.joining import joined
from autograder.bank.declaration import Exercise
from autograder.bank.freezing import allow_for_rounding, expect_in_units, frozen_exercise
from utils.checking.concluding import conclude
from utils.checking.judging.verdict import Result, Verdict
from utils.checking.packs.packing import pack
from utils.checking.records import DrawnCase, FrozenCase, Observation


class Look:
    """Cases of an exercise, as they are sent to a job, and what is expected of each, which is computed where it is asked for."""

    def __init__(self, exercise: Exercise, cases: Sequence[DrawnCase]):
        self.exercise, self.cases = exercise, cases

    @cached_property
    def packed(self) -> list[dict]:
        """The cases as plain data."""
        return pack(self.cases)

    @cached_property
    def mistakes(self) -> list[dict]:
        """For each case, the results of misconceptions, as far as they were needed."""
        return [{} for _ in self.cases]

    @cached_property
    def expected(self) -> list[FrozenCase]:
        """The cases with the reference's observations."""
        return [expect_in_units(self.exercise, case) for case in self.cases]

    @cached_property
    def lenient(self) -> list[FrozenCase]:
        """What is expected, with room for rounding; measured only where something failed."""
        return [allow_for_rounding(self.exercise, case) for case in self.expected]

    @cached_property
    def right(self) -> Result:
        """The result of an answer that is right on every case."""
        cases = [FrozenCase(case, Observation()) for case in self.cases]
        return conclude(frozen_exercise(self.exercise, cases), [Verdict(case, case.expected, None) for case in cases])

    def among(self, places: Sequence[int]) -> "Look":
        """A look at some of the cases alone."""
        part = Look(self.exercise, [self.cases[place] for place in places])
        part.expected = [self.expected[place] for place in places]
        return part


@lru_cache(maxsize=1024)
def whole_look(name: str, seed: str) -> Look:
    """All cases of an exercise that a seed draws; they are drawn once and kept."""
    exercise = catalogue.find_exercise(name)
    return Look(exercise, draw(exercise, seed, grading=True))


@lru_cache(maxsize=1024)
def first_look(name: str, seed: str) -> Look:
    """The joint cases that stand for all of them as long as nothing fails."""
    whole = whole_look(name, seed)
    return Look(whole.exercise, joined(whole.cases))


def joint_places(first: Look, whole: Look) -> list[int]:
    """Where among the cases of a first look those lie that examine several things at once."""
    own = {case.property for case in whole.cases}
    return [place for place, case in enumerate(first.cases) if case.property not in own]
