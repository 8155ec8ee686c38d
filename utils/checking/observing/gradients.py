"""Observes gradients of an answer's results with respect to its inputs and weights."""

from collections.abc import Sequence
from typing import Any

import torch

from utils.checking.observing.failures import error_text
from utils.checking.observing.outputs import numbers_of


def tensors_of(values: dict) -> list[tuple[str, torch.Tensor]]:
    """The tensors among values, with their names."""
    return [(name, value) for name, value in values.items() if isinstance(value, torch.Tensor)]


def gradients_of(result: Any, watched: dict, places: tuple) -> tuple[dict, str]:
    """Gradients of a fixed, uneven sum of the outputs at `places`, so that no symmetry hides a missing one; and any error.

    A frozen tensor, or one that no gradient reaches, has the gradient None.
    """
    items = result if isinstance(result, (tuple, list)) else (result,)
    reals = {name: value for name, value in tensors_of(watched) if value.is_floating_point()}
    leaves = {name: value for name, value in reals.items() if value.requires_grad}
    total: torch.Tensor | float = 0.0
    try:
        for index, item in enumerate(items):
            if index in places and isinstance(item, torch.Tensor) and item.is_floating_point() and item.requires_grad:
                weights = torch.cos(torch.arange(item.numel(), dtype=item.dtype, device=item.device) * (0.7 + index))
                total = total + (item.reshape(-1) * weights).sum()
        if not isinstance(total, torch.Tensor) or not leaves:
            return dict.fromkeys(reals), ""
        gradients = _arriving(total, list(leaves.values()))
        arrived = {name: gradient for name, gradient in zip(leaves, gradients) if gradient is not None}
        return {name: numbers_of(arrived[name]) if name in arrived else None for name in reals}, ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the student's own backward and hooks run here
        return dict.fromkeys(reals), f"{type(error).__name__}: {error_text(error)}"


def _arriving(total: torch.Tensor, leaves: list[torch.Tensor]) -> Sequence[torch.Tensor | None]:
    """The gradients that reach leaves; where code, as reentrant checkpoints do, knows the call of `backward` alone, by that."""
    try:
        return torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
    except RuntimeError as error:
        if ".grad()" not in str(error):
            raise
    total.backward()
    return [leaf.grad for leaf in leaves]
