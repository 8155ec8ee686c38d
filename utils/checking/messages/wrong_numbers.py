"""Finds what wrong numbers have in common with the right ones, in words."""

import numpy as np

from utils.checking.records import Output
from utils.checking.tolerance import close, right_rows


def numbers(name: str, wanted: Output, got: Output) -> str:
    """Where two outputs of one shape differ most: the number expected there, and the one received."""
    apart = np.subtract(got.values, wanted.values, dtype=np.float64)
    worst = np.nanargmax(np.abs(np.nan_to_num(apart)).reshape(-1))
    index = np.unravel_index(worst, wanted.shape) if wanted.shape else ()
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name
    if wanted.dtype == "torch.bool":
        return f"expected {place} = {bool(wanted.values[index])}, yours is {bool(got.values[index])}"
    expected, yours = wanted.values[index], got.values[index]
    if wanted.values.dtype.kind in "iu":
        return f"expected {place} = {expected}, yours is {yours}"
    digits = next((digits for digits in (4, 6, 8) if f"{expected:.{digits}g}" != f"{yours:.{digits}g}"), 10)
    return f"expected {place} = {expected:.{digits}g}, yours is {yours:.{digits}g}"


def truths(wanted: Output, got: Output) -> str:
    """On which side a mask goes wrong: where it should be True, where it should be False, or both."""
    too_many, too_few = (got.values > wanted.values).any(), (got.values < wanted.values).any()
    if too_many and too_few:
        return "It is True at positions where it should be False, and False where it should be True."
    return f"It is {bool(too_many)} at positions where it should be {bool(too_few)}; all others are right."


def rows(name: str, wanted: Output, got: Output, limit: float, share: float) -> tuple[str, str]:
    """For results of which a share of the rows must be right: how many are, and where rows go wrong first.

    Returns:
        a sentence, and the numbers of a row that went wrong.
    """
    right = right_rows(got.values, wanted.values, limit)
    wrong = np.flatnonzero(~right)
    off = ~close(got.values[wrong], wanted.values[wrong], limit).reshape(len(wrong), -1)
    first = np.bincount(off.argmax(axis=1))
    place, row = int(first.argmax()), wrong[0]
    sentence = (
        f"{right.mean():.0%} of the rows of {name} are right all through; {share:.0%} are asked for. A wrong row goes wrong most"
        f" often at position {place} (counted from 0): {first[place]} of {len(wrong)} have their first mistake there."
    )
    return sentence, f"row {row}: expected {wanted.values[row].tolist()}, yours is {got.values[row].tolist()}"


def pattern(symbols: str, wanted: Output, got: Output, reveal: bool) -> str:
    """What the wrong numbers have in common with the right ones, if anything."""
    a, b = wanted.values.astype(float), got.values.astype(float)
    axes = symbols.split()
    if a.ndim and _sums_to_one(a, -1) and not _sums_to_one(b, -1):
        other = next((axis for axis in range(b.ndim - 1) if _sums_to_one(b, axis)), None)
        if other is not None and b.shape[other] > 1:
            label = axes[other - b.ndim] if len(axes) >= b.ndim - other else f"axis {other}"
            return f"They sum to 1 over {label}; they should sum to 1 over the last axis."
        return "They should sum to 1 over the last axis, and do not."
    finite = np.isfinite(a) & np.isfinite(b) & (np.abs(a) > 1e-6)
    if wanted.values.dtype.kind in "iu" and ((got.values - wanted.values) % 2**32 == 0).all():
        return "They went past what 32 bits hold: keep integers in int64."
    if finite.sum() > 2:
        ratio = b[finite] / a[finite]
        alike = 1e-9 if wanted.values.dtype.kind in "iu" else 1e-3
        if (
            np.allclose(ratio, ratio.flat[0], rtol=alike, atol=0)
            and min(abs(ratio.flat[0] - 1), abs(ratio.flat[0])) > 1e-3
        ):
            times = f", {ratio.flat[0]:.4g} times the right ones" if reveal else ""
            return f"They differ from the right ones by one constant factor{times}."
        shift = (got.values - wanted.values)[finite].astype(float)  # of integers exact, however large they are
        if abs(shift.flat[0]) > 1e-3 and np.allclose(shift, shift.flat[0], rtol=1e-3):
            return "They differ from the right ones by one constant that is added."
    if wanted.values.dtype.kind in "iu" and np.isclose(a, b, rtol=1e-6, atol=0).all():
        return "They are right up to rounding: integers of this size do not survive /, .float() or a root."
    if np.isclose(a, b, rtol=1e-3, atol=1e-3).all():
        return "They are close: something small is added, left out or rounded."
    if a.size > 3 and np.allclose(np.sort(a, axis=None), np.sort(b, axis=None), rtol=1e-4, atol=1e-5):
        return (
            "They are the right numbers in the wrong positions: put together in another order, reshaped for transposed, or kept"
            " from an earlier call?"
        )
    return ""


def are_weights(wanted: Output) -> bool:
    """Whether an output that is asked for holds weights: positive numbers that sum to 1 over the last axis."""
    positive = wanted.values.dtype.kind == "f" and wanted.values.ndim > 0 and (wanted.values >= 0).all()
    return bool(positive and _sums_to_one(wanted.values, -1))


def _sums_to_one(values: np.ndarray, axis: int) -> bool:
    return bool(np.allclose(values.sum(axis=axis), 1, atol=1e-3))
