"""Facts about tokens, counts and truth values."""

import numpy as np


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
    if (apart % 2**32 == 0).all():
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
