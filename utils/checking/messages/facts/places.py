"""Sentences on where numbers are wrong: at the "first" or the "last" position of an axis alone, or everywhere but there."""


def wrong_at(name: str, which: str, axis: str) -> str:
    """The sentence on one position that is wrong."""
    return f"{name} is right but for the {which} position along {axis}."


def right_at(name: str, which: str, axis: str) -> str:
    """The sentence on one position that is right."""
    return f"Only at the {which} position along {axis} is {name} right throughout."


def wrong_from_the_start(name: str, axis: str) -> str:
    """The sentence on steps the first of which is wrong."""
    return f"{name} goes wrong at the first position along {axis} already."


def right_at_first(name: str, axis: str, count: int) -> str:
    """The sentence on steps so many of which are right before the first that is wrong."""
    start = "position" if count == 1 else f"{count} positions"
    return f"{name} is right at the first {start} along {axis}, and goes wrong at the next."


def wrong_later(name: str, axis: str) -> str:
    """The sentence on steps of which the first ones are right, without their number."""
    return f"{name} is right at the first positions along {axis}, and goes wrong later."
