"""Runs one notebook's code in a process of its own and judges what comes out here, where no student code runs."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace

from autograder import bank, course
from autograder.draw import draw
from autograder.freeze import freeze_case, frozen_exercise
from utils.judge import Result, conclude, judge
from utils.records import Failure, Observation, pack, unpack_observation

MAX_RESULT = 64_000_000  # bytes that a submission's process may send
GRADED, TIMEOUT, KILLED, MALFORMED, MISSING = "graded", "timeout", "killed", "malformed", "missing"


@dataclass(frozen=True)
class Examined:
    """What became of one exercise of a submission."""

    exercise: str
    state: str
    result: Result


@dataclass
class Run:
    """What a submission's process sent: outputs by cell, observations by exercise, and how it ended."""

    outputs: dict = field(default_factory=dict)
    observations: dict = field(default_factory=dict)
    ended: str = GRADED


def examine_cells(cells: list[dict], seed: str, device: str = "cpu") -> tuple[dict, list[Examined]]:
    """Runs cells in order and examines the exercises named among them.

    Args:
        cells: {"source": code} to run, or {"exercise": name} to observe that object at this point.
        seed: the seed of the cases, the same for each run of one submission.

    Returns:
        the outputs by cell index, and one Examined for each exercise named.
    """
    names = [cell["exercise"] for cell in cells if "exercise" in cell]
    cases = {name: draw(bank.find_exercise(name), seed, grading=True) for name in names}
    run = _run(cells, cases, device)
    examined = [_conclude(name, cases[name], run, device) for name in names]
    return run.outputs, [_with_cause(one, cells, run.outputs) for one in examined]


def _with_cause(one: Examined, cells: list[dict], outputs: dict) -> Examined:
    """Where an object is missing, says which error the last failing cell before it raised."""
    if one.result.problem != "missing_object":
        return one
    place = next(index for index, cell in enumerate(cells) if cell.get("exercise") == one.exercise)
    errors = [out for i in range(place) for out in outputs.get(i, []) if out.get("output_type") == "error"]
    if not errors:
        return one
    said = ": ".join([str(errors[-1].get("ename")), *str(errors[-1].get("evalue")).splitlines()[:1]])
    message = f"{one.result.message}\n  The last error above it was {said}"
    return replace(one, result=replace(one.result, message=message))


def _conclude(name: str, cases: list, run: Run, device: str) -> Examined:
    exercise = bank.find_exercise(name)
    observations = run.observations.get(name)
    state = GRADED
    if observations is None or len(observations) != len(cases):
        state = run.ended if run.ended != GRADED else KILLED
        observations = [Observation(failure=Failure(_STAGE[state], state, _limit()))] * len(cases)
    elif any(seen.failure and seen.failure.stage == "timeout" for seen in observations):
        state = TIMEOUT
    frozen = frozen_exercise(exercise, [freeze_case(exercise, case, mistakes=False, device=device) for case in cases])
    verdicts = [judge(frozen, one, seen, reveal=False) for one, seen in zip(frozen.cases, observations)]
    if not all(verdict.passed for verdict in verdicts):
        frozen = frozen_exercise(exercise, [freeze_case(exercise, case, device=device) for case in cases])
        verdicts = [judge(frozen, one, seen, reveal=False) for one, seen in zip(frozen.cases, observations)]
    return Examined(name, state, conclude(frozen, verdicts))


_STAGE = {TIMEOUT: "timeout", KILLED: "killed"}


def _limit() -> str:
    return f"{course.settings()['cell_seconds']:g} s"


def _run(cells: list[dict], cases: dict, device: str) -> Run:
    """Starts the process, feeds it the job and collects lines until it ends or its time is over."""
    seconds = course.settings()["cell_seconds"]
    deadline = time.monotonic() + 30 + seconds * 4
    job = {"cells": cells, "cases": pack(cases), "device": device, "seconds": seconds}
    with tempfile.TemporaryDirectory(prefix="submission-") as scratch:
        receive, send = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "utils.runner", str(send)],
            cwd=scratch,
            env=_environment(scratch),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(send,),
            start_new_session=True,
        )
        os.close(send)
        try:
            _feed(process, json.dumps(job).encode())
            return _collect(receive, process, deadline)
        finally:
            _end(process)
            os.close(receive)


def _environment(scratch: str) -> dict:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")}
    return {
        **kept,
        "HOME": scratch,
        "PYTHONPATH": str(course.ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MPLCONFIGDIR": scratch,
        "COURSE_STATIC": "1",
    }


def _feed(process: subprocess.Popen, job: bytes):
    try:
        process.stdin.write(job)
        process.stdin.close()
    except BrokenPipeError:
        pass


def _collect(receive: int, process: subprocess.Popen, deadline: float) -> Run:
    run, buffer, total = Run(), b"", 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            run.ended = TIMEOUT
            return run
        ready, _, _ = select.select([receive], [], [], min(left, 1.0))
        if not ready:
            continue
        chunk = os.read(receive, 1 << 20)
        total += len(chunk)
        if not chunk or total > MAX_RESULT:
            run.ended = GRADED if not chunk and process.wait() == 0 else KILLED
            return run
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            _take(line, run)


def _take(line: bytes, run: Run):
    """Notes one line of a submission's process; a line that is not of the agreed form counts as not sent."""
    try:
        data = json.loads(line)
        if "exercise" in data:
            seen = [unpack_observation(item) for item in data["observations"]]
            run.observations.setdefault(str(data["exercise"]), seen)
        else:
            run.outputs[int(data["cell"])] = list(data["outputs"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass


def _end(process: subprocess.Popen):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
