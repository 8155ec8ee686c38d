"""Tells a module's layers and parameters in a lesson's symbols, as its author wrote them: nn.Linear(D, int(8*D/3)).

The source of `__init__` is read, and of the author's own code that it calls, with arguments and local names written out.
Each size and each layer in it is made for several choices of numbers. What the module has is told by a text that makes
just that for all of them: no text is told that was not tried.
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
_ONE_AT_A_TIME = threading.Lock()  # random numbers and warnings are everybody's


@dataclass(frozen=True)
class Told:
    """A module in symbols.

    Attributes:
        layers: by name, as it is written: {"W_K": "nn.Linear(D_X, D_Q, bias=False)", "mlp.0": "nn.Linear(D, 4*D)"};
            parameters that belong to no layer of torch's among them. What stands further down than at the top is there if
            it is always there: not the fourth layer of a list of H.
        shapes: of the parameters, by name: {"W_K.weight": "[D_Q, D_X]"}, those of the fourth layer of a list of H among
            them; without those that no symbols could be found for.
    """

    layers: dict[str, str]
    shapes: dict[str, str]


def tell(reference: type[nn.Module], builds: list[dict]) -> Told:
    """The layers and the parameters' shapes of a module in the symbols of its constructor.

    Args:
        builds: choices of the constructor's arguments, integers by name; others are tried beside them.

    Raises:
        RuntimeError: a size in a layer's constructor cannot be told; the message says which and what to do.
    """
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python, where it reads `4 is None`
        built = [(build, reference(**build)) for build in builds] + list(_others(reference, builds[0]))
        tried = [build for build, _ in built]
        made: dict[str, list] = {name: [build[name] for build in tried] for name in builds[0]}
        symbols = [ast.keyword(name, ast.Name(name)) for name in builds[0]]
        _Reader(tried, made).read(reference.__init__, [], symbols, reference)
    layers = _by_name([dict(_parts(module)) for _, module in built])
    shapes = _by_name([{name: one.shape for name, one in module.named_parameters()} for _, module in built])
    told = {
        name: _shape(each, made)
        for name, each in shapes.items()
        if len(each) - each.count(None) > 1  # one look tells no symbol from a number
    }
    return Told(_layers(reference, layers, made), {name: text for name, text in told.items() if text})


def _layers(reference: type[nn.Module], parts: dict[str, list], made: dict[str, list]) -> dict[str, str]:
    layers: dict[str, str] = {}
    for name, forms in parts.items():
        above = name.rpartition(".")[0]
        if above and None in forms:
            continue
        is_parameter = any(isinstance(form, torch.Size) for form in forms)
        text = _shape(forms, made) if is_parameter else _alike(forms, made)
        if text:
            layers[name] = f"nn.Parameter of shape {text}" if is_parameter else text
        elif not above or not layers.get(above, "nn.").startswith("nn."):  # a list's own text tells what is in it
            raise RuntimeError(
                f"{reference.__name__}.{name}: a size in it differs from case to case, and no expression in the source makes"
                " just that. Compute it in an __init__, from the arguments, with + - * / // % ** int round max min and what"
                " is made of these; and make a list of layers at once: nn.ModuleList([… for _ in range(…)])."
            )
    return layers


def _by_name(looks: list[dict[str, Any]]) -> dict[str, list]:
    """What each name stands for in every look; None where there is no such thing."""
    return {name: [look.get(name) for look in looks] for name in dict.fromkeys(name for look in looks for name in look)}


def _others(reference: type[nn.Module], build: dict) -> Iterator[tuple[dict, nn.Module]]:
    """The module with each argument doubled, and with all of them tripled, as far as it allows that; for cases may leave an
    argument at one number, which would be taken for a number that is always there."""
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
        yield above + name, _form(child)
        if isinstance(child, _CONTAINERS) or not _is_of_library(type(child)):
            yield from _parts(child, f"{above}{name}.")


def _form(made: object) -> Any:
    """What a size or a layer has in common with others that are made alike; None of anything else."""
    if isinstance(made, nn.Module):
        return [(name, type(one), _settings(one)) for name, one in made.named_modules()]
    return made if type(made) is int else None


def _settings(module: nn.Module) -> dict[str, Any]:
    """The shapes of a module's own parameters, and its attributes that are plain."""
    shapes = {name: one.shape for name, one in module.named_parameters(recurse=False)}
    plain = {key: one for key, one in vars(module).items() if isinstance(one, _PLAIN) and key != "training"}
    return {**shapes, **{key: getattr(one, "__name__", repr(one)) for key, one in plain.items()}}


# What makes the same -------------------------------------------------------------------------------------------------


def _alike(forms: list, made: dict[str, list]) -> str | None:
    """The text of a number that is always the same; else the first of the texts that makes this for each choice of numbers,
    or anything where the module has nothing."""
    present = [form for form in forms if form is not None]
    if all(type(form) is int and form == present[0] for form in present):
        return str(present[0])
    fitting = (text for text, each in made.items() if all(form in (None, one) for form, one in zip(forms, each)))
    return next(fitting, None)


def _shape(shapes: list, made: dict[str, list]) -> str | None:
    """A parameter's shape, each axis a number, or a size in the source, or up to four of them side by side."""
    sizes = {text: each for text, each in made.items() if type(each[0]) is int}
    for text, each in [*sizes.items()]:
        product = text if re.fullmatch(r"[\w*]+", text) else f"({text})"
        sizes |= {f"{count}*{product}": [count * one for one in each] for count in (2, 3, 4)}
    shortest = {text: sizes[text] for text in sorted(sizes, key=len)}
    counts = {len(shape) for shape in shapes if shape is not None}
    axes = [_alike([shape and shape[axis] for shape in shapes], shortest) for axis in range(min(counts))]
    return None if None in axes or len(counts) > 1 else f"[{', '.join(map(str, axes))}]"


# What stands in the source -------------------------------------------------------------------------------------------


def _text(node: ast.AST) -> str:
    return re.sub(r" ([*/%]+) ", r"\1", ast.unparse(node)).replace("'", '"')


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _literal(value: object) -> ast.expr | None:
    """A value as it is written in a source, if it can be."""
    try:
        ast.literal_eval(repr(value))
        return _parsed(repr(value))
    except (SyntaxError, ValueError):
        return None


def _expression(given: Any) -> ast.expr:
    """What an argument stands for, also *given and **named."""
    if isinstance(given, dict):
        return ast.Dict([*map(ast.Constant, given)], [*given.values()])
    return ast.Tuple([*given]) if isinstance(given, tuple) else given


class _Reader(ast.NodeTransformer):
    """Writes out the expressions in a function, and adds the sizes and the layers among them to those that are `made`.

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
        """Reads a function that is called, or what makes an object of a class; returns its names for attributes of `self`."""
        if not isinstance(function, FunctionType) or function in self.outer or _is_of_library(function):
            return {}
        itself = [] if kind is None else [ast.Name("self")]
        try:
            bound = inspect.signature(function).bind(*itself, *given, **{str(one.arg): one.value for one in named})
            [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
            outside = inspect.getclosurevars(function).nonlocals
        except (OSError, SyntaxError, TypeError, ValueError):  # it has no source, or it is called in too tricky a way
            return {}
        inner = _Reader(self.builds, self.made, (*self.outer, function))
        inner.names = {name: _expression(one) for name, one in bound.arguments.items()}
        inner.scope = {**self.scope, **function.__globals__, **outside, "self": kind}
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            known_as = getattr(value, "__name__", name)  # activation=F.relu
            inner.scope.setdefault(known_as, value)
            inner.names.setdefault(name, _literal(value) or ast.Name(known_as))
        for statement in getattr(tree, "body", []):
            inner.visit(statement)
        return {name: known for name, known in inner.names.items() if name.startswith("self.")}

    def visit(self, node: ast.AST) -> Any:
        node = super().visit(node)
        return self._noted(node) if isinstance(node, ast.expr) else node

    def _noted(self, node: ast.expr) -> ast.expr:
        """The expression, or a plainer one that makes the same; what it makes is noted."""
        text = _text(node)
        forms = self.made.get(text) or [_form(one) for one in self._values(text, self.builds)]
        if not forms or None in forms or isinstance(node, ast.Constant):
            return node
        helped = isinstance(node, ast.Call) and isinstance(self._value(node.func), FunctionType)
        if helped or isinstance(node, ast.IfExp | ast.BoolOp | ast.Subscript) or _is_taken_from_another(node):
            plainer = _alike(forms, self.made)
            if plainer or helped:  # the name of an author's function says nothing to others
                return _parsed(plainer or "untold")
        self.made.setdefault(text, forms)
        return node

    def _values(self, text: str, builds: list[dict]) -> list:
        """What an expression gives for each choice of numbers; nothing where it needs more than these."""
        try:
            return [eval(text, {**self.scope, **build}) for build in builds]
        except Exception:
            return []

    def _value(self, node: ast.AST) -> Any:
        """What an expression gives that needs no numbers."""
        return next(iter(self._values(ast.unparse(node), [{}])), NotImplemented)

    def visit_Name(self, node: ast.Name | ast.Attribute) -> ast.AST:
        known = self.names.get(ast.unparse(node)) or _literal(self._value(node))
        return known or self.generic_visit(node)

    visit_Attribute = visit_Name

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.ListComp:
        self.generic_visit(node)
        return ast.ListComp(node.elt, node.generators)

    def visit_keyword(self, node: ast.keyword) -> Any:
        self.generic_visit(node)
        if node.arg or not isinstance(node.value, ast.Dict):
            return node
        return [ast.keyword(getattr(key, "value", None), one) for key, one in zip(node.value.keys, node.value.values)]

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        return node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if ast.unparse(node) == "super()":
            return _parsed("super(__class__, self)")
        called = self._value(node.func)
        if isinstance(called, type) and issubclass(called, nn.Module):
            node.func = _parsed(_name(called))
            self.read(called.__init__, node.args, node.keywords, called)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            self.names |= self.read(called, node.args, node.keywords, self.scope["self"])
        else:
            self.read(called, node.args, node.keywords)
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        outcomes = {*self._values(f"bool({_text(self.visit(node.test))})", self.builds)}
        branches = {False: node.orelse, True: node.body}
        for statement in [one for outcome in outcomes or branches for one in branches[outcome]]:
            self.visit(statement)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        value = self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                self.names |= {ast.unparse(one): known for one, known in zip(target.elts, value.elts)}
            self.names[ast.unparse(target)] = value
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return self.visit_Assign(ast.Assign([node.target], node.value)) if node.value else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self.visit_Assign(ast.Assign([node.target], ast.BinOp(node.target, node.op, node.value)))


def _is_of_library(kind: Any) -> bool:
    return str(kind.__module__).partition(".")[0] in _LIBRARIES


def _is_taken_from_another(node: ast.expr) -> bool:
    """Whether an expression is an attribute of a layer, or what one of its methods gives."""
    part = node.func if isinstance(node, ast.Call) else node
    return isinstance(part, ast.Attribute) and not isinstance(part.value, ast.Name)


def _name(kind: type) -> str:
    return f"nn.{kind.__name__}" if getattr(nn, kind.__name__, None) is kind else kind.__name__
