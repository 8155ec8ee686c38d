"""The kit's engine inside nbgrader's own `autograde`: what reads, repairs and examines there is what `grade` uses."""

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades

from autograder import settings
from autograder.gradebook.nbgrader_configuration import gradebook_of
from autograder.gradebook.outcomes import Outcome
from autograder.intake.guard import guarded, reason


class AnyNotebook(NotebookExporter):
    """Reads what `grade` would read of a submission; what is beyond reading, or another notebook, stands as it was handed out."""

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> tuple[NotebookNode, Any]:
        from autograder.intake.notebook_file import parse

        data, fault = _submitted_bytes(Path(filename), resources["nbgrader"])
        notebook, fault, notes = (None, fault, []) if data is None else parse(data)
        if notebook is None:
            unit = resources["nbgrader"]["assignment"]
            notebook = nbformat.read(settings.ASSIGNMENTS / unit / f"{unit}.ipynb", as_version=4)
            notebook.metadata["course"] = {"malformed": fault}
        elif Path(filename).is_relative_to(settings.class_folder() / "autograded"):
            # This notebook is sanitized already: the notes in its metadata stay.
            notebook = nbformat.read(filename, as_version=4)
        else:
            notebook.metadata["course"] = {"notes": notes}
        return self.from_notebook_node(notebook, resources=resources, **kw)


def _submitted_bytes(file: Path, context: dict) -> tuple[bytes | None, str]:
    """The bytes that `grade` would read: of the files handed in, those of the one that holds most work.

    No link is followed, and no pipe is waited for.
    """
    from autograder.intake.places import read
    from autograder.intake.submissions import find

    if not file.is_relative_to(settings.class_folder() / "submitted"):
        return read(file)
    submission = find(context["student"], context["assignment"])
    return submission.data, submission.malformed or submission.missing


class Repair(NbGraderPreprocessor):
    """Repairs a submission against the gradebook; what was done is listed in the notebook's metadata."""

    def preprocess(self, nb, resources):
        from autograder.intake.contents import Form, other
        from autograder.intake.marked_cells import released_cells, with_plain_cells

        context, noted = resources["nbgrader"], dict(nb.metadata.get("course", {}))
        with gradebook_of(context["db_url"]) as gradebook:
            released = released_cells(gradebook, context["notebook"], context["assignment"])
        assignment = settings.ASSIGNMENTS / context["assignment"] / f"{context['notebook']}.ipynb"
        if assignment.exists():
            released = with_plain_cells(released, nbformat.read(assignment, as_version=4))
        if sentence := other(nb, context["assignment"], Form(tuple(released))):
            return _as_handed_out(released, other=sentence), resources
        repaired = _repaired(nb, released)
        repaired.metadata.course.update(noted)
        return repaired, resources


def _as_handed_out(released: list, **why: str) -> NotebookNode:
    """What stands for a notebook that is not graded: nothing but what was handed out, and why."""
    notebook = _repaired(nbformat.v4.new_notebook(), released)
    notebook.metadata.course = nbformat.from_dict(why)
    return notebook


def _stumbled(error: BaseException, nb: NotebookNode, released: list) -> NotebookNode:
    return _as_handed_out(released, malformed=f"The notebook could not be graded ({reason(error)}).")


@guarded(_stumbled)
def _repaired(nb: NotebookNode, released: list) -> NotebookNode:
    from autograder.intake.repair import repair

    return repair(nb, released)


class Examine(NbGraderPreprocessor):
    """Takes the place of nbgrader's Execute: runs the notebook in the sandbox, judges it elsewhere, keeps the results."""

    def preprocess(self, nb, resources):
        import torch

        from autograder.grading.submission import examine_repaired
        from autograder.grading.task import task
        from autograder.intake.marked_cells import beginning
        from autograder.intake.submissions import find
        from autograder.sandbox import levels

        torch.set_num_threads(1)
        context, noted = resources["nbgrader"], nb.metadata.get("course", {})
        student, unit = context["student"], context["assignment"]
        submission = find(student, unit)
        level = levels.choose(None, False)
        assignment = settings.ASSIGNMENTS / unit / f"{context['notebook']}.ipynb"
        first = beginning(nbformat.read(assignment, as_version=4)) if assignment.exists() else []
        work = task(submission, first, [], "cpu", level, False, True)
        work["malformed"], work["other"] = noted.get("malformed", ""), noted.get("other", "")
        work["notes"] = [*submission.notes, *noted.get("notes", []), *noted.get("repairs", [])]
        outcome = examine_repaired(nb, work, level)
        _keep_outcome(unit, {**outcome, "handed_in": submission.handed_in.text})
        return nb, resources


class SaveMarks(SaveAutoGrades):
    """Takes the place of nbgrader's SaveAutoGrades: an exercise that grading could not judge is left to be marked by hand."""

    def preprocess(self, nb, resources):
        from autograder.gradebook.store import grant

        self._by_hand = nb.metadata.get("course", {}).get("by_hand", [])
        saved, context = super().preprocess(nb, resources), resources["nbgrader"]
        with gradebook_of(context["db_url"]) as gradebook:
            grant(gradebook, context["assignment"], context["student"])
            gradebook.db.commit()
        return saved

    def _add_score(self, cell, resources):
        from autograder.intake.marked_cells import is_test_of

        super()._add_score(cell, resources)
        if is_test_of(cell) in self._by_hand:
            cell_key = (cell.metadata.nbgrader.grade_id, self.notebook_id, self.assignment_id, self.student_id)
            grade = self.gradebook.find_grade(*cell_key)
            grade.auto_score, grade.needs_manual_grade = None, True
            self.gradebook.db.commit()


def _keep_outcome(unit: str, outcome: Outcome) -> None:
    """Notes the outcome where `report` and `feedback` look for it; nbgrader itself enters it into the gradebook."""
    from autograder.gradebook.store import save_results
    from autograder.grading.fingerprint import fingerprint
    from autograder.grading.journal import Journal, journal_file

    with Journal(journal_file(unit), wait_seconds=60) as journal:
        journal.append({**outcome, "kit": fingerprint(unit)})
        journal.recorded([outcome["student"]])
        save_results(unit, journal.outcomes)
