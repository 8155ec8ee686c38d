"""Other numbers of the same form, for a call before the one that counts."""

from dataclasses import replace

import numpy as np

from utils.checking.records import Helper


def another(value, turn: bool = False):
    """Other numbers of the same shape and type, in the place of an array; a helper of others that has no limit.

    With `turn` its rows change places: what was trained may be at a loss with anything but the like of what it has seen.
    """
    if isinstance(value, Helper):
        others = {} if turn else {name: another(one) for name, one in value.arguments.items() if one.dtype.kind == "f"}
        return replace(value, limit=0, arguments={**value.arguments, **others})
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "f" and not turn:
        return (value * 0.5 + 0.1).astype(value.dtype)
    return np.roll(value, 1, axis=0)  # rows stay whole: words end with [STOP] and fit their lengths
