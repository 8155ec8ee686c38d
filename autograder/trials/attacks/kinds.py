"""What an attack is, and the notebooks that attacks are made of."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from autograder import settings

# of a notebook in place; bytes that it returns are handed in instead
Change = Callable[[nbformat.NotebookNode], object]

UNIT = "04_attention_layer"
FULL = 18  # the automatic points of the unit
FIRST = "attention_scores"  # the exercise that most attacks try to get marks for


@dataclass(frozen=True)
class Attack:
    """One attempt to cheat, to do harm, or to stop a class.

    Attributes:
        name: a few words, also the student's name in the class that is graded.
        aim: what it tries, for the table.
        code: a cell put before the first exercise; or a function that changes the notebook and returns bytes.
        solved: whether the rest of the notebook is solved, so that it deserves full marks; else it deserves nothing.
        deserves: the score it has worked for, where that is neither nothing nor all.
        files: other files that are handed in with it, name -> bytes.
        instead: whether those files are all that is handed in.
        stock: whether it is tried on stock nbgrader; some would harm the machine there.
        weak: whether limits alone are no help against it: it reads or changes files as the user who grades.
    """

    name: str
    aim: str
    code: str | Change = ""
    solved: bool = False
    deserves: float | None = None
    files: dict = field(default_factory=dict)
    instead: bool = False
    stock: bool = True
    weak: bool = False

    @property
    def score(self) -> float:
        return self.deserves if self.deserves is not None else FULL if self.solved else 0


def build(
    attack: Attack, released: nbformat.NotebookNode, solved: nbformat.NotebookNode, folder: Path, port: int = 0
) -> dict[str, bytes]:
    """The files that the attack hands in, by name; it knows where the repository and the class's folder are, and whom to call.

    Args:
        port: of this machine, where whoever runs the attacks listens; 0 if nobody does.
    """
    notebook = filled(released, solved) if attack.solved else nbformat.from_dict(released)
    data = None
    if callable(attack.code):
        data = attack.code(notebook)
    else:
        notebook.cells.insert(place(notebook, FIRST), nbformat.v4.new_code_cell(attack.code))
    data = data if isinstance(data, bytes) else json.dumps(notebook).encode()
    marks = {"@ROOT@": str(settings.ROOT), "@CLASS@": str(folder), "@NAME@": attack.name, "@PORT@": str(port)}
    for mark, text in marks.items():
        data = data.replace(mark.encode(), text.encode())
    return {**attack.files, **({} if attack.instead else {f"{UNIT}.ipynb": data})}


def filled(released: nbformat.NotebookNode, solved: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The assignment with the solution's code in it."""
    sources = {cell.id: cell.source for cell in solved.cells if cell.metadata.get("nbgrader", {}).get("solution")}
    notebook = nbformat.from_dict(released)
    for cell in notebook.cells:
        if cell.id in sources and cell.cell_type == "code":
            lines = sources[cell.id].splitlines()
            cell.source = "\n".join(line for line in lines if "### BEGIN SOL" not in line and "### END SOL" not in line)
    return notebook


def place(notebook: nbformat.NotebookNode, grade_id: str) -> int:
    """Where the cell with this label stands."""
    labels = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    return labels.index(grade_id)


def answer(source: str, exercise: str = FIRST) -> Callable:
    """A change that puts `source` into an exercise's cell."""

    def change(notebook):
        notebook.cells[place(notebook, exercise)].source = source

    return change
