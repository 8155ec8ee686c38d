"""Writes what grading found: the graded notebook, nbgrader's gradebook, and one JSON line for each exercise."""

import json
import logging
import warnings
from contextlib import contextmanager
from pathlib import Path

import nbformat
import sqlalchemy
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, OverwriteCells, SaveAutoGrades
from traitlets.config import Config

from autograder import course
from autograder.nbgrader_setup import configure
from autograder.repair import Released, released_cells
from autograder.submissions import write_atomically

warnings.filterwarnings("ignore", category=sqlalchemy.exc.SAWarning)  # nbgrader's own, of no use to an instructor
quiet = logging.getLogger("autograder.nbgrader")
quiet.setLevel(logging.CRITICAL)


def course_directory(unit: str = "*", student: str = "*") -> CourseDirectory:
    """nbgrader's view of the repository's folders."""
    made = CourseDirectory(config=configure(Config()))
    made.assignment_id, made.student_id = unit, student
    return made


@contextmanager
def open_gradebook():
    """The gradebook; created if there is none.

    Raises:
        KitError: the file is no gradebook, is of an older nbgrader, or cannot be opened.
    """
    course.class_folder().mkdir(parents=True, exist_ok=True)
    try:
        with Gradebook(course.database(), "attention-course") as gradebook:
            yield gradebook
    except sqlalchemy.exc.DatabaseError as error:
        raise course.KitError(
            f"the gradebook {course.class_folder() / 'gradebook.db'} cannot be used ({_first_line(error.orig)}). If it comes"
            " from an older nbgrader, copy it to a safe place and run `nbgrader db upgrade`."
        ) from None


def _first_line(error) -> str:
    return (str(error).splitlines() or ["no reason given"])[0]


def released(unit: str) -> list[Released]:
    """The marked cells of a unit as they were released.

    Raises:
        KitError: the unit was not released into this gradebook.
    """
    with open_gradebook() as gradebook:
        try:
            gradebook.assignment_submissions(unit)  # an old gradebook is noticed here, before any work is done
            return released_cells(gradebook, unit, unit)
        except MissingEntry:
            raise course.KitError(
                f"{unit} is not in the gradebook yet: run `python -m autograder release {unit}`."
            ) from None


def roster() -> list[str]:
    """The students that the gradebook knows."""
    with open_gradebook() as gradebook:
        return [student.id for student in gradebook.students]


def restore_tests(notebook, student: str, unit: str):
    """The notebook with every locked cell as the gradebook holds it."""
    return OverwriteCells(log=quiet).preprocess(notebook, _resources(student, unit))[0]


def save_graded(notebook, student: str, unit: str) -> Path:
    """Writes a graded notebook and takes its scores into the gradebook; manual grades stay."""
    _open_submission(student, unit)
    resources = _resources(student, unit)
    for step in (SaveAutoGrades(log=quiet), AssignLatePenalties(log=quiet)):
        notebook, resources = step.preprocess(notebook, resources)
    return write_atomically(graded_file(student, unit), nbformat.writes(notebook))


def save_ungradable(student: str, unit: str):
    """Gives zero points for a notebook that is missing or cannot be read, as nbgrader does for a missing one."""
    _open_submission(student, unit)
    with open_gradebook() as gradebook:
        for grade in gradebook.find_submission_notebook(unit, unit, student).grades:
            grade.auto_score, grade.needs_manual_grade = 0, False
        gradebook.db.commit()


def graded_file(student: str, unit: str) -> Path:
    """Where a student's graded notebook lies."""
    return course.class_folder() / "autograded" / student / unit / f"{unit}.ipynb"


def _open_submission(student: str, unit: str):
    stamp = course_directory(unit, student).get_existing_timestamp(
        str(course.class_folder() / "submitted" / student / unit)
    )
    with open_gradebook() as gradebook:
        gradebook.update_or_create_student(student)
        gradebook.update_or_create_submission(unit, student, **({"timestamp": stamp} if stamp else {}))


def _resources(student: str, unit: str) -> dict:
    names = {"student": student, "assignment": unit, "notebook": unit, "db_url": course.database()}
    return {"nbgrader": names, "unique_key": unit}


def results_file(unit: str) -> Path:
    """Where a unit's results lie, one JSON line for each student and exercise."""
    return course.class_folder() / "results" / f"{unit}.jsonl"


def load_results(unit: str) -> list[dict]:
    """The results that the last grading wrote.

    Raises:
        KitError: the unit was not graded yet, or its results file is damaged.
    """
    file = results_file(unit)
    if not file.exists():
        raise course.KitError(f"{unit} is not graded yet: run `python -m autograder grade {unit}`.")
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except ValueError:
        raise course.KitError(f"{file} is damaged: run `python -m autograder grade {unit}` again.") from None


def save_results(unit: str, records: list[dict]) -> Path:
    """Writes a unit's results; those of students who were not graded this time stay."""
    graded = {record["student"] for record in records}
    kept = [one for one in (load_results(unit) if results_file(unit).exists() else []) if one["student"] not in graded]
    ordered = sorted([*kept, *records], key=lambda one: one["student"])
    return write_atomically(results_file(unit), "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in ordered))
