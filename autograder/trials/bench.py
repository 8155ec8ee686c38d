"""Measures what the design bounds: a lesson, a solution notebook, a self-check, an audit, and grading; prints a table."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import nbformat

from autograder import settings
from autograder.authoring import build
from autograder.bank import catalogue, declaration
from autograder.bank.freezing import PACKS, pack_text
from autograder.trials.bench_grading import bench_grading

BOUNDS = {"lesson": 90, "solution notebook": 60, "self-check": 1, "first self-check": 1, "audit": 20}
FULL_COURSE = 17  # units that the full course has
_FIRST_CHECK = """
import sys, time, torch
started = time.perf_counter()
from utils.check import check
def attention_scores(q, X):
    return (q.unsqueeze(-2) * X).sum(-1)
check(attention_scores)
print(time.perf_counter() - started, file=sys.stderr)
"""


def bench(size: int, workers: int, grading_only: bool) -> Iterator[str]:
    """Runs every measurement once and yields the lines of a table, with the machine's description first."""
    yield f"{_processor()}, {os.cpu_count()} cores, {_memory_gib():.0f} GiB, {platform.system()} {platform.release()}"
    yield f"Python {platform.python_version()}, torch {version('torch')}, nbgrader {version('nbgrader')}"
    if not grading_only:
        yield from _units()
    yield from bench_grading(size, workers)


def _processor() -> str:
    """The processor's name, as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _units() -> Iterator[str]:
    yield f"\n{'what':<44} {'seconds':>8} {'bound':>6}"
    for count in (len(catalogue.units()), FULL_COURSE):
        yield _table_row("first self-check", f"of {count} units", first_self_check(count))
    for unit in catalogue.units():
        lesson = build.dressed(settings.LESSON_TWINS / f"{unit}.py")
        yield _table_row("lesson", unit, _timed(lambda: build.run(lesson, settings.LESSONS)))
        solution = nbformat.read(settings.SOLUTIONS / unit / f"{unit}.ipynb", as_version=4)
        yield _table_row("solution notebook", unit, _timed(lambda: build.run(solution, settings.SOLUTIONS / unit)))
        for exercise in catalogue.exercises_of(unit):
            yield _table_row("self-check", exercise.name, _timed(lambda: _self_check(exercise)))
        command = [sys.executable, "-m", "autograder", "audit", unit]
        yield _table_row("audit", unit, _timed(lambda: subprocess.run(command, cwd=settings.ROOT, capture_output=True)))


def _timed(action: Callable) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _table_row(what: str, name: str, seconds: float) -> str:
    over = "  over" if seconds > BOUNDS[what] else ""
    return f"{what + ' ' + name:<44} {seconds:>8.2f} {BOUNDS[what]:>6}{over}"


def _self_check(exercise: declaration.Exercise) -> None:
    from utils.check import all_exercises
    from utils.checking.concluding import examine

    examine(all_exercises()[exercise.name], exercise.reference)


def first_self_check(count: int) -> float:
    """Seconds that the first check of a process takes, imports included, torch's apart, in a course of `count` units.

    Where there are fewer units, copies of theirs stand for those to come.
    """
    with tempfile.TemporaryDirectory() as place:
        utils = shutil.copytree(settings.ROOT / "utils", Path(place) / "utils")
        folder = utils / PACKS.relative_to(settings.ROOT / "utils")
        packs = sorted(folder.glob("*.json"))
        for number in range(len(packs), count):
            exercises = json.loads(packs[number % len(packs)].read_text(encoding="utf-8"))["exercises"]
            copies = [{**exercise, "name": f"{exercise['name']}_{number}"} for exercise in exercises]
            (folder / f"{number + 1:02}_copy.json").write_text(
                pack_text(f"{number + 1:02}_copy", copies), encoding="utf-8"
            )
        environment = {**os.environ, "PYTHONPATH": place, "COURSE_DEVICE": "cpu"}
        command = [sys.executable, "-c", _FIRST_CHECK]
        completed = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
        return float(completed.stderr.splitlines()[-1])
