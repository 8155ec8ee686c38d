"""Hands tasks to processes of this machine; the task of a process that dies is done again."""

import collections
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver
from pathlib import Path

from autograder import settings
from autograder.gradebook.outcomes import Outcome
from autograder.grading.task import given_up, grade_one
from autograder.grading.task_data import Task
from autograder.sandbox.own_folder import OwnFolder


def grade_all(tasks: list[Task], workers: int, tries: int) -> Iterator[Outcome]:
    """Yields the outcome of each task as it is done; a task with which `tries` workers died is given up.

    Where a worker dies, the tasks under way are tried again one by one, to see which of them is at fault.

    Raises:
        KitError: the sandbox cannot be had.
    """
    with OwnFolder("grading-") as folder:
        yield from _in_pools(tasks, max(1, min(workers, len(tasks))), tries, folder)


def grade_file(file: str, seed: str) -> None:
    """Does the task in a file, which does not say the seed of its cases, and puts its outcome in the task's place.

    Only the file's name and the seed go through the pool's pipes. Some versions of Python wait for good where a worker dies
    while something larger than its pipe is written to it.
    """
    task: Task = json.loads(Path(file).read_text(encoding="utf-8"))
    task["seed"] = seed
    outcome = grade_one(task)
    Path(file).write_text(json.dumps(outcome), encoding="utf-8")


def prepare_worker() -> None:
    """What a worker process does first."""
    from autograder.sandbox.inside import confine

    confine.die_with_parent()
    confine.hide_memory()
    threading.Thread(target=_end_with_grader, daemon=True).start()


def _end_with_grader() -> None:
    """Ends a worker with the grader: it would outlive a grader that is killed, as it was forked from another process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _ready() -> bool:
    return True


def _in_pools(tasks: list[Task], workers: int, tries: int, folder: Path) -> Iterator[Outcome]:
    """Yields outcomes from one pool after another: a pool in which a worker died is broken. Tasks lie in `folder`."""
    numbers = itertools.count()
    waiting = collections.deque(tasks)
    suspects: collections.deque[Task] = collections.deque()
    deaths: collections.Counter[str] = collections.Counter()
    while waiting or suspects:
        source, width = (suspects, 1) if suspects else (waiting, workers)
        with _lent(width) as pool:
            _check(pool)
            running: dict[Future, tuple[Task, Path]] = {}
            try:
                while source or running:
                    while source and len(running) < (1 if source is suspects else 2 * workers):
                        task = source.popleft()
                        file = folder / str(next(numbers))
                        file.write_text(json.dumps({**task, "seed": ""}), encoding="utf-8")
                        running[pool.submit(grade_file, str(file), task["seed"])] = (task, file)
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        done.result()
                        _, file = running.pop(done)
                        yield json.loads(file.read_text(encoding="utf-8"))
                        file.unlink()
            except BrokenProcessPool:
                for task, _ in running.values():
                    deaths[task["student"]] += 1
                    if deaths[task["student"]] < tries:
                        suspects.append(task)
                    else:
                        yield given_up(task)


def _check(pool: ProcessPoolExecutor) -> None:
    """Raises KitError where workers cannot even start: a machine's fault must not cost anybody marks."""
    try:
        pool.submit(_ready).result()
    except BrokenProcessPool:
        raise settings.KitError(
            "workers end as soon as they are started: try `python -c 'import autograder.grading.submission'`."
        ) from None


def warm_up() -> None:
    """Starts the process that workers are forked from, so that it imports while this one does other things."""
    _context()
    forkserver.ensure_running()


def _context():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["autograder.grading.submission"])
    return context


# Whether workers are kept for the next run: a program that grades many classes need not start workers and sandboxes for each.
keeps_workers = False
_kept: dict[int, "_Pool"] = {}


@contextmanager
def _lent(width: int) -> Iterator["_Pool"]:
    """A pool of so many workers, which end with the run unless they are to be kept; a pool that broke is never kept."""
    pool = _kept.pop(width, None) or _Pool(width)
    with pool.ending_on_error():
        yield pool
    if keeps_workers and not pool.broke():
        _kept[width] = pool
    else:
        pool.shutdown(wait=True, cancel_futures=True)


class _Pool(ProcessPoolExecutor):
    """Workers forked from a process that has imported what they need and computed nothing."""

    def __init__(self, workers: int):
        super().__init__(workers, _context(), prepare_worker)

    def broke(self) -> bool:
        """Whether a worker died."""
        return bool(self._broken)

    @contextmanager
    def ending_on_error(self) -> Iterator[None]:
        """Where a run ends early nobody waits for what is under way; the next run does it again."""
        try:
            yield
        except BaseException:
            for process in list((self._processes or {}).values()):
                process.kill()
            self.shutdown(wait=True, cancel_futures=True)
            raise
