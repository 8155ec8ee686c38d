"""What notebooks ask for that grading neither needs nor has: a compiler, a debugger, a GPU by default. It costs nothing."""

import pdb
import sys

import torch
from IPython.core import debugger

_set_default_device = torch.set_default_device


def pass_over() -> None:
    """From here on in this process code that asks to be compiled runs as it stands, breakpoints stop nothing, and a default
    device that is not here is not taken: every new tensor would fail on it."""
    torch.compile = _as_it_is
    torch.set_default_device = _if_it_is_here
    sys.breakpointhook = pdb.set_trace = debugger.set_trace = _go_on


def _as_it_is(model=None, **options):
    """Takes the place of torch.compile, as a call and as a decorator: compiled code would give the same numbers."""
    return model if model is not None else lambda function: function


def _go_on(*arguments: object, **named: object) -> None:
    """Takes the place of the debugger, at which nobody sits."""


def _if_it_is_here(device: torch.device | str | int | None) -> None:
    _set_default_device(device)
    try:
        torch.empty(1)
    except (RuntimeError, AssertionError, NotImplementedError):
        _set_default_device(None)
        print(f"grading runs on the CPU: the default device stays that, instead of {device}")
