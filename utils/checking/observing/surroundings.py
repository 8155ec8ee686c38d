"""Sets aside what a notebook's cells have set for all of torch, numpy and Python, while the kit observes and judges."""

import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import numpy as np
import torch
from torch.utils import _device

Setting = TypeVar("Setting")

USUAL = torch.float32  # the type of new numbers with a fraction
EXACT = "highest"  # how float32 matrices are multiplied: as float32


@contextmanager
def undisturbed():
    """Restores the usual settings within it, and the notebook's own afterwards.

    Warnings are not shown, numpy's are no errors, new tensors are as torch makes them by default, and compiled functions run
    without their compilation, as where nothing can be compiled.
    """
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        _default(stack, torch.get_default_dtype(), USUAL, torch.set_default_dtype)
        _default(stack, torch.get_float32_matmul_precision(), EXACT, torch.set_float32_matmul_precision)
        _default(stack, getattr(_device, "CURRENT_DEVICE", None), None, torch.set_default_device)
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        yield


def _default(stack: ExitStack, now: Setting, usual: Setting, choose: Callable[[Setting], object]) -> None:
    if now != usual:
        choose(usual)
        stack.callback(choose, now)
