"""Draws an exercise's cases from a seed: sizes that differ pairwise, and inputs and weights of their shapes."""

import hashlib
import math
from dataclasses import replace

import numpy as np
import torch

from autograder.bank import declaration
from utils.checking import toy_models
from utils.checking.records import DrawnCase, Helper

SMALLEST, SPARE = 3, 2  # sizes start at 3, and a few more are on offer than there are axes
VISIBLE_SEED = "visible"
MARGIN = 0.05  # of the share of right rows: which are drawn is chance, and what passed the self-check should pass again


def draw(exercise: declaration.Exercise, seed: str, grading: bool = False) -> list[DrawnCase]:
    """The exercise's cases with fresh numbers.

    Args:
        seed: any text; equal seeds give equal cases.
        grading: also the hidden cases, and each case on a second draw of sizes.
    """
    cases = []
    for number, declared in enumerate(exercise.cases):
        if declared.hidden and not grading:
            continue
        for repeat in range(1 + grading):
            case = _case(exercise, declared, _rng(seed, exercise.name, number, repeat))
            if grading:
                case = replace(toy_models.unfolded(case), rows=case.rows and round(case.rows - MARGIN, 4))
            cases.append(replace(case, once=repeat > 0))
    variants = (_double, _strided, _with_gradient) if exercise.differentiable else (_double, _strided)
    for declared in _bases(exercise):
        for number, variant in enumerate(variants):
            case = _case(exercise, declared, _rng(seed, exercise.name, declared.part, number))
            varied = variant(case, declared)
            precise = any(array.dtype.kind == "f" for array in varied.arrays)
            if precise or variant is not _double:  # integers alone have no precision to vary
                cases.append(replace(varied, once=True))
    return cases


def _bases(exercise: declaration.Exercise) -> list[declaration.Case]:
    """For each part, the plain case with the most axes: other types, memory layouts and gradients are tried on it."""
    special = ("extreme", "hidden", "rows", "raises")
    plain = [
        one for one in exercise.cases if not (any(getattr(one, name) for name in special) or 1 in one.sizes.values())
    ]
    parts = dict.fromkeys(one.part for one in plain)
    return [max((one for one in plain if one.part == part), key=_axes) for part in parts]


def _axes(declared: declaration.Case) -> int:
    return len(" ".join(declared.expand.values()).split())


def _rng(*key) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(map(str, key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def _case(exercise: declaration.Exercise, declared: declaration.Case, rng) -> DrawnCase:
    symbols = {}
    for name, parameter in exercise.signature.parameters.items():
        dimensions = declaration.dimensions(parameter.annotation)
        if dimensions is not None and name not in declared.values:
            symbols[name] = _expand(dimensions, declared.expand)
    constructor, lengths = exercise.constructor, _lengths(exercise, declared)
    sizes = _sizes([*constructor, *" ".join(symbols.values()).split(), *lengths], declared.sizes, rng)
    inputs = {**declared.values, **{name: sizes[name] for name in lengths}}
    for name, axes in symbols.items():
        shape = tuple(int(axis) if axis.isdigit() else sizes[axis] for axis in axes.split())
        inputs[name] = (rng.standard_normal(shape) * declared.scale.get(name, 1.0)).astype(np.float32)
    if exercise.draws:
        inputs.update(exercise.draws(inputs, sizes, rng))
    if declared.edit:
        declared.edit(inputs, rng)
    inputs = {name: inputs[name] for name in exercise.signature.parameters if name in inputs}
    build = {name: sizes[name] for name in constructor} if exercise.is_module else None
    weights = _weights(exercise, build, rng) if exercise.is_module else {}
    made = DrawnCase(declared.property, declared.part, inputs, symbols, sizes, build, weights)
    bounds = {"largest_intermediate": declared.largest_intermediate, "all_intermediates": declared.all_intermediates}
    bounds = {name: math.prod(sizes[axis] for axis in axes) - 1 for name, axes in bounds.items() if axes}
    special = {"rows": declared.rows, "raises": declared.raises, **bounds}
    return replace(made, **special)


def _lengths(exercise: declaration.Exercise, declared: declaration.Case) -> list[str]:
    """The parameters that are the size of a result's axis: N_Q of f(N_Q: int, X: …) -> Bool[Tensor, "N_Q N_X"]."""
    results = " ".join(exercise.result_shapes).split()
    integers = [name for name, one in exercise.signature.parameters.items() if one.annotation is int]
    return [name for name in integers if name in results and name not in declared.values]


def _expand(dimensions: str, expand: dict) -> str:
    axes = []
    for axis in dimensions.split():
        axes += expand.get(axis, axis.lstrip("*")).split()
    return " ".join(axes)


def _sizes(axes: list, fixed: dict, rng) -> dict:
    """A size for each axis; that of an axis such as H*W is a product, and a name stands for the size of that axis.

    An axis that is a number, as the 1 of "B 1 N", is of that size by itself.
    """
    axes = [axis for axis in axes if not axis.isdigit()]
    fixed = {axis: fixed[size] if isinstance(size, str) else size for axis, size in fixed.items()}
    products = {axis: axis.split("*") for axis in axes if "*" in axis}
    single = [axis for axis in axes if axis not in products] + sum(products.values(), [])
    free = [axis for axis in dict.fromkeys(single) if axis not in fixed]
    pool = [size for size in range(SMALLEST, SMALLEST + len(free) + SPARE) if size not in fixed.values()]
    sizes = {**fixed, **dict(zip(free, map(int, rng.permutation(pool)[: len(free)]), strict=True))}
    return sizes | {axis: math.prod(sizes[factor] for factor in factors) for axis, factors in products.items()}


def _weights(exercise: declaration.Exercise, build: dict, rng) -> dict:
    """Weights of the reference's names and shapes; drawn here, so that no initialisation matters."""
    weights = {}
    with torch.random.fork_rng(devices=[]):
        parameters = dict(exercise.reference(**build).named_parameters())
    for name, parameter in parameters.items():
        spread = 1.0 if parameter.ndim < 2 else parameter.shape[-1] ** -0.5
        weights[name] = (rng.standard_normal(tuple(parameter.shape)) * spread).astype(np.float32)
    return weights


def _double(case: DrawnCase, declared: declaration.Case) -> DrawnCase:
    widen = {name: _widened(value) for name, value in case.inputs.items()}
    weights = {name: _widened(value) for name, value in case.weights.items()}
    return replace(case, property=f"double precision: {declared.property}", inputs=widen, weights=weights)


def _widened(value):
    if isinstance(value, Helper):
        return replace(value, arguments={name: _widened(array) for name, array in value.arguments.items()})
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype == np.float32 else value


def _strided(case: DrawnCase, declared: declaration.Case) -> DrawnCase:
    return replace(case, property=f"non-contiguous inputs: {declared.property}", strided=True)


def _with_gradient(case: DrawnCase, declared: declaration.Case) -> DrawnCase:
    return replace(case, property=f"gradients: {declared.property}", gradient=True)
