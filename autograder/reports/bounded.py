"""Does work on what students wrote in processes of their own, each piece within limits of time and memory, several at once."""

import math
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

from autograder.sandbox.inside import confine
from autograder.settings import KitError

Task = TypeVar("Task")
Result = TypeVar("Result")

if sys.platform == "linux":
    _CONTEXT = multiprocessing.get_context("fork")
else:  # a process cannot be forked there without harm: it is started anew, and imports what it needs
    _CONTEXT = multiprocessing.get_context("spawn")
_inside: list[bool] = []  # not empty in a process that was started here


@dataclass(frozen=True)
class Bounds:
    """What one piece of work may take.

    Attributes:
        seconds: of computing, whole ones. An ordinary piece takes a tenth of a second, and a slow machine is no reason to cut.
        memory: bytes of address space beyond what the process has when it is started.
        wait: seconds by the clock, for work that waits for something and computes nothing.
    """

    seconds: int = 4
    memory: int = 512 << 20
    wait: float = 90.0


BOUNDS = Bounds()


def is_bounded() -> bool:
    """Whether the calling process works within such limits already."""
    return bool(_inside)


def cores() -> int:
    """How many processes work at once where nobody says how many."""
    return os.cpu_count() or 1


def each_bounded(
    work: Callable[[Task], Result], tasks: Iterable[Task], workers: int | None = None, bounds: Bounds = BOUNDS
) -> Iterator[tuple[Task, Result | None]]:
    """Yields each task with what `work` makes of it, in the order in which they are done.

    That is None where the work ran into a limit, failed, or ended its process; the other tasks go on meanwhile.

    Args:
        work: a function of a module, or a partial of one; what it returns is never None.
        workers: how many processes work at once; without it, one for each core.

    Raises:
        KitError: `work` raised it: it concerns the class.
    """
    waiting, idle = deque(tasks), list[_Worker[Task, Result]]()
    busy: list[_Worker[Task, Result]] = []
    try:
        while waiting or busy:
            while waiting and len(busy) < max(1, workers or cores()):
                worker = idle.pop() if idle else _Worker(work, bounds)
                busy.append(worker)
                worker.begin(waiting.popleft())
            for worker in _done_or_overdue(busy):
                is_done, result, fault = worker.outcome()
                if fault:
                    raise KitError(fault)
                busy.remove(worker)
                if is_done:
                    idle.append(worker)
                else:
                    worker.end()
                yield worker.task, result
    finally:
        for worker in (*busy, *idle):
            worker.end()


class _Worker(Generic[Task, Result]):
    """A process that does one task after another."""

    def __init__(self, work: Callable[[Task], Result], bounds: Bounds):
        self.bounds = bounds
        self.connection, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(work, theirs, bounds), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, task: Task) -> None:
        self.task, self.deadline = task, time.monotonic() + self.bounds.wait
        try:
            self.connection.send(task)
        except OSError:  # its process is gone, which `outcome` sees
            pass

    def outcome(self) -> tuple[bool, Result | None, str]:
        """Whether the worker can go on, what it made of its task, and what it has to say to whoever started it."""
        try:
            return (True, *self.connection.recv()) if self.connection.poll() else (False, None, "")
        except (EOFError, OSError):
            return False, None, ""

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _done_or_overdue(busy: list[_Worker]) -> list[_Worker]:
    """Waits until some of these workers have ended a task, or had the time for it."""
    left = min(worker.deadline for worker in busy) - time.monotonic()
    ready = multiprocessing.connection.wait([worker.connection for worker in busy], max(0.0, left))
    now = time.monotonic()
    return [worker for worker in busy if worker.connection in ready or worker.deadline <= now]


def _serve(work: Callable, connection: Connection, bounds: Bounds) -> None:
    """What a worker's process does: each task that comes, until nothing comes any more."""
    confine.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    _inside.append(True)
    _lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":
        _lower(resource.RLIMIT_AS, confine.address_space() + bounds.memory)
    try:
        while True:
            task = connection.recv()
            used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
            _lower(resource.RLIMIT_CPU, math.ceil(used) + bounds.seconds)
            connection.send(_result_and_fault(work, task))
    except (EOFError, OSError, MemoryError):  # nobody listens any more, or the result is too large to be sent
        os._exit(1)


def _result_and_fault(work: Callable, task: object) -> tuple[object, str]:
    try:
        return work(task), ""
    except KitError as error:
        return None, str(error)
    except BaseException:  # a submission can make libraries fail in ways that nobody has listed
        return None, ""


def _lower(kind: int, bound: int) -> None:
    """Sets the limit at which the kernel acts; the one up to which it can be raised again stays."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (bound if hard == resource.RLIM_INFINITY else min(bound, hard), hard))
