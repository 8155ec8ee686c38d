"""Defines how close numbers must be, by their type and device, and makes the sketches that stand for numbers."""

from functools import lru_cache

import numpy as np

from utils.checking.records import DrawnCase, Observation, Output

# Code that computes in single precision and returns the inputs' type is right: only the type of double precision is examined.
_RELATIVE = {"torch.float64": 1e-5, "torch.float32": 1e-5, "torch.bfloat16": 2e-2, "torch.float16": 2e-3}
_COARSE = 2e-2
CLEARLY = 10  # a result is clearly right where it is so many times closer than it must be
GRADIENTS = 10  # the tolerance of gradients, as a multiple of that of results
_ELSEWHERE = 1e-4  # the tolerance on accelerators, which add in another order


def tolerance(case: DrawnCase, *observations: Observation) -> float:
    """The relative tolerance that the case, and the coarsest output's type and device, ask for."""
    tolerances = [
        _RELATIVE.get(output.dtype, 1e-5) for observation in observations for output in observation.outputs
    ] or [1e-5]
    coarse = _COARSE if case.coarse else 0.0
    return max(
        *tolerances,
        case.tolerance,
        coarse,
        _ELSEWHERE if any(observation.device != "cpu" for observation in observations) else 0.0,
    )


def close(actual: np.ndarray, expected: np.ndarray, relative: float, among: str = "") -> np.ndarray:
    """Elementwise closeness, relative to 1 and the expected size; equal infinities and NaNs agree.

    Integers, of whatever size, are close to themselves alone: a count that is off by one is another count.

    Args:
        among: "row" or "all", where closeness is relative to the largest number in the row (along the last axis), or of all.
    """
    if actual.dtype.kind in "iub" and expected.dtype.kind in "iub":
        return actual == expected
    if among and actual.shape == expected.shape and actual.size:
        sizes = np.abs(np.where(np.isfinite(expected), expected, 0.0))
        axis = -1 if among == "row" and expected.ndim else None
        with np.errstate(invalid="ignore"):
            near = np.abs(actual - expected) <= relative * (1 + sizes.max(axis=axis, keepdims=True))
        return near | (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if actual.shape == expected.shape and np.isfinite(expected).all():
        with np.errstate(invalid="ignore"):  # np.isclose says the same, and takes thrice as long
            return np.abs(actual - expected) <= relative + relative * np.abs(expected)
    return np.isclose(actual, expected, rtol=relative, atol=relative, equal_nan=True)


def clear(case: DrawnCase, expected: Output, actual: Output, limit: float) -> bool:
    """Whether a right result is clearly right: a result that is wrong by a little may be within tolerance, too."""
    if case.coarse or actual.values is None or expected.values is None or actual.values.shape != expected.values.shape:
        return True
    return bool(close(actual.values, expected.values, limit / CLEARLY).all())


def right_rows(actual: np.ndarray, expected: np.ndarray, relative: float) -> np.ndarray:
    """For each row, along the first axis, whether all its numbers are close."""
    return np.asarray(close(actual, expected, relative).reshape(len(actual), -1).all(axis=1))


def sketch(values: np.ndarray) -> np.ndarray:
    """A few numbers that distinguish an array from any other of its shape: uneven sums of its numbers and non-finite places.

    Returns:
        [7]: four sums of the finite numbers, and one sum each of the places of NaN, inf and -inf.
    """
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    waves = _waves(flat.size)
    if np.isfinite(flat).all():
        return np.array([wave @ flat for wave in waves] + [0.0, 0.0, 0.0])
    finite = np.where(np.isfinite(flat), flat, 0.0)
    others = [waves[0] @ where for where in (np.isnan(flat), np.isposinf(flat), np.isneginf(flat))]
    return np.array([wave @ finite for wave in waves] + others)


@lru_cache(maxsize=64)
def _waves(size: int) -> list[np.ndarray]:
    """The uneven weights of a sketch's four sums."""
    return [np.cos(step * np.arange(size) + step) for step in (0.7, 1.3, 2.1, 2.9)]


def sketches_agree(one: np.ndarray, values: np.ndarray, relative: float) -> bool:
    """Whether `values` are, within tolerance, the array that `one` is the sketch of."""
    finite = values[np.isfinite(values)].astype(np.float64)
    size = np.sqrt(max(1, finite.size)) + np.linalg.norm(finite)  # errors of single numbers add up like their squares
    return bool(np.abs(one - sketch(values)).max() <= relative * size)
