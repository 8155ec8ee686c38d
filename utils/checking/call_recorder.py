"""Notes which torch functions run, and how large their results are."""

import _thread
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass
class Notes:
    """What was called and, with `sizes`, the entries of what came out: of the largest tensor, and of all that were made.

    Those of an expanded tensor count once, those of a view only towards the largest.
    """

    names: set[str] = field(default_factory=set)
    sizes: bool = False
    largest: int = 0
    made: int = 0

    def take(self, result, view: bool) -> None:
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, torch.Tensor) and one.layout == torch.strided and one.device.type != "meta":
                entries = min(one.numel(), one.untyped_storage().nbytes() // one.element_size())
                self.largest = max(self.largest, entries)
                self.made += 0 if view else entries


class _Functions(TorchFunctionMode):
    """Notes the names of torch functions as Python calls them."""

    def __init__(self, notes: Notes):
        super().__init__()
        self.notes = notes

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.notes.names.add(getattr(function, "__name__", "") or str(function))
        return function(*args, **(kwargs or {}))


class _Dispatched(TorchDispatchMode):
    """Notes the names of torch functions as they are dispatched, wherever they are called from, and what comes out."""

    def __init__(self, notes: Notes):
        super().__init__()
        self.notes = notes

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else the first call imports all of torch's compiler, which takes a second

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.notes.names.add(function.overloadpacket.__name__)
        result = function(*args, **(kwargs or {}))
        if self.notes.sizes:
            self.notes.take(result, _gives_a_view(function))
        return result


def _gives_a_view(function) -> bool:
    """Whether a result shares the memory of an argument and is not written: transpose, not add_."""
    return any(one.alias_info is not None and not one.alias_info.is_write for one in function._schema.returns)


class WatchedCalls:
    """Notes the torch functions that run while it is entered, as Python calls them and as they are dispatched.

    With `sizes` it notes the sizes of results too; without `calls` nothing else.
    torch's modes hold for one thread; threads that are started meanwhile get modes of their own.
    """

    STARTERS = ((_thread, "start_new_thread"), (threading, "_start_new_thread"), (threading, "_start_joinable_thread"))

    def __init__(self, calls: bool = True, sizes: bool = False):
        self.notes = Notes(sizes=sizes)
        self.kinds = (_Functions, _Dispatched) if calls else (_Dispatched,) if sizes else ()

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
