"""Finds the first problem of an observation, from what makes comparison impossible down to the numbers."""

import re

import numpy as np

from utils.checking.judging.comparing import agree, excess, gradient_problem, merely_small
from utils.checking.judging.problems import Problem
from utils.checking.judging.tolerance import sketches_agree, tolerance
from utils.checking.observing.refusals import CONFINED, NOT_ALLOWED
from utils.checking.records import DrawnCase, Failure, FrozenCase, FrozenExercise, Observation, Output

_ENDS = {  # stages at which code was stopped
    "timeout": Problem.TOO_SLOW,
    "unreached": Problem.NOT_REACHED,
    "killed": Problem.PROCESS_ENDED,
    "tampered": Problem.TAMPERED,
    CONFINED: Problem.CONFINED,
    NOT_ALLOWED: Problem.NOT_ALLOWED,
}
_STAGES = {  # at which an error came
    "missing": Problem.MISSING_OBJECT,
    "signature": Problem.WRONG_SIGNATURE,
    "weights": Problem.WRONG_PARAMETERS,
    "constructor": Problem.CONSTRUCTOR_FAILED,
}


def find_problem(
    exercise: FrozenExercise, frozen: FrozenCase, observation: Observation, manners: bool = True
) -> Problem | None:
    """The first thing wrong; None if all is right.

    Args:
        manners: whether it counts in which type and on which device numbers come, what a call leaves behind, and, where an
            exercise does not teach them, gradients.
    """
    if frozen.case.elsewhere:
        stayed = [one for one in observation.outputs if one.kind == "tensor" and one.shape and one.device != "meta"]
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
    """What is wrong before any number is looked at."""
    wanted, several = frozen.expected.outputs, observation.structure in ("tuple", "list")
    if forbidden_call(exercise, observation):
        return Problem.FORBIDDEN_CALL
    if observation.structure == "NoneType":
        return Problem.RETURNED_NONE
    if len(observation.outputs) != len(wanted) or several != (frozen.expected.structure == "tuple"):
        return Problem.WRONG_STRUCTURE
    if any(one.kind == "NoneType" for one in observation.outputs):
        return Problem.RETURNED_NONE
    if manners and observation.changed:
        return Problem.CHANGED_INPUT
    pairs = zip(wanted, observation.outputs)
    problems = (_output_problem(frozen.case, *pair, observation, manners) for pair in pairs)
    problem = next((one for one in problems if one), None)
    if problem or not manners:
        return problem
    if observation.unstable:
        return Problem.UNSTABLE
    return Problem.OVERWRITTEN if observation.overwritten else None


def _number_problem(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> Problem | None:
    """What is wrong with the numbers of results that have the right form."""
    scale = tolerance(frozen.case, frozen.expected, observation)
    for (name, _), wanted, actual in zip(exercise.outputs, frozen.expected.outputs, observation.outputs):
        has_nan = bool(np.isnan(actual.numbers).any())
        if wanted.values is None:
            assert wanted.sketch is not None
            if not sketches_agree(wanted.sketch, actual.numbers, scale):
                return Problem.NOT_FINITE if has_nan else Problem.WRONG_VALUE
            continue
        if not agree(actual.numbers, wanted.values, scale, frozen.case, frozen.case.rows):
            return Problem.NOT_FINITE if has_nan and not np.isnan(wanted.values).any() else Problem.WRONG_VALUE
        if name in exercise.zeros and merely_small(wanted, actual):
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
    cut = any(wanted.carries_gradient > actual.carries_gradient for wanted, actual in pairs)
    some = any(actual.carries_gradient for _, actual in pairs)
    return Problem.NO_GRAPH if problem and cut and some else problem


def _failure_problem(failure: Failure) -> Problem:
    if failure.stage in _ENDS:
        return _ENDS[failure.stage]
    torchs_own = "not implemented for" in failure.text  # of an operation that a type of numbers does not have
    if failure.type == "NotImplementedError" and failure.stage in ("call", "constructor") and not torchs_own:
        return Problem.UNFINISHED
    return _STAGES.get(failure.stage, Problem.EXCEPTION)


def _error_problem(expected: Failure, observation: Observation) -> Problem | None:
    """What is wrong where an error is asked for: its type counts, and that it names the numbers that matter."""
    if observation.failure is None:
        return Problem.NO_ERROR
    problem = _failure_problem(observation.failure)
    if problem is not Problem.EXCEPTION:
        return problem
    if expected.type not in (observation.failure.type, *observation.failure.bases.split()):
        return Problem.WRONG_ERROR
    named, asked = (set(map(int, re.findall(r"\d+", one.text))) for one in (observation.failure, expected))
    return None if asked <= named else Problem.VAGUE_ERROR


def _is_beyond_torch(case: DrawnCase, failure: Failure) -> bool:
    """Whether a function of torch's, such as cdist, is not there for bfloat16, which is no fault of who calls it."""
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
    """Whether a result is of the type that is asked for, or of one that is as good.

    Whole numbers may be of any length, unless bytes are asked for, and so may fractions where no input is of a type that they
    could follow; a single number of bfloat16 inputs, such as a loss, may be of float32, as mixed precision has it.
    """
    on_mps = observation.device == "mps" and expected.dtype == "torch.float64"
    asked = "torch.float32" if on_mps else expected.dtype
    kinds = [
        next((kind for kind in ("float", "int", "bool") if kind in dtype), dtype) for dtype in (asked, actual.dtype)
    ]
    if actual.dtype == asked or kinds[0] != kinds[1]:
        return actual.dtype == asked
    follows = any(array.dtype.kind == "f" for array in case.arrays)
    alone = not expected.shape and (asked, actual.dtype) == ("torch.bfloat16", "torch.float32")
    return kinds[0] == "int" and asked != "torch.uint8" or kinds[0] == "float" and (not follows or alone)
