"""Brings a submitted notebook into the shape that grading needs: every marked cell once, in its place, with its label."""

from dataclasses import dataclass

import nbformat
from nbgrader import utils as nbgrader_utils
from nbgrader.api import Gradebook

from autograder.course import CHECK
from autograder.source import defined


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
    """The marked cells and, before them, the code cells that begin the assignment (its imports), which nbgrader leaves
    unmarked."""
    labels = [_label(cell) for cell in assignment.cells]
    first = min((labels.index(cell.grade_id) for cell in marked if cell.grade_id in labels), default=0)
    plain = [cell for cell in assignment.cells[:first] if cell.cell_type == "code"]
    return [*(Released(cell.id, "code", cell.source, {}) for cell in plain), *marked]


def repair(nb, released: list[Released]):
    """A copy of the notebook with each released cell in it once, labelled, in its order, and locked cells as released.

    The submission itself is not touched. `metadata.course.repairs` of the copy says what was done, in sentences.
    """
    nb = nbformat.from_dict(nb)
    marked = [cell for cell in released if cell.metadata]
    repairs = []
    _forget_unknown(nb, {cell.grade_id: cell for cell in marked})
    _relabel(nb, marked, repairs)
    _adopt_work(nb, marked, repairs)
    for cell in marked:
        _keep_one(nb, cell, repairs)
        _retype(nb, cell, repairs)
    for index, cell in enumerate(released):
        if not cell.metadata or cell.metadata["grade"] or cell.is_locked:
            _insert_if_missing(nb, cell, released[:index], repairs)
    _restore_order(nb, released, repairs)
    for cell in marked:
        _restore_locked(nb, cell, repairs)
    _fresh_ids(nb)
    nb.metadata["course"] = {"repairs": repairs}
    return nb


def _label(cell) -> str | None:
    marks = cell.metadata.get("nbgrader")
    return marks.get("grade_id") if isinstance(marks, dict) else None


def _at(nb, one: Released) -> list[int]:
    """The places of a released cell: by its label, or for one without by its id, else by its text."""
    if one.metadata:
        return [index for index, cell in enumerate(nb.cells) if _label(cell) == one.grade_id]
    plain = [(index, cell) for index, cell in enumerate(nb.cells) if cell.cell_type == "code" and _label(cell) is None]
    by_id = [index for index, cell in plain if cell.get("id") == one.grade_id and cell.source.strip()]
    return (by_id or [index for index, cell in plain if _first_line(cell.source) == _first_line(one.source)])[:1]


def _first_line(source: str) -> str:
    """What a cell without a label is known by where editors have replaced its id."""
    return next((line.strip() for line in source.splitlines() if line.strip()), "")


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
        if _at(nb, one):
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


def _adopt_work(nb, released: list[Released], repairs: list):
    """Where a stub was left as it was and the work stands in a cell of the student's own, that cell takes its place."""
    for one in released:
        places = _at(nb, one)
        if not _defines(one) or any(nb.cells[place].source.strip() != one.source.strip() for place in places):
            continue
        own = [cell for cell in nb.cells if _label(cell) is None and _defined(cell) & _defines(one)]
        if own and places:
            own[-1].metadata["nbgrader"] = nbformat.from_dict(one.metadata)
            nb.cells = [cell for index, cell in enumerate(nb.cells) if index not in places]
            repairs.append(
                f"The work for {one.grade_id} stood in a cell of its own; it was taken for the exercise's cell."
            )


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
    return defined(cell.source) if cell.cell_type == "code" else set()


def _keep_one(nb, one: Released, repairs: list):
    """Of several cells with one label, the last that holds work keeps it; untouched copies go.

    A written answer that was split is joined again. Code that was split runs piece by piece, as it stands.
    """
    places = _at(nb, one)
    if len(places) < 2:
        return
    worked = [index for index in places if not one.is_test and nb.cells[index].source.strip() != one.source.strip()]
    kept = (worked or places)[-1]
    if one.is_written:
        texts = dict.fromkeys(nb.cells[index].source.strip() for index in worked)
        nb.cells[kept].source = "\n\n".join(texts) or one.source
    elif worked and one.metadata["solution"]:
        kept = next((index for index in reversed(worked) if one.grade_id in _defined(nb.cells[index])), kept)
    gone = set()
    for index in places:
        if index == kept:
            continue
        if index in worked and not one.is_written and not one.is_locked:
            nb.cells[index].metadata.pop("nbgrader")
        else:
            gone.add(index)
    nb.cells = [cell for index, cell in enumerate(nb.cells) if index not in gone]
    told = "its pieces were joined" if one.is_written and len(worked) > 1 else "the last one that holds work counts"
    repairs.append(f"The cell for {_spoken(one)} was there {len(places)} times; {told}.")


def _retype(nb, one: Released, repairs: list):
    """A cell whose type was changed gets its own back; a test that is no code would run nothing and cost nothing."""
    for index in _at(nb, one):
        cell = nb.cells[index]
        if cell.cell_type != one.cell_type:
            make = nbformat.v4.new_code_cell if one.cell_type == "code" else nbformat.v4.new_markdown_cell
            nb.cells[index] = make(cell.source, metadata=cell.metadata)
            repairs.append(f"The cell for {_spoken(one)} had become {cell.cell_type}; it is {one.cell_type} again.")


def _insert_if_missing(nb, one: Released, before: list[Released], repairs: list):
    if _at(nb, one):
        return
    places = [index for earlier in before for index in _at(nb, earlier)]
    new = (nbformat.v4.new_code_cell if one.cell_type == "code" else nbformat.v4.new_markdown_cell)(one.source)
    new["id"] = one.grade_id
    if one.metadata:
        new.metadata["nbgrader"] = nbformat.from_dict(one.metadata)
    nb.cells.insert(max(places, default=-1) + 1, new)
    if not one.is_locked or one.is_test:
        repairs.append(f"The cell for {_spoken(one)} had been deleted; it was put back.")


def _restore_order(nb, released: list[Released], repairs: list):
    """Released cells that were moved go back to their order, each to a place where one of them stood.

    The student's own cells stay where they are.
    """
    present = [places[0] for one in released if (places := _at(nb, one))]
    if present == sorted(present):
        return
    cells = list(nb.cells)
    for place, origin in zip(sorted(present), present):
        nb.cells[place] = cells[origin]
    repairs.append("Cells stood in another order than they were handed out in; they were put back into it.")


def _restore_locked(nb, one: Released, repairs: list):
    """Gives a locked cell its released text; says so where a check had been edited."""
    if not one.is_locked:
        return
    (index,) = _at(nb, one)
    cell = nb.cells[index]
    if one.is_test and cell.source.strip() not in (f"check({one.grade_id.removeprefix(CHECK)})", one.source.strip()):
        repairs.append(f"The cell for {_spoken(one)} had been edited; it was restored.")
    cell.source = one.source


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
    if not one.metadata:
        return f"`{one.source.strip().splitlines()[0][:60]}`"
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
