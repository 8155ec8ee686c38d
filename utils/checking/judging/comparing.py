"""Whether two observations of a case are the same within tolerance, output by output and gradient by gradient."""

from dataclasses import replace

import numpy as np

from utils.checking.judging.problems import Problem
from utils.checking.judging.tolerance import GRADIENTS, close, right_rows, sketches_agree, tolerance
from utils.checking.records import DrawnCase, Failure, Observation, Output

VANISHING = 1e-30  # smaller numbers count as 0, since they may have underflowed
ALIKE = 0.5  # the share of rows in which a trained model must agree with a misconception to match it
_EXCESSES = {"largest": Problem.TOO_LARGE, "kept": Problem.TOO_MUCH_KEPT, "made": Problem.TOO_MUCH}


def in_units(observation: Observation, units: tuple) -> Observation:
    """The observation with each number divided by its unit, where there are units of its results' shapes."""
    if len(units) != len(observation.outputs):
        return observation
    outputs = zip(observation.outputs, units)
    return replace(observation, outputs=tuple(_in_unit(output, unit) for output, unit in outputs))


def _in_unit(output: Output, unit: np.ndarray) -> Output:
    if output.values is None or output.values.shape != unit.shape:
        return output
    return replace(output, values=output.values / unit)


def same(case: DrawnCase, first: Observation, second: Observation) -> bool:
    """Whether two observations of a case agree within tolerance; the first may hold sketches.

    Where the first exceeds a bound on intermediate tensors, so must the second.
    """
    if first.failure or second.failure:
        return first.failure is not None and second.failure is not None and _failed_alike(first.failure, second.failure)
    forms = [
        (observation.structure, len(observation.outputs), set(observation.changed)) for observation in (first, second)
    ]
    kept = [
        (observation.unstable, observation.overwritten, bool(observation.backward), observation.starts)
        for observation in (first, second)
    ]
    if forms[0] != forms[1] or kept[0] != kept[1]:
        return False
    if excess(case, first) not in (None, excess(case, second)):
        return False
    scale = tolerance(case, first, second)
    return all(_same_output(a, b, scale, case) for a, b in zip(first.outputs, second.outputs)) and (
        gradient_problem(case, first, second, scale) is None
    )


def _failed_alike(first: Failure, second: Failure) -> bool:
    same_error = (first.stage, first.type) == (second.stage, second.type)
    return same_error and (first.text == second.text or first.own and second.own)


def _same_output(first: Output, second: Output, scale: float, case: DrawnCase) -> bool:
    if (first.kind, first.shape) != (second.kind, second.shape) or _dtype(first) != _dtype(second):
        return False
    if first.sketch is not None:
        return second.values is not None and sketches_agree(first.sketch, second.values, scale)
    if first.values is None or second.values is None:
        return first.values is None and second.values is None
    return agree(second.values, first.values, scale, case, min(case.rows, ALIKE))


def _dtype(output: Output) -> str:
    if "int" in output.dtype:
        return "int"  # of any length
    return "torch.float32" if output.device == "mps" and output.dtype == "torch.float64" else output.dtype


def agree(actual: np.ndarray, expected: np.ndarray, scale: float, case: DrawnCase, rows: float = 0.0) -> bool:
    """Whether all numbers are close or, with `rows`, all numbers of at least that share of the rows."""
    if rows:
        return bool(right_rows(actual, expected, scale).mean() >= rows)
    return bool(close(actual, expected, scale, "row" if case.coarse else "").all())


def merely_small(expected: Output, actual: Output) -> bool:
    """Whether a number that must be exactly 0 is another number, though within tolerance."""
    return bool((np.abs(actual.numbers[expected.numbers == 0]) > VANISHING).any())


def excess(case: DrawnCase, observation: Observation) -> Problem | None:
    """The problem with intermediate tensors: one larger than the case allows, too much kept, or too much made; else None."""
    over = (name for name, bound in case.bounds.items() if observation.made.get(name, 0) > bound)
    return next((_EXCESSES[name] for name in over), None)


def gradient_problem(case: DrawnCase, expected: Observation, observation: Observation, scale: float) -> Problem | None:
    """The problem with the gradients; None where they are right."""
    expected_gradients = {name: gradient for name, gradient in expected.gradients.items() if gradient is not None}
    actual_gradients = {name: observation.gradients.get(name) for name in expected_gradients}
    absent = [name for name, gradient in actual_gradients.items() if gradient is None]
    if any(not np.abs(expected_gradients[name]).max(initial=0) <= scale for name in absent):  # NaN counts
        return Problem.NO_GRADIENT
    if extra_gradients(expected, observation, scale):
        return Problem.EXTRA_GRADIENT
    if not_frozen(expected, observation):
        return Problem.NOT_FROZEN
    for name, gradient in actual_gradients.items():
        if gradient is None:
            continue
        allowed = max(GRADIENTS * scale, case.gradient_tolerances.get(name, 0.0))
        among = "all" if case.coarse else ""
        if (
            gradient.shape != expected_gradients[name].shape
            or not close(gradient, expected_gradients[name], allowed, among).all()
        ):
            return Problem.WRONG_GRADIENT
    return None


def not_frozen(expected: Observation, seen: Observation) -> list[str]:
    """The names of parameters that should be frozen and ask for a gradient, though none reached them."""
    frozen = [name for name, gradient in expected.gradients.items() if gradient is None and name not in expected.asking]
    return [name for name in seen.asking if name in frozen]


def extra_gradients(expected: Observation, seen: Observation, scale: float = 0.0) -> list[str]:
    """The names of inputs and weights that a gradient reaches although none should."""
    none = [name for name, gradient in expected.gradients.items() if gradient is None]
    gradients = {name: seen.gradients.get(name) for name in none}
    return [
        name for name, actual in gradients.items() if actual is not None and not np.abs(actual).max(initial=0) <= scale
    ]


def other_order(case: DrawnCase, expected: Observation, observation: Observation) -> tuple[int, ...] | None:
    """The order in which right results were returned, if it is another one than is asked for; else None."""
    expected_outputs, limit = expected.outputs, tolerance(case, expected, observation)
    if len(expected_outputs) != len(observation.outputs) or any(
        output.values is None for output in (*expected_outputs, *observation.outputs)
    ):
        return None
    fits = [
        {place for place, expected_output in enumerate(expected_outputs) if is_right(expected_output, actual, limit)}
        for actual in observation.outputs
    ]
    return next((order for order in _choices(fits) if order != tuple(range(len(expected_outputs)))), None)


def is_right(expected: Output, actual: Output, limit: float) -> bool:
    """Whether a result has the right shape and, within tolerance, the right numbers."""
    return expected.shape == actual.shape and bool(close(actual.numbers, expected.numbers, limit).all())


def _choices(fits: list[set[int]]) -> list[tuple[int, ...]]:
    """Every way to choose one member of each set, without choosing any member twice."""
    orders: list[tuple[int, ...]] = [()]
    for fitting in fits:
        orders = [(*order, place) for order in orders for place in sorted(fitting - set(order))]
    return orders
