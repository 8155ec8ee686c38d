"""The exercises of every unit, found by where they lie: whatever lies in a unit's folder belongs to it."""

import importlib
import pkgutil
from functools import cache

from autograder import settings
from autograder.bank.audit.faults import because
from autograder.bank.declaration import Exercise
from autograder.bank.mistakes.counterfactuals import counterfactuals
from autograder.bank.mistakes.substitutions import substitutions


def declared() -> dict[str, tuple[Exercise, ...]]:
    """Every unit whose exercises are declared, with these in order, by name such as "04_attention_layer"."""
    return {unit: exercises_of(unit) for unit in settings.declared_units()}


@cache
def units() -> dict[str, tuple[Exercise, ...]]:
    """Every unit of the course, which has a lesson, with its exercises in order."""
    return {unit: exercises_of(unit) for unit in settings.units()}


@cache
def exercises_of(unit: str) -> tuple[Exercise, ...]:
    """The exercises of one unit, in order; no other unit's declarations are imported."""
    return load(_package(unit))


@cache
def unit_of() -> dict[str, str]:
    """The unit of every exercise that is declared, by the exercise's name."""
    named = {unit: importlib.import_module(_package(unit)).EXERCISES for unit in settings.declared_units()}
    return {name: unit for unit, names in named.items() for name in names}


def _package(unit: str) -> str:
    return f"autograder.exercises.unit_{unit}"


def load(package: str) -> tuple[Exercise, ...]:
    """The exercises that the modules of a unit's package declare, in the order in which its EXERCISES names them.

    Every module below the package is imported: mistakes may lie in files of their own beside their exercise.

    Raises:
        LookupError: the names in EXERCISES are not those of the exercises that are declared.
        KitError: a declaration cannot be imported; the message says where.
    """
    try:
        unit = importlib.import_module(package)
        modules = [importlib.import_module(one.name) for one in pkgutil.walk_packages(unit.__path__, f"{package}.")]
    except Exception as error:
        raise settings.KitError(f"{package} cannot be imported: {because(error)}") from error
    declared = {
        one.name: one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, Exercise) and one.reference.__module__ == module.__name__
    }
    if set(declared) != set(unit.EXERCISES):
        differ = ", ".join(sorted(set(declared) ^ set(unit.EXERCISES)))
        raise LookupError(f"{package}: EXERCISES and what its files declare differ in {differ}")
    for one in declared.values():
        one.changes = _changes
    return tuple(declared[name] for name in unit.EXERCISES)


def _changes(exercise: Exercise) -> list:
    return counterfactuals(exercise) + substitutions(exercise)


def find_exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        LookupError: there is none; the message lists those there are.
    """
    if name not in unit_of():
        raise LookupError(f"no exercise is called {name!r}; there are: {', '.join(unit_of())}")
    return next(one for one in exercises_of(unit_of()[name]) if one.name == name)
