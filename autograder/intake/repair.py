"""Brings a submitted notebook into the shape that grading needs: every marked cell once, in its place, with its label."""

import re

import nbformat
from nbformat import NotebookNode

from autograder.intake.guard import SECONDS, within
from autograder.intake.marked_cells import Released, at, defined, defines, finished, ids, label, spoken
from autograder.intake.misplaced_work import adopt_answer, adopt_work, holds_work, join_split, rescue_from_locked
from autograder.settings import CHECK

_VALID_ID = re.compile(r"[\w-]{1,64}", re.ASCII)


@within(SECONDS)
def repair(nb: NotebookNode, released: list[Released]) -> NotebookNode:
    """A copy of the notebook with each released cell in it once, labelled, in its order, and locked cells as released.

    The submission itself is not touched. `metadata.course.repairs` of the copy says what was done, in sentences.

    Raises:
        OutOfTime: it takes longer than for any notebook that is in good faith.
    """
    nb = nbformat.from_dict(nb)
    marked = [cell for cell in released if cell.metadata]
    texts = {cell.source.strip() for cell in released if not cell.metadata and cell.cell_type == "markdown"}
    released = [cell for cell in released if cell.metadata or cell.cell_type == "code"]
    repairs: list[str] = []
    _forget_unknown(nb, {cell.grade_id: cell for cell in marked})
    _relabel(nb, marked, repairs)
    for cell in marked:
        rescue_from_locked(nb, cell, texts, repairs)
    adopt_work(nb, marked, repairs)
    for cell in marked:
        _remove_copies(nb, cell, repairs)
        join_split(nb, cell, repairs)
        _retype(nb, cell, repairs)
    for index, cell in enumerate(released):
        if not cell.metadata or cell.metadata["grade"] or cell.is_locked:
            _insert_if_missing(nb, cell, released[:index], repairs)
    _restore_order(nb, released, repairs)
    for cell in marked:
        adopt_answer(nb, cell, texts, repairs)
        _restore_locked(nb, cell)
    _assign_ids(nb)
    nb.metadata["course"] = {"repairs": repairs}
    return nb


def _forget_unknown(nb: NotebookNode, by_id: dict) -> None:
    """Drops labels that the assignment does not know, and restores the labels that it knows to their released form."""
    for cell in nb.cells:
        if not isinstance(cell.metadata.get("nbgrader", {}), dict) or label(cell) not in by_id:
            cell.metadata.pop("nbgrader", None)
        else:
            cell.metadata["nbgrader"] = nbformat.from_dict(by_id[label(cell)].metadata)


def _relabel(nb: NotebookNode, released: list[Released], repairs: list) -> None:
    """Finds the cells whose label is gone, by cell id or else by the name that they define or check, and restores it."""
    restored_names = []
    for released_cell in released:
        if at(nb, released_cell):
            continue
        candidates = [cell for cell in nb.cells if label(cell) is None]
        by_id = [
            cell for cell in candidates if released_cell.grade_id in ids(cell) and _is_plausible(cell, released_cell)
        ]
        matching = by_id or [cell for cell in candidates if _stands_for(cell, released_cell)]
        if matching:
            _most_likely(nb, matching, released_cell).metadata["nbgrader"] = nbformat.from_dict(released_cell.metadata)
            restored_names.append(spoken(released_cell))
    if restored_names:
        which = restored_names[0] if len(restored_names) == 1 else f"{len(restored_names)} marked cells"
        repairs.append(f"The label of {which} was missing; it was recognised and restored.")


def _most_likely(nb: NotebookNode, candidates: list, released_cell: Released) -> NotebookNode:
    """Of several cells that may be an exercise's, the last that stands before its check and holds work; else the last."""
    check = f"check({released_cell.grade_id})"
    place_of_check = next((index for index, cell in enumerate(nb.cells) if cell.source.strip() == check), len(nb.cells))
    places = {id(candidate) for candidate in candidates}
    early = [cell for index, cell in enumerate(nb.cells) if index < place_of_check and id(cell) in places]
    with_work = [cell for cell in early if released_cell.grade_id in finished(cell)]
    return (with_work or early or candidates)[-1]


def _is_plausible(cell: NotebookNode, released_cell: Released) -> bool:
    """Whether a cell with the right id still is that cell, not one pasted over."""
    return (
        released_cell.cell_type == "markdown"
        or not defines(released_cell)
        or defined(cell) & defines(released_cell) != set()
    )


def _stands_for(cell: NotebookNode, released_cell: Released) -> bool:
    if released_cell.is_test:
        return (
            cell.cell_type == "code" and cell.source.strip() == f"check({released_cell.grade_id.removeprefix(CHECK)})"
        )
    if released_cell.metadata["grade"] or released_cell.metadata["locked"]:
        return False
    return bool(defined(cell) & defines(released_cell))


def _remove_copies(nb: NotebookNode, released_cell: Released, repairs: list) -> None:
    """Of several cells with the same label, the last that holds work keeps the label; untouched copies go.

    A written answer that was split is joined again. Code that was split runs piece by piece, as it stands.
    """
    places = at(nb, released_cell)
    if len(places) < 2:
        return
    with_work = [index for index in places if not released_cell.is_test and holds_work(nb.cells[index], released_cell)]
    kept = (with_work or places)[-1]
    if released_cell.is_written:
        texts = dict.fromkeys(nb.cells[index].source.strip() for index in with_work)
        nb.cells[kept].source = "\n\n".join(texts) or released_cell.source
    elif with_work and released_cell.metadata["solution"]:
        kept = next(
            (index for index in reversed(with_work) if released_cell.grade_id in finished(nb.cells[index])), kept
        )
    gone = set()
    for index in places:
        if index == kept:
            continue
        if index in with_work and not released_cell.is_written and not released_cell.is_locked:
            nb.cells[index].metadata.pop("nbgrader")
        else:
            gone.add(index)
    nb.cells = [cell for index, cell in enumerate(nb.cells) if index not in gone]
    remedy = (
        "its pieces were joined"
        if released_cell.is_written and len(with_work) > 1
        else "the last one that holds work counts"
    )
    repairs.append(f"The cell for {spoken(released_cell)} was there {len(places)} times; {remedy}.")


def _retype(nb: NotebookNode, released_cell: Released, repairs: list) -> None:
    """Gives a cell whose type was changed its own type back: a check that is no code would not be run, and cost no points."""
    for index in at(nb, released_cell):
        cell = nb.cells[index]
        if cell.cell_type != released_cell.cell_type:
            make = nbformat.v4.new_code_cell if released_cell.cell_type == "code" else nbformat.v4.new_markdown_cell
            nb.cells[index] = make(cell.source, metadata=cell.metadata)
            repairs.append(
                f"The cell for {spoken(released_cell)} had become {cell.cell_type}; it is {released_cell.cell_type} again."
            )


def _insert_if_missing(nb: NotebookNode, released_cell: Released, before: list[Released], repairs: list) -> None:
    if at(nb, released_cell):
        return
    places = [index for earlier in before for index in at(nb, earlier)]
    new_cell = (nbformat.v4.new_code_cell if released_cell.cell_type == "code" else nbformat.v4.new_markdown_cell)(
        released_cell.source
    )
    new_cell["id"] = released_cell.grade_id
    if released_cell.metadata:
        new_cell.metadata["nbgrader"] = nbformat.from_dict(released_cell.metadata)
    nb.cells.insert(max(places, default=-1) + 1, new_cell)
    if not released_cell.is_locked or released_cell.is_test:
        repairs.append(f"The cell for {spoken(released_cell)} had been deleted; it was put back.")


def _restore_order(nb: NotebookNode, released: list[Released], repairs: list) -> None:
    """Released cells that were moved go back to their order, each to a place where one of them stood.

    The student's own cells stay where they are.
    """
    present = [places[0] for released_cell in released if (places := at(nb, released_cell))]
    if present == sorted(present):
        return
    cells = list(nb.cells)
    for place, origin in zip(sorted(present), present):
        nb.cells[place] = cells[origin]
    repairs.append("Cells stood in another order than they were handed out in; they were put back into it.")


def _restore_locked(nb: NotebookNode, released_cell: Released) -> None:
    """Gives a locked cell its released text."""
    if released_cell.is_locked:
        (index,) = at(nb, released_cell)
        nb.cells[index].source = released_cell.source


def _assign_ids(nb: NotebookNode) -> None:
    """Makes cell ids unique and well-formed: marked cells get their label, other cells keep a valid id of their own."""
    taken = {grade_id for cell in nb.cells if (grade_id := label(cell))}
    for index, cell in enumerate(nb.cells):
        cell_id = label(cell) or cell.get("id")
        if not label(cell) and (not isinstance(cell_id, str) or cell_id in taken or not _VALID_ID.fullmatch(cell_id)):
            cell_id = f"cell-{index}"
            while cell_id in taken:
                cell_id += "-"
        taken.add(cell_id)
        cell["id"] = cell_id
    nb.nbformat, nb.nbformat_minor = 4, 5
