"""Says who a class's students are and which folder is whose: names that differ only in how they are typed are one."""

import os
import unicodedata
from collections.abc import Collection, Container
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder import settings
from autograder.intake.guard import guarded
from autograder.intake.lms.students import left
from autograder.intake.misfiled import folders_by_unit
from autograder.intake.places import is_usable, listed, plain
from autograder.intake.submissions import Submission, find


@dataclass(frozen=True)
class Class:
    """A unit's submissions, in the order of the students' names.

    Attributes:
        folders: student -> the name of the folder in `submitted/` that is read as theirs.
        notes: sentences on folders that are nobody's, or of which it cannot be told whose they are.
    """

    submissions: list[Submission] = field(default_factory=list)
    folders: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def find_all(unit: str, roster: Collection[str] = (), only: str | None = None, before: Container[str] = ()) -> Class:
    """All submissions of a unit, of everyone who handed in a folder or is on the roster.

    Names are compared composed (NFC), without case and without blanks at their ends. The roster's spelling is the
    student's; a folder is read under its own. Folders that fall together are told, and each that holds work is graded.
    Those who have left the class are passed over.

    Args:
        only: this student alone, also where the name is typed in another way.
        before: the students who were graded before; the roster may have lost them, and they are no new ones.
    """
    rows: dict[str, Submission] = {}
    notes: list[str] = []
    new: list[str] = []
    empty: list[str] = []
    known = [name for name in roster if is_usable(name)]
    gone = {_key(student) for student in left()}
    for names, folders in _alike(known):
        if _key((names + folders)[0]) in gone:
            continue
        if only is not None and _key(only) != _key((names + folders)[0]):
            continue
        taken = _take(names, folders, unit)
        if len(folders) > 1:
            notes.append(_together(folders, taken))
        elif known and not names and taken and folders[0] not in before:
            (new if taken[folders[0]].missing == "" else empty).append(folders[0])
        rows |= {student: one for student, one in taken.items() if student not in empty}
    exactly = [only] if only in rows else sorted(rows)
    found = [replace(rows[student], student=student) for student in exactly]
    theirs = {student: rows[student].student for student in exactly}
    return Class(found, theirs, notes + _strangers(unit, new, empty))


def unusable(roster: Collection[str] = ()) -> list[str]:
    """The folders and students that are passed over, as text: their names cannot be printed, stored, or used for a folder."""
    known = [name for name in roster if is_usable(name)]
    theirs = {folder for names, folders in _alike(known) if len(names) == len(folders) == 1 for folder in folders}
    return sorted(plain(name) for name in {*_folders(), *roster} - theirs if not is_usable(name))


def _key(name: str) -> str:
    """What is the same in all ways to type one name; characters that nobody sees are blanks too."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    unseen = [one.isspace() or unicodedata.category(one) in ("Cc", "Cf") for one in folded]
    if all(unseen):
        return name
    return folded[unseen.index(False) : len(folded) - unseen[::-1].index(False)]


def _alike(roster: list[str]) -> list[tuple[list[str], list[str]]]:
    """The names on the roster and the folders that are the same name, together."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for place, names in enumerate((roster, _folders())):
        for name in sorted(names):
            groups.setdefault(_key(name), ([], []))[place].append(name)
    return [groups[key] for key in sorted(groups)]


def _take(names: list[str], folders: list[str], unit: str) -> dict[str, Submission]:
    """The students that names and folders of one spelling stand for, each with what their folder holds.

    The only one on the roster gets the folder of the very name, or, where that holds nothing, another that does.
    """
    held = {folder: find(folder, unit) for folder in folders}
    full = [folder for folder in folders if not held[folder].missing]
    own = {name: name for name in names or folders}
    if len(names) == 1 and folders and names[0] not in full:
        own = {names[0]: (full or sorted(folders, key=lambda one: one != names[0]))[0]}
    own |= {folder: folder for folder in full if folder not in own.values()}
    return {student: held.get(place) or find(place, unit) for student, place in own.items() if is_usable(student)}


def _together(folders: list[str], taken: dict[str, Submission]) -> str:
    of = ", ".join(repr(plain(student)) for student in taken) or "none"
    return (
        f"the folders {' and '.join(repr(plain(one)) for one in folders)} in submitted/ differ only in case, in how accents"
        f" are typed, or in blanks at the ends; graded as: {of}. If they are one student's, put all work into one."
    )


def _strangers(unit: str, new: list[str], empty: list[str]) -> list[str]:
    said = []
    if new:
        was = "a new student was made" if len(new) == 1 else f"{len(new)} new students were made"
        said.append(f"{listed(new)} {_is(new)} in submitted/ but not in the gradebook's roster: {was}.")
    if empty:
        passed = f"with nothing of {unit} in it: passed over"
        said.append(f"{listed(empty)} {_is(empty)} in submitted/ but not in the gradebook's roster, {passed}.")
    return said


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _folders() -> list[str]:
    folder = settings.class_folder() / "submitted"
    entries = os.scandir(folder) if folder.is_dir() else ()
    return sorted({one.name for one in entries if _is_folder(one)} - folders_by_unit())


@guarded(lambda *_: True)  # a link to itself, say; `find` tells what is in its place
def _is_folder(entry: os.DirEntry) -> bool:
    """Whether somebody may have handed in here; of hidden folders, which are editors' and git's, those that hold a unit."""
    if not entry.name.startswith("."):
        return entry.is_dir()
    return any((Path(entry.path) / unit).is_dir() for unit in settings.units())
