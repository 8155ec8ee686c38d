"""The words for circumstances of a case; they follow "it fails exactly where" in a sentence."""


def no_batch_axis() -> str:
    """The words for inputs without a batch axis."""
    return "there is no batch axis"


def several_batch_axes() -> str:
    """The words for inputs with more than one batch axis."""
    return "there are several batch axes"


def another_number_of_batch_axes() -> str:
    """The words for inputs without a batch axis, or with more than one."""
    return "there is not exactly one batch axis"


def size_is_one(axis: str) -> str:
    """The words for an axis of size 1."""
    return f"{axis} is 1"


def some_size_is_one() -> str:
    """The words for any axis of size 1."""
    return "some size is 1"


def has_empty_row(name: str) -> str:
    """The words for truth values with a row without True."""
    return f"a row of {name} is False all through"


def has_false(name: str) -> str:
    """The words for truth values not all of which are True."""
    return f"{name} has a False"


def argument_is(name: str, value: bool | None) -> str:
    """The words for an argument that is True, False or None."""
    return f"{name} is {value}"


def number_is_smaller(name: str, axis: str) -> str:
    """The words for a whole number that is smaller than an axis' size."""
    return f"{name} is smaller than {axis}"


def has_large_numbers(bound: float) -> str:
    """The words for inputs with numbers beyond a bound."""
    return f"some input has numbers beyond ±{bound:g}"


def sizes_are_large(axes: list[str]) -> str:
    """The words for sizes that are larger than all that pass."""
    return f"{' or '.join(axes)} is large (small ones pass)"
