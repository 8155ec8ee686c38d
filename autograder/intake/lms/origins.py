"""What each student's file was called in the download that it was collected from: by this name an LMS takes it back."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically
from autograder.intake.lms.students import rows

COLUMNS = ("student", "system", "path")


@dataclass(frozen=True)
class Origin:
    """The system that a download came from, and the path that a student's file had in it."""

    system: str
    path: str


def origins_file(unit: str) -> Path:
    """Where the names of a unit's files are kept; inside the class's folder, for they name students."""
    return settings.class_folder() / "collected" / f"{unit}.csv"


def origins(unit: str) -> dict[str, Origin]:
    """By student, what is known of the downloads that were collected; nothing of work that came in another way.

    Raises:
        KitError: the file cannot be read as a table.
    """
    file = origins_file(unit)
    origin_rows = rows(file) if file.exists() else []
    return {row["student"]: Origin(row["system"], row["path"]) for row in origin_rows if set(COLUMNS) <= row.keys()}


def remember(unit: str, fresh: Mapping[str, Origin]) -> None:
    """Keeps the names of what was just collected, with those of students whose work came before."""
    if fresh:
        out = io.StringIO(newline="")
        table = csv.writer(out, lineterminator="\n")
        table.writerow(COLUMNS)
        for student, origin in sorted({**origins(unit), **fresh}.items()):
            table.writerow([student, origin.system, origin.path])
        settings.make_class_folder()
        write_atomically(origins_file(unit), out.getvalue())
