"""A folder of clones of students' repositories from GitHub Classroom: whose each clone is, and when work was committed."""

import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from autograder import settings
from autograder.intake.lms.downloads import LARGEST, Download, Handed, in_utc
from autograder.intake.lms.matching import Whose
from autograder.intake.places import unit_folder, unit_of, units

_COURSE_FOLDERS = ("notebooks", "solutions", "utils", "docs", "milestones")  # hold nothing to hand in
_GIT = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"]


def opened(place: Path, unit: str, whose: Whose) -> Download | None:
    """What lies in a folder of clones of the students' repository; None if it is no such folder.

    An assignment that is as it was handed out is nobody's work yet and left out.
    """
    clones = [folder for folder in _folders(place) if (folder / ".git").exists()]
    if not clones:
        return None
    handed_out = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    nothing = handed_out.read_bytes() if handed_out.exists() else b""
    prefix, handed, large = _prefix(place, [clone.name for clone in clones], whose), [], []
    for clone in clones:
        for file in _work_files(clone, unit):
            path = file.relative_to(place).as_posix()
            if file.stat().st_size > LARGEST:
                large.append(path)
            elif file.read_bytes() != nothing:
                who = (clone.name.removeprefix(prefix),)
                handed.append(Handed(path, file.name, who, file.read_bytes, _commit_time(clone, file)))
    return Download("clones", handed, [], large)


def _folders(place: Path) -> list[Path]:
    return (
        sorted(entry for entry in place.iterdir() if entry.is_dir() and not entry.is_symlink())
        if place.is_dir()
        else []
    )


def _prefix(place: Path, names: list[str], whose: Whose) -> str:
    """What the clones' names begin with before the login: the assignment's name, which `gh` also gives the folder around them."""
    folder_name = place.resolve().name
    if folder_name.endswith("-submissions") and all(
        name.startswith(folder_name.removesuffix("submissions")) for name in names
    ):
        return folder_name.removesuffix("submissions")
    parts = names[0].split("-")
    prefixes = ["", *("-".join(parts[:count]) + "-" for count in range(1, len(parts)))]
    common = [prefix for prefix in prefixes if all(name.startswith(prefix) for name in names)]
    return max(common, key=lambda prefix: sum(whose.knows(name.removeprefix(prefix)) for name in names))


def _work_files(clone: Path, unit: str) -> Iterator[Path]:
    """The files of a clone that may be work on the unit: those in its folder, and notebooks that were moved elsewhere."""
    folder = unit_folder(clone / "assignments", unit)
    for file in sorted(clone.rglob("*")):
        parts = file.relative_to(clone).parts
        linked = any(
            path.is_symlink() for path in (file, *file.parents) if path.is_relative_to(clone) and path != clone
        )
        if linked or not file.is_file() or any(part.startswith(".") for part in parts):
            continue
        moved = parts[0] not in (*_COURSE_FOLDERS, "assignments") and file.suffix == ".ipynb"
        if file.is_relative_to(folder) or (moved and unit_of(file.stem, units()) in (unit, None)):
            yield file


def _commit_time(clone: Path, file: Path) -> datetime | None:
    """When a file was committed last, as the student's machine said; in UTC. None if git does not tell."""
    command = [*_GIT, "-C", str(clone), "log", "-1", "--format=%cI", "--", str(file.relative_to(clone))]
    try:
        time_text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        return in_utc(datetime.fromisoformat(time_text))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
