"""A folder of clones of students' repositories from GitHub Classroom: whose each clone is, and when work was committed."""

from collections.abc import Iterator
from pathlib import Path

from autograder import settings
from autograder.intake.lms.downloads import LARGEST, Download, Handed
from autograder.intake.lms.history import commit_times
from autograder.intake.lms.matching import Whose
from autograder.intake.places import unit_folder, unit_of, units

_COURSE_FOLDERS = ("notebooks", "solutions", "utils", "docs", "milestones")  # hold nothing to hand in


def opened(place: Path, unit: str, whose: Whose) -> Download | None:
    """What lies in a folder of clones of the students' repository; None if it is no such folder.

    It is one if most folders in it are repositories; one student may hand a repository in within any download. An assignment
    that is as it was handed out is nobody's work yet and left out.
    """
    folders = _folders(place)
    clones = [folder.name for folder in folders if _is_repository(folder)]
    if 2 * len(clones) <= len(folders):
        return None
    handed_out = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    nothing = handed_out.read_bytes() if handed_out.exists() else b""
    prefix, handed, large = _prefix(place, clones, whose), [], []
    for folder in folders:
        files = list(_work_files(folder, unit))
        large += [file.relative_to(place).as_posix() for file in files if file.stat().st_size > LARGEST]
        work = [file for file in files if file.stat().st_size <= LARGEST and file.read_bytes() != nothing]
        times = commit_times(folder, work)
        who = (folder.name.removeprefix(prefix),)
        for file in work:
            handed.append(Handed(file.relative_to(place).as_posix(), file.name, who, file.read_bytes, times.get(file)))
    return Download("clones", handed, [], large)


def _folders(place: Path) -> list[Path]:
    """The folders in a folder, in order; neither links nor hidden ones."""
    entries = sorted(place.iterdir()) if place.is_dir() else []
    return [entry for entry in entries if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith(".")]


def _is_repository(folder: Path) -> bool:
    """Whether a folder has a `.git` of its own, as git's clones have."""
    return (folder / ".git").is_dir() and not (folder / ".git").is_symlink()


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
