"""Facts for where no other is known: which numbers are 0, infinite, too large, of another sign; how far they are right."""

import numpy as np

from utils.checking.diagnosis.facts import Cases, Facts
from utils.checking.tolerance import close

KINDS = ("infinite", "zeros", "sign", "sorted", "stretch", "side")
FEW = 4  # numbers that are wrong, before what they have in common is told


def trait_facts(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float) -> Facts:
    """What any look at wrong numbers shows; all keys begin with one of `KINDS`."""
    right = close(got, wanted, limit)
    a, b = wanted.astype(float), got.astype(float)
    found: Facts = {}
    if np.isfinite(a).all():
        if np.isinf(b).any() and not np.isnan(b).any():
            kind = "−inf" if np.isneginf(b).any() else "inf"
            told = f"Numbers of {name} are {kind}, and all should be finite: is something divided by 0, does exp overflow, or is"
            return {("infinite", name, kind): f"{told} a logarithm or a quantile taken where it has none?"}
    if not np.isfinite(b).all() or a.size < 2:
        return found
    found |= _zeros(name, a, b) | _signs(name, a, b)
    if a.ndim:
        found |= _stretch(name, axes, right)
        rising = [(np.diff(one, axis=-1) >= 0).all() and np.ptp(one) > 0 for one in (a, b)]
        if rising == [True, False] and a.shape[-1] > FEW:
            found["sorted", name] = f"{name} should ascend along {axes[-1] if axes else 'its last axis'}, and does not."
    return found | _side(name, a[~right], b[~right])


def _zeros(name: str, a: np.ndarray, b: np.ndarray) -> Facts:
    asked, came = a == 0, b == 0
    if not came.any() and asked.any():
        return {("zeros", name, "none"): f"No number of {name} is 0, and {asked.sum()} should be."}
    if not (came & ~asked).any() or came.all():
        return {}
    if (asked & ~came).any():
        return {("zeros", name, "other"): f"{name} is 0 at other positions than it should be."}
    numbers = "One number" if came.sum() == 1 else f"{came.sum()} numbers"
    told = f"{numbers} of {name} {'is' if came.sum() == 1 else 'are'} 0, and {asked.sum() or 'none'} should be."
    return {("zeros", name, "more"): told}


def _signs(name: str, a: np.ndarray, b: np.ndarray) -> Facts:
    for sign, word in ((-1, "negative"), (1, "positive")):
        asked, came = ((sign * one > 0).any() for one in (a, b))
        if asked != came:
            told = (
                f"No number of {name} is {word}, and some should be."
                if asked
                else f"Numbers of {name} are {word}, and none should be."
            )
            return {("sign", name, word, asked): told}
    return {}


def _stretch(name: str, axes: list, right: np.ndarray) -> Facts:
    """Along an axis: whether numbers are right up to some position and not beyond, or from one on."""
    found: Facts = {}
    for axis in range(right.ndim):
        good = right.all(axis=tuple(one for one in range(right.ndim) if one != axis))
        count, size = int(good.sum()), len(good)
        label = axes[axis - right.ndim].lstrip("*") if len(axes) >= right.ndim - axis else f"axis {axis}"
        if count < 2 or size - count < 2:
            continue
        if good[:count].all():
            found["stretch", name, label, "until"] = (
                f"{name} is right at the first {count} of {size} positions along {label} alone."
            )
        elif good[-count:].all():
            found["stretch", name, label, "from"] = (
                f"{name} is right at the last {count} of {size} positions along {label} alone."
            )
    return found


def _side(name: str, a: np.ndarray, b: np.ndarray) -> Facts:
    """Whether all wrong numbers are wrong in one direction."""
    if a.size < FEW or (np.sign(a) * np.sign(b) < 0).any():
        return {}
    apart = np.abs(b) - np.abs(a)
    for sign, word in ((1, "large"), (-1, "small")):
        if (sign * apart > 0).all():
            signed = ", apart from its sign," if (a < 0).any() else ""
            return {("side", name, word, Cases(2)): f"Each number of {name} that is wrong is{signed} too {word}."}
    return {}
