"""Facts about where numbers are wrong: at the first or last position of an axis alone, or everywhere but there."""

import numpy as np

from utils.checking.tolerance import close


def place_facts(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float) -> dict:
    """Along each axis of at least three positions: whether what is wrong, or what is right, is the first or the last alone."""
    right = close(got, wanted, limit)
    found = {}
    for axis in range(right.ndim):
        if right.shape[axis] < 3:
            continue
        others = tuple(one for one in range(right.ndim) if one != axis)
        good, bad = right.all(axis=others), (~right).any(axis=others)
        label = axes[axis - right.ndim] if len(axes) >= right.ndim - axis else f"axis {axis}"
        label = label.lstrip("*")
        if axis == 0 and label.startswith("B"):
            label = "the batch"
        for which, place in (("first", 0), ("last", -1)):
            alone = np.zeros(len(good), dtype=bool)
            alone[place] = True
            if np.array_equal(bad, alone):
                found["wrong at", name, label, which] = f"{name} is right but for the {which} position along {label}."
            elif np.array_equal(good, alone):
                found["right at", name, label, which] = f"{name} is right at the {which} position along {label}, and nowhere else."
    return found
