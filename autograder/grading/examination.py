"""Has one notebook's code run in the sandbox, and judges its observations in this process, where no student code runs."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from autograder.bank import catalogue
from autograder.bank.cases.drawing import draw
from autograder.bank.declaration import Exercise
from autograder.bank.freezing import allow_for_rounding, expect, frozen_exercise, with_mistakes
from autograder.grading import second_try
from autograder.grading.cause import with_cause
from autograder.grading.examined import GRADED, KILLED, TIMEOUT, UNJUDGED, Came, Examined
from autograder.intake.guard import guarded
from autograder.intake.student_code import Notebook
from autograder.sandbox.job import Job, JobCell, Run
from autograder.sandbox.limits import Limits
from utils.checking.concluding import conclude
from utils.checking.judging.judge import judge
from utils.checking.judging.problems import Problem
from utils.checking.judging.verdict import Result, Verdict
from utils.checking.messages import composing
from utils.checking.messages.describing import describe
from utils.checking.packs.packing import pack
from utils.checking.records import Failure, FrozenCase, FrozenExercise, Observation


def examine_cells(
    cells: list[JobCell],
    seed: str,
    level: str,
    limits: Limits,
    device: str = "cpu",
    reveal: bool = False,
    files: dict | None = None,
    first: list[str] | None = None,
) -> tuple[dict, list[Examined]]:
    """Runs cells in order and examines the exercises named among them.

    An exercise that other cells kept from coming through is examined again with only the cells that it needs.

    Args:
        cells: {"source": code} to run, or {"exercise": name} to observe that object at this point; "own" in a cell with code
            names the exercise that the assignment has the cell for.
        seed: the seed of the cases, the same for each run of one submission.
        level: the sandbox's level.
        limits: the limits of time, memory and disk; each of the two runs has them.
        reveal: whether messages may show the cases' numbers.
        files: name -> base64, to lie beside the notebook.
        first: code that is run before the cells, such as the imports as they were handed out.

    Returns:
        the outputs by cell index, and one Examined for each exercise named.
    """
    drawn = {cell["exercise"]: prepared(cell["exercise"], seed) for cell in cells if "exercise" in cell}
    begun = first or []
    sent = {"device": device, "files": files or {}, "first": begun}
    examination = _Examination(drawn, level, limits, reveal, sent)
    sources = [cell["source"] for cell in cells if "source" in cell]
    came = examination.of(cells, sources)
    for index, why in came.run.fatal.items():
        came.run.outputs[index] = [_error_output(why, index in came.run.hung)]
    plan = second_try.planned(cells, begun, came)
    if plan is not None:
        lines = [line for imports in plan.imports.values() for line in imports]
        came = second_try.better(came, examination.of(plan.cells, sources + lines), plan)
    return came.run.outputs, [with_cause(judged, came.seen, cells, came.run.outputs) for judged in came.examined]


@dataclass(frozen=True)
class _Examination:
    """What the examinations of a submission have in common, whichever of its cells they run."""

    drawn: dict[str, "Prepared"]
    level: str
    limits: Limits
    reveal: bool
    sent: dict

    def of(self, cells: list[JobCell], sources: list[str]) -> Came:
        """Runs the cells and judges what comes; `sources` is all code in which a call could hide."""
        drawn = {cell["exercise"]: self.drawn[cell["exercise"]] for cell in cells if "exercise" in cell}
        cases = {name: exercise.packed for name, exercise in drawn.items()}
        job = Job({**self.sent, "cells": cells, "cases": cases}, self.level, self.limits)
        for exercise in drawn.values():
            _ = exercise.expected  # computed here, while the job runs
        run = job.result()
        observations, ended = dict(run.observations), {name: _why_ended(name, cells, run) for name in drawn}
        _note_hidden_calls([*drawn], sources, run)
        _note_confined_cells([*drawn], run)
        examined = [_conclude(exercise, run, self.limits, ended[name], self.reveal) for name, exercise in drawn.items()]
        return Came(run, observations, examined, {name for name, (why, _) in ended.items() if why})


class Prepared:
    """The cases of an exercise that a seed draws, as they are sent to a job, and what is expected of each."""

    def __init__(self, name: str, seed: str):
        self.exercise = catalogue.find_exercise(name)
        self.cases = draw(self.exercise, seed, grading=True)
        self.packed = pack(self.cases)

    @cached_property
    def mistakes(self) -> list[dict]:
        """For each case, the results of misconceptions, as far as they were needed."""
        return [{} for _ in self.cases]

    @cached_property
    def expected(self) -> list[FrozenCase]:
        return [expect(self.exercise, case) for case in self.cases]

    @cached_property
    def lenient(self) -> list[FrozenCase]:
        """What is expected, with room for rounding; measured only where something failed."""
        return [allow_for_rounding(self.exercise, case) for case in self.expected]


@lru_cache(maxsize=1024)
def prepared(name: str, seed: str) -> Prepared:
    """An exercise's cases for a seed; they are drawn once and kept."""
    return Prepared(name, seed)


def _error_output(why: str, hung: bool) -> dict:
    name = "TimeLimit" if hung else "ProcessEnded"
    text = f"{why}; the cell was left out and the others were run without it"
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [f"{name}: {text}"]}


def _why_ended(name: str, cells: list[JobCell], run: Run) -> tuple[str, bool]:
    """Why the process ended while this exercise was observed, empty if it did not; and whether it hung."""
    indices = [index for index in run.fatal if cells[index].get("exercise") == name]
    return (run.fatal[indices[0]], indices[0] in run.hung) if indices else ("", False)


@guarded(lambda *_: None)
def _note_hidden_calls(names: list[str], sources: list[str], run: Run) -> None:
    """Adds a forbidden call that was kept out of sight to an exercise's observations."""
    notebook = Notebook(sources)
    for name in names:
        hidden = notebook.hidden_call(catalogue.find_exercise(name).forbidden, name)
        if hidden and name in run.observations:
            run.observations[name] = [
                replace(observation, called=(*observation.called, hidden)) for observation in run.observations[name]
            ]


def _note_confined_cells(names: list[str], run: Run) -> None:
    """Marks objects that are missing because the sandbox itself ended a cell: that is no fault of the student's."""
    for error in run.confined.values():
        failure = Failure(Problem.CONFINED, error["ename"], error["evalue"])
        for name in filter(run.observations.__contains__, names):
            observations = run.observations[name]
            run.observations[name] = [
                replace(observation, failure=failure) if _is_absent(observation) else observation
                for observation in observations
            ]


def _is_absent(observation: Observation) -> bool:
    return observation.failure is not None and (
        observation.failure.stage == "missing" or observation.failure.type == "NameError"
    )


def _conclude(drawn: Prepared, run: Run, limits: Limits, fatal: tuple, reveal: bool) -> Examined:
    exercise, expected, name = drawn.exercise, drawn.expected, drawn.exercise.name
    observations = run.observations.get(name)
    state = GRADED
    if observations is None or len(observations) != len(expected):
        state, stage, text = _never_observed(run, limits, *fatal)
        observations = [Observation(failure=Failure(stage, state, text))] * len(expected)
    elif any(observation.failure and observation.failure.stage == "timeout" for observation in observations):
        state = TIMEOUT
    frozen = frozen_exercise(exercise, expected)
    seconds = run.seconds.get(name, 0.0)
    frozen, verdicts = _judged(exercise, expected, observations, reveal)
    problems = {verdict.problem for verdict in verdicts} - {None}
    if Problem.CONFINED in problems:
        return Examined(name, UNJUDGED, _left_open(frozen, verdicts), seconds)
    # An exercise that is right or unfinished leaves nothing to explain.
    if state == GRADED and problems - {Problem.UNFINISHED}:
        explained = with_mistakes(exercise, drawn.lenient, observations, drawn.mistakes)
        frozen, verdicts = _judged(exercise, explained, observations, reveal)
    return Examined(name, state, conclude(frozen, verdicts), seconds)


def _judged(
    exercise: Exercise, cases: list[FrozenCase], observations: list[Observation], reveal: bool
) -> tuple[FrozenExercise, list[Verdict]]:
    """The exercise around its cases, and the verdict on each of them."""
    frozen = replace(frozen_exercise(exercise, cases), is_hidden=not reveal)
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
