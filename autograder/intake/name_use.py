"""Which names a statement binds and uses, as Python would find them, read without running it."""

import ast
import symtable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr")  # scopes that run as soon as they are met
# what numbers and texts that nobody can change are written with
_CONSTANT = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator, ast.expr_context)


@dataclass(frozen=True)
class NameUse:
    """What a statement does with names.

    Attributes:
        binds: the names of the notebook that it binds, or into whose objects it writes.
        needs: the names of the notebook that it, or a function in it, looks up.
        imports: what it imports, in functions too: the name there -> the modules and objects that it stands for.
        modules: the modules that it imports, each as a path of names, and with what it imports from them.
        chains: each name with the attributes behind it, as ("torch", "nn", "Linear"); the first is empty after a call.
        texts: texts in it that could be names, apart from those that only describe a function.
        carries: whether what it binds may carry something from one function to another: that is no definition, no import,
            and no number or text.
    """

    binds: frozenset[str]
    needs: frozenset[str]
    imports: Mapping[str, frozenset[tuple[str, ...]]]
    modules: frozenset[tuple[str, ...]]
    chains: frozenset[tuple[str, ...]]
    texts: frozenset[str]
    carries: bool


def name_use(statement: ast.stmt) -> NameUse:
    """What a statement does with names, in time that grows as its length."""
    binds, _, needs, _ = names_used(statement)
    nodes = list(ast.walk(statement))
    imported = [one for node in nodes for one in _imported(node)]
    imports: dict[str, set[tuple[str, ...]]] = {}
    for name, path in imported:
        imports.setdefault(name, set()).add(path)
    return NameUse(
        frozenset(binds),
        frozenset(needs),
        {name: frozenset(paths) for name, paths in imports.items()},
        frozenset(path for node in nodes for path in _modules(node)),
        frozenset(_chains(nodes)),
        _texts(nodes),
        not _carries_nothing(statement),
    )


def _imported(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that an import binds, each with the path of names for which it stands."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            path = tuple(alias.name.split("."))
            yield (alias.asname, path) if alias.asname else (path[0], path[:1])
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, (*(node.module or "").split("."), alias.name)


def _modules(node: ast.AST) -> Iterator[tuple[str, ...]]:
    if isinstance(node, ast.Import):
        yield from (tuple(alias.name.split(".")) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((*(node.module or "").split("."), alias.name) for alias in node.names)


def _chains(nodes: list[ast.AST]) -> Iterator[tuple[str, ...]]:
    visited: set[ast.AST] = set()
    for node in nodes:
        if node in visited or not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        attributes: list[str] = []  # the whole of a chain comes before its parts
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            visited.add(root)
            attributes.append(root.attr)
            root = root.value
        visited.add(root)
        yield (root.id if isinstance(root, ast.Name) else "", *reversed(attributes))


def _texts(nodes: list[ast.AST]) -> frozenset[str]:
    lone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in lone)
    return frozenset(text for text in texts if isinstance(text, str) and text.isidentifier())


def _carries_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(node, _CONSTANT) for node in ast.walk(statement.value))
    return isinstance(
        statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Expr)
    )


def names_used(statement: ast.stmt) -> tuple[set, set, set, set]:
    """The names that a statement binds, touches, needs, and needs at once."""
    top = symtable.symtable(ast.unparse(statement), "cell", "exec")
    binds = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    written, touched = _written_and_touched(statement)
    binds |= {symbol.get_name() for symbol in top.get_symbols() if symbol.is_namespace()} | written
    needs, at_once, waiting = set(), set(), [(top, True)]
    while waiting:
        table, now = waiting.pop()
        outer = {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and (table is top or symbol.is_global())
        }
        needs |= outer
        at_once |= outer if now else set()
        for inner in table.get_children():
            soon = now and (inner.get_type() == "class" or inner.get_name() in _AT_ONCE)
            waiting.append((inner, soon))
    return binds, touched, needs, at_once


def _written_and_touched(statement: ast.stmt) -> tuple[set, set]:
    """The names into whose objects a statement writes as it is run, and those of whose objects it calls methods."""
    written, touched = set(), set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            written.add(_root_name(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            touched.add(_root_name(node.value.func) if isinstance(node.value.func, ast.Attribute) else "")
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return written - {""}, touched - {""}


def _root_name(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
