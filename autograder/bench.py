"""Measures what the design bounds: a lesson, a solution notebook, a self-check, an audit, and grading; prints a table."""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nbformat

from autograder import bank, build, course

BOUNDS = {"lesson": 90, "solution notebook": 60, "self-check": 1, "audit": 20}


def bench() -> list[str]:
    """Runs every measurement once and returns the lines of a table, with the machine's description first."""
    lines = [f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", ""]
    lines += [f"{'what':<44} {'seconds':>8} {'bound':>6}"]
    for unit in bank.units():
        lesson = build.dressed(course.LESSON_TWINS / f"{unit}.py")
        lines.append(_row("lesson", unit, _timed(lambda: build.run(lesson, course.LESSONS))))
        solution = nbformat.read(course.SOLUTIONS / unit / f"{unit}.ipynb", as_version=4)
        lines.append(_row("solution notebook", unit, _timed(lambda: build.run(solution, course.SOLUTIONS / unit))))
        for exercise in bank.units()[unit]:
            lines.append(_row("self-check", exercise.name, _timed(lambda: _self_check(exercise))))
        command = [sys.executable, "-m", "autograder", "audit", unit]
        lines.append(_row("audit", unit, _timed(lambda: subprocess.run(command, cwd=course.ROOT, capture_output=True))))
    return lines + [_grading("04_attention_layer", 20)]


def _timed(action: Callable) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _row(what: str, name: str, seconds: float) -> str:
    over = "  over" if seconds > BOUNDS[what] else ""
    return f"{what + ' ' + name:<44} {seconds:>8.2f} {BOUNDS[what]:>6}{over}"


def _self_check(exercise: bank.Exercise):
    from autograder.audit import examine
    from utils.check import all_exercises

    examine(all_exercises()[exercise.name], exercise.reference)


def _grading(unit: str, size: int) -> str:
    """Grades `size` copies of the solution in a class of their own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "COURSE_CLASS": folder}
        kit = [sys.executable, "-m", "autograder"]
        subprocess.run([*kit, "release", unit], cwd=course.ROOT, env=environment, check=True, capture_output=True)
        solution = (course.SOLUTIONS / unit / f"{unit}.ipynb").read_text(encoding="utf-8")
        for number in range(size):
            place = Path(folder) / "submitted" / f"student-{number:03}" / unit
            place.mkdir(parents=True)
            (place / f"{unit}.ipynb").write_text(solution, encoding="utf-8")
        command = [*kit, "grade", unit]
        seconds = _timed(lambda: subprocess.run(command, cwd=course.ROOT, env=environment, capture_output=True))
    return f"\ngrading {size} solutions of {unit}: {seconds:.1f} s, {size / seconds:.2f} submissions per second, start included"
