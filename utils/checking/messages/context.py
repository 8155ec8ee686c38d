"""What a sentence about a problem may speak of: the exercise, the case, the expected observation and the actual one."""

from collections.abc import Iterator

from utils.checking.judging.verdict import Verdict
from utils.checking.messages.shapes import symbolic
from utils.checking.records import DrawnCase, Failure, FrozenExercise, Observation, Output


class Context:
    """One judged case of an exercise, with the texts that sentences about it need."""

    def __init__(self, exercise: FrozenExercise, verdict: Verdict):
        self.exercise = exercise
        self.case: DrawnCase = verdict.case
        self.expected: Observation = verdict.frozen.expected
        self.observation: Observation = verdict.observation
        self.may_show_numbers = not exercise.is_hidden and not verdict.frozen.units

    @property
    def failure(self) -> Failure:
        """The failure of an observation without output, for sentences about it."""
        assert self.observation.failure is not None
        return self.observation.failure

    @property
    def returns(self) -> str:
        names = [name for name, _ in self.exercise.outputs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def shape(self, shape: tuple, output: str, expected: tuple) -> str:
        """A shape of an output in symbols, and in numbers where the case may be shown.

        Where an output's declaration has a size that no input has, such as the length of a decoded sequence, only the symbols of
        this declaration are used: another axis' size would fit by accident.
        """
        own = dict(self.exercise.outputs)[output].split()
        sizes = self.case.sizes
        if len(own) == len(expected) and not all(symbol in sizes for symbol in own):
            sizes = dict(zip(own, expected))
        # where sizes coincide, the output's own symbols come first
        sizes = {symbol: sizes[symbol] for symbol in (*own, *sizes) if symbol in sizes}
        text = symbolic(shape, sizes, tuple(own))
        return f"{text} = {list(shape)}" if self.may_show_numbers and text != str(list(shape)) else text

    def pairs(self) -> Iterator[tuple[str, Output, Output]]:
        """(name, expected output, actual output), for every output."""
        names = [name for name, _ in self.exercise.outputs]
        return zip(names, self.expected.outputs, self.observation.outputs)
