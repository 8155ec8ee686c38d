"""Git's conflict markers in a notebook's text: where they are, and whether both sides are the same notebook all the same."""

import json
import re

_START, _BASE, _MIDDLE, _END = (re.compile(rf"{one}( |$)") for one in ("<{7}", r"\|{7}", "={7}", ">{7}"))


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
    if ours is None or _work(ours) != _work(theirs):
        raise Conflicted(
            f"The notebook holds a Git merge conflict: {lines[first - 1][:40].strip()} in line {first}. In a text editor choose"
            " one side of each conflict and delete its three marker lines, see that JupyterLab opens it, and hand it in."
        )
    return ours


def _side(lines: list[str], side: str) -> dict | None:
    kept, at = [], "both"
    for line in lines:
        if _START.match(line):
            at = "ours"
        elif at == "ours" and _BASE.match(line):
            at = "base"
        elif at in ("ours", "base") and _MIDDLE.match(line):
            at = "theirs"
        elif at == "theirs" and _END.match(line):
            at = "both"
        elif at in ("both", side):
            kept.append(line)
    try:
        found = json.loads("\n".join(kept))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _work(notebook: dict | None) -> list | None:
    """What of a notebook is a student's: the cells' texts, in their order."""
    cells = notebook.get("cells") if notebook else None
    if not isinstance(cells, list):
        return None
    return [(one.get("cell_type"), _text(one.get("source"))) for one in cells if isinstance(one, dict)]


def _text(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
