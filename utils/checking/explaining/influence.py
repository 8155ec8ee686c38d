"""Finds facts about the inputs that a result depends on, from its gradients: inputs that should not count, or should and do not.

A derivative that is not 0 proves that a result depends on an input; a derivative of 0 proves nothing, so its sentence asks.
"""

from dataclasses import dataclass

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind
from utils.checking.explaining.topics import hides, takes_exponentials
from utils.checking.messages.facts import influence as words
from utils.checking.messages.facts.influence import MarkedRows
from utils.checking.records import FrozenCase, FrozenExercise, Observation

NOTHING = 1e-12  # share of the largest derivative; smaller ones are rounding
FAINT = 1e-3  # share of another derivative; a smaller one proves little, as where a softmax saturates, or where it is rounding
STRAIGHT = 1e-3  # share of a row's length by which a row of derivatives may deviate from the right direction


@dataclass(frozen=True)
class Derivative:
    """The derivative of the sum of results with respect to one input, as it should be and as it is."""

    result: str
    given: str
    axes: list[str]  # the input's
    expected: np.ndarray
    actual: np.ndarray


def influence_facts(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> Facts:
    """Facts about inputs on which wrong results depend otherwise than right ones, on a case whose gradients were observed."""
    case, gradients = frozen.case, frozen.expected.gradients
    names = [exercise.outputs[place][0] for place in case.gradient if place < len(exercise.outputs)]
    if observation.backward or not names or case.coarse:
        return []
    sizes = [np.abs(gradient).max(initial=0) for gradient in gradients.values() if gradient is not None]
    largest, result = np.array(max(sizes, default=0.0)), " and ".join(names)
    facts: Facts = []
    for given in dict.fromkeys((*case.inputs, *case.weights)):
        expected, actual = gradients.get(given), observation.gradients.get(given)
        if expected is None or not np.isfinite(expected).all():
            continue
        if actual is None and not _faint(expected, largest):
            sentence = words.no_gradient(result, given, hides=hides(exercise))
            facts.append(Fact(Kind.INFLUENCE_NONE, given, sentence=sentence))
        elif actual is not None and given in case.inputs and _comparable(expected, actual):
            axes = case.symbols.get(given, "").split()
            facts += _derivative_facts(exercise, frozen, Derivative(result, given, axes, expected, actual))
    return facts


def _comparable(expected: np.ndarray, actual: np.ndarray) -> bool:
    return actual.shape == expected.shape and actual.ndim > 0 and bool(np.isfinite(actual).all())


def _derivative_facts(exercise: FrozenExercise, frozen: FrozenCase, derivative: Derivative) -> Facts:
    """What the derivative with respect to one input shows."""
    facts = _shift(derivative, softmax=takes_exponentials(exercise))
    facts += _extra(derivative, frozen) + _missing(derivative, frozen, hiding=hides(exercise))
    single_numbers = all(output.shape == () for output in frozen.expected.outputs)
    return facts + _sizes(derivative) if single_numbers else facts


def _shift(derivative: Derivative, softmax: bool) -> Facts:
    """Whether adding one number to all of an input along its last axis should change nothing, and does.

    Args:
        softmax: whether it should change nothing because of a softmax.
    """
    expected, actual, axes = derivative.expected, derivative.actual, derivative.axes
    if _faint(actual, expected) or expected.shape[-1] < 2:
        return []
    right, actual_total = (np.abs(gradient.sum(axis=-1)).max() for gradient in (expected, actual))
    size, actual_size = (np.abs(gradient).max() for gradient in (expected, actual))
    if not size or right > STRAIGHT * size or actual_total <= 10 * STRAIGHT * actual_size:
        return []
    axis = axes[-1] if axes else ""
    sentence = words.shift(
        derivative.result, derivative.given, axis=axis, several_rows=expected.ndim > 1, softmax=softmax
    )
    return [Fact(Kind.INFLUENCE_SHIFT, derivative.given, sentence=sentence)]


def _faint(gradient: np.ndarray, other: np.ndarray) -> bool:
    """Whether a derivative is negligible compared with another."""
    return bool(np.abs(gradient).max(initial=0) < FAINT * np.abs(other).max(initial=0))


def _rows(gradient: np.ndarray) -> np.ndarray:
    """Where along all axes but the last a derivative is not 0."""
    return (np.abs(gradient) > NOTHING * np.abs(gradient).max(initial=0)).any(axis=-1)


def _extra(derivative: Derivative, frozen: FrozenCase) -> Facts:
    """Rows of an input that count and should not; another input's value there may identify them."""
    right, rows = _rows(derivative.expected), _extra_rows(derivative)
    if not right.ndim or not rows.any() or _faint(derivative.expected, derivative.actual):
        return []
    marked, several = _marked(rows, ~right, derivative.axes, frozen), " and " in derivative.result
    sentence = words.extra(derivative.result, derivative.given, several=several, rows=marked)
    value = marked.label if marked else ""
    return [Fact(Kind.INFLUENCE_EXTRA, derivative.given, value=value, sentence=sentence)]


def _extra_rows(derivative: Derivative) -> np.ndarray:
    return _rows(derivative.actual) & ~_rows(derivative.expected)


def _missing(derivative: Derivative, frozen: FrozenCase, hiding: bool) -> Facts:
    """Rows of an input that do not count and should; another input's value there may identify them.

    Args:
        hiding: whether a mask may be what makes a derivative 0.
    """
    result, given, right = derivative.result, derivative.given, _rows(derivative.expected)
    rows = right & ~derivative.actual.any(axis=-1)  # a small derivative does not count as missing
    if not right.ndim or not rows.any():
        return []
    if rows.sum() == right.sum():
        others_count = bool(_extra_rows(derivative).any())
        sentence = words.missing_everywhere(result, given, others_count=others_count, hides=hiding)
        return [Fact(Kind.INFLUENCE_MISSING, given, value="everywhere", sentence=sentence)]
    marked = _marked(rows, right, derivative.axes, frozen)
    sentence = words.missing(result, given, rows=marked, hides=hiding)
    return [Fact(Kind.INFLUENCE_MISSING, given, value=marked.label if marked else "", sentence=sentence)]


def _marked(rows: np.ndarray, possible: np.ndarray, axes: list[str], frozen: FrozenCase) -> MarkedRows | None:
    """The value of another input, with the same axes but the last, that marks just these rows; None where there is none."""
    for name, value in frozen.case.inputs.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iub" or value.shape != rows.shape:
            continue
        if frozen.case.symbols.get(name, "").split() != axes[:-1]:
            continue
        marks = np.unique(value[rows])
        if len(marks) == 1:
            mark = bool(marks[0]) if value.dtype.kind == "b" else marks[0]
            return MarkedRows(name, mark, complete=bool(rows[(value == marks[0]) & possible].all()))
    return None


def _sizes(derivative: Derivative) -> Facts:
    """For a single number as a result: whether each row of derivatives points the right way, and only its size is off."""
    rows = _rows(derivative.expected)
    factor = _factors(derivative.expected[rows], derivative.actual[rows])
    if factor is None or _constant(factor):
        return []
    factors = np.full(rows.shape, np.nan)
    factors[rows] = factor
    if rows.ndim == 2 and len(factors) > 1 and all(_constant(row[~np.isnan(row)]) for row in factors):
        axis = derivative.axes[0].lstrip("*") if derivative.axes else ""
        return [Fact(Kind.INFLUENCE_GROUP, derivative.given, sentence=words.group(axis=axis))]
    some_right = bool(np.isclose(factor, 1, rtol=STRAIGHT).any())
    sentence = words.size(derivative.result, derivative.given, some_right=some_right)
    return [Fact(Kind.INFLUENCE_SIZE, derivative.given, sentence=sentence)]


def _factors(expected: np.ndarray, actual: np.ndarray) -> np.ndarray | None:
    """For each row the factor by which its size is off; None where some row points elsewhere, or where there is none."""
    length = (expected * expected).sum(axis=-1, keepdims=True)
    factor = (expected * actual).sum(axis=-1, keepdims=True) / length
    if not len(expected) or not actual.any(axis=-1).all():
        return None
    off = np.abs(actual - factor * expected).max(axis=-1)
    return None if (off > STRAIGHT * np.linalg.norm(actual, axis=-1)).any() else factor[..., 0]


def _constant(values: np.ndarray) -> bool:
    return bool(len(values) == 0 or np.ptp(values) <= STRAIGHT * np.abs(values).max())
