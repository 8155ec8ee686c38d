"""What a lesson's outputs come from: while its code and all that its code uses stays the same, they need not be made again."""

import ast
import hashlib
import io
import tokenize
from pathlib import Path

from nbformat import NotebookNode

from autograder import settings
from autograder.authoring.address import PLACEHOLDER, with_address
from autograder.import_graph import closure

KEY = "made_from"  # the digest's key in a lesson's metadata


def made_from(twin: Path, nb: NotebookNode, apart: Path | None = None) -> str:
    """A digest of a lesson's code cells, of the course's modules that they import, their kept weights, its stored runs
    and the pinned packages.

    Comments do not count, nor do docstrings of modules, nor does a lesson's prose or the course's address; nor modules in the
    folder `apart`.
    """
    digest = hashlib.sha256()
    for cell in nb.cells:
        if cell.cell_type == "code":
            code = with_address(cell.source, twin.stem, PLACEHOLDER)
            digest.update(_without_empty_lines(_without_comments(code)).encode() + b"\0")
    for file in closure([twin]):
        if file != twin and not (apart and file.is_relative_to(apart)):
            digest.update(_module_code(file).encode() + b"\0")
            weights = file.with_suffix(".pt")
            digest.update(weights.read_bytes() + b"\0" if weights.exists() else b"")
    for file in [settings.ROOT / "requirements.txt", *_stored_runs(twin)]:
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def _module_code(file: Path) -> str:
    """A module's text without its comments, docstrings and empty lines: the same under every version of Python."""
    text = file.read_text(encoding="utf-8")
    lines = _without_comments(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            first, last = docstring.lineno, docstring.end_lineno or docstring.lineno
            lines[first - 1 : last] = [""] * (last - first + 1)
    return _without_empty_lines(lines)


def _without_empty_lines(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _without_comments(text: str) -> list[str]:
    """The lines of a text without its comments."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return lines


def _stored_runs(twin: Path) -> list[Path]:
    """The stored runs that a lesson shows: its own, and those of other lessons that it names."""
    text = twin.read_text(encoding="utf-8")
    runs = sorted((settings.LESSONS / "stored").glob("*.*"))
    return [run for run in runs if run.stem.startswith(twin.stem) or f'"{run.stem}"' in text]


def keep_outputs(nb: NotebookNode, built: NotebookNode) -> None:
    """Gives the code cells of a notebook the outputs of those of another, which has the same code."""
    pairs = zip(
        *([cell for cell in notebook.cells if cell.cell_type == "code"] for notebook in (nb, built)), strict=True
    )
    for cell, other in pairs:
        cell.outputs, cell.execution_count = other.outputs, other.execution_count
