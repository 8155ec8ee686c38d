"""Reads a notebook's code without running it: which names a cell defines, and calls that hide from being watched."""

import ast
import re
from functools import lru_cache

from autograder.intake.guard import guarded

ORDINARY = 10_000  # characters of a cell; what was read of larger ones would fill the memory if it were kept
MAX_NESTING = 300  # levels of a cell's code: nobody writes more by hand
_CHAIN = re.compile(r"(?:\.[\s\\]*+\w++[\s\\]*+){300}")  # Python reads `import a.b.c…` in time of the length squared

EVASIVE = {  # names of what can act out of sight of what watches calls to torch
    "threading", "_thread", "concurrent", "multiprocessing", "ctypes", "gc", "_getframe", "inside", "runner", "WatchedCalls",
    "_C", "_python_dispatch", "overrides", "__code__", "__globals__", "__closure__", "tb_frame", "f_back", "f_locals",
    "currentframe", "asyncio", "run_in_executor", "__torch_function__", "__torch_dispatch__",
    "call_recorder", "_Functions", "_Dispatched",
}  # fmt: skip
UNWATCHED = ("numpy", "scipy", "sklearn", "jax")  # libraries whose calls nothing watches


def parse(source: str) -> list[ast.stmt]:
    """The statements of a cell, without IPython's own syntax; none if it is not Python, or nested too deeply to read."""
    return _read(source)[0]


def _unread(error: BaseException, source: str) -> tuple[list, frozenset]:
    return [], frozenset() if isinstance(error, (SyntaxError, ValueError)) else frozenset(re.findall(r"\w+", source))


def _read(source: str) -> tuple[list[ast.stmt], frozenset[str]]:
    """As `_read_anew` gives it; that of an ordinary cell is kept, since most are as they were handed out."""
    return (_kept if len(source) <= ORDINARY else _read_anew)(source)


@guarded(_unread)
def _read_anew(source: str) -> tuple[list[ast.stmt], frozenset[str]]:
    """A cell's statements; and, where Python itself may read what is not read here, the cell's words instead.

    Python's own reader bounds how deeply it goes. What comes behind it here goes from node to node, and calls nothing in
    itself, so that no nesting overflows it.
    """
    plain = "\n".join("pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.splitlines())
    if plain.count(".") > MAX_NESTING and _CHAIN.search(plain):
        raise RecursionError("a chain of names")
    tree = ast.parse(plain)
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level, depth = [inner for one in level for inner in ast.iter_child_nodes(one)], depth + 1
        if depth > MAX_NESTING:
            raise RecursionError("nested too deeply")
    return tree.body, frozenset()


_kept = lru_cache(maxsize=1024)(_read_anew)


@lru_cache(maxsize=4096)
def defined(source: str) -> frozenset[str]:
    """The top-level names that a cell binds by a definition or an assignment."""
    return frozenset(name for statement in parse(source) for name in _bound(statement))


@lru_cache(maxsize=4096)
def finished(source: str) -> frozenset[str]:
    """The top-level names that a cell binds to something other than a stub, which raises NotImplementedError or does nothing."""
    statements = parse(source)
    stubs = {name for statement in statements if _is_stub(statement) for name in _bound(statement)}
    return frozenset(name for statement in statements if not _is_stub(statement) for name in _bound(statement)) - stubs


def _is_stub(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ClassDef):
        methods = [one for one in statement.body if isinstance(one, ast.FunctionDef)]
        return bool(methods) and any(map(_is_stub, methods)) and all(_is_stub(one) or _is_empty(one) for one in methods)
    return isinstance(statement, ast.FunctionDef) and all(map(_does_nothing, statement.body))


def _is_empty(method: ast.FunctionDef) -> bool:
    """A constructor that only calls its parent's."""
    return all(_does_nothing(one) or any(map(_calls_parent, ast.walk(one))) for one in method.body)


def _calls_parent(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    parent = node.func.value
    called = parent.func if isinstance(parent, ast.Call) and not parent.args else None
    return isinstance(called, ast.Name) and called.id == "super" and node.func.attr == "__init__"


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return any(isinstance(one, ast.Name) and one.id == "NotImplementedError" for one in ast.walk(statement))
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass) or constant


def parses(source: str) -> bool:
    """Whether a cell is Python as it stands, alone."""
    return bool(parse(source)) or not source.strip()


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class Notebook:
    """What a notebook's code names, for `hidden_call`."""

    def __init__(self, sources: list[str]):
        read = [_read(source) for source in sources]
        cells = [cell for cell, _ in read]
        self.hiding = [cell for cell in cells if any(_names(statement) & EVASIVE for statement in cell)]
        unread = [words for _, words in read if words & (EVASIVE | {*UNWATCHED})]  # unread code could hide them too
        self.unread = frozenset().union(*unread)
        self.bodies: dict[str, list] = {}
        statements = [statement for cell in cells for statement in cell]
        self.unwatched = _imported(statements)
        for statement in statements if self.hiding or self.unwatched else ():
            for bound in _bound(statement):
                self.bodies.setdefault(bound, []).append(statement)

    def hidden_call(self, forbidden: tuple, name: str) -> str:
        """A forbidden function that `name`, a helper of it, or a cell that can hide calls names.

        What watches calls at run time sees honest ones to torch. Here a notebook is looked at that also uses what could
        have kept them out of sight, or that calls a library that nothing watches.

        Returns:
            the function's name; empty if there is none, or if nothing in the notebook could hide it.
        """
        if not self.hiding and not self.unwatched and not self.unread:
            return ""
        reached, waiting = set(), [name]
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting += [
                    other for body in self.bodies.get(one, ()) for other in _names(body) if other in self.bodies
                ]
        own, bodies = set(self.bodies), [body for one in reached for body in self.bodies.get(one, ())]
        called = {found for body in bodies for found in _of_libraries(body, self.unwatched)} | (
            self.unread - own - {name}
        )
        if self.hiding:
            suspects = [*bodies, *(body for cell in self.hiding for body in cell)]
            called |= {found for body in suspects for found in _called(body, own)}
        return next((found for word in forbidden for found in sorted(called) if word in found), "")


def _imported(statements: list[ast.stmt]) -> dict[str, str]:
    """What a notebook calls the unwatched libraries and what it imports from them: name there -> name in the library."""
    found: dict[str, str] = {}
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            found |= {(one.asname or one.name).split(".")[0]: "" for one in node.names if _unwatched(one.name)}
        elif isinstance(node, ast.ImportFrom) and _unwatched(node.module or ""):
            found |= {one.asname or one.name: one.name for one in node.names}
    return found


def _unwatched(module: str) -> bool:
    return module.split(".")[0] in UNWATCHED


def _of_libraries(statement: ast.AST, unwatched: dict[str, str]) -> set[str]:
    """The functions of unwatched libraries that a statement names."""
    found, seen = set(), set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in unwatched:
            found.add(unwatched[node.id])
        elif isinstance(node, ast.Attribute) and node not in seen:  # the last of a chain comes first
            chain: set[str] = set()
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                chain.add(root.attr)
                seen.add(root)
                root = root.value
            if isinstance(root, ast.Name) and root.id in unwatched:
                found |= chain
    return found


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
