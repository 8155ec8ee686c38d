"""Attacks that jam what reads and shows notebooks: parsers, highlighter, Markdown, formulas, and the pipe's reader."""

import io
import json
import sys
import zipfile
from collections.abc import Mapping

import nbformat

from autograder.trials.attacks.kinds import FIRST, FULL, UNIT, Attack, Change, answer, before_check, place
from autograder.trials.attacks.sending import TALKING

_RIGHT = f"def {FIRST}(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
CODE, TEXT, CELL = 19_900, 9_900, 99_900  # characters: just as many as are coloured, are rendered, and a cell may have


def _long(piece: str, length: int) -> str:
    return piece * (length // len(piece))


def _jam(code: str = "", text: str = "", written: str = "") -> Change:
    """Long cells of `code` and of `text`, in the place of answers too; the work itself stands in cells before the checks."""

    def change(notebook: nbformat.NotebookNode) -> None:
        for cell in [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")]:
            name = cell.metadata.nbgrader.grade_id
            if cell.cell_type == "markdown":
                cell.source = _long(text, TEXT) if text else written or cell.source
            elif code:
                before_check(cell.source, name)(notebook)
                cell.source = _long(code, CODE)
        notebook.cells += [nbformat.v4.new_code_cell(_long(code, CELL))] if code else []
        notebook.cells += [nbformat.v4.new_markdown_cell(_long(text, CELL))] if text else []

    return change


def _slow_to_read(code: str, count: int = 1, reaching: bool = False) -> Change:
    """Cells of `code` that take long to be read, rather than to be run, beside a wrong answer, or one that reaches them."""

    def change(notebook: nbformat.NotebookNode) -> None:
        notebook.cells += [nbformat.v4.new_code_cell(code) for _ in range(count)]
        if reaching:
            notebook.cells[place(notebook, "stable_softmax")].source += "\n    x0"
        else:
            notebook.cells[place(notebook, FIRST)].source = f"def {FIRST}(q, X):\n    return q"

    return change


def _newer(code: str) -> Change:
    """An answer that is no Python, in a notebook that says that it was written with a newer one."""

    def change(notebook: nbformat.NotebookNode) -> None:
        version = f"{sys.version_info[0]}.{sys.version_info[1] + 1}.0"
        notebook.metadata["language_info"] = {"name": "python", "version": version}
        notebook.cells[place(notebook, FIRST)].source = code

    return change


def _shows(text: str) -> Change:
    """Prints, raises and answers with a text that is long."""

    def change(notebook: nbformat.NotebookNode) -> None:
        said = f"said = {text!r} * {CELL // len(text)}\n"
        shown = (
            said + "print(said)\ndisplay({'text/plain': said, 'text/markdown': said}, raw=True)\nraise ValueError(said)"
        )
        notebook.cells.insert(place(notebook, FIRST), nbformat.v4.new_code_cell(shown))
        notebook.cells[place(notebook, FIRST)].source = said + f"def {FIRST}(q, X):\n    raise ValueError(said)"

    return change


def _empty_cells(notebook: Mapping) -> bytes:
    return json.dumps({**notebook, "cells": [*notebook["cells"], *[{}] * 600_000]}).encode()


def _values(notebook: Mapping) -> bytes:
    return json.dumps({**notebook, "metadata": {"x": [[]] * 1_300_000}}).encode()


def _zipped(data: bytes) -> dict[str, bytes]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{UNIT}.ipynb", data)
    return {"work.zip": buffer.getvalue()}


_NOTHING = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}


def _sends(changed: str) -> Change:
    """Talks to the grader in the place of the kit, and changes each line."""
    return answer(TALKING.replace("    return line\n", f"    return {changed}\n", 1), "stable_softmax")


_XS = [f"x{number}" for number in range(60)]
_MANY_NAMES = "import gc\ngc.get_objects()\n" + _long(f"{'='.join(_XS)}=f({','.join(_XS)})\n", CELL - 100)
_TYPE = """line.replace('"float64"', '"' + "f8," * 700_000 + 'f8"')"""
_LINE = """line[:-1] + ', "more": [' + "[]," * 5_000_000 + "[]]}" """
_TEXTS = """line.replace('"observation": {', '"observation": {"called": ["' + "x" * 15_000_000 + '"],')"""
_FORMULAS = (r"$\frac{\sqrt{\frac{\sqrt{x}}{y}}}{\sqrt{\frac{\sqrt{x}}{y}}}$ " + "$x^{y^{z^{a^b}}}$ ") * 90
_NAME = "<base href=x><script src=x><meta http-equiv=refresh content=0>"

ATTACKS = [
    Attack("empty-cells", "hand in a notebook of 600,000 empty cells", _empty_cells, stock=False),
    Attack("empty-cells-zipped", "hand in such a notebook as an archive of a few kB", files=_zipped(_empty_cells(_NOTHING)),
           instead=True, stock=False),
    Attack("many-values", "hand in metadata of nearly as many values as may be read", _values, solved=True, stock=False),
    Attack("inflated", "hand in a small archive that becomes 90 MB of blanks", files=_zipped(b"{" + b" " * 90_000_000 + b"}"),
           instead=True, stock=False),
    Attack("long-type", "send arrays whose type has a name of 2 MB", _sends(_TYPE), stock=False),
    Attack("long-line", "send a line of 15 MB that becomes millions of lists", _sends(_LINE), stock=False),
    Attack("long-text", "send a line of 15 MB in one text", _sends(_TEXTS), stock=False),
    Attack("jams-code", "jam the highlighter by code of a. and a.", _jam(code="a."), solved=True, stock=False),
    Attack("jams-code-brackets", "jam it by brackets", _jam(code="["), solved=True, stock=False),
    Attack("jams-code-quotes", "jam it by the beginnings of texts", _jam(code="f'{"), solved=True, stock=False),
    Attack("jams-text-lists", "jam Markdown by the marks of lists", _jam(text="- "), solved=True, stock=False),
    Attack("jams-text-brackets", "jam Markdown by brackets", _jam(text="[a]("), solved=True, stock=False),
    Attack("jams-text-quotes", "jam Markdown by quotations within quotations", _jam(text="> "), solved=True, stock=False),
    Attack("jams-text-stars", "jam Markdown by stars", _jam(text="**a *"), solved=True, stock=False),
    Attack("jams-text-formulas", "jam Markdown by thousands of formulas", _jam(text="$a$ "), solved=True, stock=False),
    Attack("jams-text-tables", "jam Markdown by a table of thousands of lines", _jam(written="|a|b|\n|-|-|\n" + "|a|b|\n" * 1600),
           solved=True, stock=False),
    Attack("jams-text-nested", "jam Markdown by lists within lists", _jam(written="".join(" " * i + "- a\n" for i in range(138))),
           solved=True, stock=False),
    Attack("jams-formulas", "answer with formulas that are hard to draw", _jam(written=_FORMULAS), solved=True, stock=False),
    Attack("jams-outputs", "print, show and raise 100,000 characters of lists and brackets", _shows("- [a](*"), solved=True,
           deserves=FULL - 2, stock=False),
    Attack("slow-to-read-blanks", "hand in cells of 98,000 blank lines", _slow_to_read("\n" * 98_000 + "#", 3), solved=True,
           deserves=FULL - 2, stock=False),
    Attack("slow-to-read-line", "hand in a cell of 24,000 statements in one line", _slow_to_read("a=1;" * 24_000), solved=True,
           deserves=FULL - 2, stock=False),
    Attack("slow-to-read-newer", "answer with 95,000 blank lines that are no Python, and say that a newer Python was used",
           _newer(f"def {FIRST}(q, X:" + "\n" * 95_000 + "    return q"), solved=True, deserves=FULL - 2, stock=False),
    Attack("slow-to-read-names", "hand in cells of names that all need one another, beside what can hide calls",
           _slow_to_read(_MANY_NAMES, 4, reaching=True), solved=True, stock=False),
    Attack("name-with-markup", "have a name that changes the head of the feedback page", "pass", solved=True, stock=False, student=_NAME),
]  # fmt: skip
