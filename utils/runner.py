"""Runs notebooks' cells in forked processes and observes named objects: jobs come in as JSON, lines of JSON go out.

It knows no expected values. What it writes is data that another process judges.
"""

import json
import os
import signal
import socket
import sys

import jaxtyping  # noqa: F401 - imported here once, so that no submission waits for it
import matplotlib.pyplot  # noqa: F401
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from utils.observe import observe
from utils.records import Failure, Observation, pack, unpack_case

MAX_TEXT = 50_000  # characters kept of what a cell prints
MAX_PICTURE = 2_000_000  # characters kept of one displayed item


class TimeLimit(KeyboardInterrupt):
    """Raised in student code that has run for too long; no `except Exception` stops it."""


def serve(channel: socket.socket) -> None:
    """Waits, with everything imported and nothing computed, and forks a process for each job.

    A request carries two file descriptors: one to read the job from, one to write results to. The answer is the
    process id, which leads a process group of its own.
    """
    torch.set_num_threads(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended processes are reaped by the system
    while True:
        request, descriptors, *_ = socket.recv_fds(channel, 1, 2)
        if not request:
            return
        process = os.fork()
        if process == 0:
            channel.close()
            _work(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.sendall(process.to_bytes(8, "little"))


def _work(job: int, results: int) -> None:
    """The life of one job's process; the last line it writes says that it came to its end."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    status = 1
    try:
        with os.fdopen(job, encoding="utf-8") as file:
            _run_job(json.load(file), os.fdopen(results, "w", encoding="utf-8"))
        status = 0
    finally:
        os._exit(status)


def _run_job(job: dict, results) -> None:
    os.environ.update(HOME=job["scratch"], MPLCONFIGDIR=job["scratch"], IPYTHONDIR=job["scratch"])
    os.chdir(job["scratch"])
    shell = _shell()
    signal.signal(signal.SIGALRM, _out_of_time)
    for index, cell in enumerate(job["cells"]):
        if "exercise" in cell:
            line = _observe(shell, cell["exercise"], job)
        else:
            line = _run(shell, cell["source"], job["seconds"])
        print(json.dumps({"cell": index, **line}), file=results, flush=True)
    print(json.dumps({"end": True}), file=results, flush=True)


def _out_of_time(*_):
    raise TimeLimit("time limit")


class _Shell(InteractiveShell):
    def enable_gui(self, gui=None):
        """There is no window to open."""

    def showtraceback(self, *args, **kwargs):
        """The error is returned as data, not printed."""

    showsyntaxerror = showindentationerror = showtraceback


def _shell() -> InteractiveShell:
    """A shell without history, files or debugger that draws figures into the cell's output."""
    shell = _Shell.instance(colors="nocolor", autocall=0)
    shell.history_manager.enabled = False
    shell.run_line_magic("matplotlib", "inline")
    return shell


def _run(shell: InteractiveShell, source: str, seconds: float) -> dict:
    """Runs one cell; returns the outputs in nbformat's form."""
    error = None
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with capture_output() as captured:
            ran = shell.run_cell(source, store_history=False, silent=False)
            error = ran.error_before_exec or ran.error_in_exec
    except TimeLimit as limit:
        error = limit
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    outputs = []
    for name in ("stdout", "stderr"):
        text = _clipped(getattr(captured, name), MAX_TEXT)
        if text:
            outputs.append({"output_type": "stream", "name": name, "text": text})
    outputs += [_displayed(item) for item in captured.outputs[:50]]
    if error is not None:
        name = "TimeLimit" if isinstance(error, TimeLimit) else type(error).__name__
        text = f"stopped after {seconds:g} s" if isinstance(error, TimeLimit) else _clipped(_said(error), 2000)
        outputs.append({"output_type": "error", "ename": name, "evalue": text, "traceback": [f"{name}: {text}"]})
    return {"outputs": outputs, "timeout": isinstance(error, TimeLimit)}


def _said(error) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _displayed(item) -> dict:
    shown = {kind: item.data.get(kind) for kind in ("text/plain", "image/png")}  # HTML could carry scripts to a reader
    data = {kind: value for kind, value in shown.items() if isinstance(value, str) and len(value) < MAX_PICTURE}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit} more characters"


def _observe(shell: InteractiveShell, name: str, job: dict) -> dict:
    """Observes an object on every case of its exercise."""
    observations = []
    signal.setitimer(signal.ITIMER_REAL, job["seconds"])
    try:
        with capture_output():
            for data in job["cases"][name]:
                if name in shell.user_ns:
                    observations.append(_observed(shell.user_ns[name], unpack_case(data), job["device"]))
                else:
                    observations.append(Observation(failure=Failure("missing", "missing")))
    except TimeLimit:
        late = Observation(failure=Failure("timeout", "TimeLimit", f"{job['seconds']:g} s"))
        observations += [late] * (len(job["cases"][name]) - len(observations))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"exercise": name, "observations": pack(observations)}


def _observed(made, case, device) -> Observation:
    """What no part of `observe` has foreseen costs one case, not the whole submission."""
    try:
        return observe(made, case, device)
    except Exception as error:
        return Observation(failure=Failure("call", type(error).__name__, _said(error)))


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        serve(inherited)
