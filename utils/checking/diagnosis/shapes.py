"""Facts about wrong shapes: what became of the axes, and what the numbers in the other shape are."""

from itertools import permutations

import numpy as np

from utils.checking.diagnosis.facts import Facts
from utils.checking.diagnosis.sizes import RIGHT, length_facts
from utils.checking.records import Output

_TAKEN = {  # what may be made of an axis, or of all of them
    "the sum over {axis} of": lambda values, axis: values.sum(axis=axis),
    "the mean over {axis} of": lambda values, axis: values.mean(axis=axis),
    "the largest number along {axis} of": lambda values, axis: values.max(axis=axis),
    "the smallest number along {axis} of": lambda values, axis: values.min(axis=axis),
    "the first position along {axis} of": lambda values, axis: values.take(0, axis=axis),
    "the last position along {axis} of": lambda values, axis: values.take(-1, axis=axis),
}
_MOST_AXES = 5  # of how many axes every order is tried


def shape_facts(name: str, axes: list, wanted: Output, got: Output, sizes: dict) -> Facts:
    """What a result of the wrong shape looks like, the most telling first; all of one kind, so that one alone is told.

    Args:
        axes: the result's axes, as they are declared.
        sizes: of the inputs' axes, and whole numbers among the inputs.
    """
    if wanted.shape == got.shape:
        return {}
    count = len(wanted.shape)
    axes = axes if len(axes) == count else [f"axis −{count - axis}" for axis in range(count)]
    known = all(one.values is not None and one.values.shape == one.shape and one.values.size for one in (wanted, got))
    found = _ones(name, wanted.shape, got.shape)
    if known:
        found |= _in_another_order(name, axes, wanted.values, got.values)
        found |= _taken(name, axes, wanted.values, got.values)
    found |= _merged(name, wanted.shape, got.shape)
    if count == len(got.shape):
        if sorted(wanted.shape) == sorted(got.shape):
            found["shape", "order", name] = f"{name} has its axes in another order."
        found |= length_facts(name, axes, wanted, got, sizes)
    if known and _equal(wanted.values.ravel(), got.values.ravel()):
        told = f"The numbers of {name} are right and in the right order; their shape is another"
        found["shape", "cut", name] = (
            f"{told}: are axes joined or cut up, by a reshape or a flatten, that should not be?"
        )
    return found


def _equal(wanted: np.ndarray, got: np.ndarray) -> bool:
    return wanted.shape == got.shape and bool(np.allclose(got, wanted, **RIGHT))


def _in_another_order(name: str, axes: list, wanted: np.ndarray, got: np.ndarray) -> Facts:
    """Whether what came is the right result with its axes in another order."""
    if sorted(wanted.shape) != sorted(got.shape) or wanted.ndim > _MOST_AXES:
        return {}
    orders = [order for order in permutations(range(wanted.ndim)) if _equal(wanted.transpose(order), got)]
    came = [", ".join(axes[axis] for axis in order) for order in orders]
    return {
        ("shape", "transposed", name, order): f"{name} is right but for the order of its axes: it is [{one}]."
        for order, one in zip(orders, came)
    }


def _taken(name: str, axes: list, wanted: np.ndarray, got: np.ndarray) -> Facts:
    """Whether what came is the right result with one axis, or all of them, reduced to one number."""
    found: Facts = {}
    reduced = [(wanted, axis, axes[axis]) for axis in range(wanted.ndim) if wanted.shape[axis] > 1]
    if wanted.ndim > 1 and not got.ndim and wanted.size:
        reduced = [(wanted.reshape(-1), 0, "all axes")]
    for values, axis, label in reduced:
        for words, take in _TAKEN.items():
            if values.ndim == got.ndim + 1 and _equal(take(values, axis), got):
                told = f"{name} holds {words.format(axis=label)} what is asked for, and not all of it."
                found["shape", "taken", name, label, words] = told
    if wanted.ndim > 1 and _equal(np.diagonal(wanted, axis1=-2, axis2=-1), got):
        found["shape", "diagonal", name] = f"{name} holds the diagonal alone of what is asked for."
    return found


def _ones(name: str, wanted: tuple, got: tuple) -> Facts:
    """Axes of size 1 that are lost or left over."""
    less = len(wanted) - len(got)
    if not less or [size for size in wanted if size != 1] != [size for size in got if size != 1]:
        return {}
    count, one, are, they = (
        ("one axis", "one", "is", "it") if abs(less) == 1 else (f"{abs(less)} axes", "some", "are", "they")
    )
    if less > 0:
        told = f"{name} has {count} too few: {one} of size 1 {are} gone: {are} {they} squeezed away? squeeze() takes every axis"
        told += " of size 1, a batch of one too, and squeeze(dim) takes that one wherever its size is 1."
        return {("shape", "squeezed", name): told}
    told = f"{name} has {count} too many, of size 1: {are} {they} left over from keepdim, unsqueeze or None, or does a reshape"
    return {("shape", "left over", name): f"{told} make the same number of axes whatever comes in?"}


def _merged(name: str, wanted: tuple, got: tuple) -> Facts:
    """Two axes that have become one."""
    pairs = [(i, j) for i in range(len(wanted)) for j in range(i + 1, len(wanted))]
    rest = [sorted([*wanted[:i], *wanted[i + 1 : j], *wanted[j + 1 :], wanted[i] * wanted[j]]) for i, j in pairs]
    if sorted(got) not in rest:
        return {}
    told = f"{name} has one axis too few: two of them have become one: are they still to be taken apart again (unflatten), or"
    told += " were parts joined by cat, which makes no new axis, in the place of torch.stack?"
    return {("shape", "merged", name): told}
