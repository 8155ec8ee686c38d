"""Puts what was downloaded from an LMS into the class's folder; nothing that lies there already is lost."""

import filecmp
import shutil
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically
from autograder.intake.guard import reason
from autograder.intake.lms import clones
from autograder.intake.lms.downloads import Download, Handed, opened
from autograder.intake.lms.matching import Whose, hints
from autograder.intake.lms.origins import Origin, remember
from autograder.intake.lms.students import Student, rows, students
from autograder.intake.lms.times import class_zone, when
from autograder.intake.places import plain, unit_folder
from autograder.intake.timestamp import read_time

STAMP = "timestamp.txt"
# The names of columns that say when something was handed in: in our own tables, in Moodle's worksheet, and in the grades of
# Gradescope and GitHub Classroom.
_WHEN = (
    "submitted at",
    "submitted_at",
    "time",
    "last modified (submission)",
    "submission time",
    "submission_timestamp",
)


@dataclass
class Collected:
    """What became of a download; students by id.

    Attributes:
        new: handed in for the first time.
        replaced: handed in again; what lay there before was put aside.
        same: already there.
        retimed: of the students in `same`, those whose time was entered or changed.
        older: not taken, since what lies there already was handed in later.
        late: marked as late, without the time at which they came.
        unmatched: files of which it cannot be told whose they are.
        unread: students whose files cannot be read.
        large: files that are too large to be taken.
        untold: students without a time, though a table of times was given.
        otherwise: files whose name is not the student's, perhaps a group's.
        missing: students of the class who have handed nothing in.
        zoneless: how many times of the table have no zone.
        zone: the zone in which times without one are read, in words.
    """

    unit: str
    system: str
    new: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    retimed: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    zoneless: int = 0
    zone: str = ""


def collect(unit: str, place: Path, times: Path | None = None) -> Collected:
    """Collects one unit from a zip or a folder.

    Args:
        times: a table that says when each student handed in, where the download does not.

    Raises:
        KitError: there is no list of students, or a file cannot be read.
    """
    class_list = students()
    if not class_list:
        how = "run `python -m autograder roster FILE` with the list of students that your LMS exports"
        raise settings.KitError(f"it is not known who is in the class: {how}.")
    whose = Whose(class_list)
    download = clones.opened(place, unit, whose) or opened(place, whose)
    by_student, unmatched = _by_student(download, whose)
    collected = Collected(
        unit, download.system, unmatched=sorted({*unmatched, *download.strangers}), large=download.large
    )
    times_by_student = _times_by_student(times, whose, collected) if times else {}
    origins: dict[str, Origin] = {}
    for student, files in sorted(by_student.items()):
        at = times_by_student.get(student) or max((file.at for file in files if file.at), default=None)
        if at is None:
            collected.untold += [student] if times else []
            collected.late += [student] if any(file.late for file in files) else []
        if download.system == "canvas":
            collected.otherwise += [f"{student}: {plain(file.path)}" for file in files if not whose.knows(file.who[1])]
        try:
            outcome = _put_in_place(student, unit, files, at)
            for list_name in ("same", "retimed") if outcome == "retimed" else (outcome,):
                getattr(collected, list_name).append(student)
            if outcome != "older":
                origins[student] = Origin(download.system, _main_file(files).path)
        except (zipfile.BadZipFile, RuntimeError, OSError, NotImplementedError) as error:
            collected.unread.append(f"{student} ({reason(error)})")
    remember(unit, origins)
    collected.missing = [student.id for student in class_list if not student.left and not _has_handed_in(student, unit)]
    return collected


def _main_file(files: list[Handed]) -> Handed:
    """The newest of a student's notebooks, or of what else there is."""
    return next((file for file in files if file.name.lower().endswith(".ipynb")), files[0])


def _by_student(download: Download, whose: Whose) -> tuple[dict[str, list[Handed]], list[str]]:
    """Each student's files, the newest first; and the files of which it cannot be told whose they are.

    Two people of the same name are told apart by their numbers: where the class's list has the numbers of most people, a
    number that it does not have is somebody else's.
    """
    numbered = download.system in ("canvas", "moodle")
    numbers = {file.who[0] for file in download.handed if file.who}
    sure = numbered and 2 * sum(map(whose.knows, numbers)) > len(numbers)
    by_student, unmatched = defaultdict(list), []
    for file in download.handed:
        student = whose.find(file.who) or _group_member(file, download, whose)
        if student is None or (sure and not whose.knows(file.who[0])):
            unmatched.append(file.path)
        else:
            by_student[student].append(file)
    for student, files in list(by_student.items()):
        if numbered and len({file.who[0] for file in files}) > 1:
            unmatched += [file.path for file in files if not whose.knows(file.who[0])]
            by_student[student] = [file for file in files if whose.knows(file.who[0])]
    return {
        student: sorted(files, key=lambda file: file.order, reverse=True)
        for student, files in by_student.items()
        if files
    }, unmatched


def _group_member(file: Handed, download: Download, whose: Whose) -> str | None:
    """The student behind the name of a group, which Moodle puts in front."""
    group, _, rest = file.who[-1].partition("-")
    return whose.find((file.who[0], rest)) if download.system == "moodle" and whose.is_section(group) else None


def _times_by_student(times: Path, whose: Whose, collected: Collected) -> dict[str, datetime]:
    """When each student of a table handed in, in UTC.

    A time without a zone is read in the class's zone or this machine's; `collected` says which one it was.
    """
    by_student, zone = {}, class_zone()
    for number, row in enumerate(rows(times), 2):
        text = next((row[name] for name in _WHEN if row.get(name, "-").strip("- ")), "")
        student = whose.find(hints(row))
        if not text or not student:
            continue
        try:
            at = when(text)
        except (ValueError, OverflowError):
            how = "write it as 2026-03-06 17:58"
            raise settings.KitError(
                f"{times}, line {number}: {plain(text)!r} is no time that is sure; {how}."
            ) from None
        if not at.tzinfo:
            at = at.replace(tzinfo=zone) if zone else at.astimezone()
            collected.zoneless += 1
            machine_zone = f"{at.tzname()}, this machine's zone; `timezone` in deadlines.toml says another"
            collected.zone = f"{zone.key} (deadlines.toml)" if zone else collected.zone or machine_zone
        by_student[student] = at.astimezone(UTC).replace(tzinfo=None)
    if not by_student:
        raise settings.KitError(
            f"{times} tells no time: it needs a column {_WHEN[0]!r}, and one that names the student."
        )
    return by_student


def _put_in_place(student: str, unit: str, files: list[Handed], at: datetime | None) -> str:
    """Puts a student's files where grading looks for them, and says what became of them.

    Returns:
        "new", "replaced", "older", "same", or, where the same files have another time than before, "retimed".
    """
    home = settings.class_folder() / "submitted" / student
    folder = unit_folder(home, unit)
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".collecting-") as beside:
        fresh_folder = Path(beside) / unit
        fresh_folder.mkdir()
        for name, data in _names_and_contents(files, unit):
            (fresh_folder / name).write_bytes(data)
        if at:
            write_atomically(fresh_folder / STAMP, f"{at:%Y-%m-%d %H:%M:%S.%f} UTC\n")
        if not _holds_files(folder):
            shutil.rmtree(folder, ignore_errors=True)
            fresh_folder.rename(home / unit)
            return "new"
        before = read_time(folder / STAMP).at
        if _hold_the_same(fresh_folder, folder):
            if at and at != before:
                (fresh_folder / STAMP).replace(folder / STAMP)
                return "retimed"
            return "same"
        if at and before and at < before:
            return "older"
        put_aside(student, unit, folder)
        fresh_folder.rename(home / unit)
        return "replaced"


def put_aside(student: str, unit: str, folder: Path) -> Path:
    """Moves what was handed in before out of grading's sight, into a folder of its own."""
    above = settings.class_folder() / "earlier" / unit / student
    above.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(entry.name) for entry in above.iterdir() if entry.name.isdigit()), default=0)
    return folder.rename(above / str(number))


def _names_and_contents(files: list[Handed], unit: str) -> Iterator[tuple[str, bytes]]:
    """The name under which each file is kept, and its bytes; a single notebook is called as it was handed out."""
    notebooks = [file for file in files if file.name.lower().endswith(".ipynb")]
    taken_names: set[str] = set()
    contents: set[bytes] = set()
    for file in files:
        if (data := file.read()) in contents:
            continue
        contents.add(data)
        name = f"{unit}.ipynb" if [file] == notebooks else plain(file.name).lstrip(".").replace("/", "_") or "unnamed"
        while name.lower() in {*taken_names, STAMP}:
            name = f"_{name}"
        taken_names.add(name.lower())
        yield name, data


def _files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name != STAMP)


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and bool(_files_in(folder))


def _hold_the_same(folder: Path, other_folder: Path) -> bool:
    """Whether two folders hold the same files, apart from the time."""
    names, other_names = ([file.relative_to(either) for file in _files_in(either)] for either in (folder, other_folder))
    return names == other_names and not any(
        not filecmp.cmp(folder / name, other_folder / name, shallow=False) for name in names
    )


def _has_handed_in(student: Student, unit: str) -> bool:
    return _holds_files(unit_folder(settings.class_folder() / "submitted" / student.id, unit))
