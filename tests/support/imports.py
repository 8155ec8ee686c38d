"""Which of the course's own files a file imports, and those in turn: read from the text, nothing is loaded."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

END_OF_THE_COURSE = (
    "requirements.txt"  # lies in the root of a checkout and of a student's bundle; above it nothing is ours
)


def closure(roots: Iterable[Path]) -> list[Path]:
    """The roots and every file of the course that they import, directly or through others; sorted, each once."""
    found, waiting = set(), [root.resolve() for root in roots]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += imported(file)
    return sorted(found)


def imported(file: Path) -> list[Path]:
    """The files of the course that a module or notebook imports, at any depth of its code, with the packages around them."""
    folders = list(_folders(file))
    return [found for name in sorted(_names(ast.parse(_code(file)), file)) for found in _files(name, folders)]


def _code(file: Path) -> str:
    if file.suffix != ".ipynb":
        return file.read_text(encoding="utf-8")
    cells = [cell.source for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
    return "\n".join(map(TransformerManager().transform_cell, cells))  # `%magic` and `!command` are no Python


def _folders(file: Path) -> Iterator[Path]:
    """Where an import may look: the file's folder and those around it, as far as the course goes."""
    for folder in file.parents:
        yield folder
        if (folder / END_OF_THE_COURSE).exists():
            return


def _names(tree: ast.AST, file: Path) -> set[str]:
    """Dotted names that may be modules: `from a import b` may mean the module `a.b`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = file.parents[node.level - 1].name if node.level else ""
            start = ".".join(filter(None, [package, node.module]))
            names |= {start} | {f"{start}.{alias.name}" for alias in node.names}
    return names


def _files(name: str, folders: list[Path]) -> list[Path]:
    """The module's file and its packages' `__init__.py`, from the first folder that knows the name's beginning."""
    parts = name.split(".")
    for folder in folders:
        if (folder / parts[0]).is_dir() or (folder / f"{parts[0]}.py").exists():
            steps = [folder.joinpath(*parts[:length]) for length in range(1, len(parts) + 1)]
            candidates = [path for step in steps for path in (step / "__init__.py", step.with_suffix(".py"))]
            return [path.resolve() for path in candidates if path.is_file()]
    return []
