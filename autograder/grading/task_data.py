"""The form in which one submission goes to a worker: plain data that any process can take."""

from typing import NotRequired, TypedDict


class Task(TypedDict):
    """One submission to grade, as `autograder.grading.task.task` makes it.

    `other` says what the notebook is, where it is not the unit's assignment.
    """

    student: str
    unit: str
    data: str | None
    missing: str
    malformed: str
    other: NotRequired[str]
    notes: list[str]
    files: dict[str, str]
    digest: str
    released: list[dict]
    plain: list[str]
    seed: str
    device: str
    level: str
    accept_weak: bool
    proven: bool
    limits: dict
