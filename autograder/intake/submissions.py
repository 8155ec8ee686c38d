"""Finds a student's submission, whatever its name and wherever among the student's files it lies; no link is followed."""

import base64
import hashlib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from autograder import settings
from autograder.intake.candidates import Reader
from autograder.intake.choosing import choose
from autograder.intake.file_kinds import READ, kind
from autograder.intake.guard import guarded, reason
from autograder.intake.places import SECRET, Places, listed, places, plain, read, unit_folder
from autograder.intake.timestamp import HandInTime, read_time

MAX_EXTRA = 5_000_000  # the most bytes of an extra file that travels with a notebook
LONGEST = 1000  # the most bytes of a secret that are read


@dataclass(frozen=True)
class Submission:
    """One student's notebook for a unit as bytes, or a sentence that says why there is none.

    Attributes:
        data: the notebook's bytes; None if there is none.
        missing: why there is none.
        malformed: why what there is cannot be used.
        notes: what was put right to find it, in sentences for instructor and student.
        files: extra files that travel with it, name -> base64.
        handed_in: when it was handed in, as nbgrader's timestamp.txt says.
    """

    student: str
    unit: str
    data: bytes | None = None
    missing: str = ""
    malformed: str = ""
    notes: tuple = ()
    files: dict = field(default_factory=dict)
    handed_in: HandInTime = HandInTime()

    @property
    def digest(self) -> str:
        """What tells this submission from another version of it; when it was handed in does not count."""
        parts = [self.data or b"", self.missing.encode(), self.malformed.encode()]
        parts += [f"{name}:{data}".encode() for name, data in sorted(self.files.items())]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _unreadable(error: BaseException, student: str, unit: str) -> Submission:
    sentence = f"The folder handed in cannot be read ({reason(error)})."
    return Submission(student, unit, malformed=sentence, handed_in=hand_in_time(student, unit))


@guarded(_unreadable)
def find(student: str, unit: str) -> Submission:
    """Finds one submission: wherever in the student's folder the most work on the unit lies, under whatever name."""
    home, handed_in = settings.class_folder() / "submitted" / student, hand_in_time(student, unit)
    folder = unit_folder(home, unit)
    student_places, reader = places(home, folder, unit), Reader(home, folder, unit)
    chosen, notes = (None, []) if home.is_symlink() else choose(student_places, reader)
    if chosen is None:
        sentence = _missing_note(unit, [home, folder, reader.asked], student_places)
        return Submission(student, unit, missing=sentence, handed_in=handed_in)
    beside = folder if chosen.file.is_relative_to(folder) else chosen.file.parent
    files = [file for file in student_places.near if file.is_relative_to(folder) or file.parent == beside]
    extra, left_out = _extra_files(beside, [file for file in files if file.is_relative_to(beside)], reader.taken)
    aside = f"{listed(left_out)} lay beside the notebook and {'was' if len(left_out) == 1 else 'were'} left out."
    notes = [*notes, *([aside] if left_out else []), *([handed_in.fault] if handed_in.fault else [])]
    return Submission(student, unit, chosen.data, "", chosen.fault, tuple(notes), extra, handed_in)


def _missing_note(unit: str, asked: list[Path], student_places: Places) -> str:
    """Why there is no notebook, and what there is in its place."""
    if linked := [path for path in asked if path.is_symlink()]:
        missing_part = "notebook" if linked[0] == asked[-1] else "folder"
        return f"The {missing_part} handed in is a symbolic link; links are not followed."
    others = [*student_places.placeholders, *student_places.near]
    aside = f" There is {'; '.join(map(_file_in_words, others[:3]))}." if others else ""
    more = f" And {len(others) - 3} other files." if len(others) > 3 else ""
    return f"No notebook {unit}.ipynb was handed in.{aside}{more}"


def _file_in_words(file: Path) -> str:
    what, advice = kind(read(file, READ)[0] or b"")
    return f"{plain(file.name)}, {what}: {advice}" if what else f"{plain(file.name)}, which is no notebook"


@guarded(lambda *_: HandInTime())
def hand_in_time(student: str, unit: str) -> HandInTime:
    """When a submission was handed in, as nbgrader's timestamp.txt says; `find` reads it once for all that is done with one."""
    return read_time(unit_folder(settings.class_folder() / "submitted" / student, unit) / "timestamp.txt")


@guarded(lambda *_: "")
def secret_of(student: str, unit: str) -> str:
    """What nbgrader's exchange put beside a submission, under which its feedback is found; "" if there is none."""
    data, _ = read(unit_folder(settings.class_folder() / "submitted" / student, unit) / SECRET, LONGEST)
    return (data or b"").decode().strip()


def _extra_files(folder: Path, files: list[Path], taken: set[Path]) -> tuple[dict, list[str]]:
    """The extra files that pyproject.toml lists, as base64, and the names of those that it does not.

    Args:
        taken: files that were looked at as notebooks; the sentences on the choice name them already.
    """
    patterns = settings.table().get("extra_files", [])
    travel, left_out = {}, []
    for file in files:
        if file in taken:
            continue
        if file.parent == folder and any(fnmatch(file.name, pattern) for pattern in patterns):
            data, _ = read(file)
            if data is not None and len(data) <= MAX_EXTRA:
                travel[file.name] = base64.b64encode(data).decode()
                continue
        left_out.append(file.name)
    return travel, left_out
