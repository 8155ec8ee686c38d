"""Records which torch functions run, and how large their results are."""

import _thread
import threading
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from utils.checking.observing.dispatch import DispatchMode


@dataclass
class Notes:
    """The functions that were called and, with `sizes`, the numbers of entries in their results.

    `counts` holds the entries of the "largest" tensor, of all tensors that were "made", and the most that were "kept" at a time.
    The entries of an expanded tensor count once, those of a view not at all; memory is kept as long as a view of it is.
    """

    called: set = field(default_factory=set)  # as Python calls them
    dispatched: dict = field(default_factory=dict)  # operations by their identity, which is quicker than their hash
    sizes: bool = False
    counts: dict = field(default_factory=lambda: {"largest": 0, "made": 0, "kept": 0})
    alive: dict = field(default_factory=dict)  # where memory begins -> its entries, and how many tensors look at it
    held: int = 0

    @property
    def names(self) -> set[str]:
        """The names of the called functions; they are made only when asked for, since code may make a million calls."""
        return {
            *map(_function_name, self.called),
            *(operation.overloadpacket.__name__ for operation in self.dispatched.values()),
        }

    def take(self, result: object, view: bool) -> None:
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.device.type != "meta":
                entries = min(tensor.numel(), tensor.untyped_storage().nbytes() // tensor.element_size())
                new_entries = 0 if view else entries
                self.counts["largest"] = max(self.counts["largest"], new_entries)
                self.counts["made"] += new_entries
                self._keep(tensor, entries, view)

    def _keep(self, tensor: torch.Tensor, entries: int, view: bool) -> None:
        start = tensor.untyped_storage().data_ptr()
        if start not in self.alive:
            if view:
                return  # the memory belongs to an argument
            self.alive[start] = [entries, 0]
            self.held += entries
            self.counts["kept"] = max(self.counts["kept"], self.held)
        self.alive[start][1] += 1
        weakref.finalize(tensor, self._let_go, start)

    def _let_go(self, start: int) -> None:
        memory = self.alive[start]
        memory[1] -= 1
        if not memory[1]:
            self.held -= memory[0]
            del self.alive[start]


class _Functions(TorchFunctionMode):
    """Notes the names of torch functions as Python calls them."""

    def __init__(self, notes: Notes):
        super().__init__()
        self.notes = notes

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.notes.called.add(function)
        return function(*args, **kwargs) if kwargs else function(*args)


def _function_name(function: Any) -> str:
    """A function's name; "requires_grad =" where that property is set."""
    name = getattr(function, "__name__", "") or str(function)
    return f"{function.__self__.__name__} =" if name == "__set__" else name  # the setter of a property


class _Dispatched(DispatchMode):
    """Notes the names of torch functions as they are dispatched, wherever they are called from, and what comes out."""

    def __init__(self, notes: Notes):
        super().__init__()
        self.notes = notes

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        notes = self.notes
        notes.dispatched[id(function)] = function
        result = function(*args, **kwargs) if kwargs else function(*args)
        if notes.sizes:
            notes.take(result, _gives_a_view(function))
        return result


@cache  # a schema is read from C++ anew each time
def _gives_a_view(function: torch._ops.OpOverload) -> bool:
    """Whether an operation's result shares the memory of an argument without writing to it: transpose, not add_."""
    return any(
        returned.alias_info is not None and not returned.alias_info.is_write for returned in function._schema.returns
    )


class WatchedCalls:
    """Notes the torch functions that run while it is entered, as Python calls them and, if `dispatched`, as they are dispatched.

    With `sizes` it notes the sizes of results too; without `calls` nothing else.
    torch's modes hold for one thread; threads that are started meanwhile get modes of their own.
    """

    STARTERS = ((_thread, "start_new_thread"), (threading, "_start_new_thread"), (threading, "_start_joinable_thread"))

    def __init__(self, calls: bool = True, sizes: bool = False, dispatched: bool = True):
        self.notes = Notes(sizes=sizes)
        self.kinds: list[type[_Functions | _Dispatched]] = [_Functions] if calls else []
        self.kinds += [_Dispatched] if sizes or calls and dispatched else []

    def __enter__(self):
        self.stack = ExitStack()
        for kind in self.kinds:
            self.stack.enter_context(kind(self.notes))
        self.starters = [
            (module, name, getattr(module, name)) for module, name in self.STARTERS if hasattr(module, name)
        ]
        for module, name, start in self.starters:
            setattr(module, name, self._noting(start))
        return self.notes

    def __exit__(self, *error):
        for module, name, start in self.starters:
            setattr(module, name, start)
        self.stack.close()

    def _noting(self, start):
        def start_noted(function, *arguments, **named):
            def run(*values, **others):
                with ExitStack() as stack:
                    for kind in self.kinds:
                        stack.enter_context(kind(self.notes))
                    return function(*values, **others)

            return start(run, *arguments, **named)

        return start_noted
