"""Runs a notebook's cells and observes named objects: a job comes in as JSON, lines of JSON go out, one a cell.

It runs beside the student's code, in the sandbox, and knows no expected values. Another process judges what it writes.
"""

import base64
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from utils.checking.observing.observe import observe
from utils.checking.observing.refusals import told
from utils.checking.packs.packing import pack, unpack_case
from utils.checking.records import DrawnCase, Failure, Observation

from . import confine
from .shell import Shell, TimeLimit, make_shell, quietly, run_cell
from .tampering import Original

_NOT_YET = ("NotImplementedError", "NameError")
_TAMPERED = "the grading code was changed from within the notebook"


def run_job(job: dict, results: TextIO, shell: Shell | None = None) -> None:
    """Runs a job's cells in order and writes a line for each; the last line says that it came to its end.

    Args:
        job: "first", code that is run before the cells and shows nothing; "cells", each {"source": code, "pictures": whether to
            draw them} or {"exercise": name}; "cases" by exercise; "device"; "seconds" that a cell may take; "files" by name,
            in base64, to lie beside the notebook; "skip", the indices of cells to leave out; "nonce", which every line repeats.
        results: a text file.
        shell: an IPython shell to run in.
    """
    shell = shell or make_shell()
    nonce, original = job.pop("nonce", ""), Original()
    for name, data in job.get("files", {}).items():
        Path(name).write_bytes(base64.b64decode(data))
    signal.signal(signal.SIGALRM, _out_of_time)
    for source in job.get("first", ()):
        with confine.reserve():
            run_cell(shell, source, job["seconds"], pictures=False)
    later = []
    for index, cell in enumerate(job["cells"]):
        if index in job.get("skip", ()):
            line = {}
        elif "exercise" in cell:
            line = _observe_exercise(shell, cell["exercise"], job, original)
            later += [(index, cell["exercise"])] if _incomplete(line) else []
        else:
            with confine.reserve():
                line = run_cell(shell, cell["source"], job["seconds"], cell.get("pictures", True))
        print(json.dumps({"cell": index, "nonce": nonce, **line}), file=results, flush=True)
    for index, name in later:
        line = _observe_exercise(shell, name, job, original)
        if not _incomplete(line):
            print(json.dumps({"cell": index, "nonce": nonce, "again": True, **line}), file=results, flush=True)
    print(json.dumps({"end": True, "nonce": nonce}), file=results, flush=True)


def _incomplete(line: dict) -> bool:
    """Whether an exercise, or what it calls, was not defined yet: it may be further down in the notebook."""
    failures = [observation.get("failure") or {} for observation in line["observations"]]
    return any(failure.get("stage") == "missing" or failure.get("type") in _NOT_YET for failure in failures)


def _out_of_time(*_):
    raise TimeLimit("time limit")


def _observe_exercise(shell: Shell, name: str, job: dict, original: Original) -> dict:
    """Observes an object on every case of its exercise."""
    observations, cases, started = [], job["cases"][name], time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, job["seconds"])
    try:
        with quietly():
            for data in cases:
                observations.append(_observe_case(shell.user_ns, name, unpack_case(data), job["device"]))
    except TimeLimit:
        late = Observation(failure=Failure("timeout", "TimeLimit", f"{job['seconds']:g} s"))
        observations += [late] * (len(cases) - len(observations))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if not original.is_unchanged():
        observations = [Observation(failure=Failure("tampered", "tampered", _TAMPERED))] * len(cases)
    spent = round(time.monotonic() - started, 4)
    return {"exercise": name, "observations": pack(observations), "seconds": spent}


def _observe_case(namespace: dict, name: str, case: DrawnCase, device: str) -> Observation:
    """Observes one case; an error that no part of `observe` has foreseen costs this case, not the whole submission."""
    if name not in namespace:
        return Observation(failure=Failure("missing", "missing"))
    try:
        return _with_cause(observe(namespace[name], case, device))
    except TimeLimit:
        raise
    except KeyboardInterrupt:
        return Observation(failure=Failure("call", "KeyboardInterrupt"))
    except BaseException as error:
        return Observation(failure=Failure("call", type(error).__name__))


def _with_cause(observation: Observation) -> Observation:
    """An observation in which a failure that the confinement brought about is reported as such."""
    refused = observation.failure.refused if observation.failure else told(observation.backward)
    failure = observation.failure or Failure("call", *observation.backward.partition(": ")[::2])
    return replace(observation, failure=replace(failure, stage=refused)) if refused else observation


def work(job_file: int, results: int, shell: Shell) -> None:
    """The life of one job's process, from the descriptors it reads and writes; never returns."""
    status = 1
    try:
        with os.fdopen(job_file, encoding="utf-8") as file:
            job = json.load(file)
        run_job(job, os.fdopen(results, "w", encoding="utf-8"), shell)
        status = 0
    finally:
        os._exit(status)
