"""Another device where there is none: tensors that say they are there, and refuse what a GPU would refuse.

Each holds its numbers on the CPU, so that whatever asks for them (`.tolist()`, `.item()`, a branch, a Boolean index) gets them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from utils.checking.observing.dispatch import DispatchMode

THERE = "meta"  # torch knows this device everywhere, and keeps no numbers there, so that none are mistaken for it
EXPECTED = "not on the expected device"
NO_DOUBLE = "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64"  # Apple's words
_INDEXING = ("aten::index", "aten::index_put", "aten::_index_put_impl", "aten::index_put_")  # take indices on the CPU
_COPY, _TO = "aten::copy_", "aten::_to_copy"
_PACKING = "aten::_pack_padded_sequence"  # takes lengths on the CPU, and gives sizes of batches there
_ATTENTION = "aten::_fused_sdp_choice"  # which way to compute attention; 0, the plain one, is right on any device


Device = torch.device | str


class There(torch.Tensor):
    """A tensor that says it is on the other device; `numbers` are its numbers, on the CPU."""

    numbers: torch.Tensor

    @staticmethod
    def __new__(cls, numbers: torch.Tensor) -> "There":
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            numbers.size(),
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=torch.device(THERE),
        )
        made.numbers = numbers
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.tolist:  # which torch has for no tensor of another class
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
    """Makes tensors of lists on the CPU before they are moved; by themselves they would lose their numbers."""

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
        asked = kwargs.get("device")
        goes_there = asked is not None and torch.device(asked).type == THERE
        given = _tensors((*args, *kwargs.values()))
        if not goes_there and not any(isinstance(one, There) for one in given):
            return func(*args, **kwargs)
        name = func._schema.name
        if name == _ATTENTION:
            return 0
        there = [one for one in given if isinstance(one, There)]
        if name not in (_COPY, _TO) and there and not _may_meet(name, given):
            raise RuntimeError(f"tensors are {EXPECTED}: {name}")
        known = {id(one.numbers): one for one in there}
        goes_there = goes_there or asked is None and bool(there)
        if name == _COPY:
            goes_there = isinstance(given[0], There)
        named = kwargs if asked is None else {**kwargs, "device": "cpu"}
        result = func(*_each(_numbers, tuple(args)), **{key: _each(_numbers, value) for key, value in named.items()})
        if isinstance(result, torch.Tensor) and id(result) in known and result.shape != known[id(result)].shape:
            with torch._C._DisableTorchDispatch():  # squeeze_ and its like, of the wrapper too
                func(*args, **kwargs)
        made = _tensors((result,)) if goes_there else []
        if any(one.dtype in self.refused for one in made):
            raise TypeError(NO_DOUBLE)
        if name == _PACKING and goes_there:
            return _moved(result[0], known), result[1]
        return _each(lambda one: _moved(one, known), result) if goes_there else result


def _tensors(values: tuple) -> list[torch.Tensor]:
    """The tensors among an operation's arguments or results, which are lists of tensors at most."""
    lists = (one for one in values if isinstance(one, (list, tuple)))
    return [one for one in chain(values, *lists) if isinstance(one, torch.Tensor)]


def _each(change: Callable, value: Any) -> Any:
    """An argument or a result, changed, or each one that is listed in it; much faster than torch's way through any tree."""
    return type(value)(_each(change, one) for one in value) if type(value) in (list, tuple) else change(value)


def _may_meet(name: str, given: list) -> bool:
    """Whether an operation takes these tensors: all there, but for numbers without axes, and indices of what is there."""
    here = [one for one in given if not isinstance(one, There) and one.ndim]
    if name in (*_INDEXING, _PACKING) and isinstance(given[0], There):
        here = [one for one in here if one.dtype.is_floating_point]
    return not here


def _numbers(value: Any) -> Any:
    return value.numbers if isinstance(value, There) else value


def _moved(value: Any, known: dict) -> Any:
    """A result on the other device; what was changed in place is the tensor that it was."""
    if not isinstance(value, torch.Tensor):
        return value
    if id(value) in known and known[id(value)].shape != value.shape:
        raise RuntimeError("the shape of a tensor was changed in place")  # which a wrapper cannot follow
    return known[id(value)] if id(value) in known else There(value)
