"""What a reader meets: cells that are folded, figures that are numbered, and the minutes that reading takes."""

import math
import re

from nbformat import NotebookNode

FOLDED = ("setup", "fold")  # tags of code cells that set up, draw or assert: folded in JupyterLab and Colab
# A reader's pace, with time to think; code is read as well.
WORDS_A_MINUTE, SECONDS_A_LINE, SECONDS_A_FIGURE = 130, 6, 30
CAPTION = re.compile(r"^\*\*Figure(?: \d+)?\.\*\*", re.MULTILINE)
_ASIDE = re.compile(
    r"<details>\s*<summary>Going further.*?</details>|^## References.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE
)
_TIME = re.compile(r"^(\*\*Time\*\* about )\d+( minutes to read)", re.MULTILINE)
_ROUNDED = 5  # minutes of which a lesson's reading time is a multiple


def lay_out(nb: NotebookNode) -> None:
    """Folds the cells that are not the idea, numbers the figures' captions and states the minutes that reading takes."""
    figures = 0
    for cell in nb.cells:
        if is_folded(cell):
            cell.metadata["jupyter"] = {"source_hidden": True}
            cell.metadata["cellView"] = "form"  # Colab's way to fold a cell
        if cell.cell_type == "markdown":
            parts = CAPTION.split(cell.source)
            numbered = [f"**Figure {figures + place}.**{part}" for place, part in enumerate(parts[1:], 1)]
            cell.source, figures = "".join([parts[0], *numbered]), figures + len(numbered)
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = _TIME.sub(rf"\g<1>{minutes(nb)}\g<2>", cell.source)


def is_folded(cell: NotebookNode) -> bool:
    """Whether a cell's code is out of sight until a reader asks for it."""
    return cell.cell_type == "code" and bool(set(FOLDED) & set(cell.metadata.get("tags", [])))


def lines_in_view(nb: NotebookNode) -> int:
    """The lines of code that a reader sees: all but empty ones and those of folded cells."""
    visible_sources = [cell.source for cell in nb.cells if cell.cell_type == "code" and not is_folded(cell)]
    return sum(bool(line.strip()) for source in visible_sources for line in source.splitlines())


def minutes(nb: NotebookNode) -> int:
    """How long a lesson takes to read, in steps of five minutes; "Going further" and references are not counted."""
    prose = _ASIDE.sub("", "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown"))
    words, figures = len(prose.split()), len(CAPTION.findall(prose))
    seconds = 60 * words / WORDS_A_MINUTE + SECONDS_A_LINE * lines_in_view(nb) + SECONDS_A_FIGURE * figures
    return _ROUNDED * math.ceil(seconds / 60 / _ROUNDED)
