"""Mutants of a reference: its syntax tree with one thing changed. One that no case tells from it shows what is not examined."""

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
_OTHER: dict[type[ast.AST], type[ast.AST]] = {
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

    The functions that it calls are part of it; those that mistakes call too are not, since they hold what makes a mistake.
    The name is the line that is another, as the mutant has it.
    """
    reference = exercise.reference
    tree = ast.Module(body=[*map(_definition, _helpers(exercise)), _definition(reference)], type_ignores=[])
    found: dict[str, declaration.Variation] = {}
    for place, node in enumerate(_changeable(tree)):
        for change in _changes(node):
            changed = _replaced(tree, place, change)
            name, number = _told(tree, changed), 1
            if not name:
                continue
            while (label := f"{name} ({number})" if number > 1 else name) in found:
                number += 1
            found[label] = declaration.Variation(label, _compiled(changed, reference))
    return list(found.values())


def _helpers(exercise: declaration.Exercise) -> list:
    module = inspect.getmodule(exercise.reference)
    shared = set().union(*(_called(one.made) for one in exercise.misconceptions if one.made))
    known = map(vars(module).get, sorted(_called(exercise.reference) - shared))
    return [one for one in known if inspect.isfunction(one) and inspect.getmodule(one) is module]


def _called(made: Callable) -> set[str]:
    found = [node.func for node in ast.walk(_definition(made)) if isinstance(node, ast.Call)]
    return {one.id for one in found if isinstance(one, ast.Name)}


def _definition(made: Callable) -> ast.stmt:
    definition = ast.parse(textwrap.dedent(inspect.getsource(made))).body[0]
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        definition.decorator_list = []
    return definition


def _told(tree: ast.Module, changed: ast.Module) -> str:
    """The first line that is another than before, as it is now; empty where none is."""
    before, after = (ast.unparse(one).splitlines() for one in (tree, changed))
    if before == after:
        return ""
    place = next((i for i, (a, b) in enumerate(zip(before, after)) if a != b), len(after) - 1)
    left_out = after[place].strip() == "pass"
    return f"without {before[place].strip()}" if left_out else after[place].strip()


def _changeable(tree: ast.Module) -> list[ast.AST]:
    """The nodes that may change, in a fixed order: none of annotations, messages and imports."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, _UNTOUCHED) or _is_text(node):
            continue
        found.append(node)
        skipped = {id(getattr(node, "returns", None)), id(getattr(node, "annotation", None))}
        skipped |= {id(base) for base in getattr(node, "bases", ())}
        waiting = [one for one in ast.iter_child_nodes(node) if id(one) not in skipped] + waiting
    return found


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, (str, type(None)))


def _changes(node: ast.AST) -> Iterator[Callable]:
    """Functions that give, for a copy of the node, what stands in its place."""
    yield from _of_expressions(node)
    if isinstance(node, (ast.AugAssign, ast.If, ast.Expr)):
        yield lambda _: ast.Pass()


def _of_expressions(node: ast.AST) -> Iterator[Callable]:
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in _OTHER:
        yield lambda one: _with(one, op=_OTHER[type(one.op)]())
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OTHER:
        yield lambda one: _with(one, ops=[_OTHER[type(one.ops[0])]()])
    if isinstance(node, ast.UnaryOp):
        yield lambda one: one.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield lambda one: _with(one, value=not one.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield lambda one: _with(one, value=one.value + 1 if one.value + 1 != one.value else 2 * one.value)
    if isinstance(node, ast.IfExp):
        yield lambda one: one.body
        yield lambda one: one.orelse
    if isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                yield lambda one, part=part: _with(one, **{part: None})
    if isinstance(node, ast.Attribute) and node.attr in ("mT", "T"):
        yield lambda one: one.value
    if isinstance(node, ast.Call):
        yield from _of_calls(node)


def _of_calls(node: ast.Call) -> Iterator[Callable]:
    for place, keyword in enumerate(node.keywords):
        if keyword.arg != "device":  # what is left on the wrong device shows on an accelerator, where there is one
            yield lambda one, place=place: _with(one, keywords=one.keywords[:place] + one.keywords[place + 1 :])
    called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if len(node.args) > 1 and called not in _COMMUTATIVE:
        yield lambda one: _with(one, args=[one.args[1], one.args[0], *one.args[2:]])
    if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
        yield lambda one: one.func.value  # the method is not called


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _replaced(tree: ast.Module, place: int, change: Callable) -> ast.Module:
    """A copy of the tree in which the node at that place of `_changeable` is another."""
    changed = copy.deepcopy(tree)
    node = _changeable(changed)[place]
    return ast.fix_missing_locations(_Replacing(node, change(copy.deepcopy(node))).visit(changed))


def _compiled(tree: ast.Module, reference: Callable) -> Callable:
    """What the tree defines, made among the names of the reference's own module."""
    names = dict(inspect.getmodule(reference).__dict__)
    exec(compile(tree, f"<a mutant of {reference.__name__}>", "exec"), names)
    return names[reference.__name__]


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else super().visit(node)
