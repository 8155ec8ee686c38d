"""Judges the object that a plain Python file defines, for `python -m autograder judge`."""

from pathlib import Path

from autograder import settings
from autograder.bank import catalogue
from autograder.grading.examination import examine_cells
from autograder.grading.examined import MALFORMED, Examined
from autograder.sandbox.job import JobCell
from autograder.sandbox.limits import limits_of
from utils.checking.judging.verdict import Result


def judge_file(name: str, file: Path, level: str, device: str = "cpu", seed: str = "judge") -> dict:
    """The verdict on the exercise `name` as the Python file `file` solves it, ready for JSON.

    Raises:
        KitError: there is no such exercise or file.
    """
    try:
        exercise = catalogue.find_exercise(name)
    except LookupError as error:
        raise settings.KitError(str(error)) from None
    source, fault = read_source(file)
    if fault:
        message = f"✗ {name} · the file\n  {fault}"
        return as_record(Examined(name, MALFORMED, Result(name, 0, exercise.max_points, MALFORMED, None, message, ())))
    cells: list[JobCell] = [{"source": source}, {"exercise": name}]
    limits = limits_of(exercise.unit, device)
    _, (examined,) = examine_cells(cells, seed, level, limits, device, reveal=True)
    return as_record(examined)


def read_source(file: Path) -> tuple[str, str]:
    """The text of a Python file, or a sentence on why it cannot be read as one.

    Raises:
        KitError: there is no such file.
    """
    try:
        source = file.read_bytes().decode("utf-8-sig")
        compile(source, file.name, "exec")
    except OSError as error:
        raise settings.KitError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        return "", "It is not text in UTF-8."
    except SyntaxError as error:
        return "", f"It is not Python: {error.msg} in line {error.lineno}."
    except (ValueError, RecursionError, MemoryError):
        return "", "It is not Python: it holds null bytes, or is nested too deeply."
    return source, ""


def as_record(examined: Examined) -> dict:
    """One exercise's outcome as plain data, the same for `judge` and `grade`."""
    result = examined.result
    return {
        "exercise": examined.exercise,
        "state": examined.state,
        "passed": result.passed,
        "points": result.points,
        "max_points": result.max_points,
        "misconception": result.misconception,
        "problem": result.problem,
        "message": result.message,
        "checks": [{"property": v.property, "passed": v.passed, "problem": v.problem} for v in result.verdicts],
    }
