"""Hands tasks to workers, processes of this machine or a cluster's; a worker that dies costs a repeat."""

import collections
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from pathlib import Path

from autograder import course

TRIES = 3  # of a submission with which workers die


def grade_all(tasks: list[dict], workers: int, scheduler: str | None = None) -> Iterator[dict]:
    """Yields the outcome of each task as it is done, in no particular order.

    Raises:
        KitError: the sandbox cannot be had, or the cluster cannot be reached.
    """
    if not tasks:
        return
    if scheduler:
        from autograder import cluster

        yield from cluster.grade_all(tasks, scheduler, TRIES)
    else:
        yield from _on_this_machine(tasks, max(1, min(workers, len(tasks))))


def grade_one(task: dict) -> dict:
    """The outcome of one task; imports what it needs where it runs, so that handing out work stays light."""
    from autograder import work

    return work.grade_one(task)


def grade_file(file: str) -> None:
    """Does the task in a file, and puts its outcome in the task's place.

    Only the file's name goes through the pool's pipes: a worker that dies while more than a pipe holds is written to it
    leaves whoever writes waiting for good, in the Python versions before that was mended.
    """
    outcome = grade_one(json.loads(Path(file).read_text(encoding="utf-8")))
    Path(file).write_text(json.dumps(outcome), encoding="utf-8")


def given_up(task: dict) -> dict:
    """The outcome where workers died, as often as is tried, while they graded this submission."""
    from autograder import work

    return work.given_up(task)


def prepare_worker() -> None:
    """What a worker process does first."""
    from utils.inside import confine

    confine.die_with_parent()
    confine.hide_memory()
    threading.Thread(target=_end_with_grader, daemon=True).start()


def _end_with_grader() -> None:
    """A worker's parent is the process that it was forked from; it would outlive a grader that is killed."""
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _ready() -> bool:
    return True


def _on_this_machine(tasks: list[dict], workers: int) -> Iterator[dict]:
    """Runs tasks in a pool. Where a worker dies, those under way are tried again alone, to see whose fault it is."""
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        yield from _in_pools(tasks, workers, Path(folder))


def _in_pools(tasks: list[dict], workers: int, folder: Path) -> Iterator[dict]:
    """Yields outcomes from one pool after another: a pool in which a worker died is broken. Tasks lie in `folder`."""
    numbers = itertools.count()
    waiting, suspects, deaths = collections.deque(tasks), collections.deque(), collections.Counter()
    while waiting or suspects:
        source, width = (suspects, 1) if suspects else (waiting, workers)
        with _Pool(width) as pool:
            _check(pool)
            running = {}
            try:
                while source or running:
                    while source and len(running) < (1 if source is suspects else 2 * workers):
                        task = source.popleft()
                        file = folder / str(next(numbers))
                        file.write_text(json.dumps(task), encoding="utf-8")
                        running[pool.submit(grade_file, str(file))] = (task, file)
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        done.result()
                        _, file = running.pop(done)
                        yield json.loads(file.read_text(encoding="utf-8"))
                        file.unlink()
            except BrokenProcessPool:
                for task, _ in running.values():
                    deaths[task["student"]] += 1
                    if deaths[task["student"]] < TRIES:
                        suspects.append(task)
                    else:
                        yield given_up(task)


def _check(pool: ProcessPoolExecutor) -> None:
    """A machine whose workers cannot even start must not cost anybody marks."""
    try:
        pool.submit(_ready).result()
    except BrokenProcessPool:
        raise course.KitError(
            "workers end as soon as they are started: try `python -c 'import autograder.work'`."
        ) from None


def warm_up() -> None:
    """Starts the process that workers are forked from, so that it imports while this one does other things."""
    _context()
    forkserver.ensure_running()


def _context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["autograder.work"])
    return context


class _Pool(ProcessPoolExecutor):
    """Workers forked from a process that has imported what they need and computed nothing."""

    def __init__(self, workers: int):
        super().__init__(workers, _context(), prepare_worker)

    def __exit__(self, kind, error, trace):
        if error is not None:  # nobody waits for what is under way; the next run does it again
            for process in list((self._processes or {}).values()):
                process.kill()
        self.shutdown(wait=True, cancel_futures=True)
