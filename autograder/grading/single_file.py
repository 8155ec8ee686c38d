"""Judges the object that a plain Python file defines, for `python -m autograder judge`."""

from pathlib import Path

from autograder import settings
from autograder.bank import catalogue
from autograder.gradebook.outcomes import FileRecord
from autograder.grading.examination import examine_cells
from autograder.grading.examined import MALFORMED, Examined
from autograder.sandbox.job import JobCell
from autograder.sandbox.limits import limits_of
from utils.checking.judging.verdict import Result


def judge_file(name: str, file: Path, level: str, device: str = "cpu", seed: str = "judge") -> FileRecord:
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
        return _record(Examined(name, MALFORMED, Result(name, 0, exercise.max_points, MALFORMED, None, message, ())))
    cells: list[JobCell] = [{"source": source}, {"exercise": name}]
    limits = limits_of(exercise.unit, device)
    _, (examined,) = examine_cells(cells, seed, level, limits, device, reveal=True)
    return _record(examined)


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


def _record(examined: Examined) -> FileRecord:
    """The exercise's record, with whether it passed and what each of its cases showed."""
    result = examined.result
    checks = [{"property": v.property, "passed": v.passed, "problem": v.problem} for v in result.verdicts]
    return {**examined.record, "passed": result.passed, "checks": checks}
