"""The exercises of every unit, found by where they lie."""

import importlib
from functools import cache

from autograder import settings
from autograder.bank.declaration import Exercise


@cache
def units() -> dict[str, tuple[Exercise, ...]]:
    """Every unit of the course with its exercises in order, by name such as "04_attention_layer"."""
    return {unit: importlib.import_module(f"autograder.exercises.unit_{unit}").EXERCISES for unit in settings.units()}


def find_exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    known = {one.name: one for unit in units().values() for one in unit}
    if name not in known:
        raise LookupError(f"no exercise is called {name!r}; there are: {', '.join(known)}")
    return known[name]
