"""Answers that are written for a newer Python than grading has: they are left to a human, and the message says why."""

import re
import sys
from dataclasses import replace

from autograder.grading.examined import UNJUDGED, Examined
from autograder.intake.guard import SECONDS, guarded
from autograder.intake.student_code import parses
from autograder.sandbox.job import JobCell
from utils.checking.messages import composing
from utils.checking.messages.message import Message
from utils.checking.messages.no_result import newer_python

NEWER = "newer_python"
_SYNTAX = {  # a version of Python -> its new syntax, which earlier versions cannot read
    (3, 12): r"^[^\S\n]*type \w+|\b(?:def|class)\s+\w+\s*\[|\b[rR]?[fF][rR]?[\"']",
    (3, 14): r"\bexcept\*?\s+[\w.]+\s*,|\b[rR]?[tT][rR]?[\"']",
}
_BROUGHT = re.compile(r"(?:cannot import name '\w+' from|No module named|module) '(\w+)[\w.]*'(?: has no attribute)?")


def left_open(one: Examined, cells: list[JobCell], written: str) -> Examined:
    """The outcome as it is; or, where the exercise failed for what only a newer Python has, an outcome to be marked by hand.

    Args:
        cells: the job's cells; "own" names the exercise that the assignment has a cell for.
        written: the version of Python that the notebook says it was written with; empty where it says none.
    """
    version = tuple(map(int, re.findall(r"\d+", written)[:2]))
    if one.result.passed or len(version) < 2 or version <= sys.version_info[:2]:
        return one
    own = "\n".join(cell["source"] for cell in cells if cell.get("own") == one.exercise)
    if not (_is_newer_syntax(own, version) or _is_newer_library(one)):
        return one
    here = ".".join(map(str, sys.version_info[:2]))
    sentence = newer_python(".".join(map(str, version)), here)
    message = composing.unjudged(one.exercise, Message(sentence))
    result = replace(one.result, points=0.0, problem=NEWER, misconception=None, message=message)
    return replace(one, state=UNJUDGED, result=result)


@guarded(lambda *_: False, SECONDS)
def _is_newer_syntax(source: str, version: tuple) -> bool:
    brought = [pattern for since, pattern in _SYNTAX.items() if sys.version_info[:2] < since <= version]
    unknown = version > max(_SYNTAX)
    return not parses(source) and (unknown or any(re.search(pattern, source, re.MULTILINE) for pattern in brought))


def _is_newer_library(judged: Examined) -> bool:
    """Whether what failed is something of Python's own library that is not there."""
    match = _BROUGHT.search(" ".join(judged.result.message.split()))
    return match is not None and match[1] in sys.stdlib_module_names
