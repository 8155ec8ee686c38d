"""Sentences on weights: their sums, what was done to the scores before the softmax, and the positions of weights.

`axes` are the declared axes of the result; two axes over which weights sum to 1 together are one of them, "H*W".
"""

import re
from enum import StrEnum


class Row(StrEnum):
    """The word for weights that sum to 1 together: those over one axis are a row, those over two axes a map."""

    ROW = "row"
    MAP = "map"

    @property
    def plural(self) -> str:
        """Several of them: "rows"."""
        return f"{self}s"


def look_past(weights: list[str], wrong: list[str]) -> str:
    """Where to look if weights are right, and other results that are made with them are not."""
    target = wrong[0] if len(wrong) == 1 else "them"
    return f"look at what is done with {weights[0]}, and at what else goes into {target}"


def scores(name: str) -> str:
    """The sentence on scores in the place of weights."""
    return f"{name} holds scores: what is asked for is their softmax over the last axis."


def transposed(name: str) -> str:
    """The sentence on weights that are right when their last two axes are exchanged."""
    return f"{name} is right, but its last two axes are exchanged."


def negative(name: str) -> str:
    """The sentence on negative numbers among weights."""
    return f"Some numbers of {name} are negative; weights never are."


def twice(name: str) -> str:
    """The sentence on weights that went through one more softmax."""
    return f"{name} is the softmax of the right weights: it went through a softmax twice."


def hard(name: str, row: Row) -> str:
    """The sentence on weights that are all 0 or 1."""
    return f"In each {row} of {name} one position has all the weight: is a maximum taken in the place of a softmax?"


def uniform(name: str) -> str:
    """The sentence on weights that are all alike."""
    return f"All positions that may get weight get the same in {name}: the scores make no difference."


def sum_over_one_of_two(name: str, axis: str, height: str, width: str) -> str:
    """The sentence on weights over two axes together that sum to 1 over one of them."""
    return f"{name} sums to 1 over {axis} alone; it should sum to 1 over {height} and {width} together."


def totals(name: str, axis: str) -> str:
    """The sentence on weights over two axes together whose sums along one are all the same."""
    return (
        f"Each index along {axis} gets the same total of {name}, whatever the scores:"
        " is there a softmax along one axis, and then another step?"
    )


def sum_over_another(name: str, axes: list[str], back: int) -> str:
    """The sentence on weights that sum to 1 over the axis that stands so many from the last on."""
    other = f"{axes[-back]} (axis −{back})" if len(axes) >= back else f"axis −{back}"
    return f"{name} sums to 1 over {other}; it should sum to 1 over {_last_axis(axes)}."


def sum_over_both(name: str, axes: list[str], row: Row) -> str:
    """The sentence on weights that sum to 1 over all rows together."""
    together = "its last two axes together"
    if _is_map(axes):
        together = f"{', '.join(axes[-2:-1])}{', ' * (len(axes) > 1)}{_last_axis(axes)}"
    return f"{name} sums to 1 over {together}; each {row} should by itself."


def empty_rows(name: str, axes: list[str], row: Row) -> str:
    """The sentence on rows that are 0 all through."""
    return f"In some {row.plural} of {name} all weights are 0; each {row} should sum to 1 over {_last_axis(axes)}."


def sums(name: str, axes: list[str], row: Row, some: bool, how: str) -> str:
    """The sentence on rows, or some of them, that sum to "less" than 1, to "more" or to "other" numbers."""
    what = {"less": "less than 1", "more": "more than 1", "other": "other numbers than 1"}[how]
    return f"{_rows_subject(row, some)} of {name} sum to {what}; each should sum to 1 over {_last_axis(axes)}."


def sums_not_one(name: str, axes: list[str], row: Row, some: bool) -> str:
    """The sentence on rows, or some of them, that do not sum to 1, whatever they sum to."""
    return f"{_rows_subject(row, some)} of {name} do not sum to 1, as they should over {_last_axis(axes)}."


def _rows_subject(row: Row, some: bool) -> str:
    return f"Some {row.plural}" if some else row.plural.capitalize()


def _is_map(axes: list[str]) -> bool:
    """Whether the last axis is two that count as one."""
    return bool(axes) and "*" in axes[-1][1:]


def _last_axis(axes: list[str]) -> str:
    """What rows should sum to 1 over."""
    if _is_map(axes):
        return " and ".join(axes[-1].split("*")) + " together"
    return f"{axes[-1]}, the last axis" if axes and not axes[-1].startswith("*") else "the last axis"


def leak(name: str, along: str) -> str:
    """The sentence on weight where there should be none: at entries along an axis, at positions where `along` is empty."""
    return f"{name} gives weight to {_receivers(along)} where it should be 0."


def lost(name: str, along: str) -> str:
    """The sentence on no weight where there should be some: at entries along an axis, at positions where `along` is empty."""
    return f"{name} gives no weight at all to some {_receivers(along)} that should get some."


def _receivers(along: str) -> str:
    """What weights are given to."""
    return f"entries along {along}" if along else "positions"


def lost_by_the_diagonal(name: str, side: str) -> str:
    """The sentence on no weight "after" the diagonal, "before" it, or on it, the "same" position."""
    positions = {
        "after": "later than the query's own: is a causal mask in the way?",
        "before": "earlier than the query's own.",
        "same": "equal to the query's own: is each vector kept from itself?",
    }[side]
    return f"{name} gives no weight to positions {positions}"


def moved_in_rows(name: str, row: Row) -> str:
    """The sentence on rows that hold the right weights at other positions."""
    return f"Each {row} of {name} holds the right weights, at other positions than asked for."


def row_temperature(name: str, row: Row) -> str:
    """The sentence on scores times a factor for each row."""
    return (
        f"In each {row} the weights of {name} stand to each other as if the scores were the right ones times a factor"
        " of the row's own: are they divided by something that differs from row to row?"
    )


def column(name: str) -> str:
    """The sentence on scores and a number for each column."""
    return (
        f"The weights of {name} are as if a number had been added to the scores of each column, the same for all rows:"
        " is something added to the scores of a key, or the same vector to all queries?"
    )


def right_order(name: str, row: Row) -> str:
    """The sentence on weights in the right order, from smallest to largest."""
    return f"In each {row} the weights of {name} have the right order, from smallest to largest, but not all have the right size."


def other_scores(name: str, row: Row) -> str:
    """The sentence on weights that nothing more is known of."""
    return (
        f"{_rows_subject(row, some=False)} of {name} sum to 1, but they are not the softmax of the right scores:"
        " is the mistake in the scores, in the softmax itself, or in what is done with its result?"
    )


def cut(name: str) -> str:
    """The sentence on right weights some of which are 0."""
    return f"Where {name} is not 0 it is right, but some weights are 0 that should not be: what sets them to 0?"


def kept(name: str, row: Row) -> str:
    """The sentence on weights some of which are 0, where the others share the rest."""
    return (
        f"In each {row} of {name} the weights that are not 0 stand in the right proportion and sum to 1, but some are 0"
        " that should not be: are only some positions kept, and the rest shared out among them?"
    )


def proportion(name: str, row: Row, some: bool, one_over_count: bool, hidden_late: bool) -> str:
    """The sentence on weights in the right proportion in all rows, or in some, that do not sum to 1.

    Args:
        one_over_count: their sum is 1 over the number of positions that get weight.
        hidden_late: their sum is less than 1, and others are 0, as they should be.
    """
    cause = "."
    if one_over_count:
        cause = ", but 1 over the number of positions that get weight: is there one more division by that number?"
    elif hidden_late:
        cause = ": did the others take part in the softmax, and become 0 after it, or is there one more factor?"
    rows = f"some {row.plural}" if some else f"each {row}"
    sentence = (
        f"In {rows} of {name} the weights that should not be 0 are in the right proportion, but their sum is not 1"
    )
    return f"{sentence}{cause}"


def temperature(name: str, label: str, row: Row) -> str:
    """The sentence on scores times what a factor is called: "√D"."""
    if label == "−1":
        return f"{_as_if(name, row)} the right ones with the opposite sign."
    cause = ": do powers of 2 stand in the place of powers of e?" if label == "ln 2" else cause_of_factor(label)
    return f"{_as_if(name, row)} {label} times the right ones{cause}"


def some_temperature(name: str, row: Row) -> str:
    """The sentence on scores times a factor without a name."""
    return f"{_as_if(name, row)} the right ones times one factor: are they divided by another size?"


def _as_if(name: str, row: Row) -> str:
    return f"In each {row} the weights of {name} stand to each other as if the scores before the softmax were"


def cause_of_factor(label: str) -> str:
    """What a factor of the scores looks like, as a question; a full stop where nothing is likelier than another."""
    size, _, other_size = label.partition("/")
    if re.fullmatch(r"√\w+", label):
        return f": is a division by {label} missing before the softmax?"
    if re.fullmatch(r"1/√\w+", label):
        return f": is there a division by {other_size} too many?"
    if re.fullmatch(r"√\w+/√\w+", label):
        return f": are they divided by {other_size} in the place of {size}?"
    if re.fullmatch(r"2/√\w+", label):
        return f": are they divided by {other_size[1:]}/2 in the place of {other_size}?"
    if re.fullmatch(r"1/\(2·√\w+\)", label):
        axis = other_size[4:-1]
        return f": are they divided by 2·{axis} in the place of √{axis}?"
    return "."
