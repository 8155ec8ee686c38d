"""Packs feedback pages so that an LMS finds each one's student: named as its own download was, as far as that is known."""

import os
import re
import subprocess
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder import settings
from autograder.intake.lms.origins import Origin, origins
from autograder.intake.lms.students import Student, students
from autograder.intake.places import listed, plain
from autograder.reports.export import folder

# Moodle reads the student from the first folder that is called so; Canvas from the two numbers of a file's name.
_MOODLE = re.compile(r"[^/]*_\d+_assignsubmission_file(?=_|/|$)")
_ZIP_COMMENT = b"feedback pages, packed by attention-course"
_INSTRUCTIONS = {
    "moodle": "In Moodle's assignment, choose *Upload multiple feedback files in a zip*; the assignment's feedback type"
    " *Feedback files* has to be on.",
    "canvas": "In Canvas's assignment, choose *Re-Upload Submissions*. Canvas shows each page under the name of the file that the"
    " student handed in, so tell them that it is a web page, to be saved with the ending .html.",
    "gradescope": "Gradescope takes no feedback files: here is a folder for each student, to be given back in another way.",
    "": "Here is a folder for each student, as it is not known what their files are called in Moodle or Canvas.",
}


@dataclass(frozen=True)
class Packed:
    """What was packed, and for which system.

    Attributes:
        system: moodle, canvas, gradescope, or "" where the names in the LMS are not known.
        left_out: students whose page is not in it, as the system could not tell whose it is.
    """

    place: Path
    system: str
    pages: int
    left_out: tuple[str, ...]


def as_zip(unit: str, pages: Iterable[Path], file: Path | None = None) -> Packed:
    """Packs a unit's feedback pages into a zip, by default into the class's folder.

    Raises:
        KitError: git would track the file, or it is there and was not made by this.
    """
    file = file or folder() / f"{unit}-feedback.zip"
    _refuse_where_git_looks(file)
    if file.exists() and not _is_ours(file):
        raise settings.KitError(
            f"{file} is there and holds something else: nothing was overwritten; choose another name."
        )
    system, pages_by_name, left_out = _pages_by_name(unit, pages)
    file.parent.mkdir(parents=True, exist_ok=True)
    # `mkstemp` makes a file that nobody else may read.
    number, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(number, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = _ZIP_COMMENT
            for name, page in pages_by_name.items():
                archive.write(page, name)
        os.replace(temporary, file)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return Packed(file, system, len(pages_by_name), left_out)


def as_folder(unit: str, pages: Iterable[Path], place: Path) -> Packed:
    """Writes a unit's feedback pages into a folder of their own, under the names that they would have in the zip.

    Raises:
        KitError: git would track it, or it holds something already.
    """
    _refuse_where_git_looks(place)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise settings.KitError(f"{place} is there and not empty: nothing was overwritten; choose another name.")
    system, pages_by_name, left_out = _pages_by_name(unit, pages)
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o700)
    for name, page in pages_by_name.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(page.read_bytes())
    return Packed(place, system, len(pages_by_name), left_out)


def told(packed: Packed) -> Iterator[str]:
    """What was packed and what to do with it, in a few lines."""
    yield f"{packed.place}: {packed.pages} feedback pages. {_INSTRUCTIONS[packed.system]}"
    if packed.left_out:
        count, system = len(packed.left_out), packed.system.capitalize()
        where = f"their pages are in {settings.class_folder() / 'feedback'}"
        yield f"{count} left out, as {system}'s download had no file of theirs: {listed(list(packed.left_out))}; {where}."


def _pages_by_name(unit: str, pages: Iterable[Path]) -> tuple[str, dict[str, Path], tuple[str, ...]]:
    """The system, the path of each page in what is packed, and who is left out."""
    by_student, origin_of = {page.parent.parent.name: page for page in pages}, origins(unit)
    systems = Counter(origin_of[student].system for student in by_student if student in origin_of)
    system = systems.most_common(1)[0][0] if systems else ""
    if system not in ("moodle", "canvas"):
        class_students = {student.id: student for student in students()}
        pages_by_name = {
            f"{_folder_name(class_students.get(student, Student(student)))}/{unit}.html": page
            for student, page in by_student.items()
        }
        return system if system == "gradescope" else "", pages_by_name, ()
    pages_by_name, left_out = {}, []
    for student, page in by_student.items():
        if name := _name_in_system(unit, system, origin_of.get(student)):
            pages_by_name[name] = page
        else:
            left_out.append(student)
    return system, pages_by_name, tuple(left_out)


def _name_in_system(unit: str, system: str, origin: Origin | None) -> str:
    """What a page has to be called for the system to know its student; "" if that is not known."""
    if not origin or origin.system != system:
        return ""
    if system == "moodle":
        match = next(filter(None, map(_MOODLE.match, PurePosixPath(origin.path).parts)), None)
        return f"{match[0]}_/{unit}.html" if match else ""
    return PurePosixPath(origin.path).with_suffix(".html").name


def _folder_name(student: Student) -> str:
    """A student's id and name, for whoever gives the pages back by hand."""
    return plain(f"{student.id} {student.name}".strip().replace("/", "_"))


def _is_ours(file: Path) -> bool:
    return zipfile.is_zipfile(file) and zipfile.ZipFile(file).comment == _ZIP_COMMENT


def _refuse_where_git_looks(place: Path) -> None:
    """Students' names belong nowhere where a commit could take them along.

    Raises:
        KitError: the place is in a git repository, outside the class's folder, and not ignored.
    """
    absolute = place.absolute()
    if absolute.resolve().is_relative_to(settings.class_folder().resolve()):
        return
    existing_parent = next(parent for parent in absolute.parents if parent.is_dir())
    try:
        status = subprocess.run(
            ["git", "-C", str(existing_parent), "check-ignore", "-q", str(absolute)], capture_output=True
        ).returncode
    except FileNotFoundError:
        status = None
    # git's status is 0 for an ignored path and 1 for one that is not ignored; it is another number where there is no
    # repository, or one that git does not want to look into.
    tracks = status == 1 or (status != 0 and any((parent / ".git").exists() for parent in absolute.parents))
    if tracks:
        raise settings.KitError(
            f"{place} lies where git tracks files, and would name students there: choose another place."
        )
