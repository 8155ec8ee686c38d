"""Sentences on results with the right number of axes and a wrong size: what the size is, and which part of the numbers is there.

`back` is how many axes from the last on an axis stands: 1 for the last.
"""


def _where(axis: str, back: int) -> str:
    return f"{axis}, its axis −{back}"


def shared_out(name: str) -> str:
    """The sentence on a result with the right number of numbers, and more than one wrong size."""
    return (
        f"{name} has as many numbers as asked for, and they are shared out to its axes otherwise:"
        " is a size worked out wrongly, a reshape cut at other places, or are parts joined along another axis?"
    )


def empty(name: str, axis: str, back: int) -> str:
    """The sentence on a result without any entry."""
    return f"{name} is empty: it has no entry along {_where(axis, back)}."


def size_one(name: str, axis: str, back: int) -> str:
    """The sentence on an axis that has size 1."""
    return f"{name} has size 1 along {_where(axis, back)}: is it left over from keepdim or unsqueeze, or lost to a sum?"


def size_of_another(name: str, axis: str, back: int, other: str) -> str:
    """The sentence on an axis that has another axis' size."""
    return f"{name} has {other} entries along {_where(axis, back)}, where {axis} are asked for."


def over_another(name: str, axis: str, other: str) -> str:
    """The sentence on an axis, whose size follows from what is asked for, that has the size of a given one."""
    return f"{name} has the size {other} along {axis}: is it taken over another axis than the one asked for?"


def twice_as_long(name: str, axis: str, back: int) -> str:
    """The sentence on an axis of twice the right size."""
    return f"{name} is twice as long as asked for along {_where(axis, back)}."


def entries_off(name: str, axis: str, back: int, difference: int) -> str:
    """The sentence on an axis with so many entries more than asked for, or fewer where the difference is negative."""
    entries = abs(difference)
    count = "one entry" if entries == 1 else f"{entries} entries"
    also = ", on each input on which it fails" if entries > 1 else ""
    return f"{name} has {count} too {'few' if difference < 0 else 'many'} along {_where(axis, back)}{also}."


def always(name: str, axis: str, size: int) -> str:
    """The sentence on an axis that has one size whatever comes in."""
    return (
        f"{name} has {size} entries along {axis} on each input on which it fails: is this number written into the code,"
        " or is something kept from an earlier call?"
    )


def part(name: str, axis: str, length: str, ending: str) -> str:
    """The sentence on an axis that is too "short" or too "long"; `ending` says which part of the right numbers came."""
    return f"{name} is too {length} along {axis}{ending}"


def right_as_far(too_long: bool) -> str:
    """The ending of a sentence on a part: the beginning is right."""
    question = (
        "Does the loop go on too long, or is something put behind?"
        if too_long
        else "Does the loop end too early, or is something cut off?"
    )
    return f", and right as far as it goes. {question}"


def beginning_missing() -> str:
    """The ending of a sentence on a part: the end alone came."""
    return ": its beginning is missing, and the rest is right."


def in_front(count: int) -> str:
    """The ending of a sentence on a part: so many entries stand before the right ones."""
    question = "is a first token written too?" if count == 1 else "is something of its own put in front?"
    return f": what is asked for comes last, behind {count} more: {question}"


def in_the_middle(too_long: bool, count: int, behind: int) -> str:
    """The ending of a sentence on a part: so many entries are missing, or are too many, behind some that are right."""
    what = "there is something too many" if too_long else "something is missing"
    return f": {what} in its middle, {count} long, behind the first {behind}; the rest is right."


def right_at_first(name: str, axis: str, length: str, count: int) -> str:
    """The sentence on an axis that is too "short" or too "long", and right at so many positions from the first on."""
    positions = "position" if count == 1 else f"{count} positions"
    right = f"it is right at the first {positions}, and not at the next"
    return f"{name} is too {length} along {axis}, and not by its end alone: {right}."


def begins_right(name: str, axis: str, length: str) -> str:
    """The sentence on an axis that is too "short" or too "long", and right at some positions from the first on."""
    return f"{name} is too {length} along {axis}, and not by its end alone: it begins right, and goes wrong later."
