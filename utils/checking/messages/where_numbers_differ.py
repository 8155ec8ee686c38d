"""Texts on where two outputs differ, with their numbers; `utils.checking.explaining` finds what differences have in common."""

import numpy as np

from utils.checking.judging.tolerance import close, right_rows
from utils.checking.records import Output


def numbers(name: str, expected: Output, actual: Output) -> str:
    """A text on where two outputs of one shape differ most: the number expected there, and the actual one."""
    worst = _distances(expected.numbers, actual.numbers).argmax()
    index = np.unravel_index(worst, expected.shape) if expected.shape else ()
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]" if index else name
    asked_for, yours = expected.numbers[index], actual.numbers[index]
    if expected.dtype == "torch.bool":
        return f"expected {place} = {bool(asked_for)}, yours is {bool(yours)}"
    if expected.dtype == "torch.uint8":  # a byte may hold two numbers
        halves = [f"{byte} (halves {byte // 16} and {byte % 16})" for byte in map(int, (asked_for, yours))]
        return f"expected {place} = {halves[0]}, yours is {halves[1]}"
    if expected.numbers.dtype.kind in "iu":
        return f"expected {place} = {asked_for}, yours is {yours}"
    digits = next((digits for digits in (4, 6, 8) if f"{asked_for:.{digits}g}" != f"{yours:.{digits}g}"), 10)
    return f"expected {place} = {asked_for:.{digits}g}, yours is {yours:.{digits}g}"


def _distances(expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
    if expected.dtype.kind in "iu" and actual.dtype.kind in "iu":  # exact, where floats would round
        return np.maximum(actual, expected) - np.minimum(actual, expected)
    return np.abs(np.nan_to_num(np.subtract(actual, expected, dtype=np.float64)))


def rows(name: str, expected: Output, actual: Output, limit: float, share: float) -> tuple[str, str]:
    """Texts on results of which a share of the rows must be right.

    Returns:
        A sentence on how many rows are right, and where wrong rows go wrong first; and the numbers of a wrong row.
    """
    right = right_rows(actual.numbers, expected.numbers, limit)
    wrong = np.flatnonzero(~right)
    off = ~close(actual.numbers[wrong], expected.numbers[wrong], limit).reshape(len(wrong), -1)
    first = np.bincount(off.argmax(axis=1))
    place, row = int(first.argmax()), wrong[0]
    sentence = (
        f"{right.mean():.0%} of the rows of {name} are right all through; {share:.0%} are asked for. A wrong row goes wrong most"
        f" often at position {place} (counted from 0): {first[place]} of {len(wrong)} have their first mistake there."
    )
    return sentence, f"row {row}: expected {expected.numbers[row].tolist()}, yours is {actual.numbers[row].tolist()}"
