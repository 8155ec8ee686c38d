"""Writes feedback pages: nbgrader's for every graded notebook, and a short one where there was none to grade."""

from difflib import get_close_matches
from pathlib import Path

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
from autograder.reports.pages import render


def write_feedback(unit: str, only: str | None = None) -> list[Path]:
    """Writes a page for every student of a graded unit, or for one, and returns their paths; one that fails stops no other.

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
    unit_totals = totals().get(unit, {})
    chosen = {student: records for student, records in by_student.items() if only in (None, student)}
    return [_page(unit, student, records, unit_totals.get(student)) for student, records in chosen.items()]


def _page(unit: str, student: str, records: list[Record], total: Total | None) -> Path:
    file = settings.class_folder() / "feedback" / student / unit / f"{unit}.html"
    if records[0]["state"] not in (MISSING, MALFORMED, WRONG_NOTEBOOK) and graded_file(student, unit).exists():
        if _whole_page(unit, student):
            return file
    if secret := secret_of(student, unit):
        write_atomically(file.with_name(SECRET), secret)
    return write_atomically(file, _short_page(unit, student, records, total))


def _short_page(unit: str, student: str, records: list[Record], total: Total | None) -> str:
    """What there is to say where no notebook was graded: each sentence once, and the gradebook's points."""
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
        messages=list(dict.fromkeys(_without_name(record) for record in records)),
        styles=None,
    )


def _without_name(record: Record) -> str:
    return record["message"].removeprefix("✗ ").removeprefix(f"{record['exercise']} · ")


# Where this page fails, the student gets the short one, with the same sentences but without the notebook around them.
@guarded(lambda *_: False)
def _whole_page(unit: str, student: str) -> bool:
    with checked():
        _OfOne(coursedir=course_directory(unit), config=configuration(), force=True, log=quiet).start_for(student)
    return True


class _OfOne(GenerateFeedback):
    """nbgrader's step for one student by name; nbgrader takes names for patterns, and drops spaces at their ends."""

    def start_for(self, student: str) -> None:
        self._student = student
        self.start()

    def init_notebooks(self) -> None:
        folder = self._format_source(self.coursedir.assignment_id, self._student)
        self.assignments = {folder: [str(Path(folder) / f"{self.coursedir.assignment_id}.ipynb")]}
