"""Facts for where no other is known: which numbers are 0, infinite, too large, of another sign; how far they are right."""

import numpy as np

from utils.checking.explaining.facts import Cases, Facts, called
from utils.checking.judging.tolerance import close

KINDS = ("infinite", "one value", "ratio", "corner", "stretch", "zeros", "sign", "range", "side")
FEW = 3  # numbers that are wrong, before what they have in common is told
_FAR = 0.5  # of the span of the right numbers: how far beyond them a number lies that is told as such
_WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


@np.errstate(all="ignore")  # differences of the largest numbers overflow
def trait_facts(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float) -> Facts:
    """What any look at wrong numbers shows; all keys begin with one of `KINDS`."""
    right = close(got, wanted, limit)
    a, b = wanted.astype(float), got.astype(float)
    if np.isfinite(a).all() and np.isinf(b).any() and not np.isnan(b).any():
        told = f"Numbers of {name} are infinite, and all should be finite: is something divided by 0, does exp overflow, or is"
        return {("infinite", name): f"{told} a logarithm or a quantile taken where it has none?"}
    if not np.isfinite(b).all() or a.size < 2:
        return {}
    found = _same_in_all(name, a[~right], b[~right], some_right=right.any())
    if a.ndim:
        found |= _corner(name, right) | _stretch(name, axes, right)
    if wanted.dtype.kind == "f":  # of tokens and bytes, size and sign say nothing
        found |= _zeros(name, a, b, right) | _signs(name, a, b) | _range(name, a, b)
    elif (wanted == 0).any() and not (got == 0).any() and wanted.dtype.kind == "i":
        found["zeros", name, "none"] = _no_zero(name, int((wanted == 0).sum()))
    if wanted.dtype != np.uint8:
        found |= _side(name, a[~right], b[~right])
    return found


def _same_in_all(name: str, a: np.ndarray, b: np.ndarray, some_right: bool) -> Facts:
    """Whether all wrong numbers are one number, or stand in one ratio to the right ones, where others are right."""
    if b.size < FEW or not some_right:
        return {}
    if not np.ptp(b) and np.ptp(a):
        value = f"{b.flat[0]:.4g}".replace("-", "−")
        return {("one value", name, value, Cases(2)): f"Each number of {name} that is wrong is {value}."}
    if (a == 0).any() or not b.all():
        return {}
    ratio = b / a
    if np.ptp(ratio) < 1e-3 * abs(ratio.flat[0]):
        factor = f"{ratio.flat[0]:.3g}".replace("-", "−")
        return {
            ("ratio", name, factor, Cases(2)): f"Each number of {name} that is wrong is {factor} times the right one."
        }
    return {}


def _corner(name: str, right: np.ndarray) -> Facts:
    """Along several axes: whether the first entry alone is right, or the last."""
    if right.ndim < 2 or right.sum() != 1 or min(right.shape) < 2:
        return {}
    for which, place in (("first", 0), ("last", -1)):
        if right[(place,) * right.ndim]:
            return {("corner", name, which, Cases(2)): f"Only the {which} entry of {name} along all its axes is right."}
    return {}


def _stretch(name: str, axes: list, right: np.ndarray) -> Facts:
    """Along an axis: whether numbers are right up to some position and not beyond, or from one on."""
    found: Facts = {}
    for axis in range(right.ndim):
        good = right.all(axis=tuple(one for one in range(right.ndim) if one != axis))
        count, size = int(good.sum()), len(good)
        label = called(axes, axis, right.ndim)
        if count < 2 or size - count < 2:
            continue
        for which, part in (("first", good[:count]), ("last", good[-count:])):
            if part.all():
                told = f"Along {label}, {name} is right throughout at the {which} {count} of {size} positions, and at no other."
                found["stretch", name, label, which, Cases(2)] = told
    return found


def _zeros(name: str, a: np.ndarray, b: np.ndarray, right: np.ndarray) -> Facts:
    """Zeros that should not be there, or are not there, if these are what is wrong."""
    asked, came = a == 0, b == 0
    extra, missing = came & ~asked & ~right, asked & ~came & ~right
    if not came.any() and missing.any():
        return {("zeros", name, "none"): _no_zero(name, int(asked.sum()))}
    if missing.any() and not extra.any():
        count = int(missing.sum())
        are = "number of {} should be 0 and is not." if count == 1 else "numbers of {} should be 0 and are not."
        return {("zeros", name, "fewer"): f"{_count(count).title()} {are.format(name)}"}
    if extra.any() and not missing.any() and not came.all():
        count = int(came.sum())
        told = f"{_count(count).title()} {'number' if count == 1 else 'numbers'} of {name} {'is' if count == 1 else 'are'} 0"
        return {("zeros", name, "more"): f"{told}; in the right result {_are(int(asked.sum()))}."}
    return {}


def _no_zero(name: str, asked: int) -> str:
    return f"No number of {name} is 0; in the right result {_are(asked)}."


def _are(count: int) -> str:
    return "none is" if not count else f"{_count(count)} {'is' if count == 1 else 'are'}"


def _count(number: int) -> str:
    """A number of things as a text writes it."""
    return _WORDS[number] if number < len(_WORDS) else str(number)


def _signs(name: str, a: np.ndarray, b: np.ndarray) -> Facts:
    for sign, word in ((-1, "negative"), (1, "positive")):
        asked, came = (int((sign * one > 0).sum()) for one in (a, b))
        if bool(asked) != bool(came):
            told = f"No number of {name} is {word}; in the right result {_are(asked)}."
            told = told if asked else f"Numbers of {name} are {word}, and none should be."
            return {("sign", name, word, bool(asked)): told}
    return {}


def _range(name: str, a: np.ndarray, b: np.ndarray) -> Facts:
    """Whether numbers lie far beyond the largest or the smallest of the right ones."""
    far = _FAR * np.ptp(a)
    for end, beyond in (("large", b.max() > a.max() + far), ("small", b.min() < a.min() - far)):
        if beyond and far:
            told = (
                f"Numbers of {name} are far {'larger' if end == 'large' else 'smaller'} than any in the right result."
            )
            return {("range", name, end): told}
    return {}


def _side(name: str, a: np.ndarray, b: np.ndarray) -> Facts:
    """Whether all wrong numbers are wrong in one direction."""
    if not a.size or not b.any() or (np.sign(a) * np.sign(b) < 0).any():
        return {}
    apart = np.abs(b) - np.abs(a)
    for sign, word in ((1, "large"), (-1, "small")):
        if (sign * apart > 0).all():
            signed = ", apart from its sign," if (a < 0).any() or (b < 0).any() else ""
            return {("side", name, word, Cases(2)): f"Each number of {name} that is wrong is{signed} too {word}."}
    return {}
