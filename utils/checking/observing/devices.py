"""Imitates another device where there is none: tensors that claim to be on it, and refuse what a GPU would refuse.

Each tensor holds its numbers on the CPU, so that whatever asks for them (`.tolist()`, `.item()`, a branch, a Boolean index)
gets them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from utils.checking.observing.dispatch import DispatchMode

THERE = "meta"  # torch has this device everywhere, and keeps no numbers on it, so that no real tensor is taken for a wrapper
EXPECTED = "not on the expected device"
NO_DOUBLE = "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64"  # Apple's words
# these take indices on the CPU
_INDEXING = ("aten::index", "aten::index_put", "aten::_index_put_impl", "aten::index_put_")
_COPY, _TO = "aten::copy_", "aten::_to_copy"
_PACKING = "aten::_pack_padded_sequence"  # takes lengths on the CPU, and gives sizes of batches on the CPU
# the choice of a way to compute attention; 0, the plain one, is right on any device
_ATTENTION = "aten::_fused_sdp_choice"


Device = torch.device | str


class There(torch.Tensor):
    """A tensor that says it is on the other device; `numbers` are its numbers, on the CPU."""

    numbers: torch.Tensor

    @staticmethod
    def __new__(cls, numbers: torch.Tensor) -> "There":
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls,
            numbers.size(),
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=torch.device(THERE),
        )
        wrapper.numbers = numbers
        return wrapper

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.tolist:  # torch's own tolist refuses tensors of another class
            return args[0].numbers.tolist()
        if func in (torch.Tensor.numpy, torch.Tensor.__array__):
            raise RuntimeError(f"a tensor is {EXPECTED}: numpy")
        return torch._C._disabled_torch_function_impl(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[override]  # torch's is a static one
        raise RuntimeError(f"{func._schema.name} was called outside the other device")


@contextmanager
def other_device(double: bool = True) -> Iterator[None]:
    """Within it, torch's device "meta" computes, and an operation on tensors of two devices is an error, as with a GPU.

    What a GPU allows is allowed: numbers without axes and indices on the CPU, and copies from one device to the other.

    Args:
        double: whether it has double precision, which Apple's MPS has not.

    Raises:
        RuntimeError: where an operation meets tensors of two devices.
        TypeError: where numbers in double precision are to be there, and it has none.
    """
    with _Making(), _Computing(double):
        yield


class _Making(TorchFunctionMode):
    """Makes tensors from lists on the CPU and moves them then: made on the other device, they would have no numbers."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.new_tensor:
            func, kwargs = torch.tensor, {"dtype": args[0].dtype, "device": args[0].device, **kwargs}
            args = args[1:]
        if func in (torch.tensor, torch.as_tensor, torch.asarray) and kwargs.get("device") is not None:
            return func(*args, **{**kwargs, "device": None}).to(kwargs["device"])
        return func(*args, **kwargs)


class _Computing(DispatchMode):
    def __init__(self, double: bool):
        super().__init__()
        self.refused = () if double else (torch.float64, torch.complex128)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        device_asked_for = kwargs.get("device")
        goes_there = device_asked_for is not None and torch.device(device_asked_for).type == THERE
        tensors = _tensors_among((*args, *kwargs.values()))
        if not goes_there and not any(isinstance(tensor, There) for tensor in tensors):
            return func(*args, **kwargs)
        name = func._schema.name
        if name == _ATTENTION:
            return 0
        there = [tensor for tensor in tensors if isinstance(tensor, There)]
        if name not in (_COPY, _TO) and there and not _may_meet(name, tensors):
            raise RuntimeError(f"tensors are {EXPECTED}: {name}")
        wrappers = {id(wrapper.numbers): wrapper for wrapper in there}
        goes_there = goes_there or device_asked_for is None and bool(there)
        if name == _COPY:
            goes_there = isinstance(tensors[0], There)
        named = kwargs if device_asked_for is None else {**kwargs, "device": "cpu"}
        result = func(
            *_map_items(_numbers_on_the_cpu, tuple(args)),
            **{key: _map_items(_numbers_on_the_cpu, value) for key, value in named.items()},
        )
        if isinstance(result, torch.Tensor) and id(result) in wrappers and result.shape != wrappers[id(result)].shape:
            with torch._C._DisableTorchDispatch():  # squeeze_ and its like change the wrapper's shape too
                func(*args, **kwargs)
        new_tensors = _tensors_among((result,)) if goes_there else []
        if any(tensor.dtype in self.refused for tensor in new_tensors):
            raise TypeError(NO_DOUBLE)
        if name == _PACKING and goes_there:
            return _result_there(result[0], wrappers), result[1]
        return _map_items(lambda tensor: _result_there(tensor, wrappers), result) if goes_there else result


def _tensors_among(values: tuple) -> list[torch.Tensor]:
    """The tensors among an operation's arguments or results, which are lists of tensors at most."""
    lists = (value for value in values if isinstance(value, (list, tuple)))
    return [value for value in chain(values, *lists) if isinstance(value, torch.Tensor)]


def _map_items(change: Callable, value: Any) -> Any:
    """An argument or a result, changed, or each item where it is a list or a tuple; much faster than torch's `tree_map`."""
    return type(value)(_map_items(change, item) for item in value) if type(value) in (list, tuple) else change(value)


def _may_meet(name: str, tensors: list) -> bool:
    """Whether an operation takes these tensors together: the only ones on the CPU are single numbers, and indices or lengths."""
    here = [tensor for tensor in tensors if not isinstance(tensor, There) and tensor.ndim]
    if name in (*_INDEXING, _PACKING) and isinstance(tensors[0], There):
        here = [tensor for tensor in here if tensor.dtype.is_floating_point]
    return not here


def _numbers_on_the_cpu(value: Any) -> Any:
    return value.numbers if isinstance(value, There) else value


def _result_there(value: Any, wrappers: dict) -> Any:
    """A result as a tensor on the other device; for a tensor that was changed in place, its own wrapper."""
    if not isinstance(value, torch.Tensor):
        return value
    if id(value) in wrappers and wrappers[id(value)].shape != value.shape:
        raise RuntimeError("the shape of a tensor was changed in place")  # which a wrapper cannot follow
    return wrappers[id(value)] if id(value) in wrappers else There(value)
