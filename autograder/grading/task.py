"""What a worker gets to grade one submission: plain data, made without loading what the work itself needs."""

import base64
from dataclasses import asdict

from autograder import settings
from autograder.gradebook.outcomes import Outcome
from autograder.grading.task_data import Task
from autograder.intake.marked_cells import Released
from autograder.intake.submissions import Submission
from autograder.sandbox.limits import limits_of


def task(
    submission: Submission,
    released: list[Released],
    plain: list[str],
    device: str,
    level: str,
    accept_weak: bool,
    proven: bool,
) -> Task:
    """What a worker needs to know to grade one submission.

    Args:
        proven: the level was tried on the worker's own machine.
        plain: the text of code cells that, coming back unchanged, need no pictures, and if tagged `play` are not run.
        level: "" lets the worker take the best sandbox that it has.
    """
    return {
        "student": submission.student,
        "unit": submission.unit,
        "data": base64.b64encode(submission.data).decode() if submission.data is not None else None,
        "missing": submission.missing,
        "malformed": submission.malformed,
        "notes": list(submission.notes),
        "files": submission.files,
        "digest": submission.digest,
        "released": [vars(cell) for cell in released],
        "plain": plain,
        "seed": settings.submission_seed(submission.unit, submission.student, submission.digest),
        "device": device,
        "level": level,
        "accept_weak": accept_weak,
        "proven": proven,
        "limits": asdict(limits_of(submission.unit, device)),
    }


def grade_one(task: Task) -> Outcome:
    """The outcome of one task; what the work needs is imported where it is done."""
    from autograder.grading import submission

    return submission.grade_one(task)


def given_up(task: Task) -> Outcome:
    """The outcome where a worker died at each try to grade this submission."""
    from autograder.grading import submission

    return submission.given_up(task)
