"""What prose quotes is what the run shows: numbers, and words of the languages that models write."""

import re

import nbformat
import pytest

from autograder import settings
from utils.data.translation import vocabulary

LESSONS = sorted(settings.LESSONS.glob("*.ipynb"))
NOT_PROSE = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|https?://\S+|\]\([^)]*\)", re.DOTALL)
QUOTED = re.compile(r"(?<![\w.])(\d+\.\d+|\d+(?= ?%))(?![\w.]*\.\d)")  # decimal numbers and percentages
SOURCE = re.compile(r"\b(19|20)\d\d\b|et al\.|\bpaper\b|\bslides?\b|\bdecks?\b|\bsection \d|\btable \d")
ITALIC = re.compile(r"(?<![*\w])(?<!\* is )\*([^*\n]+)\*(?!\*)")  # but not in "*a house* is *una casa*"


def outputs(notebook) -> str:
    """What a reader sees below the cells, descriptions of figures included."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts += [output.get("text", ""), *(data.get(kind, "") for kind in ("text/plain", "text/html"))]
            texts.append(str(output.get("metadata", "")))
    return "\n".join(texts)


def told(number: str, shown: list[float]) -> bool:
    """Whether a number is one of those shown, rounded to the digits quoted; shares may be quoted as percentages."""
    digits = len(number.partition(".")[2])
    return any(abs(round(scale * one, digits) - float(number)) < 1e-9 for one in shown for scale in (1, 100))


def without_a_source(notebook) -> list[str]:
    """The numbers in a notebook's prose that no output shows, in cells that cite nothing."""
    shown = [float(one) for one in re.findall(r"\d+\.\d+|\d+", outputs(notebook).replace(",", ""))]
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown" and not SOURCE.search(cell.source)]
    return [number for text in prose for number in QUOTED.findall(NOT_PROSE.sub("", text)) if not told(number, shown)]


def unseen_words(notebook) -> list[str]:
    """Phrases of several words of a target language that stand in italics, and that neither outputs nor code show."""
    english = set(vocabulary("english").words)
    foreign = set().union(*(vocabulary(one).words for one in ("french", "italian", "spanish"))) - english
    seen = outputs(notebook) + "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    phrases = [one for cell in notebook.cells if cell.cell_type == "markdown" for one in ITALIC.findall(cell.source)]
    return [one for one in phrases if " " in one and set(one.split()) <= foreign and one not in seen]


def notebook(prose: str, output: str):
    shown = nbformat.v4.new_output("stream", text=output)
    code = nbformat.v4.new_code_cell("print(x)", outputs=[shown])
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(prose), code])


@pytest.mark.parametrize(
    ("prose", "output", "expected"),
    [
        ("It reaches 0.98.", "0.9813", []),
        ("It reaches 0.98.", "0.9713", ["0.98"]),
        ("In 37 % of all cases.", "0.372", []),
        ("In 38 % of all cases.", "0.372", ["38"]),
        ("Luong et al. (2015) reach 20.9.", "", []),
        ("With $p = 0.25$ and `0.5`.", "", []),
    ],
)
def test_a_number_that_the_run_does_not_show_is_found(prose, output, expected):
    assert without_a_source(notebook(prose, output)) == expected


def test_a_word_that_no_model_wrote_is_found():
    assert unseen_words(notebook("It writes *una casa*; *a house* is *una casa*.", "la casa")) == ["una casa"]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_prose_quotes_what_the_run_shows_or_a_source(path):
    lesson = nbformat.read(path, as_version=4)
    assert without_a_source(lesson) == []
    assert unseen_words(lesson) == []
