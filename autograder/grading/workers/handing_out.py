"""Hands tasks to whoever is to do them: processes of this machine, or a dask cluster."""

from collections.abc import Iterator

from autograder.gradebook.outcomes import Outcome
from autograder.grading.task_data import Task
from autograder.grading.workers import local

TRIES = 3  # how often a submission with which workers die is tried


def grade_all(tasks: list[Task], workers: int, scheduler: str | None = None) -> Iterator[Outcome]:
    """Yields the outcome of each task as it is done, in no particular order.

    Raises:
        KitError: the sandbox cannot be had, or the cluster cannot be reached.
    """
    if not tasks:
        return
    if scheduler:
        from autograder.grading.workers import dask

        yield from dask.grade_all(tasks, scheduler, TRIES)
    else:
        yield from local.grade_all(tasks, workers, TRIES)
