"""Writes the message on a case that failed, with the function for the case's problem."""

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
# the problems that a comparison with a sketch shows, without details
_BY_SKETCH = (Problem.WRONG_VALUE, Problem.NOT_FINITE)


def describe(exercise: FrozenExercise, verdict: Verdict) -> Message:
    """The message on a case that failed; numbers are left out where the case may not be shown."""
    assert verdict.problem is not None
    if verdict.problem in _BY_SKETCH and verdict.frozen.is_sketched:
        return Message("The shape is right, the numbers are not.", formula=exercise.formula)
    context = Context(exercise, verdict)
    message = WRITERS[verdict.problem](context)
    return message if context.may_show_numbers else replace(message, detail="")
