"""Refuses what a GPU would refuse, on torch's device without numbers: operations on tensors of two devices."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

EXPECTED = "not on the expected device"  # part of what torch itself says where it notices
_INDEXING = ("aten::index", "aten::index_put", "aten::_index_put_impl", "aten::index_put_")  # take indices on the CPU
_COPY, _TO = "aten::copy_", "aten::_to_copy"


class DevicesApart(TorchDispatchMode):
    """Within it, an operation on tensors of two devices is an error, as with a GPU; torch itself lets some pass there.

    What a GPU allows is allowed: numbers without axes and indices on the CPU, and a copy from one device to the other, which
    leaves the CPU's tensor on the CPU.

    Raises:
        RuntimeError: where an operation meets tensors of two devices.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, func._schema.name
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor) and one.ndim]
        if len({tensor.device.type for tensor in given}) > 1:
            if name == _COPY:
                return args[0]  # its numbers are unknown from here on, and are not looked at
            if name not in _INDEXING:
                raise RuntimeError(f"tensors are {EXPECTED}: {name}")
        return func(*args, **kwargs)
