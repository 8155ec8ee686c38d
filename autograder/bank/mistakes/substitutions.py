"""Mistakes that nobody declared: what correct code would give if torch's functions that it calls were others.

A sigmoid in the place of a tanh, a softmax along another axis, argmin for argmax: numbers tell that this is what was computed,
whatever the student's code looks like.
"""

from collections.abc import Callable, Iterator
from types import CodeType

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from autograder.bank import declaration
from autograder.bank.mistakes.counterfactuals import TOLD, made_of

AXES = (-1, -2, -3)


def _alone(function: Callable) -> Callable:
    """The function of the first argument, whatever else is given."""
    return lambda X, *_, **__: function(X)


_NOTHING, _SIGMOID, _TANH, _RELU = map(_alone, (lambda X: X, torch.sigmoid, torch.tanh, torch.relu))
_GELU, _BY_TANH, _SILU = map(_alone, (F.gelu, lambda X: F.gelu(X, approximate="tanh"), F.silu))
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
# functions along an axis whose results have the shape of what they are given
ALONG = ("softmax", "log_softmax")


def substitutions(exercise: declaration.Exercise) -> list[declaration.Variation]:
    """For each function that a correct form of the exercise calls, that form with another in its place or along another axis."""
    found: dict[str, declaration.Variation] = {}
    if any(case.rows for case in exercise.cases):
        return []
    forms = [exercise.reference, *(one.object for one in exercise.alternatives)]
    for form in forms:
        if any(word in name for word in exercise.forbidden for name in _names(_run(form)) if word not in OTHERS):
            continue  # one call computes most of it: changing the rest would change one result alone
        for name, what, function, other in _of_form(form):
            changed = made_of(exercise, form, _under(function, other))
            found.setdefault(name, declaration.Variation(name, changed, TOLD.format(what)))
    return list(found.values())


def _of_form(form: Callable) -> Iterator[tuple[str, str, str, Callable]]:
    """(name, what would be so, the function, what stands in its place) for what a form calls."""
    called = _names(_run(form))
    for function in filter(called.__contains__, OTHERS):
        for other, stands in OTHERS[function].items():
            what = f"{other} stood in the place of {function}" if other else f"there were no {function}"
            yield f"{other or 'nothing'} for {function}", what, function, stands
    for function in filter(called.__contains__, ALONG):
        for axis in AXES:
            what = f"{function} ran along axis {axis}".replace("-", "−")
            yield f"{function} along {axis}", what, function, _along(getattr(torch, function), axis)


def _run(form: Callable) -> Callable:
    return getattr(form, "forward", form)


def _names(function: Callable, depth: int = 1) -> set[str]:
    """The names that a function's code uses, and those of the functions of its module that it calls."""
    code = getattr(function, "__code__", None)
    if code is None:
        return set()
    found = _of_code(code)
    known = [function.__globals__.get(name) for name in found] if depth else []
    own = [
        one
        for one in known
        if one is not None and getattr(one, "__module__", "") == function.__module__ and hasattr(one, "__code__")
    ]
    return found.union(*(_names(one, depth - 1) for one in own))


def _of_code(code: CodeType) -> set[str]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(_of_code, inner))


def _along(function: Callable, axis: int) -> Callable:
    def changed(X, *given, **named):
        asked = named.get("dim", given[0] if given else None)
        if X.ndim < -axis or X.ndim == 1:
            raise ValueError("there is no such axis")
        if asked is not None and asked % X.ndim == axis % X.ndim:
            raise ValueError("that is the axis that is asked for")
        return function(X, axis)

    return changed


def _under(function: str, other: Callable) -> Callable:
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
        made = self.other if getattr(function, "__name__", "") == self.name else function
        return made(*args, **(kwargs or {}))
