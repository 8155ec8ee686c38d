"""Compares an observation with what was expected and reaches a verdict; it neither runs a student's code nor writes messages."""

from utils.checking.judging.comparing import in_units, other_order, same
from utils.checking.judging.finding import find_problem
from utils.checking.judging.problems import About, Problem
from utils.checking.judging.tolerance import clear, tolerance
from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenCase, FrozenExercise, Observation


def judge(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> Verdict:
    """The verdict on one observation: its first problem, and the misconceptions that would have given the same observation."""
    observation = in_units(_telling_observation(exercise, frozen, observation), frozen.units)
    problem = find_problem(exercise, frozen, observation)
    if problem and problem.has(About.PLACE) and other_order(frozen.case, frozen.expected, observation):
        problem = Problem.WRONG_ORDER
    return Verdict(
        frozen,
        observation,
        problem,
        matches=tuple(name for name in frozen.mistakes if _matches(frozen, name, problem, observation)),
        near=problem is None and _is_near(frozen, observation),
        misses_idea=problem is not None and _misses_the_idea(exercise, frozen, observation),
    )


def passes(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> bool:
    """Whether the verdict on an observation is that it is right."""
    observation = in_units(_telling_observation(exercise, frozen, observation), frozen.units)
    return find_problem(exercise, frozen, observation) is None


def _telling_observation(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> Observation:
    """The observation on a GPU, if it differs from the one on the CPU and the latter is right; else the one on the CPU."""
    if observation.there is None or find_problem(exercise, frozen, in_units(observation, frozen.units)):
        return observation
    return observation.there


def _matches(frozen: FrozenCase, name: str, problem: Problem | None, observation: Observation) -> bool:
    """Whether a misconception gives just what was observed."""
    mistake = frozen.mistakes[name]
    if mistake is None:
        return problem is None
    return problem is not None and same(frozen.case, mistake, observation)


def _is_near(frozen: FrozenCase, observation: Observation) -> bool:
    """Whether results that count as right come near the limit of the tolerance."""
    limit = tolerance(frozen.case, frozen.expected, observation)
    pairs = zip(frozen.expected.outputs, observation.outputs)
    return not frozen.case.rows and not all(clear(frozen.case, *pair, limit) for pair in pairs)


def _misses_the_idea(exercise: FrozenExercise, frozen: FrozenCase, observation: Observation) -> bool:
    """Whether the failure is one of what the exercise teaches, rather than of what every exercise demands."""
    if frozen.case.condition:
        return frozen.case.condition in exercise.taught
    if observation.asked_only and "gradients" not in exercise.taught:
        return False
    return find_problem(exercise, frozen, observation, manners=False) is not None
