"""Right answers as others write them: a few an exercise, in the styles of well-known projects; all must earn full marks.

They lie beside an exercise's unit, in `practice/EXERCISE.py`, are written without a look at the declarations, and are read by
the audit alone.
"""

import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import torch
from torch.func import functional_call
from torch.utils._pytree import tree_leaves, tree_map

from autograder import settings
from autograder.bank.declaration import Exercise


@dataclass(frozen=True)
class Practice:
    """One answer: whose style it is in, the object, and whether it is made of the reference, which may call what it likes."""

    style: str
    object: Callable
    of_reference: bool = False


_found: list[Practice] = []


def practice(style: str, needs: str = "") -> Callable:
    """Registers the decorated function or class as an answer in somebody's style.

    Args:
        needs: a library without which it cannot run; where that is missing, the answer is left out.
    """

    def register(made):
        if not needs or importlib.util.find_spec(needs):
            _found.append(Practice(style, made))
        return made

    return register


def practices(exercise: Exercise) -> list[Practice]:
    """The bank's answers to an exercise, and what everybody may do with any right one."""
    return [*written(exercise), *_of_everybody(exercise)]


def written(exercise: Exercise) -> list[Practice]:
    """The bank's answers to an exercise; none where nobody has written any."""
    file = folder(exercise.unit) / f"{exercise.name}.py"
    if not file.exists():
        return []
    _found.clear()
    spec = importlib.util.spec_from_file_location(f"practice_of_{exercise.name}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return list(_found)


def folder(unit: str) -> Path:
    """Where the answers to a unit's exercises lie."""
    return settings.ROOT / "autograder" / "exercises" / f"unit_{unit}" / "practice"


def _of_everybody(exercise: Exercise) -> list[Practice]:
    """The reference, computed in single precision as Llama's norms are, and under parameter names of one's own."""
    found = []
    # of helpers' numbers nobody else has the type
    if "float" in exercise.result_types and all(exercise.input_types.values()):
        found.append(Practice("in single precision", _in_single_precision(exercise), of_reference=True))
    if not exercise.is_module:
        found.append(Practice("under other names", _under_other_names(exercise.reference), of_reference=True))
    return found


def _in_single_precision(exercise: Exercise) -> Callable:
    """`.float()` on the way in, the inputs' type on the way out."""
    if not exercise.is_module:
        return wraps(exercise.reference)(lambda *given, **named: _single(exercise.reference, given, named, []))

    def forward(self, *given, **named):
        weights = {name: one.float() for name, one in self.named_parameters(remove_duplicate=False)}
        made = exercise.reference.__new__(exercise.reference)
        made.__dict__ = self.__dict__  # the same module, with the reference's own forward
        return _single(
            lambda *args, **kwargs: functional_call(made, weights, args, kwargs), given, named, [*self.parameters()]
        )

    return type(exercise.name, (exercise.reference,), {"forward": wraps(exercise.reference.forward)(forward)})


def _single(compute: Callable, given: tuple, named: dict, weights: list) -> Any:
    real = [one for one in tree_leaves((weights, given, named)) if _is_real(one)]
    given, named = tree_map(lambda one: one.float() if _is_real(one) else one, (given, named))
    result = compute(*given, **named)
    return tree_map(lambda one: one.to(real[0].dtype) if real and _is_real(one) else one, result)


def _is_real(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _under_other_names(reference: Callable) -> Callable:
    """The same function, whose parameters are called otherwise than the stub's."""

    def renamed(*given):
        return reference(*given)

    parameters = inspect.signature(reference).parameters.items()
    signature = inspect.Signature([one.replace(name=f"my_{name}") for name, one in parameters])
    vars(renamed)["__signature__"] = signature
    return renamed
