"""What a reader meets: folded machinery, numbered captions, and honest minutes."""

import ast
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder import settings
from autograder.authoring.reading import CAPTION, lay_out, lines_in_view, minutes

LESSONS = sorted(settings.LESSONS.glob("*.ipynb"))
NOTEBOOKS = [*LESSONS, *sorted(settings.ASSIGNMENTS.glob("*/*.ipynb"))]
LONGEST = 75  # minutes


def lesson(*cells):
    return new_notebook(cells=list(cells))


def test_captions_are_numbered_through_the_lesson_whatever_numbers_they_had():
    nb = lesson(
        new_markdown_cell("**Figure.** One.\n\nText."), new_markdown_cell("**Figure 7.** Two.\n\n**Figure.** Three.")
    )
    for _ in range(2):
        lay_out(nb)
        assert [cell.source for cell in nb.cells] == [
            "**Figure 1.** One.\n\nText.",
            "**Figure 2.** Two.\n\n**Figure 3.** Three.",
        ]


def test_what_is_tagged_is_folded_in_jupyterlab_and_colab():
    nb = lesson(new_code_cell("x = 1", metadata={"tags": ["fold"]}), new_code_cell("y = 2"))
    lay_out(nb)
    assert nb.cells[0].metadata["jupyter"]["source_hidden"] and nb.cells[0].metadata["cellView"] == "form"
    assert "jupyter" not in nb.cells[1].metadata
    assert lines_in_view(nb) == 1


def test_minutes_follow_the_rule_and_are_stated():
    aside = "<details><summary>Going further: more</summary>\n\n" + "word " * 5000 + "\n\n</details>"
    nb = lesson(
        new_markdown_cell("**Time** about 3 minutes to read; quick."),
        new_markdown_cell("word " * 1300 + "\n\n" + aside),  # ten minutes
        new_code_cell("\n\n".join(["x = 1"] * 40)),  # four
        new_markdown_cell("**Figure.** x\n\n" * 2 + "## References\n\n" + "word " * 5000),  # one
    )
    lay_out(nb)
    assert minutes(nb) == 20  # fifteen and a few words
    assert nb.cells[0].source == "**Time** about 20 minutes to read; quick."


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_read_within_its_bound(path):
    nb = nbformat.read(path, as_version=4)
    stated = re.search(r"\*\*Time\*\* about (\d+) minutes", nb.cells[0].source)
    assert int(stated[1]) == minutes(nb) <= LONGEST


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_figure_has_a_caption_below_it(path):
    cells = nbformat.read(path, as_version=4).cells
    drawing = [place for place, cell in enumerate(cells) if cell.cell_type == "code" and _shows_a_picture(cell)]
    assert drawing
    for place in drawing:
        assert place + 1 < len(cells) and CAPTION.match(cells[place + 1].source), cells[place].source[-300:]


def _shows_a_picture(cell) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell.outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_code_in_prose_stands_in_lines_of_its_own_and_is_python(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            fences = re.findall(r"^```.*$", cell.source, re.MULTILINE)
            assert fences[::2] == [one for one in fences[::2] if re.fullmatch(r"```\w*", one)], fences
            assert set(fences[1::2]) <= {"```"} and len(fences) % 2 == 0, fences
            for code in re.findall(r"^```python\n(.*?)^```$", cell.source, re.MULTILINE | re.DOTALL):
                ast.parse(code)


NUMBERED = re.compile(r"\s*\d+[.)] ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_line_in_the_midst_of_a_paragraph_begins_like_an_item_of_a_list(path):
    """A number at a sentence's end, moved to the next line, would be shown as the start of a list."""
    for cell in nbformat.read(path, as_version=4).cells:
        blocks = re.split(r"\n\s*\n", cell.source) if cell.cell_type == "markdown" else []
        paragraphs = [block.splitlines() for block in blocks if not re.match(r"\s*(\d+[.)]|[-*]) |\s*\$\$", block)]
        assert not [line for lines in paragraphs for line in lines[1:] if NUMBERED.match(line)], cell.id


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_printed_line_is_wider_than_a_page(path):
    printed = [
        out.get("text", "") for cell in nbformat.read(path, as_version=4).cells for out in cell.get("outputs", [])
    ]
    assert not [line for text in printed for line in text.splitlines() if len(line) > 100]
