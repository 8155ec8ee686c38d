"""Examines an object: runs it on all cases, judges each observation, and puts the failures into one message."""

from collections.abc import Sequence

import torch

from utils.checking.explaining.choice import explain
from utils.checking.judging.judge import judge
from utils.checking.judging.points import earned
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Result, Verdict
from utils.checking.messages import composing
from utils.checking.observing.observe import observe
from utils.checking.records import FrozenExercise


def examine(exercise: FrozenExercise, student_object: object, device: str | torch.device = "cpu") -> Result:
    """Runs an object on all cases of a frozen exercise, judges the observations, and returns the result."""
    verdicts = []
    for frozen in exercise.cases:
        observation = observe(student_object, frozen.case, device, watched=bool(exercise.forbidden))
        verdicts.append(judge(exercise, frozen, observation))
    return conclude(exercise, verdicts)


def conclude(exercise: FrozenExercise, verdicts: Sequence[Verdict]) -> Result:
    """The result from the verdicts on an exercise's cases, with points, one message, and at most one misconception."""
    points = earned(exercise, verdicts)
    totals = exercise.name, sum(points.values()), sum(exercise.points.values())
    failed = [verdict for verdict in verdicts if not verdict.passed]
    if not failed:
        return Result(*totals, None, None, composing.success(exercise, verdicts), tuple(verdicts))
    explanation = explain(exercise, verdicts)
    unwritten = any(verdict.problem is Problem.UNFINISHED for verdict in failed)
    message = composing.failure(exercise, explanation, points, unwritten)
    problem, misconception = explanation.shown.problem, explanation.misconception
    return Result(*totals, problem, misconception, message, tuple(verdicts), explanation.relation)
