"""Measures how far a mistake's result lies from the expected one, in tolerances: a nearly right result proves nothing."""

import numpy as np

from utils.checking.judging.comparing import excess
from utils.checking.judging.tolerance import tolerance
from utils.checking.records import FrozenCase, Observation

SEPARATION = 100  # a mistake that shows at all moves the output by this many tolerances


def moved(one: FrozenCase, made: Observation) -> float:
    """The largest difference in tolerances; infinite where the two differ in something else: shapes, types, gradients, the size
    of intermediate tensors, or the initial values of parameters."""
    if made.failure or made.changed or made.unstable or one.expected.structure != made.structure:
        return np.inf
    if excess(one.case, made) or made.starts != one.expected.starts:
        return np.inf
    largest, expected = 0.0, one.expected
    scale = tolerance(one.case, expected, made)
    for right, wrong in zip(expected.outputs, made.outputs):
        if right.shape != wrong.shape or right.dtype != wrong.dtype or not np.isfinite(wrong.numbers).all():
            return np.inf
        if right.numbers.dtype.kind in "iub":  # integers are compared as they are
            largest = largest if np.array_equal(wrong.numbers, right.numbers) else np.inf
            continue
        allowed = scale * (1 + np.abs(right.numbers))
        largest = max(largest, float((np.abs(wrong.numbers - right.numbers) / allowed).max(initial=0)))
    return np.inf if largest <= 1 and expected.gradients else largest
