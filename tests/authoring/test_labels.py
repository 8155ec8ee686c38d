"""Labels of folded cells: what they say, and that a lesson's cells begin with them."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder import settings
from autograder.authoring.labels import TITLE, give_titles, label, without_title
from autograder.authoring.reading import is_folded


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("# draws a line\nx = 1", "draws a line"),
        ("show(x)", "draws Figure 3"),
        ("explore(\n    draw,\n)", "explorer of Figure 3"),
        ("import torch\nx = 1", "imports and settings"),
        ("assert_close(a, b)\nassert x", "assertions"),
        ("def f(x):\n    return x\n\n\nclass G:\n    pass", "defines f, G"),
        ('def f(x):\n    """Doubles x."""\n    return 2 * x', "defines f · Doubles x"),
        ("x, y = 1, 2\nx.z = 3", "computes x, y"),
        ("for x in y:\n    x.z()", "computes what follows"),
        ("for x in y:\n    print(x)", "prints the lines below"),
        ("def f():\n    print(1)", "defines f"),
        ("x = 2\nassert x\nprint(x)", "checks the claims and prints the lines below"),
    ],
)
def test_a_label_says_what_a_cell_holds(source, said):
    following = new_markdown_cell("**Figure 3.** A line.")
    assert label(new_code_cell(source), following) == said
    assert label(new_code_cell(f"{TITLE}Something old\n{source}"), following) == said
    assert label(new_code_cell(source, metadata={"label": "its own"}), following) == "its own"


def test_only_folded_cells_get_a_title_and_only_one():
    nb = new_notebook(
        cells=[
            new_code_cell("x = 1"),
            new_code_cell("assert x", metadata={"tags": ["fold"]}),
            new_code_cell("# what it does", metadata={"tags": ["setup"]}),
        ]
    )
    for _ in range(2):
        give_titles(nb)
        assert [cell.source for cell in nb.cells] == ["x = 1", f"{TITLE}Assertions\nassert x", "# what it does"]
    assert without_title(nb.cells[1].source) == "assert x" and without_title("x = 1") == "x = 1"


@pytest.mark.parametrize("twin", sorted(settings.LESSON_TWINS.glob("*.py")), ids=lambda path: path.stem)
def test_the_folded_cells_of_a_lesson_have_titles(twin):
    nb = nbformat.read(settings.LESSONS / f"{twin.stem}.ipynb", as_version=4)
    folded = [cell for cell in nb.cells if is_folded(cell) and "setup" not in cell.metadata.tags]
    assert folded and all(cell.source.startswith(TITLE) for cell in folded)
