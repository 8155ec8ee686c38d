"""Tells whether code makes a table where torch's modes do not see it: of numpy, of lists, or of tensors while modes are off."""

import _tracemalloc
import time
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
import torch

FACTOR = 4  # by which long axes are lengthened
GROWTH = 6  # a table of all pairs then takes sixteen times the memory, what goes along the axes four times
LONG = 32  # an axis is long if it has more places
SLOW = 0.1  # seconds of computing; code that takes longer is not called on more
SINGLE, HALF = 4, 2  # bytes of a number with a fraction
FIRST, LAST = 17, 19  # bytes of tensors that nobody else makes


def unseen_table(prepared: Callable[[dict], Callable[[], object]], inputs: dict, bounds: Mapping[str, int]) -> int:
    """How many numbers an unseen table holds; 0 if there is none.

    The code is called on inputs that are longer. It makes a table if it then takes as much memory at a time as a table of all
    pairs, and far more than longer inputs explain. A measure that was set back meanwhile counts as a table.

    Args:
        prepared: makes a call of the code on inputs.
        bounds: those of the case that the inputs are of.
    """
    longer = {name: _lengthened(value) if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
    if "largest" not in bounds or all(longer[name] is value for name, value in inputs.items()):
        return 0
    most, started = (bounds["largest"] + 1) * FACTOR**2 - 1, time.process_time()
    before = _measured(prepared(inputs), 0)
    if time.process_time() - started > SLOW:
        return 0
    for less, more in zip(before, _measured(prepared(longer), most)):
        if more.set_back or more.exceeded and more.bytes > GROWTH * less.bytes:
            return max(more.bytes // SINGLE // FACTOR**2, bounds["largest"] + 1)
    return 0


def _measured(call: Callable[[], object], most: int) -> tuple["_Measure", "_Measure"]:
    """What a call takes of torch's memory and of Python's, measured against so many numbers."""
    with _Allocated(most * SINGLE) as of_torch, _Held(most * HALF) as of_python:
        call()
    return of_torch, of_python


def _lengthened(array: np.ndarray) -> np.ndarray:
    """An array whose long axes are several times as long; the same one if it has none."""
    times = [FACTOR if size > LONG else 1 for size in array.shape]
    return np.tile(array, times) if FACTOR in times else array


class _Measure:
    """What was taken while it was entered, in `bytes`, whether that is more than is allowed, and whether it was set back."""

    def __init__(self, allowed: int):
        self.allowed, self.bytes = allowed, 0
        self.exceeded = self.set_back = False


class _Held(_Measure):
    """Measures how many bytes Python's allocators give at a time while it is entered: those of numpy and of lists.

    The peak is raised beforehand to what is allowed: one that is lower afterwards was set back.
    """

    SETTING_BACK = ("stop", "clear_traces", "reset_peak")

    def __enter__(self):
        self.is_ours = not tracemalloc.is_tracing()
        tracemalloc.start()
        tracemalloc.reset_peak()
        self.before = tracemalloc.get_traced_memory()[0]
        bytes(self.allowed)
        self.raised = tracemalloc.get_traced_memory()[1]
        self.originals = [
            (module, name, getattr(module, name))
            for module in (tracemalloc, _tracemalloc)
            for name in self.SETTING_BACK
        ]
        for module, name, _ in self.originals:
            setattr(module, name, _do_nothing)
        return self

    def __exit__(self, *_):
        peak = tracemalloc.get_traced_memory()[1]
        for module, name, original in self.originals:
            setattr(module, name, original)
        if self.is_ours:
            tracemalloc.stop()
        self.exceeded, self.set_back, self.bytes = peak > self.raised, peak < self.raised, peak - self.before


def _do_nothing() -> None:
    """Stands for what would set the measure back; code that measures its own memory goes on."""


class _Allocated(_Measure):
    """Measures the most bytes that torch's allocator gives at once, in this thread, by the profiler that looks at memory alone.

    It begins and ends with a tensor of its own: if these are not seen, the measure was set back. Nothing is measured where
    another profiler runs, or torch has no such one.
    """

    def __enter__(self):
        self.runs = False
        with suppress(ImportError, AttributeError, RuntimeError, TypeError):
            from torch.autograd import profiler_legacy

            self.end = profiler_legacy._disable_profiler_legacy
            profiler_legacy._enable_profiler_legacy(profiler_legacy.profile(profile_memory=True).config())
            self.runs = True
            torch.empty(FIRST, dtype=torch.uint8)
        return self

    def __exit__(self, *_):
        if not self.runs:
            return
        torch.empty(LAST, dtype=torch.uint8)
        try:
            events = [event for thread in self.end() for event in thread if event.kind() == "memory_alloc"]
        except RuntimeError:  # nothing runs any more
            events = []
        given = [number for number in (event.cpu_memory_usage() for event in events) if number > 0]
        self.bytes = max(given, default=0)
        self.exceeded, self.set_back = self.bytes > self.allowed, given[:1] + given[-1:] != [FIRST, LAST]
