"""Makes a case's inputs as the student's code receives them: on a device, in a precision, with the case's memory layout."""

from typing import Any

import numpy as np
import torch

from utils.checking import toy_models
from utils.checking.observing.devices import Device
from utils.checking.records import DrawnCase, Helper


def inputs_of(case: DrawnCase, device: Device) -> dict:
    return {name: _input(value, device, case) for name, value in case.inputs.items()}


def _input(value: Any, device: Device, case: DrawnCase) -> Any:
    if isinstance(value, Helper):
        return toy_models.build(value, lambda array: _tensor(array, device, case.precision))
    if isinstance(value, list):
        return [*value]  # a copy: changes of the list reach no other call
    return _laid_out(_tensor(value, device, case.precision), case.layout) if isinstance(value, np.ndarray) else value


def _tensor(array: np.ndarray, device: Device, precision: str = "") -> torch.Tensor:
    if array.dtype.kind != "f":
        return torch.from_numpy(array.copy()).to(device)
    return torch.from_numpy(array.copy()).to(dtype=real_type(array, precision, device)).to(device)


def real_type(array: np.ndarray, precision: str, device: Device) -> torch.dtype:
    """The type in which an array of numbers with a fraction arrives."""
    declared_type = getattr(torch, precision) if precision else torch.from_numpy(array).dtype
    # MPS has no double precision
    return torch.float32 if declared_type == torch.float64 and torch.device(device).type == "mps" else declared_type


def _laid_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """A tensor with the same numbers in another memory layout."""
    if not layout or not tensor.ndim:
        return tensor
    if layout == "expanded":
        first = tensor[:1]
        return first.clone().expand_as(tensor) if torch.equal(first.expand_as(tensor), tensor) else tensor
    if layout == "transposed" and tensor.ndim > 1:
        return tensor.mT.contiguous().mT
    if layout == "permuted" and tensor.ndim > 1:
        return tensor.movedim(0, -1).contiguous().movedim(-1, 0)
    wide = tensor
    for axis in range(tensor.ndim):  # each number twice, so that nothing in the gaps is out of the ordinary
        wide = wide.repeat_interleave(2, dim=axis)
    return wide[(slice(None, None, 2),) * tensor.ndim]
