"""Names what was put where nobody looks for it: files beside the students' folders, and folders by unit instead of by student."""

import os
from pathlib import Path

from autograder import settings
from autograder.intake.guard import guarded
from autograder.intake.places import is_ignored, listed, unit_of, units


def misfiled(unit: str) -> list[str]:
    """Sentences on what lies in the wrong place of `submitted`, each with what to do; empty if all is where it should be."""
    folder = settings.class_folder() / "submitted"
    return [*_flat(folder, unit), *(_told(*one) for one in _by_unit(folder))]


def folders_by_unit() -> set[str]:
    """The folders in `submitted` that are a unit's and not a student's."""
    return {name for name, _, _ in _by_unit(settings.class_folder() / "submitted")}


@guarded(lambda *_: [])
def _entries(folder: Path) -> list[os.DirEntry]:
    found = os.scandir(folder) if folder.is_dir() and not folder.is_symlink() else ()
    return sorted((one for one in found if not is_ignored(one.name)), key=lambda one: one.name)


def _flat(folder: Path, unit: str) -> list[str]:
    names = [one.name for one in _entries(folder) if one.is_file(follow_symlinks=False)]
    if not names:
        return []
    lie = "lies" if len(names) == 1 else "lie"
    return [
        f"{listed(names)} {lie} in submitted/ itself and {'was' if len(names) == 1 else 'were'} not looked at: move each into its"
        f" student's folder, submitted/STUDENT/{unit}/."
    ]


def _by_unit(folder: Path) -> list[tuple[str, list[str], str]]:
    """Folders called after a unit that hold folders, none of which is called after a unit itself; these; and the unit."""
    found = []
    for one in _entries(folder):
        which = unit_of(one.name, units()) if one.is_dir(follow_symlinks=False) and not one.name.isdigit() else None
        inner = _entries(Path(one.path)) if which else []
        students = [inside.name for inside in inner if inside.is_dir(follow_symlinks=False)]
        if which and students and not any(unit_of(name, units()) for name in students):
            found.append((one.name, students, which))
    return found


def _told(name: str, students: list[str], unit: str) -> str:
    return (
        f"{listed([name])} in submitted/ is called after a unit and is no student: what is in it ({listed(students)})"
        f" belongs into submitted/STUDENT/{unit}/, one folder for each student."
    )
