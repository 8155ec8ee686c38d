"""Facts about what a result depends on, from its gradients: on inputs that should not count, or not on some that should.

A derivative that is not 0 proves that a result depends on an input there; one that is 0 is told as that.
"""

import numpy as np

from utils.checking.explaining.facts import Facts
from utils.checking.explaining.topics import hides, takes_exponentials
from utils.checking.records import FrozenCase, FrozenExercise, Observation

NOTHING = 1e-12  # of the largest derivative: less is rounding
FAINT = 1e-3  # of another derivative: one so small says little, as where all saturates, or where it is rounding
STRAIGHT = 1e-3  # of a row's length: what a row of derivatives may be off the right direction


def influence_facts(exercise: FrozenExercise, frozen: FrozenCase, seen: Observation) -> Facts:
    """On which inputs wrong results depend as right ones do not, on a case whose gradients were observed."""
    names = [exercise.outputs[place][0] for place in frozen.case.gradient if place < len(exercise.outputs)]
    if seen.backward or not names or frozen.case.coarse:
        return {}
    found: Facts = {}
    sizes = [np.abs(one).max(initial=0) for one in frozen.expected.gradients.values() if one is not None]
    largest = np.array(max(sizes, default=0.0))
    for given in (*frozen.case.inputs, *frozen.case.weights):
        wanted, got = frozen.expected.gradients.get(given), seen.gradients.get(given)
        if wanted is None or not np.isfinite(wanted).all():
            continue
        result = " and ".join(names)
        if got is None and _faint(wanted, largest):
            continue
        if got is None:
            told = f"No gradient flows from {result} back to {given}: {_cut(exercise).replace(' there', '')}"
            found["influence none", given] = told
        elif given in frozen.case.inputs and got.shape == wanted.shape and got.ndim and np.isfinite(got).all():
            axes = frozen.case.symbols.get(given, "").split()
            found |= _shift(result, given, wanted, got, axes, takes_exponentials(exercise))
            found |= _dependence(result, given, wanted, got, frozen, _cut(exercise))
            if all(one.shape == () for one in frozen.expected.outputs):
                found |= _sizes(result, given, wanted, got, axes)
    return found


def _shift(result: str, given: str, wanted: np.ndarray, got: np.ndarray, axes: list, softmax: bool) -> Facts:
    """Whether one number added to all of an input along its last axis should change nothing, and does.

    Args:
        softmax: whether that is so because of a softmax.
    """
    if _faint(got, wanted):
        return {}
    sums, size = ([np.abs(one.sum(axis=-1)).max(), np.abs(one).max()] for one in (wanted, got))
    if wanted.shape[-1] < 2 or not sums[1] or sums[0] > STRAIGHT * sums[1] or size[0] <= 10 * STRAIGHT * size[1]:
        return {}
    along = f" along {axes[-1]}, its last axis," if axes else " along the last axis"
    place = " at one position" if wanted.ndim > 1 else ""
    told = f"One number added to all of {given}{along}{place} should not change {result}, and it does"
    return {("influence shift", given): f"{told}{_SOFTMAX if softmax else '.'}"}


_SOFTMAX = ": does the softmax run along that axis, with exp itself, and is its result used whole?"


def _cut(exercise: FrozenExercise) -> str:
    """What a derivative of 0 comes from, as a question."""
    hidden = ", or does a mask hide too much?" if hides(exercise) else "?"
    told = (
        "is it used there at all, and what comes of it kept, or is it used only through something without a derivative,"
    )
    return f"{told} such as argmax, rounding or a comparison{hidden}"


def _faint(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether a derivative is next to nothing beside another."""
    return bool(np.abs(one).max(initial=0) < FAINT * np.abs(other).max(initial=0))


def _rows(gradient: np.ndarray) -> np.ndarray:
    """Where along all axes but the last a derivative is not 0."""
    return (np.abs(gradient) > NOTHING * np.abs(gradient).max(initial=0)).any(axis=-1)


def _dependence(result: str, given: str, wanted: np.ndarray, got: np.ndarray, frozen: FrozenCase, cut: str) -> Facts:
    """Rows of an input that count and should not, or the other way round; another input's value there may tell which.

    Args:
        cut: what a derivative of 0 comes from.
    """
    right, ours, found = _rows(wanted), _rows(got), {}
    extra, missing = ours & ~right, right & ~got.any(axis=-1)  # a small derivative is none that is missing
    if right.ndim and extra.any() and not _faint(wanted, got):
        told, where = _told_by(extra, ~right, given, frozen)
        subject = f"Something of {result}" if " and " in result else result  # seen is a gradient of all together
        found["influence extra", given, told] = f"{subject} depends on {given}{where}, and should not."
    if right.ndim and missing.any():
        told, where = _told_by(missing, right, given, frozen)
        if missing.sum() == right.sum():
            told, where = "everywhere", " at each position where it should not be" if extra.any() else ""
        end = "" if where.endswith("not be") else ", and should not be"
        found["influence missing", given, told] = (
            f"The derivative of {result} with respect to {given} is 0{where}{end}: {cut}"
        )
    return found


def _told_by(rows: np.ndarray, possible: np.ndarray, given: str, frozen: FrozenCase) -> tuple[str, str]:
    """The value of another input that marks just these rows, as a key and in words; else that they are some positions."""
    axes = frozen.case.symbols.get(given, "").split()[:-1]
    for name, value in frozen.case.inputs.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iub" or value.shape != rows.shape:
            continue
        if frozen.case.symbols.get(name, "").split() != axes:
            continue
        marks = np.unique(value[rows])
        if len(marks) == 1:
            mark = bool(marks[0]) if value.dtype.kind == "b" else marks[0]
            some = "" if rows[(value == marks[0]) & possible].all() else " at some of the positions"
            return f"{name} {mark}{some}", f"{some} where {name} is {mark}"
    return "", " at some positions"


def _sizes(result: str, given: str, wanted: np.ndarray, got: np.ndarray, axes: list) -> Facts:
    """For a single number as a result: whether each row of derivatives points the right way, and only its size is off."""
    rows = _rows(wanted)
    a, b = wanted[rows], got[rows]
    length = (a * a).sum(axis=-1, keepdims=True)
    factor = (a * b).sum(axis=-1, keepdims=True) / length
    if (
        not len(a)
        or not b.any(axis=-1).all()
        or (np.abs(b - factor * a).max(axis=-1) > STRAIGHT * np.linalg.norm(b, axis=-1)).any()
    ):
        return {}
    factors = np.full(rows.shape, np.nan)
    factors[rows] = factor[..., 0]
    if _constant(factor[..., 0]):
        return {}
    first = axes[0].lstrip("*") if axes else "the first axis"
    if rows.ndim == 2 and len(factors) > 1 and all(_constant(row[~np.isnan(row)]) for row in factors):
        return {
            ("influence group", given): f"Positions count more along some indices of {first} than along others, and all"
            f" should count alike: is there a mean for each index of {first} first, and then a mean of these means?"
        }
    right = np.isclose(factor, 1, rtol=STRAIGHT).any()
    where = "At some of the positions that count" if right else "At each position that counts"
    told = f"{where} the derivative of {result} with respect to {given} has the right direction, but not the right size, and the"
    question = "does each position get a weight of its own, or is something else summed than the formula says?"
    return {("influence size", given): f"{told} factor differs from position to position: {question}"}


def _constant(values: np.ndarray) -> bool:
    return bool(len(values) == 0 or np.ptp(values) <= STRAIGHT * np.abs(values).max())
