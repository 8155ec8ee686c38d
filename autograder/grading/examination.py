"""Has one notebook's code run in the sandbox, and judges its observations in this process, where no student code runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograder.bank import catalogue
from autograder.grading import second_try
from autograder.grading.cause import with_cause
from autograder.grading.concluding import (
    conclude_both_looks,
    conclude_look,
    conclude_unobserved,
    failing_places,
    is_late,
)
from autograder.grading.examined import GRADED, Came, Examined
from autograder.grading.looks import first_look, joint_places, whole_look
from autograder.intake.guard import SECONDS, guarded
from autograder.intake.student_code import Notebook
from autograder.sandbox.job import Job, JobCell
from autograder.sandbox.limits import Limits
from autograder.sandbox.run import Run
from utils.checking.judging.problems import Problem
from utils.checking.records import Failure, Observation


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
    begun = first or []
    sent = {"device": device, "files": files or {}, "first": begun}
    examination = _Examination(seed, level, limits, reveal, sent)
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

    seed: str
    level: str
    limits: Limits
    reveal: bool
    sent: dict

    def of(self, cells: list[JobCell], sources: list[str]) -> Came:
        """Runs the cells and judges what comes; `sources` is all code in which a call could hide."""
        names = [cell["exercise"] for cell in cells if "exercise" in cell]
        looks = _Looks(self.seed, _hidden_calls(names, sources) or {})
        cases = {name: first_look(name, self.seed).packed for name in names}
        watched = [name for name in names if catalogue.find_exercise(name).forbidden]
        job = {**self.sent, "cells": cells, "cases": cases, "watched": watched}
        for name in names:
            first_look(name, self.seed).prepare()  # in this thread: the one that feeds the job compares with it
        run = Job(job, self.level, self.limits, looks.closer).result()
        observations, ended = dict(run.observations), {name: _why_ended(name, cells, run) for name in names}
        looks.note_hidden_calls(run)
        _note_confined_cells(names, run)
        examined = [
            replace(self._judged(name, looks, run, ended[name]), seconds=run.seconds.get(name, 0.0)) for name in names
        ]
        return Came(run, observations, examined, {name for name, (why, _) in ended.items() if why})

    def _judged(self, name: str, looks: "_Looks", run: Run, ended: tuple[str, bool]) -> Examined:
        """What became of one exercise, from what was observed at the look that was the last."""
        whole, first, failed = whole_look(name, self.seed), first_look(name, self.seed), looks.failed.get(name)
        observations = run.observations.get(name)
        if observations is None or len(observations) != len((first if failed is None else whole).cases):
            return conclude_unobserved(whole, run, self.limits, ended, self.reveal)
        if failed is None:
            is_right = name in looks.right
            return Examined(name, GRADED, whole.right) if is_right else conclude_look(first, observations, self.reveal)
        judged = conclude_look(whole, observations, self.reveal)
        if not failed or not judged.result.passed:
            return judged
        return conclude_both_looks(judged, first, failed, joint_places(first, whole), self.reveal)


@dataclass
class _Looks:
    """Decides, while a job runs, whether an exercise is to be examined more closely than at the first look.

    Attributes:
        hidden: exercise -> a forbidden call that was kept out of sight.
        failed: exercise that was examined more closely -> what was observed where it failed at the first look, by place.
        right: the exercises that are right at the first look.
    """

    seed: str
    hidden: dict[str, str]
    failed: dict[str, dict[int, Observation]] = field(default_factory=dict)
    right: set[str] = field(default_factory=set)

    def closer(self, name: str, observations: Sequence[Observation]) -> list[str]:
        """The cases of a closer look at an exercise, in JSON; none where it is right, or too slow for more."""
        self.failed.pop(name, None)
        self.right.discard(name)
        if any(map(is_late, observations)):
            return []
        first = first_look(name, self.seed)
        failing = failing_places(first, observations)
        is_right = all(first.is_within_rounding(place, observations[place]) for place in failing)
        if is_right and name not in self.hidden:
            self.right.add(name)
            return []
        self.failed[name] = {place: observations[place] for place in failing}
        return whole_look(name, self.seed).packed

    def note_hidden_calls(self, run: Run) -> None:
        """Adds a forbidden call that was kept out of sight to an exercise's observations."""
        for name in filter(run.observations.__contains__, self.hidden):
            run.observations[name] = [
                replace(observation, called=(*observation.called, self.hidden[name]))
                for observation in run.observations[name]
            ]


def _error_output(why: str, hung: bool) -> dict:
    name = "TimeLimit" if hung else "ProcessEnded"
    text = f"{why}; the cell was left out and the others were run without it"
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [f"{name}: {text}"]}


def _why_ended(name: str, cells: list[JobCell], run: Run) -> tuple[str, bool]:
    """Why the process ended while this exercise was observed, empty if it did not; and whether it hung."""
    indices = [index for index in run.fatal if cells[index].get("exercise") == name]
    return (run.fatal[indices[0]], indices[0] in run.hung) if indices else ("", False)


@guarded(lambda *_: None, SECONDS)
def _hidden_calls(names: list[str], sources: list[str]) -> dict[str, str]:
    """Exercise -> a forbidden call that was kept out of sight, by its name."""
    notebook = Notebook(sources, names)
    hidden = {name: notebook.hidden_call(catalogue.find_exercise(name).forbidden, name) for name in names}
    return {name: call for name, call in hidden.items() if call}


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
