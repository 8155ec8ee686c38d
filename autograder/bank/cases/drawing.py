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

DRAWS = 2  # of each declared case in grading
SMALLEST, SPARE = 3, 2  # sizes start at 3, and a few more are on offer than there are axes
VISIBLE_SEED = "visible"
# the condition under which gradients are observed too: some code takes another way there
SMALLEST_SIZES = ConditionName.ONES
EDGE = ConditionName.EDGE  # of a declared case at the edge of what is asked
SCALE = ConditionName.SCALE  # of a declared case that is at the edge because it has many numbers
LIGHT = 12_000  # bytes of a case that students receive; of what is heavier they see the lightest of its kind
MARGIN = 0.05  # of the share of right rows: which are drawn is chance, and what passed the self-check should pass again


def draw(exercise: declaration.Exercise, seed: str, grading: bool = False) -> list[DrawnCase]:
    """The exercise's cases with fresh numbers: those that its author declared, then those of every condition.

    Args:
        seed: any text; equal seeds give equal cases.
        grading: also each declared case on a second draw of sizes, and cases of many numbers of which a self-check holds one.
    """
    cases: list[DrawnCase] = []
    first: dict[int, DrawnCase] = {}
    for number, declared in enumerate(exercise.cases):
        for repeat in range(DRAWS if grading else 1):
            case = _case(exercise, declared, _rng(seed, exercise.name, number, repeat))
            case = replace(case, condition=first.setdefault(number, case).condition)
            if grading:
                case = replace(toy_models.unfolded(case), rows=case.rows and round(case.rows - MARGIN, 4))
            cases.append(_with_gradients(exercise, declared, case) if repeat else case)
    bases = [exercise.cases.index(base) for base in _bases(exercise)]
    for condition in CONDITIONS:
        for number in bases if condition.name not in exercise.waived else ():
            cases += _under(condition, exercise, number, first[number], seed)
    return cases if grading else _light(cases)


def _light(cases: list[DrawnCase]) -> list[DrawnCase]:
    """The cases; of those that an author made large only the light ones, or of each part the lightest, where all are heavy."""
    large: dict[str, list[DrawnCase]] = {}
    for case in cases:
        if case.condition == SCALE and not case.once:
            large.setdefault(case.part, []).append(case)
    left_out = set()
    for group in large.values():
        lightest = min(group, key=_weight)
        left_out |= {id(case) for case in group if _weight(case) > LIGHT and case is not lightest}
    return [case for case in cases if id(case) not in left_out]


def _weight(case: DrawnCase) -> int:
    """The bytes of a case's arrays."""
    return sum(array.nbytes for array in case.arrays)


def _with_gradients(exercise: declaration.Exercise, declared: declaration.Case, case: DrawnCase) -> DrawnCase:
    """A second draw, which is observed once, with gradients where they can be compared; these keep what is computed."""
    if declared.extreme or declared.precision or case.rows or case.raises:
        return replace(case, once=True)
    bounds = {name: bound for name, bound in case.bounds.items() if name != "kept" or not exercise.gradients}
    return replace(case, once=True, gradient=exercise.gradients, bounds=bounds)


def _under(condition: Condition, exercise: declaration.Exercise, number: int, drawn: DrawnCase, seed: str) -> list:
    """The cases of one condition, tried on the declared case of that number; `drawn` is that case itself."""
    base, made = exercise.cases[number], []
    for words, declared in condition.declare(exercise, base) if condition.declare else ():
        made.append((words, _case(exercise, declared, _rng(seed, exercise.name, number, condition.name, words))))
    if condition.vary:
        given = [("", drawn), *made]
        pairs = [(one, words, varied) for words, case in given for one, varied in condition.vary(exercise, case)]
        made = [(", ".join(filter(None, (one, words))), varied) for one, words, varied in pairs]
    backward = exercise.gradients if condition.name == SMALLEST_SIZES and "gradients" not in exercise.waived else ()
    return [
        replace(
            case,
            property=_headline(words, base, drawn, case),
            condition=condition.name,
            once=True,
            gradient=case.gradient or backward,
            bounds={},  # which are of the sizes that the author chose
        )
        for words, case in made
    ]


def _headline(words: str, base: declaration.Case, drawn: DrawnCase, case: DrawnCase) -> str:
    """What a case under a condition examines, with its author's words as long as it has their axes: "two batch axes"."""
    return f"{words}: {base.property}" if case.symbols == drawn.symbols else words


def _bases(exercise: declaration.Exercise) -> list[declaration.Case]:
    """For each part, the plain case with the most axes, which every condition is tried on."""
    special = ("extreme", "edge", "precision", "layout", "rows", "raises")
    plain = [
        one
        for one in exercise.cases
        if not any(getattr(one, name) for name in special) and 1 not in _without_flags(one.sizes).values()
    ]
    parts = dict.fromkeys(one.part for one in plain)
    return [max((one for one in plain if one.part == part), key=_freedom) for part in parts]


def _without_flags(sizes: dict) -> dict:
    """The sizes among what a constructor takes: True is no size of 1."""
    return {axis: size for axis, size in sizes.items() if not isinstance(size, bool)}


def _freedom(declared: declaration.Case) -> tuple[int, int]:
    """The number of axes, and of those the ones whose size is left to chance."""
    return len(" ".join(declared.expand.values()).split()), -len(declared.sizes)


def _rng(*key: object) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(map(str, key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little"))


def _case(exercise: declaration.Exercise, declared: declaration.Case, rng: np.random.Generator) -> DrawnCase:
    symbols, constructor = exercise.symbols(declared), exercise.constructor
    lengths = [name for name in exercise.lengths if name not in declared.values]
    sizes = _sizes(exercise.axes(declared), declared.sizes, rng)
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
    weights = {} if build is None else _weights(exercise, build, rng)
    weights |= {name: np.zeros_like(weights[name]) for name in declared.blank.split()}
    made = DrawnCase(declared.property, declared.part, inputs, symbols, _without_flags(sizes), build, weights)
    bounds = {name: math.prod(sizes[axis] for axis in axes) - 1 for name, axes in declared.bounds.items()}
    if declared.precision == "bfloat16":
        made = replace(made, inputs=rounded(made.inputs), weights=rounded(made.weights), coarse=True)
    as_declared = {
        name: getattr(declared, name) for name in ("precision", "layout", "rows", "raises", "extreme", "starts")
    }
    kind = SCALE if _weight(made) > LIGHT else EDGE
    return replace(made, condition=kind if declared.edge else "", bounds=bounds, **as_declared)


def _sizes(axes: list, fixed: dict, rng: np.random.Generator) -> dict:
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
    known = sizes | numbers
    return sizes | {axis: whole[axis](known[part] for part in parts) for axis, parts in composed.items()}


def _weights(exercise: declaration.Exercise, build: dict, rng: np.random.Generator) -> dict:
    """Weights of the reference's names and shapes; drawn here, so that no initialisation matters."""
    weights = {}
    with torch.random.fork_rng(devices=[]):
        parameters = dict(exercise.reference(**build).named_parameters())
    for name, parameter in parameters.items():
        spread = 1.0 if parameter.ndim < 2 else parameter.shape[-1] ** -0.5
        weights[name] = np.asarray(rng.standard_normal(tuple(parameter.shape)) * spread, dtype=np.float32)
    return weights
