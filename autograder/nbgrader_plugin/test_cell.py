"""What stands in the hidden part of a test cell: grading inside a notebook kernel, for stock `nbgrader autograde`."""

import sys
from dataclasses import replace
from pathlib import Path

from autograder.bank.catalogue import units
from autograder.bank.declaration import Exercise
from autograder.bank.freezing import freeze
from autograder.settings import submission_seed
from utils.check import exercise_name
from utils.checking.concluding import examine
from utils.checking.records import FrozenExercise
from utils.device import device


def check(student_object: object) -> float:
    """Examines an object on fresh cases, prints what a student should read, and returns the points.

    It runs beside the student's code and could be tampered with by it; the kit's own `grade` judges in a process of
    its own.
    """
    exercises: dict[str | None, Exercise] = {exercise.name: exercise for unit in units().values() for exercise in unit}
    exercise = exercises[exercise_name(student_object, exercises, sys._getframe(1).f_globals)]
    seed, on_device = submission_seed(exercise.unit, Path.cwd().parent.name), device()
    result = examine(_hidden(freeze(exercise, seed, grading=True, mistakes=False)), student_object, on_device)
    if not result.passed:
        result = examine(_hidden(freeze(exercise, seed, grading=True)), student_object, on_device)
    print(result.message)
    return float(result.points)


def _hidden(exercise: FrozenExercise) -> FrozenExercise:
    return replace(exercise, is_hidden=True)
