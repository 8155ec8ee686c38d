"""Numbers of exercises: in an assignment's headings, in its table with their points, and wherever the text names them."""

import re

from nbformat import NotebookNode

from autograder import settings

HEADING = re.compile(r"^## (?:(\d+) )?· ", re.MULTILINE)
ROW = re.compile(
    r"^\| (?:\d+ )?· (?P<title>.+?) \|(?P<points>[^|]*)\| (?P<effort>[●○]+) \| (?P<minutes>\d+) \|$", re.MULTILINE
)
NAMED = re.compile(r"\b([Ee]xercises? )(\d+(?:(?:, | and | or | to )\d+)*)(?!\d| of assignment)")


def number(nb: NotebookNode, exercises: dict) -> None:
    """Numbers an assignment's exercises in the order of their headings `## 3 · Title`; a new one begins `## · Title`.

    Rows of the table at its head, `| · title | | ●●○ | 15 |`, stand in the same order and receive numbers and points. What the
    text calls exercise 3 keeps meaning what it meant.

    Raises:
        KitError: the table has not one row for each heading.
    """
    points, old = _points_by_heading(nb, exercises), []
    for cell in _text_cells(nb):
        old += [int(digits) if digits else None for digits in HEADING.findall(cell.source)]
    rows = sum(len(ROW.findall(cell.source)) for cell in _text_cells(nb))
    if rows != len(old):
        raise settings.KitError(
            f"the table at the assignment's head has {rows} rows, and there are {len(old)} exercises"
        )
    new = {before: now for now, before in enumerate(old, start=1) if before}
    headings, lines = iter(range(1, len(old) + 1)), iter(range(1, len(old) + 1))
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = HEADING.sub(lambda _: f"## {next(headings)} · ", cell.source)
            cell.source = ROW.sub(lambda row: _table_row(row, next(lines), points), cell.source)
        cell.source = NAMED.sub(
            lambda named: named[1] + re.sub(r"\d+", lambda n: _new_number(n[0], new), named[2]), cell.source
        )


def _text_cells(nb: NotebookNode) -> list:
    return [cell for cell in nb.cells if cell.cell_type == "markdown"]


def _points_by_heading(nb: NotebookNode, exercises: dict) -> list[float]:
    """The points of what stands under each heading: an exercise's, or those of a written answer."""
    points: list[float] = []
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            points += [0] * len(HEADING.findall(cell.source))
        checked = re.search(r"^check\((\w+)\)\s*\Z", cell.source, re.MULTILINE) if cell.cell_type == "code" else None
        marks = cell.metadata.get("nbgrader", {})
        if points and checked and checked[1] in exercises:
            points[-1] += exercises[checked[1]].max_points
        elif points and marks.get("grade") and marks.get("solution"):
            points[-1] += marks["points"]
    return points


def _table_row(row: re.Match, number: int, points: list[float]) -> str:
    worth = points[number - 1] or "stretch"
    return f"| {number} · {row['title']} | {worth} | {row['effort']} | {row['minutes']} |"


def _new_number(number: str, new: dict[int, int]) -> str:
    return str(new.get(int(number), number))
