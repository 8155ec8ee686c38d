"""Measures how far rounding alone moves a result: no answer may be blamed for less than that."""

from dataclasses import replace

import numpy as np

from utils.checking.observe import observe
from utils.checking.records import DrawnCase, Helper, Observation
from utils.checking.tolerance import tolerance

MARGIN = 16  # right answers in other styles were seen to differ by up to several times what is measured
_EPS = {"bfloat16": 2.0**-7, "float64": 2.0**-52}
_SIGNS = 2  # draws of which number is nudged up and which down


def allowance(reference, case: DrawnCase, expected: Observation) -> float:
    """The relative tolerance that a case needs beyond that of its type; 0 where it needs none.

    Every given number is moved by the distance to its neighbour in its own precision, and the reference computes in double
    precision what that changes, so that the measurement is the same on every machine.
    """
    own = tolerance(case, expected)
    given = [array.dtype for array in case.arrays if array.dtype.kind == "f"]
    precisions = [_EPS.get(case.precision, np.finfo(dtype).eps) for dtype in given]
    real = any(output.values is not None and output.values.dtype.kind == "f" for output in expected.outputs)
    if case.rows or expected.failure or not precisions or not real:
        return 0.0
    exact = _observed(reference, case, lambda array: array)
    if exact.failure:
        return 0.0
    rng, moved = np.random.default_rng(0), _moved(exact, expected)  # what the reference itself is off by
    for _ in range(_SIGNS):
        nudged = _observed(reference, case, lambda array: array * (1 + _signs(array, rng) * max(precisions)))
        moved = max(moved, _moved(exact, nudged))
    return MARGIN * moved if MARGIN * moved > own else 0.0


def _signs(array: np.ndarray, rng) -> np.ndarray:
    return rng.choice([-1.0, 1.0], array.shape)


def _observed(reference, case: DrawnCase, change) -> Observation:
    inputs, weights = (
        {name: _changed(value, change) for name, value in one.items()} for one in (case.inputs, case.weights)
    )
    return observe(reference, replace(case, inputs=inputs, weights=weights, precision=""), trusted=True)


def _changed(value, change):
    if isinstance(value, Helper):
        return replace(value, arguments={name: _changed(array, change) for name, array in value.arguments.items()})
    real = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return change(value.astype(np.float64)) if real else value


def _moved(one: Observation, other: Observation) -> float:
    """The largest difference of a number, relative to 1 and its size; gradients have ten times the tolerance of results."""
    pairs = [(a.values, b.values, 1) for a, b in zip(one.outputs, other.outputs)]
    pairs += [(one.gradients[name], gradient, 10) for name, gradient in other.gradients.items()]
    return max((_difference(a, b) / slack for a, b, slack in pairs), default=0.0)


def _difference(a, b) -> float:
    if a is None or b is None or a.dtype.kind != "f" or a.shape != b.shape:
        return 0.0
    known = np.isfinite(a) & np.isfinite(b)
    return float((np.abs(a - b)[known] / (1 + np.abs(a[known]))).max(initial=0.0))
