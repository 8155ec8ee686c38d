"""The cases on which an exercise of a submission is examined: a few joint ones at first, all where something fails on these."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property, lru_cache

import numpy as np

from autograder.bank import catalogue
from autograder.bank.cases.drawing import draw
from autograder.bank.cases.joining import joined
from autograder.bank.declaration import Exercise
from autograder.bank.freezing import allow_for_rounding, expect, frozen_exercise, in_sizes, measure_in_units
from autograder.bank.rounding import TINY
from utils.checking.concluding import conclude
from utils.checking.judging.judge import passes
from utils.checking.judging.verdict import Result, Verdict
from utils.checking.packs.packing import pack
from utils.checking.records import DrawnCase, FrozenCase, FrozenExercise, Observation

_WORDS = ("property", "condition", "once")  # what does not change what is expected of a case
_FIELDS = [field.name for field in fields(DrawnCase) if field.name not in _WORDS]
# All threads of a worker share torch's settings, which are set aside while references run.
_COMPUTING = threading.RLock()


class Look:
    """Cases of an exercise, as they are sent to a job, and what is expected of each, which is computed where it is asked for."""

    def __init__(self, exercise: Exercise, cases: Sequence[DrawnCase], known: dict | None = None):
        """Looks at the same numbers share what is `known` of these."""
        self.exercise, self.cases, self.known = exercise, cases, {} if known is None else known

    @cached_property
    def packed(self) -> list[str]:
        """The cases in JSON."""
        return [json.dumps(pack(case)) for case in self.cases]

    def prepare(self) -> None:
        """Computes all that is needed to tell whether a right answer is right."""
        _ = self.packed, self.bare, self.nearly_expected

    @cached_property
    def bare(self) -> FrozenExercise:
        """The exercise without its cases."""
        return frozen_exercise(self.exercise, [])

    def is_passed(self, place: int, observation: Observation) -> bool:
        """Whether an observation is right, before any room for rounding.

        How far rounding moves a number is measured only where numbers are not right to within their own size.
        """
        if passes(self.bare, self.nearly_expected[place], observation):
            return True
        return self.cases[place].single and passes(self.bare, self.expected[place], observation)

    def is_within_rounding(self, place: int, observation: Observation) -> bool:
        """Whether an observation is right with the room that rounding needs, which is measured here at the latest."""
        return passes(self.bare, self._allowing(self.cases[place]), observation)

    @cached_property
    def mistakes(self) -> list[dict]:
        """For each case, the results of misconceptions, as far as they were needed."""
        return [{} for _ in self.cases]

    @cached_property
    def nearly_expected(self) -> list[FrozenCase]:
        """The cases with the reference's observations; where each number counts by its own size, all to within half of it."""
        return [_in_halves(self._observed(case)) if case.single else self._observed(case) for case in self.cases]

    @cached_property
    def expected(self) -> list[FrozenCase]:
        """The cases with the reference's observations, with the sizes of numbers as far as rounding moves them."""
        return [self._measured(case) for case in self.cases]

    def _observed(self, case: DrawnCase) -> FrozenCase:
        return self._once("observed", case, lambda: expect(self.exercise, case))

    def _measured(self, case: DrawnCase) -> FrozenCase:
        return self._once("measured", case, lambda: measure_in_units(self.exercise, self._observed(case)))

    def _allowing(self, case: DrawnCase) -> FrozenCase:
        return self._once("allowing", case, lambda: allow_for_rounding(self.exercise, self._measured(case)))

    def _once(self, what: str, case: DrawnCase, compute: Callable[[], FrozenCase]) -> FrozenCase:
        """What was computed for the same numbers before, or else is now, in the words of this case."""
        key = (what, *_numbers_and_ways(case))
        with _COMPUTING:
            if key not in self.known:
                self.known[key] = compute()
        known = self.known[key]
        return replace(known, case=replace(known.case, **{word: getattr(case, word) for word in _WORDS}))

    @cached_property
    def lenient(self) -> list[FrozenCase]:
        """What is expected, with room for rounding; measured only where something failed."""
        return [self._allowing(case) for case in self.cases]

    @cached_property
    def right(self) -> Result:
        """The result of an answer that is right on every case."""
        cases = [FrozenCase(case, Observation()) for case in self.cases]
        return conclude(frozen_exercise(self.exercise, cases), [Verdict(case, case.expected, None) for case in cases])

    def among(self, places: Sequence[int]) -> "Look":
        """A look at some of the cases alone."""
        return Look(self.exercise, [self.cases[place] for place in places], self.known)


@lru_cache(maxsize=1024)
def whole_look(name: str, seed: str) -> Look:
    """All cases of an exercise that a seed draws; they are drawn once and kept."""
    exercise = catalogue.find_exercise(name)
    return Look(exercise, draw(exercise, seed, grading=True))


@lru_cache(maxsize=1024)
def first_look(name: str, seed: str) -> Look:
    """The joint cases that stand for all of them as long as nothing fails."""
    whole = whole_look(name, seed)
    return Look(whole.exercise, joined(whole.cases), whole.known)


def joint_places(first: Look, whole: Look) -> list[int]:
    """Where among the cases of a first look those lie that examine several things at once."""
    own = {case.property for case in whole.cases}
    return [place for place, case in enumerate(first.cases) if case.property not in own]


def _numbers_and_ways(case: DrawnCase) -> list:
    """What tells a case's numbers, and how they are passed, from those of other cases; what is known of a case keeps it alive."""
    values = [getattr(case, name) for name in _FIELDS]
    return [tuple(zip(value, map(id, value.values()))) if isinstance(value, dict) else value for value in values]


def _in_halves(frozen: FrozenCase) -> FrozenCase:
    """The case in units of half the size of each number: no more than rounding alone may move it, or its size."""
    return in_sizes(frozen, tuple(np.maximum(np.abs(output.numbers) / 2, TINY) for output in frozen.expected.outputs))
