"""What one submission may use: made once, where work is handed out, and carried along as plain data.

`inside/confine.py` sets the limits on a process, `inside/warm.py` watches time and disk, and `job.py` each cell.
"""

import math
import os
from dataclasses import dataclass

from autograder import settings


@dataclass(frozen=True)
class Limits:
    """What one submission may use. `asdict(limits)` is plain data, `Limits(**data)` the way back.

    Attributes:
        cell_seconds: for one cell, or for the examination of one exercise.
        submission_seconds: for the whole of it.
        memory_bytes: beyond what torch itself takes; 0 for any.
        disk_bytes: of its scratch folder.
    """

    cell_seconds: float
    submission_seconds: float
    memory_bytes: int
    disk_bytes: int


def limits_of(unit: str, device: str = "cpu") -> Limits:
    """The limits for submissions of a unit: those of pyproject.toml, with the unit's multiple of the times.

    COURSE_CELL_SECONDS and COURSE_SUBMISSION_SECONDS override the times; they are read here and nowhere else.

    Raises:
        KitError: one of them is not a number of seconds.
    """
    table = settings.table()
    bounds, multiplier = table["limits"], table.get("timeout_multiplier", {}).get(unit, 1)
    unbounded = device.startswith(("cuda", "mps"))  # a driver maps far more than it uses
    return Limits(
        cell_seconds=_seconds("COURSE_CELL_SECONDS", table["cell_seconds"] * multiplier),
        submission_seconds=_seconds("COURSE_SUBMISSION_SECONDS", bounds["submission_seconds"] * multiplier),
        memory_bytes=0 if unbounded else int(bounds["memory_mb"]) << 20,
        disk_bytes=int(bounds["disk_mb"]) << 20,
    )


def _seconds(variable: str, setting: float) -> float:
    override = os.environ.get(variable, "")
    try:
        seconds = float(override or setting)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        where = f"{variable}={override!r}" if override else f"{setting!r}, as pyproject.toml has it,"
        raise settings.KitError(f"{where} is not a number of seconds.")
    return seconds
