"""Runs one job in the sandbox and collects what it sends, as plain data rebuilt field by field."""

import json
import os
import secrets
import select
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypedDict

from autograder import settings
from autograder.sandbox.levels import Warm
from autograder.sandbox.limits import Limits
from utils.checking.observing.refusals import CONFINED
from utils.checking.packs.packing import bounded_text, unpack_observation
from utils.checking.records import Observation

MAX_BYTES = 32_000_000  # bytes that a job's process may send
MAX_OUTPUTS = 60  # outputs of one cell that are kept
ENDED, TIMEOUT, STOPPED, KILLED = "ended", "timeout", "stopped", "killed"
GRACE = 2.0  # seconds beyond its own that a cell gets before its process is ended
SETTLE = 2.0  # seconds that a process which has closed its pipe gets to end by itself
# Seconds that are waited for a job's folder to be removed; where it holds much, the removal goes on afterwards.
REMOVAL = 5.0
ATTEMPTS = 4  # a job whose process dies in one cell is run again without that cell


@dataclass
class Run:
    """What a job's process sent, by cell and by exercise, and how it came to its end.

    Attributes:
        outputs: cell index -> outputs in nbformat's form.
        observations: exercise -> observations.
        seconds: exercise -> how long observing it took.
        confined: cell index -> an error that the confinement brought about in that cell, as an output.
        reached: the number of cells that were finished.
        how: "ended"; "timeout", of the whole job; "stopped", where one cell did not end; or "killed".
        why: for a process that was killed, what ended it, in words.
        fatal: cell index -> the words for a cell in which the process died or hung.
        hung: the indices of those that hung.
        lost: whether the sandbox itself was gone.
    """

    outputs: dict[int, list[dict]] = field(default_factory=dict)
    observations: dict[str, list[Observation]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    confined: dict[int, dict] = field(default_factory=dict)
    reached: int = 0
    how: str = KILLED
    why: str = ""
    fatal: dict[int, str] = field(default_factory=dict)
    hung: frozenset[int] = frozenset()
    lost: bool = False


class JobCell(TypedDict, total=False):
    """One step of a job: `source` to run, or the `exercise` whose object is observed at this point.

    Of code, `pictures` says whether to draw what it shows, and `own` names the exercise that the assignment has the cell for.
    """

    source: str
    exercise: str
    pictures: bool
    own: str


class Job:
    """A job under way: `Job(job, level, limits)` starts it, `result()` waits for its end.

    A job (see `autograder.sandbox.inside.runner`) gets a process of its own, confined, with a scratch folder that is deleted.
    """

    def __init__(self, job: dict, level: str, limits: Limits):
        self.job, self.level, self.limits = job, level, limits
        self.deadline = time.monotonic() + limits.submission_seconds
        self.hung: set[int] = set()
        self.lost = False
        self._start({})

    def _start(self, fatal: dict[int, str]) -> None:
        self.fatal, self.nonce = fatal, secrets.token_hex(16)
        seconds_left = max(1.0, self.deadline - time.monotonic())
        # The watcher ends the job earlier than this; this limit is for a watcher that is gone.
        self.give_up = time.monotonic() + seconds_left + 15
        job = {**self.job, "seconds": self.limits.cell_seconds, "skip": list(fatal), "nonce": self.nonce}
        bounds = {"total": seconds_left, "memory": self.limits.memory_bytes, "disk": self.limits.disk_bytes}
        receive, send = os.pipe()
        status, tell = os.pipe()
        stop, self.go_on = os.pipe()
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(bounds).encode() + b"\n")
            file.write(json.dumps(job).encode())
            file.flush()
            try:
                self.warm = _fork(self.level, file.fileno(), send, tell, stop)
            finally:
                for descriptor in (send, tell, stop):
                    os.close(descriptor)
        self.receive, self.status = receive, status

    def result(self) -> Run:
        """The job's run. Cells in which the process died or hung are left out, and the others run again, a few times."""
        while True:
            run = self._collect()
            if run.how == STOPPED:
                self.hung.add(run.reached)
            run.hung = frozenset(self.hung)
            # The cell is not at fault: its sandbox was gone, and there is a new one.
            if run.lost and not self.lost:
                self.lost = True
                self._start(self.fatal)
                continue
            survived = run.how == ENDED or run.how == TIMEOUT or run.reached >= len(self.job["cells"])
            if survived or len(self.fatal) + 1 >= ATTEMPTS or time.monotonic() > self.deadline - 1:
                return run
            self._start({**self.fatal, run.reached: run.why})

    def _collect(self) -> Run:
        run = Run(fatal=dict(self.fatal))
        try:
            # A process that ends by itself closes its pipe first: it is given time to end before it is stopped.
            if self._read(run):
                select.select([self.status], [], [], SETTLE)
            os.close(self.go_on)
            self._end(run)
        finally:
            os.close(self.receive)
            os.close(self.status)
        return run

    def _read(self, run: Run) -> bool:
        """Takes lines until the end, or until a cell has been silent for longer than it may take.

        Returns:
            whether the pipe was closed although there was more to come.
        """
        buffer, total, silence = b"", 0, self.limits.cell_seconds + GRACE
        while run.how != ENDED and (seconds_left := min(silence, self.give_up - time.monotonic())) > 0:
            if not select.select([self.receive], [], [], seconds_left)[0]:
                return False
            chunk = os.read(self.receive, 1 << 20)
            total += len(chunk)
            if not chunk or total > MAX_BYTES:
                return not chunk
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                _take_line(line, run, self.nonce)
        return False

    def _end(self, run: Run) -> None:
        """Reads how the job's process ended; a watcher that says nothing is gone, and its sandbox is started anew."""
        report = {}
        if select.select([self.status], [], [], max(5.0, self.give_up - time.monotonic()))[0]:
            try:
                report = json.loads(os.read(self.status, 1 << 16) or b"{}")
            except ValueError:
                pass
            select.select([self.status], [], [], REMOVAL)  # this pipe is closed when the job's folder is gone
        if not report:
            _replace(self.level, self.warm)
            report, run.lost = {"how": KILLED, "signal": 0}, True
        if "why" in report or report["how"] == "unconfined":
            raise settings.KitError(report.get("why", f"a process could not be confined by {self.level}."))
        if run.how != ENDED:
            run.how = TIMEOUT if report["how"] == TIMEOUT else STOPPED if report["how"] == STOPPED else KILLED
            run.why = _reason_in_words(report, self.limits.cell_seconds)


def _reason_in_words(report: dict, seconds: float) -> str:
    if report["how"] == STOPPED:
        return f"it went on for longer than {seconds:g} s, whatever was done to stop it"
    if report["how"] == "disk":
        return "it wrote more to disk than is allowed"
    number = report.get("signal", 0)
    if number == signal.SIGXCPU:
        return "it computed for longer than is allowed"
    if number == signal.SIGSEGV:
        return "it crashed (segmentation fault), as after endless recursion in compiled code or a wrong pointer"
    if number:
        is_named = number in set(signal.Signals)
        return f"it was ended by {signal.Signals(number).name if is_named else f'signal {number}'}"
    return "it ended its own process"


_running: dict[str, Warm] = {}
_starting = threading.Lock()  # a cluster's worker may have several threads
_starter = ThreadPoolExecutor(1)  # a warm process dies with the thread that started it: this one stays


def _fork(level: str, *descriptors: int) -> Warm:
    for _ in range(2):
        with _starting:
            if level not in _running:
                _running[level] = _starter.submit(Warm, level).result()
            warm = _running[level]
        if warm.fork(*descriptors):
            return warm
        _replace(level, warm)
    raise settings.KitError(f"the {level} sandbox ended as soon as it was started.")


def _replace(level: str, warm: Warm) -> None:
    """Ends a warm process, so that the next job starts another; unless a thread that noticed before has done so."""
    with _starting:
        if _running.get(level) is warm:
            _running.pop(level).end()


def _take_line(line: bytes, run: Run, nonce: str) -> None:
    """Enters one line into the run; a line that is not of the agreed form counts as not sent."""
    try:
        data = json.loads(line)
        if data["nonce"] != nonce:
            return
        if "end" in data:
            run.how = ENDED
            return
        index = int(data["cell"])
        if "exercise" in data:
            name = str(data["exercise"])
            observations = [unpack_observation(item) for item in data["observations"]]
            if data.get("again") or name not in run.observations:
                run.observations[name] = observations
            run.seconds.setdefault(name, min(1e6, max(0.0, float(data["seconds"]))))
        elif "outputs" in data:
            run.outputs.setdefault(index, [_rebuilt_output(item) for item in data["outputs"][:MAX_OUTPUTS]])
            refused = [output for output in data["outputs"] if output.get("refused") == CONFINED]
            if refused:
                run.confined.setdefault(index, _rebuilt_output(refused[0]))
        run.reached = max(run.reached, index + 1)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        pass


def _rebuilt_output(item: dict) -> dict:
    """An output in nbformat's form, rebuilt field by field: whatever else was sent is left out."""
    kind = item["output_type"]
    if kind == "stream":
        name = "stderr" if item["name"] == "stderr" else "stdout"
        return {"output_type": kind, "name": name, "text": _writable_text(item["text"])}
    if kind == "error":
        text = {name: bounded_text(item[name]) for name in ("ename", "evalue")}
        return {"output_type": kind, **text, "traceback": [f"{text['ename']}: {text['evalue']}"]}
    data = {name: _writable_text(item["data"][name]) for name in ("text/plain", "image/png") if name in item["data"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _writable_text(text: object) -> str:
    """Text that can be written to a file: half a character becomes a question mark."""
    return str(text).encode("utf-8", "replace").decode()
