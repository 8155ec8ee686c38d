"""Describes a module's layers and parameters in a lesson's symbols, as its author wrote them: nn.Linear(D, int(8*D/3)).

The source of `__init__`, and of the author's own functions that it calls, is read with arguments and local names written out.
Each expression for a size or a layer is evaluated for several choices of numbers. A layer of the module is described by an
expression that makes just this layer for all choices: every description has been tried.
"""

import ast
import inspect
import re
import sys
import textwrap
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import nn

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ParameterList, nn.ModuleDict, nn.ParameterDict)
_LIBRARIES = {"torch", *sys.stdlib_module_names}  # whose source is not read
_PLAIN = (int, float, str, tuple, type, FunctionType, BuiltinFunctionType)
_ONE_AT_A_TIME = threading.Lock()  # all threads share random numbers and warnings


@dataclass(frozen=True)
class ModuleInSymbols:
    """A module in symbols.

    Attributes:
        layers: the expression of each layer, by name: {"W_K": "nn.Linear(D_X, D_Q, bias=False)", "mlp.0": "nn.Linear(D, 4*D)"},
            and of each parameter that belongs to no layer of torch's. A layer inside another one is listed if it exists for all
            choices of sizes: the fourth layer of a list of H is not.
        shapes: the shape of each parameter, by name: {"W_K.weight": "[D_Q, D_X]"}, also of the fourth layer of a list of H;
            parameters for whose shapes no symbols were found are left out.
    """

    layers: dict[str, str]
    shapes: dict[str, str]


def tell(reference: type[nn.Module], builds: list[dict]) -> ModuleInSymbols:
    """The layers and the parameters' shapes of a module in the symbols of its constructor.

    Args:
        builds: choices of the constructor's arguments, integers by name; others are tried beside them.

    Raises:
        RuntimeError: a size in a layer's constructor cannot be described; the message says which and what to do.
    """
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python, where it reads `4 is None`
        built = [(build, reference(**build)) for build in builds] + list(_other_builds(reference, builds[0]))
        tried = [build for build, _ in built]
        texts: dict[str, list] = {name: [build[name] for build in tried] for name in builds[0]}
        symbols = [ast.keyword(name, ast.Name(name)) for name in builds[0]]
        _Reader(tried, texts).read(reference.__init__, [], symbols, reference)
    layers = _values_by_name([dict(_parts(module)) for _, module in built])
    shapes = _values_by_name(
        [{name: parameter.shape for name, parameter in module.named_parameters()} for _, module in built]
    )
    described = {
        name: _shape_text(sizes, texts)
        for name, sizes in shapes.items()
        if len(sizes) - sizes.count(None) > 1  # a single module does not distinguish a symbol from a number
    }
    return ModuleInSymbols(_layers(reference, layers, texts), {name: text for name, text in described.items() if text})


def _layers(reference: type[nn.Module], parts: dict[str, list], texts: dict[str, list]) -> dict[str, str]:
    layers: dict[str, str] = {}
    for name, forms in parts.items():
        above = name.rpartition(".")[0]
        if above and None in forms:
            continue
        is_parameter = any(isinstance(form, torch.Size) for form in forms)
        text = _shape_text(forms, texts) if is_parameter else _first_text(forms, texts)
        if text:
            layers[name] = f"nn.Parameter of shape {text}" if is_parameter else text
        elif not above or not layers.get(above, "nn.").startswith("nn."):  # a list's own text describes its layers
            raise RuntimeError(
                f"{reference.__name__}.{name}: a size in it differs from case to case, and no expression in the source makes"
                " just that. Compute it in an __init__, from the arguments, with + - * / // % ** int round max min and what"
                " is made of these; and make a list of layers at once: nn.ModuleList([… for _ in range(…)])."
            )
    return layers


def _values_by_name(looks: list[dict[str, Any]]) -> dict[str, list]:
    """What each name stands for in each of several modules; None where a module has no such name."""
    return {name: [look.get(name) for look in looks] for name in dict.fromkeys(name for look in looks for name in look)}


def _other_builds(reference: type[nn.Module], build: dict) -> Iterator[tuple[dict, nn.Module]]:
    """The module with each argument doubled, and with all of them tripled, as far as it allows that.

    Cases may leave an argument at one number, which would otherwise be taken for a constant.
    """
    choices = [{**build, name: 2 * size} for name, size in build.items()]
    for choice in [*choices, {name: 3 * size for name, size in build.items()}]:
        try:
            yield choice, reference(**choice)
        except Exception:  # whatever the module has against these sizes
            pass


# What a module has ---------------------------------------------------------------------------------------------------


def _parts(module: nn.Module, above: str = "") -> Iterator[tuple[str, Any]]:
    """The form of each layer, down to torch's own, and the shape of each parameter outside of these, by name."""
    for name, parameter in module.named_parameters(recurse=False):
        yield above + name, parameter.shape
    for name, child in module.named_children():
        yield above + name, _form_of(child)
        if isinstance(child, _CONTAINERS) or not _is_of_library(type(child)):
            yield from _parts(child, f"{above}{name}.")


def _form_of(size_or_layer: object) -> Any:
    """What identifies a size or a layer: equal for layers that are made alike; None for any other object."""
    if isinstance(size_or_layer, nn.Module):
        return [(name, type(part), _settings(part)) for name, part in size_or_layer.named_modules()]
    return size_or_layer if type(size_or_layer) is int else None


def _settings(module: nn.Module) -> dict[str, Any]:
    """The shapes of a module's own parameters, and its attributes of plain types, by name."""
    shapes = {name: parameter.shape for name, parameter in module.named_parameters(recurse=False)}
    plain = {key: value for key, value in vars(module).items() if isinstance(value, _PLAIN) and key != "training"}
    return {**shapes, **{key: getattr(value, "__name__", repr(value)) for key, value in plain.items()}}


# What makes the same -------------------------------------------------------------------------------------------------


def _first_text(forms: list, texts: dict[str, list]) -> str | None:
    """The text of a number that is always the same; else the first text that makes each of the forms.

    Where a form is None, since the module lacks that part, the text may make anything.
    """
    present = [form for form in forms if form is not None]
    if all(type(form) is int and form == present[0] for form in present):
        return str(present[0])
    fitting = (
        text for text, values in texts.items() if all(form in (None, value) for form, value in zip(forms, values))
    )
    return next(fitting, None)


def _shape_text(shapes: list, texts: dict[str, list]) -> str | None:
    """A parameter's shape, each axis a number, or a size in the source, or up to four of them side by side."""
    sizes = {text: values for text, values in texts.items() if type(values[0]) is int}
    for text, values in [*sizes.items()]:
        product = text if re.fullmatch(r"[\w*]+", text) else f"({text})"
        sizes |= {f"{count}*{product}": [count * size for size in values] for count in (2, 3, 4)}
    shortest = {text: sizes[text] for text in sorted(sizes, key=len)}
    counts = {len(shape) for shape in shapes if shape is not None}
    axes = [_first_text([shape and shape[axis] for shape in shapes], shortest) for axis in range(min(counts))]
    return None if None in axes or len(counts) > 1 else f"[{', '.join(map(str, axes))}]"


# What stands in the source -------------------------------------------------------------------------------------------


def _source(node: ast.AST) -> str:
    return re.sub(r" ([*/%]+) ", r"\1", ast.unparse(node)).replace("'", '"')


def _parse_expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _literal_expression(value: object) -> ast.expr | None:
    """A value as an expression in source code; None where it has no literal."""
    try:
        ast.literal_eval(repr(value))
        return _parse_expression(repr(value))
    except (SyntaxError, ValueError):
        return None


def _argument_expression(argument: Any) -> ast.expr:
    """The expression that an argument stands for, also *args and **kwargs."""
    if isinstance(argument, dict):
        return ast.Dict([*map(ast.Constant, argument)], [*argument.values()])
    return ast.Tuple([*argument]) if isinstance(argument, tuple) else argument


class _Reader(ast.NodeTransformer):
    """Writes out the expressions in a function, and adds the sizes and the layers among them to `made`, by their text.

    Attributes:
        names: the expressions for local names, and for attributes of `self`.
        scope: what other names stand for.
        outer: the functions that called this one.
    """

    def __init__(self, builds: list[dict], made: dict[str, list], outer: tuple[FunctionType, ...] = ()):
        self.builds, self.made, self.outer = builds, made, outer
        self.names: dict[str, ast.expr] = {}
        self.scope: dict[str, Any] = {"nn": nn}

    def read(self, function: object, given: list, named: list[ast.keyword], kind: type | None = None) -> dict:
        """Reads a called function, or a class's `__init__`; returns the expressions for attributes of `self`, by name."""
        if not isinstance(function, FunctionType) or function in self.outer or _is_of_library(function):
            return {}
        itself = [] if kind is None else [ast.Name("self")]
        try:
            bound = inspect.signature(function).bind(
                *itself, *given, **{str(keyword.arg): keyword.value for keyword in named}
            )
            [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
            outside = inspect.getclosurevars(function).nonlocals
        except (OSError, SyntaxError, TypeError, ValueError):  # it has no source, or it is called in too tricky a way
            return {}
        inner = _Reader(self.builds, self.made, (*self.outer, function))
        inner.names = {name: _argument_expression(argument) for name, argument in bound.arguments.items()}
        inner.scope = {**self.scope, **function.__globals__, **outside, "self": kind}
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            known_as = getattr(value, "__name__", name)  # activation=F.relu
            inner.scope.setdefault(known_as, value)
            inner.names.setdefault(name, _literal_expression(value) or ast.Name(known_as))
        for statement in getattr(tree, "body", []):
            inner.visit(statement)
        return {name: expression for name, expression in inner.names.items() if name.startswith("self.")}

    def visit(self, node: ast.AST) -> Any:
        node = super().visit(node)
        return self._note(node) if isinstance(node, ast.expr) else node

    def _note(self, node: ast.expr) -> ast.expr:
        """The expression, or a plainer one with the same value; its value for each choice of numbers is added to `made`."""
        text = _source(node)
        forms = self.made.get(text) or [_form_of(value) for value in self._values(text, self.builds)]
        if not forms or None in forms or isinstance(node, ast.Constant):
            return node
        is_helper = isinstance(node, ast.Call) and isinstance(self._value(node.func), FunctionType)
        if is_helper or isinstance(node, ast.IfExp | ast.BoolOp | ast.Subscript) or _is_taken_from_another(node):
            plainer = _first_text(forms, self.made)
            if plainer or is_helper:  # the name of an author's function says nothing to others
                return _parse_expression(plainer or "untold")
        self.made.setdefault(text, forms)
        return node

    def _values(self, text: str, builds: list[dict]) -> list:
        """An expression's values for each choice of numbers; an empty list where it cannot be evaluated with these."""
        try:
            return [eval(text, {**self.scope, **build}) for build in builds]
        except Exception:
            return []

    def _value(self, node: ast.AST) -> Any:
        """The value of an expression that needs no numbers; NotImplemented where it needs some."""
        return next(iter(self._values(ast.unparse(node), [{}])), NotImplemented)

    def visit_Name(self, node: ast.Name | ast.Attribute) -> ast.AST:
        expression = self.names.get(ast.unparse(node)) or _literal_expression(self._value(node))
        return expression or self.generic_visit(node)

    visit_Attribute = visit_Name

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.ListComp:
        self.generic_visit(node)
        return ast.ListComp(node.elt, node.generators)

    def visit_keyword(self, node: ast.keyword) -> Any:
        self.generic_visit(node)
        if node.arg or not isinstance(node.value, ast.Dict):
            return node
        return [
            ast.keyword(getattr(key, "value", None), value) for key, value in zip(node.value.keys, node.value.values)
        ]

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        return node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node) == "super()":
            return _parse_expression("super(__class__, self)")
        function = self._value(node.func)
        if isinstance(function, type) and issubclass(function, nn.Module):
            node.func = _parse_expression(_class_name(function))
            self.read(function.__init__, node.args, node.keywords, function)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            self.names |= self.read(function, node.args, node.keywords, self.scope["self"])
        else:
            self.read(function, node.args, node.keywords)
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        outcomes = {*self._values(f"bool({_source(self.visit(node.test))})", self.builds)}
        branches = {False: node.orelse, True: node.body}
        for statement in [statement for outcome in outcomes or branches for statement in branches[outcome]]:
            self.visit(statement)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        value = self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                self.names |= {ast.unparse(part): expression for part, expression in zip(target.elts, value.elts)}
            self.names[ast.unparse(target)] = value
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return self.visit_Assign(ast.Assign([node.target], node.value)) if node.value else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self.visit_Assign(ast.Assign([node.target], ast.BinOp(node.target, node.op, node.value)))


def _is_of_library(kind: Any) -> bool:
    return str(kind.__module__).partition(".")[0] in _LIBRARIES


def _is_taken_from_another(node: ast.expr) -> bool:
    """Whether an expression is an attribute of a layer, or the result of one of its methods."""
    part = node.func if isinstance(node, ast.Call) else node
    return isinstance(part, ast.Attribute) and not isinstance(part.value, ast.Name)


def _class_name(kind: type) -> str:
    return f"nn.{kind.__name__}" if getattr(nn, kind.__name__, None) is kind else kind.__name__
