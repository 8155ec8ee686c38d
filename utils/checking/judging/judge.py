"""Compares an observation with what was expected and reaches a verdict; never runs a student's code."""

import re
from dataclasses import replace
from functools import partial

import numpy as np

from utils.checking.explaining.choice import COMPARED, diagnose, related
from utils.checking.explaining.facts import Later
from utils.checking.explaining.relations import facts
from utils.checking.judging.tolerance import (
    GRADIENTS,
    clear,
    close,
    extra_gradients,
    not_frozen,
    right_rows,
    sketches_agree,
    tolerance,
)
from utils.checking.judging.verdict import ROBUSTNESS, Result, Verdict
from utils.checking.messages import composing
from utils.checking.messages.wrong_results import describe, forbidden_call, is_sketched, other_order
from utils.checking.observing.refusals import CONFINED, NOT_ALLOWED
from utils.checking.records import DrawnCase, Failure, FrozenCase, FrozenExercise, Observation, Output

MISPLACED = ("wrong_shape", "wrong_dtype", "wrong_value")  # problems that results in another order look like
VANISHING = 1e-30  # what underflows is 0 as well
ALIKE = 0.5  # the share of rows in which what was trained must do what a misconception does, to be taken for it


def judge(
    exercise: FrozenExercise, frozen: FrozenCase, observation: Observation, reveal: bool = True, tell: bool = True
) -> Verdict:
    """The verdict on one observation.

    Args:
        reveal: whether the message may show the case's numbers.
        tell: whether anything is to be said of it; else only whether it passes counts, and what it is like.
    """
    observation = in_units(telling(exercise, frozen, observation), frozen.units)
    reveal = reveal and not frozen.units
    problem = find_problem(exercise, frozen, observation)
    if problem in MISPLACED and other_order(frozen.case, frozen.expected, observation):
        problem = "wrong_order"
    matches = tuple(
        name
        for name, made in frozen.mistakes.items()
        if (problem is None if made is None else problem is not None and same(frozen.case, made, observation))
    )
    sentence, detail = "", ""
    if problem and tell:
        sentence, detail = describe(problem, exercise, frozen, observation, reveal)
    case, found = frozen.case, {}
    by_numbers = problem in (*COMPARED, "wrong_shape") and not is_sketched(frozen)
    if tell and by_numbers and not case.rows and not frozen.units:
        found = Later(partial(facts, exercise, frozen, observation))
    compared, silent = tuple(frozen.mistakes), tuple(name for name, made in frozen.mistakes.items() if made is None)
    limit = tolerance(case, frozen.expected, observation)
    pairs = zip(frozen.expected.outputs, observation.outputs)
    near = problem is None and not case.rows and not all(clear(case, a, b, limit) for a, b in pairs)
    about = {
        "near": near,
        "undefined": problem is not None and has_nan(observation),
        "silent": silent,
        "condition": case.condition,
        "facts": found,
        "extreme": case.extreme,
        "case": case,
        "idea": problem is not None and _misses_the_idea(exercise, frozen, observation),
    }
    return Verdict(case.property, case.part, problem, sentence, detail, matches, compared, **about)


def telling(exercise: FrozenExercise, frozen: FrozenCase, seen: Observation) -> Observation:
    """What was seen on a GPU, if that differs from what was seen on the CPU and the latter is right; else the latter."""
    if seen.there is None or find_problem(exercise, frozen, in_units(seen, frozen.units)):
        return seen
    return seen.there


def _misses_the_idea(exercise: FrozenExercise, frozen: FrozenCase, seen: Observation) -> bool:
    """Whether what fails is what the exercise teaches, rather than what is demanded of every code."""
    if frozen.case.condition:
        return frozen.case.condition in exercise.taught
    if seen.asked_only and "gradients" not in exercise.taught:
        return False
    return find_problem(exercise, frozen, seen, manners=False) is not None


def has_nan(seen: Observation) -> bool:
    """Whether some number of a result, or of a gradient, is NaN."""
    arrays = [*(one.values for one in seen.outputs), *seen.gradients.values()]
    return any(one is not None and one.dtype.kind == "f" and bool(np.isnan(one).any()) for one in arrays)


def in_units(seen: Observation, units: tuple) -> Observation:
    """The observation with each number divided by its unit, where there are units of its results' shapes."""
    if len(units) != len(seen.outputs):
        return seen
    pairs = [
        (one, unit, one.values is not None and one.values.shape == unit.shape) for one, unit in zip(seen.outputs, units)
    ]
    return replace(
        seen, outputs=tuple(replace(one, values=one.values / unit) if fits else one for one, unit, fits in pairs)
    )


def conclude(exercise: FrozenExercise, verdicts: list[Verdict]) -> Result:
    """One result from the verdicts on an exercise's cases: points by part, one message, one misconception."""
    points = earned(exercise, verdicts)
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        message = composing.success(exercise, verdicts)
        return Result(
            exercise.name, sum(points.values()), sum(exercise.points.values()), None, None, message, tuple(verdicts)
        )
    relation = None
    misconception, shown = diagnose(exercise, verdicts, failed)
    if misconception is None:
        shown, relation = related(exercise, shown, verdicts)
    unwritten = any(verdict.problem == "unfinished" for verdict in failed)
    message = composing.failure(exercise, shown, misconception, points, unwritten)
    reached, total = sum(points.values()), sum(exercise.points.values())
    return Result(exercise.name, reached, total, shown.problem, misconception, message, tuple(verdicts), relation)


def earned(exercise: FrozenExercise, verdicts: list[Verdict]) -> dict[str, float]:
    """The points of each part: none where the idea is missed, all but the share for robustness where something else fails."""
    points = {}
    for part, most in exercise.points.items():
        own = [one for one in verdicts if one.part == part]
        if not own or any(one.idea for one in own):
            points[part] = 0
        else:
            points[part] = most if all(one.passed for one in own) else most * (1 - ROBUSTNESS)
    return points


def same(case: DrawnCase, one: Observation, other: Observation) -> bool:
    """Whether two observations of a case cannot be told apart within tolerance; the first may hold sketches.

    Where the first is known by too much that was made on the way, so must the other be.
    """
    if one.failure or other.failure:
        return one.failure is not None and other.failure is not None and _failed_alike(one, other)
    if (one.structure, len(one.outputs), set(one.changed)) != (other.structure, len(other.outputs), set(other.changed)):
        return False
    kept = [(seen.unstable, seen.overwritten, bool(seen.backward), seen.starts) for seen in (one, other)]
    if kept[0] != kept[1]:
        return False
    if excess(case, one) not in (None, excess(case, other)):
        return False
    scale = tolerance(case, one, other)
    return all(_same_output(a, b, scale, case) for a, b in zip(one.outputs, other.outputs)) and (
        _wrong_gradient(case, one, other, scale) is None
    )


_EXCESSES = {"largest": "too_large", "kept": "too_much_kept", "made": "too_much"}


def excess(case: DrawnCase, seen: Observation) -> str | None:
    """The problem with what was made on the way: a tensor larger than the case allows, too much kept, or made; else None."""
    over = (name for name, bound in case.bounds.items() if seen.made.get(name, 0) > bound)
    return next((_EXCESSES[name] for name in over), None)


def _failed_alike(one: Observation, other: Observation) -> bool:
    a, b = one.failure, other.failure
    return (a.stage, a.type) == (b.stage, b.type) and (a.text == b.text or a.own and b.own)


def _same_output(a: Output, b: Output, scale: float, case: DrawnCase) -> bool:
    if (a.kind, a.shape) != (b.kind, b.shape) or _dtype(a) != _dtype(b):
        return False
    if a.sketch is not None:
        return b.values is not None and sketches_agree(a.sketch, b.values, scale)
    if a.values is None or b.values is None:
        return a.values is None and b.values is None
    return _agree(b.values, a.values, scale, case, min(case.rows, ALIKE))


def _agree(got: np.ndarray, wanted: np.ndarray, scale: float, case: DrawnCase, rows: float = 0.0) -> bool:
    """Whether all numbers are close or, where a share of the rows is asked for, so many rows."""
    if rows:
        return right_rows(got, wanted, scale).mean() >= rows
    return bool(close(got, wanted, scale, "row" if case.coarse else "").all())


def merely_small(wanted: Output, got: Output) -> bool:
    """Whether a number that has to be exactly 0 is another, though within tolerance."""
    return bool((np.abs(got.values[wanted.values == 0]) > VANISHING).any())


def _dtype(output: Output) -> str:
    if "int" in output.dtype:
        return "int"  # of any length
    return "torch.float32" if output.device == "mps" and output.dtype == "torch.float64" else output.dtype


def find_problem(exercise: FrozenExercise, frozen: FrozenCase, seen: Observation, manners: bool = True) -> str | None:
    """The first thing wrong, from what makes comparison impossible down to the numbers; None if all is right.

    Args:
        manners: whether it counts in which type and on which device numbers come, what a call leaves behind, and, where an
            exercise does not teach them, gradients.
    """
    expected = frozen.expected
    if frozen.case.elsewhere:
        stayed = any(output.kind == "tensor" and output.shape and output.device != "meta" for output in seen.outputs)
        return "left_behind" if seen.failure or stayed else None
    if expected.failure:
        return _error_problem(expected.failure, seen)
    if seen.failure:
        return None if _is_beyond_torch(frozen.case, seen.failure) else _failure_problem(seen)
    if forbidden_call(exercise, seen):
        return "forbidden_call"
    if seen.structure == "NoneType":
        return "returned_none"
    several = seen.structure in ("tuple", "list")
    if len(seen.outputs) != len(expected.outputs) or several != (expected.structure == "tuple"):
        return "wrong_structure"
    if any(got.kind == "NoneType" for got in seen.outputs):
        return "returned_none"
    if manners and seen.changed:
        return "changed_input"
    for wanted, got in zip(expected.outputs, seen.outputs):
        problem = _output_problem(frozen.case, wanted, got, seen, manners)
        if problem:
            return problem
    if manners and (seen.unstable or seen.overwritten):
        return "unstable" if seen.unstable else "overwritten"
    scale = tolerance(frozen.case, expected, seen)
    for (name, _), wanted, got in zip(exercise.outputs, expected.outputs, seen.outputs):
        if wanted.values is None:
            if not sketches_agree(wanted.sketch, got.values, scale):
                return "not_finite" if np.isnan(got.values).any() else "wrong_value"
            continue
        if not _agree(got.values, wanted.values, scale, frozen.case, frozen.case.rows):
            return "not_finite" if np.isnan(got.values).any() and not np.isnan(wanted.values).any() else "wrong_value"
        if name in exercise.zeros and merely_small(wanted, got):
            return "not_quite_zero"
    if seen.starts != expected.starts:
        return "wrong_start"
    if excess(frozen.case, seen):
        return excess(frozen.case, seen)
    if not manners and "gradients" not in exercise.taught:
        return None
    if seen.backward:
        return "backward_failed"
    pairs = [(expected.outputs[place], seen.outputs[place]) for place in frozen.case.gradient]
    cut = any(wanted.carries_gradient > got.carries_gradient for wanted, got in pairs)
    problem = _wrong_gradient(frozen.case, expected, seen, scale)
    return "no_graph" if problem and cut and any(got.carries_gradient for _, got in pairs) else problem


_ENDS = {"timeout": "too_slow", "unreached": "not_reached", "killed": "process_ended", "tampered": "tampered"}
_ENDS |= {refused: refused for refused in (CONFINED, NOT_ALLOWED)}


def _failure_problem(seen: Observation) -> str:
    failure = seen.failure
    if failure.stage in _ENDS:
        return _ENDS[failure.stage]
    torchs_own = "not implemented for" in failure.text  # of an operation that a type of numbers does not have
    if failure.type == "NotImplementedError" and failure.stage in ("call", "constructor") and not torchs_own:
        return "unfinished"
    return {
        "missing": "missing_object",
        "signature": "wrong_signature",
        "weights": "wrong_parameters",
        "constructor": "constructor_failed",
    }.get(failure.stage, "exception")


def _error_problem(wanted: Failure, seen: Observation) -> str | None:
    """What is wrong where an error is asked for: its type counts, and that it names the numbers that matter."""
    problem = _failure_problem(seen) if seen.failure else "no_error"
    if problem != "exception":
        return problem
    if wanted.type not in (seen.failure.type, *seen.failure.bases.split()):
        return "wrong_error"
    numbers = [set(map(int, re.findall(r"\d+", failure.text))) for failure in (wanted, seen.failure)]
    return None if numbers[0] <= numbers[1] else "vague_error"


def _is_beyond_torch(case: DrawnCase, failure: Failure) -> bool:
    """Whether a function of torch's, such as cdist, is not there for bfloat16, which is no fault of who calls it."""
    return case.precision == "bfloat16" and "not implemented for 'BFloat16'" in failure.text and not failure.own


def _output_problem(case: DrawnCase, wanted: Output, got: Output, seen: Observation, manners: bool) -> str | None:
    if got.kind != "tensor" and (manners or got.values is None):
        return "not_a_tensor"
    if got.shape != wanted.shape:
        return "wrong_shape"
    if manners and got.device != seen.device:
        return "wrong_device"
    if got.values is None or got.values.shape != got.shape or manners and not _right_type(case, wanted, got, seen):
        return "wrong_dtype"
    return None


def _right_type(case: DrawnCase, wanted: Output, got: Output, seen: Observation) -> bool:
    """Whether a result is of the type that is asked for, or of one that is as good.

    Whole numbers may be of any length, unless bytes are asked for, and so may fractions where no input is of a type that they
    could follow; a single number of bfloat16 inputs, such as a loss, may be of float32, as mixed precision has it.
    """
    on_mps = seen.device == "mps" and wanted.dtype == "torch.float64"
    asked = "torch.float32" if on_mps else wanted.dtype
    kinds = [next((kind for kind in ("float", "int", "bool") if kind in dtype), dtype) for dtype in (asked, got.dtype)]
    if got.dtype == asked or kinds[0] != kinds[1]:
        return got.dtype == asked
    follows = any(array.dtype.kind == "f" for array in case.arrays)
    alone = not wanted.shape and (asked, got.dtype) == ("torch.bfloat16", "torch.float32")
    return kinds[0] == "int" and asked != "torch.uint8" or kinds[0] == "float" and (not follows or alone)


def _wrong_gradient(case: DrawnCase, expected: Observation, seen: Observation, scale: float) -> str | None:
    wanted = {name: gradient for name, gradient in expected.gradients.items() if gradient is not None}
    found = {name: seen.gradients.get(name) for name in wanted}
    if any(
        got is None and not np.abs(wanted[name]).max(initial=0) <= scale for name, got in found.items()
    ):  # NaN counts
        return "no_gradient"
    if extra_gradients(expected, seen, scale):
        return "extra_gradient"
    if not_frozen(expected, seen):
        return "not_frozen"
    for name, got in found.items():
        if got is None:
            continue
        allowed = max(GRADIENTS * scale, case.gradient_tolerances.get(name, 0.0))
        if got.shape != wanted[name].shape or not close(got, wanted[name], allowed, "all" if case.coarse else "").all():
            return "wrong_gradient"
    return None
