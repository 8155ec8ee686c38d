"""Tells what a notebook holds of a unit: the work in it; or that it is another notebook, and which."""

import ast
import json
import re
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from nbformat import NotebookNode

from autograder import settings
from autograder.intake import student_code as code
from autograder.intake.guard import SECONDS, within
from autograder.intake.marked_cells import Released, ids, label
from autograder.intake.notebook_file import parse

LONG = 40  # the fewest characters of a cell by which a document is known
_DEFINED = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_SOLUTION = "### BEGIN SOLUTION"


@dataclass(frozen=True)
class Form:
    """A unit's assignment as it was handed out."""

    cells: tuple[Released, ...]

    @cached_property
    def labels(self) -> frozenset[str]:
        return frozenset(cell.grade_id for cell in self.cells if cell.metadata)

    @cached_property
    def exercises(self) -> frozenset[str]:
        marked = [cell for cell in self.cells if cell.metadata]
        return frozenset(cell.grade_id for cell in marked if cell.metadata["solution"] and not cell.metadata["grade"])

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(cell.grade_id for cell in self.cells if cell.is_written)

    @cached_property
    def sources(self) -> frozenset[str]:
        return frozenset(cell.source.strip() for cell in self.cells)

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The code of the statements that are handed out, without comments and layout."""
        return frozenset(
            _normalised(statement)
            for cell in self.cells
            if cell.cell_type == "code"
            for statement in code.parse(cell.source)
        )


@lru_cache(maxsize=64)
def _handed_out(file: Path, changed: float) -> Form:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return Form(tuple(_as_released(cell) for cell in cells))


def _as_released(cell: dict) -> Released:
    marks = cell["metadata"].get("nbgrader", {})
    return Released(marks.get("grade_id", cell.get("id")), cell["cell_type"], "".join(cell["source"]), marks)


def handed_out(unit: str) -> Form:
    """The unit's assignment as it lies among the released ones; without cells if it was not released."""
    file = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    return _handed_out(file, file.stat().st_mtime) if file.exists() else Form(())


def work(notebook: NotebookNode, form: Form) -> frozenset[str]:
    """The exercises that a notebook defines otherwise than they were handed out, and the answers that are written in it.

    Cells that are marked as the published solution are nobody's work: where they solve at least as much as the other cells,
    the notebook holds no work.
    """
    done: set[str] = set()
    published: set[str] = set()
    for cell in notebook.cells:
        (published if _SOLUTION in cell.source else done).update(_done_in(cell, form))
    return frozenset(done) if len(done) > len(published) else frozenset()


def is_begun(notebook: NotebookNode, form: Form) -> bool:
    """Whether there is any work in a notebook; no further cell is read once a cell with work was met."""
    return any(_done_in(cell, form) for cell in notebook.cells if _SOLUTION not in cell.source)


def _done_in(cell: NotebookNode, form: Form) -> Set[str]:
    names, source = _marked_as(cell), cell.source.strip()
    if not source or source in form.sources:
        return set()
    if answered := names & form.written:
        return answered
    return _solved_exercises(cell.source, form) if cell.cell_type == "code" or names & form.exercises else set()


def _marked_as(cell: NotebookNode) -> set[str]:
    """What a cell is marked as: by its label, or by an id that editors have kept."""
    return {name for name in (label(cell), *ids(cell)) if isinstance(name, str)}


def _solved_exercises(source: str, form: Form) -> Set[str]:
    if not code.parses(source):
        return {*_DEFINED.findall(source)} & form.exercises
    names = code.finished(source) & form.exercises
    unchanged = [statement for statement in code.parse(source) if names and _normalised(statement) in form.definitions]
    return names - {getattr(statement, "name", "") for statement in unchanged}


def _normalised(statement: ast.stmt) -> str:
    return ast.dump(statement)


@within(SECONDS)
def other(notebook: NotebookNode, unit: str, form: Form) -> str:
    """A sentence on what a notebook is, where it is not the unit's assignment; empty if it is the assignment, worked on or not.

    Another unit's assignment may hold answers of this unit as helpers, pasted with their labels or without. A notebook is
    this unit's assignment where it holds at least half of this unit's answers.

    Args:
        form: the unit's assignment as it was handed out.

    Raises:
        OutOfTime: it takes longer than for any notebook that is in good faith.
    """
    own = {name for cell in notebook.cells for name in _marked_as(cell)} & form.labels
    if own and 2 * len(own) >= len(form.labels):
        return ""
    kind, known_unit = known(notebook)
    if (kind, known_unit) == ("assignment", unit) or own and kind != "assignment":
        return ""
    names = _defined_names(notebook) & form.exercises
    if kind == "lesson":
        names -= _defined_in_lesson(known_unit)
    if names and (kind != "assignment" or 2 * len(names) >= len(form.exercises)):
        return ""
    return _other_notebook_note(notebook, kind, known_unit, unit)


def _defined_names(notebook: NotebookNode) -> set[str]:
    """The names that code cells define, also where a cell does not parse."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return {name for source in cells for name in (*_DEFINED.findall(source), *code.defined(source))}


def _other_notebook_note(notebook: NotebookNode, kind: str, known_unit: str, unit: str) -> str:
    number, what_to_hand_in = unit[:2], f"hand in assignments/{unit}/{unit}.ipynb."
    if kind:
        return f"This is {kind} {known_unit[:2]} ({known_unit}), not assignment {number}: {what_to_hand_in}"
    if not any(cell.source.strip() for cell in notebook.cells):
        return f"This notebook is empty: {what_to_hand_in}"
    return f"This notebook holds none of the exercises of assignment {number}: {what_to_hand_in}"


def known(notebook: NotebookNode) -> tuple[str, str]:
    """Which document of the course a notebook is: "lesson" or "assignment", and the unit; both empty if it is none.

    An assignment is known by its labels; any document is known by cells that no other document has.
    """
    labels = _units_by_label()
    marked = Counter(labels[name] for cell in notebook.cells for name in _marked_as(cell) if name in labels)
    if marked:
        return "assignment", marked.most_common(1)[0][0]
    sources = {cell.source.strip() for cell in notebook.cells if cell.source.strip()}
    counts = {name: len(sources & texts) for name, texts in _distinctive_cells().items()}
    best = max(counts, key=lambda name: counts[name], default=("", ""))
    return best if 3 * counts.get(best, 0) >= max(1, len(sources)) else ("", "")


@lru_cache(maxsize=1)
def _units_by_label() -> dict[str, str]:
    """The unit of each label of an assignment."""
    return {name: unit for unit in settings.units() for name in handed_out(unit).labels}


@lru_cache(maxsize=1)
def _distinctive_cells() -> dict[tuple[str, str], set[str]]:
    """The long cells of each lesson and assignment that no other document has."""
    texts_by_document: dict[tuple[str, str], Set[str]] = {}
    for unit in settings.units():
        texts_by_document["lesson", unit] = {source for _, source in _lesson_cells(unit)}
        texts_by_document["assignment", unit] = handed_out(unit).sources
    count = Counter(source for texts in texts_by_document.values() for source in texts)
    return {
        name: {text for text in texts if len(text) >= LONG and count[text] == 1}
        for name, texts in texts_by_document.items()
    }


@lru_cache(maxsize=64)
def _lesson_cells(unit: str) -> list[tuple[str, str]]:
    """The kind and the text of each cell of a lesson as students receive it."""
    file = settings.LESSONS / f"{unit}.ipynb"
    lesson = parse(file.read_bytes())[0] if file.exists() else None
    return [(cell.cell_type, cell.source.strip()) for cell in lesson.cells] if lesson else []


@lru_cache(maxsize=64)
def _defined_in_lesson(unit: str) -> frozenset[str]:
    return frozenset(name for kind, source in _lesson_cells(unit) if kind == "code" for name in code.defined(source))
