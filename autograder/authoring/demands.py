"""The list of what is demanded of every exercise of a unit, for the top of its assignment; written from what is examined."""

from collections.abc import Iterable
from functools import cache
from textwrap import fill

from autograder.bank.cases.conditions import CONDITIONS, Condition
from autograder.bank.cases.drawing import VISIBLE_SEED, draw
from autograder.bank.declaration import Exercise
from utils.checking.conditions import ConditionName

OF_REALS = (
    ConditionName.BFLOAT16,
    ConditionName.GRADIENTS,
)  # conditions that hold of whatever gives numbers with a fraction

_OPENING = (
    "**How it is graded.** Grading runs what the checks run, on other numbers and other sizes: whatever can cost points, a check"
    " shows. Three quarters of an exercise's points are for its idea. The last quarter is for **robustness**, which is asked of"
    " every exercise: your code also works for other types of numbers, memory layouts and sizes, and for very large or small"
    " numbers."
)
_FOLDED = ("<details><summary>What is asked of every exercise, in full</summary>", "</details>")
_PRECEDENCE = "Where an exercise's own text says something else, the exercise's text holds."
_ALWAYS = "Inputs are not changed, and the same inputs give the same result in every call."
_WIDTH = 120


def demands(exercises: tuple[Exercise, ...]) -> str:
    """The list as Markdown: one point a condition, with the exercises that it is not asked of."""
    points = [_ALWAYS]
    for condition in CONDITIONS:
        asked = [one for one in exercises if condition.name in _examined(one)]
        if asked:
            more = _exceptions(condition, exercises, asked) + _taught(condition, asked) + _gradients(condition, asked)
            points.append(condition.demand + more)
    points += _zeros(exercises)
    lines = [fill(point, _WIDTH, initial_indent="- ", subsequent_indent="  ") for point in points]
    return "\n".join([fill(_OPENING, _WIDTH), "", _FOLDED[0], "", _PRECEDENCE, "", *lines, "", _FOLDED[1]])


@cache
def _examined(exercise: Exercise) -> set[str]:
    """The conditions under which grading examines an exercise."""
    return {case.condition for case in draw(exercise, VISIBLE_SEED, grading=True)}


def _exceptions(condition: Condition, exercises: Iterable[Exercise], asked: list) -> str:
    """Which exercises a demand that would apply to them is not made of."""
    left_out = [
        one.name
        for one in exercises
        if one not in asked and (condition.name in one.waived or _is_exempt(condition, one))
    ]
    return f" (Not asked of {_listed(left_out)}.)" if left_out else ""


def _is_exempt(condition: Condition, exercise: Exercise) -> bool:
    """Whether a demand that is made of results with a fraction is not made of this exercise's."""
    return condition.name in OF_REALS and "float" in exercise.result_types


def _taught(condition: Condition, asked: list) -> str:
    """The exercises whose idea a demand is part of."""
    names = [one.name for one in asked if condition.name in one.taught]
    return f" (In {_listed(names)} this belongs to the idea.)" if names else ""


def _gradients(condition: Condition, asked: list) -> str:
    """From which results gradients must flow, where not from all."""
    if condition.name != "gradients":
        return ""
    some: dict[str, list[str]] = {}
    for one in asked:
        reals = [place for place, kind in enumerate(one.result_types) if kind == "float"]
        if len(one.gradients) < len(reals):
            names = _listed([one.outputs[place] for place in one.gradients])
            some.setdefault(names, []).append(one.name)
    return "".join(f" In {_listed(names)} they need to flow only from {results}." for results, names in some.items())


def _zeros(exercises: Iterable[Exercise]) -> list[str]:
    exact = [f"{_listed(one.zeros)} of `{one.name}`" for one in exercises if one.zeros]
    return (
        [f"Zeros are exact in {', '.join(exact)}: a number that should be 0 there is 0, not merely small."]
        if exact
        else []
    )


def _listed(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
