"""Starts a process for each job, forked from one that has imported everything, and collects what it sends."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import cache

from autograder import course
from utils.records import unpack_observation

MAX_BYTES = 64_000_000  # that a job's process may send
MAX_OUTPUTS = 60  # of one cell
ENDED, TIMEOUT, KILLED = "ended", "timeout", "killed"


@dataclass
class Run:
    """What a job's process sent: outputs by cell, observations by exercise; and how it came to its end."""

    outputs: dict = field(default_factory=dict)
    observations: dict = field(default_factory=dict)
    how: str = KILLED


def run_job(job: dict) -> Run:
    """Runs a job (see `utils.runner`) in a new process with a scratch folder of its own; both are gone afterwards."""
    deadline = time.monotonic() + 30 + 4 * job["seconds"]
    with tempfile.TemporaryDirectory(prefix="submission-") as scratch, tempfile.TemporaryFile() as file:
        file.write(json.dumps({**job, "scratch": scratch}).encode())
        file.flush()
        file.seek(0)
        receive, send = os.pipe()
        try:
            process = _warm().fork(file.fileno(), send)
        finally:
            os.close(send)
        try:
            return _collect(receive, deadline)
        finally:
            os.close(receive)
            _end(process)


class _Warm:
    """The process that has imported everything; jobs are forked from it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.channel, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "utils.runner", str(theirs.fileno())],
            cwd=course.ROOT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        atexit.register(self.process.kill)

    def fork(self, job: int, results: int) -> int:
        """Has a process forked that reads its job from one descriptor and writes to the other; returns its id."""
        with self.lock:
            try:
                socket.send_fds(self.channel, [b"j"], [job, results])
                answer = self.channel.recv(8)
            except OSError:
                answer = b""
        if len(answer) < 8:
            raise course.KitError("the process that runs submissions could not be started: does `import torch` work?")
        return int.from_bytes(answer, "little")


@cache
def _warm() -> _Warm:
    return _Warm()


def _environment() -> dict:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")}
    return {
        **kept,
        "PYTHONPATH": str(course.ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "COURSE_STATIC": "1",
    }


def _collect(receive: int, deadline: float) -> Run:
    run, buffer, total = Run(), b"", 0
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([receive], [], [], min(left, 1.0))
        if not ready:
            continue
        chunk = os.read(receive, 1 << 20)
        total += len(chunk)
        if not chunk or total > MAX_BYTES:
            return run
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            _take(line, run)
        if run.how == ENDED:
            return run
    run.how = TIMEOUT
    return run


def _take(line: bytes, run: Run):
    """Notes one line; one that is not of the agreed form counts as not sent."""
    try:
        data = json.loads(line)
        if "end" in data:
            run.how = ENDED
        elif "exercise" in data:
            seen = [unpack_observation(item) for item in data["observations"]]
            run.observations.setdefault(str(data["exercise"]), seen)
        else:
            run.outputs[int(data["cell"])] = [_output(item) for item in data["outputs"][:MAX_OUTPUTS]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass


def _output(item: dict) -> dict:
    """An output in nbformat's form, rebuilt field by field: whatever else was sent is left out."""
    kind = item["output_type"]
    if kind == "stream":
        return {
            "output_type": kind,
            "name": "stderr" if item["name"] == "stderr" else "stdout",
            "text": str(item["text"]),
        }
    if kind == "error":
        text = {name: str(item[name]) for name in ("ename", "evalue")}
        return {"output_type": kind, **text, "traceback": [f"{text['ename']}: {text['evalue']}"]}
    data = {name: str(item["data"][name]) for name in ("text/plain", "image/png") if name in item["data"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _end(process: int):
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
