"""What torch, numpy and matplotlib do in an ordinary process, they do in the sandbox: the same values, at every level."""

import json
import math
import subprocess
import sys

import pytest
from conftest import ROOT
from torch_operations import ALL, MEANING

from autograder.sandbox import job, levels
from autograder.sandbox.limits import Limits

pytestmark = pytest.mark.slow

STEP = 40  # operations in a cell, whose output is bounded
SHARE = 0.9  # of the operations come to a value: a table of errors would compare nothing
FIND = "for source in SOURCES:\n    print(json.dumps([source, found(source)]))"


def _told(printed: str) -> dict:
    return dict(json.loads(line) for line in printed.splitlines())


@pytest.fixture(scope="module")
def outside():
    """What each operation comes to in an ordinary process."""
    script = MEANING + FIND.replace("SOURCES", repr(ALL))
    return _told(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    )


def _inside(level: str) -> dict:
    batches = [ALL[start : start + STEP] for start in range(0, len(ALL), STEP)]
    sources = [MEANING, *(FIND.replace("SOURCES", repr(batch)) for batch in batches)]
    told = {"cells": [{"source": source} for source in sources], "cases": {}, "device": "cpu"}
    limits = Limits(cell_seconds=60, submission_seconds=120, memory_bytes=1 << 30, disk_bytes=64 << 20)
    ran = job.Job(told, level, limits).result()
    assert ran.how == "ended" and not ran.fatal, ran.fatal
    printed = [out["text"] for outputs in ran.outputs.values() for out in outputs if out.get("name") == "stdout"]
    return _told("".join(printed))


def _same(one, other) -> bool:
    """Whether two results are alike: errors by their type, numbers up to rounding in the type that they have."""
    if isinstance(one, list) and one[:1] == ["error"]:
        return one[:2] == other[:2]
    if isinstance(one, list) and len(one) == 4 and isinstance(one[3], list) and str(one[0]).startswith("torch."):
        near = 64 * (one[2] or 1e-7)
        return one[:3] == other[:3] and all(
            math.isclose(a, b, rel_tol=near, abs_tol=near * max(1.0, abs(one[3][-1]))) or (a != a and b != b)
            for a, b in zip(one[3], other[3], strict=True)
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_same, one, other))
    return math.isclose(one, other, rel_tol=1e-6) if isinstance(one, float) else one == other


def test_the_operations_come_to_values_in_an_ordinary_process(outside):
    assert list(outside) == ALL
    assert sum(kind == "value" for kind, *_ in outside.values()) > SHARE * len(ALL)


@pytest.mark.parametrize("level", levels.available())
def test_the_sandbox_gives_what_an_ordinary_process_gives(level, outside):
    inside = _inside(level)
    differing = {one: (outside[one], inside.get(one)) for one in ALL if not _same(outside[one], inside.get(one, []))}
    assert not differing, "\n".join(f"{one}\n  {a}\n  {b}" for one, (a, b) in list(differing.items())[:10])
