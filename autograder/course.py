"""Where things are: the repository's folders, the class's folder, and the one configuration both read."""

import os
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LESSONS, LESSON_TWINS = ROOT / "notebooks", ROOT / "notebooks" / "text"
SOLUTIONS, ASSIGNMENTS = ROOT / "solutions", ROOT / "assignments"
CHECK = "check_"  # a test cell's grade_id is this and the exercise's name


class KitError(Exception):
    """Something that the person at the command line can mend; its message is one sentence for them."""


@cache
def settings() -> dict:
    """The table [tool.course] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]


def cell_seconds() -> float:
    """How long one cell, or the examination of one exercise, may take; COURSE_CELL_SECONDS overrides."""
    asked = os.environ.get("COURSE_CELL_SECONDS", "")
    try:
        return float(asked) if asked else float(settings()["cell_seconds"])
    except ValueError:
        raise KitError(f"COURSE_CELL_SECONDS={asked!r} is not a number of seconds.") from None


def class_folder() -> Path:
    """The folder of submissions, results, feedback and gradebook; COURSE_CLASS names another than `classroom`."""
    return ROOT / os.environ.get("COURSE_CLASS", "classroom")


def database() -> str:
    """The gradebook's URL."""
    return f"sqlite:///{class_folder() / 'gradebook.db'}"
