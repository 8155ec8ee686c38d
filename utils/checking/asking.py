"""Counts what toy models are asked for, where no attribute of a model leads to and nothing can be put back."""

import sys
from collections import deque
from itertools import islice, repeat
from operator import length_hint
from typing import NamedTuple


class AskedTooOften(RuntimeError):
    """Raised when a model is called again although nothing is left to do."""


class Asked(NamedTuple):
    """What all toy models together were asked for, their copies included.

    `words` holds the words or tokens that were fed, `reads` and `rows` the sources that were read and the rows in them, and
    `begun` the rows that were begun.
    """

    words: int = 0
    reads: int = 0
    rows: int = 0
    begun: int = 0

    def since(self, before: "Asked") -> "Asked":
        """What was asked for between `before` and this."""
        return Asked(*(now - then for now, then in zip(self, before)))


# For each count a stock from which is taken: Python has no way to put anything back into one.
_STOCKS = tuple(repeat(None, sys.maxsize) for _ in Asked._fields)


def note(**asked: int) -> None:
    """Adds to the counts, by their names."""
    for name, number in asked.items():
        deque(islice(_STOCKS[Asked._fields.index(name)], number), maxlen=0)


def so_far() -> Asked:
    """What was asked for since this process began."""
    return Asked(*(sys.maxsize - length_hint(stock) for stock in _STOCKS))
