"""Has one notebook's code run in a process of its own, and judges what comes out here, where no student code runs."""

from dataclasses import dataclass, replace

from autograder import bank, course
from autograder.draw import draw
from autograder.freeze import freeze_case, frozen_exercise
from autograder.processes import ENDED, Run, run_job
from utils.judge import Result, conclude, judge
from utils.records import Failure, Observation, pack

GRADED, TIMEOUT, KILLED, MALFORMED, MISSING = "graded", "timeout", "killed", "malformed", "missing"


@dataclass(frozen=True)
class Examined:
    """What became of one exercise of a submission."""

    exercise: str
    state: str
    result: Result


def examine_cells(
    cells: list[dict], seed: str, device: str = "cpu", reveal: bool = False
) -> tuple[dict, list[Examined]]:
    """Runs cells in order and examines the exercises named among them.

    Args:
        cells: {"source": code} to run, or {"exercise": name} to observe that object at this point.
        seed: the seed of the cases, the same for each run of one submission.
        reveal: whether messages may show the cases' numbers.

    Returns:
        the outputs by cell index, and one Examined for each exercise named.
    """
    names = [cell["exercise"] for cell in cells if "exercise" in cell]
    cases = {name: draw(bank.find_exercise(name), seed, grading=True) for name in names}
    run = run_job({"cells": cells, "cases": pack(cases), "device": device, "seconds": course.cell_seconds()})
    examined = [_conclude(name, cases[name], run, device, reveal) for name in names]
    return run.outputs, [_with_cause(one, cells, run.outputs) for one in examined]


def _with_cause(one: Examined, cells: list[dict], outputs: dict) -> Examined:
    """Where an object is missing, says which error the last failing cell before it raised."""
    if one.result.problem != "missing_object":
        return one
    place = next(index for index, cell in enumerate(cells) if cell.get("exercise") == one.exercise)
    errors = [out for i in range(place) for out in outputs.get(i, []) if out["output_type"] == "error"]
    if not errors:
        return one
    said = ": ".join([errors[-1]["ename"], *errors[-1]["evalue"].splitlines()[:1]])
    message = f"{one.result.message}\n  The last error above it was {said}"
    return replace(one, result=replace(one.result, message=message))


def _conclude(name: str, cases: list, run: Run, device: str, reveal: bool) -> Examined:
    exercise = bank.find_exercise(name)
    observations = run.observations.get(name)
    state = GRADED
    if observations is None or len(observations) != len(cases):
        state = KILLED if run.how == ENDED else run.how
        observations = [Observation(failure=Failure(_STAGE[state], state, _limit()))] * len(cases)
    elif any(seen.failure and seen.failure.stage == "timeout" for seen in observations):
        state = TIMEOUT
    frozen = frozen_exercise(exercise, [freeze_case(exercise, case, mistakes=False, device=device) for case in cases])
    verdicts = [judge(frozen, one, seen, reveal) for one, seen in zip(frozen.cases, observations)]
    if not all(verdict.passed for verdict in verdicts):
        frozen = frozen_exercise(exercise, [freeze_case(exercise, case, device=device) for case in cases])
        verdicts = [judge(frozen, one, seen, reveal) for one, seen in zip(frozen.cases, observations)]
    return Examined(name, state, conclude(frozen, verdicts))


_STAGE = {TIMEOUT: "timeout", KILLED: "killed"}


def _limit() -> str:
    return f"{course.cell_seconds():g} s"
