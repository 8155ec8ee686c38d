"""Finds facts about results with the right number of axes and a wrong size: what the size is, and which part of the right
numbers the result holds."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind, last_of_each
from utils.checking.messages.facts import sizes as words
from utils.checking.records import Output

RELATIVE, ABSOLUTE = 1e-3, 1e-4  # numbers of a wrong shape are compared coarsely with the right ones


class AgreeingPart(StrEnum):
    """Where a result whose axis has the wrong size agrees with the right one."""

    BEGINNING = "beginning"
    END = "end"
    BOTH_ENDS = "both ends"


class Agreement(NamedTuple):
    """The part in which a result agrees with the right one; of both ends, how many positions belong to the first."""

    part: AgreeingPart
    first: int = 0


def about_equal(expected: np.ndarray, actual: np.ndarray) -> bool:
    """Whether the numbers of two arrays of one shape are about the same."""
    return bool(np.allclose(actual, expected, rtol=RELATIVE, atol=ABSOLUTE))


def length_facts(name: str, axes: list[str], expected: Output, actual: Output, sizes: dict[str, int]) -> Facts:
    """Facts about each axis of the wrong size; where there is only one, also which part of the right numbers the result holds.

    Args:
        sizes: the sizes of the inputs' axes, and integers among the inputs, by name.
    """
    wrong = [place for place, (a, b) in enumerate(zip(expected.shape, actual.shape)) if a != b]
    for place in wrong:
        if not actual.shape[place]:
            sentence = words.empty(name, axis=axes[place], back=len(axes) - place)
            return [Fact(Kind.SHAPE_EMPTY, name, sentence=sentence)]
    facts = _shared_out(name, expected.shape, actual.shape) if len(wrong) > 1 else []
    for place in wrong:
        pair = expected.shape[place], actual.shape[place]
        facts += _size_facts(name, axes[place], len(axes) - place, *pair, sizes, alone=len(wrong) == 1)
    facts = last_of_each(facts)
    if len(wrong) > 1 or expected.values is None or actual.values is None:
        return facts
    (place,) = wrong
    part = _part_facts(name, axes[place], expected.values, actual.values, place)
    if part:
        return part + facts
    return facts if axes[place] in sizes else facts + _start_facts(name, axes[place], expected, actual, place)


def _shared_out(name: str, expected: tuple, actual: tuple) -> Facts:
    """Whether there are as many numbers as expected, along axes of other sizes."""
    if not np.prod(expected) == np.prod(actual) != 0 or sorted(expected) == sorted(actual):
        return []
    return [Fact(Kind.SHAPE_SHARED, name, sentence=words.shared_out(name))]


def _size_facts(
    name: str, axis: str, back: int, expected: int, actual: int, sizes: dict[str, int], alone: bool
) -> Facts:
    """Facts about one wrong size: it is 1, the size of another axis, more or less by a number, or one that never changes.

    Args:
        back: the place of the axis, counted from the last one, which is 1.
        alone: no other axis has a wrong size.
    """
    facts: Facts = []
    if actual == 1 and alone:
        facts.append(Fact(Kind.SHAPE_ONE, name, axis=axis, sentence=words.size_one(name, axis=axis, back=back)))
    facts += _size_of_another(name, axis, back, actual, sizes)
    if actual == 2 * expected:
        sentence = words.twice_as_long(name, axis=axis, back=back)
        facts.append(Fact(Kind.SHAPE_DOUBLE, name, axis=axis, evidence=2, sentence=sentence))
    value = f"too {'few' if actual < expected else 'many'} {abs(actual - expected)}"
    sentence = words.entries_off(name, axis=axis, back=back, difference=actual - expected)
    facts.append(Fact(Kind.SHAPE_COUNT, name, axis=axis, value=value, evidence=2, sentence=sentence))
    sentence = words.always(name, axis=axis, size=actual)
    facts.append(Fact(Kind.SHAPE_FIXED, name, axis=axis, value=actual, evidence=2, sentence=sentence))
    return facts


def _size_of_another(name: str, axis: str, back: int, actual: int, sizes: dict[str, int]) -> Facts:
    """Whether a size is that of another axis; where the axis is no input's, only if a single other axis has this size."""
    same = [other for other, size in sizes.items() if size == actual > 1 and other != axis]
    if axis in sizes:  # the size of any other axis follows from the exercise itself
        sentences = {other: words.size_of_another(name, axis=axis, back=back, other=other) for other in same}
        return [
            Fact(Kind.SHAPE_SIZE, name, axis=axis, value=other, evidence=2, sentence=sentence)
            for other, sentence in sentences.items()
        ]
    if len(same) != 1:
        return []
    sentence = words.over_another(name, axis=axis, other=same[0])
    return [Fact(Kind.SHAPE_OTHER, name, axis=axis, value=same[0], evidence=2, sentence=sentence)]


def _part_facts(name: str, axis: str, expected: np.ndarray, actual: np.ndarray, place: int) -> Facts:
    """The fact about which part of the right numbers lies along an axis of the wrong size."""
    agreement = _agreement(expected, actual, place)
    if agreement is None:
        return []
    length = _length_word(expected, actual, place)
    ending = _part_ending(agreement, actual.shape[place] - expected.shape[place])
    sentence = words.part(name, axis=axis, length=length, ending=ending)
    return [Fact(Kind.SHAPE_PART, name, axis=axis, value=f"{agreement.part} {length}", sentence=sentence)]


def _start_facts(name: str, axis: str, expected: Output, actual: Output, place: int) -> Facts:
    """Facts about an axis of the wrong size that begins right: at how many positions, and that it does at all."""
    count = _right_from_the_start(expected.numbers, actual.numbers, place)
    if not count:
        return []
    length = _length_word(expected.numbers, actual.numbers, place)
    right = words.right_at_first(name, axis=axis, length=length, count=count)
    begins = words.begins_right(name, axis=axis, length=length)
    return [
        Fact(Kind.SHAPE_START, name, axis=axis, value=count, sentence=right),
        Fact(Kind.SHAPE_START, name, axis=axis, sentence=begins),
    ]


def _length_word(expected: np.ndarray, actual: np.ndarray, axis: int) -> str:
    return "short" if actual.shape[axis] < expected.shape[axis] else "long"


def _right_from_the_start(expected: np.ndarray, actual: np.ndarray, axis: int) -> int:
    """The number of positions from the first on at which the numbers are right."""
    positions = range(min(expected.shape[axis], actual.shape[axis]))
    right = np.isclose(
        expected.take(positions, axis=axis), actual.take(positions, axis=axis), rtol=RELATIVE, atol=ABSOLUTE
    )
    right = right.all(axis=tuple(other for other in range(right.ndim) if other != axis))
    return int(np.argmin([*right, False]))


def _agreement(expected: np.ndarray, actual: np.ndarray, axis: int) -> Agreement | None:
    """The part in which a result and the right one agree, where one of them has all positions of the other; else None."""
    short, long = sorted((expected, actual), key=lambda values: values.shape[axis])
    count, more = short.shape[axis], long.shape[axis] - short.shape[axis]
    if not count:
        return None
    if about_equal(short, long.take(range(count), axis=axis)):
        return Agreement(AgreeingPart.BEGINNING)
    if about_equal(short, long.take(range(more, more + count), axis=axis)):
        return Agreement(AgreeingPart.END)
    for cut in range(1, count):
        if about_equal(short, np.delete(long, range(cut, cut + more), axis=axis)):
            return Agreement(AgreeingPart.BOTH_ENDS, first=cut)
    return None


def _part_ending(agreement: Agreement, difference: int) -> str:
    """The end of a sentence on a result with so many positions more than asked for, or fewer: in which part it is right."""
    too_long, count = difference > 0, abs(difference)
    if agreement.part is AgreeingPart.BEGINNING:
        return words.right_as_far(too_long=too_long)
    if agreement.part is AgreeingPart.END:
        return words.in_front(count=count) if too_long else words.beginning_missing()
    return words.in_the_middle(too_long=too_long, count=count, behind=agreement.first)
