"""Reads which of the course's own files a file imports, at its top or anywhere inside; nothing is run."""

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from autograder.settings import ROOT

PACKAGES = ("utils", "autograder")


def closure(roots: Iterable[Path]) -> list[Path]:
    """The files given and all that they import of the course's own, directly or through others, in the order of their paths."""
    files, waiting = set(), list(roots)
    while waiting:
        file = waiting.pop()
        if file not in files:
            files.add(file)
            waiting += imported(file)
    return sorted(files)


def imported(file: Path) -> frozenset[Path]:
    """The files of the course's own packages that a Python file imports, with the packages that they lie in.

    Raises:
        SyntaxError: the file is not Python.
    """
    return _imported(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4096)
def _imported(file: Path, changed: int) -> frozenset[Path]:
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    return frozenset(place for name in _imported_names(tree, file) for place in _files_of_name(name)) - {file}


def _imported_names(tree: ast.AST, file: Path) -> Iterator[str]:
    """The dotted names that are imported; of `from a import b` both a and a.b, since b may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute_name(node, file)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _absolute_name(node: ast.ImportFrom, file: Path) -> str:
    if not node.level:
        return node.module or ""
    package = file.parent.relative_to(ROOT).parts
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def _files_of_name(name: str) -> Iterator[Path]:
    """The files that importing a dotted name runs: each package on the way, and the module itself."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return
    for length in range(1, len(parts) + 1):
        place = ROOT.joinpath(*parts[:length])
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if file.is_file():
            yield file
