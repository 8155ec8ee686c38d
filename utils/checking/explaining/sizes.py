"""Facts about results of the right number of axes and another size: which size it is, and which part of the right numbers."""

import numpy as np

from utils.checking.explaining.facts import Cases, Facts
from utils.checking.records import Output

RIGHT = {"rtol": 1e-3, "atol": 1e-4}  # numbers of another shape than asked for are held against the right ones coarsely


def length_facts(name: str, axes: list, wanted: Output, got: Output, sizes: dict) -> Facts:
    """What each axis of the wrong size looks like; where it is one axis alone, which part of the right numbers came.

    Args:
        sizes: of the inputs' axes, and whole numbers among the inputs.
    """
    apart = [place for place, (a, b) in enumerate(zip(wanted.shape, got.shape)) if a != b]
    found: Facts = {}
    if (
        len(apart) > 1
        and np.prod(wanted.shape) == np.prod(got.shape) != 0
        and sorted(wanted.shape) != sorted(got.shape)
    ):
        told = f"{name} has as many numbers as asked for, and they are shared out to its axes otherwise"
        causes = "is a size worked out wrongly, a reshape cut at other places, or are parts joined along another axis?"
        found["shape", "shared", name] = f"{told}: {causes}"
    for place in apart:
        where = f"{axes[place]}, its axis −{len(axes) - place}"
        if not got.shape[place]:
            return {("shape", "empty", name): f"{name} is empty: it has no entry along {where}."}
        found |= _size_facts(name, axes[place], where, wanted.shape[place], got.shape[place], sizes, len(apart) == 1)
    if len(apart) > 1 or wanted.values is None or got.values is None:
        return found
    (place,) = apart
    long = "short" if got.shape[place] < wanted.shape[place] else "long"
    told = f"{name} is too {long} along {axes[place]}"
    part = _part(wanted.values, got.values, place)
    if part:
        return {("shape", "part", name, axes[place], part[:7], long): f"{told}{part}"} | found
    start = _start(wanted.values, got.values, place)
    if start and axes[place] not in sizes:
        positions = "position" if start == 1 else f"{start} positions"
        right = f"it is right at the first {positions}, and not at the next"
        found["shape", "start", name, axes[place], start] = f"{told}, and not by its end alone: {right}."
        found["shape", "start", name, axes[place]] = (
            f"{told}, and not by its end alone: it begins right, and goes wrong later."
        )
    return found


def _size_facts(name: str, axis: str, where: str, asked: int, came: int, sizes: dict, alone: bool) -> Facts:
    """What one size is in the place of another: 1, another axis', more or less by a number, or one that never changes.

    Args:
        alone: no other axis has a wrong size.
    """
    found: Facts = {}
    if came == 1 and alone:
        told = f"{name} has size 1 along {where}: is it left over from keepdim or unsqueeze, or lost to a sum?"
        found["shape", "one", name, axis] = told
    given = axis in sizes  # else the size follows from what is asked for
    same = [other for other, size in sizes.items() if size == came > 1 and other != axis]
    for other in same if given else []:
        told = f"{name} has {other} entries along {where}, where {axis} are asked for."
        found["shape", "size", name, axis, other, Cases(2)] = told
    if not given and len(same) == 1:
        told = f"{name} has the size {same[0]} along {axis}: is it taken over another axis than the one asked for?"
        found["shape", "other", name, axis, same[0], Cases(2)] = told
    if came == 2 * asked:
        found["shape", "double", name, axis, Cases(2)] = f"{name} is twice as long as asked for along {where}."
    entries, told = abs(came - asked), "too few" if came < asked else "too many"
    count = "one entry" if entries == 1 else f"{entries} entries"
    also = ", on each input on which it fails" if entries > 1 else ""
    found["shape", "count", name, axis, told, entries, Cases(2)] = f"{name} has {count} {told} along {where}{also}."
    always = (
        f"{name} has {came} entries along {axis} on each input on which it fails: is this number written into the code,"
    )
    found["shape", "fixed", name, axis, came, Cases(2)] = f"{always} or is something kept from an earlier call?"
    return found


def _start(wanted: np.ndarray, got: np.ndarray, axis: int) -> int:
    """At how many positions from the first on the numbers are right."""
    both = range(min(wanted.shape[axis], got.shape[axis]))
    right = np.isclose(wanted.take(both, axis=axis), got.take(both, axis=axis), **RIGHT)
    right = right.all(axis=tuple(one for one in range(right.ndim) if one != axis))
    return int(np.argmin([*right, False]))


def _part(wanted: np.ndarray, got: np.ndarray, axis: int) -> str:
    """The end of a sentence on an axis of the wrong length: which part of the right numbers came; empty if there is none."""
    short, long = sorted((wanted, got), key=lambda one: one.shape[axis])
    count, more = short.shape[axis], long.shape[axis] - short.shape[axis]
    if not count:
        return ""
    if np.allclose(long.take(range(count), axis=axis), short, **RIGHT):
        question = (
            "Does the loop go on too long, or is something put behind?"
            if long is got
            else "Does the loop end too early, or is something cut off?"
        )
        return f", and right as far as it goes. {question}"
    if np.allclose(long.take(range(more, more + count), axis=axis), short, **RIGHT):
        first = "is a first token written too?" if more == 1 else "is something of its own put in front?"
        behind = f"what is asked for comes last, behind {more} more: {first}"
        return f": {behind if long is got else 'its beginning is missing, and the rest is right.'}"
    for cut in range(1, count):
        if np.allclose(np.delete(long, range(cut, cut + more), axis=axis), short, **RIGHT):
            what = "there is something too many" if long is got else "something is missing"
            return f": {what} in its middle, {more} long, behind the first {cut}; the rest is right."
    return ""
