"""Sentences on what a result depends on: on inputs that should not count, or not on some that should."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MarkedRows:
    """Rows of an input at which another input has one value: all of these rows, or some.

    Attributes:
        name: the other input's name.
        value: the other input's value at these rows.
        complete: whether these are all the rows at which it has this value.
    """

    name: str
    value: object
    complete: bool

    @property
    def label(self) -> str:
        """The rows in short: "y 0"."""
        return f"{self.name} {self.value}{self._some}"

    @property
    def where(self) -> str:
        """The rows in a sentence, behind what is true of them."""
        return f"{self._some} where {self.name} is {self.value}"

    @property
    def _some(self) -> str:
        return "" if self.complete else " at some of the positions"


def no_gradient(result: str, given: str, hides: bool) -> str:
    """The sentence on an input that no gradient reaches, in an exercise that hides positions or does not."""
    return f"No gradient flows from {result} back to {given}: is it used at all, {_causes_of_no_influence(hides)}"


def shift(result: str, given: str, axis: str, several_rows: bool, softmax: bool) -> str:
    """The sentence on one number that is added along the last axis and should change nothing; `axis` is empty without a name.

    Args:
        softmax: whether it should change nothing because of a softmax.
    """
    along = f" along {axis}, its last axis," if axis else " along the last axis"
    place = " at one position" if several_rows else ""
    sentence = f"One number added to all of {given}{along}{place} should not change {result}, and it does"
    cause = ": does the softmax run along that axis, with exp itself, and is its result used whole?" if softmax else "."
    return f"{sentence}{cause}"


def extra(result: str, given: str, several: bool, rows: MarkedRows | None) -> str:
    """The sentence on rows that should not count, marked or simply some; `several` says that results are looked at together."""
    subject = f"Something of {result}" if several else result
    return f"{subject} depends on {given}{_where(rows)}, and should not."


def missing(result: str, given: str, rows: MarkedRows | None, hides: bool) -> str:
    """The sentence on rows that should count, marked or simply some."""
    return _no_derivative(result, given, f"{_where(rows)}, and should not be", hides)


def missing_everywhere(result: str, given: str, others_count: bool, hides: bool) -> str:
    """The sentence on all rows that should count, where others may count in their place."""
    where = " at each position where it should not be" if others_count else ", and should not be"
    return _no_derivative(result, given, where, hides)


def _no_derivative(result: str, given: str, where: str, hides: bool) -> str:
    sentence = f"The derivative of {result} with respect to {given} is 0{where}"
    return f"{sentence}: is it used there at all, {_causes_of_no_influence(hides)}"


def _where(rows: MarkedRows | None) -> str:
    return rows.where if rows else " at some positions"


def _causes_of_no_influence(hides: bool) -> str:
    """The end of a question: what a derivative of 0 may come from."""
    hidden = ", or does a mask hide too much?" if hides else "?"
    return (
        "and what comes of it kept, or is it used only through something without a derivative,"
        f" such as argmax, rounding or a comparison{hidden}"
    )


def group(axis: str) -> str:
    """The sentence on positions that count by how many there are along an axis; `axis` is empty where it has no name."""
    first = axis or "the first axis"
    return (
        f"Positions count more along some indices of {first} than along others, and all"
        f" should count alike: is there a mean for each index of {first} first, and then a mean of these means?"
    )


def size(result: str, given: str, some_right: bool) -> str:
    """The sentence on derivatives of the right direction and another size, at some positions or at all."""
    where = "At some of the positions that count" if some_right else "At each position that counts"
    return (
        f"{where} the derivative of {result} with respect to {given} has the right direction, but not the right size, and the"
        " factor differs from position to position: does each position get a weight of its own,"
        " or is something else summed than the formula says?"
    )
