"""Finds facts about wrong shapes: what was done to the axes, and which of the right numbers the wrong shape holds."""

from collections.abc import Callable
from itertools import permutations

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind
from utils.checking.explaining.sizes import about_equal, length_facts
from utils.checking.messages.facts import shapes as words
from utils.checking.records import Output

_REDUCTIONS: dict[
    str, Callable[[np.ndarray, int], np.ndarray]
] = {  # ways to reduce an axis, or all of them, to one number
    "sum": lambda values, axis: values.sum(axis=axis),
    "mean": lambda values, axis: values.mean(axis=axis),
    "first": lambda values, axis: values.take(0, axis=axis),
    "last": lambda values, axis: values.take(-1, axis=axis),
    "largest": lambda values, axis: values.max(axis=axis),
    "smallest": lambda values, axis: values.min(axis=axis),
}
_MOST_AXES = 5  # up to so many axes, every order of them is tried


@np.errstate(all="ignore")  # sums of the largest numbers overflow
def shape_facts(name: str, axes: list[str], expected: Output, actual: Output, sizes: dict[str, int]) -> Facts:
    """Facts about a result of the wrong shape, the most telling first; all of one group, so that only one is named.

    Args:
        axes: the result's axes, as they are declared.
        sizes: the sizes of the inputs' axes, and integers among the inputs, by name.
    """
    if expected.shape == actual.shape:
        return []
    count = len(expected.shape)
    axes = axes if len(axes) == count else [f"axis −{count - axis}" for axis in range(count)]
    have_numbers = _has_numbers(expected) and _has_numbers(actual)
    facts = _ones(name, expected.shape, actual.shape)
    if have_numbers:
        facts += _in_another_order(name, axes, expected.numbers, actual.numbers)
        facts += _taken(name, axes, expected.numbers, actual.numbers)
    facts += _merged(name, expected.shape, actual.shape)
    if count == len(actual.shape):
        facts += _sizes_in_another_order(name, expected.shape, actual.shape, have_numbers)
        facts += length_facts(name, axes, expected, actual, sizes)
    if have_numbers:
        facts += _numbers(name, expected.numbers, actual.numbers)
    return sorted(facts, key=lambda fact: fact.kind is Kind.SHAPE_START)  # the fact that says least comes last


def _has_numbers(output: Output) -> bool:
    return output.values is not None and output.values.shape == output.shape and output.values.size > 0


def _are_equal(expected: np.ndarray, actual: np.ndarray) -> bool:
    return expected.shape == actual.shape and about_equal(expected, actual)


def _numbers(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether the numbers are right apart from their shape, and whether integers are larger than any right one."""
    facts: Facts = []
    if _are_equal(expected.ravel(), actual.ravel()):
        facts.append(Fact(Kind.SHAPE_CUT, name, sentence=words.cut_otherwise(name)))
    if expected.dtype.kind in "iu" and actual.max() > expected.max():
        facts.append(Fact(Kind.SHAPE_BEYOND, name, sentence=words.beyond(name)))
    return facts


def _in_another_order(name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether the actual result is the right one with its axes in another order."""
    if sorted(expected.shape) != sorted(actual.shape) or expected.ndim > _MOST_AXES:
        return []
    orders = [order for order in permutations(range(expected.ndim)) if _are_equal(expected.transpose(order), actual)]
    return [
        Fact(Kind.SHAPE_TRANSPOSED, name, value=order, sentence=words.transposed(name, [axes[axis] for axis in order]))
        for order in orders
    ]


def _sizes_in_another_order(name: str, expected: tuple, actual: tuple, have_numbers: bool) -> Facts:
    """Whether the sizes are the expected ones, at other axes; `have_numbers` says that both results have numbers."""
    if sorted(expected) != sorted(actual):
        return []
    all_tried = have_numbers and len(expected) <= _MOST_AXES
    return [Fact(Kind.SHAPE_ORDER, name, sentence=words.sizes_in_another_order(name, no_order_is_right=all_tried))]


def _taken(name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether the actual result is the right one with one axis, or all of them, reduced to one number."""
    facts: Facts = []
    if (expected == expected.flat[0]).all():
        return facts  # of equal numbers any of them is the first, the last, and the mean
    for how, reduce in _REDUCTIONS.items():
        along = [axes[axis] for axis in _reducible(expected, actual) if _are_equal(reduce(expected, axis), actual)]
        for axis in dict.fromkeys(along):
            facts.append(
                Fact(Kind.SHAPE_TAKEN, name, axis=axis, value=how, sentence=words.taken(name, how=how, axis=axis))
            )
        if expected.ndim > 1 and not actual.ndim and _are_equal(reduce(expected.reshape(-1), 0), actual):
            facts.append(Fact(Kind.SHAPE_TAKEN, name, value=how, sentence=words.taken_of_all(name, how=how)))
    if expected.ndim > 1 and _are_equal(np.diagonal(expected, axis1=-2, axis2=-1), actual):
        facts.append(Fact(Kind.SHAPE_DIAGONAL, name, sentence=words.diagonal(name)))
    return facts


def _reducible(expected: np.ndarray, actual: np.ndarray) -> list[int]:
    """The axes that may each have been reduced to one number."""
    if expected.ndim != actual.ndim + 1:
        return []
    return [axis for axis in range(expected.ndim) if expected.shape[axis] > 1]


def _ones(name: str, expected: tuple, actual: tuple) -> Facts:
    """Axes of size 1 that are lost or left over."""
    missing = len(expected) - len(actual)
    if not missing or [size for size in expected if size != 1] != [size for size in actual if size != 1]:
        return []
    if missing > 0:
        return [Fact(Kind.SHAPE_SQUEEZED, name, sentence=words.squeezed(name, count=missing))]
    return [Fact(Kind.SHAPE_LEFT_OVER, name, sentence=words.left_over(name, count=-missing))]


def _merged(name: str, expected: tuple, actual: tuple) -> Facts:
    """Two axes that have become one."""
    pairs = [(i, j) for i in range(len(expected)) for j in range(i + 1, len(expected))]
    rest = [
        sorted([*expected[:i], *expected[i + 1 : j], *expected[j + 1 :], expected[i] * expected[j]]) for i, j in pairs
    ]
    return [Fact(Kind.SHAPE_MERGED, name, sentence=words.merged(name))] if sorted(actual) in rest else []
