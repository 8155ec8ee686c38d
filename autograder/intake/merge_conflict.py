"""Git's conflict markers in a notebook's text: where they are, and whether both sides are the same notebook all the same."""

import json
import re

_START, _BASE, _MIDDLE, _END = (re.compile(rf"{sign}( |$)") for sign in ("<{7}", r"\|{7}", "={7}", ">{7}"))


class Conflicted(ValueError):
    """A notebook in which somebody must choose a side; the message says where."""


def agreed(text: str) -> dict | None:
    """The notebook that both sides of all conflicts hold; None where there is no conflict.

    Two sides hold the same notebook if they differ in outputs, counts and metadata alone.

    Raises:
        Conflicted: they differ in a cell, or one of them is no notebook.
    """
    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines, 1) if _START.match(line)), None)
    if first is None or not any(map(_END.match, lines)) or not any(map(_MIDDLE.match, lines)):
        return None
    ours, theirs = (_side(lines, side) for side in ("ours", "theirs"))
    if ours is None or _cell_texts(ours) != _cell_texts(theirs):
        raise Conflicted(
            f"The notebook holds a Git merge conflict: {lines[first - 1][:40].strip()} in line {first}. In a text editor choose"
            " one side of each conflict and delete its three marker lines, see that JupyterLab opens it, and hand it in."
        )
    return ours


def _side(lines: list[str], side: str) -> dict | None:
    kept, current_side = [], "both"
    for line in lines:
        if _START.match(line):
            current_side = "ours"
        elif current_side == "ours" and _BASE.match(line):
            current_side = "base"
        elif current_side in ("ours", "base") and _MIDDLE.match(line):
            current_side = "theirs"
        elif current_side == "theirs" and _END.match(line):
            current_side = "both"
        elif current_side in ("both", side):
            kept.append(line)
    try:
        notebook = json.loads("\n".join(kept))
    except ValueError:
        return None
    return notebook if isinstance(notebook, dict) else None


def _cell_texts(notebook: dict | None) -> list | None:
    """The part of a notebook that a student writes: the types and texts of its cells, in their order."""
    cells = notebook.get("cells") if notebook else None
    if not isinstance(cells, list):
        return None
    return [(cell.get("cell_type"), _joined_source(cell.get("source"))) for cell in cells if isinstance(cell, dict)]


def _joined_source(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
