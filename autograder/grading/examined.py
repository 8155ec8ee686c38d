"""What became of a submission's exercises: the states, an exercise's outcome, and what one examination gave."""

from dataclasses import dataclass

from autograder.gradebook.outcomes import ExerciseRecord
from autograder.sandbox.job import Run
from utils.checking.judging.verdict import Result
from utils.checking.records import Observation

GRADED, TIMEOUT, KILLED, MALFORMED, MISSING = "graded", "timeout", "killed", "malformed", "missing"
WRONG_NOTEBOOK = "other_notebook"  # a lesson, another unit's assignment, or one of the student's own
UNJUDGED = "unjudged"  # not judged by the kit, whose sandbox was in the way: a human marks it


@dataclass(frozen=True)
class Examined:
    """What became of one exercise of a submission; `note` says what was done so that it came through."""

    exercise: str
    state: str
    result: Result
    seconds: float = 0.0
    note: str = ""

    @property
    def record(self) -> ExerciseRecord:
        """The outcome as plain data."""
        return {
            "exercise": self.exercise,
            "state": self.state,
            "points": self.result.points,
            "max_points": self.result.max_points,
            "message": self.result.message,
            "misconception": self.result.misconception,
            "problem": self.result.problem,
        }


@dataclass(frozen=True)
class Came:
    """The outcome of running cells and examining the exercises among them.

    Attributes:
        run: the job's result.
        seen: exercise -> its observations, as the job returned them.
        examined: what became of each exercise.
        ended: the exercises whose examination ended the process.
    """

    run: Run
    seen: dict[str, list[Observation]]
    examined: list[Examined]
    ended: set[str]
