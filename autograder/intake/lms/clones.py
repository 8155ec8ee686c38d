"""A folder of clones of students' repositories, as GitHub Classroom gives them: whose each is, and when work was committed."""

import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from autograder import settings
from autograder.intake.lms.downloads import LARGEST, Download, Handed, in_utc
from autograder.intake.lms.matching import Whose
from autograder.intake.places import unit_folder, unit_of, units

_GIVEN = ("notebooks", "solutions", "utils", "docs", "milestones")  # of the course, and nothing to hand in
_GIT = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]


def opened(place: Path, unit: str, whose: Whose) -> Download | None:
    """What lies in a folder of clones of the students' repository; None if it is no such folder.

    An assignment that is as it was handed out is nobody's work yet and left out.
    """
    clones = [one for one in _folders(place) if (one / ".git").exists()]
    if not clones:
        return None
    handed_out = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    nothing = handed_out.read_bytes() if handed_out.exists() else b""
    begin, handed, large = _begin(place, [one.name for one in clones], whose), [], []
    for clone in clones:
        for file in _work(clone, unit):
            path = file.relative_to(place).as_posix()
            if file.stat().st_size > LARGEST:
                large.append(path)
            elif file.read_bytes() != nothing:
                who = (clone.name.removeprefix(begin),)
                handed.append(Handed(path, file.name, who, file.read_bytes, _committed(clone, file)))
    return Download("clones", handed, [], large)


def _folders(place: Path) -> list[Path]:
    return sorted(one for one in place.iterdir() if one.is_dir() and not one.is_symlink()) if place.is_dir() else []


def _begin(place: Path, names: list[str], whose: Whose) -> str:
    """What the clones' names begin with before the login: the assignment's, which `gh` also writes on the folder around them."""
    told = place.resolve().name
    if told.endswith("-submissions") and all(name.startswith(told.removesuffix("submissions")) for name in names):
        return told.removesuffix("submissions")
    parts = names[0].split("-")
    begins = ["", *("-".join(parts[:count]) + "-" for count in range(1, len(parts)))]
    common = [one for one in begins if all(name.startswith(one) for name in names)]
    return max(common, key=lambda one: sum(whose.knows(name.removeprefix(one)) for name in names))


def _work(clone: Path, unit: str) -> Iterator[Path]:
    """The files of a clone that may be work on the unit: those in its folder, and notebooks that were moved elsewhere."""
    folder = unit_folder(clone / "assignments", unit)
    for file in sorted(clone.rglob("*")):
        parts = file.relative_to(clone).parts
        linked = any(one.is_symlink() for one in (file, *file.parents) if one.is_relative_to(clone) and one != clone)
        if linked or not file.is_file() or any(one.startswith(".") for one in parts):
            continue
        moved = parts[0] not in (*_GIVEN, "assignments") and file.suffix == ".ipynb"
        if file.is_relative_to(folder) or (moved and unit_of(file.stem, units()) in (unit, None)):
            yield file


def _committed(clone: Path, file: Path) -> datetime | None:
    """When a file was committed last, as the student's machine said; in UTC. None if git does not tell."""
    command = [*_GIT, "-C", str(clone), "log", "-1", "--format=%cI", "--", str(file.relative_to(clone))]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        return in_utc(datetime.fromisoformat(said))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
