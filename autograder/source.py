"""Reads a notebook's code without running it: which names a cell defines, and calls that hide from being watched."""

import ast

EVASIVE = {  # names of what can act out of sight of what watches calls to torch
    "threading", "_thread", "concurrent", "multiprocessing", "ctypes", "gc", "_getframe", "inside", "runner", "_Calls",
    "_C", "_python_dispatch", "overrides", "__code__", "__globals__", "__closure__",
}  # fmt: skip


def parse(source: str) -> list[ast.stmt]:
    """The statements of a cell, without IPython's own syntax; none if it is not Python."""
    plain = "\n".join("pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.splitlines())
    try:
        return ast.parse(plain).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def defined(source: str) -> set[str]:
    """The top-level names that a cell binds by a definition or an assignment."""
    return {name for statement in parse(source) for name in _bound(statement)}


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class Notebook:
    """What a notebook's code names, for `hidden_call`."""

    def __init__(self, sources: list[str]):
        cells = [parse(source) for source in sources]
        self.hiding = [cell for cell in cells if any(_names(statement) & EVASIVE for statement in cell)]
        self.bodies: dict[str, list] = {}
        for statement in [statement for cell in cells for statement in cell] if self.hiding else ():
            for bound in _bound(statement):
                self.bodies.setdefault(bound, []).append(statement)

    def hidden_call(self, forbidden: tuple, name: str) -> str:
        """A forbidden function that `name`, a helper of it, or a cell that can hide calls names.

        What watches calls at run time sees honest ones. Here a notebook is looked at that also uses what could have kept
        them out of sight.

        Returns:
            the function's name; empty if there is none, or if nothing in the notebook could hide it.
        """
        if not self.hiding:
            return ""
        reached, waiting = set(), [name]
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting += [
                    other for body in self.bodies.get(one, ()) for other in _names(body) if other in self.bodies
                ]
        suspects = [
            *(body for one in reached for body in self.bodies.get(one, ())),
            *(body for cell in self.hiding for body in cell),
        ]
        called = {found for body in suspects for found in _called(body, set(self.bodies))}
        return next((found for word in forbidden for found in sorted(called) if word in found), "")


def _names(statement: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Import):
            found |= {part for alias in node.names for part in alias.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            found |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
    return found


def _called(statement: ast.AST, own: set) -> set[str]:
    """Names of attributes and functions that are used, apart from the notebook's own and what belongs to `self`."""
    attributes = {
        node.attr
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }
    plain = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} - own
    texts = {
        node.value for node in ast.walk(statement) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return attributes | plain | {text for text in texts if text.isidentifier()}
