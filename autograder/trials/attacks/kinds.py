"""What an attack is, and the notebooks that attacks are made of."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import nbformat

from autograder import settings

# of a notebook in place; bytes that it returns are handed in instead
Change = Callable[[nbformat.NotebookNode], object]

UNIT = "04_attention_layer"
FULL = 18  # the automatic points of the unit
FIRST = "attention_scores"  # the exercise that most attacks try to get marks for


@dataclass(frozen=True)
class Remains:
    """What an attack is known to get, or to do, although it should not.

    Attributes:
        why: a sentence on what it would take to stop it.
        score: the most that it gets; None for what it deserves.
        harm: what it does, in the words of the table; it may do less.
        levels: the sandbox levels at which it remains; none for all of them.
        always: whether it gets this in each run; if not, numbers that are drawn, or the moment, can be against it.
    """

    why: str
    score: float | None = None
    harm: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    always: bool = True

    def at(self, level: str) -> bool:
        return not self.levels or level in self.levels


@dataclass(frozen=True)
class Attack:
    """One attempt to cheat, to do harm, or to stop a class.

    Attributes:
        name: a few words, also the student's name in the class that is graded, unless that is said by `student`.
        aim: what it tries, for the table.
        code: a cell put before the first exercise; or a function that changes the notebook and returns bytes.
        solved: whether the rest of the notebook is solved, so that it deserves full marks; else it deserves nothing.
        deserves: the score it has worked for, where that is neither nothing nor all.
        files: other files that are handed in with it, name -> bytes.
        instead: whether those files are all that is handed in.
        stock: whether it is tried on stock nbgrader; some would harm the machine there.
        weak: whether limits alone are no help against it: it reads or changes files as the user who grades.
        unit: the unit that it is handed in for; in another one than UNIT, it is a change, and says what it deserves.
        student: the student's name, where that is part of the attack.
        remains: what is known not to be stopped; the table says so, and it counts as no fault.
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
    unit: str = UNIT
    student: str = ""
    remains: Remains | None = None

    @property
    def who(self) -> str:
        return self.student or self.name

    @property
    def score(self) -> float:
        return self.deserves if self.deserves is not None else FULL if self.solved else 0


def build(
    attack: Attack,
    released: nbformat.NotebookNode,
    solved: nbformat.NotebookNode,
    folder: Path,
    others: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, bytes]:
    """The files that the attack hands in, by name; it knows where the repository and the class's folder are.

    Args:
        others: what else it knows: texts for words such as @PORT@ in its code.
    """
    notebook = filled(released, solved) if attack.solved else nbformat.from_dict(released)
    data = None
    if callable(attack.code):
        data = attack.code(notebook)
    else:
        notebook.cells.insert(place(notebook, FIRST), nbformat.v4.new_code_cell(attack.code))
    data = data if isinstance(data, bytes) else json.dumps(notebook).encode()
    marks = {"@ROOT@": str(settings.ROOT), "@CLASS@": str(folder), "@NAME@": attack.name, "@PORT@": "0", **others}
    for mark, text in marks.items():
        data = data.replace(mark.encode(), text.encode())
    return {**attack.files, **({} if attack.instead else {f"{attack.unit}.ipynb": data})}


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


def answer(source: str, exercise: str = FIRST, last: str = "") -> Change:
    """A change that puts `source` into an exercise's cell, and code of which there is any into a last cell."""

    def change(notebook):
        notebook.cells[place(notebook, exercise)].source = source
        notebook.cells += [nbformat.v4.new_code_cell(last)] if last else []

    return change


def before_check(source: str, exercise: str) -> Change:
    """A change that puts a cell of `source` just before an exercise is examined."""

    def change(notebook):
        notebook.cells.insert(place(notebook, f"check_{exercise}"), nbformat.v4.new_code_cell(source))

    return change


def after_every_stub(source: str) -> Change:
    """A change that puts a cell before each check, so that what it defines as NAME is what is checked."""

    def change(notebook):
        for cell in [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")]:
            if cell.cell_type == "code":
                name = cell.metadata.nbgrader.grade_id
                before_check(source.replace("NAME", name), name)(notebook)

    return change


def at_the_end(*sources: str) -> Change:
    """A change that puts cells behind all others."""

    def change(notebook):
        notebook.cells += map(nbformat.v4.new_code_cell, sources)

    return change
