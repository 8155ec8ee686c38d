"""Mistakes that nobody declared: what correct code would give if torch's functions that it calls were others.

A sigmoid in the place of a tanh, a softmax along another axis, argmin for argmax: the numbers prove that this was computed,
whatever the student's code looks like.
"""

from collections.abc import Callable, Iterator
from types import CodeType

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from autograder.bank import declaration
from autograder.bank.mistakes.counterfactuals import AS_IF, made_of

AXES = (-1, -2, -3)


def _of_first_argument(function: Callable) -> Callable:
    """The function applied to the first argument, without the others."""
    return lambda X, *_, **__: function(X)


_NOTHING, _SIGMOID, _TANH, _RELU = map(_of_first_argument, (lambda X: X, torch.sigmoid, torch.tanh, torch.relu))
_GELU, _BY_TANH, _SILU = map(_of_first_argument, (F.gelu, lambda X: F.gelu(X, approximate="tanh"), F.silu))
OTHERS: dict[str, dict[str, Callable]] = {
    "tanh": {"sigmoid": _SIGMOID, "relu": _RELU, "": _NOTHING},
    "sigmoid": {"tanh": _TANH, "relu": _RELU, "": _NOTHING},
    "relu": {"tanh": _TANH, "sigmoid": _SIGMOID, "": _NOTHING},
    "gelu": {"gelu's approximation by tanh": _BY_TANH, "relu": _RELU, "silu": _SILU, "": _NOTHING},
    "silu": {"gelu": _GELU, "relu": _RELU, "sigmoid": _SIGMOID, "": _NOTHING},
    "softmax": {"sigmoid": _SIGMOID, "log_softmax": torch.log_softmax, "": _NOTHING},
    "log_softmax": {"softmax": torch.softmax, "": _NOTHING},
    "argmax": {"argmin": torch.argmin},
    "sum": {"mean": torch.mean},
    "mean": {"sum": torch.sum},
    "sin": {"cos": torch.cos},
    "cos": {"sin": torch.sin},
}
# functions along an axis whose results have the shape of their argument
ALONG = ("softmax", "log_softmax")


def substitutions(exercise: declaration.Exercise) -> list[declaration.Variation]:
    """For each function that a correct form of the exercise calls, the form with another function, or along another axis."""
    variations: dict[str, declaration.Variation] = {}
    if any(case.rows for case in exercise.cases):
        return []
    forms = [exercise.reference, *(alternative.object for alternative in exercise.alternatives)]
    for form in forms:
        if any(
            word in name
            for word in exercise.forbidden
            for name in _used_names(_running_part(form))
            if word not in OTHERS
        ):
            continue  # a forbidden function computes most of the form: a change of the rest would change one result alone
        for name, what, function, other in _replacements(form):
            changed = made_of(exercise, form, _with_function_replaced(function, other))
            variations.setdefault(name, declaration.Variation(name, changed, AS_IF.format(what)))
    return list(variations.values())


def _replacements(form: Callable) -> Iterator[tuple[str, str, str, Callable]]:
    """(name, what would be so, the function's name, its replacement) for each function that a form calls."""
    called = _used_names(_running_part(form))
    for function in filter(called.__contains__, OTHERS):
        for other, stands in OTHERS[function].items():
            what = f"{other} stood in the place of {function}" if other else f"there were no {function}"
            yield f"{other or 'nothing'} for {function}", what, function, stands
    for function in filter(called.__contains__, ALONG):
        for axis in AXES:
            what = f"{function} ran along axis {axis}".replace("-", "−")
            yield f"{function} along {axis}", what, function, _along(getattr(torch, function), axis)


def _running_part(form: Callable) -> Callable:
    return getattr(form, "forward", form)


def _used_names(function: Callable, depth: int = 1) -> set[str]:
    """The names that a function's code uses, and those of the functions of its module that it calls."""
    code = getattr(function, "__code__", None)
    if code is None:
        return set()
    names = _code_names(code)
    module_values = [function.__globals__.get(name) for name in names] if depth else []
    own = [
        value
        for value in module_values
        if value is not None and getattr(value, "__module__", "") == function.__module__ and hasattr(value, "__code__")
    ]
    return names.union(*(_used_names(own_function, depth - 1) for own_function in own))


def _code_names(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_code_names, inner))


def _along(function: Callable, axis: int) -> Callable:
    def changed(X, *arguments, **named):
        axis_given = named.get("dim", arguments[0] if arguments else None)
        if X.ndim < -axis or X.ndim == 1:
            raise ValueError("there is no such axis")
        if axis_given is not None and axis_given % X.ndim == axis % X.ndim:
            raise ValueError("that is the axis that is asked for")
        return function(X, axis)

    return changed


def _with_function_replaced(function: str, other: Callable) -> Callable:
    def run_changed(run, arguments, named):
        with _Instead(function, other):
            return run(*arguments, **named)

    return run_changed


class _Instead(TorchFunctionMode):
    """Calls `other` wherever a torch function of that name would be called."""

    def __init__(self, name: str, other: Callable):
        super().__init__()
        self.name, self.other = name, other

    def __torch_function__(self, function, types, args=(), kwargs=None):
        called = self.other if getattr(function, "__name__", "") == self.name else function
        return called(*args, **(kwargs or {}))
