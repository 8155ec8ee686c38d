"""Records the results of a call as plain data: kinds, types, shapes and numbers."""

from typing import Any

import numpy as np
import torch
from torch import nn

from utils.checking.observing.devices import There
from utils.checking.observing.failures import at_stage
from utils.checking.records import MAX_OUTPUTS, MAX_VALUES, Output


def plain_result(result: Any) -> Any:
    """A result with torch's own tensors: operations that a tensor subclass postpones run here, where they are recorded."""
    if isinstance(result, (tuple, list)):
        return (
            type(result)(map(plain_result, result))
            if type(result) in (tuple, list)
            else tuple(map(plain_result, result))
        )
    if isinstance(result, torch.Tensor) and type(result) not in (torch.Tensor, nn.Parameter, There):
        return at_stage("call", lambda: torch.Tensor.as_subclass(torch.ops.aten.alias(result), torch.Tensor))
    return result


def kind_of(value: object) -> str:
    """The name of a value's type, with subclasses (a named tuple, a parameter) taken for what they extend."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    return next((kind.__name__ for kind in (tuple, list) if isinstance(value, kind)), type(value).__name__)


def outputs_of(result: object) -> tuple:
    """The returned values in order, up to MAX_OUTPUTS of them."""
    items = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(_output(item) for item in items[:MAX_OUTPUTS])


def _output(value: object) -> Output:
    if isinstance(value, torch.Tensor):
        try:
            plain = value if type(value) is There else torch.Tensor.detach(value).as_subclass(torch.Tensor)
            if plain.layout != torch.strided:
                return Output("sparse or nested tensor")
            numbers, carries = numbers_of(plain), bool(value.requires_grad)
            return Output("tensor", str(plain.dtype), plain.device.type, tuple(plain.shape), numbers, None, carries)
        except Exception:  # a layout, or a subclass, that has no plain numbers
            return Output("sparse or nested tensor")
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        values = value.astype(np.float64) if value.size <= MAX_VALUES else None
        return Output("ndarray", str(value.dtype), "cpu", value.shape, values)
    if isinstance(value, (bool, int, float)):
        return Output(type(value).__name__, values=np.asarray(value, dtype=np.float64))
    return Output(kind_of(value))


def numbers_of(tensor: torch.Tensor) -> np.ndarray | None:
    """A tensor's numbers, in double precision or as integers; None where there are too many, or none can be read."""
    tensor = tensor.numbers if type(tensor) is There else tensor
    if tensor.numel() > MAX_VALUES or tensor.is_complex() or tensor.device.type == "meta":
        return None
    dense = tensor.to_dense() if tensor.layout != torch.strided else tensor
    wide = dense.cpu().to(torch.float64 if tensor.is_floating_point() else torch.int64)
    # ascontiguousarray makes a vector of a single number, hence the reshape
    return np.ascontiguousarray(wide.numpy()).reshape(tuple(wide.shape))


def same_outputs(first: tuple, second: tuple) -> bool:
    """Whether two calls gave the same results, but for rounding."""
    if len(first) != len(second):
        return False
    for a, b in zip(first, second):
        if (a.shape, a.kind) != (b.shape, b.kind):
            return False
        if (
            a.values is not None
            and b.values is not None
            and not np.array_equal(a.values, b.values)
            and not np.allclose(a.values, b.values, 1e-4, 1e-6, equal_nan=True)
        ):
            return False
    return True
