"""Finds the first problem of an observation, from what makes comparison impossible down to the numbers."""

import re

import numpy as np

from utils.checking.judging.comparing import agree, excess, gradient_problem, merely_small
from utils.checking.judging.problems import Problem
from utils.checking.judging.tolerance import sketches_agree, tolerance
from utils.checking.observing.refusals import CONFINED, NOT_ALLOWED
from utils.checking.records import DrawnCase, Failure, FrozenCase, FrozenExercise, Observation, Output

MOST_NAMED = 24  # numbers in an error's text; who names more names no one of them
_ENDS = {  # the problem, by the stage at which code was stopped
    "timeout": Problem.TOO_SLOW,
    "unreached": Problem.NOT_REACHED,
    "killed": Problem.PROCESS_ENDED,
    "tampered": Problem.TAMPERED,
    CONFINED: Problem.CONFINED,
    NOT_ALLOWED: Problem.NOT_ALLOWED,
}
_STAGES = {  # the problem, by the stage at which an error was raised
    "missing": Problem.MISSING_OBJECT,
    "signature": Problem.WRONG_SIGNATURE,
    "weights": Problem.WRONG_PARAMETERS,
    "constructor": Problem.CONSTRUCTOR_FAILED,
}


def find_problem(
    exercise: FrozenExercise, frozen: FrozenCase, observation: Observation, manners: bool = True
) -> Problem | None:
    """The first problem of an observation; None if all is right.

    Args:
        manners: whether the type and device of numbers count, the effects that a call leaves behind and, where an exercise does
            not teach them, gradients.
    """
    if frozen.case.elsewhere:
        stayed = [
            output
            for output in observation.outputs
            if output.kind == "tensor" and output.shape and output.device != "meta"
        ]
        return Problem.LEFT_BEHIND if observation.failure or stayed else None
    if frozen.expected.failure:
        return _error_problem(frozen.expected.failure, observation)
    if observation.failure:
        return None if _is_beyond_torch(frozen.case, observation.failure) else _failure_problem(observation.failure)
    return (
        _form_problem(exercise, frozen, observation, manners)
        or _number_problem(exercise, frozen, observation)
        or _start_problem(frozen, observation)
        or excess(frozen.case, observation)
        or (_gradient_problem(frozen, observation) if manners or "gradients" in exercise.taught else None)
    )


def forbidden_call(exercise: FrozenExercise, observation: Observation) -> str | None:
    """The first forbidden function that ran, by the name a student knows it under."""
    for word in exercise.forbidden:
        ran = [name for name in observation.called if word in name]
        if ran:
            return min(ran, key=lambda name: (name.startswith("_"), len(name))).strip("_ =")
    return None


def _form_problem(
    exercise: FrozenExercise, frozen: FrozenCase, observation: Observation, manners: bool
) -> Problem | None:
    """The problem that shows before any number is compared."""
    expected_outputs, several = frozen.expected.outputs, observation.structure in ("tuple", "list")
    if forbidden_call(exercise, observation):
        return Problem.FORBIDDEN_CALL
    if observation.structure == "NoneType":
        return Problem.RETURNED_NONE
    if len(observation.outputs) != len(expected_outputs) or several != (frozen.expected.structure == "tuple"):
        return Problem.WRONG_STRUCTURE
    if any(output.kind == "NoneType" for output in observation.outputs):
        return Problem.RETURNED_NONE
    if manners and observation.changed:
        return Problem.CHANGED_INPUT
    pairs = zip(expected_outputs, observation.outputs)
    problems = (_output_problem(frozen.case, *pair, observation, manners) for pair in pairs)
    problem = next((output_problem for output_problem in problems if output_problem), None)
    if problem or not manners:
        return problem
    if observation.unstable:
        return Problem.UNSTABLE
    return Problem.OVERWRITTEN if observation.overwritten else None


def _number_problem(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> Problem | None:
    """The problem with the numbers of results that have the right form."""
    scale = tolerance(frozen.case, frozen.expected, observation)
    for (name, _), expected, actual in zip(exercise.outputs, frozen.expected.outputs, observation.outputs):
        has_nan = bool(np.isnan(actual.numbers).any())
        if expected.values is None:
            assert expected.sketch is not None
            if not sketches_agree(expected.sketch, actual.numbers, scale):
                return Problem.NOT_FINITE if has_nan else Problem.WRONG_VALUE
            continue
        if not agree(actual.numbers, expected.values, scale, frozen.case, frozen.case.rows):
            return Problem.NOT_FINITE if has_nan and not np.isnan(expected.values).any() else Problem.WRONG_VALUE
        if name in exercise.zeros and merely_small(expected, actual):
            return Problem.NOT_QUITE_ZERO
    return None


def _start_problem(frozen: FrozenCase, observation: Observation) -> Problem | None:
    return Problem.WRONG_START if observation.starts != frozen.expected.starts else None


def _gradient_problem(frozen: FrozenCase, observation: Observation) -> Problem | None:
    if observation.backward:
        return Problem.BACKWARD_FAILED
    scale = tolerance(frozen.case, frozen.expected, observation)
    problem = gradient_problem(frozen.case, frozen.expected, observation, scale)
    pairs = [(frozen.expected.outputs[place], observation.outputs[place]) for place in frozen.case.gradient]
    cut = any(expected.carries_gradient > actual.carries_gradient for expected, actual in pairs)
    is_connected = any(actual.carries_gradient for _, actual in pairs)
    return Problem.NO_GRAPH if problem and cut and is_connected else problem


def _failure_problem(failure: Failure) -> Problem:
    if failure.stage in _ENDS:
        return _ENDS[failure.stage]
    torchs_own = "not implemented for" in failure.text  # torch lacks an operation for a type of numbers
    if failure.type == "NotImplementedError" and failure.stage in ("call", "constructor") and not torchs_own:
        return Problem.UNFINISHED
    return _STAGES.get(failure.stage, Problem.EXCEPTION)


def _error_problem(expected: Failure, observation: Observation) -> Problem | None:
    """The problem where an error is asked for: its type counts, and whether its text has the numbers of the expected one."""
    if observation.failure is None:
        return Problem.NO_ERROR
    problem = _failure_problem(observation.failure)
    if problem is not Problem.EXCEPTION:
        return problem
    if expected.type not in (observation.failure.type, *observation.failure.bases.split()):
        return Problem.WRONG_ERROR
    numbers_named, numbers_asked_for = (
        set(map(int, re.findall(r"\d+", failure.text))) for failure in (observation.failure, expected)
    )
    is_said = numbers_asked_for <= numbers_named and len(numbers_named) <= MOST_NAMED
    return None if is_said else Problem.VAGUE_ERROR


def _is_beyond_torch(case: DrawnCase, failure: Failure) -> bool:
    """Whether torch lacks a function, such as cdist, for bfloat16, which is no fault of the code that calls it."""
    return case.precision == "bfloat16" and "not implemented for 'BFloat16'" in failure.text and not failure.own


def _output_problem(
    case: DrawnCase, expected: Output, actual: Output, observation: Observation, manners: bool
) -> Problem | None:
    if actual.kind != "tensor" and (manners or actual.values is None):
        return Problem.NOT_A_TENSOR
    if actual.shape != expected.shape:
        return Problem.WRONG_SHAPE
    if manners and actual.device != observation.device:
        return Problem.WRONG_DEVICE
    if actual.values is None or actual.values.shape != actual.shape:
        return Problem.WRONG_DTYPE
    return Problem.WRONG_DTYPE if manners and not _right_type(case, expected, actual, observation) else None


def _right_type(case: DrawnCase, expected: Output, actual: Output, observation: Observation) -> bool:
    """Whether a result has the type that is asked for, or an equally good one.

    Integers may be of any length, unless bytes are asked for, and floats of any precision where no input is a float. A single
    number computed from bfloat16 inputs, such as a loss, may be of float32, as in mixed precision.
    """
    on_mps = observation.device == "mps" and expected.dtype == "torch.float64"
    dtype_asked_for = "torch.float32" if on_mps else expected.dtype
    kinds = [
        next((kind for kind in ("float", "int", "bool") if kind in dtype), dtype)
        for dtype in (dtype_asked_for, actual.dtype)
    ]
    if actual.dtype == dtype_asked_for or kinds[0] != kinds[1]:
        return actual.dtype == dtype_asked_for
    follows = any(array.dtype.kind == "f" for array in case.arrays)
    alone = not expected.shape and (dtype_asked_for, actual.dtype) == ("torch.bfloat16", "torch.float32")
    return kinds[0] == "int" and dtype_asked_for != "torch.uint8" or kinds[0] == "float" and (not follows or alone)
