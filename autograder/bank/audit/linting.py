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
    """The faults of an exercise's cases, each in one line; empty if there are none."""
    faults = _declaration_faults(exercise)
    extreme = {declared.property for declared in exercise.cases if declared.extreme}
    chosen = {declared.property: declared.sizes for declared in exercise.cases}
    for frozen_case in frozen.cases:
        where = f"{exercise.name} · {frozen_case.case.property}"
        odd = frozen_case.case.property in extreme or frozen_case.case.condition in UNUSUAL
        faults += [
            f"{where} — {fault}" for fault in _size_faults(frozen_case, chosen) + _expected_faults(frozen_case, odd)
        ]
        faults += [f"{where} — {fault}" for fault in _separation_faults(frozen_case, frozen.invented)]
    for mistake in exercise.misconceptions:
        if all(frozen_case.mistakes.get(mistake.name) is None for frozen_case in frozen.cases):
            faults.append(f"{exercise.name}: no case shows the misconception {mistake.name}")
    return faults + _missing_variants(exercise, frozen)


def _declaration_faults(exercise: declaration.Exercise) -> list[str]:
    faults = []
    if len(exercise.misconceptions) < MISTAKES:
        faults.append(
            f"{exercise.name}: {len(exercise.misconceptions)} misconceptions, at least {MISTAKES} are asked for"
        )
    if len(exercise.alternatives) < ALTERNATIVES:
        faults.append(
            f"{exercise.name}: {len(exercise.alternatives)} alternatives, at least {ALTERNATIVES} are asked for"
        )
    parts = {declared.part for declared in exercise.cases}
    if parts != set(exercise.points):
        faults.append(
            f"{exercise.name}: cases belong to the parts {sorted(parts)}, points to {sorted(exercise.points)}"
        )
    for mistake in exercise.misconceptions:
        if not mistake.sentence.endswith((".", "`", "…", "…")) or len(mistake.sentence) < 40:
            faults.append(f"{exercise.name}: {mistake.name} has no sentence that a student could learn from")
    return faults


def _size_faults(frozen_case: FrozenCase, declared: dict) -> list[str]:
    """A fault where sizes are equal, apart from sums, and from sizes that are declared as equal to another's."""
    if frozen_case.case.condition in UNUSUAL:
        return []
    case_sizes, chosen = frozen_case.case.sizes, declared.get(frozen_case.case.property.split(": ")[-1], {})
    different = {
        axis: size for axis, size in case_sizes.items() if not isinstance(chosen.get(axis), str) and "+" not in axis
    }
    sizes = [
        size for axis, size in different.items() if "*" not in axis or 1 not in map(case_sizes.get, axis.split("*"))
    ]
    return [f"sizes are not pairwise different: {frozen_case.case.sizes}"] if len(set(sizes)) < len(sizes) else []


def _expected_faults(frozen_case: FrozenCase, extreme: bool) -> list[str]:
    faults: list[str] = []
    if frozen_case.case.elsewhere:
        return faults  # on another device there are no numbers
    if frozen_case.expected.changed or frozen_case.expected.unstable:
        faults.append("the reference changes its inputs or is not repeatable")
    results = [output.numbers for output in frozen_case.expected.outputs]
    if not all(np.isfinite(values).all() for values in results):
        return [*faults, "an expected number is not finite"]
    if extreme or 1 in frozen_case.case.sizes.values():
        return faults
    large = [values for values in results if values.size > 1]
    if large and all(np.ptp(values) < 1e-3 for values in large):
        faults.append("all expected numbers are nearly equal")
    elif any(values.dtype.kind == "f" and _is_saturated(values) for values in large):
        faults.append("the softmax is saturated: nearly all weight lies on one entry")
    return faults


def _is_saturated(values: np.ndarray) -> bool:
    for axis in range(values.ndim):
        if np.allclose(values.sum(axis=axis), 1, atol=1e-3) and (values >= 0).all():
            return bool(values.max(axis=axis).mean() > SATURATED)
    return False


def _separation_faults(frozen_case: FrozenCase, invented: tuple) -> list[str]:
    wrong_results = {
        name: observation
        for name, observation in frozen_case.mistakes.items()
        if name not in invented and observation is not None
    }
    apart = {name: moved(frozen_case, observation) for name, observation in wrong_results.items()}
    return [
        f"the misconception {name} moves the output by {far:.3g} tolerances only"
        for name, far in apart.items()
        if far < SEPARATION
    ]


def _missing_variants(exercise: declaration.Exercise, frozen: FrozenExercise) -> list[str]:
    cases = [frozen_case.case for frozen_case in frozen.cases if not frozen_case.case.rows]
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
