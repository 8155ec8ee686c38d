"""A notebook as the book shows it: folded, with descriptions of figures, and with links that lead somewhere."""

import copy
import html
import re

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.authoring import gallery
from autograder.authoring.book.places import BUNDLE, DOWNLOADS, address
from autograder.authoring.labels import is_explorer, label, without_title
from autograder.authoring.reading import is_folded

BADGE = re.compile(r"^.*<!-- badge -->.*\n*", re.MULTILINE)
HEADING = re.compile(r"\A(# .+\n)")
SUMMARY = re.compile(r"(<summary>)(.*?)(</summary>)", re.DOTALL)
IN_SUMMARY = re.compile(r"\$([^$]+)\$")
MOVE = (
    "The explorer as it opens, and with one control moved. To move it yourself, run this lesson as a notebook: {doors}."
)


def dressed(nb: NotebookNode, unit: str, path: str) -> NotebookNode:
    """A copy of a notebook for the book.

    Args:
        unit: its unit, such as 04_attention_layer.
        path: where it lies in the book, as in the repository: notebooks/04_attention_layer.ipynb.
    """
    nb, doors, depth = copy.deepcopy(nb), " or ".join(_doors(path)), path.count("/")
    states = iter(gallery.of_lesson(unit) if path.startswith("notebooks/") else [])
    cells, moved = [], False
    for cell, following in zip(nb.cells, [*nb.cells[1:], None]):
        if "setup" in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            note = _state_pictures(next(states, []), unit, depth) + _explorer_note(doors) if moved else ""
            cell.source = note + SUMMARY.sub(_summary_with_formulas, BADGE.sub("", cell.source))
        elif is_folded(cell):
            _fold(cell, f"Code: {label(cell, following)}")
            cell.source = without_title(cell.source)
        moved = is_explorer(cell) and bool(cell.outputs)
        cells += _one_picture_each(cell) if cell.cell_type == "code" else [cell]
    cells[0].source = HEADING.sub(rf"\1\n{_top_line(unit, path)}\n", cells[0].source)
    nb.cells = cells
    nb.metadata.pop("made_from", None)
    return nb


def written(nb: NotebookNode) -> str:
    """The text of a notebook file."""
    return nbformat.writes(nb) + "\n"


def _explorer_note(doors: str) -> str:
    return f'<p class="explorer-note">{MOVE.format(doors=doors)}</p>\n\n'


def _state_pictures(states: list[dict], unit: str, depth: int) -> str:
    """Pictures of an explorer with other values of its controls."""
    figures = "".join(
        f'<figure><img src="{"../" * depth}_static/gallery/{unit}/{state["file"]}" loading="lazy" '
        f'alt="{html.escape(state["alt"])}"><figcaption>{html.escape(state["state"])}</figcaption></figure>'
        for state in states
    )
    return f'<div class="states">{figures}</div>\n\n' if states else ""


def _fold(cell: NotebookNode, words: str) -> None:
    cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]
    cell.metadata.setdefault("mystnb", {}).update(code_prompt_show=words, code_prompt_hide=words)


def _one_picture_each(cell: NotebookNode) -> list:
    """Cells with one picture each, since what Sphinx knows of pictures it knows by cell; their descriptions go with them."""
    groups: list[list[NotebookNode]] = [[]]
    for output in cell.outputs:
        has_picture = "image/png" in output.get("data", {})
        if has_picture and any("image/png" in earlier.get("data", {}) for earlier in groups[-1]):
            groups.append([])
        groups[-1].append(output)
    cells = [cell, *(new_code_cell("# one more figure", metadata={"tags": ["remove-input"]}) for _ in groups[1:])]
    for picture_cell, outputs in zip(cells, groups):
        picture_cell.outputs = outputs
        described = [output.metadata.get("image/png", {}).get("alt") for output in outputs if "metadata" in output]
        if alt := next(filter(None, described), None):
            picture_cell.metadata.setdefault("mystnb", {})["image"] = {"alt": " ".join(alt.split())}
    return cells


def _summary_with_formulas(match: re.Match) -> str:
    """A summary with its formulas marked as Sphinx marks them, which HTML needs."""
    marked = IN_SUMMARY.sub(
        lambda formula: rf'<span class="math notranslate nohighlight">\({html.escape(formula[1])}\)</span>', match[2]
    )
    return match[1] + marked + match[3]


def _top_line(unit: str, path: str) -> str:
    """Ways from here to the notebook itself, and between a lesson and its assignment."""
    up = "../" * path.count("/")
    beside = f'<a href="{up}notebooks/{unit}.html">lesson {unit[:2]}</a>'
    if path.startswith("notebooks/"):
        beside = f'<a href="{up}assignments/{unit}/{unit}.html">assignment {unit[:2]}</a>'
    return f'<p class="doors-line">{" · ".join([*_doors(path), beside])}</p>\n'


def _doors(path: str) -> list[str]:
    """Ways to run a notebook; Colab only where it would find the course."""
    up = "../" * path.count("/") + DOWNLOADS
    ways = [f'<a href="{up}/{path}" download>download the notebook</a>']
    if course_address := address():
        place = course_address.removeprefix("https://github.com/")
        ways.append(f'<a href="https://colab.research.google.com/github/{place}/blob/main/{path}">open it in Colab</a>')
    else:
        ways.append(f'<a href="{up}/{BUNDLE}" download>download the whole course</a>')
    return ways
