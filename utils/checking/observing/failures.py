"""Turns whatever a student's code raises into a Failure: at which stage, which error, and from which line of theirs."""

import linecache
import os
import re
import site
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar

import utils
from utils.checking import toy_models, toy_networks
from utils.checking.observing import refusals
from utils.checking.records import Failure

_LIBRARIES = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
# Windows counts sys.prefix among them
_LIBRARIES += {*site.getsitepackages(), site.getusersitepackages()} - {sys.prefix}
_LIBRARIES += utils.__path__  # the kit is not the student's code either
_NOT_THEIRS = tuple({os.path.join(path, "") for library in _LIBRARIES for path in (library, os.path.realpath(library))})


Result = TypeVar("Result")


class Failed(Exception):
    """Raised when a stage fails; `failure` describes how."""

    def __init__(self, failure: Failure):
        self.failure = failure


def at_stage(stage: str, action: Callable[[], Result]) -> Result:
    """The result of `action`.

    Raises:
        Failed: whatever the action raised, but for KeyboardInterrupt, by which time limits reach the code.
    """
    try:
        return action()
    except Failed:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and exceptions of the student's own included
        line, where = place(error)
        bases = " ".join(kind.__name__ for kind in type(error).__mro__[1:-2])
        own = re.search(r"\b(raise|assert)\b", line) is not None
        refused = refusals.refusal(error, line)
        failure = Failure(stage, type(error).__name__, error_text(error), line, where, bases, refused=refused)
        raise Failed(replace(failure, own=own, helper=_is_the_kits(error))) from None


def _is_the_kits(error: BaseException) -> bool:
    """Whether the kit itself raised an error, in a toy model or a toy network that student code had called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename in (toy_models.__file__, toy_networks.__file__)


def error_text(error: BaseException) -> str:
    """An error's text; empty where asking for it fails."""
    try:
        return str(error)[:2000]
    except BaseException:
        return ""


def place(error: BaseException) -> tuple[str, str]:
    """The innermost source line that is neither a library's nor the kit's; and the function it is in, if one was called."""
    line, functions = "", []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _in_a_library(code.co_filename):
            line = linecache.getline(code.co_filename, trace.tb_lineno, trace.tb_frame.f_globals).strip() or line
            functions.append(code.co_name)
        trace = trace.tb_next
    return line[:200], functions[-1] if len(functions) > 1 else ""


@cache
def _in_a_library(file: str) -> bool:
    """Whether a file is a library's or the kit's, also where its path or the library's has symbolic links."""
    if file.startswith("<"):  # no file: a cell, or what is built into the interpreter
        return file.startswith("<frozen")
    return file.startswith(_NOT_THEIRS) or os.path.realpath(file).startswith(_NOT_THEIRS)
