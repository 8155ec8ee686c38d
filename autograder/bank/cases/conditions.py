"""The conditions under which every exercise is examined, as far as its signature allows: types, layouts, sizes, gradients, modes.

A condition either declares a case with other sizes or axes, or varies a drawn case: the same numbers, passed in another way.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch

from autograder.bank import declaration
from utils.checking.conditions import ConditionName
from utils.checking.records import DrawnCase, Helper, is_real

STEEP, STEEPER, SATURATING = 300.0, 100.0, 30.0  # exp overflows from 88.7 on; weights are nearly 0 and 1
HUGE, HUGER = 1e4, 1e10  # products of two of the first lie far beyond −10⁴, the second beyond −10⁹
HEAVY = 1e3  # the factor of large weights
SPREAD, WIDER_SPREAD = 3.0, 8.0  # weights from 10⁻⁸ to 1, which are compared as closely as any
UNEVEN, STRIDE = 7, 4  # from 1 to 10⁻⁶, neighbours by very different factors
UNLIKE, STEP = 4, 2  # rows of numbers about 1, 10⁻², 10⁻⁴ and 10⁻⁶
LENGTH, LONG, WIDTH, VOCABULARY = 130, 260, 67, 300  # sizes at scale: beyond powers of 2, and no multiples of 8
BATCH, SMALL = 2, 3  # the other sizes of cases at scale: students receive these cases, so they are as small as possible
GRID = (17, 19)  # rows and columns at scale
GRIDS = (("rows", "columns"), ("H", "W"))  # what the axes of a grid are called
LENGTHS = "NTSM"  # the first letters of axes along which there may be hundreds
BESIDE = "BHG"  # the first letters of axes that only multiply the computation: batches, heads, groups of heads
COINCIDING = 4
FEW = (3, 2, 2)  # sizes of three batch axes: there are many numbers behind them


Declared = Iterable[tuple[str, declaration.Case]]  # (headline, case) pairs
Varied = Iterable[tuple[str, DrawnCase]]


@dataclass(frozen=True)
class Condition:
    """A variation of cases that must make no difference to a right answer.

    Attributes:
        name: the name by which an author waives the condition.
        demand: what is asked of every exercise, for the list at the top of an assignment.
        declare: gives, for (exercise, base), (headline, declared case) pairs with other sizes or axes.
        vary: gives, for (exercise, drawn case), (headline, drawn case) pairs; the numbers are those of the base, and of what
            `declare` gives.
    """

    name: ConditionName
    demand: str
    declare: Callable[[declaration.Exercise, declaration.Case], Declared] | None = None
    vary: Callable[[declaration.Exercise, DrawnCase], Varied] | None = None


def _real_inputs(case: DrawnCase) -> list[str]:
    return [name for name, value in case.inputs.items() if is_real(value)]


def _has_tensors(case: DrawnCase) -> bool:
    return any(isinstance(value, np.ndarray) for value in case.inputs.values())


def _has_helpers(case: DrawnCase) -> bool:
    return any(isinstance(value, Helper) for value in case.inputs.values())


def _is_precise(case: DrawnCase) -> bool:
    return any(array.dtype.kind == "f" for array in case.arrays)


def _gives_reals(exercise: declaration.Exercise) -> bool:
    return set(exercise.result_types) == {"float"}


# types


def _double(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if _is_precise(case):
        yield "double precision", replace(case, precision="float64")


def _half(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if _real_inputs(case) and _gives_reals(exercise) and not _has_helpers(case):
        inputs, weights = rounded(case.inputs), rounded(case.weights)
        yield "bfloat16", replace(case, inputs=inputs, weights=weights, precision="bfloat16", coarse=True)


def rounded(values: dict) -> dict:
    """The values by name, numbers with a fraction as bfloat16 holds them."""
    return {
        name: torch.from_numpy(value).bfloat16().float().numpy() if is_real(value) else value
        for name, value in values.items()
    }


# layouts


def _layouts(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if not _has_tensors(case):
        return
    if any(isinstance(value, np.ndarray) and value.ndim > 1 for value in case.inputs.values()):
        yield "inputs whose last two axes are transposed views", replace(case, layout="transposed")
        yield "inputs whose first axis is a permuted view", replace(case, layout="permuted")
    yield "inputs that are slices with a step", replace(case, layout="stepped")
    batched = [name for name, shape in case.symbols.items() if shape.startswith("B")]
    if batched and not _has_helpers(case):
        one_row = {name: _repeated(value) if name in batched else value for name, value in case.inputs.items()}
        yield (
            "inputs that are expanded views, one row for all of the batch",
            replace(case, inputs=one_row, layout="expanded"),
        )


def _repeated(array: np.ndarray) -> np.ndarray:
    return np.broadcast_to(array[:1], array.shape).copy()


# magnitudes


def _large(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    reals = _real_inputs(case)
    if case.weights:
        heavy = {name: weight * np.float32(HEAVY) for name, weight in case.weights.items()}
        yield "large weights", replace(case, weights=heavy, coarse=True)
    if not reals:
        return
    factor = HUGE if len(reals) > 1 or exercise.is_module else HUGER
    yield "very large numbers", replace(_scaled(case, factor), coarse=True)
    name = reals[0]
    array = case.inputs[name]
    if array.ndim > 1 and max(array.shape[:-1]) > 1:
        yield f"one row of {name} with large numbers", replace(_with_row(case, name, STEEP), coarse=True)


def _spread(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    reals = _real_inputs(case)
    if reals:
        yield "numbers of a wide spread", _scaled(case, WIDER_SPREAD if len(reals) == 1 else SPREAD)
    if reals and _gives_reals(exercise):
        uneven = {name: _uneven(case.inputs[name]) for name in reals}
        unlike = {name: _unlike(case.inputs[name], first) for first, name in enumerate(reals)}
        yield "numbers of very different sizes", replace(case, inputs={**case.inputs, **uneven}, single=True)
        weights = {name: _unlike(weight.reshape(*weight.shape[:1], -1), 0) for name, weight in case.weights.items()}
        weights = {name: few.reshape(case.weights[name].shape) for name, few in weights.items()}
        yield (
            "rows of very different sizes",
            replace(case, inputs={**case.inputs, **unlike}, weights=weights, single=True),
        )


def _uneven(array: np.ndarray) -> np.ndarray:
    """The numbers, each times a power of ten of its own."""
    powers = np.arange(array.size) * STRIDE % UNEVEN
    return array * (10.0 ** -powers.reshape(array.shape).astype(np.float64)).astype(np.float32)


def _unlike(array: np.ndarray, first: int) -> np.ndarray:
    """The numbers, each row (along the last axis) times a power of ten of its own."""
    rows = np.arange(first, first + array[..., 0].size if array.ndim else first + 1) * -STEP % (UNLIKE * STEP)
    powers = rows.reshape(*array.shape[:-1], 1) if array.ndim else rows[0]
    return array * np.float32(10.0) ** -powers.astype(np.float32)


def _zero(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    reals = [name for name in _real_inputs(case) if case.inputs[name].ndim]
    zeroed = case
    for name in reals:
        zeroed = _with_row(_with_row(zeroed, name, 0.0), name, 0.0, last=True)
    if reals:
        yield "a first and a last row that are 0 all through", replace(zeroed, gradient=exercise.gradients)


def _scaled(case: DrawnCase, factor: float) -> DrawnCase:
    return replace(
        case, inputs={**case.inputs, **{name: case.inputs[name] * np.float32(factor) for name in _real_inputs(case)}}
    )


def _with_row(case: DrawnCase, name: str, factor: float, last: bool = False) -> DrawnCase:
    """The case with the first or the last row of an input times a factor."""
    array = case.inputs[name].copy()
    array[(-1 if last else 0,) * (array.ndim - 1)] *= np.float32(factor)
    return replace(case, inputs={**case.inputs, name: array})


# gradients and modes


def _gradients(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if exercise.differentiable and _is_precise(case):
        yield "gradients", replace(case, gradient=exercise.gradients)


def _saturated(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if exercise.differentiable and _real_inputs(case):
        yield "gradients at large numbers", replace(_scaled(case, SATURATING), gradient=exercise.gradients, coarse=True)
        yield (
            "gradients at very large numbers",
            replace(_scaled(case, STEEPER), gradient=exercise.gradients, coarse=True),
        )


def _training(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if exercise.is_module:
        yield "training mode", replace(case, training=True)


def _calls(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if not case.inputs:
        return
    yield "arguments by name", replace(case, by="name")
    yield "arguments by position", replace(case, by="position")
    defaults = {name: parameter.default for name, parameter in exercise.signature.parameters.items()}
    passed = {name: value for name, value in case.inputs.items() if _differs(value, defaults[name])}
    if len(passed) < len(case.inputs):
        yield "arguments left at their defaults", replace(case, inputs=passed)


def _differs(value: object, default: object) -> bool:
    return isinstance(value, (np.ndarray, Helper)) or value != default


def _elsewhere(exercise: declaration.Exercise, case: DrawnCase) -> Varied:
    if _has_tensors(case):
        yield "inputs on another device", replace(case, elsewhere=True)


# sizes


def _ones(exercise: declaration.Exercise, base: declaration.Case) -> Declared:
    base = _with_one_batch(exercise, base)
    axes = _free_axes(exercise, base)
    # N+1 tokens are those of one image patch at least
    smallest = {axis: 2 if axis.endswith("+1") else 1 for axis in axes}
    if len(axes) > 1:
        yield "every size that can be 1 is 1", replace(base, sizes={**base.sizes, **smallest})
    for axis, size in smallest.items():
        yield f"{axis} = {size}", replace(base, sizes={**base.sizes, axis: size})


def _equal(exercise: declaration.Exercise, base: declaration.Case) -> Declared:
    base = _with_one_batch(exercise, base)
    axes = _free_axes(exercise, base)
    sizes_above_one = [size for size in base.sizes.values() if isinstance(size, int) and size > 1]
    if len(axes) > 1 or axes and sizes_above_one:
        size = min(sizes_above_one, default=COINCIDING)
        yield "sizes that coincide", replace(base, sizes={**base.sizes, **dict.fromkeys(axes, size)})
    factors = [factor for axis in exercise.axes(base) if "*" in axis for factor in axis.split("*")]
    factors = factors or [axis for axis in axes if axis in ("H", "W")]  # of a grid
    if factors and all(factor in axes for factor in factors):
        sizes = dict.fromkeys(axes, COINCIDING) | dict.fromkeys(factors, round(COINCIDING**0.5))
        yield "sizes that coincide with a product", replace(base, sizes={**base.sizes, **sizes})


def _with_one_batch(exercise: declaration.Exercise, base: declaration.Case) -> declaration.Case:
    """The case with one batch axis where there may be any number: code that tests the number of axes tests for one most often."""
    if len(exercise.points) > 1:
        return base
    if "*B" not in exercise.starred or "batches" in exercise.waived or base.expand.get("*B", "B") == "B":
        return base
    other_sizes = {axis: size for axis, size in base.sizes.items() if not axis.startswith("B")}
    return replace(base, expand={**base.expand, "*B": "B"}, sizes=other_sizes)


def _free_axes(exercise: declaration.Exercise, base: declaration.Case) -> list[str]:
    """The axes whose size is left to chance, with products and sums split into their parts."""
    case_axes = exercise.axes(base)
    axes = [part for axis in case_axes for part in declaration.parts(axis, case_axes)]
    return [axis for axis in dict.fromkeys(axes) if not axis.isdigit() and axis not in base.sizes]


def _batches(exercise: declaration.Exercise, base: declaration.Case) -> Declared:
    if "*B" in exercise.starred and len(exercise.points) == 1:  # parts have axes of their own
        for words, axes in (("no batch axis", ""), ("three batch axes", "B_1 B_2 B_3")):
            if base.expand.get("*B", "B") != axes:
                other_sizes = {axis: size for axis, size in base.sizes.items() if not axis.startswith("B")}
                few = dict(zip(axes.split(), FEW))
                yield words, replace(base, expand={**base.expand, "*B": axes}, sizes={**other_sizes, **few})


def _scale(exercise: declaration.Exercise, base: declaration.Case) -> Declared:
    base = _with_one_batch(exercise, base)
    axes = _free_axes(exercise, base)
    has_grid = any(set(grid) <= set(axes) for grid in GRIDS)
    few = [axis for axis in axes if axis[0] in ("B" if has_grid else BESIDE)]
    beside = dict.fromkeys(axes, SMALL) | dict.fromkeys(few, BATCH)
    base = replace(base, sizes={**base.sizes, **beside})
    axes = [axis for axis in axes if axis not in few]
    large = [(axis, LENGTH if _is_squared(exercise, axis) else LONG) for axis in axes if axis[0] in LENGTHS] + [
        (axis, VOCABULARY) for axis in axes if axis == "V"
    ]
    for axis, size in large:
        yield f"{axis} = {size}", replace(base, sizes={**base.sizes, axis: size})
    for grid in GRIDS:
        if all(axis in axes for axis in grid):
            yield f"a grid of {GRID[0]} by {GRID[1]}", replace(base, sizes={**base.sizes, **dict(zip(grid, GRID))})
    if not any(axis[0] in LENGTHS for axis in axes):
        yield from _longer(exercise, base)
    wide = [axis for axis in axes if axis[0] in "DC"]
    if wide:
        sizes = {axis: _width(exercise, base, axis) + 4 * number for number, axis in enumerate(wide)}
        yield f"{wide[0]} = {sizes[wide[0]]}", replace(base, sizes={**base.sizes, **sizes})


def _width(exercise: declaration.Exercise, base: declaration.Case, axis: str) -> int:
    """A large size for an axis of features; where the axis is a factor of a product with declared sizes, the product is large."""
    products = [axes.split("*") for axes in exercise.axes(base) if "*" in axes]
    other_factors = [
        base.sizes.get(factor, 1) for product in products if axis in product for factor in product if factor != axis
    ]
    return -(-WIDTH // max([1, *(factor for factor in other_factors if isinstance(factor, int))]))


def _longer(exercise: declaration.Exercise, base: declaration.Case) -> Declared:
    """Cases with longer declared lengths; declared sizes that are no smaller grow by as much."""
    sizes = {name: size for name, size in base.sizes.items() if isinstance(size, int)}
    for axis in dict.fromkeys(exercise.axes(base)):
        if axis[0] in LENGTHS and sizes.get(axis, LENGTH) < LENGTH:
            more = (LENGTH if _is_squared(exercise, axis) else LONG) - sizes[axis]
            grown = {name: size + more for name, size in sizes.items() if size >= sizes[axis] and name[0] not in "DCV"}
            yield f"{axis} = {grown[axis]}", replace(base, sizes={**base.sizes, **grown})


def _is_squared(exercise: declaration.Exercise, axis: str) -> bool:
    """Whether a result or an input has an axis twice, as the weights of self-attention have, and so grows with its square."""
    shapes = [*exercise.result_shapes, *exercise.input_shapes.values()]
    return any(sum(axis in re.split(r"[+*]", axis_of_shape) for axis_of_shape in shape.split()) > 1 for shape in shapes)


CONDITIONS = (
    Condition(
        ConditionName.FLOAT64,
        "Inputs of float64 give results of float64; on the way, float32 is precise enough.",
        vary=_double,
    ),
    Condition(
        ConditionName.BFLOAT16,
        "Inputs of bfloat16 give results of bfloat16; a single number, such as a loss, may be of float32.",
        vary=_half,
    ),
    Condition(
        ConditionName.LAYOUT,
        "Inputs may be views in any memory layout: transposed, permuted, sliced with a step, expanded.",
        vary=_layouts,
    ),
    Condition(
        ConditionName.DEVICE,
        "Results, and tensors that are made on the way, are on the inputs' device.",
        vary=_elsewhere,
    ),
    Condition(
        ConditionName.LARGE,
        "Numbers may be large, in all rows or in a single one: where the exact result is finite, so is yours.",
        vary=_large,
    ),
    Condition(ConditionName.SPREAD, "Small numbers count beside large ones: nothing is cut off.", vary=_spread),
    Condition(ConditionName.ZERO, "Numbers may be 0.", vary=_zero),
    Condition(ConditionName.ONES, "Any size may be 1.", declare=_ones),
    Condition(ConditionName.EQUAL, "Sizes may coincide.", declare=_equal),
    Condition(ConditionName.SCALE, "There may be hundreds of positions, words or features.", declare=_scale),
    Condition(
        ConditionName.BATCHES,
        "Where a shape begins with `*B`, there may be no batch axis, one, or several.",
        declare=_batches,
    ),
    Condition(ConditionName.TRAINING, "Training mode and eval mode give the same result.", vary=_training),
    Condition(
        ConditionName.CALLS, "Arguments may be given by position or, under the names of the stub, by name.", vary=_calls
    ),
    Condition(
        ConditionName.GRADIENTS,
        "Gradients flow from the result to every floating-point input and every weight.",
        vary=_gradients,
    ),
    Condition(ConditionName.SATURATION, "Gradients are right also where a softmax is nearly 0 or 1.", vary=_saturated),
)
