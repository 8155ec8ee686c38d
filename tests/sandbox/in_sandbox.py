"""Runs cells in the sandbox, for the tests beside it."""

from dataclasses import replace

from conftest import UNIT

from autograder.sandbox import job, levels
from autograder.sandbox.limits import limits_of

STRONG = [level for level in levels.available() if level != levels.RLIMITS]


def run(level, *cells, seconds=5.0, total=90.0, **more):
    """The run of a job of these cells."""
    told = {"cells": [{"source": cell} for cell in cells], "cases": {}, "device": "cpu", **more}
    limits = replace(limits_of(UNIT), cell_seconds=seconds, submission_seconds=total)
    return job.Job(told, level, limits).result()


def printed(level, source, **more):
    """What a cell printed, or the error that it raised."""
    (outputs,) = run(level, source, **more).outputs.values()
    return "".join(out.get("text", out.get("ename", "")) for out in outputs).strip()
