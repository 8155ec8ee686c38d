"""Judges what a job brought of an exercise, in a process where no student code runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from autograder.bank.declaration import Exercise
from autograder.bank.freezing import frozen_exercise, with_mistakes
from autograder.grading.examined import GRADED, KILLED, TIMEOUT, UNJUDGED, Examined
from autograder.grading.looks import Look
from autograder.sandbox.limits import Limits
from autograder.sandbox.run import Run
from utils.checking.concluding import conclude
from utils.checking.judging.judge import judge
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Result, Verdict
from utils.checking.messages import composing
from utils.checking.messages.describing import describe
from utils.checking.records import Failure, FrozenCase, FrozenExercise, Observation


def failing_places(look: Look, observations: Sequence[Observation]) -> list[int]:
    """The places of the cases that fail, before any room for rounding."""
    return [place for place, observation in enumerate(observations) if not look.is_passed(place, observation)]


def conclude_look(look: Look, observations: Sequence[Observation], reveal: bool, state: str = GRADED) -> Examined:
    """What becomes of an exercise that was observed on the cases of a look.

    Args:
        reveal: whether messages may show the cases' numbers.
        state: another one than graded, where it was not observed.
    """
    exercise, name = look.exercise, look.exercise.name
    state = TIMEOUT if any(map(is_late, observations)) else state
    frozen, verdicts = _judged(exercise, look.expected, observations, reveal)
    problems = {verdict.problem for verdict in verdicts} - {None}
    if Problem.CONFINED in problems:
        return Examined(name, UNJUDGED, _left_open(frozen, verdicts))
    # An exercise that is right or unfinished leaves nothing to explain.
    if state == GRADED and problems - {Problem.UNFINISHED}:
        explained = with_mistakes(exercise, look.lenient, list(observations), look.mistakes)
        frozen, verdicts = _judged(exercise, explained, observations, reveal)
    return Examined(name, state, conclude(frozen, verdicts))


def conclude_both_looks(
    judged: Examined, look: Look, failed: Mapping[int, Observation], joint: Collection[int], reveal: bool
) -> Examined:
    """What becomes of an exercise that is right on each case, as `judged` says, and failed at the first look.

    A joint case can fail though each of what it joins is right. Where any other one failed, and not by rounding, the same inputs
    have given two results.

    Args:
        failed: what was observed at the first look, by the place of the case.
        joint: the places of joint cases.
    """
    wrong = [place for place, observation in failed.items() if not look.is_within_rounding(place, observation)]
    observations = [failed[place] if place in joint else replace(failed[place], unstable=True) for place in wrong]
    part = look.among(wrong)
    frozen, verdicts = _judged(part.exercise, part.lenient, observations, reveal)
    return replace(judged, result=conclude(frozen, [*judged.result.verdicts, *verdicts]))


def conclude_unobserved(look: Look, run: Run, limits: Limits, fatal: tuple[str, bool], reveal: bool) -> Examined:
    """What becomes of an exercise that was never observed, or whose observation ended the process.

    Args:
        fatal: why the process ended while this exercise was observed, empty if it did not; and whether it hung.
    """
    state, stage, text = _never_observed(run, limits, *fatal)
    observations = [Observation(failure=Failure(stage, state, text))] * len(look.cases)
    return conclude_look(look, observations, reveal, state)


def is_late(observation: Observation) -> bool:
    """Whether time was up before the case was observed, or while it was."""
    return observation.failure is not None and observation.failure.stage == "timeout"


def _judged(
    exercise: Exercise, cases: Sequence[FrozenCase], observations: Sequence[Observation], reveal: bool
) -> tuple[FrozenExercise, list[Verdict]]:
    """The exercise around its cases, and the verdict on each of them."""
    frozen = replace(frozen_exercise(exercise, list(cases)), is_hidden=not reveal)
    return frozen, [judge(frozen, *pair) for pair in zip(frozen.cases, observations)]


def _left_open(exercise: FrozenExercise, verdicts: list[Verdict]) -> Result:
    """The result of an exercise that a human is to mark; it has no points of its own, whatever passed."""
    shown = next(verdict for verdict in verdicts if verdict.problem is Problem.CONFINED)
    message = composing.unjudged(exercise.name, describe(exercise, shown))
    concluded = conclude(exercise, verdicts)
    return replace(concluded, points=0.0, problem=Problem.CONFINED, misconception=None, message=message)


def _never_observed(run: Run, limits: Limits, fatal: str, hung: bool) -> tuple[str, str, str]:
    """The state of an exercise without observations, and the stage and the text of its failure."""
    if not fatal and run.how == TIMEOUT:
        return TIMEOUT, "unreached", f"{limits.submission_seconds:g} s"
    if hung:
        return TIMEOUT, "timeout", f"{limits.cell_seconds:g} s"
    return KILLED, "killed", fatal or run.why
