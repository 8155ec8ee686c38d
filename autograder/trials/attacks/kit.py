"""The kit as instructors run it, from the command line; and folders as students hand them in."""

import subprocess
import sys
from pathlib import Path

import nbformat

from autograder import settings
from autograder.trials.attacks.kinds import UNIT


def run_kit(arguments: list[str], environment: dict) -> subprocess.CompletedProcess:
    """Runs one verb.

    Raises:
        KitError: it failed.
    """
    completed = subprocess.run(
        [sys.executable, "-m", "autograder", *arguments],
        cwd=settings.ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        raise settings.KitError(f"`{' '.join(arguments)}` failed: {completed.stderr.strip().splitlines()[-1:]}")
    return completed


def notebooks(unit: str = UNIT) -> tuple[nbformat.NotebookNode, nbformat.NotebookNode]:
    """A unit's assignment and its solution."""
    folders = (settings.ASSIGNMENTS, settings.SOLUTIONS)
    released, solved = (nbformat.read(folder / unit / f"{unit}.ipynb", as_version=4) for folder in folders)
    return released, solved


def hand_in(folder: Path, student: str, unit: str, files: dict[str, bytes]) -> None:
    """Puts files where a student's submission lies."""
    place = folder / "submitted" / student / unit
    place.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
