"""nbgrader's late penalty by the rules of `deadlines.toml`."""

from nbgrader.plugins import LateSubmissionPlugin

from autograder.gradebook.deadlines import Penalty, deadlines


class ByDeadlines(LateSubmissionPlugin):
    """What lateness costs; extension, grace and late days are taken off the time before.

    Where the class has no rule of its own, `LateSubmissionPlugin.penalty_method` says what nbgrader would do.
    """

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """The points that are lost; None if none are."""
        rules = deadlines()
        if rules is None or rules.penalty == Penalty():
            return super().late_submission_penalty(student_id, score, total_seconds_late)
        return rules.penalty.of(score, total_seconds_late) or None
