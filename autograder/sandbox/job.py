"""Runs one job in the sandbox: starts its process, feeds it, and notices how it ends."""

import json
import os
import select
import signal
import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypedDict

from autograder import settings
from autograder.sandbox.conversation import Closer, Conversation
from autograder.sandbox.levels import Warm
from autograder.sandbox.limits import Limits
from autograder.sandbox.run import ENDED, KILLED, STOPPED, TIMEOUT, Run

MAX_BYTES, MAX_LINE = 32_000_000, 16_000_000  # bytes that a job's process may send, in all and in one line
MAX_UNASKED = 1000  # lines that nobody asked for, after which a process is stopped
GRACE = 2.0  # seconds beyond its own that a cell gets before its process is ended
SETTLE = 2.0  # seconds that a process which has closed its pipe gets to end by itself
# Seconds that are waited for a job's folder to be removed; where it holds much, the removal goes on afterwards.
REMOVAL = 5.0
ATTEMPTS = 4  # a job whose process dies in one cell is run again without that cell
LOSSES = 4  # a job whose sandbox is gone is run again in a new one, as long as it was lost less often than that


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

    It gets a process of its own, confined, with a scratch folder that is deleted.

    Args:
        job: "cells" (see JobCell), "cases" in JSON by exercise, "device", and, where there are some, "files" by name, in base64,
            to lie beside the notebook, and "first", code that is run before the cells and shows nothing. "watched"
            names the exercises whose calls are noted, by default all.
        closer: gives, by an exercise's name and its observations, other cases on which to observe it at once.
    """

    def __init__(self, job: dict, level: str, limits: Limits, closer: Closer = lambda *_: []):
        self.job, self.level, self.limits, self.closer = job, level, limits, closer
        self.deadline = time.monotonic() + limits.submission_seconds
        self.hung: set[int] = set()
        self.lost_in: list[int] = []  # the cells that were under way when the sandbox was gone
        self._start({})
        self._run: Future[Run] = Future()
        # The process is fed meanwhile, whatever this thread does.
        threading.Thread(target=self._accompany, daemon=True).start()

    def _start(self, fatal: dict[int, str]) -> None:
        self.fatal = fatal
        seconds_left = max(1.0, self.deadline - time.monotonic())
        # The watcher ends the job earlier than this; this limit is for a watcher that is gone.
        self.give_up = time.monotonic() + seconds_left + 15
        bounds = {"total": seconds_left, "memory": self.limits.memory_bytes, "disk": self.limits.disk_bytes}
        self.channel, far_end = socket.socketpair()
        self.status, tell = os.pipe()
        stop, self.go_on = os.pipe()
        self.channel.sendall(json.dumps(bounds).encode())
        self.channel.setblocking(False)
        try:
            self.warm = _fork(self.level, far_end.fileno(), tell, stop)
        finally:
            far_end.close()
            os.close(tell)
            os.close(stop)

    def result(self) -> Run:
        """The job's run, once it has ended."""
        return self._run.result()

    def _accompany(self) -> None:
        try:
            self._run.set_result(self._through())
        except BaseException as error:
            self._run.set_exception(error)

    def _through(self) -> Run:
        """The job's run. Cells in which the process died or hung are left out, and the others run again, a few times."""
        while True:
            run = self._collect()
            if run.how == STOPPED:
                self.hung.add(run.reached)
            run.hung = frozenset(self.hung)
            if run.lost:
                # No cell is at fault where the sandbox was gone, unless that happens in the same one each time.
                self.lost_in.append(run.reached)
                if len(self.lost_in) < LOSSES:
                    self._start(self.fatal)
                    continue
                if len(set(self.lost_in)) > 1:
                    raise settings.KitError(f"the {self.level} sandbox was ended {LOSSES} times while one job ran.")
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
            self.channel.close()
            os.close(self.status)
        return run

    def _read(self, run: Run) -> bool:
        """Takes lines and answers them until the end, or until a cell has been silent for longer than it may take.

        Returns:
            whether the process has closed its side although there was more to come.
        """
        conversation = Conversation(self.job, self.limits.cell_seconds, run, self.closer)
        beginning, to_send, total, silence = bytearray(), b"", 0, self.limits.cell_seconds + GRACE
        try:
            while run.how != ENDED and (seconds_left := min(silence, self.give_up - time.monotonic())) > 0:
                sending = [self.channel] if to_send else []
                readable, writable, _ = select.select([self.channel], sending, [], seconds_left)
                if writable:
                    to_send = to_send[self.channel.send(to_send) :]
                chunk = self.channel.recv(1 << 16) if readable else b""
                total += len(chunk)
                if not chunk and not writable or total > MAX_BYTES:
                    return bool(readable) and not chunk
                beginning += chunk
                *lines, beginning = beginning.split(b"\n") if b"\n" in chunk else [beginning]
                to_send += b"".join(map(conversation.heard, lines))
                if len(beginning) > MAX_LINE or conversation.unasked > MAX_UNASKED:
                    return False
        except OSError:  # it has ended before it read what was sent
            return True
        finally:
            conversation.end()
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
