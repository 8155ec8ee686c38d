"""Writes feedback pages: nbgrader's for every graded notebook, and a short one where there was none to grade."""

from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path

import nbgrader.api
from nbgrader.converters import GenerateFeedback

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.marks import Total, totals
from autograder.gradebook.nbgrader_configuration import checked, configuration
from autograder.gradebook.outcomes import Record
from autograder.gradebook.store import course_directory, graded_file, load_results, quiet
from autograder.grading.examined import MALFORMED, MISSING, WRONG_NOTEBOOK
from autograder.intake.guard import guarded
from autograder.intake.places import SECRET
from autograder.intake.submissions import secret_of
from autograder.reports.bounded import each_bounded, is_bounded
from autograder.reports.feedback_page import FeedbackPage, PlainPage, tasks_of
from autograder.reports.pages import render

NOT_SHOWN = (
    "Your notebook cannot be shown: even as plain text it takes too long, or too much memory. Here is what the checks"
    " said of each exercise. Your points are not touched."
)


def write_feedback(unit: str, only: str | None = None, workers: int | None = None) -> list[Path]:
    """Writes a page for every student of a graded unit, or for one, and returns their paths; one that fails stops no other.

    Each page is made within limits of time and memory. One that runs into them is made again with the notebook as plain
    text, and where that fails too, without the notebook; the page says so.

    Args:
        workers: how many pages are made at once; without it, one for each core.

    Raises:
        KitError: the unit is not graded yet, or nobody of that name was.
    """
    by_student: dict[str, list[Record]] = {}
    for record in load_results(unit):
        by_student.setdefault(record["student"], []).append(record)
    if only is not None and only not in by_student:
        nearest = get_close_matches(only, by_student, 1)
        raise settings.KitError(
            f"{only!r} has no results of {unit}" + (f"; did you mean {nearest[0]!r}?" if nearest else ".")
        )
    chosen = {student: records for student, records in by_student.items() if only in (None, student)}
    whole = [student for student, records in chosen.items() if _has_notebook(unit, student, records)]
    without = _left_of_notebook_pages(unit, whole, workers)
    unit_totals = totals().get(unit, {})
    for student, records in chosen.items():
        if student in without or student not in whole:
            note = NOT_SHOWN if student in without else ""
            _write_short_page(unit, student, records, unit_totals.get(student), note)
    return [_page_file(unit, student) for student in chosen]


def _page_file(unit: str, student: str) -> Path:
    return settings.class_folder() / "feedback" / student / unit / f"{unit}.html"


def _has_notebook(unit: str, student: str, records: list[Record]) -> bool:
    return records[0]["state"] not in (MISSING, MALFORMED, WRONG_NOTEBOOK) and graded_file(student, unit).exists()


def _left_of_notebook_pages(unit: str, students: list[str], workers: int | None) -> set[str]:
    """Writes the pages of graded notebooks, some plainly; returns the students for whom neither could be made."""
    tasks_of(unit)  # rendered before the processes are forked, and not once more in each
    left = students
    for exporter in (FeedbackPage, PlainPage):
        pages = each_bounded(partial(_write_notebook_page, unit, exporter), left, workers)
        left = [student for student, is_written in pages if not is_written]
    return set(left)


def _write_short_page(unit: str, student: str, records: list[Record], total: Total | None, note: str) -> None:
    file = _page_file(unit, student)
    if secret := secret_of(student, unit):
        write_atomically(file.with_name(SECRET), secret)
    write_atomically(file, _short_page(unit, student, records, total, note))


def _short_page(unit: str, student: str, records: list[Record], total: Total | None, note: str) -> str:
    """What there is to say where no notebook was graded, or none can be shown: each sentence once, and the points."""
    total = total or Total(
        sum(record["points"] for record in records), sum(record["max_points"] for record in records), 0.0
    )
    return render(
        "feedback.html",
        unit=unit,
        title=unit,
        student=student,
        parts=[],
        score=total.points,
        most=total.most - total.open,
        open=total.open,
        repairs=records[0]["repairs"],
        messages=list(dict.fromkeys(record["message"] if note else _without_name(record) for record in records)),
        styles=None,
        note=note,
    )


def _without_name(record: Record) -> str:
    return record["message"].removeprefix("✗ ").removeprefix(f"{record['exercise']} · ")


@guarded(lambda *_: False)
def _write_notebook_page(unit: str, exporter: type[FeedbackPage], student: str) -> bool:
    if is_bounded():
        _keep_engines()
    with checked():
        config = configuration()
        config.GenerateFeedback.exporter_class = exporter
        _OfOne(coursedir=course_directory(unit), config=config, force=True, log=quiet).start_for(student)
    return True


@cache
def _keep_engines() -> None:
    """Has nbgrader keep a database's engine, with the queries that were compiled for it, for this process's next page."""
    nbgrader.api.create_engine = cache(nbgrader.api.create_engine)


class _OfOne(GenerateFeedback):
    """nbgrader's step for one student by name; nbgrader takes names for patterns, and drops spaces at their ends."""

    def start_for(self, student: str) -> None:
        self._student = student
        self.start()

    def init_notebooks(self) -> None:
        folder = self._format_source(self.coursedir.assignment_id, self._student)
        self.assignments = {folder: [str(Path(folder) / f"{self.coursedir.assignment_id}.ipynb")]}
