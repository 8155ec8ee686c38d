"""Whether two observations of a case are the same within tolerance, output by output and gradient by gradient."""

from dataclasses import replace

import numpy as np

from utils.checking.judging.problems import Problem
from utils.checking.judging.tolerance import (
    GRADIENTS,
    close,
    extra_gradients,
    not_frozen,
    right_rows,
    sketches_agree,
    tolerance,
)
from utils.checking.records import DrawnCase, Failure, Observation, Output

VANISHING = 1e-30  # what underflows is 0 as well
ALIKE = 0.5  # the share of rows in which what was trained must do what a misconception does, to be taken for it
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
    """Whether two observations of a case cannot be told apart within tolerance; the first may hold sketches.

    Where the first is known by too much that was made on the way, so must the other be.
    """
    if first.failure or second.failure:
        return first.failure is not None and second.failure is not None and _failed_alike(first.failure, second.failure)
    forms = [(seen.structure, len(seen.outputs), set(seen.changed)) for seen in (first, second)]
    kept = [(seen.unstable, seen.overwritten, bool(seen.backward), seen.starts) for seen in (first, second)]
    if forms[0] != forms[1] or kept[0] != kept[1]:
        return False
    if excess(case, first) not in (None, excess(case, second)):
        return False
    scale = tolerance(case, first, second)
    return all(_same_output(a, b, scale, case) for a, b in zip(first.outputs, second.outputs)) and (
        gradient_problem(case, first, second, scale) is None
    )


def _failed_alike(first: Failure, second: Failure) -> bool:
    alike = (first.stage, first.type) == (second.stage, second.type)
    return alike and (first.text == second.text or first.own and second.own)


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
    """Whether all numbers are close or, where a share of the rows is asked for, so many rows."""
    if rows:
        return bool(right_rows(actual, expected, scale).mean() >= rows)
    return bool(close(actual, expected, scale, "row" if case.coarse else "").all())


def merely_small(expected: Output, actual: Output) -> bool:
    """Whether a number that has to be exactly 0 is another, though within tolerance."""
    return bool((np.abs(actual.numbers[expected.numbers == 0]) > VANISHING).any())


def excess(case: DrawnCase, observation: Observation) -> Problem | None:
    """The problem with what was made on the way: a tensor larger than the case allows, too much kept, or made; else None."""
    over = (name for name, bound in case.bounds.items() if observation.made.get(name, 0) > bound)
    return next((_EXCESSES[name] for name in over), None)


def gradient_problem(case: DrawnCase, expected: Observation, observation: Observation, scale: float) -> Problem | None:
    """What is wrong with the gradients; None where nothing is."""
    wanted = {name: gradient for name, gradient in expected.gradients.items() if gradient is not None}
    actual = {name: observation.gradients.get(name) for name in wanted}
    absent = [name for name, gradient in actual.items() if gradient is None]
    if any(not np.abs(wanted[name]).max(initial=0) <= scale for name in absent):  # NaN counts
        return Problem.NO_GRADIENT
    if extra_gradients(expected, observation, scale):
        return Problem.EXTRA_GRADIENT
    if not_frozen(expected, observation):
        return Problem.NOT_FROZEN
    for name, gradient in actual.items():
        if gradient is None:
            continue
        allowed = max(GRADIENTS * scale, case.gradient_tolerances.get(name, 0.0))
        among = "all" if case.coarse else ""
        if gradient.shape != wanted[name].shape or not close(gradient, wanted[name], allowed, among).all():
            return Problem.WRONG_GRADIENT
    return None


def other_order(case: DrawnCase, expected: Observation, observation: Observation) -> tuple[int, ...] | None:
    """The order in which right results came, if they came in another one than was asked for."""
    wanted, limit = expected.outputs, tolerance(case, expected, observation)
    if len(wanted) != len(observation.outputs) or any(one.values is None for one in (*wanted, *observation.outputs)):
        return None
    fits = [{place for place, one in enumerate(wanted) if is_right(one, came, limit)} for came in observation.outputs]
    return next((order for order in _orders(fits) if order != tuple(range(len(wanted)))), None)


def is_right(expected: Output, actual: Output, limit: float) -> bool:
    """Whether a result has the right shape and, within tolerance, the right numbers."""
    return expected.shape == actual.shape and bool(close(actual.numbers, expected.numbers, limit).all())


def _orders(fits: list[set[int]]) -> list[tuple[int, ...]]:
    """Every way to choose a member of each set, none of them twice."""
    orders: list[tuple[int, ...]] = [()]
    for fitting in fits:
        orders = [(*order, place) for order in orders for place in sorted(fitting - set(order))]
    return orders
