"""What each statement of a cell binds and what it needs, read without running it."""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from autograder.intake.guard import SECONDS, guarded
from autograder.intake.name_use import names_used
from autograder.intake.student_code import parse

_BOUND = re.compile(r"(?m)^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*=(?!=)")
_MAGIC = re.compile(r"^\s*%%")


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
@guarded(_as_one_statement, SECONDS)
def statements(source: str) -> tuple[Statement, ...]:
    """The statements of a cell in order, without magics; a cell that cannot be read counts as one statement."""
    lines, found_statements, parsed = source.splitlines(), [], parse(source)
    if not parsed:
        return _as_one_statement(None, source) if any(map(_is_code, source.split("\n"))) else ()
    for same_lines in _grouped_by_lines(parsed):
        first, last = _start(same_lines[0]), max(map(_end, same_lines))
        uses = [names_used(statement) for statement in same_lines]
        binds, touches, needs, at_once = (frozenset[str]().union(*sets) for sets in zip(*uses))
        text = "\n".join(lines[first - 1 : last])
        if not _MAGIC.match(text):
            found_statements.append(
                Statement(text, binds, touches, needs, at_once, *_only_defines_or_imports(same_lines))
            )
    return tuple(found_statements)


def _is_code(line: str) -> bool:
    return line.strip()[:1] not in ("", "#", "%", "!")


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
    end = 0  # the last line of the last group
    for statement in parsed:
        if groups and _start(statement) <= end:
            groups[-1].append(statement)
        else:
            groups.append([statement])
        end = max(end, _end(statement))
    return groups
