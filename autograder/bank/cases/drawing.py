"""Draws an exercise's cases from a seed: sizes that differ pairwise, and inputs and weights of their shapes."""

import hashlib
import math
from dataclasses import replace

import numpy as np
import torch

from autograder.bank import declaration
from autograder.bank.cases.conditions import CONDITIONS, Condition, rounded
from utils.checking import toy_models
from utils.checking.conditions import ConditionName
from utils.checking.records import DrawnCase

DRAWS = 2  # draws of each declared case in grading
SMALLEST, SPARE = 3, 2  # sizes start at 3, and are chosen from a few more than there are axes
VISIBLE_SEED = "visible"
# the condition under which gradients are observed too: some code takes another branch for the smallest sizes
SMALLEST_SIZES = ConditionName.ONES
EDGE = ConditionName.EDGE  # the condition of a declared case at the edge of what is asked
SCALE = ConditionName.SCALE  # the condition of a declared case that is at the edge because it has many numbers
LIGHT = 12_000  # bytes of a case that students receive; of heavier cases they receive the lightest of each part
# subtracted from the share of right rows in grading: rows are drawn by chance, and what passes the self-check should pass
MARGIN = 0.05


def draw(exercise: declaration.Exercise, seed: str, grading: bool = False) -> list[DrawnCase]:
    """The exercise's cases with fresh numbers: those that its author declared, then those of every condition.

    Args:
        seed: any text; equal seeds give equal cases.
        grading: adds each declared case on a second draw of sizes, and all cases of many numbers; a self-check holds one a part.
    """
    cases: list[DrawnCase] = []
    first: dict[int, DrawnCase] = {}
    for number, declared in enumerate(exercise.cases):
        for repeat in range(DRAWS if grading else 1):
            case = _draw_case(exercise, declared, _rng(seed, exercise.name, number, repeat))
            case = replace(case, condition=first.setdefault(number, case).condition)
            if grading:
                case = replace(toy_models.unfolded(case), rows=case.rows and round(case.rows - MARGIN, 4))
            cases.append(_with_gradients(exercise, declared, case) if repeat else case)
    bases = [exercise.cases.index(base) for base in _base_cases(exercise)]
    for condition in CONDITIONS:
        for number in bases if condition.name not in exercise.waived else ():
            cases += _cases_under(condition, exercise, number, first[number], seed)
    return cases if grading else _without_heavy_cases(cases)


def _without_heavy_cases(cases: list[DrawnCase]) -> list[DrawnCase]:
    """The cases without the heavy ones that an author made large; each part keeps at least its lightest large case."""
    large: dict[str, list[DrawnCase]] = {}
    for case in cases:
        if case.condition == SCALE and not case.once:
            large.setdefault(case.part, []).append(case)
    left_out = set()
    for group in large.values():
        lightest = min(group, key=_byte_count)
        left_out |= {id(case) for case in group if _byte_count(case) > LIGHT and case is not lightest}
    return [case for case in cases if id(case) not in left_out]


def _byte_count(case: DrawnCase) -> int:
    """The bytes of a case's arrays."""
    return sum(array.nbytes for array in case.arrays)


def _with_gradients(exercise: declaration.Exercise, declared: declaration.Case, case: DrawnCase) -> DrawnCase:
    """A second draw, called once, with gradients where they can be compared, and then without a bound on kept tensors."""
    if declared.extreme or declared.precision or case.rows or case.raises:
        return replace(case, once=True)
    bounds = {name: bound for name, bound in case.bounds.items() if name != "kept" or not exercise.gradients}
    return replace(case, once=True, gradient=exercise.gradients, bounds=bounds)


def _cases_under(
    condition: Condition, exercise: declaration.Exercise, number: int, drawn: DrawnCase, seed: str
) -> list:
    """The cases of one condition, tried on the declared case of that number; `drawn` is that case itself."""
    base, cases = exercise.cases[number], []
    for words, declared in condition.declare(exercise, base) if condition.declare else ():
        cases.append((words, _draw_case(exercise, declared, _rng(seed, exercise.name, number, condition.name, words))))
    if condition.vary:
        bases = [("", drawn), *cases]
        pairs = [
            (variation, words, varied) for words, case in bases for variation, varied in condition.vary(exercise, case)
        ]
        cases = [(", ".join(filter(None, (variation, words))), varied) for variation, words, varied in pairs]
    backward = exercise.gradients if condition.name == SMALLEST_SIZES and "gradients" not in exercise.waived else ()
    return [
        replace(
            case,
            property=_headline(words, base, drawn, case),
            condition=condition.name,
            once=True,
            gradient=case.gradient or backward,
            bounds={},  # bounds hold for the sizes that the author chose
        )
        for words, case in cases
    ]


def _headline(words: str, base: declaration.Case, drawn: DrawnCase, case: DrawnCase) -> str:
    """What a case under a condition examines, with its author's words if it has the axes that they speak of."""
    return f"{words}: {base.property}" if case.symbols == drawn.symbols else words


def _base_cases(exercise: declaration.Exercise) -> list[declaration.Case]:
    """For each part, the plain case with the most axes: every condition is tried on it."""
    special = ("extreme", "edge", "precision", "layout", "rows", "raises")
    plain = [
        declared
        for declared in exercise.cases
        if not any(getattr(declared, name) for name in special) and 1 not in _without_flags(declared.sizes).values()
    ]
    parts = dict.fromkeys(declared.part for declared in plain)
    return [max((declared for declared in plain if declared.part == part), key=_axis_counts) for part in parts]


def _without_flags(sizes: dict) -> dict:
    """The sizes among a constructor's arguments, without flags: True is no size of 1."""
    return {axis: size for axis, size in sizes.items() if not isinstance(size, bool)}


def _axis_counts(declared: declaration.Case) -> tuple[int, int]:
    """The number of axes, and the negative number of declared sizes: a case with more of both is more general."""
    return len(" ".join(declared.expand.values()).split()), -len(declared.sizes)


def _rng(*key: object) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(map(str, key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def _draw_case(exercise: declaration.Exercise, declared: declaration.Case, rng: np.random.Generator) -> DrawnCase:
    symbols, constructor = exercise.symbols(declared), exercise.constructor
    lengths = [name for name in exercise.lengths if name not in declared.values]
    sizes = _draw_sizes(exercise.axes(declared), declared.sizes, rng)
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
    weights = {} if build is None else _draw_weights(exercise, build, rng)
    weights |= {name: np.zeros_like(weights[name]) for name in declared.blank.split()}
    drawn = DrawnCase(declared.property, declared.part, inputs, symbols, _without_flags(sizes), build, weights)
    bounds = {name: math.prod(sizes[axis] for axis in axes) - 1 for name, axes in declared.bounds.items()}
    if declared.precision == "bfloat16":
        drawn = replace(drawn, inputs=rounded(drawn.inputs), weights=rounded(drawn.weights), coarse=True)
    as_declared = {
        name: getattr(declared, name) for name in ("precision", "layout", "rows", "raises", "extreme", "starts")
    }
    kind = SCALE if _byte_count(drawn) > LIGHT else EDGE
    return replace(drawn, condition=kind if declared.edge else "", bounds=bounds, **as_declared)


def _draw_sizes(axes: list, fixed: dict, rng: np.random.Generator) -> dict:
    """A size for each axis; that of H*W is a product, that of Q+N a sum, and a name stands for the size of that axis.

    An axis that is a number, as the 1 of "B 1 N", is of that size by itself.
    """
    axes = [axis for axis in axes if not axis.isdigit()]
    fixed = {axis: size for axis, size in fixed.items() if not isinstance(size, str) or size in axes}
    named = {axis: other for axis, other in fixed.items() if isinstance(other, str)}
    fixed = {axis: size for axis, size in fixed.items() if axis not in named}
    composed = {axis: parts for axis in axes if len(parts := declaration.parts(axis, axes)) > 1}
    single = [axis for axis in axes if axis not in composed]
    single += [part for parts in composed.values() for part in parts if not part.isdigit()]
    free = [axis for axis in dict.fromkeys(single) if axis not in fixed and axis not in named]
    pool = [size for size in range(SMALLEST, SMALLEST + len(free) + SPARE) if size not in fixed.values()]
    sizes = {**fixed, **dict(zip(free, map(int, rng.permutation(pool)[: len(free)]), strict=True))}
    sizes |= {axis: sizes[other] for axis, other in named.items() if other in sizes}
    whole = {axis: sum if "+" in axis else math.prod for axis in composed}
    numbers = {part: int(part) for parts in composed.values() for part in parts if part.isdigit()}
    all_sizes = sizes | numbers
    return sizes | {axis: whole[axis](all_sizes[part] for part in parts) for axis, parts in composed.items()}


def _draw_weights(exercise: declaration.Exercise, build: dict, rng: np.random.Generator) -> dict:
    """Weights with the reference's names and shapes, drawn so that no initialisation matters."""
    weights = {}
    with torch.random.fork_rng(devices=[]):
        parameters = dict(exercise.reference(**build).named_parameters())
    for name, parameter in parameters.items():
        spread = 1.0 if parameter.ndim < 2 else parameter.shape[-1] ** -0.5
        weights[name] = np.asarray(rng.standard_normal(tuple(parameter.shape)) * spread, dtype=np.float32)
    return weights
