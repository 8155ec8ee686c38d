"""Right answers as others write them: a few for each exercise, in the styles of well-known projects; all must earn full marks.

They lie in a unit's folder, in `practice/EXERCISE.py`, are written without a look at the declarations, and only the audit reads
them.
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
    """One answer: its style, the object, and whether it is derived from the reference, which may call any function."""

    style: str
    object: Callable
    of_reference: bool = False


_registered: list[Practice] = []


def practice(style: str, needs: str = "") -> Callable:
    """Registers the decorated function or class as an answer in somebody's style.

    Args:
        needs: a library without which the answer cannot run; where it is missing, the answer is left out.
    """

    def register(answer):
        if not needs or importlib.util.find_spec(needs):
            _registered.append(Practice(style, answer))
        return answer

    return register


def practices(exercise: Exercise) -> list[Practice]:
    """The bank's answers to an exercise, and two variations of its reference that must pass as well."""
    return [*written(exercise), *_from_the_reference(exercise)]


def written(exercise: Exercise) -> list[Practice]:
    """The bank's answers to an exercise; none where nobody has written any."""
    file = folder(exercise.unit) / f"{exercise.name}.py"
    if not file.exists():
        return []
    _registered.clear()
    spec = importlib.util.spec_from_file_location(f"practice_of_{exercise.name}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return list(_registered)


def folder(unit: str) -> Path:
    """Where the answers to a unit's exercises lie."""
    return settings.ROOT / "autograder" / "exercises" / f"unit_{unit}" / "practice"


def _from_the_reference(exercise: Exercise) -> list[Practice]:
    """The reference, computed in single precision as Llama's norms are, and with other parameter names."""
    answers = []
    # only where all inputs are tensors or plain: the numbers of helpers keep their own type
    if "float" in exercise.result_types and all(exercise.input_types.values()):
        answers.append(Practice("in single precision", _in_single_precision(exercise), of_reference=True))
    if not exercise.is_module:
        answers.append(Practice("under other names", _under_other_names(exercise.reference), of_reference=True))
    return answers


def _in_single_precision(exercise: Exercise) -> Callable:
    """The reference with `.float()` applied to its inputs, and its results converted back to the inputs' type."""
    if not exercise.is_module:
        return wraps(exercise.reference)(
            lambda *arguments, **named: _compute_in_single(exercise.reference, arguments, named, [])
        )

    def forward(self, *arguments, **named):
        weights = {name: weight.float() for name, weight in self.named_parameters(remove_duplicate=False)}
        module = exercise.reference.__new__(exercise.reference)
        module.__dict__ = self.__dict__  # the same module, with the reference's own forward
        return _compute_in_single(
            lambda *args, **kwargs: functional_call(module, weights, args, kwargs),
            arguments,
            named,
            [*self.parameters()],
        )

    return type(exercise.name, (exercise.reference,), {"forward": wraps(exercise.reference.forward)(forward)})


def _compute_in_single(compute: Callable, arguments: tuple, named: dict, weights: list) -> Any:
    real = [value for value in tree_leaves((weights, arguments, named)) if _is_real(value)]
    arguments, named = tree_map(lambda value: value.float() if _is_real(value) else value, (arguments, named))
    result = compute(*arguments, **named)
    return tree_map(lambda value: value.to(real[0].dtype) if real and _is_real(value) else value, result)


def _is_real(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _under_other_names(reference: Callable) -> Callable:
    """A function that calls the reference and whose parameters have other names than the stub's."""

    def renamed(*arguments):
        return reference(*arguments)

    parameters = inspect.signature(reference).parameters.items()
    signature = inspect.Signature([parameter.replace(name=f"my_{name}") for name, parameter in parameters])
    vars(renamed)["__signature__"] = signature
    return renamed
