"""Other inputs than a case's, for calls before the one that counts: other numbers of the same form, and fewer positions."""

from dataclasses import replace
from typing import Any

import numpy as np

from utils.checking.records import DrawnCase, Helper


def another(value: Any, turn: bool = False) -> Any:
    """Other numbers of the same shape and type, in the place of an array; a helper of others that has no limit.

    With `turn` its rows change places: what was trained may be at a loss with anything but the like of what it has seen.
    """
    if isinstance(value, Helper):
        others = {} if turn else {name: another(one) for name, one in value.arguments.items() if one.dtype.kind == "f"}
        return replace(value, limit=0, arguments={**value.arguments, **others})
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "f" and not turn:
        return (value * (1 - 0.5 / (1 + np.abs(value)))).astype(value.dtype)  # zeros, signs and their order stay
    return np.roll(value, 1, axis=0)  # rows stay whole: words end with [STOP] and fit their lengths


def shortened(case: DrawnCase) -> dict:
    """The inputs with one position less along each axis that the constructor leaves open, batch and positions alike."""
    fixed = {*(case.build or ()), *(axis for axis, size in case.sizes.items() if size < 2)}
    axes = {name: shape.split() for name, shape in case.symbols.items()}
    return {name: _cut(value, axes.get(name, []), {*case.sizes} - fixed) for name, value in case.inputs.items()}


def _cut(value: Any, axes: list, free: set) -> Any:
    if not isinstance(value, np.ndarray) or value.ndim != len(axes):
        return value
    return value[tuple(slice(0, size - (axis in free)) for axis, size in zip(axes, value.shape))].copy()
