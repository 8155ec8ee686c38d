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
    """The exercises of every unit that declares some, in order, by the unit's name, such as "04_attention_layer"."""
    return {unit: exercises_of(unit) for unit in settings.declared_units()}


@cache
def units() -> dict[str, tuple[Exercise, ...]]:
    """The exercises of every unit of the course with a lesson, in order, by the unit's name."""
    return {unit: exercises_of(unit) for unit in settings.units()}


@cache
def exercises_of(unit: str) -> tuple[Exercise, ...]:
    """The exercises of one unit, in order; no other unit's declarations are imported."""
    return load(_package(unit))


@cache
def unit_of() -> dict[str, str]:
    """The unit of every exercise that is declared, by the exercise's name."""
    names_by_unit = {unit: importlib.import_module(_package(unit)).EXERCISES for unit in settings.declared_units()}
    return {name: unit for unit, names in names_by_unit.items() for name in names}


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
        modules = [
            importlib.import_module(module.name) for module in pkgutil.walk_packages(unit.__path__, f"{package}.")
        ]
    except Exception as error:
        raise settings.KitError(f"{package} cannot be imported: {because(error)}") from error
    declared = {
        value.name: value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Exercise) and value.reference.__module__ == module.__name__
    }
    if set(declared) != set(unit.EXERCISES):
        differ = ", ".join(sorted(set(declared) ^ set(unit.EXERCISES)))
        raise LookupError(f"{package}: EXERCISES and what its files declare differ in {differ}")
    for exercise in declared.values():
        exercise.changes = _changes
    return tuple(declared[name] for name in unit.EXERCISES)


def _changes(exercise: Exercise) -> list:
    return counterfactuals(exercise) + substitutions(exercise)


def find_exercise(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        LookupError: no exercise has this name; the message lists all names.
    """
    if name not in unit_of():
        raise LookupError(f"no exercise is called {name!r}; there are: {', '.join(unit_of())}")
    return next(exercise for exercise in exercises_of(unit_of()[name]) if exercise.name == name)
