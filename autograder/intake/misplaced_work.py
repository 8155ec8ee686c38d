"""Finds a student's work that does not stand where it belongs: in other cells, in pieces, in checks, in texts."""

import nbformat
from nbformat import NotebookNode

from autograder.intake.marked_cells import Released, at, defined, defines, finished, is_locked, label, spoken
from autograder.intake.student_code import parses
from autograder.settings import CHECK


def rescue_from_locked(nb: NotebookNode, one: Released, texts: set[str], repairs: list) -> None:
    """Keeps what a student wrote into a cell that is restored later, a check or a question, in a cell of its own beside it."""
    if not one.is_locked:
        return
    for index in reversed(at(nb, one)):
        cell = nb.cells[index]
        untouched_texts = {f"check({one.grade_id.removeprefix(CHECK)})", one.source.strip(), *texts}
        if cell.source.strip() in untouched_texts or not (one.is_test or texts):
            continue
        repairs.append(f"The cell for {spoken(one)} had been edited; it was restored.")
        kept = [line for line in cell.source.splitlines() if not line.strip().startswith("check(")]
        if defined(cell):
            nb.cells.insert(index, nbformat.v4.new_code_cell("\n".join(kept)))
            repairs.append(f"What had been written into {spoken(one)} was kept in a cell of its own.")
        elif not one.is_test and cell.source.strip():
            nb.cells.insert(index + 1, nbformat.v4.new_markdown_cell(cell.source))


def adopt_work(nb: NotebookNode, released: list[Released], repairs: list) -> None:
    """Where an exercise's cell holds only a stub and the work stands in another cell, that cell takes its place.

    Where the other cell is an exercise's already, only the stub goes.
    """
    for released_cell in released:
        places = at(nb, released_cell)
        if (
            not defines(released_cell)
            or not places
            or any(holds_work(nb.cells[place], released_cell) for place in places)
        ):
            continue
        others = [cell for index, cell in enumerate(nb.cells) if index not in places and not is_locked(cell)]
        with_work = [cell for cell in others if released_cell.grade_id in finished(cell)]
        own = [cell for cell in with_work if label(cell) is None]
        if own:
            own[-1].metadata["nbgrader"] = nbformat.from_dict(released_cell.metadata)
            nb.cells = [cell for index, cell in enumerate(nb.cells) if index not in places]
        elif with_work:
            for place in places:
                nb.cells[place].source = f"# {released_cell.grade_id} is in another cell"
        if with_work:
            repairs.append(
                f"The work for {released_cell.grade_id} stood in another cell; it was taken for the exercise's."
            )


def holds_work(cell: NotebookNode, one: Released) -> bool:
    """Whether a cell holds more than the exercise's stub, as it was handed out or in other words."""
    if cell.source.strip() == one.source.strip():
        return False
    if not defines(one):
        return True
    code = "\n".join(line for line in cell.source.splitlines() if line.strip() and not line.strip().startswith("#"))
    return bool(code) and (one.grade_id in finished(cell) or one.grade_id not in defined(cell))


def join_split(nb: NotebookNode, one: Released, repairs: list) -> None:
    """Joins an answer that was split in the middle of its code: pieces that are Python together, but not each by itself."""
    if not defines(one) or len(places := at(nb, one)) != 1:
        return
    cell, joined = nb.cells[places[0]], 0
    for other in nb.cells[places[0] + 1 : places[0] + 4]:
        together = f"{cell.source}\n{other.source}"
        if other.cell_type != "code" or is_locked(other) or not parses(together):
            break
        if parses(cell.source) and parses(other.source):
            break
        cell.source, other.source, joined = together, "", joined + 1
    if joined:
        repairs.append(f"The cell for {spoken(one)} had been split; its pieces were joined.")


def adopt_answer(nb: NotebookNode, one: Released, texts: set[str], repairs: list) -> None:
    """A written answer that stands in texts of the student's own, before the next marked cell, is copied to its cell."""
    if not one.is_written or not texts:
        return
    (place,) = at(nb, one)
    if nb.cells[place].source.strip() not in ("", one.source.strip()):
        return
    code = (index for index in range(place) if label(nb.cells[index]) and nb.cells[index].cell_type == "code")
    start = max(code, default=-1)
    end = next((index for index in range(place + 1, len(nb.cells)) if label(nb.cells[index])), len(nb.cells))
    around = [cell for cell in nb.cells[start + 1 : end] if cell.cell_type != "code" and label(cell) is None]
    own = [cell.source.strip() for cell in around if cell.source.strip() and cell.source.strip() not in texts]
    if own:
        nb.cells[place].source = "\n\n".join(own)
        repairs.append(f"{spoken(one).capitalize()} stood in a cell of its own; it was copied to its place.")
