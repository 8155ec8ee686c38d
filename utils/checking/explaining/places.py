"""Facts about where numbers are wrong: at the first or last position of an axis alone, or everywhere but there."""

import numpy as np

from utils.checking.explaining.facts import called
from utils.checking.judging.tolerance import close

STEPS = ("steps", "L", "T")  # axes along which each position depends on those before


def place_facts(name: str, axes: list, wanted: np.ndarray, got: np.ndarray, limit: float) -> dict:
    """Along each axis of at least three positions: whether what is wrong, or what is right, is the first or the last alone."""
    right = close(got, wanted, limit)
    found = {}
    for axis in range(right.ndim):
        if right.shape[axis] < 3:
            continue
        others = tuple(one for one in range(right.ndim) if one != axis)
        good, bad = right.all(axis=others), (~right).any(axis=others)
        label = called(axes, axis, right.ndim)
        if axis == 0 and label.startswith("B"):
            label = "the batch"
        for which, place in (("first", 0), ("last", -1)):
            alone = np.zeros(len(good), dtype=bool)
            alone[place] = True
            if np.array_equal(bad, alone):
                found["wrong at", name, label, which] = f"{name} is right but for the {which} position along {label}."
            elif np.array_equal(good, alone) and not (which == "first" and label in STEPS):
                found["right at", name, label, which] = (
                    f"Only at the {which} position along {label} is {name} right throughout."
                )
        found |= _prefix(name, label, good, right, axis)
    return found


def _prefix(name: str, label: str, good: np.ndarray, right: np.ndarray, axis: int) -> dict:
    """Along an axis of steps: whether the first are right, and nothing is from there on."""
    if label not in STEPS or good.all():
        return {}
    steps = np.moveaxis(right, axis, 0).reshape(len(good), -1)
    first = int((~good).argmax())
    if first == 0:
        return (
            {("from the start", name): f"{name} goes wrong at the first position along {label} already."}
            if not steps[0].all()
            else {}
        )
    start = "position" if first == 1 else f"{first} positions"
    return {
        (
            "after a start",
            name,
            first,
        ): f"{name} is right at the first {start} along {label}, and goes wrong at the next.",
        ("after a start", name): f"{name} is right at the first positions along {label}, and goes wrong later.",
    }
