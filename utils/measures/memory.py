"""How much memory a computation needs beyond what is there before it: what torch's allocator says."""

import os
from collections.abc import Callable
from contextlib import contextmanager
from itertools import accumulate

import torch
from torch.profiler import ProfilerActivity, profile


def peak_memory(compute: Callable[[], object]) -> int:
    """The most bytes that are allocated at one time while `compute()` runs, beyond what was allocated before; its result counts.

    On a GPU torch keeps that number itself. On the CPU torch's profiler writes down each allocation and each release, those
    inside torch's own functions too; the highest running sum is the peak.
    """
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = compute()
        torch.cuda.synchronize()
        del result
        return torch.cuda.max_memory_allocated() - before
    with _quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        result = compute()
    del result
    events = recorded.profiler.kineto_results.events()
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    return max(accumulate(change for _, change in changes), default=0)


@contextmanager
def _quiet():
    """Keeps what the profiler's C++ part writes to the process's error stream out of a notebook."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
