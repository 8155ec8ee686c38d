"""Brings a submitted notebook into the shape that grading needs: every marked cell once, in its place, with its label."""

import re

import nbformat
from nbformat import NotebookNode

from autograder.intake.marked_cells import Released, at, defined, defines, finished, ids, label, spoken
from autograder.intake.misplaced_work import adopt_answer, adopt_work, holds_work, join_split, rescue_from_locked
from autograder.settings import CHECK

_VALID_ID = re.compile(r"[\w-]{1,64}", re.ASCII)


def repair(nb: NotebookNode, released: list[Released]) -> NotebookNode:
    """A copy of the notebook with each released cell in it once, labelled, in its order, and locked cells as released.

    The submission itself is not touched. `metadata.course.repairs` of the copy says what was done, in sentences.
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
        _keep_one(nb, cell, repairs)
        join_split(nb, cell, repairs)
        _retype(nb, cell, repairs)
    for index, cell in enumerate(released):
        if not cell.metadata or cell.metadata["grade"] or cell.is_locked:
            _insert_if_missing(nb, cell, released[:index], repairs)
    _restore_order(nb, released, repairs)
    for cell in marked:
        adopt_answer(nb, cell, texts, repairs)
        _restore_locked(nb, cell)
    _fresh_ids(nb)
    nb.metadata["course"] = {"repairs": repairs}
    return nb


def _forget_unknown(nb: NotebookNode, by_id: dict) -> None:
    """Drops labels that the assignment does not know, and restores those it does to their released form."""
    for cell in nb.cells:
        if not isinstance(cell.metadata.get("nbgrader", {}), dict) or label(cell) not in by_id:
            cell.metadata.pop("nbgrader", None)
        else:
            cell.metadata["nbgrader"] = nbformat.from_dict(by_id[label(cell)].metadata)


def _relabel(nb: NotebookNode, released: list[Released], repairs: list) -> None:
    """Finds cells whose label is gone: by cell id, then by the name they define or check."""
    restored = []
    for one in released:
        if at(nb, one):
            continue
        candidates = [cell for cell in nb.cells if label(cell) is None]
        by_id = [cell for cell in candidates if one.grade_id in ids(cell) and _plausible(cell, one)]
        found = by_id or [cell for cell in candidates if _stands_for(cell, one)]
        if found:
            _most_likely(nb, found, one).metadata["nbgrader"] = nbformat.from_dict(one.metadata)
            restored.append(spoken(one))
    if restored:
        which = restored[0] if len(restored) == 1 else f"{len(restored)} marked cells"
        repairs.append(f"The label of {which} was missing; it was recognised and restored.")


def _most_likely(nb: NotebookNode, found: list, one: Released) -> NotebookNode:
    """Of several cells that may be an exercise's, the last that stands before its check and holds work; else the last."""
    check = f"check({one.grade_id})"
    before = next((index for index, cell in enumerate(nb.cells) if cell.source.strip() == check), len(nb.cells))
    early = [cell for index, cell in enumerate(nb.cells) if index < before and any(cell is each for each in found)]
    worked = [cell for cell in early if one.grade_id in finished(cell)]
    return (worked or early or found)[-1]


def _plausible(cell: NotebookNode, one: Released) -> bool:
    """Whether a cell with the right id still is that cell, not one pasted over."""
    return one.cell_type == "markdown" or not defines(one) or defined(cell) & defines(one) != set()


def _stands_for(cell: NotebookNode, one: Released) -> bool:
    if one.is_test:
        return cell.cell_type == "code" and cell.source.strip() == f"check({one.grade_id.removeprefix(CHECK)})"
    if one.metadata["grade"] or one.metadata["locked"]:
        return False
    return bool(defined(cell) & defines(one))


def _keep_one(nb: NotebookNode, one: Released, repairs: list) -> None:
    """Of several cells with one label, the last that holds work keeps it; untouched copies go.

    A written answer that was split is joined again. Code that was split runs piece by piece, as it stands.
    """
    places = at(nb, one)
    if len(places) < 2:
        return
    worked = [index for index in places if not one.is_test and holds_work(nb.cells[index], one)]
    kept = (worked or places)[-1]
    if one.is_written:
        texts = dict.fromkeys(nb.cells[index].source.strip() for index in worked)
        nb.cells[kept].source = "\n\n".join(texts) or one.source
    elif worked and one.metadata["solution"]:
        kept = next((index for index in reversed(worked) if one.grade_id in finished(nb.cells[index])), kept)
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
    repairs.append(f"The cell for {spoken(one)} was there {len(places)} times; {told}.")


def _retype(nb: NotebookNode, one: Released, repairs: list) -> None:
    """A cell whose type was changed gets its own back; a test that is no code would run nothing and cost nothing."""
    for index in at(nb, one):
        cell = nb.cells[index]
        if cell.cell_type != one.cell_type:
            make = nbformat.v4.new_code_cell if one.cell_type == "code" else nbformat.v4.new_markdown_cell
            nb.cells[index] = make(cell.source, metadata=cell.metadata)
            repairs.append(f"The cell for {spoken(one)} had become {cell.cell_type}; it is {one.cell_type} again.")


def _insert_if_missing(nb: NotebookNode, one: Released, before: list[Released], repairs: list) -> None:
    if at(nb, one):
        return
    places = [index for earlier in before for index in at(nb, earlier)]
    new = (nbformat.v4.new_code_cell if one.cell_type == "code" else nbformat.v4.new_markdown_cell)(one.source)
    new["id"] = one.grade_id
    if one.metadata:
        new.metadata["nbgrader"] = nbformat.from_dict(one.metadata)
    nb.cells.insert(max(places, default=-1) + 1, new)
    if not one.is_locked or one.is_test:
        repairs.append(f"The cell for {spoken(one)} had been deleted; it was put back.")


def _restore_order(nb: NotebookNode, released: list[Released], repairs: list) -> None:
    """Released cells that were moved go back to their order, each to a place where one of them stood.

    The student's own cells stay where they are.
    """
    present = [places[0] for one in released if (places := at(nb, one))]
    if present == sorted(present):
        return
    cells = list(nb.cells)
    for place, origin in zip(sorted(present), present):
        nb.cells[place] = cells[origin]
    repairs.append("Cells stood in another order than they were handed out in; they were put back into it.")


def _restore_locked(nb: NotebookNode, one: Released) -> None:
    """Gives a locked cell its released text."""
    if one.is_locked:
        (index,) = at(nb, one)
        nb.cells[index].source = one.source


def _fresh_ids(nb: NotebookNode) -> None:
    """Cell ids must be unique and well-formed; marked cells get their label, others keep a valid id of their own."""
    taken = {named for cell in nb.cells if (named := label(cell))}
    for index, cell in enumerate(nb.cells):
        own = label(cell) or cell.get("id")
        if not label(cell) and (not isinstance(own, str) or own in taken or not _VALID_ID.fullmatch(own)):
            own = f"cell-{index}"
            while own in taken:
                own += "-"
        taken.add(own)
        cell["id"] = own
    nb.nbformat, nb.nbformat_minor = 4, 5
