"""Looks for cases that could not tell a mistake from the right answer: equal sizes, saturation, effects within tolerance."""

import numpy as np

from autograder.bank import declaration
from autograder.bank.separation import SEPARATION, moved
from utils.checking.conditions import MAGNITUDES, ConditionName
from utils.checking.records import FrozenCase, FrozenExercise

SATURATED = 0.97  # mean largest weight above which a distribution says nothing about its other entries
MISTAKES, ALTERNATIVES = 4, 3
# conditions under which numbers or sizes may be extreme or equal
UNUSUAL = (
    *MAGNITUDES,
    ConditionName.EDGE,
    ConditionName.ONES,
    ConditionName.EQUAL,
    ConditionName.LAYOUT,
    ConditionName.BFLOAT16,
    ConditionName.BATCHES,
    ConditionName.ZERO,
)


def lint(exercise: declaration.Exercise, frozen: FrozenExercise) -> list[str]:
    """What is wrong with an exercise's cases, each in one line; empty if nothing is."""
    found = _declaration(exercise)
    extreme = {declared.property for declared in exercise.cases if declared.extreme}
    chosen = {declared.property: declared.sizes for declared in exercise.cases}
    for one in frozen.cases:
        where = f"{exercise.name} · {one.case.property}"
        odd = one.case.property in extreme or one.case.condition in UNUSUAL
        found += [f"{where} — {fault}" for fault in _sizes(one, chosen) + _expected(one, odd)]
        found += [f"{where} — {fault}" for fault in _separation(one, frozen.invented)]
    for mistake in exercise.misconceptions:
        if all(one.mistakes.get(mistake.name) is None for one in frozen.cases):
            found.append(f"{exercise.name}: no case shows the misconception {mistake.name}")
    return found + _variants(exercise, frozen)


def _declaration(exercise: declaration.Exercise) -> list[str]:
    found = []
    if len(exercise.misconceptions) < MISTAKES:
        found.append(
            f"{exercise.name}: {len(exercise.misconceptions)} misconceptions, at least {MISTAKES} are asked for"
        )
    if len(exercise.alternatives) < ALTERNATIVES:
        found.append(
            f"{exercise.name}: {len(exercise.alternatives)} alternatives, at least {ALTERNATIVES} are asked for"
        )
    parts = {declared.part for declared in exercise.cases}
    if parts != set(exercise.points):
        found.append(f"{exercise.name}: cases belong to the parts {sorted(parts)}, points to {sorted(exercise.points)}")
    for mistake in exercise.misconceptions:
        if not mistake.sentence.endswith((".", "`", "…", "…")) or len(mistake.sentence) < 40:
            found.append(f"{exercise.name}: {mistake.name} has no sentence that a student could learn from")
    return found


def _sizes(one: FrozenCase, declared: dict) -> list[str]:
    """Sizes that are equal, but for those that are declared to be another's, and for sums."""
    if one.case.condition in UNUSUAL:
        return []
    known, chosen = one.case.sizes, declared.get(one.case.property.split(": ")[-1], {})
    different = {
        axis: size for axis, size in known.items() if not isinstance(chosen.get(axis), str) and "+" not in axis
    }
    sizes = [size for axis, size in different.items() if "*" not in axis or 1 not in map(known.get, axis.split("*"))]
    return [f"sizes are not pairwise different: {one.case.sizes}"] if len(set(sizes)) < len(sizes) else []


def _expected(one: FrozenCase, extreme: bool) -> list[str]:
    found: list[str] = []
    if one.case.elsewhere:
        return found  # there are no numbers
    if one.expected.changed or one.expected.unstable:
        found.append("the reference changes its inputs or is not repeatable")
    results = [output.numbers for output in one.expected.outputs]
    if not all(np.isfinite(values).all() for values in results):
        return [*found, "an expected number is not finite"]
    if extreme or 1 in one.case.sizes.values():
        return found
    large = [values for values in results if values.size > 1]
    if large and all(np.ptp(values) < 1e-3 for values in large):
        found.append("all expected numbers are nearly equal")
    elif any(values.dtype.kind == "f" and _saturated(values) for values in large):
        found.append("the softmax is saturated: nearly all weight lies on one entry")
    return found


def _saturated(values: np.ndarray) -> bool:
    for axis in range(values.ndim):
        if np.allclose(values.sum(axis=axis), 1, atol=1e-3) and (values >= 0).all():
            return bool(values.max(axis=axis).mean() > SATURATED)
    return False


def _separation(one: FrozenCase, invented: tuple) -> list[str]:
    told = {name: made for name, made in one.mistakes.items() if name not in invented and made is not None}
    apart = {name: moved(one, made) for name, made in told.items()}
    return [
        f"the misconception {name} moves the output by {far:.3g} tolerances only"
        for name, far in apart.items()
        if far < SEPARATION
    ]


def _variants(exercise: declaration.Exercise, frozen: FrozenExercise) -> list[str]:
    cases = [one.case for one in frozen.cases if not one.case.rows]
    if not cases:
        return []
    tensors = any(isinstance(value, np.ndarray) for case in cases for value in case.inputs.values())
    real = [array.dtype for case in cases for array in case.arrays if array.dtype.kind == "f"]
    present = {
        "single precision": not real or np.float32 in real,
        "double precision": not real or any(case.precision == "float64" for case in cases),
        "a non-contiguous input": not tensors or any(case.layout for case in cases),
        "gradients": not exercise.differentiable or any(case.gradient for case in cases),
    }
    return [f"{exercise.name}: no case has {what}" for what, there in present.items() if not there]
