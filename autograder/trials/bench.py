"""Measures what the design bounds: a lesson, a solution notebook, a self-check, an audit, and grading; prints a table."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import nbformat

from autograder import settings
from autograder.authoring import build
from autograder.bank import catalogue, declaration
from autograder.trials.bench_grading import bench_grading

BOUNDS = {"lesson": 90, "solution notebook": 60, "self-check": 1, "audit": 20}


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
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{named[0]} ({platform.machine()})" if named else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _units() -> Iterator[str]:
    yield f"\n{'what':<44} {'seconds':>8} {'bound':>6}"
    for unit in catalogue.units():
        lesson = build.dressed(settings.LESSON_TWINS / f"{unit}.py")
        yield _row("lesson", unit, _timed(lambda: build.run(lesson, settings.LESSONS)))
        solution = nbformat.read(settings.SOLUTIONS / unit / f"{unit}.ipynb", as_version=4)
        yield _row("solution notebook", unit, _timed(lambda: build.run(solution, settings.SOLUTIONS / unit)))
        for exercise in catalogue.units()[unit]:
            yield _row("self-check", exercise.name, _timed(lambda: _self_check(exercise)))
        command = [sys.executable, "-m", "autograder", "audit", unit]
        yield _row("audit", unit, _timed(lambda: subprocess.run(command, cwd=settings.ROOT, capture_output=True)))


def _timed(action: Callable) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _row(what: str, name: str, seconds: float) -> str:
    over = "  over" if seconds > BOUNDS[what] else ""
    return f"{what + ' ' + name:<44} {seconds:>8.2f} {BOUNDS[what]:>6}{over}"


def _self_check(exercise: declaration.Exercise):
    from autograder.bank.audit import examine
    from utils.check import all_exercises

    examine(all_exercises()[exercise.name], exercise.reference)
