"""What a worker is told about one submission: plain data, made without loading what the work itself needs."""

import base64

from autograder import course
from autograder.cells import Released
from autograder.submissions import Submission


def task(
    submission: Submission,
    released: list[Released],
    plain: list[str],
    device: str,
    level: str,
    accept_weak: bool,
    proven: bool,
) -> dict:
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
        "released": [vars(one) for one in released],
        "plain": plain,
        "seed": course.submission_seed(submission.unit, submission.student),
        "device": device,
        "level": level,
        "accept_weak": accept_weak,
        "proven": proven,
        "seconds": [course.cell_seconds(submission.unit), course.whole_seconds(submission.unit)],
    }
