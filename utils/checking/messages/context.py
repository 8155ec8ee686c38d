"""What a sentence about a problem can speak of: the exercise, the case, what was expected and what came."""

from utils.checking.messages.shapes import symbolic
from utils.checking.records import FrozenCase, FrozenExercise, Observation


class Context:
    """One case of an exercise as it was judged; `reveal` says whether its numbers may be shown."""

    def __init__(self, exercise: FrozenExercise, frozen: FrozenCase, seen: Observation, reveal: bool):
        self.exercise, self.case, self.expected, self.seen, self.reveal = (
            exercise,
            frozen.case,
            frozen.expected,
            seen,
            reveal,
        )

    @property
    def returns(self) -> str:
        names = [name for name, _ in self.exercise.outputs]
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    def shape(self, shape: tuple, output: str, expected: tuple) -> str:
        """A shape of an output in symbols, and in numbers where the case may be shown.

        An output whose declaration has a size of its own, such as the length of what is decoded, is spoken of in the
        symbols of its declaration alone; another's sizes would fit by accident.
        """
        own = dict(self.exercise.outputs)[output].split()
        sizes = self.case.sizes
        if len(own) == len(expected) and not all(symbol in sizes for symbol in own):
            sizes = dict(zip(own, expected))
        sizes = {
            symbol: sizes[symbol] for symbol in (*own, *sizes) if symbol in sizes
        }  # where sizes coincide, its own count
        text = symbolic(shape, sizes, tuple(own))
        return f"{text} = {list(shape)}" if self.reveal and text != str(list(shape)) else text

    def pairs(self):
        """(name, expected output, received output), for every output."""
        names = [name for name, _ in self.exercise.outputs]
        return zip(names, self.expected.outputs, self.seen.outputs)
