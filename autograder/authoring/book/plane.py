"""The numbers of the first page's live picture: words, data vectors and queries, as lesson 04 writes them."""

import ast
import json

import nbformat

from autograder import settings

UNIT = "04"
NAMES = ("words", "X", "asked", "Q")


def numbers() -> str:
    """The four names with their values, as JSON.

    Raises:
        KitError: the lesson does not define them all, in one cell, by numbers that can be read off.
    """
    lesson = settings.LESSONS / f"{settings.find_unit(UNIT)}.ipynb"
    for cell in nbformat.read(lesson, as_version=4).cells:
        literals = _literals(cell.source) if cell.cell_type == "code" and "asked = " in cell.source else {}
        if all(name in literals for name in NAMES):
            return json.dumps({name: literals[name] for name in NAMES}, ensure_ascii=False)
    raise settings.KitError(
        f"{lesson.name} has no cell that defines {', '.join(NAMES)}; the book's first page draws them."
    )


def _literals(source: str) -> dict[str, list]:
    literals = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value.args[0] if isinstance(statement.value, ast.Call) else statement.value
            try:
                literals[statement.targets[0].id] = ast.literal_eval(value)
            except ValueError:
                pass  # a value that is computed is none of those that are drawn
    return literals
