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
from utils.checking.records import DrawnCase, Helper, Observation

MARGIN = 16  # right answers in other styles were seen to differ by up to several times what is measured
RESULTS = ""  # by which the tolerance of results goes; gradients have names
# between 1 and the next; float32 does for float64
_UNITS = {"bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-23}
_TINY = 1e-30
_MORE_DRAWS = 4  # where each number counts
_DRAWS = 2  # of which number is rounded up and which down
_EXACT = set(  # what chooses, copies or fills, as torch's dispatcher names it
    "abs amax amin cat clamp clamp_max clamp_min clone constant_pad_nd copy embedding fill flip full_like gather index"
    " index_select masked_fill masked_scatter max maximum min minimum nan_to_num neg new_full new_ones ones_like relu repeat roll"
    " scatter select_backward slice_backward sort stack take threshold_backward topk tril triu where _to_copy".split()
)


class _Rounded(DispatchMode):
    """Moves each number that is computed under it, backward too, by a unit in its last place: Monte Carlo arithmetic.

    Source: Parker, "Monte Carlo Arithmetic" (1997).
    """

    def __init__(self, unit: float, seed: int, evenly: bool = False):
        """With `evenly` by any part of twice the unit, so that two moves hardly ever make up for one another."""
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
    """Whether an operation makes numbers of its own, which are rounded: no view, and no copy."""
    made = all(one.alias_info is None for one in function._schema.returns)
    return made and function.overloadpacket.__name__ not in _EXACT


def allow_for_rounding(reference: Callable, case: DrawnCase, expected: Observation) -> DrawnCase:
    """The case with the tolerances that rounding asks for, of results and of each gradient, where they are more than usual.

    The reference computes in double precision, as it is and rounded at each step as the type of the case asks, so that the
    measurement is the same on every machine.
    """
    own = tolerance(case, expected)
    given = [case.precision or str(array.dtype) for array in case.arrays if array.dtype.kind == "f"]
    real = any(output.values is not None and output.values.dtype.kind == "f" for output in expected.outputs)
    if case.rows or expected.failure or not given or not real:
        return case
    exact = _observed(reference, case)
    if exact.failure:
        return case
    most = _moved(case, exact, expected)  # what the reference itself is off by
    unit = max(_UNITS[one] for one in given)
    for seed in range(_DRAWS):
        rounded = _observed(reference, case, _Rounded(unit, seed))
        if rounded.failure or rounded.backward:
            raise RuntimeError(f"rounded on the way, the reference fails: {rounded.failure or rounded.backward}")
        for name, far in _moved(case, exact, rounded).items():
            most[name] = max(most[name], far)
    results = MARGIN * most.pop(RESULTS)
    usual = GRADIENTS * max(own, results)
    room = {name: MARGIN * far for name, far in most.items() if MARGIN * far > usual}
    return replace(case, tolerance=results if results > own else case.tolerance, gradient_tolerances=room)


def units(ways: list, case: DrawnCase) -> tuple:
    """For each result the sizes of its numbers: each as far as rounding moves it, over the resolution of its type.

    What is moved by nothing but the rounding of the inputs, as a number that is only copied, has the size that it is of.

    Args:
        ways: the reference, and other right ways to compute the same; what is lost in one of them may be lost.
    """
    exact = _observed(ways[0], case)
    sizes = [np.abs(output.numbers) for output in exact.outputs]
    unit = _UNITS["float32"]
    for way in ways:
        for seed in range(_MORE_DRAWS):
            rounded = _observed(way, case, _Rounded(unit, seed, evenly=True))
            if rounded.failure:  # a way that does without torch, or knows single precision alone
                break
            pairs = zip(exact.outputs, rounded.outputs)
            moved = [np.abs(one.numbers - other.numbers) / unit for one, other in pairs]
            sizes = [np.maximum(size, np.where(np.isfinite(far), far, 0.0)) for size, far in zip(sizes, moved)]
    return tuple(np.where(np.isfinite(size), np.maximum(size, _TINY), 1.0) for size in sizes)


def _observed(reference: Callable, case: DrawnCase, rounded: _Rounded | None = None) -> Observation:
    """What the reference does in double precision or, where each step is rounded, also with inputs that are."""
    change = (lambda array: rounded.moved(torch.from_numpy(array)).numpy()) if rounded else (lambda array: array)
    inputs, weights = (
        {name: _changed(value, change) for name, value in one.items()} for one in (case.inputs, case.weights)
    )
    with rounded or nullcontext():
        return observe(reference, replace(case, inputs=inputs, weights=weights, precision=""), trusted=True)


def _changed(value: Any, change: Callable) -> Any:
    if isinstance(value, Helper):
        return replace(value, arguments={name: _changed(array, change) for name, array in value.arguments.items()})
    real = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return change(value.astype(np.float64)) if real else value


def _moved(case: DrawnCase, one: Observation, other: Observation) -> dict[str, float]:
    """How far apart two observations are, relative to 1 and the size that `judge` goes by: results, and each gradient."""
    pairs = [(a.values, b.values) for a, b in zip(one.outputs, other.outputs)]
    far = {RESULTS: max(_difference(a, b, "row" if case.coarse else "") for a, b in pairs)}
    for name, gradient in other.gradients.items():
        far[name] = _difference(one.gradients[name], gradient, "all" if case.coarse else "")
    return far


def _difference(a: np.ndarray | None, b: np.ndarray | None, among: str) -> float:
    if a is None or b is None or a.dtype.kind != "f" or a.shape != b.shape or not a.size:
        return 0.0
    known = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
    sizes = np.abs(a)
    if among:
        sizes = sizes.max(axis=-1 if among == "row" and a.ndim else None, keepdims=True)
    return float((np.abs(a - b) / (1 + sizes)).max())
