"""Measures how far rounding alone moves a result: no answer may be blamed for less than that."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_map

from utils.checking.judging.tolerance import GRADIENTS, tolerance
from utils.checking.observing.dispatch import DispatchMode
from utils.checking.observing.observe import observe
from utils.checking.records import DrawnCase, Helper, Observation, is_real

MARGIN = 16  # right answers in other styles were observed to differ by up to several times the measured rounding
RESULTS = ""  # the name under which the tolerance of results is held; gradients have names of their own
# the distance from 1 to the next number; that of float32 stands for float64 too
_UNITS = {"bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-23}
TINY = 1e-30
_MORE_DRAWS = 4  # draws of roundings where each number counts
_DRAWS = 2  # draws of which numbers are rounded up and which down
_EXACT = set(  # operations that choose, copy or fill, by the names of torch's dispatcher
    "abs amax amin cat clamp clamp_max clamp_min clone constant_pad_nd copy embedding fill flip full_like gather index"
    " index_select masked_fill masked_scatter max maximum min minimum nan_to_num neg new_full new_ones ones_like relu repeat roll"
    " scatter select_backward slice_backward sort stack take threshold_backward topk tril triu where _to_copy".split()
)


class _Rounded(DispatchMode):
    """Moves each number that is computed within it, also in backward, by a unit in its last place: Monte Carlo arithmetic.

    Source: Parker, "Monte Carlo Arithmetic" (1997).
    """

    def __init__(self, unit: float, seed: int, evenly: bool = False):
        """With `evenly`, numbers move by any part of twice the unit, so that two moves hardly ever cancel."""
        super().__init__()
        self.unit, self.chance, self.evenly = unit, torch.Generator().manual_seed(seed), evenly

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if not _computes(function):
            return result
        return self._each_moved(result) if isinstance(result, torch.Tensor) else tree_map(self._each_moved, result)

    def _each_moved(self, value: Any) -> Any:
        return self.moved(value) if isinstance(value, torch.Tensor) and value.dtype == torch.float64 else value

    def moved(self, values: torch.Tensor) -> torch.Tensor:
        """Each number a little larger or smaller."""
        up = torch.randint(0, 2, values.shape, generator=self.chance, dtype=torch.float64)
        if self.evenly:
            side = (up * 2 - 1).float() * 2 * torch.rand(values.shape, generator=self.chance)
            return values * (1 + side * self.unit)
        return values * up.mul_(2 * self.unit).add_(1 - self.unit)


@cache
def _computes(function: torch._ops.OpOverload) -> bool:
    """Whether an operation computes numbers, which are rounded, rather than giving a view or a copy."""
    makes_numbers = all(returned.alias_info is None for returned in function._schema.returns)
    return makes_numbers and function.overloadpacket.__name__ not in _EXACT


def allow_for_rounding(reference: Callable, case: DrawnCase, expected: Observation) -> DrawnCase:
    """The case with the tolerances that rounding needs for results and for each gradient, where they exceed the usual ones.

    The reference computes in double precision, once exactly and then rounded at each step to the case's type, so that the
    measurement is the same on every machine.
    """
    own = tolerance(case, expected)
    input_types = [case.precision or str(array.dtype) for array in case.arrays if array.dtype.kind == "f"]
    real = any(output.values is not None and output.values.dtype.kind == "f" for output in expected.outputs)
    if case.rows or expected.failure or not input_types or not real:
        return case
    exact = _observe_reference(reference, case)
    if exact.failure:
        return case
    most = _distances(case, exact, expected)  # how far the reference's own result is off
    unit = max(_UNITS[input_type] for input_type in input_types)
    for seed in range(_DRAWS):
        rounded = _observe_reference(reference, case, _Rounded(unit, seed))
        if rounded.failure or rounded.backward:
            raise RuntimeError(f"rounded on the way, the reference fails: {rounded.failure or rounded.backward}")
        for name, far in _distances(case, exact, rounded).items():
            most[name] = max(most[name], far)
    results = MARGIN * most.pop(RESULTS)
    usual = GRADIENTS * max(own, results)
    room = {name: MARGIN * far for name, far in most.items() if MARGIN * far > usual}
    return replace(case, tolerance=results if results > own else case.tolerance, gradient_tolerances=room)


def units(ways: list, case: DrawnCase) -> tuple:
    """For each result the sizes of its numbers: how far rounding moves each number, divided by the resolution of its type.

    A number that is moved by the rounding of the inputs alone, such as one that is only copied, has its absolute value as size.

    Args:
        ways: the reference, and other right ways to compute the same; precision that one of them loses may be lost.
    """
    exact = _observe_reference(ways[0], case)
    sizes = [np.abs(output.numbers) for output in exact.outputs]
    unit = _UNITS["float32"]
    for way in ways:
        for seed in range(_MORE_DRAWS):
            rounded = _observe_reference(way, case, _Rounded(unit, seed, evenly=True))
            if rounded.failure:  # a way that does without torch, or knows single precision alone
                break
            pairs = zip(exact.outputs, rounded.outputs)
            moved = [
                np.abs(exact_output.numbers - rounded_output.numbers) / unit for exact_output, rounded_output in pairs
            ]
            sizes = [np.maximum(size, np.where(np.isfinite(far), far, 0.0)) for size, far in zip(sizes, moved)]
    return tuple(np.where(np.isfinite(size), np.maximum(size, TINY), 1.0) for size in sizes)


def _observe_reference(reference: Callable, case: DrawnCase, rounded: _Rounded | None = None) -> Observation:
    """The reference's observation in double precision; with `rounded`, each step and the inputs are rounded."""
    change = (lambda array: rounded.moved(torch.from_numpy(array)).numpy()) if rounded else (lambda array: array)
    inputs, weights = (
        {name: _changed_arrays(value, change) for name, value in arrays.items()}
        for arrays in (case.inputs, case.weights)
    )
    with rounded or nullcontext():
        return observe(reference, replace(case, inputs=inputs, weights=weights, precision=""), trusted=True)


def _changed_arrays(value: Any, change: Callable) -> Any:
    if isinstance(value, Helper):
        return replace(
            value, arguments={name: _changed_arrays(array, change) for name, array in value.arguments.items()}
        )
    return change(value.astype(np.float64)) if is_real(value) else value


def _distances(case: DrawnCase, first: Observation, second: Observation) -> dict[str, float]:
    """The distance of two observations, of results and of each gradient, relative to 1 and the size that `judge` uses."""
    pairs = [(a.values, b.values) for a, b in zip(first.outputs, second.outputs)]
    far = {RESULTS: max(_largest_difference(a, b, "row" if case.coarse else "") for a, b in pairs)}
    for name, gradient in second.gradients.items():
        far[name] = _largest_difference(first.gradients[name], gradient, "all" if case.coarse else "")
    return far


def _largest_difference(a: np.ndarray | None, b: np.ndarray | None, among: str) -> float:
    if a is None or b is None or a.dtype.kind != "f" or a.shape != b.shape or not a.size:
        return 0.0
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    sizes = np.abs(a)
    if among:
        sizes = sizes.max(axis=-1 if among == "row" and a.ndim else None, keepdims=True)
    return float((np.abs(a - b) / (1 + sizes)).max())
