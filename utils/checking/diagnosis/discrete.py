"""Facts about tokens, counts and truth values."""

import numpy as np


def discrete_facts(name: str, wanted: np.ndarray, got: np.ndarray) -> dict:
    """Facts about integers or truth values of one shape."""
    if wanted.dtype.kind == "b" or got.dtype.kind == "b":
        return _truths(name, wanted.astype(bool), got.astype(bool))
    found, apart = {}, got.astype(float) - wanted.astype(float)
    if wanted.size > 1 and not np.ptp(apart):
        found["off by", name, int(apart.flat[0])] = f"Each number of {name} is {_by(int(apart.flat[0]))}."
    ratio = np.divide(got, wanted, out=np.ones(got.shape), where=wanted != 0)
    if (
        wanted.size > 1
        and (wanted != 0).all()
        and np.allclose(ratio, ratio.flat[0], rtol=1e-9)
        and ratio.flat[0] not in (0, 1)
    ):
        found["times", name, round(float(ratio.flat[0]), 6)] = (
            f"Each number of {name} is {ratio.flat[0]:.4g} times the right one."
        )
    return found


def _by(difference: int) -> str:
    return f"{abs(difference)} too {'large' if difference > 0 else 'small'}"


def _truths(name: str, wanted: np.ndarray, got: np.ndarray) -> dict:
    found = {}
    if np.array_equal(got, ~wanted):
        found["inverted", name] = f"{name} is inverted: it is True where it should be False."
    elif (got >= wanted).all():
        found["too many", name] = f"{name} is True at positions where it should be False; all others are right."
    elif (got <= wanted).all():
        found["too few", name] = f"{name} is False at positions where it should be True; all others are right."
    return found
