"""Writes feedback pages: nbgrader's for every graded notebook, and a short one where there was none to grade."""

import glob
from pathlib import Path

from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException
from traitlets.config import Config

from autograder import settings
from autograder.gradebook.settings import configure
from autograder.gradebook.store import course_directory, graded_file, load_results, quiet
from autograder.grading.examination import MALFORMED, MISSING
from autograder.intake.submissions import write_atomically
from autograder.reports.pages import render


def write_feedback(unit: str, only: str | None = None) -> list[Path]:
    """Writes a page for every student of a graded unit, or for one, and returns their paths; one that fails stops no other.

    Raises:
        KitError: the unit is not graded yet.
    """
    by_student: dict[str, list] = {}
    for record in load_results(unit):
        by_student.setdefault(record["student"], []).append(record)
    return [_page(unit, student, records) for student, records in by_student.items() if only in (None, student)]


def _page(unit: str, student: str, records: list[dict]) -> Path:
    file = settings.class_folder() / "feedback" / student / unit / f"{unit}.html"
    if records[0]["state"] not in (MISSING, MALFORMED) and graded_file(student, unit).exists():
        directory = course_directory(unit, glob.escape(student))
        try:
            GenerateFeedback(coursedir=directory, config=configure(Config()), force=True, log=quiet).start()
            return file
        except NbGraderException:
            pass  # the short page below tells the student the same, without the notebook around it
    return write_atomically(file, render("feedback.html", unit=unit, student=student, records=records))
