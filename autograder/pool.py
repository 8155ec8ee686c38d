"""Hands tasks to workers: processes of this machine, or a dask.distributed cluster; a worker that dies costs a repeat."""

import collections
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from autograder import course
from autograder.work import given_up, grade_one

TRIES = 3
PATIENCE = 60  # seconds without a scheduler after which a cluster counts as gone


def grade_all(tasks: list[dict], workers: int, scheduler: str | None = None) -> Iterator[dict]:
    """Yields the outcome of each task as it is done, in no particular order.

    Raises:
        KitError: the sandbox cannot be had, or the cluster cannot be reached.
    """
    if not tasks:
        return
    if scheduler:
        yield from _on_cluster(tasks, scheduler)
    else:
        yield from _on_this_machine(tasks, max(1, min(workers, len(tasks))))


def prepare_worker() -> None:
    """What a worker process does first."""
    from utils.inside import confine

    confine.die_with_parent()
    confine.hide_memory()


def _on_this_machine(tasks: list[dict], workers: int) -> Iterator[dict]:
    waiting, tries = collections.deque(tasks), collections.Counter()
    while waiting:
        with _Pool(workers) as pool:
            running = {}
            try:
                while waiting or running:
                    while waiting and len(running) < 2 * workers:
                        task = waiting.popleft()
                        running[pool.submit(grade_one, task)] = task
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        outcome = done.result()
                        del running[done]
                        yield outcome
            except BrokenProcessPool:
                for task in running.values():
                    tries[task["student"]] += 1
                yield from (given_up(task) for task in running.values() if tries[task["student"]] >= TRIES)
                waiting.extendleft(task for task in running.values() if tries[task["student"]] < TRIES)


class _Pool(ProcessPoolExecutor):
    """Workers forked from a process that has imported what they need and computed nothing."""

    def __init__(self, workers: int):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["autograder.work"])
        super().__init__(workers, context, prepare_worker)

    def __exit__(self, kind, error, trace):
        if error is not None:  # nobody waits for what is under way; the next run does it again
            for process in list((self._processes or {}).values()):
                process.kill()
        self.shutdown(wait=True, cancel_futures=True)


def _on_cluster(tasks: list[dict], address: str) -> Iterator[dict]:
    try:
        from distributed import Client
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise course.KitError("--scheduler needs the package distributed: pip install -r requirements.txt.") from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise course.KitError(f"no scheduler answers at {address} ({type(error).__name__}).") from None
    with client:
        running, waiting = {}, collections.deque(tasks)
        while waiting or running:
            cores = sum(client.nthreads().values()) if _alive(client) else 1
            while waiting and len(running) < 2 * max(1, cores):
                task = waiting.popleft()
                future = client.submit(grade_one, task, pure=False, retries=TRIES - 1)
                running[future] = task
            for future in _finished(running, client, address):
                task = running.pop(future)
                if future.status == "finished":
                    yield future.result()
                elif isinstance(error := future.exception() if future.status == "error" else None, KilledWorker):
                    yield given_up(task)
                elif error is not None:
                    raise error
                else:
                    waiting.append(task)  # lost or cancelled: the scheduler forgot it


def _finished(running: dict, client, address: str) -> list:
    """Waits until some futures are done; notices a cluster that is gone."""
    lost = 0.0
    while True:
        done = [future for future in running if future.status != "pending"]
        if done:
            return done
        time.sleep(0.05)
        lost = 0.0 if _alive(client) else lost + 0.05
        if lost > PATIENCE:
            raise course.KitError(f"the scheduler at {address} is gone; run the same command again to go on.")


def _alive(client) -> bool:
    return client.status == "running"
