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
from autograder.intake.marked_cells import Released, ids, label
from autograder.intake.notebook_file import parse

LONG = 40  # characters of a cell by which a document is known
_DEFINED = re.compile(r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
_SOLUTION = "### BEGIN SOLUTION"


@dataclass(frozen=True)
class Form:
    """A unit's assignment as it was handed out."""

    cells: tuple[Released, ...]

    @cached_property
    def labels(self) -> frozenset[str]:
        return frozenset(one.grade_id for one in self.cells if one.metadata)

    @cached_property
    def exercises(self) -> frozenset[str]:
        marked = [one for one in self.cells if one.metadata]
        return frozenset(one.grade_id for one in marked if one.metadata["solution"] and not one.metadata["grade"])

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(one.grade_id for one in self.cells if one.is_written)

    @cached_property
    def sources(self) -> frozenset[str]:
        return frozenset(one.source.strip() for one in self.cells)

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The code of what stands for the exercises, without comments and layout."""
        return frozenset(
            _plain(one) for cell in self.cells if cell.cell_type == "code" for one in code.parse(cell.source)
        )


@lru_cache(maxsize=64)
def _handed_out(file: Path, changed: float) -> Form:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return Form(tuple(_as_released(one) for one in cells))


def _as_released(cell: dict) -> Released:
    marks = cell["metadata"].get("nbgrader", {})
    return Released(marks.get("grade_id", cell.get("id")), cell["cell_type"], "".join(cell["source"]), marks)


def handed_out(unit: str) -> Form:
    """The unit's assignment as it lies among the released ones; without cells if it was not released."""
    file = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    return _handed_out(file, file.stat().st_mtime) if file.exists() else Form(())


def work(notebook: NotebookNode, form: Form) -> frozenset[str]:
    """The exercises that a notebook defines otherwise than they were handed out, and the answers that are written in it.

    What is marked as the published solution is nobody's work, where it is most of what there is.
    """
    done: set[str] = set()
    given: set[str] = set()
    for cell in notebook.cells:
        (given if _SOLUTION in cell.source else done).update(_done_in(cell, form))
    return frozenset(done) if len(done) > len(given) else frozenset()


def is_begun(notebook: NotebookNode, form: Form) -> bool:
    """Whether there is any work in a notebook; as soon as some is found, the rest is not read."""
    return any(_done_in(cell, form) for cell in notebook.cells if _SOLUTION not in cell.source)


def _done_in(cell: NotebookNode, form: Form) -> Set[str]:
    names, source = _called(cell), cell.source.strip()
    if not source or source in form.sources:
        return set()
    if answered := names & form.written:
        return answered
    return _solved(cell.source, form) if cell.cell_type == "code" or names & form.exercises else set()


def _called(cell: NotebookNode) -> set[str]:
    """What a cell is marked as: by its label, or by an id that editors have kept."""
    return {one for one in (label(cell), *ids(cell)) if isinstance(one, str)}


def _solved(source: str, form: Form) -> Set[str]:
    if not code.parses(source):
        return {*_DEFINED.findall(source)} & form.exercises
    names = code.finished(source) & form.exercises
    unchanged = [one for one in code.parse(source) if names and _plain(one) in form.definitions]
    return names - {getattr(one, "name", "") for one in unchanged}


def _plain(statement: ast.stmt) -> str:
    return ast.dump(statement)


def other(notebook: NotebookNode, unit: str, form: Form) -> str:
    """A sentence on what a notebook is, where it is not the unit's assignment; empty if it is, worked on or not.

    Another unit's assignment may hold this one's answers as helpers, pasted with their labels or without: it is this
    unit's where it holds at least half of them.

    Args:
        form: the unit's assignment as it was handed out.
    """
    own = {one for cell in notebook.cells for one in _called(cell)} & form.labels
    if own and 2 * len(own) >= len(form.labels):
        return ""
    kind, which = known(notebook)
    if (kind, which) == ("assignment", unit) or own and kind != "assignment":
        return ""
    names = _bound(notebook) & form.exercises
    if kind == "lesson":
        names -= _defined_in_lesson(which)
    if names and (kind != "assignment" or 2 * len(names) >= len(form.exercises)):
        return ""
    return _told(notebook, kind, which, unit)


def _bound(notebook: NotebookNode) -> set[str]:
    """The names that code cells define, also where a cell does not parse."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return {name for source in cells for name in (*_DEFINED.findall(source), *code.defined(source))}


def _told(notebook: NotebookNode, kind: str, which: str, unit: str) -> str:
    number, asked = unit[:2], f"hand in assignments/{unit}/{unit}.ipynb."
    if kind:
        return f"This is {kind} {which[:2]} ({which}), not assignment {number}: {asked}"
    if not any(cell.source.strip() for cell in notebook.cells):
        return f"This notebook is empty: {asked}"
    return f"This notebook holds none of the exercises of assignment {number}: {asked}"


def known(notebook: NotebookNode) -> tuple[str, str]:
    """Which document of the course a notebook is: "lesson" or "assignment", and the unit; both empty if it is none.

    An assignment is known by its labels, anything by cells that no other document has.
    """
    labels = _labels()
    marked = Counter(labels[one] for cell in notebook.cells for one in _called(cell) if one in labels)
    if marked:
        return "assignment", marked.most_common(1)[0][0]
    sources = {cell.source.strip() for cell in notebook.cells if cell.source.strip()}
    counts = {name: len(sources & texts) for name, texts in _documents().items()}
    best = max(counts, key=lambda name: counts[name], default=("", ""))
    return best if 3 * counts.get(best, 0) >= max(1, len(sources)) else ("", "")


@lru_cache(maxsize=1)
def _labels() -> dict[str, str]:
    """The unit of each label of an assignment."""
    return {name: unit for unit in settings.units() for name in handed_out(unit).labels}


@lru_cache(maxsize=1)
def _documents() -> dict[tuple[str, str], set[str]]:
    """The long cells of each lesson and assignment that no other has."""
    found: dict[tuple[str, str], Set[str]] = {}
    for unit in settings.units():
        found["lesson", unit] = {source for _, source in _lesson(unit)}
        found["assignment", unit] = handed_out(unit).sources
    count = Counter(source for texts in found.values() for source in texts)
    return {name: {one for one in texts if len(one) >= LONG and count[one] == 1} for name, texts in found.items()}


@lru_cache(maxsize=64)
def _lesson(unit: str) -> list[tuple[str, str]]:
    """The kind and the text of each cell of a lesson as students receive it."""
    file = settings.LESSONS / f"{unit}.ipynb"
    lesson = parse(file.read_bytes())[0] if file.exists() else None
    return [(cell.cell_type, cell.source.strip()) for cell in lesson.cells] if lesson else []


@lru_cache(maxsize=64)
def _defined_in_lesson(unit: str) -> frozenset[str]:
    return frozenset(name for kind, source in _lesson(unit) if kind == "code" for name in code.defined(source))
