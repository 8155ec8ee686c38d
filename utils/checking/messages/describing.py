"""Chooses the writer of the sentence about a problem on one case, and calls it."""

from collections.abc import Callable
from dataclasses import replace

from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Verdict
from utils.checking.messages.context import Context
from utils.checking.messages.gradients import GRADIENTS
from utils.checking.messages.message import Message
from utils.checking.messages.no_result import NO_RESULT
from utils.checking.messages.wrong_forms import WRONG_FORMS
from utils.checking.messages.wrong_numbers import WRONG_NUMBERS
from utils.checking.records import FrozenExercise

WRITERS: dict[Problem, Callable[[Context], Message]] = {**NO_RESULT, **WRONG_FORMS, **WRONG_NUMBERS, **GRADIENTS}
_BY_SKETCH = (Problem.WRONG_VALUE, Problem.NOT_FINITE)  # which a sketch shows as well, and nothing more


def describe(exercise: FrozenExercise, verdict: Verdict) -> Message:
    """What is said of a case that failed; the numbers are left out where it may not be shown."""
    assert verdict.problem is not None
    if verdict.problem in _BY_SKETCH and verdict.frozen.is_sketched:
        return Message("The shape is right, the numbers are not.", formula=exercise.formula)
    context = Context(exercise, verdict)
    message = WRITERS[verdict.problem](context)
    return message if context.may_show_numbers else replace(message, detail="")
