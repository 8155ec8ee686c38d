"""What grading says of a submission, in the form in which it travels between processes, lies in journals, and is reported."""

from typing import NotRequired, TypedDict


class ExerciseRecord(TypedDict):
    """What became of one exercise, whether in a class's run or in a file that is judged by itself."""

    exercise: str
    state: str
    points: float
    max_points: float
    message: str
    misconception: str | None
    problem: str | None


class FileRecord(ExerciseRecord):
    """What became of the exercise that one file solves, and of each of its properties: what `judge` prints."""

    passed: bool
    checks: list[dict]


class Record(ExerciseRecord):
    """What became of one exercise of a student: a line of a unit's results."""

    student: str
    failed: list[str]
    repairs: list[str]
    sandbox: str


def is_record(value: object) -> bool:
    """Whether a value that was read has all that a record of this version of the kit has."""
    return isinstance(value, dict) and Record.__required_keys__ <= value.keys()


class Kept(TypedDict):
    """Why the mark of an earlier submission stays, and the digest of what could not be graded."""

    why: str
    digest: str


class Outcome(TypedDict):
    """All that grading found of a submission.

    `scores` and `comments` are the gradebook's, by cell; a score is None where a human is to mark. `notebook` is the text
    of the graded notebook, which journals leave out; `times` are the seconds that examining each exercise took. A class's
    run adds the `folder` that the submission lay in, the text that says when it was `handed_in`, the fingerprint of the
    `kit`, and the answers that are `unchanged` since they were marked.
    """

    student: str
    unit: str
    digest: str
    notebook: NotRequired[str | None]
    scores: dict[str, float | None]
    comments: dict[str, str | None]
    seconds: float
    times: dict[str, float]
    records: list[Record]
    sandbox: str
    folder: NotRequired[str]
    handed_in: NotRequired[str]
    kit: NotRequired[str]
    unchanged: NotRequired[list[str]]
    kept: NotRequired[Kept]
