"""Facts about size: a constant factor, named by the case's sizes; a constant that is added; a small difference; lost places."""

import math
import re
from itertools import combinations, permutations

import numpy as np

from utils.checking.explaining.facts import Cases

_TINY = 1e-4
_COARSEST = 1e-2  # relative accuracy of a relation that is told, however coarse the tolerance of the case is
_ONE_SHIFT = 0.05  # how much a constant that is added may differ from number to number, as a share of it
NEARLY = 1e-2  # of the largest number: what is off by less is told as such
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


def named_factors(value: float, sizes: dict, accuracy: float) -> list[tuple]:
    """The names by which a factor may go, constants and powers of sizes, the simplest first.

    With what is made of several sizes, which fits easily by accident, goes the number of cases on which it must hold to be told.
    """
    given = {axis: size for axis, size in sizes.items() if size > 1}
    simple = dict(_CONSTANTS)
    for axis, size in given.items():
        simple |= {f"√{axis}": size**0.5, f"1/√{axis}": size**-0.5, axis: size, f"1/{axis}": 1 / size}
        simple |= {f"{axis} − 1": size - 1, f"1/({axis} − 1)": 1 / (size - 1)}
        simple |= {f"{axis}²": size**2, f"1/{axis}²": size**-2}
    several = {}
    for axis, size in given.items():
        several |= {f"2/√{axis}": 2 * size**-0.5, f"1/(2·√{axis})": size**-0.5 / 2}
    for (one, a), (other, b) in combinations(given.items(), 2):
        several |= {f"{one}·{other}": a * b, f"1/({one}·{other})": 1 / (a * b)}
    for (one, a), (other, b) in permutations(given.items(), 2):
        several |= {f"√{one}/√{other}": (a / b) ** 0.5, f"{one}/{other}": a / b}
    return [
        (name, *cases)
        for known, cases in ((simple, ()), (several, (Cases(2),)))
        for name, factor in known.items()
        if factor and abs(value / factor - 1) < accuracy
    ]


def asked(label: str) -> str:
    """What a factor of the scores looks like, as a question; empty where nothing is likelier than another."""
    one, _, other = label.partition("/")
    if re.fullmatch(r"√\w+", label):
        return f": is a division by {label} missing before the softmax?"
    if re.fullmatch(r"1/√\w+", label):
        return f": is there a division by {other} too many?"
    if re.fullmatch(r"√\w+/√\w+", label):
        return f": are they divided by {other} in the place of {one}?"
    if re.fullmatch(r"2/√\w+", label):
        return f": are they divided by {other[1:]}/2 in the place of {other}?"
    if re.fullmatch(r"1/\(2·√\w+\)", label):
        axis = other[4:-1]
        return f": are they divided by 2·{axis} in the place of √{axis}?"
    return "."


def scale_facts(name: str, wanted: np.ndarray, got: np.ndarray, limit: float, sizes: dict, vectors: bool) -> dict:
    """Facts about `got` as a multiple of `wanted`, or as `wanted` and something small or constant.

    Args:
        vectors: whether rows are vectors, which have a length.
    """
    a, b = np.atleast_1d(wanted.astype(float)), np.atleast_1d(got.astype(float))
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.all():
        return _not_finite(name, b)
    found = {}
    large, size, apart = np.abs(a) > 100 * limit, np.abs(a).max(initial=0), b - a
    if large.any():
        found |= _factor(name, a, b, large, limit, sizes)
    shift, alike = abs(apart.flat[0]), min(4 * limit * (1 + size), _ONE_SHIFT * abs(apart.flat[0]))
    if a.size > 1 and not found and np.ptp(apart) <= alike and shift > 10 * limit:
        found["shift", name] = f"All numbers of {name} differ from the right ones by one constant that is added."
    if not np.ptp(b) and a.size > 1 and np.ptp(a) > limit:
        what = "0" if not b.flat[0] else "one and the same number"
        found["constant", name, what] = f"All numbers of {name} are {what}."
    ordered = [np.sort(one, axis=None) for one in (a, b)]
    exchanged = np.abs(apart).max(initial=0) > NEARLY * size
    near = {"rtol": min(4 * limit, _COARSEST), "atol": min(4 * limit, _COARSEST * size)}
    if a.size > 3 and not found and exchanged and np.allclose(*ordered, **near):
        found["moved", name] = f"{name} holds the right numbers, in other places than asked for."
    if not found and np.abs(apart).max(initial=0) < NEARLY * size:
        found["close", name] = _nearly(name, a, apart)
    if a.ndim and a.shape[-1] > 1 and not found:
        found |= _lengths(name, a, b, limit, vectors)
    return found


def _nearly(name: str, wanted: np.ndarray, apart: np.ndarray) -> str:
    """What is told of numbers that are off by little beside the largest of all, and maybe each beside its own size."""
    off = (np.abs(apart) / np.maximum(np.abs(wanted), np.finfo(float).tiny)).max()
    told = f"{name} is off by little beside its largest numbers, and by more beside others"
    if off < NEARLY:
        told = f"{name} is right to about {int(-np.log10(off))} digits, but not to all of them"
    more = "is something small added or left out, or rounded on the way"
    return f"{told}: {more} (half precision, a constant with few digits, an integer)?"


def _lengths(name: str, a, b, limit: float, vectors: bool) -> dict:
    """Rows of the right length, or rows that are the right ones times a number each."""
    with np.errstate(over="ignore"):
        lengths = [np.linalg.norm(one, axis=-1) for one in (a, b)]
    if not np.isfinite(lengths).all():  # squares of huge numbers
        return {}
    near = min(20 * limit, NEARLY / 10)
    if vectors and np.allclose(*lengths, rtol=near, atol=near):
        return {
            (
                "length",
                name,
            ): f"Each wrong row of {name} has the right length as a vector, but another direction: is it turned by"
            " another angle, or are its numbers moved, or changed in sign?"
        }
    coarse = min(20 * limit, _COARSEST * np.abs(a).max(initial=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = a * np.where(lengths[0] > 0, lengths[1] / lengths[0], 0.0)[..., None]
    factors = np.where(lengths[0] > 0, lengths[1] / np.where(lengths[0] > 0, lengths[0], 1), 1)
    if np.isin(np.round(factors, 6), (0, 1)).all() and np.allclose(b, scaled, rtol=1e-3, atol=coarse):
        return {("rows of zeros", name): f"Some rows of {name} are 0 and should not be; the others are right."}
    for sign, words in ((1, "a factor of its own"), (-1, "a negative factor of its own")):
        if np.allclose(b, sign * scaled, rtol=1e-3, atol=coarse):
            return {("row factor", name, sign): f"Each row of {name} is the right one times {words}."}
    return {}


def _not_finite(name: str, b: np.ndarray) -> dict:
    broken = ~np.isfinite(b)
    if broken.all():
        kinds = [kind for kind, some in (("NaN", np.isnan(b)), ("infinite", np.isinf(b))) if some.any()]
        every = f"Every number of {name}" if b.size > 1 else name
        cause = ": log of 0, as where all exponentials of a row underflow, a division by 0, or exp of a large number?"
        told = f"{every} is {' or '.join(kinds)}{cause if kinds == ['infinite'] else '.'}"
        return {("all not finite", name): told}
    return {}


def _factor(name: str, a, b, large, limit: float, sizes: dict) -> dict:
    ratio = b[large] / a[large]
    spread = np.abs(ratio - ratio[0]).max()
    accuracy = min(max(20 * limit, 1e-4), _COARSEST)
    alike = spread < accuracy * max(abs(ratio[0]), _TINY) and np.allclose(
        b, ratio[0] * a, rtol=accuracy, atol=min(20 * limit, _COARSEST * np.abs(a).max())
    )
    if not alike or abs(ratio[0] - 1) < accuracy or abs(ratio[0]) < _TINY or ratio.size < 2 and a.size > 1:
        return {}
    found = {}
    for label, *cases in named_factors(ratio[0], sizes, accuracy):
        told = f"Each number of {name} is the right one times {label}."
        found["factor", name, label, *cases] = f"{name} has the opposite sign." if label == "−1" else told
    if a.size > 1:
        found["factor", name, "?"] = f"Each number of {name} is the right one times one and the same factor."
    return found
