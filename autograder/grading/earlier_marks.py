"""Lets the mark of an earlier submission stay where there is no longer anything that can be graded."""

from functools import cached_property

import nbformat

from autograder.files import write_atomically
from autograder.gradebook import store
from autograder.gradebook.outcomes import Kept, Outcome, Record
from autograder.grading.journal import Journal
from autograder.intake.guard import guarded
from autograder.intake.marked_cells import Released
from autograder.intake.places import listed
from autograder.intake.submissions import Submission
from autograder.settings import CHECK

EXAMINED = ("graded", "timeout", "killed", "unjudged")  # the states of an exercise that was examined
CELL = "earlier-mark"  # the id of a graded notebook's cell that says that its mark is that of an earlier submission


class EarlierMarks:
    """The outcomes that a unit's students have from earlier runs, and for whom they stay in this one.

    Attributes:
        kept: student -> why the mark stays, and the digest of what could not be graded.
        nothing: the students who have handed in nothing, now and before.
    """

    def __init__(self, unit: str, journal: Journal, as_zero: bool = False):
        self.unit, self.journal, self.as_zero = unit, journal, as_zero
        self.kept: dict[str, Kept] = {}
        self.nothing: list[str] = []

    def is_settled(self, submission: Submission) -> bool:
        """Whether a submission is as it was when it was last looked at."""
        earlier_outcome = self.journal.outcomes.get(submission.student)
        if earlier_outcome is None:
            return False
        if "kept" in earlier_outcome and earlier_outcome["kept"]["digest"] == submission.digest and not self.as_zero:
            self.kept[submission.student] = earlier_outcome["kept"]
            return True
        return earlier_outcome.get("digest") == submission.digest

    def stays(self, now: Outcome) -> bool:
        """Whether a student keeps the mark of an earlier submission, since the present one was not examined."""
        student, why = now["student"], now["records"][0]["message"].partition(" · ")[2]
        if _was_examined(now):
            self.kept.pop(student, None)
            return False
        if self.as_zero or not _was_examined(self._earlier_outcome(student)):
            if {record["state"] for record in now["records"]} == {"missing"} and student not in self.journal.outcomes:
                self.nothing.append(student)
            return False
        self.kept[student] = {"why": why, "digest": now["digest"]}
        return True

    def note(self, students: set[str]) -> None:
        """Notes in journal and graded notebooks whose earlier marks stay, and takes back what was noted of others."""
        for student in sorted(students):
            earlier = self._earlier_outcome(student)
            if earlier is None:
                continue
            noted = _with_notes(earlier, self.kept.get(student))
            if noted != self.journal.outcomes.get(student):
                entered = student not in self.journal.unrecorded
                _note_in_notebook(student, self.unit, self.kept.get(student))
                self.journal.append(noted)
                self.journal.recorded([student] if entered else [])

    def _earlier_outcome(self, student: str) -> Outcome | None:
        return self.journal.outcomes.get(student) or self._outcomes_in_gradebook.get(student)

    @cached_property
    def _outcomes_in_gradebook(self) -> dict[str, Outcome]:
        """The outcomes by student that only the gradebook knows, where results and journal were lost or moved away."""
        marked = store.marked(self.unit)
        cells = store.released(self.unit) if marked else []
        return {
            student: _outcome_from_gradebook(student, self.unit, scores, cells) for student, scores in marked.items()
        }

    def told(self) -> list[str]:
        """Sentences on whose marks stay and who has none."""
        sentences = []
        if who := sorted(self.kept):
            keeps = (
                "keeps the mark of an earlier submission" if len(who) == 1 else "keep the marks of earlier submissions"
            )
            why = "; ".join(f"{listed([student])}: {self.kept[student]['why']}" for student in who[:3])
            gone = f"{'which is' if len(who) == 1 else 'which are'} gone or can no longer be graded"
            sentences.append(f"{listed(who)} {keeps}, {gone} ({why}); `--missing-as-zero` of `grade` enters 0.")
        if self.nothing:
            none = f"{listed(sorted(self.nothing))} {'has' if len(self.nothing) == 1 else 'have'}"
            sentences.append(f"{none} nothing of {self.unit} in submitted/ that can be graded: 0 points.")
        return sentences


def _was_examined(outcome: Outcome | None) -> bool:
    if not outcome or not outcome["scores"]:
        return False
    return any(record["state"] in EXAMINED for record in outcome["records"])


def _with_notes(outcome: Outcome, kept: Kept | None) -> Outcome:
    """An outcome whose records say why it stays, if it does."""
    old_notes, new_notes = _kept_notes(outcome.get("kept")), _kept_notes(kept)
    noted = outcome.copy()
    noted.pop("kept", None)
    noted["records"] = [
        {**record, "repairs": [text for text in record["repairs"] if text not in old_notes] + new_notes}
        for record in outcome["records"]
    ]
    if kept:
        noted["kept"] = kept
    return noted


def _kept_notes(kept: Kept | None) -> list[str]:
    sentence = "This is the mark of an earlier submission, since there is now nothing that can be graded: "
    return [sentence + kept["why"]] if kept else []


@guarded(lambda *_: None)  # results and report say it too
def _note_in_notebook(student: str, unit: str, kept: Kept | None) -> None:
    file = store.graded_file(student, unit)
    if not file.exists():
        return
    from autograder.grading.submission import as_markdown

    notebook = nbformat.read(file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != CELL]
    for text in _kept_notes(kept):
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(f"**{as_markdown(text)}**", id=CELL))
    write_atomically(file, nbformat.writes(notebook))


def _outcome_from_gradebook(student: str, unit: str, scores: dict[str, float], cells: list[Released]) -> Outcome:
    """An outcome made from the gradebook, which knows the points but not the findings."""
    records = [
        _record_from_gradebook(
            student, cell.grade_id.removeprefix(CHECK), scores.get(cell.grade_id) or 0.0, cell.metadata["points"]
        )
        for cell in cells
        if cell.is_test
    ]
    return {
        "student": student,
        "unit": unit,
        "records": records,
        "scores": {cell.grade_id: scores.get(cell.grade_id) for cell in cells if cell.metadata["grade"]},
        "digest": "",
        "kit": "",
        "notebook": None,
        "comments": {},
        "sandbox": "",
        "seconds": 0.0,
        "times": {},
    }


def _record_from_gradebook(student: str, exercise: str, points: float, most: float) -> Record:
    note = "Graded earlier; the points are the gradebook's, and what was found then is in the graded notebook alone."
    return {
        "student": student,
        "exercise": exercise,
        "state": "graded",
        "points": points,
        "max_points": most,
        "message": f"{'✓' if points == most else '✗'} {exercise} · {note}",
        "misconception": None,
        "problem": None if points == most else "graded_earlier",
        "failed": [],
        "repairs": [],
        "sandbox": "",
    }
