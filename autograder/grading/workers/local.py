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
from multiprocessing import forkserver
from pathlib import Path

from autograder import settings
from autograder.gradebook.outcomes import Outcome
from autograder.grading.task import given_up, grade_one
from autograder.grading.task_data import Task
from autograder.sandbox.own_folder import OwnFolder


def grade_all(tasks: list[Task], workers: int, tries: int) -> Iterator[Outcome]:
    """Yields the outcome of each task as it is done; a task with which `tries` workers died is given up.

    Where a worker dies, its tasks are tried again one by one, to see which of them is at fault. Where a run ends early nobody
    waits for what is under way; the next run does it again.

    Raises:
        KitError: the sandbox cannot be had, or workers cannot even be started: a machine's fault must not cost anybody marks.
    """
    started: list[_Worker] = []
    numbers = itertools.count()
    with OwnFolder("grading-") as folder:
        try:
            for _ in range(max(1, min(workers, len(tasks)))):
                started.append(_Worker(folder, numbers))
            yield from _with_workers(tasks, started, tries)
        except BaseException:
            for worker in started:
                worker.pool.kill()
            raise
        for worker in started:
            _take_back(worker.pool)


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


def _with_workers(tasks: list[Task], workers: list["_Worker"], tries: int) -> Iterator[Outcome]:
    """Yields outcomes as they come."""
    waiting, deaths = _Waiting(tasks), collections.Counter[str]()
    while waiting or any(worker.is_busy() for worker in workers):
        for worker in workers:
            try:
                yield from worker.outcomes()
                worker.take(waiting, deaths)
            except BrokenProcessPool:
                deaths.update(task["student"] for task, _ in worker.running.values())
                yield from map(given_up, worker.start_again(deaths, tries))
        wait([future for worker in workers for future in worker.running], return_when=FIRST_COMPLETED)


class _Waiting:
    """Tasks that no worker has taken, by the draw of their cases: a worker computes once what is expected of a draw."""

    def __init__(self, tasks: list[Task]):
        self._by_draw: dict[str, collections.deque[Task]] = {}
        for task in tasks:
            self._by_draw.setdefault(task["seed"], collections.deque()).append(task)
        self._taken: dict[_Worker, str] = {}

    def __bool__(self) -> bool:
        return bool(self._by_draw)

    def next_for(self, worker: "_Worker") -> Task:
        """A task of the draw that this worker is at; else of one at which no other is, or of the one with most tasks."""
        if (draw := self._taken.get(worker, "")) not in self._by_draw:
            others = {draw for other, draw in self._taken.items() if other is not worker}
            free = [draw for draw in self._by_draw if draw not in others] or [*self._by_draw]
            draw = self._taken[worker] = max(free, key=lambda draw: len(self._by_draw[draw]))
        task = self._by_draw[draw].popleft()
        if not self._by_draw[draw]:
            del self._by_draw[draw]
        return task


class _Worker:
    """A worker in a pool of its own, which takes no other's tasks with it where it dies, and what it has to do.

    Attributes:
        running: what it was given, by what will bring the outcome: the task, and the file in which it lies.
        suspects: tasks with which it died, to be done one by one, to see which of them is at fault.
    """

    def __init__(self, folder: Path, numbers: Iterator[int]):
        self.folder, self.numbers, self.pool = folder, numbers, _lent()
        self.running: dict[Future, tuple[Task, Path]] = {}
        self.suspects: collections.deque[Task] = collections.deque()

    def is_busy(self) -> bool:
        return bool(self.running or self.suspects)

    def take(self, waiting: _Waiting, deaths: collections.Counter[str]) -> None:
        """Takes a task and, so that it need not wait, a second one; a task with which it died before is done alone.

        Raises BrokenProcessPool where the worker died.
        """
        while self.suspects or waiting:
            is_alone = self.suspects or any(deaths[task["student"]] for task, _ in self.running.values())
            if len(self.running) >= (1 if is_alone else 2):
                return
            task = self.suspects.popleft() if self.suspects else waiting.next_for(self)
            file = self.folder / str(next(self.numbers))
            file.write_text(json.dumps({**task, "seed": ""}), encoding="utf-8")
            try:
                future = self.pool.submit(grade_file, str(file), task["seed"])
            except BrokenProcessPool:  # it died while it had nothing to do
                self.suspects.appendleft(task)
                raise
            self.running[future] = (task, file)

    def outcomes(self) -> Iterator[Outcome]:
        """The outcomes that have come. Raises BrokenProcessPool where the worker died."""
        for future in [future for future in self.running if future.done()]:
            future.result()
            _, file = self.running.pop(future)
            yield json.loads(file.read_text(encoding="utf-8"))
            file.unlink()

    def start_again(self, deaths: collections.Counter[str], tries: int) -> list[Task]:
        """Starts another worker, which does again what was under way; returns the tasks that were tried often enough."""
        _take_back(self.pool)
        self.pool, under_way = _lent(), [task for task, _ in self.running.values()]
        self.running = {}
        self.suspects.extend(task for task in under_way if deaths[task["student"]] < tries)
        return [task for task in under_way if deaths[task["student"]] >= tries]


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
_kept: list["_Pool"] = []


def _lent() -> "_Pool":
    """A worker, new or kept from before; it goes back by `_take_back`."""
    if _kept:
        return _kept.pop()
    pool = _Pool(1, _context(), prepare_worker)
    try:
        pool.submit(_ready).result()
    except BrokenProcessPool:
        raise settings.KitError(
            "workers end as soon as they are started: try `python -c 'import autograder.grading.submission'`."
        ) from None
    return pool


def _take_back(pool: "_Pool") -> None:
    """Ends a worker with the run unless it is to be kept; one that died is never kept."""
    if keeps_workers and not pool.broke():
        _kept.append(pool)
    else:
        pool.shutdown(wait=True, cancel_futures=True)


class _Pool(ProcessPoolExecutor):
    """A worker forked from a process that has imported what it needs and computed nothing."""

    def broke(self) -> bool:
        """Whether the worker died."""
        return bool(self._broken)

    def kill(self) -> None:
        """Ends the worker at once, whatever it does."""
        for process in list((self._processes or {}).values()):
            process.kill()
        self.shutdown(wait=True, cancel_futures=True)
