"""Examines objects as grading does."""

from dataclasses import replace

from utils.checking.concluding import examine
from utils.checking.judging.verdict import Result
from utils.checking.records import FrozenExercise


def examine_hidden(exercise: FrozenExercise, made: object) -> Result:
    """What is found in an object on cases whose numbers no message may show."""
    return examine(replace(exercise, is_hidden=True), made)
