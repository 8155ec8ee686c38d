"""Mutants of a reference: its syntax tree with one change. A mutant that passes all cases shows what they do not examine."""

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache

from autograder.bank import declaration

_SWAPS = (
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.And, ast.Or),
    (ast.BitAnd, ast.BitOr),
)
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    **dict(_SWAPS),
    **{b: a for a, b in _SWAPS},
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
}
_COMMUTATIVE = ("add", "mul", "maximum", "minimum", "promote_types")
_UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.arguments, ast.Import, ast.ImportFrom)


@cache
def mutants(exercise: declaration.Exercise) -> list[declaration.Variation]:
    """Each change of one operator, constant, comparison, argument, slice, method or statement of an exercise's reference.

    The functions of its module that the reference calls are changed too, except those that mistakes also call: they hold what
    makes a mistake. A mutant's name is its changed line.
    """
    reference = exercise.reference
    tree = ast.Module(body=[*map(_definition_of, _helpers(exercise)), _definition_of(reference)], type_ignores=[])
    mutants_by_name: dict[str, declaration.Variation] = {}
    for place, node in enumerate(_changeable(tree)):
        for change in _changes_of(node):
            changed = _with_replaced_node(tree, place, change)
            line, number = _changed_line(tree, changed), 1
            if not line:
                continue
            while (label := f"{line} ({number})" if number > 1 else line) in mutants_by_name:
                number += 1
            mutants_by_name[label] = declaration.Variation(label, _compile_mutant(changed, reference))
    return list(mutants_by_name.values())


def _helpers(exercise: declaration.Exercise) -> list:
    module = inspect.getmodule(exercise.reference)
    shared = set().union(*(_called_names(mistake.made) for mistake in exercise.misconceptions if mistake.made))
    helpers = map(vars(module).get, sorted(_called_names(exercise.reference) - shared))
    return [helper for helper in helpers if inspect.isfunction(helper) and inspect.getmodule(helper) is module]


def _called_names(function: Callable) -> set[str]:
    functions = [node.func for node in ast.walk(_definition_of(function)) if isinstance(node, ast.Call)]
    return {function.id for function in functions if isinstance(function, ast.Name)}


def _definition_of(function: Callable) -> ast.stmt:
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        definition.decorator_list = []
    return definition


def _changed_line(tree: ast.Module, changed: ast.Module) -> str:
    """The first line that differs from the original, as it is after the change; empty where none differs."""
    before, after = (ast.unparse(version).splitlines() for version in (tree, changed))
    if before == after:
        return ""
    place = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), len(after) - 1)
    left_out = after[place].strip() == "pass"
    return f"without {before[place].strip()}" if left_out else after[place].strip()


def _changeable(tree: ast.Module) -> list[ast.AST]:
    """The nodes that may change, in a fixed order, without those of annotations, messages and imports."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, _UNTOUCHED) or _is_text(node):
            continue
        nodes.append(node)
        skipped = {id(getattr(node, "returns", None)), id(getattr(node, "annotation", None))}
        skipped |= {id(base) for base in getattr(node, "bases", ())}
        waiting = [child for child in ast.iter_child_nodes(node) if id(child) not in skipped] + waiting
    return nodes


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, (str, type(None)))


def _changes_of(node: ast.AST) -> Iterator[Callable]:
    """Functions that take a copy of the node and give the node that replaces it."""
    yield from _expression_changes(node)
    if isinstance(node, (ast.AugAssign, ast.If, ast.Expr)):
        yield lambda _: ast.Pass()


def _expression_changes(node: ast.AST) -> Iterator[Callable]:
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in _SWAPPED:
        yield lambda copied: _with_fields(copied, op=_SWAPPED[type(copied.op)]())
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SWAPPED:
        yield lambda copied: _with_fields(copied, ops=[_SWAPPED[type(copied.ops[0])]()])
    if isinstance(node, ast.UnaryOp):
        yield lambda copied: copied.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda copied: _with_fields(copied, value=not copied.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield lambda copied: _with_fields(
            copied, value=copied.value + 1 if copied.value + 1 != copied.value else 2 * copied.value
        )
    if isinstance(node, ast.IfExp):
        yield lambda copied: copied.body
        yield lambda copied: copied.orelse
    if isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                yield lambda copied, part=part: _with_fields(copied, **{part: None})
    if isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        yield lambda copied: copied.value
    if isinstance(node, ast.Call):
        yield from _call_changes(node)


def _call_changes(node: ast.Call) -> Iterator[Callable]:
    for place, keyword in enumerate(node.keywords):
        if keyword.arg != "device":  # a tensor on the wrong device shows only on a machine with an accelerator
            yield lambda copied, place=place: _with_fields(
                copied, keywords=copied.keywords[:place] + copied.keywords[place + 1 :]
            )
    function_name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if len(node.args) > 1 and function_name not in _COMMUTATIVE:
        yield lambda copied: _with_fields(copied, args=[copied.args[1], copied.args[0], *copied.args[2:]])
    if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
        yield lambda copied: copied.func.value  # the method is not called


def _with_fields(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _with_replaced_node(tree: ast.Module, place: int, change: Callable) -> ast.Module:
    """A copy of the tree in which the node at that place of `_changeable` is changed."""
    changed = copy.deepcopy(tree)
    node = _changeable(changed)[place]
    return ast.fix_missing_locations(_Replacing(node, change(copy.deepcopy(node))).visit(changed))


def _compile_mutant(tree: ast.Module, reference: Callable) -> Callable:
    """The mutant that the tree defines, with the names of the reference's own module."""
    names = dict(inspect.getmodule(reference).__dict__)
    exec(compile(tree, f"<a mutant of {reference.__name__}>", "exec"), names)
    return names[reference.__name__]


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else super().visit(node)
