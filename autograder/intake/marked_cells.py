"""The marked cells of a notebook: as they were handed out, and where they are in a submission."""

from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode
from nbgrader import utils as nbgrader_utils
from nbgrader.api import Gradebook

from autograder.intake import student_code as code
from autograder.settings import CHECK


@dataclass(frozen=True)
class Released:
    """A marked cell as it was handed out."""

    grade_id: str
    cell_type: str
    source: str
    metadata: dict  # nbgrader's; empty for a cell that it does not mark, such as the imports

    @property
    def is_test(self) -> bool:
        return bool(self.metadata) and self.metadata["grade"] and not self.metadata["solution"]

    @property
    def is_locked(self) -> bool:
        return bool(self.metadata) and self.metadata["locked"]

    @property
    def is_written(self) -> bool:
        return bool(self.metadata) and self.metadata["grade"] and self.metadata["solution"]


def released_cells(gradebook: Gradebook, notebook: str, assignment: str) -> list[Released]:
    """The marked cells of a released notebook in order, from the gradebook."""
    stored = gradebook.find_notebook(notebook, assignment)
    points = {cell.name: cell.max_score for cell in stored.grade_cells}
    solutions = {cell.name for cell in stored.solution_cells}
    cells = []
    for cell in stored.source_cells:
        metadata = {
            "grade": cell.name in points,
            "grade_id": cell.name,
            "locked": bool(cell.locked),
            "schema_version": 3,
            "solution": cell.name in solutions,
            "task": False,
            "cell_type": str(cell.cell_type),
            "checksum": cell.checksum,
        }
        if cell.name in points:
            metadata["points"] = points[cell.name]
        cells.append(Released(cell.name, str(cell.cell_type), cell.source, metadata))
    return cells


def with_plain_cells(marked: list[Released], assignment: nbformat.NotebookNode) -> list[Released]:
    """The marked cells with the unmarked ones of an assignment.

    The code cells that begin the assignment (its imports) come before the marked cells. Its texts come last: by them a
    student's own texts are known.
    """
    texts = [cell for cell in assignment.cells if cell.cell_type == "markdown"]
    return [
        *beginning(assignment),
        *marked,
        *(Released(cell.id, "markdown", cell.source, {}) for cell in texts),
    ]


def beginning(assignment: nbformat.NotebookNode) -> list[Released]:
    """The code cells that come before the first marked one: they set the course up, and import."""
    first = next((index for index, cell in enumerate(assignment.cells) if label(cell)), 0)
    return [Released(cell.id, "code", cell.source, {}) for cell in assignment.cells[:first] if cell.cell_type == "code"]


def label(cell: NotebookNode) -> str | None:
    marks = cell["metadata"].get("nbgrader")
    return marks.get("grade_id") if isinstance(marks, dict) else None


def ids(cell: NotebookNode) -> tuple:
    """A cell's id, and where Colab keeps it."""
    return cell.get("id"), cell.metadata.get("id")


def at(nb: NotebookNode, one: Released) -> list[int]:
    """The places of a released cell: by its label; a cell without a label is known by its id, else by its first line."""
    if one.metadata:
        return [index for index, cell in enumerate(nb.cells) if label(cell) == one.grade_id]
    plain = [(index, cell) for index, cell in enumerate(nb.cells) if cell.cell_type == "code" and label(cell) is None]
    by_id = [index for index, cell in plain if cell.get("id") == one.grade_id and cell.source.strip()]
    return (by_id or [index for index, cell in plain if _first_line(cell.source) == _first_line(one.source)])[:1]


def _first_line(source: str) -> str:
    """The first line of a cell: what a cell without a label is known by where editors have replaced its id."""
    return next((line.strip() for line in source.splitlines() if line.strip()), "")


def defines(one: Released) -> set:
    return {one.grade_id} if one.metadata["solution"] and not one.metadata["grade"] else set()


def defined(cell: NotebookNode) -> frozenset:
    return code.defined(cell.source) if cell.cell_type == "code" else frozenset()


def finished(cell: NotebookNode) -> frozenset:
    return code.finished(cell.source) if cell.cell_type == "code" else frozenset()


def is_locked(cell: NotebookNode) -> bool:
    marks = cell["metadata"].get("nbgrader")
    return isinstance(marks, dict) and bool(marks.get("locked"))


def spoken(one: Released) -> str:
    if not one.metadata:
        return f"`{one.source.strip().splitlines()[0][:60]}`"
    if one.is_test:
        return f"the check of {one.grade_id.removeprefix(CHECK)}"
    if one.metadata["grade"]:
        return f"the written answer {one.grade_id}"
    return one.grade_id if one.metadata["solution"] else f"the text {one.grade_id}"


def is_test_of(cell: NotebookNode) -> str | None:
    """The exercise that a cell tests; None for any other cell."""
    if nbgrader_utils.is_grade(cell) and not nbgrader_utils.is_solution(cell):
        return cell.metadata["nbgrader"]["grade_id"].removeprefix(CHECK)
    return None
