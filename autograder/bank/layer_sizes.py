"""Tells a module's layers and parameters in a lesson's symbols, as its author wrote them: nn.Linear(D, int(8*D/3)).

The module is built with sizes that remember how they were computed (see `symbolic_sizes`), once for each choice of numbers,
while every layer's constructor notes what it is given. Where a size has lost its history, as a tensor's axis has,
it is looked for among the sizes that were computed: what fits for every choice of numbers is what it is.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import FunctionType

import torch
from torch import nn

from autograder.bank import symbolic_sizes

_LISTS, _MAPPINGS = (nn.Sequential, nn.ModuleList, nn.ParameterList), (nn.ModuleDict, nn.ParameterDict)
_GIVEN = "_given_to_the_constructor"  # where a module keeps what it was built with, while it is looked at
_ONE_AT_A_TIME = threading.Lock()  # the constructors of torch's layers are everybody's


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


@dataclass(frozen=True)
class _Number:
    """A number in a text: all the ways to write it, the likeliest first."""

    ways: tuple[str, ...]


def tell(reference: type[nn.Module], builds: list[dict]) -> Told:
    """The layers and the parameters' shapes of a module in the symbols of its constructor.

    Args:
        builds: choices of the constructor's arguments, integers by name; others are tried beside them.

    Raises:
        RuntimeError: a size in a layer's constructor cannot be told; the message says which and what to do.
    """
    layers, shapes = {}, {}
    with _noting(), torch.random.fork_rng(devices=[]):
        looks = [_Look(reference, build) for build in builds] + list(_others(reference, builds[0]))
        for one in looks:
            for name, text in one.layers():
                layers.setdefault(name, []).append(text)
            for name, parameter in one.module.named_parameters():
                shapes.setdefault(name, []).append(one.shape(parameter))
    always = len(looks)
    told = {name: _agreed(texts) for name, texts in layers.items() if "." not in name or len(texts) == always}
    for name, text in told.items():
        if text is None:
            raise RuntimeError(
                f"{reference.__name__}.{name}: a size in it differs from case to case, and its history was lost. Compute it"
                " in an __init__, from the arguments, with + - * / // % ** int round max min and what is made of these."
            )
    agreed = {
        name: _agreed(texts) for name, texts in shapes.items() if len(texts) > 1
    }  # one look tells no symbol from a number
    return Told(told, {name: text for name, text in agreed.items() if text is not None})


def _agreed(texts: list[tuple]) -> str | None:
    """The text that fits for every choice of numbers; choices that make something else than most are left out."""
    bare = [tuple(None if isinstance(part, _Number) else part for part in text) for text in texts]
    usual = Counter(bare).most_common(1)[0][0]
    texts = [text for text, form in zip(texts, bare) if form == usual]
    written = []
    for parts in zip(*texts):
        if isinstance(parts[0], _Number):
            fitting = [way for way in parts[0].ways if all(way in part.ways for part in parts)]
            if not fitting:
                return None
            written.append(fitting[0])
        else:
            written.append(parts[0])
    return "".join(written)


def _others(reference: type[nn.Module], build: dict) -> Iterator["_Look"]:
    """The module with each argument doubled, and with all of them tripled, as far as it allows that; for cases may leave an
    argument at one number, which would be taken for a number that is always there."""
    choices = [{**build, name: 2 * size} for name, size in build.items()]
    for choice in [*choices, {name: 3 * size for name, size in build.items()}]:
        try:
            yield _Look(reference, choice)
        except Exception:  # whatever the module has against these sizes
            pass


class _Look:
    """A module that was built with sizes that remember; texts are made of words and of numbers that are yet to be agreed on."""

    def __init__(self, reference: type[nn.Module], build: dict):
        token = symbolic_sizes.made.set([])
        try:
            self.module = reference(**{name: symbolic_sizes.traced(size, name) for name, size in build.items()})
            self.ways = {}
            for number in symbolic_sizes.made.get():
                self.ways.setdefault(_key(number), {})[number.text] = None
        finally:
            symbolic_sizes.made.reset(token)

    def layers(self, module: nn.Module | None = None, above: str = "") -> Iterator[tuple[str, tuple]]:
        """The name and the text of each layer, down to torch's own, and of each parameter outside of these."""
        module = self.module if module is None else module
        for name, parameter in module.named_parameters(recurse=False):
            yield above + name, self.value(parameter)
        for name, child in module.named_children():
            yield above + name, self.value(child)
            if not _torchs(type(child)) or isinstance(child, _LISTS + _MAPPINGS):
                yield from self.layers(child, f"{above}{name}.")

    def shape(self, tensor: torch.Tensor) -> tuple:
        return self._listed("[", list(map(self.value, tensor.shape)), "]")

    def value(self, value) -> tuple:
        """The text of whatever may be given to a constructor."""
        if isinstance(value, nn.Parameter):
            return ("nn.Parameter of shape ", *self.shape(value))
        if isinstance(value, nn.Module):
            return self._module(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return (self._number(value),)
        if isinstance(value, (tuple, list)):
            opening, closing = ("(", ",)" if len(value) == 1 else ")") if isinstance(value, tuple) else "[]"
            return self._listed(opening, list(map(self.value, value)), closing)
        if isinstance(value, str):
            return (f'"{value}"',)
        if value is None or isinstance(value, (bool, torch.dtype)):
            return (repr(value),)
        return (getattr(value, "__name__", "…"),)

    def _number(self, number) -> _Number:
        others = self.ways.get(_key(number), ())
        unknown = ("…",) if isinstance(number, float) else ()
        return _Number(tuple(dict.fromkeys((symbolic_sizes.written(number), *others, *unknown))))

    def _listed(self, opening: str, texts: list[tuple], closing: str) -> tuple:
        parts = [opening]
        for index, text in enumerate(texts):
            parts += [", ", *text] if index else text
        return (*parts, closing)

    def _module(self, module: nn.Module) -> tuple:
        kind, name = type(module), _name(type(module))
        if kind in _LISTS + _MAPPINGS:
            return self._container(module, name)
        if _GIVEN not in vars(module):
            return (f"{name}(…)",)
        given, named = vars(module)[_GIVEN]
        texts = [self.value(one) for one in given]
        texts += [(f"{key}=", *self.value(one)) for key, one in named.items()]
        return self._listed(f"{name}(", texts, ")")

    def _container(self, module: nn.Module, name: str) -> tuple:
        """Told by what it holds, for it may have been filled later."""
        held = dict(module.named_children()) or dict(module.named_parameters(recurse=False))
        texts = [self.value(one) for one in held.values()]
        if not all(key.isdigit() for key in held):
            entries = [(f'"{key}": ', *text) for key, text in zip(held, texts)]
            return self._listed(f"{name}({{", entries, "})")
        opening, closing = ("(", ")") if isinstance(module, nn.Sequential) else ("([", "])")
        if len(texts) > 1 and len(set(texts)) == 1:
            star = "*[" if opening == "(" else ""
            count = self._number(len(texts))
            return (f"{name}{opening}{star}", *texts[0], " for _ in range(", count, ")", "]"[: len(star)] + closing)
        return self._listed(name + opening, texts, closing)


def _key(number) -> tuple:
    """A ratio is never taken for a size, though they may be equal."""
    return isinstance(number, int), symbolic_sizes.plain(number)


def _torchs(kind: type) -> bool:
    return kind.__module__.startswith("torch.")


def _name(kind: type) -> str:
    return f"nn.{kind.__name__}" if getattr(nn, kind.__name__, None) is kind else kind.__name__


def _kinds(kind: type = nn.Module) -> set[type]:
    """Every class of modules that has a constructor of its own: torch's layers, and those of the course."""
    found = {kind} if "__init__" in vars(kind) else set()
    return found.union(*map(_kinds, kind.__subclasses__()))


@contextmanager
def _noting():
    """While it is entered, modules that this thread builds keep what their constructors were given."""
    with _ONE_AT_A_TIME:
        kinds = [one for one in _kinds() if not _torchs(one) or one.__module__.startswith("torch.nn.modules.")]
        before = {kind: vars(kind)["__init__"] for kind in kinds}
        try:
            for kind, constructor in before.items():
                kind.__init__ = _noted(constructor, _torchs(kind))
            yield
        finally:
            for kind, constructor in before.items():
                kind.__init__ = constructor


def _noted(constructor, torchs: bool):
    remembering = constructor if torchs else _remembering(constructor)

    @wraps(constructor)
    def noting(self, *given, **named):
        if symbolic_sizes.made.get() is None:  # another thread's
            return constructor(self, *given, **named)
        if type(self).__init__ is noting:  # not called by the constructor of a class that extends this one
            vars(self)[_GIVEN] = given, named
        return remembering(self, *given, **named)

    return noting


def _remembering(constructor):
    """The same constructor with built-in functions and constants that keep a size's history."""
    if not isinstance(constructor, FunctionType):
        return constructor
    code = constructor.__code__
    constants = tuple(symbolic_sizes.constant(one) if type(one) is float else one for one in code.co_consts)
    made = FunctionType(
        code.replace(co_consts=constants),
        {**symbolic_sizes.BUILT_IN, **constructor.__globals__},
        constructor.__name__,
        constructor.__defaults__,
        constructor.__closure__,
    )
    made.__kwdefaults__ = constructor.__kwdefaults__
    return made
