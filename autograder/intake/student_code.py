"""Reads a notebook's code without running it: which names a cell defines, and calls that hide from being watched."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from autograder.intake.guard import guarded

# The characters that an ordinary cell has at most. What was read of larger cells is not kept: it would fill the memory.
ORDINARY = 10_000
MAX_NESTING = 300  # levels of a cell's code: nobody writes more by hand
_CHAIN = re.compile(r"(?:\.[\s\\]*+\w++[\s\\]*+){300}")  # Python reads `import a.b.c…` in time of the length squared

# What IPython assigns: `files = !ls`, `took = %timeit -o f()`; and what it looks up: `f?`, `??f`, `torch.*max*?`.
_ASSIGNED = re.compile(r"([^=#]*)=[^\S\n]*(?:!|%(?=[^\W\d]))")
_LOOKED_UP = re.compile(r"\s*(?:\?\??[\w.*]+|[\w.*]+\?\??)\s*")

EVASIVE = {  # names of Python's and the course's own means by which a call to torch could go unwatched
    "threading", "_thread", "concurrent", "multiprocessing", "ctypes", "gc", "_getframe", "inside", "runner", "WatchedCalls",
    "_C", "_python_dispatch", "overrides", "__code__", "__globals__", "__closure__", "tb_frame", "f_back", "f_locals",
    "currentframe", "asyncio", "run_in_executor", "__torch_function__", "__torch_dispatch__",
    "call_recorder", "_Functions", "_Dispatched",
}  # fmt: skip
UNWATCHED = ("numpy", "scipy", "sklearn", "jax")  # libraries whose calls nothing watches


def parse(source: str) -> list[ast.stmt]:
    """The statements of a cell, without IPython's own syntax; none if it is not Python, or nested too deeply to read."""
    return _read(source)[0]


def _words_instead(error: BaseException, source: str) -> tuple[list, frozenset]:
    return [], frozenset() if isinstance(error, (SyntaxError, ValueError)) else frozenset(re.findall(r"\w+", source))


def _read(source: str) -> tuple[list[ast.stmt], frozenset[str]]:
    """What `_read_anew` returns; it is kept for cells of ordinary size, since most are as they were handed out."""
    return (_kept if len(source) <= ORDINARY else _read_anew)(source)


@guarded(_words_instead)
def _read_anew(source: str) -> tuple[list[ast.stmt], frozenset[str]]:
    """A cell's statements; and, where Python itself may read what is not read here, the cell's words instead.

    Python's own parser bounds the nesting that it accepts. The walk after it goes from node to node without recursion, so
    that no nesting overflows the stack.
    """
    plain = "\n".join("pass" if line.lstrip()[:1] in ("%", "!") else line for line in source.splitlines())
    if plain.count(".") > MAX_NESTING and _CHAIN.search(plain):
        raise RecursionError("a chain of names")
    try:
        tree = ast.parse(plain)
    except SyntaxError:
        tree = ast.parse("\n".join(_in_python(source.splitlines())))
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level, depth = [inner for node in level for inner in ast.iter_child_nodes(node)], depth + 1
        if depth > MAX_NESTING:
            raise RecursionError("nested too deeply")
    return tree.body, frozenset()


def _in_python(lines: list[str]) -> Iterator[str]:
    """A cell's lines with what is IPython's own in them as Python: a command as the call for which it stands.

    A command that goes on over several lines stays one statement of as many.
    """
    is_continued = False
    for line in lines:
        goes_on = line.endswith("\\")
        if is_continued:
            yield "" if goes_on else ")"
            is_continued = goes_on
            continue
        assigned = _ASSIGNED.match(line)
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip()[:1] in ("%", "!") or _LOOKED_UP.fullmatch(line) or assigned:
            yield f"{assigned[1] + '=' if assigned else indent}get_ipython().getoutput({'' if goes_on else ')'}"
            is_continued = goes_on
        else:
            yield line


_kept = lru_cache(maxsize=1024)(_read_anew)


@lru_cache(maxsize=4096)
def defined(source: str) -> frozenset[str]:
    """The top-level names that a cell binds by a definition or an assignment."""
    return frozenset(name for statement in parse(source) for name in _bound_names(statement))


@lru_cache(maxsize=4096)
def finished(source: str) -> frozenset[str]:
    """The top-level names that a cell binds to something other than a stub, which raises NotImplementedError or does nothing."""
    statements = parse(source)
    stubs = {name for statement in statements if _is_stub(statement) for name in _bound_names(statement)}
    return (
        frozenset(name for statement in statements if not _is_stub(statement) for name in _bound_names(statement))
        - stubs
    )


def _is_stub(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ClassDef):
        methods = [method for method in statement.body if isinstance(method, ast.FunctionDef)]
        return (
            bool(methods)
            and any(map(_is_stub, methods))
            and all(_is_stub(method) or _is_empty(method) for method in methods)
        )
    return isinstance(statement, ast.FunctionDef) and all(map(_does_nothing, statement.body))


def _is_empty(method: ast.FunctionDef) -> bool:
    """A constructor that only calls its parent's."""
    return all(_does_nothing(statement) or any(map(_calls_parent, ast.walk(statement))) for statement in method.body)


def _calls_parent(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    parent = node.func.value
    called = parent.func if isinstance(parent, ast.Call) and not parent.args else None
    return isinstance(called, ast.Name) and called.id == "super" and node.func.attr == "__init__"


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return any(isinstance(node, ast.Name) and node.id == "NotImplementedError" for node in ast.walk(statement))
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass) or constant


def parses(source: str) -> bool:
    """Whether a cell is Python as it stands, alone."""
    return bool(parse(source)) or not source.strip()


def _bound_names(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


class Notebook:
    """The names that a notebook's code uses, and the calls that these could hide."""

    def __init__(self, sources: list[str]):
        cells_and_words = [_read(source) for source in sources]
        cells = [cell for cell, _ in cells_and_words]
        self.hiding = [cell for cell in cells if any(_all_names(statement) & EVASIVE for statement in cell)]
        # Code that cannot be read could hide calls, too.
        unread = [words for _, words in cells_and_words if words & (EVASIVE | {*UNWATCHED})]
        self.unread = frozenset().union(*unread)
        self.bodies: dict[str, list] = {}
        statements = [statement for cell in cells for statement in cell]
        self.unwatched = _imported_library_names(statements)
        for statement in statements if self.hiding or self.unwatched else ():
            for bound in _bound_names(statement):
                self.bodies.setdefault(bound, []).append(statement)

    def hidden_call(self, forbidden: tuple, name: str) -> str:
        """A forbidden function that `name`, a helper of it, or a cell that can hide calls names.

        Calls to torch are watched at run time. This looks at notebooks that also use something that could have kept such a
        call out of sight, or that call a library that nothing watches.

        Returns:
            the function's name; empty if there is none, or if nothing in the notebook could hide it.
        """
        if not self.hiding and not self.unwatched and not self.unread:
            return ""
        reached, waiting = set(), [name]
        while waiting:
            helper = waiting.pop()
            if helper not in reached:
                reached.add(helper)
                waiting += [
                    used_name
                    for body in self.bodies.get(helper, ())
                    for used_name in _all_names(body)
                    if used_name in self.bodies
                ]
        own_names, bodies = set(self.bodies), [body for helper in reached for body in self.bodies.get(helper, ())]
        called = {function for body in bodies for function in _library_functions(body, self.unwatched)} | (
            self.unread - own_names - {name}
        )
        if self.hiding:
            suspects = [*bodies, *(body for cell in self.hiding for body in cell)]
            called |= {function for body in suspects for function in _used_names(body, own_names)}
        return next((function for word in forbidden for function in sorted(called) if word in function), "")


def _imported_library_names(statements: list[ast.stmt]) -> dict[str, str]:
    """What a notebook calls the unwatched libraries and what it imports from them: name there -> name in the library."""
    library_names: dict[str, str] = {}
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            library_names |= {
                (alias.asname or alias.name).split(".")[0]: "" for alias in node.names if _is_unwatched(alias.name)
            }
        elif isinstance(node, ast.ImportFrom) and _is_unwatched(node.module or ""):
            library_names |= {alias.asname or alias.name: alias.name for alias in node.names}
    return library_names


def _is_unwatched(module: str) -> bool:
    return module.split(".")[0] in UNWATCHED


def _library_functions(statement: ast.AST, unwatched: dict[str, str]) -> set[str]:
    """The functions of unwatched libraries that a statement names."""
    functions, visited = set(), set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in unwatched:
            functions.add(unwatched[node.id])
        elif isinstance(node, ast.Attribute) and node not in visited:  # the whole of a chain comes before its parts
            chain: set[str] = set()
            root: ast.expr = node
            while isinstance(root, ast.Attribute):
                chain.add(root.attr)
                visited.add(root)
                root = root.value
            if isinstance(root, ast.Name) and root.id in unwatched:
                functions |= chain
    return functions


def _all_names(statement: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Import):
            names |= {part for alias in node.names for part in alias.name.split(".")}
        elif isinstance(node, ast.ImportFrom):
            names |= {*(node.module or "").split("."), *(alias.name for alias in node.names)}
    return names


def _used_names(statement: ast.AST, own: set) -> set[str]:
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
