"""What the gradebook says of marks: totals, marks that a human has not given yet, and lateness."""

from collections.abc import Set
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy
from nbgrader.api import Assignment, Grade, Gradebook, GradeCell, MissingEntry, SubmittedAssignment, SubmittedNotebook

from autograder.gradebook.store import patiently
from autograder.intake.lms.students import left


@dataclass(frozen=True)
class Lateness:
    """How late a student's work was beyond all that was granted, how much was granted, and the points that lateness costs."""

    seconds: float
    granted: timedelta
    penalty: float


def _class_submissions(gradebook: Gradebook, unit: str) -> list:
    """The submissions of a unit in the order of the students' names, without those of students who have left."""
    gone = left()
    submissions = [
        submission for submission in gradebook.assignment_submissions(unit) if submission.student_id not in gone
    ]
    return sorted(submissions, key=lambda submission: submission.student_id)


def lateness(unit: str) -> dict[str, Lateness]:
    """The lateness of each student whose work came after the due date, or who lost points for it.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """

    def read(gradebook):
        by_student = {}
        for submission in _class_submissions(gradebook, unit):
            granted, due = submission.extension or timedelta(0), submission.assignment.duedate
            penalty = sum(notebook.late_submission_penalty or 0 for notebook in submission.notebooks)
            if penalty or (due and submission.timestamp and submission.timestamp > due):
                by_student[submission.student_id] = Lateness(submission.total_seconds_late, granted, penalty)
        return by_student

    return patiently(read)


@dataclass(frozen=True)
class Marks:
    """One student's marks of a unit: by cell (None where a human has not given one), penalty, total, and what is pending."""

    cells: dict[str, float | None]
    penalty: float
    total: float
    most: float
    pending: tuple[str, ...]


def marks(unit: str) -> dict[str, Marks]:
    """The marks, by hand and by machine together, of all students in the class whom the gradebook has with this unit.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """

    def read(gradebook):
        by_student = {}
        for submission in _class_submissions(gradebook, unit):
            grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
            unmarked = {grade.name for grade in grades if grade.needs_manual_grade and grade.manual_score is None}
            cells = {grade.name: None if grade.name in unmarked else grade.score for grade in grades}
            penalty = sum(notebook.late_submission_penalty or 0 for notebook in submission.notebooks)
            total = sum(value or 0 for value in cells.values()) - penalty
            by_student[submission.student_id] = Marks(
                cells, penalty, total, submission.max_score, tuple(sorted(unmarked))
            )
        return by_student

    return patiently(read)


@dataclass(frozen=True)
class Total:
    """One student's points of a unit after a late penalty, the most that can be had, and how many are still to be given."""

    points: float
    most: float
    open: float


def totals() -> dict[str, dict[str, Total]]:
    """The totals of all students in the gradebook, by unit and by student; a single query serves the whole course.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """
    waits = sqlalchemy.and_(Grade.needs_manual_grade, Grade.manual_score.is_(None))
    graded = (
        sqlalchemy.select(
            Assignment.name,
            SubmittedAssignment.student_id,
            SubmittedNotebook.id.label("notebook"),
            sqlalchemy.func.max(sqlalchemy.func.coalesce(SubmittedNotebook.late_submission_penalty, 0)).label(
                "penalty"
            ),
            sqlalchemy.func.sum(sqlalchemy.case((waits, 0.0), else_=Grade.score)).label("points"),
            sqlalchemy.func.sum(GradeCell.max_score).label("most"),
            sqlalchemy.func.sum(sqlalchemy.case((waits, GradeCell.max_score), else_=0.0)).label("open"),
        )
        .join(SubmittedAssignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(GradeCell, GradeCell.id == Grade.cell_id)
        .group_by(Assignment.name, SubmittedAssignment.student_id, SubmittedNotebook.id)
    )

    def read(gradebook):
        by_unit: dict[str, dict[str, Total]] = {}
        for unit, student, _, penalty, points, most, waiting in gradebook.db.execute(graded):
            by_unit.setdefault(unit, {})[student] = Total(points - penalty, most, waiting)
        return by_unit

    return patiently(read)


def waiting(unit: str, here: Set[str] | None = None) -> int:
    """How many written answers wait for a mark: those that were not marked yet, or were handed in anew after that.

    Args:
        here: the students whose answers are counted; without it those of all students are.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """
    query = (
        sqlalchemy.select(SubmittedAssignment.student_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(GradeCell, GradeCell.id == Grade.cell_id)
        .where(Assignment.name == unit, Grade.needs_manual_grade, GradeCell.cell_type == "markdown")
    )
    students, gone = patiently(lambda gradebook: [student for (student,) in gradebook.db.execute(query)]), left()
    return sum((here is None or student in here) for student in students if student not in gone)


@dataclass(frozen=True)
class Standing:
    """What a student's feedback says beside the marks: the cells that wait for a human, and lateness in words."""

    waiting: frozenset[str] = frozenset()
    late: str = ""


def standing(unit: str, student: str) -> Standing:
    """The marks that one student's work waits for, and how late it was.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """

    def read(gradebook):
        try:
            submission = gradebook.find_submission(unit, student)
        except MissingEntry:
            return Standing()
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        waiting = frozenset(grade.name for grade in grades if grade.needs_manual_grade and grade.manual_score is None)
        return Standing(waiting, _late_in_words(submission))

    return patiently(read)


def _late_in_words(submission: SubmittedAssignment) -> str:
    """ "1 day 2 hours after the due date, of which 15 minutes were granted", or nothing."""
    due, at = submission.assignment.duedate, submission.timestamp
    if not due or not at or at <= due:
        return ""
    granted = submission.extension or timedelta(0)
    words = f"{_span(at - due)} after the due date"
    return words + (f", of which {_span(min(granted, at - due))} were granted" if granted else "")


def _span(time: timedelta) -> str:
    """A length of time in its two largest units."""
    minutes = -(-time.total_seconds() // 60)
    parts = [(int(minutes // 1440), "day"), (int(minutes // 60 % 24), "hour"), (int(minutes % 60), "minute")]
    words = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count]
    return " ".join(words[:2]) or "0 minutes"
