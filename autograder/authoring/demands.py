"""The list of what is demanded of every exercise of a unit, for the top of its assignment; written from what is examined."""

from collections.abc import Iterable
from functools import cache
from textwrap import fill

from autograder.bank.cases.conditions import CONDITIONS, Condition
from autograder.bank.cases.drawing import VISIBLE_SEED, draw
from autograder.bank.declaration import Exercise
from utils.checking.conditions import ConditionName

# The conditions that hold of every result whose numbers have a fraction.
OF_REALS = (ConditionName.BFLOAT16, ConditionName.GRADIENTS)

_OPENING = (
    "**How it is graded.** Grading runs what the checks run, on other numbers and other sizes: whatever can cost points, a check"
    " shows. Three quarters of an exercise's points are for its idea. The last quarter is for **robustness**, which is asked of"
    " every exercise: your code also works for other types of numbers, memory layouts and sizes, and for very large or small"
    " numbers."
)
_DETAILS_TAGS = ("<details><summary>What is asked of every exercise, in full</summary>", "</details>")
_PRECEDENCE = "Where an exercise's own text says something else, the exercise's text holds."
_ALWAYS = "Inputs are not changed, and the same inputs give the same result in every call."
_WIDTH = 120


def demands(exercises: tuple[Exercise, ...]) -> str:
    """The list as Markdown: a point for each condition, with the exercises that it is not asked of."""
    points = [_ALWAYS]
    for condition in CONDITIONS:
        asked = [exercise for exercise in exercises if condition.name in _examined_conditions(exercise)]
        if asked:
            additions = (
                _exceptions_sentence(condition, exercises, asked)
                + _taught_sentence(condition, asked)
                + _gradients_sentence(condition, asked)
            )
            points.append(condition.demand + additions)
    points += _exact_zeros(exercises)
    lines = [fill(point, _WIDTH, initial_indent="- ", subsequent_indent="  ") for point in points]
    return "\n".join([fill(_OPENING, _WIDTH), "", _DETAILS_TAGS[0], "", _PRECEDENCE, "", *lines, "", _DETAILS_TAGS[1]])


@cache
def _examined_conditions(exercise: Exercise) -> set[str]:
    """The conditions under which grading examines an exercise."""
    return {case.condition for case in draw(exercise, VISIBLE_SEED, grading=True)}


def _exceptions_sentence(condition: Condition, exercises: Iterable[Exercise], asked: list) -> str:
    """A sentence on the exercises of which a demand is not made that would apply to them; "" if there are none."""
    left_out = [
        exercise.name
        for exercise in exercises
        if exercise not in asked and (condition.name in exercise.waived or _is_exempt(condition, exercise))
    ]
    return f" (Not asked of {_listed(left_out)}.)" if left_out else ""


def _is_exempt(condition: Condition, exercise: Exercise) -> bool:
    """Whether a demand that is made of results with a fraction is not made of this exercise's."""
    return condition.name in OF_REALS and "float" in exercise.result_types


def _taught_sentence(condition: Condition, asked: list) -> str:
    """A sentence on the exercises whose idea a demand is part of; "" if there are none."""
    names = [exercise.name for exercise in asked if condition.name in exercise.taught]
    return f" (In {_listed(names)} this belongs to the idea.)" if names else ""


def _gradients_sentence(condition: Condition, asked: list) -> str:
    """Sentences on the results from which gradients must flow, where they need not flow from all."""
    if condition.name != "gradients":
        return ""
    exercises_by_results: dict[str, list[str]] = {}
    for exercise in asked:
        reals = [place for place, kind in enumerate(exercise.result_types) if kind == "float"]
        if len(exercise.gradients) < len(reals):
            names = _listed([exercise.outputs[place] for place in exercise.gradients])
            exercises_by_results.setdefault(names, []).append(exercise.name)
    return "".join(
        f" In {_listed(names)} they need to flow only from {results}."
        for results, names in exercises_by_results.items()
    )


def _exact_zeros(exercises: Iterable[Exercise]) -> list[str]:
    exact = [f"{_listed(exercise.zeros)} of `{exercise.name}`" for exercise in exercises if exercise.zeros]
    return (
        [f"Zeros are exact in {', '.join(exact)}: a number that should be 0 there is 0, not merely small."]
        if exact
        else []
    )


def _listed(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
