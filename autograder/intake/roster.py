"""Says who a class's students are and which folder is whose; names that differ only in how they are typed are the same."""

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
    student's; a folder is read under its own. Folders with the same name but for its typing get a sentence, and each of them
    that holds work is graded. Students who have left the class are passed over.

    Args:
        only: this student alone, also where the name is typed in another way.
        before: the students who were graded before; the roster may have lost them, and they are no new ones.
    """
    rows: dict[str, Submission] = {}
    notes: list[str] = []
    new: list[str] = []
    empty: list[str] = []
    known_names = [name for name in roster if is_usable(name)]
    gone = {_name_key(student) for student in left()}
    for names, folders in _groups_by_name(known_names):
        if _name_key((names + folders)[0]) in gone:
            continue
        if only is not None and _name_key(only) != _name_key((names + folders)[0]):
            continue
        by_student = _submissions_of(names, folders, unit)
        if len(folders) > 1:
            notes.append(_alike_note(folders, by_student))
        elif known_names and not names and by_student and folders[0] not in before:
            (new if by_student[folders[0]].missing == "" else empty).append(folders[0])
        rows |= {student: submission for student, submission in by_student.items() if student not in empty}
    exactly = [only] if only in rows else sorted(rows)
    submissions = [replace(rows[student], student=student) for student in exactly]
    theirs = {student: rows[student].student for student in exactly}
    return Class(submissions, theirs, notes + _stranger_notes(unit, new, empty))


def unusable(roster: Collection[str] = ()) -> list[str]:
    """The folders and students that are passed over, as text: their names cannot be printed, stored, or used for a folder."""
    known_names = [name for name in roster if is_usable(name)]
    theirs = {
        folder
        for names, folders in _groups_by_name(known_names)
        if len(names) == len(folders) == 1
        for folder in folders
    }
    return sorted(plain(name) for name in {*_student_folders(), *roster} - theirs if not is_usable(name))


def _name_key(name: str) -> str:
    """A name in the form that all ways of typing it share; invisible characters count as blanks."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    unseen = [character.isspace() or unicodedata.category(character) in ("Cc", "Cf") for character in folded]
    if all(unseen):
        return name
    return folded[unseen.index(False) : len(folded) - unseen[::-1].index(False)]


def _groups_by_name(roster: list[str]) -> list[tuple[list[str], list[str]]]:
    """The names on the roster and of the folders, grouped by what is the same name."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for place, names in enumerate((roster, _student_folders())):
        for name in sorted(names):
            groups.setdefault(_name_key(name), ([], []))[place].append(name)
    return [groups[key] for key in sorted(groups)]


def _submissions_of(names: list[str], folders: list[str], unit: str) -> dict[str, Submission]:
    """The students that names and folders of one spelling stand for, each with what their folder holds.

    A name that is alone on the roster gets the folder of exactly this name, or, where that holds nothing, another that does.
    """
    held = {folder: find(folder, unit) for folder in folders}
    full = [folder for folder in folders if not held[folder].missing]
    own = {name: name for name in names or folders}
    if len(names) == 1 and folders and names[0] not in full:
        own = {names[0]: (full or sorted(folders, key=lambda folder: folder != names[0]))[0]}
    own |= {folder: folder for folder in full if folder not in own.values()}
    return {student: held.get(place) or find(place, unit) for student, place in own.items() if is_usable(student)}


def _alike_note(folders: list[str], by_student: dict[str, Submission]) -> str:
    graded_as = ", ".join(repr(plain(student)) for student in by_student) or "none"
    return (
        f"the folders {' and '.join(repr(plain(folder)) for folder in folders)} in submitted/ differ only in case, in how accents"
        f" are typed, or in blanks at the ends; graded as: {graded_as}. If they are one student's, put all work into one."
    )


def _stranger_notes(unit: str, new: list[str], empty: list[str]) -> list[str]:
    sentences = []
    if new:
        what_was_done = "a new student was made" if len(new) == 1 else f"{len(new)} new students were made"
        sentences.append(
            f"{listed(new)} {_is_or_are(new)} in submitted/ but not in the gradebook's roster: {what_was_done}."
        )
    if empty:
        passed = f"with nothing of {unit} in it: passed over"
        sentences.append(
            f"{listed(empty)} {_is_or_are(empty)} in submitted/ but not in the gradebook's roster, {passed}."
        )
    return sentences


def _is_or_are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _student_folders() -> list[str]:
    folder = settings.class_folder() / "submitted"
    entries = os.scandir(folder) if folder.is_dir() else ()
    return sorted({entry.name for entry in entries if _is_folder(entry)} - folders_by_unit())


@guarded(lambda *_: True)  # such as a link to itself; `find` says what lies in its place
def _is_folder(entry: os.DirEntry) -> bool:
    """Whether an entry is a folder in which somebody may have handed in.

    Hidden folders are mostly those of editors and git; only a hidden folder with a unit in it counts.
    """
    if not entry.name.startswith("."):
        return entry.is_dir()
    return any((Path(entry.path) / unit).is_dir() for unit in settings.units())
