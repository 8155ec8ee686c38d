"""Facts about wrong shapes: what became of the axes, and what the numbers in the other shape are."""

from itertools import permutations

import numpy as np

from utils.checking.explaining.facts import Facts
from utils.checking.explaining.sizes import RIGHT, length_facts
from utils.checking.records import Output

_TAKEN = {  # what may be made of an axis, or of all of them
    "sum": ("the sum over {axis}", "the sum", lambda values, axis: values.sum(axis=axis)),
    "mean": ("the mean over {axis}", "the mean", lambda values, axis: values.mean(axis=axis)),
    "first": ("the first position along {axis}", "the first entry", lambda values, axis: values.take(0, axis=axis)),
    "last": ("the last position along {axis}", "the last entry", lambda values, axis: values.take(-1, axis=axis)),
    "largest": ("the largest number along {axis}", "the largest number", lambda values, axis: values.max(axis=axis)),
    "smallest": ("the smallest number along {axis}", "the smallest number", lambda values, axis: values.min(axis=axis)),
}
_MOST_AXES = 5  # of how many axes every order is tried


@np.errstate(all="ignore")  # sums of the largest numbers overflow
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
            found["shape", "order", name] = _sizes_in_another_order(name, known and count <= _MOST_AXES)
        found |= length_facts(name, axes, wanted, got, sizes)
    if known and _equal(wanted.values.ravel(), got.values.ravel()):
        told = f"The numbers of {name} are right and in the right order; their shape is another."
        found["shape", "cut", name] = f"{told} Is a reshape or a flatten missing, or one too many?"
    if known and wanted.values.dtype.kind in "iu" and got.values.max() > wanted.values.max():
        told = f"Numbers of {name} are larger than any in the right result"
        found["shape", "beyond", name] = f"{told}: is something left that should be replaced, or taken apart?"
    return dict(sorted(found.items(), key=lambda fact: fact[0][1] == "start"))  # which says least


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


def _sizes_in_another_order(name: str, known: bool) -> str:
    """What is told of a shape whose sizes are those asked for; `known` says that no order of the axes makes it right."""
    if not known:
        return f"{name} has its axes in another order."
    told = f"The sizes of {name} are those asked for, at other axes, and exchanging axes alone does not make it right"
    return f"{told}: are two sizes, or two axes, exchanged before?"


def _taken(name: str, axes: list, wanted: np.ndarray, got: np.ndarray) -> Facts:
    """Whether what came is the right result with one axis, or all of them, reduced to one number."""
    found: Facts = {}
    if (wanted == wanted.flat[0]).all():
        return found  # of equal numbers any of them is the first, the last, and the mean
    along = [axis for axis in range(wanted.ndim) if wanted.shape[axis] > 1 and wanted.ndim == got.ndim + 1]
    for words, (of_one, of_all, take) in _TAKEN.items():
        for axis in along:
            if _equal(take(wanted, axis), got):
                told = f"{name} holds {of_one.format(axis=axes[axis])} of what is asked for: the axis {axes[axis]} is gone."
                found["shape", "taken", name, axes[axis], words] = told
        if wanted.ndim > 1 and not got.ndim and _equal(take(wanted.reshape(-1), 0), got):
            found["shape", "taken", name, words] = f"{name} is a single number, {of_all} of what is asked for."
    if wanted.ndim > 1 and _equal(np.diagonal(wanted, axis1=-2, axis2=-1), got):
        found["shape", "diagonal", name] = f"{name} holds only the diagonal of what is asked for."
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
        told = f"{name} has {count} too few: {one} of size 1 {are} gone. {are.title()} {they} squeezed away? squeeze() removes"
        told += " every axis of size 1, a batch of one too, and squeeze(dim) removes that one wherever its size is 1."
        return {("shape", "squeezed", name): told}
    told = f"{name} has {count} too many, of size 1: {are} {they} left over from keepdim, unsqueeze or None, or does a reshape"
    return {("shape", "left over", name): f"{told} make the same number of axes whatever comes in?"}


def _merged(name: str, wanted: tuple, got: tuple) -> Facts:
    """Two axes that have become one."""
    pairs = [(i, j) for i in range(len(wanted)) for j in range(i + 1, len(wanted))]
    rest = [sorted([*wanted[:i], *wanted[i + 1 : j], *wanted[j + 1 :], wanted[i] * wanted[j]]) for i, j in pairs]
    if sorted(got) not in rest:
        return {}
    told = f"{name} has one axis too few. Two of them have become one: are they still to be taken apart again (unflatten), or"
    told += " were parts joined by cat, which makes no new axis, in the place of torch.stack?"
    return {("shape", "merged", name): told}
