"""Brings a submitted notebook into the shape that grading needs: every marked cell once, in its place, with its label."""

import ast
from dataclasses import dataclass

import nbformat
from nbgrader import utils as nbgrader_utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.course import CHECK


@dataclass(frozen=True)
class Released:
    """A marked cell as it was handed out."""

    grade_id: str
    cell_type: str
    source: str
    metadata: dict

    @property
    def is_test(self) -> bool:
        return self.metadata["grade"] and not self.metadata["solution"]


class Repair(NbGraderPreprocessor):
    """Repairs a submission against the gradebook; what was done is listed in the notebook's metadata."""

    def preprocess(self, nb, resources):
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            released = released_cells(gradebook, where["notebook"], where["assignment"])
        return repair(nb, released), resources


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


def repair(nb, released: list[Released]):
    """A copy of the notebook with each released cell in it once, labelled, and each test after what it tests.

    The submission itself is not touched. `metadata.course.repairs` of the copy says what was done, in sentences.
    """
    nb = nbformat.from_dict(nb)
    by_id = {cell.grade_id: cell for cell in released}
    repairs = []
    _forget_unknown(nb, by_id)
    _relabel(nb, released, repairs)
    for cell in released:
        _keep_one(nb, cell, repairs)
        _retype(nb, cell, repairs)
    for index, cell in enumerate(released):
        if cell.metadata["grade"] or cell.metadata["locked"]:
            _insert_if_missing(nb, cell, released[:index], repairs)
    for cell in released:
        if cell.is_test:
            _move_behind_its_subject(nb, cell, repairs)
        _note_edits(nb, cell, repairs)
    _fresh_ids(nb)
    nb.metadata["course"] = {"repairs": repairs}
    return nb


def _label(cell) -> str | None:
    marks = cell.metadata.get("nbgrader")
    return marks.get("grade_id") if isinstance(marks, dict) else None


def _at(nb, grade_id: str) -> list[int]:
    return [index for index, cell in enumerate(nb.cells) if _label(cell) == grade_id]


def _forget_unknown(nb, by_id: dict):
    """Drops labels that the assignment does not know, and restores those it does to their released form."""
    for cell in nb.cells:
        if not isinstance(cell.metadata.get("nbgrader", {}), dict) or _label(cell) not in by_id:
            cell.metadata.pop("nbgrader", None)
        else:
            cell.metadata["nbgrader"] = nbformat.from_dict(by_id[_label(cell)].metadata)


def _relabel(nb, released: list[Released], repairs: list):
    """Finds cells whose label is gone: by cell id, then by the name they define or check."""
    restored = []
    for one in released:
        if _at(nb, one.grade_id):
            continue
        candidates = [cell for cell in nb.cells if _label(cell) is None]
        by_id = [cell for cell in candidates if cell.get("id") == one.grade_id and _plausible(cell, one)]
        found = by_id or [cell for cell in candidates if _stands_for(cell, one)]
        if found:
            found[-1].metadata["nbgrader"] = nbformat.from_dict(one.metadata)
            restored.append(_spoken(one))
    if restored:
        which = restored[0] if len(restored) == 1 else f"{len(restored)} marked cells"
        repairs.append(f"The label of {which} was missing; it was recognised and restored.")


def _plausible(cell, one: Released) -> bool:
    """Whether a cell with the right id still is that cell, not one pasted over."""
    return one.cell_type == "markdown" or not _defines(one) or _defined(cell) & _defines(one) != set()


def _stands_for(cell, one: Released) -> bool:
    if one.is_test:
        return cell.cell_type == "code" and cell.source.strip() == f"check({one.grade_id.removeprefix(CHECK)})"
    if one.metadata["grade"] or one.metadata["locked"]:
        return False
    return bool(_defined(cell) & _defines(one))


def _defines(one: Released) -> set:
    return {one.grade_id} if one.metadata["solution"] and not one.metadata["grade"] else set()


def _defined(cell) -> set:
    """The top-level names that a code cell binds; empty if it does not parse."""
    if cell.cell_type != "code":
        return set()
    try:
        body = ast.parse(cell.source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))}
    for node in body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _keep_one(nb, one: Released, repairs: list):
    """Of several cells with one label, the last that holds work keeps it; untouched copies go."""
    places = _at(nb, one.grade_id)
    if len(places) < 2:
        return
    worked = [index for index in places if not one.is_test and nb.cells[index].source.strip() != one.source.strip()]
    kept = (worked or places)[-1]
    gone = set()
    for index in places:
        if index == kept:
            continue
        if index in worked:
            nb.cells[index].metadata.pop("nbgrader")
        else:
            gone.add(index)
    nb.cells = [cell for index, cell in enumerate(nb.cells) if index not in gone]
    repairs.append(f"The cell for {_spoken(one)} was there {len(places)} times; the last one that holds work counts.")


def _retype(nb, one: Released, repairs: list):
    """A cell whose type was changed gets its own back; a test that is no code would run nothing and cost nothing."""
    for index in _at(nb, one.grade_id):
        cell = nb.cells[index]
        if cell.cell_type != one.cell_type:
            make = nbformat.v4.new_code_cell if one.cell_type == "code" else nbformat.v4.new_markdown_cell
            nb.cells[index] = make(cell.source, metadata=cell.metadata)
            repairs.append(f"The cell for {_spoken(one)} had become {cell.cell_type}; it is {one.cell_type} again.")


def _insert_if_missing(nb, one: Released, before: list[Released], repairs: list):
    if _at(nb, one.grade_id):
        return
    places = [index for earlier in before for index in _at(nb, earlier.grade_id)]
    new = (nbformat.v4.new_code_cell if one.cell_type == "code" else nbformat.v4.new_markdown_cell)(one.source)
    new.metadata["nbgrader"] = nbformat.from_dict(one.metadata)
    nb.cells.insert(max(places, default=-1) + 1, new)
    if one.metadata["grade"]:
        repairs.append(f"The cell for {_spoken(one)} had been deleted; it was put back.")


def _move_behind_its_subject(nb, one: Released, repairs: list):
    """A test that stands before the cell it tests is moved behind it."""
    (test,) = _at(nb, one.grade_id)
    subject = _at(nb, one.grade_id.removeprefix(CHECK))
    if subject and subject[0] > test:
        nb.cells.insert(subject[0], nb.cells.pop(test))
        repairs.append(f"The cell for {_spoken(one)} stood before its exercise; it was moved behind it.")


def _note_edits(nb, one: Released, repairs: list):
    """Locked cells are restored from the gradebook by nbgrader's OverwriteCells; here it is said that they will be."""
    if not one.is_test:
        return
    (index,) = _at(nb, one.grade_id)
    cell = nb.cells[index]
    visible = f"check({one.grade_id.removeprefix(CHECK)})"
    if cell.cell_type != "code" or cell.source.strip() not in (visible, one.source.strip()):
        repairs.append(f"The cell for {_spoken(one)} had been edited; it was restored.")


def _fresh_ids(nb):
    """Cell ids must be unique and well-formed; marked cells get their label, others keep a valid id of their own."""
    taken = {label for cell in nb.cells if (label := _label(cell))}
    for index, cell in enumerate(nb.cells):
        own = _label(cell) or cell.get("id")
        if not _label(cell) and (not isinstance(own, str) or own in taken or not own.isascii() or len(own) > 64):
            own = f"cell-{index}"
            while own in taken:
                own += "-"
        taken.add(own)
        cell["id"] = own
    nb.nbformat, nb.nbformat_minor = 4, 5


def _spoken(one: Released) -> str:
    if one.is_test:
        return f"the check of {one.grade_id.removeprefix(CHECK)}"
    if one.metadata["grade"]:
        return f"the written answer {one.grade_id}"
    return one.grade_id if one.metadata["solution"] else f"the text {one.grade_id}"


def is_test_of(cell) -> str | None:
    """The exercise that a cell tests; None for any other cell."""
    if nbgrader_utils.is_grade(cell) and not nbgrader_utils.is_solution(cell):
        return _label(cell).removeprefix(CHECK)
    return None
