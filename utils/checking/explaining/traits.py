"""Finds facts that any look at wrong numbers shows: zeros, infinities, ranges, signs, and where numbers are right."""

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind, called
from utils.checking.judging.tolerance import close
from utils.checking.messages.facts import traits as words

FEW = 3  # so many numbers must be wrong before a fact says what they have in common
_FAR = 0.5  # share of the span of the right numbers; a number that lies further beyond them is a fact


@np.errstate(all="ignore")  # differences of the largest numbers overflow
def trait_facts(name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray, limit: float) -> Facts:
    """Facts that any look at wrong numbers shows: all of them have `Trait.LOOK`."""
    right, kind = close(actual, expected, limit), expected.dtype.kind
    expected, actual = expected.astype(float), actual.astype(float)
    if np.isfinite(expected).all() and np.isinf(actual).any() and not np.isnan(actual).any():
        return [Fact(Kind.INFINITE, name, sentence=words.infinite(name))]
    if not np.isfinite(actual).all() or expected.size < 2:
        return []
    facts = _same_in_all(name, expected[~right], actual[~right], some_right=bool(right.any()))
    facts += _corner(name, right) + _stretch(name, axes, right)
    if kind == "f":  # of tokens and bytes, size and sign say nothing
        facts += _zeros(name, expected, actual, right)
        facts += _signs(name, expected, actual) + _range(name, expected, actual)
    elif kind == "i" and (expected == 0).any() and not (actual == 0).any():
        facts.append(_no_zero(name, expected))
    return facts + _side(name, expected[~right], actual[~right])


def _same_in_all(name: str, expected: np.ndarray, actual: np.ndarray, some_right: bool) -> Facts:
    """Whether all wrong numbers are the same, or stand in one ratio to the right ones, where other numbers are right."""
    if actual.size < FEW or not some_right:
        return []
    if not np.ptp(actual) and np.ptp(expected):
        value = _short_number(actual.flat[0], digits=4)
        sentence = words.one_value(name, value=value)
        return [Fact(Kind.ONE_VALUE, name, value=value, evidence=2, sentence=sentence)]
    if (expected == 0).any() or not actual.all():
        return []
    ratio = actual / expected
    if np.ptp(ratio) < 1e-3 * abs(ratio.flat[0]):
        factor = _short_number(ratio.flat[0], digits=3)
        return [Fact(Kind.RATIO, name, value=factor, evidence=2, sentence=words.ratio(name, factor=factor))]
    return []


def _short_number(number: float, digits: int) -> str:
    return f"{number:.{digits}g}".replace("-", "−")


def _corner(name: str, right: np.ndarray) -> Facts:
    """Whether only the first entry along all axes is right, or only the last."""
    if right.ndim < 2 or right.sum() != 1 or min(right.shape) < 2:
        return []
    for which, place in (("first", 0), ("last", -1)):
        if right[(place,) * right.ndim]:
            return [Fact(Kind.CORNER, name, value=which, evidence=2, sentence=words.corner(name, which=which))]
    return []


def _stretch(name: str, axes: list[str], right: np.ndarray) -> Facts:
    """Whether, along an axis, numbers are right up to some position alone, or from some position on alone."""
    facts: Facts = []
    for axis in range(right.ndim):
        good = np.asarray(right.all(axis=tuple(other for other in range(right.ndim) if other != axis)))
        count, size = int(good.sum()), len(good)
        label = called(axes, axis, right.ndim)
        if count < 2 or size - count < 2:
            continue
        for which, part in (("first", good[:count]), ("last", good[-count:])):
            if part.all():
                sentence = words.stretch(name, axis=label, which=which, count=count, size=size)
                facts.append(Fact(Kind.STRETCH, name, axis=label, value=which, evidence=2, sentence=sentence))
    return facts


def _zeros(name: str, expected: np.ndarray, actual: np.ndarray, right: np.ndarray) -> Facts:
    """Facts about zeros that should not be there, or that are missing, if these are the mistake."""
    expected_zeros, zeros = expected == 0, actual == 0
    extra, missing = zeros & ~expected_zeros & ~right, expected_zeros & ~zeros & ~right
    if not zeros.any() and missing.any():
        return [_no_zero(name, expected)]
    if missing.any() and not extra.any():
        sentence = words.fewer_zeros(name, count=int(missing.sum()))
        return [Fact(Kind.ZEROS, name, value="fewer", sentence=sentence)]
    if extra.any() and not missing.any() and not zeros.all():
        sentence = words.more_zeros(name, actual=int(zeros.sum()), expected=int(expected_zeros.sum()))
        return [Fact(Kind.ZEROS, name, value="more", sentence=sentence)]
    return []


def _no_zero(name: str, expected: np.ndarray) -> Fact:
    sentence = words.no_zero(name, expected=int((expected == 0).sum()))
    return Fact(Kind.ZEROS, name, value="none", sentence=sentence)


def _signs(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether all numbers of one sign are missing, or there are some and should be none."""
    for sign, word in ((-1, "negative"), (1, "positive")):
        count, any_of_sign = int((sign * expected > 0).sum()), bool((sign * actual > 0).any())
        if count and not any_of_sign:
            sentence = words.no_sign(name, sign=word, expected=count)
            return [Fact(Kind.SIGN, name, value=f"{word} True", sentence=sentence)]
        if any_of_sign and not count:
            sentence = words.unexpected_sign(name, sign=word)
            return [Fact(Kind.SIGN, name, value=f"{word} False", sentence=sentence)]
    return []


def _range(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether numbers lie far beyond the largest or the smallest of the right ones."""
    far = _FAR * np.ptp(expected)
    ends = (("large", actual.max() > expected.max() + far), ("small", actual.min() < expected.min() - far))
    for end, beyond in ends:
        if beyond and far:
            return [Fact(Kind.RANGE, name, value=end, sentence=words.far_beyond(name, end=end))]
    return []


def _side(name: str, expected: np.ndarray, actual: np.ndarray) -> Facts:
    """Whether all wrong numbers are wrong in one direction."""
    if not expected.size or not actual.any() or (np.sign(expected) * np.sign(actual) < 0).any():
        return []
    difference = np.abs(actual) - np.abs(expected)
    signed = bool((expected < 0).any() or (actual < 0).any())
    for sign, word in ((1, "large"), (-1, "small")):
        if (sign * difference > 0).all():
            sentence = words.side(name, size=word, signed=signed)
            return [Fact(Kind.SIDE, name, value=word, evidence=2, sentence=sentence)]
    return []
