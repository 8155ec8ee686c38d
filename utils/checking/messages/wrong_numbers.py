"""Where two outputs differ, in numbers; what they have in common is for `utils.checking.explaining` to find."""

import numpy as np

from utils.checking.judging.tolerance import close, right_rows
from utils.checking.records import Output


def numbers(name: str, wanted: Output, got: Output) -> str:
    """Where two outputs of one shape differ most: the number expected there, and the one received."""
    if wanted.values.dtype.kind in "iu" and got.values.dtype.kind in "iu":  # exact, where floats would round
        apart = np.maximum(got.values, wanted.values) - np.minimum(got.values, wanted.values)
    else:
        apart = np.abs(np.nan_to_num(np.subtract(got.values, wanted.values, dtype=np.float64)))
    worst = apart.argmax()
    index = np.unravel_index(worst, wanted.shape) if wanted.shape else ()
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name
    if wanted.dtype == "torch.bool":
        return f"expected {place} = {bool(wanted.values[index])}, yours is {bool(got.values[index])}"
    expected, yours = wanted.values[index], got.values[index]
    if wanted.dtype == "torch.uint8":  # a byte may hold two numbers
        halves = [f"{byte} (halves {byte // 16} and {byte % 16})" for byte in map(int, (expected, yours))]
        return f"expected {place} = {halves[0]}, yours is {halves[1]}"
    if wanted.values.dtype.kind in "iu":
        return f"expected {place} = {expected}, yours is {yours}"
    digits = next((digits for digits in (4, 6, 8) if f"{expected:.{digits}g}" != f"{yours:.{digits}g}"), 10)
    return f"expected {place} = {expected:.{digits}g}, yours is {yours:.{digits}g}"


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
