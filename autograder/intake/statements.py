"""What each statement of a cell binds and what it needs, read without running it."""

import ast
import re
import symtable
from dataclasses import dataclass
from functools import lru_cache

from autograder.intake.guard import guarded
from autograder.intake.student_code import parse

_BOUND = re.compile(r"(?m)^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*=(?!=)")
_MAGIC = re.compile(r"^\s*%%")
_AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr")  # scopes that run as soon as they are met


@dataclass(frozen=True)
class Statement:
    """One or several statements that share a line.

    Attributes:
        source: their text.
        binds: the names that they bind, or write into: `f` in f.limit = 3.
        touches: the names of whose objects they call methods, as `f` in f.append(3), which may change them.
        needs: the names of the notebook that they, or functions in them, look up.
        at_once: those of them that must be there when the statement itself is run.
        defines: whether all it does is to define functions and classes.
        imports: whether all it does is to import.
    """

    source: str
    binds: frozenset
    touches: frozenset
    needs: frozenset
    at_once: frozenset
    defines: bool = False
    imports: bool = False


def _unread(error: BaseException | None, source: str) -> tuple[Statement, ...]:
    binds = frozenset(one or other for one, other in _BOUND.findall(source))
    words = frozenset(re.findall(r"\w+", source))
    return (Statement(source, binds, frozenset(), words, frozenset()),) if source.strip() else ()


@lru_cache(maxsize=1024)
@guarded(_unread)
def statements(source: str) -> tuple[Statement, ...]:
    """The statements of a cell in order, without magics; a cell that cannot be read counts as one."""
    lines, found, parsed = source.splitlines(), [], parse(source)
    if not parsed:
        return _unread(None, source) if re.search(r"(?m)^\s*[^\s#%!]", source) else ()
    for same_lines in _by_lines(parsed):
        first, last = _start(same_lines[0]), max(map(_end, same_lines))
        read = [_read(one) for one in same_lines]
        binds, touches, needs, at_once = (frozenset[str]().union(*sets) for sets in zip(*read))
        text = "\n".join(lines[first - 1 : last])
        if not _MAGIC.match(text):
            found.append(Statement(text, binds, touches, needs, at_once, *_only(same_lines)))
    return tuple(found)


def _only(same: list[ast.stmt]) -> tuple[bool, bool]:
    defines = all(isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for one in same)
    return defines, all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in same)


def _start(statement: ast.stmt) -> int:
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _by_lines(parsed: list[ast.stmt]) -> list[list[ast.stmt]]:
    groups: list[list[ast.stmt]] = []
    for one in parsed:
        if groups and _start(one) <= max(map(_end, groups[-1])):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _read(statement: ast.stmt) -> tuple[set, set, set, set]:
    """The names that a statement binds, touches, needs, and needs at once."""
    top = symtable.symtable(ast.unparse(statement), "cell", "exec")
    binds = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    written, touched = _changed(statement)
    binds |= {one.get_name() for one in top.get_symbols() if one.is_namespace()} | written
    needs, at_once, waiting = set(), set(), [(top, True)]
    while waiting:
        table, now = waiting.pop()
        outer = {
            one.get_name() for one in table.get_symbols() if one.is_referenced() and (table is top or one.is_global())
        }
        needs |= outer
        at_once |= outer if now else set()
        for inner in table.get_children():
            soon = now and (inner.get_type() == "class" or inner.get_name() in _AT_ONCE)
            waiting.append((inner, soon))
    return binds, touched, needs, at_once


def _changed(statement: ast.stmt) -> tuple[set, set]:
    """The names into whose objects a statement writes as it is run, and those of whose objects it calls methods."""
    written, touched = set(), set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            written.add(_root(node))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            touched.add(_root(node.value.func) if isinstance(node.value.func, ast.Attribute) else "")
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return written - {""}, touched - {""}


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
