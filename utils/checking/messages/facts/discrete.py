"""Sentences on tokens, counts and truth values."""

_TRUTHS = {
    "inverted": "is inverted: it is True where it should be False",
    "more": "is True at positions where it should be False; its other positions are right",
    "less": "is False at positions where it should be True; its other positions are right",
    "both": "is True at some positions where it should be False, and False where it should be True",
    "some more": "is True at some positions where it should be False",
    "some less": "is False at some positions where it should be True",
}


def sequences_exchanged(name: str) -> str:
    """The sentence on rows that are those of other sequences of the batch."""
    return f"Each row of {name} is right, but for another sequence of the batch: is the batch sorted, and not put back?"


def rows_exchanged(name: str, axis: str) -> str:
    """The sentence on rows that came in another order along an axis."""
    return f"The rows of {name} are the right ones, in another order along {axis}."


def past_64_bits(name: str) -> str:
    """The sentence on numbers that differ by large powers of 2."""
    return f"Numbers of {name}, or what they are made of, went past what 64 bits hold on the way."


def past_32_bits(name: str) -> str:
    """The sentence on numbers that differ by multiples of 2 to the power of 32."""
    return f"Numbers of {name} went past what 32 bits hold: keep integers in int64."


def off_by(name: str, difference: int) -> str:
    """The sentence on numbers that are all too large by one number, or too small where it is negative."""
    return difference_of(name, str(abs(difference)), too_large=difference > 0)


def difference_of(name: str, product: str, too_large: bool) -> str:
    """The sentence on counts that are all off by what a product of the arguments says: "2·D²"."""
    return f"Each number of {name} is {product} too {'large' if too_large else 'small'}."


def times(name: str, factor: float) -> str:
    """The sentence on numbers that are all the right ones times a factor."""
    return f"Each number of {name} is {factor:.4g} times the right one."


def rounded(name: str) -> str:
    """The sentence on large integers that are right up to rounding."""
    return (
        f"{name} is right up to rounding: is something rounded, or computed with /, .float() or a root? Integers of this"
        " size do not survive that."
    )


def truth(name: str, which: str) -> str:
    """The sentence on truth values: "inverted", "more" or "less" of them True than expected, "both", "some more", "some less"."""
    return f"{name} {_TRUTHS[which]}."
