"""Makes other inputs than a case's, for calls besides the one that counts: other numbers of the same form, fewer positions."""

from dataclasses import replace
from typing import Any

import numpy as np

from utils.checking.records import DrawnCase, Helper


def another(value: Any, turn: bool = False) -> Any:
    """An array with other numbers of the same shape and type; a helper with other arrays and no limit; other values as they are.

    With `turn` the rows of an array change places instead: a trained model may fail on numbers unlike those it was trained on.
    """
    if isinstance(value, Helper):
        others = (
            {} if turn else {name: another(array) for name, array in value.arguments.items() if array.dtype.kind == "f"}
        )
        return replace(value, limit=0, arguments={**value.arguments, **others})
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "f" and not turn:
        return (value * (1 - 0.5 / (1 + np.abs(value)))).astype(value.dtype)  # zeros, signs and their order stay
    return np.roll(value, 1, axis=0)  # rows stay whole: words end with [STOP] and fit their lengths


def shortened(case: DrawnCase) -> dict:
    """The inputs with one index less along each axis whose size the constructor leaves open, of batches and of positions."""
    fixed = {*(case.build or ()), *(axis for axis, size in case.sizes.items() if size < 2)}
    axes = {name: shape.split() for name, shape in case.symbols.items()}
    return {name: _one_shorter(value, axes.get(name, []), {*case.sizes} - fixed) for name, value in case.inputs.items()}


def _one_shorter(value: Any, axes: list, free_axes: set) -> Any:
    if not isinstance(value, np.ndarray) or value.ndim != len(axes):
        return value
    return value[tuple(slice(0, size - (axis in free_axes)) for axis, size in zip(axes, value.shape))].copy()
