"""Exercises are numbered as they stand, and what the text calls by a number keeps its meaning."""

from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.authoring.numbering import number
from autograder.settings import KitError

TABLE = """| exercise | points | difficulty | minutes |
|---|---|---|---|
| 1 · scores | 7 | ●○○ | 10 |
| · new | | ●●○ | 15 |
| 2 · weights | 2 | ●○○ | 10 |
| 3 · a written answer | | ●○○ | 5 |"""
EXERCISES = {name: SimpleNamespace(max_points=points) for name, points in {"a": 2, "b": 0, "c": 3}.items()}


def assignment(table=TABLE):
    written = new_markdown_cell("words", metadata={"nbgrader": {"grade": True, "solution": True, "points": 4}})
    return new_notebook(
        cells=[
            new_markdown_cell(table),
            new_markdown_cell("## 1 · Scores\nExercises 1 and 2, not exercise 2 of assignment 01."),
            new_code_cell("check(a)"),
            new_markdown_cell("## · New\nAs in exercise 1."),
            new_code_cell("check(b)"),
            new_markdown_cell("## 2 · Weights"),
            new_code_cell("print('as exercises 1 to 3 do')\ncheck(c)"),
            new_markdown_cell("## 3 · A written answer"),
            written,
            new_markdown_cell("## What is done"),
        ]
    )


def test_a_new_exercise_gets_its_number_and_the_others_move_on():
    nb = assignment()
    number(nb, EXERCISES)
    text = "\n".join(cell.source for cell in nb.cells)
    assert [row for row in text.splitlines() if "| ●" in row] == [
        "| 1 · scores | 2 | ●○○ | 10 |",
        "| 2 · new | stretch | ●●○ | 15 |",
        "| 3 · weights | 3 | ●○○ | 10 |",
        "| 4 · a written answer | 4 | ●○○ | 5 |",
    ]
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## 1 · Scores", "## 2 · New", "## 3 · Weights", "## 4 · A written answer", "## What is done"]
    assert "Exercises 1 and 3, not exercise 2 of assignment 01." in text
    assert "As in exercise 1." in text and "as exercises 1 to 4 do" in text


def test_numbering_again_changes_nothing():
    nb = assignment()
    number(nb, EXERCISES)
    once = [cell.source for cell in nb.cells]
    number(nb, EXERCISES)
    assert [cell.source for cell in nb.cells] == once


def test_a_table_that_lacks_an_exercise_is_told():
    with pytest.raises(KitError, match="3 rows, and there are 4"):
        number(assignment(TABLE.replace("| · new | | ●●○ | 15 |\n", "")), EXERCISES)
