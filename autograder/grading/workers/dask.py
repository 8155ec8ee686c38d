"""Hands tasks to the workers of a dask.distributed cluster, which may come, go and die while it works."""

import collections
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from autograder import settings
from autograder.gradebook.outcomes import Outcome
from autograder.grading.task import given_up, grade_one
from autograder.grading.task_data import Task

if TYPE_CHECKING:
    from distributed import Client, Future

PATIENCE = 60  # seconds without a scheduler, or without any worker, after which a cluster counts as gone
LOOK = 0.05  # seconds between looks at what is done


def grade_all(tasks: list[Task], address: str, tries: int) -> Iterator[Outcome]:
    """Yields the outcome of each task as it is done; a task with which `tries` workers died is given up.

    Raises:
        KitError: no scheduler answers, or it has been gone for a while.
    """
    client = _connect(address)
    with client:
        # one draw after another: what is expected of a draw is computed by each worker that meets it
        waiting, absent = collections.deque(sorted(tasks, key=lambda task: task["seed"])), 0.0
        running: dict[Future, Task] = {}
        while waiting or running:
            cores = _cores(client)
            while waiting and len(running) < 2 * cores:
                task = waiting.popleft()
                running[client.submit(grade_one, task, pure=False, retries=tries - 1)] = task
            done = [future for future in running if future.status != "pending"]
            for future in done:
                task = running.pop(future)
                outcome = _outcome(future, task)
                if outcome is None:
                    waiting.append(task)
                else:
                    yield outcome
            absent = 0.0 if cores else absent + LOOK
            if client.status == "closed" or absent > PATIENCE:
                raise settings.KitError(
                    f"the scheduler at {address} is gone, or has no workers; run this again to go on."
                )
            if not done:
                time.sleep(LOOK)


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise settings.KitError("--scheduler needs the package distributed: pip install -r requirements.txt.") from None
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # the errors below say what matters, in one line
    try:
        return Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise settings.KitError(f"no scheduler answers at {address} ({type(error).__name__}).") from None


def _cores(client: "Client") -> int:
    """How many threads the cluster has just now; 0 while its scheduler is away."""
    try:
        return sum(client.nthreads().values()) if client.status == "running" else 0
    except OSError:
        return 0


def _outcome(future: "Future", task: Task) -> Outcome | None:
    """What a future that is no longer pending brought; None if the scheduler has forgotten it."""
    from distributed.scheduler import KilledWorker

    if future.status == "finished":
        return _fetched(future)
    error = future.exception() if future.status == "error" else None
    if isinstance(error, KilledWorker):
        return given_up(task)
    if error is not None:
        raise error
    return None


def _fetched(future: "Future") -> Outcome | None:
    """The result of a finished future; None if it was lost with its worker before it was fetched."""
    from distributed.client import FutureCancelledError

    try:
        return future.result()
    except (OSError, FutureCancelledError):
        return None
