"""Sentences for where no other fact is known: which numbers are 0, infinite, too large, of another sign."""

_NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()


def infinite(name: str) -> str:
    """The sentence on infinite numbers."""
    return (
        f"Numbers of {name} are infinite, and all should be finite: is something divided by 0, does exp overflow, or is"
        " a logarithm or a quantile taken where it has none?"
    )


def one_value(name: str, value: str) -> str:
    """The sentence on wrong numbers that are all the same."""
    return f"Each number of {name} that is wrong is {value}."


def ratio(name: str, factor: str) -> str:
    """The sentence on wrong numbers that are all the right ones times a factor."""
    return f"Each number of {name} that is wrong is {factor} times the right one."


def corner(name: str, which: str) -> str:
    """The sentence on the "first" or the "last" entry, which alone is right."""
    return f"Only the {which} entry of {name} along all its axes is right."


def stretch(name: str, axis: str, which: str, count: int, size: int) -> str:
    """The sentence on the "first" or the "last" positions of an axis of that size, which alone are right."""
    return f"Along {axis}, {name} is right throughout at the {which} {count} of {size} positions, and at no other."


def no_zero(name: str, expected: int) -> str:
    """The sentence on a result without a 0, where so many are expected."""
    return f"No number of {name} is 0; in the right result {_count_of_them(expected)}."


def fewer_zeros(name: str, count: int) -> str:
    """The sentence on so many numbers that should be 0."""
    are = f"number of {name} should be 0 and is not" if count == 1 else f"numbers of {name} should be 0 and are not"
    return f"{_number_word(count).title()} {are}."


def more_zeros(name: str, actual: int, expected: int) -> str:
    """The sentence on so many numbers that are 0, where fewer are expected."""
    are = f"number of {name} is 0" if actual == 1 else f"numbers of {name} are 0"
    return f"{_number_word(actual).title()} {are}; in the right result {_count_of_them(expected)}."


def no_sign(name: str, sign: str, expected: int) -> str:
    """The sentence on a result without a "negative", or a "positive", number, where so many are expected."""
    return f"No number of {name} is {sign}; in the right result {_count_of_them(expected)}."


def unexpected_sign(name: str, sign: str) -> str:
    """The sentence on "negative", or "positive", numbers where there should be none."""
    return f"Numbers of {name} are {sign}, and none should be."


def far_beyond(name: str, end: str) -> str:
    """The sentence on numbers beyond the "large" or the "small" end of the right ones."""
    return f"Numbers of {name} are far {'larger' if end == 'large' else 'smaller'} than any in the right result."


def side(name: str, size: str, signed: bool) -> str:
    """The sentence on wrong numbers that are all too "large" or too "small", where some numbers may have a sign."""
    return f"Each number of {name} that is wrong is{', apart from its sign,' if signed else ''} too {size}."


def _count_of_them(count: int) -> str:
    return "none is" if not count else f"{_number_word(count)} {'is' if count == 1 else 'are'}"


def _number_word(count: int) -> str:
    """A number in words up to twelve, and in digits beyond."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)
