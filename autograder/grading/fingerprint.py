"""A fingerprint of everything that decides a unit's marks: the exercises, and all code that the judging imports."""

import hashlib
from pathlib import Path

from autograder import settings
from autograder.import_graph import closure

PATH = ("autograder/grading/task.py", "autograder/sandbox/inside/warm.py")  # where the work on a submission begins


def fingerprint(unit: str) -> str:
    """A digest of every file of the course's own that takes part in judging the unit's submissions."""
    digest = hashlib.sha256()
    for file in deciding(unit):
        digest.update(f"{file.relative_to(settings.ROOT)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def deciding(unit: str) -> list[Path]:
    """The files whose change may change a mark; they follow from the imports, also those that units share in `bank/families`."""
    exercises = (settings.ROOT / "autograder" / "exercises" / f"unit_{unit}").rglob("*.py")
    return closure([*(settings.ROOT / name for name in PATH), *exercises])
