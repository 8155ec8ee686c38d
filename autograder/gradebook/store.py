"""Enters what grading found into nbgrader's gradebook, and writes the graded notebooks and the results."""

import json
import logging
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import sqlalchemy
from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.deadlines import NOTHING, deadlines
from autograder.gradebook.nbgrader_configuration import checked, configuration, describe, gradebook_of, place
from autograder.gradebook.outcomes import Outcome, Record, is_record
from autograder.intake.lms.students import Student, left
from autograder.intake.marked_cells import Released, released_cells
from autograder.intake.places import SECRET
from autograder.intake.submissions import secret_of
from autograder.intake.timestamp import read_time, time_of

warnings.filterwarnings(
    "ignore", category=sqlalchemy.exc.SAWarning
)  # warnings about nbgrader, of no use to an instructor
quiet = logging.getLogger("autograder.nbgrader")
quiet.setLevel(logging.CRITICAL)
Found = TypeVar("Found")
WAIT = 30.0  # seconds to wait for a gradebook that another program has locked


def course_directory(unit: str = "*", student: str = "*") -> CourseDirectory:
    """nbgrader's view of the repository's folders.

    Raises:
        KitError: the instructor's nbgrader configuration cannot be used.
    """
    with checked():
        directory = CourseDirectory(config=configuration())
    directory.assignment_id, directory.student_id = unit, student
    return directory


@contextmanager
def open_gradebook():
    """The gradebook; created if there is none.

    Raises:
        KitError: the file is no gradebook, is of an older nbgrader, is locked, or cannot be opened.
    """
    settings.make_class_folder()
    try:
        with gradebook_of(settings.database()) as gradebook:
            yield gradebook
    except (sqlalchemy.exc.DatabaseError, sqlalchemy.exc.ArgumentError, InvalidEntry, ImportError) as error:
        kind = _Locked if "database is locked" in str(error) else settings.KitError
        raise kind(_cannot_be_used(error, kind is _Locked)) from None


def _cannot_be_used(error: Exception, locked: bool) -> str:
    where = printable_url(settings.database())
    reason = (str(getattr(error, "orig", None) or error).splitlines() or ["no reason given"])[0]
    if locked:
        return f"the gradebook {where} is locked by another program, for longer than {WAIT:g} s; close it, and run this again."
    old = " If it comes from an older nbgrader, copy it to a safe place and run `nbgrader db upgrade`."
    return f"the gradebook {where} cannot be used ({reason}).{old if where.startswith('sqlite') else ''}"


def printable_url(url: str) -> str:
    """A database's address in a form that can be printed."""
    try:
        return sqlalchemy.engine.make_url(url).render_as_string(hide_password=True)
    except sqlalchemy.exc.ArgumentError:
        return "that COURSE_GRADEBOOK or pyproject.toml names"


def released(unit: str) -> list[Released]:
    """The marked cells of a unit as they were released.

    Raises:
        KitError: the unit was not released into this gradebook.
    """

    def read(gradebook):
        gradebook.assignment_submissions(unit)  # an old gradebook is noticed here, before any work is done
        return released_cells(gradebook, unit, unit)

    try:
        return patiently(read)
    except MissingEntry:
        raise settings.KitError(
            f"{unit} is not in the gradebook yet: run `python -m autograder release {unit}`."
        ) from None


def enrol(students: list[Student]) -> None:
    """Enters students with their names and addresses; nobody is removed, and no mark changes.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """

    def enter(gradebook):
        for student in students:
            first, last = student.first_and_last
            details = {"first_name": first, "last_name": last, "email": student.email}
            gradebook.update_or_create_student(student.id, **{name: value for name, value in details.items() if value})

    patiently(enter)


def roster() -> list[str]:
    """The students that the gradebook knows."""
    return patiently(lambda gradebook: [student.id for student in gradebook.students])


def save_notebook(outcome: Outcome) -> Path | None:
    """Writes a graded notebook where nbgrader looks for it, and beside it the time of handing in and the exchange's secret."""
    if outcome["notebook"] is None:
        return None
    file = graded_file(outcome["student"], outcome["unit"])
    folder = outcome.get("folder", outcome["student"])
    for name, text in (
        ("timestamp.txt", outcome.get("handed_in", "")),
        (SECRET, secret_of(folder, outcome["unit"])),
    ):
        if text:
            write_atomically(file.with_name(name), text)
    return write_atomically(file, outcome["notebook"])


def unchanged_answers(outcome: Outcome) -> list[str]:
    """The written answers that have not changed since the student's work was graded last."""
    file = graded_file(outcome["student"], outcome["unit"])
    if outcome["notebook"] is None or not file.exists():
        return []
    now, before = _answers(outcome["notebook"]), _answers(file.read_text(encoding="utf-8"))
    return sorted(name for name, text in now.items() if before.get(name) == text)


def _answers(notebook: str) -> dict[str, str]:
    """The texts of the cells that are marked by hand, by their names."""
    try:
        cells = [(cell["metadata"].get("nbgrader", {}), cell["source"]) for cell in json.loads(notebook)["cells"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {marks["grade_id"]: "".join(text) for marks, text in cells if marks.get("grade") and marks.get("solution")}


def save_scores(unit: str, outcomes: list[Outcome]) -> None:
    """Enters outcomes into the gradebook; manual grades and comments stay. Entering an outcome twice changes nothing.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """

    def enter(gradebook):
        for outcome in outcomes:
            _enter(gradebook, unit, outcome)
        gradebook.db.commit()

    patiently(enter)


def not_entered(unit: str, outcomes: Mapping[str, Outcome]) -> list[str]:
    """The students of whose outcomes the gradebook holds no submission, or lacks a score; asked in one query.

    A score that is there is left alone, whatever it says: it may have been changed by hand.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """
    held = patiently(lambda gradebook: _automatic_scores(gradebook, unit))
    cells = {cell.grade_id for cell in released(unit) if cell.metadata["grade"]} if outcomes else set()
    entered = {
        student: {name for name in cells if outcome["scores"].get(name, 0) is not None}
        for student, outcome in outcomes.items()
    }
    return sorted(student for student, names in entered.items() if not names <= held.get(student, {}).keys())


def marked(unit: str) -> dict[str, dict[str, float]]:
    """The automatic scores by cell of the students whose work was graded once, as far as the gradebook tells.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """
    held = patiently(lambda gradebook: _automatic_scores(gradebook, unit))
    return {
        student: scores
        for student, scores in held.items()
        if any(scores.values()) or graded_file(student, unit).exists()
    }


def _automatic_scores(gradebook: Gradebook, unit: str) -> dict[str, dict[str, float]]:
    """The automatic scores by student and by cell; cells without a score are left out."""
    query = (
        sqlalchemy.select(SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .where(Assignment.name == unit, Grade.auto_score.is_not(None))
    )
    by_student: dict[str, dict[str, float]] = {}
    for student, name, score in gradebook.db.execute(query):
        by_student.setdefault(student, {})[name] = score
    return by_student


def patiently(action: Callable[[Gradebook], Found]) -> Found:
    """What `action` returns for the gradebook; while another program has locked it, the action is tried again for a while.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """
    until = time.monotonic() + WAIT
    while True:
        try:
            with open_gradebook() as gradebook:
                return action(gradebook)
        except settings.KitError as error:
            if not isinstance(error, _Locked) or time.monotonic() > until:
                raise
            time.sleep(0.5)


class _Locked(settings.KitError):
    """Another program writes to the gradebook just now."""


def _enter(gradebook: Gradebook, unit: str, outcome: Outcome) -> None:
    student = outcome["student"]
    stamp = _handed_in_at(outcome)
    gradebook.update_or_create_student(student)
    gradebook.update_or_create_submission(unit, student, **({"timestamp": stamp} if stamp else {}))
    grant(gradebook, unit, student)
    notebook = gradebook.find_submission_notebook(unit, unit, student)
    names = _cell_names(gradebook, Grade, notebook)
    for grade in notebook.grades:
        grade.auto_score = outcome["scores"].get(names[grade.id], 0)
        # A mark that was given by hand is looked at again, unless the answer is still the same.
        by_hand = grade.auto_score is None or grade.manual_score is not None
        settled = grade.manual_score is not None and not grade.needs_manual_grade
        done = settled and names[grade.id] in outcome.get("unchanged", ())
        grade.needs_manual_grade = bool(outcome["scores"]) and by_hand and not done
    names = _cell_names(gradebook, Comment, notebook)
    for comment in notebook.comments:
        comment.auto_comment = outcome["comments"].get(names[comment.id])
    gradebook.db.flush()
    penalise(gradebook, unit, student, notebook)


def _cell_names(gradebook: Gradebook, kind: type[Grade] | type[Comment], notebook: SubmittedNotebook) -> dict[str, str]:
    """The names of the cells that a notebook's grades or comments belong to, by their ids; nbgrader asks for each by itself."""
    query = sqlalchemy.select(kind.id, BaseCell.name).join(BaseCell, BaseCell.id == kind.cell_id)
    return {number: name for number, name in gradebook.db.execute(query.where(kind.notebook_id == notebook.id))}


def grant(gradebook: Gradebook, unit: str, student: str) -> None:
    """Enters when a unit is due, and how much longer a student has, where the class's deadlines say so.

    Raises:
        KitError: the deadlines cannot be used.
    """
    rules = deadlines()
    if rules and unit in rules.due:
        submission = gradebook.find_submission(unit, student)
        submission.assignment.duedate = rules.due[unit]
        times = {submitted.assignment.name: submitted.timestamp for submitted in gradebook.student_submissions(student)}
        submission.extension = rules.granted(student, unit, times) or None
        gradebook.db.flush()


def apply_deadlines(unit: str, outcomes: Mapping[str, Outcome] = NOTHING) -> None:
    """Enters due date, extensions, penalties and times of all submissions again, as they are now.

    Args:
        outcomes: what grading found, by student; it says when each student's work was handed in.

    Raises:
        KitError: the deadlines cannot be used, or the gradebook cannot be used or stays locked.
    """

    def apply(gradebook):
        for submission in gradebook.assignment_submissions(unit):
            outcome = outcomes.get(submission.student_id)
            if outcome and (at := _handed_in_at(outcome)):
                submission.timestamp = at
            grant(gradebook, unit, submission.student_id)
            for notebook in submission.notebooks:
                penalise(gradebook, unit, submission.student_id, notebook)
        gradebook.db.commit()

    if deadlines():
        patiently(apply)


def _handed_in_at(outcome: Outcome) -> datetime | None:
    """When the graded submission was handed in; of a submission that is gone the time lies beside its graded notebook."""
    if "kept" in outcome:
        return read_time(graded_file(outcome["student"], outcome["unit"]).with_name("timestamp.txt")).at
    return time_of(outcome.get("handed_in", ""))


def late_penalties() -> AssignLatePenalties:
    """nbgrader's step that gives late penalties, as the instructor's configuration asks.

    Raises:
        KitError: the configuration cannot be used.
    """
    with checked():
        step = AssignLatePenalties(log=quiet, config=configuration())
        step.init_plugin()
        return step


def penalise(gradebook: Gradebook, unit: str, student: str, notebook: SubmittedNotebook) -> None:
    """Applies nbgrader's late penalty, as its configuration asks."""
    notebook.late_submission_penalty = None
    late = gradebook.find_submission(unit, student).total_seconds_late
    if late > 0:
        gradebook.db.refresh(notebook, ["score"])  # the database adds it up
        plugin = late_penalties().plugin_inst
        try:
            penalty = plugin.late_submission_penalty(student, notebook.score, late)
            penalty = penalty if penalty is None else min(max(0, penalty), notebook.score)
        except Exception as error:  # an instructor's own plugin
            raise settings.KitError(
                f"{place(error)}: the late penalty of {student} failed ({describe(error)})."
            ) from None
        notebook.late_submission_penalty = penalty


def graded_file(student: str, unit: str) -> Path:
    """Where a student's graded notebook lies."""
    return settings.class_folder() / "autograded" / student / unit / f"{unit}.ipynb"


def results_file(unit: str) -> Path:
    """Where a unit's results lie, one JSON line for each student and exercise."""
    return settings.class_folder() / "results" / f"{unit}.jsonl"


def load_results(unit: str) -> list[Record]:
    """The results that the last grading wrote, without those of students who have left the class.

    Raises:
        KitError: the unit was not graded yet, or its results file is damaged.
    """
    file = results_file(unit)
    if not file.exists():
        raise settings.KitError(f"{unit} is not graded yet: run `python -m autograder grade {unit}`.")
    try:
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    except (ValueError, RecursionError):
        records = [None]
    if not all(map(is_record, records)):
        raise settings.KitError(f"{file} is damaged: run `python -m autograder grade {unit}` again.")
    gone = left()
    return [record for record in records if record["student"] not in gone]


def save_results(unit: str, outcomes: Mapping[str, Outcome]) -> list[Record]:
    """Writes a unit's results, one line for each student and exercise, in the order of the students' names."""
    records = [record for student in sorted(outcomes) for record in outcomes[student]["records"]]
    write_atomically(results_file(unit), "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return records
