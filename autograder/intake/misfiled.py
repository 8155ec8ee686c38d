"""Names what was put where nobody looks for it: files beside the students' folders, and folders by unit instead of by student."""

import os
from pathlib import Path

from autograder import settings
from autograder.intake.guard import guarded
from autograder.intake.places import is_ignored, listed, unit_of, units


def misfiled(unit: str) -> list[str]:
    """Sentences on what lies in the wrong place of `submitted`, each with what to do; empty if all is where it should be."""
    folder = settings.class_folder() / "submitted"
    return [*_loose_files_note(folder, unit), *(_unit_folder_note(*misplaced) for misplaced in _unit_folders(folder))]


def folders_by_unit() -> set[str]:
    """The folders in `submitted` that are a unit's and not a student's."""
    return {name for name, _, _ in _unit_folders(settings.class_folder() / "submitted")}


@guarded(lambda *_: [])
def _entries(folder: Path) -> list[os.DirEntry]:
    entries = os.scandir(folder) if folder.is_dir() and not folder.is_symlink() else ()
    return sorted((entry for entry in entries if not is_ignored(entry.name)), key=lambda entry: entry.name)


def _loose_files_note(folder: Path, unit: str) -> list[str]:
    names = [entry.name for entry in _entries(folder) if entry.is_file(follow_symlinks=False)]
    if not names:
        return []
    lie = "lies" if len(names) == 1 else "lie"
    return [
        f"{listed(names)} {lie} in submitted/ itself and {'was' if len(names) == 1 else 'were'} not looked at: move each into its"
        f" student's folder, submitted/STUDENT/{unit}/."
    ]


def _unit_folders(folder: Path) -> list[tuple[str, list[str], str]]:
    """The folders called after a unit that hold folders, none of which is called after a unit itself.

    Returns:
        for each such folder its name, the names of the folders in it, and the unit.
    """
    unit_folders = []
    for entry in _entries(folder):
        unit = (
            unit_of(entry.name, units()) if entry.is_dir(follow_symlinks=False) and not entry.name.isdigit() else None
        )
        inner = _entries(Path(entry.path)) if unit else []
        students = [inner_entry.name for inner_entry in inner if inner_entry.is_dir(follow_symlinks=False)]
        if unit and students and not any(unit_of(name, units()) for name in students):
            unit_folders.append((entry.name, students, unit))
    return unit_folders


def _unit_folder_note(name: str, students: list[str], unit: str) -> str:
    return (
        f"{listed([name])} in submitted/ is called after a unit and is no student: what is in it ({listed(students)})"
        f" belongs into submitted/STUDENT/{unit}/, one folder for each student."
    )
