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
        at_once: the names among `needs` that must be there when the statement itself is run.
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


def _as_one_statement(error: BaseException | None, source: str) -> tuple[Statement, ...]:
    binds = frozenset(definition or assignment for definition, assignment in _BOUND.findall(source))
    words = frozenset(re.findall(r"\w+", source))
    return (Statement(source, binds, frozenset(), words, frozenset()),) if source.strip() else ()


@lru_cache(maxsize=1024)
@guarded(_as_one_statement)
def statements(source: str) -> tuple[Statement, ...]:
    """The statements of a cell in order, without magics; a cell that cannot be read counts as one statement."""
    lines, found_statements, parsed = source.splitlines(), [], parse(source)
    if not parsed:
        return _as_one_statement(None, source) if re.search(r"(?m)^\s*[^\s#%!]", source) else ()
    for same_lines in _grouped_by_lines(parsed):
        first, last = _start(same_lines[0]), max(map(_end, same_lines))
        uses = [_names_used(statement) for statement in same_lines]
        binds, touches, needs, at_once = (frozenset[str]().union(*sets) for sets in zip(*uses))
        text = "\n".join(lines[first - 1 : last])
        if not _MAGIC.match(text):
            found_statements.append(
                Statement(text, binds, touches, needs, at_once, *_only_defines_or_imports(same_lines))
            )
    return tuple(found_statements)


def _only_defines_or_imports(same_lines: list[ast.stmt]) -> tuple[bool, bool]:
    defines = all(
        isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for statement in same_lines
    )
    return defines, all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in same_lines)


def _start(statement: ast.stmt) -> int:
    return min([statement.lineno, *(decorator.lineno for decorator in getattr(statement, "decorator_list", ()))])


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _grouped_by_lines(parsed: list[ast.stmt]) -> list[list[ast.stmt]]:
    groups: list[list[ast.stmt]] = []
    for statement in parsed:
        if groups and _start(statement) <= max(map(_end, groups[-1])):
            groups[-1].append(statement)
        else:
            groups.append([statement])
    return groups


def _names_used(statement: ast.stmt) -> tuple[set, set, set, set]:
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
