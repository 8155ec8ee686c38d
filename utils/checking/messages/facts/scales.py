"""Sentences on size: a factor, a constant that is added, a small difference, rows of another length."""


def factor(name: str, label: str) -> str:
    """The sentence on numbers that are the right ones times what a factor is called: "√D", "−1"."""
    return (
        f"{name} has the opposite sign." if label == "−1" else f"Each number of {name} is the right one times {label}."
    )


def some_factor(name: str) -> str:
    """The sentence on numbers that are the right ones times a factor without a name."""
    return f"Each number of {name} is the right one times one and the same factor."


def shift(name: str) -> str:
    """The sentence on numbers to which one number is added."""
    return f"All numbers of {name} differ from the right ones by one constant that is added."


def constant(name: str, zero: bool) -> str:
    """The sentence on numbers that are all equal."""
    return f"All numbers of {name} are {'0' if zero else 'one and the same number'}."


def moved(name: str) -> str:
    """The sentence on the right numbers at other places."""
    return f"{name} holds the right numbers, in other places than asked for."


def close(name: str, digits: int | None) -> str:
    """The sentence on numbers that are right to so many digits; None where they are right beside the largest alone."""
    sentence = f"{name} is off by little beside its largest numbers, and by more beside others"
    if digits is not None:
        sentence = f"{name} is right to about {digits} digits, but not to all of them"
    more = "is something small added or left out, or rounded on the way"
    return f"{sentence}: {more} (half precision, a constant with few digits, an integer)?"


def right_length(name: str) -> str:
    """The sentence on rows that are vectors of the right length."""
    return (
        f"Each wrong row of {name} has the right length as a vector, but another direction: is it turned by"
        " another angle, or are its numbers moved, or changed in sign?"
    )


def rows_of_zeros(name: str) -> str:
    """The sentence on rows that are 0, where the others are right."""
    return f"Some rows of {name} are 0 and should not be; the others are right."


def row_factor(name: str, negative: bool) -> str:
    """The sentence on rows that are the right ones times a factor each."""
    return f"Each row of {name} is the right one times a {'negative ' if negative else ''}factor of its own."


def all_not_finite(name: str, single: bool, nan: bool, infinite: bool) -> str:
    """The sentence on a result, maybe a single number, that is NaN or infinite all through."""
    every = name if single else f"Every number of {name}"
    what = " or ".join(["NaN"] * nan + ["infinite"] * infinite)
    cause = ": log of 0, as where all exponentials of a row underflow, a division by 0, or exp of a large number?"
    return f"{every} is {what}{cause if infinite and not nan else '.'}"
