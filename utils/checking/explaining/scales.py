"""Finds facts about the size of numbers: a constant factor, named by the case's sizes; an added constant; a small difference;
right numbers at other places."""

import math
from enum import StrEnum
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind
from utils.checking.messages.facts import scales as words

_TINY = 1e-4
_COARSEST = 1e-2  # the least relative accuracy of a relation that is named, however coarse the tolerance of the case is
_ONE_SHIFT = 0.05  # how much a constant that is added may differ from number to number, as a share of it
NEARLY = 1e-2  # share of the largest number; results that are off by less are called close
_CONSTANTS = {
    "2": 2.0,
    "1/2": 0.5,
    "−1": -1.0,
    "−2": -2.0,
    "3": 3.0,
    "1/3": 1 / 3,
    "1/ln 2": 1 / math.log(2),
    "ln 2": math.log(2),
}


class Repeated(StrEnum):
    """The number that all entries of a result equal."""

    ZERO = "0"
    OTHER = "another number"


class NamedFactor(NamedTuple):
    """The name of a factor, and on how many cases it must hold to be named.

    A factor made of several sizes fits easily by accident, and needs several cases.
    """

    label: str
    evidence: int = 1


def named_factors(value: float, sizes: dict[str, int], accuracy: float) -> list[NamedFactor]:
    """The names by which a factor may go, constants and powers of sizes, the simplest first."""
    above_one = {axis: size for axis, size in sizes.items() if size > 1}
    return [
        NamedFactor(label, evidence)
        for factors, evidence in ((_CONSTANTS | _one_size_factors(above_one), 1), (_several_size_factors(above_one), 2))
        for label, factor in factors.items()
        if factor and abs(value / factor - 1) < accuracy
    ]


def _one_size_factors(sizes: dict[str, int]) -> dict[str, float]:
    """The factors that are made of one size alone, by what they are called."""
    factors: dict[str, float] = {}
    for axis, size in sizes.items():
        factors |= {f"√{axis}": size**0.5, f"1/√{axis}": size**-0.5, axis: size, f"1/{axis}": 1 / size}
        factors |= {f"{axis} − 1": size - 1, f"1/({axis} − 1)": 1 / (size - 1)}
        factors |= {f"{axis}²": size**2, f"1/{axis}²": size**-2}
    return factors


def _several_size_factors(sizes: dict[str, int]) -> dict[str, float]:
    """The factors that are made of a size and a number, or of two sizes, by what they are called."""
    factors: dict[str, float] = {}
    for axis, size in sizes.items():
        factors |= {f"2/√{axis}": 2 * size**-0.5, f"1/(2·√{axis})": size**-0.5 / 2}
    for (axis, a), (other, b) in combinations(sizes.items(), 2):
        factors |= {f"{axis}·{other}": a * b, f"1/({axis}·{other})": 1 / (a * b)}
    for (axis, a), (other, b) in permutations(sizes.items(), 2):
        factors |= {f"√{axis}/√{other}": (a / b) ** 0.5, f"{axis}/{other}": a / b}
    return factors


def scale_facts(
    name: str, expected: np.ndarray, actual: np.ndarray, limit: float, sizes: dict[str, int], vectors: bool
) -> Facts:
    """Facts about results that are a multiple of the expected ones, or differ from them by something small or constant.

    Args:
        vectors: whether rows are vectors, which have a length.
    """
    expected, actual = (np.atleast_1d(values.astype(float)) for values in (expected, actual))
    if not (np.isfinite(expected) & np.isfinite(actual)).all():
        return _not_finite(name, actual)
    facts = _factor(name, expected, actual, limit, sizes)
    facts = facts or _shift(name, expected, actual, limit)
    facts += _constant(name, expected, actual, limit)
    facts = facts or _moved(name, expected, actual, limit)
    facts = facts or _close(name, expected, actual)
    return facts or _lengths(name, expected, actual, limit, vectors)


def _shift(name: str, expected: np.ndarray, actual: np.ndarray, limit: float) -> Facts:
    """Whether one number is added to all numbers."""
    difference, size = actual - expected, np.abs(expected).max(initial=0)
    if expected.size < 2:
        return []
    shift = abs(difference.flat[0])
    if shift <= 10 * limit or np.ptp(difference) > min(4 * limit * (1 + size), _ONE_SHIFT * shift):
        return []
    return [Fact(Kind.SHIFT, name, sentence=words.shift(name))]


def _constant(name: str, expected: np.ndarray, actual: np.ndarray, limit: float) -> Facts:
    """Whether all numbers are the same, and should not be."""
    if expected.size < 2 or np.ptp(actual) or np.ptp(expected) <= limit:
        return []
    number = Repeated.OTHER if actual.flat[0] else Repeated.ZERO
    sentence = words.constant(name, zero=number is Repeated.ZERO)
    return [Fact(Kind.CONSTANT, name, value=number, sentence=sentence)]


def _moved(name: str, expected: np.ndarray, actual: np.ndarray, limit: float) -> Facts:
    """Whether the right numbers lie at other places."""
    size = np.abs(expected).max(initial=0)
    if expected.size <= 3 or np.abs(actual - expected).max() <= NEARLY * size:
        return []
    near = {"rtol": min(4 * limit, _COARSEST), "atol": min(4 * limit, _COARSEST * size)}
    if not np.allclose(np.sort(expected, axis=None), np.sort(actual, axis=None), **near):
        return []
    return [Fact(Kind.MOVED, name, sentence=words.moved(name))]


def _close(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether numbers are off by little compared with the largest of all, and perhaps each compared with its own size."""
    difference = np.abs(actual - expected)
    if difference.max(initial=0) >= NEARLY * np.abs(expected).max(initial=0):
        return []
    off = (difference / np.maximum(np.abs(expected), np.finfo(float).tiny)).max()
    digits = int(-np.log10(off)) if off < NEARLY else None
    return [Fact(Kind.CLOSE, name, sentence=words.close(name, digits=digits))]


def _lengths(name: str, expected: np.ndarray, actual: np.ndarray, limit: float, vectors: bool) -> Facts:
    """Rows of the right length, or rows that are the right ones times a number each."""
    if expected.shape[-1] < 2:
        return []
    with np.errstate(over="ignore"):
        right, lengths = (np.linalg.norm(values, axis=-1) for values in (expected, actual))
    if not np.isfinite([right, lengths]).all():  # squares of huge numbers
        return []
    near = min(20 * limit, NEARLY / 10)
    if vectors and np.allclose(right, lengths, rtol=near, atol=near):
        return [Fact(Kind.LENGTH, name, sentence=words.right_length(name))]
    return _row_factors(name, expected, actual, right, lengths, limit)


def _row_factors(
    name: str, expected: np.ndarray, actual: np.ndarray, right: np.ndarray, lengths: np.ndarray, limit: float
) -> Facts:
    """Whether each row is the right one times a number, which may be 0; `right` are the lengths that rows should have."""
    coarse = min(20 * limit, _COARSEST * np.abs(expected).max(initial=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = expected * np.where(right > 0, lengths / right, 0.0)[..., None]
    factors = np.where(right > 0, lengths / np.where(right > 0, right, 1), 1)
    if np.isin(np.round(factors, 6), (0, 1)).all() and np.allclose(actual, scaled, rtol=1e-3, atol=coarse):
        return [Fact(Kind.ROWS_OF_ZEROS, name, sentence=words.rows_of_zeros(name))]
    for sign in (1, -1):
        if np.allclose(actual, sign * scaled, rtol=1e-3, atol=coarse):
            sentence = words.row_factor(name, negative=sign < 0)
            return [Fact(Kind.ROW_FACTOR, name, value=sign, sentence=sentence)]
    return []


def _not_finite(name: str, actual: np.ndarray) -> Facts:
    """Whether every number is NaN or infinite."""
    if np.isfinite(actual).any():
        return []
    nan, infinite = bool(np.isnan(actual).any()), bool(np.isinf(actual).any())
    sentence = words.all_not_finite(name, single=actual.size <= 1, nan=nan, infinite=infinite)
    return [Fact(Kind.ALL_NOT_FINITE, name, sentence=sentence)]


def _factor(name: str, expected: np.ndarray, actual: np.ndarray, limit: float, sizes: dict[str, int]) -> Facts:
    """Whether each number is the right one times one factor, by all names that the factor may go by."""
    accuracy = min(max(20 * limit, 1e-4), _COARSEST)
    factor = _one_factor(expected, actual, limit, accuracy)
    if factor is None:
        return []
    facts = [
        Fact(Kind.FACTOR, name, value=label, evidence=evidence, sentence=words.factor(name, label=label))
        for label, evidence in named_factors(factor, sizes, accuracy)
    ]
    if expected.size > 1:
        facts.append(Fact(Kind.FACTOR, name, value="?", sentence=words.some_factor(name)))
    return facts


def _one_factor(expected: np.ndarray, actual: np.ndarray, limit: float, accuracy: float) -> float | None:
    """The factor from the right numbers to the actual ones; None where there is none, or only 0 or 1."""
    large = np.abs(expected) > 100 * limit
    if not large.any():
        return None
    ratio = actual[large] / expected[large]
    factor = ratio[0]
    coarse = min(20 * limit, _COARSEST * np.abs(expected).max())
    spread = np.abs(ratio - factor).max()
    if spread >= accuracy * max(abs(factor), _TINY) or abs(factor - 1) < accuracy or abs(factor) < _TINY:
        return None
    if ratio.size < 2 and expected.size > 1:
        return None
    return factor if np.allclose(actual, factor * expected, rtol=accuracy, atol=coarse) else None
