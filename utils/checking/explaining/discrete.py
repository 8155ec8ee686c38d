"""Finds facts about tokens, counts and truth values."""

from itertools import chain, combinations_with_replacement

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind
from utils.checking.messages.facts import discrete as words
from utils.checking.messages.facts.scales import moved

_FACTORS = 3  # the most arguments in a product by which a count may be too large or too small
_TIMES = 12  # the most times that such a product may be counted
_MANY = 64  # a result of more numbers is no list of counts


def discrete_facts(name: str, expected: np.ndarray, actual: np.ndarray, first: str = "B") -> Facts:
    """Facts about integers of one shape; `first` is the name of the first axis."""
    difference = actual.astype(np.int64) - expected.astype(np.int64)
    return [
        *_at_other_places(name, expected, actual, first),
        *_overflow(name, difference),
        *_off_by(name, difference),
        *_times(name, expected, actual, difference),
        *_rounded(name, expected, actual),
    ]


def _at_other_places(name: str, expected: np.ndarray, actual: np.ndarray, first: str) -> Facts:
    """Whether the right rows, or the right numbers, came in another order."""
    if np.array_equal(expected, actual):
        return []
    if expected.ndim > 1 and len(expected) > 1 and _sorted_rows(expected) == _sorted_rows(actual):
        batch = first.lstrip("*").startswith("B")
        sentence = words.sequences_exchanged(name) if batch else words.rows_exchanged(name, axis=first)
        return [Fact(Kind.ROWS, name, sentence=sentence)]
    if expected.size > 3 and np.array_equal(np.sort(expected, axis=None), np.sort(actual, axis=None)):
        return [Fact(Kind.MOVED, name, sentence=moved(name))]
    return []


def _sorted_rows(values: np.ndarray) -> list[tuple]:
    return sorted(map(tuple, values.reshape(len(values), -1)))


def _overflow(name: str, difference: np.ndarray) -> Facts:
    """Whether numbers exceeded what 64, or 32, bits hold."""
    if (difference % 2**56 == 0).all():
        return [Fact(Kind.OVERFLOW, name, sentence=words.past_64_bits(name))]
    if (difference % 2**32 == 0).all():
        return [Fact(Kind.OVERFLOW, name, sentence=words.past_32_bits(name))]
    return []


def _off_by(name: str, difference: np.ndarray) -> Facts:
    """Whether all numbers are off by one number."""
    if np.ptp(difference):
        return []
    number = int(difference.flat[0])
    return [Fact(Kind.OFF_BY, name, value=number, sentence=words.off_by(name, difference=number))]


def _times(name: str, expected: np.ndarray, actual: np.ndarray, difference: np.ndarray) -> Facts:
    """Whether all numbers are the right ones times a factor."""
    if not (expected != 0).all() or not difference.any():
        return []
    ratio = actual / expected
    factor = ratio.flat[0]
    if not np.allclose(ratio, factor, rtol=1e-9) or np.isclose(factor, [0, 1], rtol=1e-6).any():
        return []
    return [Fact(Kind.TIMES, name, value=f"{factor:.6g}", sentence=words.times(name, factor=factor))]


def _rounded(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether large numbers are right up to rounding."""
    if np.isclose(actual, expected, rtol=1e-6, atol=0).all() and np.abs(expected).max() > 2**24:
        return [Fact(Kind.ROUNDED, name, sentence=words.rounded(name))]
    return []


def difference_facts(name: str, expected: np.ndarray, actual: np.ndarray, inputs: dict[str, object]) -> Facts:
    """Whether each count is off by one and the same small number of times a product of the arguments: "2·D too large"."""
    whole = {argument: _as_whole_numbers(value, expected.shape) for argument, value in inputs.items()}
    counts = {argument: value for argument, value in whole.items() if value is not None}
    difference = np.asarray(actual.astype(object) - expected.astype(object), dtype=object)
    if expected.size > _MANY or not counts or not np.all(difference != 0):
        return []
    facts: Facts = []
    products = (combinations_with_replacement(counts, degree + 1) for degree in range(_FACTORS))
    for names in chain.from_iterable(products):
        times = _times_a_product(difference, [counts[argument] for argument in names])
        if times:
            facts.append(_difference_fact(name, _product_text(abs(times), names), too_large=times > 0))
    return facts


def _times_a_product(difference: np.ndarray, factors: list[np.ndarray]) -> int:
    """The number that all differences are times the product of the factors; 0 where there is none, or it is too large."""
    product = np.ones(difference.shape, dtype=object)
    for factor in factors:
        product = product * factor
    times = int(np.ravel(difference)[0]) // int(np.ravel(product)[0])
    return times if abs(times) <= _TIMES and np.all(difference == times * product) else 0


def _difference_fact(name: str, product: str, too_large: bool) -> Fact:
    sentence = words.difference_of(name, product=product, too_large=too_large)
    return Fact(Kind.DIFFERENCE, name, value=f"{product} {too_large}", evidence=2, sentence=sentence)


def _as_whole_numbers(value: object, shape: tuple) -> np.ndarray | None:
    """An argument as exact positive integers, one for each count; None where it is not made of such."""
    if isinstance(value, bool) or not isinstance(value, int | np.ndarray) or np.asarray(value).dtype.kind not in "iu":
        return None
    value = np.asarray(value)
    fits = value.shape in ((), shape) and bool((value > 0).all())
    return np.broadcast_to(value, shape).astype(object) if fits else None


def _product_text(times: int, names: tuple[str, ...]) -> str:
    """A product in words: 2·D²·N for 2 and ("D", "D", "N")."""
    powers = [argument + {1: "", 2: "²", 3: "³"}[names.count(argument)] for argument in dict.fromkeys(names)]
    return "·".join([str(times)] * (times > 1) + powers)


def truth_facts(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Facts about truth values of one shape."""
    more, less = bool((actual & ~expected).any()), bool((~actual & expected).any())
    holding = {
        "inverted": np.array_equal(actual, ~expected),
        "more": not less,
        "less": not more,
        "both": more and less,
        "some more": more,
        "some less": less,
    }
    return [
        Fact(Kind.TRUTH, name, value=which, sentence=words.truth(name, which=which))
        for which, holds in holding.items()
        if holds
    ]
