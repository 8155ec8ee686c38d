"""Facts about tokens, counts and truth values."""

from itertools import combinations_with_replacement

import numpy as np

from utils.checking.explaining.facts import Cases

_FACTORS = 3  # of the arguments, at most, in what a count is too large or too small by
_TIMES = 12  # and how many times that
_MANY = 64  # numbers of a result that is no list of counts any more


def discrete_facts(name: str, wanted: np.ndarray, got: np.ndarray, first: str = "B") -> dict:
    """Facts about integers of one shape; `first` is the name of the first axis."""
    found, apart = {}, got.astype(np.int64) - wanted.astype(np.int64)
    rows = [one.reshape(len(one), -1) for one in (wanted, got)] if wanted.ndim > 1 and len(wanted) > 1 else ()
    if rows and not np.array_equal(*rows) and sorted(map(tuple, rows[0])) == sorted(map(tuple, rows[1])):
        found["rows", name] = (
            f"Each row of {name} is right, but for another sequence of the batch: is the batch sorted, and not put back?"
            if first.lstrip("*").startswith("B")
            else f"The rows of {name} are the right ones, in another order along {first}."
        )
    elif apart.any() and wanted.size > 3 and np.array_equal(np.sort(wanted, axis=None), np.sort(got, axis=None)):
        found["moved", name] = f"{name} holds the right numbers, in other places than asked for."
    if (apart % 2**56 == 0).all():
        found["overflow", name] = (
            f"Numbers of {name}, or what they are made of, went past what 64 bits hold on the way."
        )
    elif (apart % 2**32 == 0).all():
        found["overflow", name] = f"Numbers of {name} went past what 32 bits hold: keep integers in int64."
    if not np.ptp(apart):
        found["off by", name, int(apart.flat[0])] = f"Each number of {name} is {_by(int(apart.flat[0]))}."
    if (wanted != 0).all() and np.any(apart):
        ratio = got / wanted
        if np.allclose(ratio, ratio.flat[0], rtol=1e-9) and not np.isclose(ratio.flat[0], [0, 1], rtol=1e-6).any():
            found["times", name, f"{ratio.flat[0]:.6g}"] = (
                f"Each number of {name} is {ratio.flat[0]:.4g} times the right one."
            )
    if np.isclose(got, wanted, rtol=1e-6, atol=0).all() and np.abs(wanted).max() > 2**24:
        told = f"{name} is right up to rounding: is something rounded, or computed with /, .float() or a root? Integers of this"
        told += " size do not survive that."
        found["rounded", name] = told
    return found


def difference_facts(name: str, wanted: np.ndarray, got: np.ndarray, inputs: dict) -> dict:
    """Whether each count is off by one and the same small number of times a product of the arguments: "2·D too large"."""
    counts = {given: _whole(value, wanted.shape) for given, value in inputs.items()}
    counts = {given: value for given, value in counts.items() if value is not None}
    apart = got.astype(object) - wanted.astype(object)
    if wanted.size > _MANY or not counts or not np.all(apart != 0):
        return {}
    found = {}
    for names in (one for degree in range(_FACTORS) for one in combinations_with_replacement(counts, degree + 1)):
        product = np.ones(wanted.shape, dtype=object)
        for one in names:
            product = product * counts[one]
        times = int(np.ravel(apart)[0]) // int(np.ravel(product)[0])
        if 0 < abs(times) <= _TIMES and np.all(apart == times * product):
            label = _product(abs(times), names)
            told = f"Each number of {name} is {label} too {'large' if times > 0 else 'small'}."
            found["difference", name, label, times > 0, Cases(2)] = told
    return found


def _whole(value, shape: tuple) -> np.ndarray | None:
    """An argument as exact whole numbers from 1 on, one for each count; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.ndarray) or np.asarray(value).dtype.kind not in "iu":
        return None
    value = np.asarray(value)
    fits = value.shape in ((), shape) and bool((value > 0).all())
    return np.broadcast_to(value, shape).astype(object) if fits else None


def _product(times: int, names: tuple) -> str:
    """Of 2 and ("D", "D", "N"): 2·D²·N."""
    powers = [one + {1: "", 2: "²", 3: "³"}[names.count(one)] for one in dict.fromkeys(names)]
    return "·".join([str(times)] * (times > 1) + powers)


def _by(difference: int) -> str:
    return f"{abs(difference)} too {'large' if difference > 0 else 'small'}"


def truth_facts(name: str, wanted: np.ndarray, got: np.ndarray) -> dict:
    """Facts about truth values of one shape."""
    found = {}
    if np.array_equal(got, ~wanted):
        found["truth", name, "inverted"] = f"{name} is inverted: it is True where it should be False."
    more, less = (got & ~wanted).any(), (~got & wanted).any()
    told = {
        "more": (not less, "is True at positions where it should be False; its other positions are right"),
        "less": (not more, "is False at positions where it should be True; its other positions are right"),
        "both": (
            more and less,
            "is True at some positions where it should be False, and False where it should be True",
        ),
        "some more": (more, "is True at some positions where it should be False"),
        "some less": (less, "is False at some positions where it should be True"),
    }
    return found | {("truth", name, key): f"{name} {words}." for key, (holds, words) in told.items() if holds}
