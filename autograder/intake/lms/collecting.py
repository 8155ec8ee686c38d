"""Puts what an LMS let one download into the class's folder; nothing that lies there already is lost."""

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
# What a column is called that says when something was handed in: in our own tables, Moodle's worksheet, Gradescope's grades,
# GitHub Classroom's grades
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
        retimed: of these, those whose time was entered or changed.
        older: not taken, as what lies there was handed in later.
        late: marked as late, without the time at which they came.
        unmatched: files of which it cannot be told whose they are.
        unread: students whose files cannot be read.
        large: files that are too large to be taken.
        untold: students without a time, though a table of times was given.
        otherwise: files whose name is not the student's, perhaps a group's.
        missing: students of the class who have handed nothing in.
        zoneless: how many times of the table have no zone.
        zone: in which zone those are read, in words.
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
    known = students()
    if not known:
        how = "run `python -m autograder roster FILE` with the list of students that your LMS exports"
        raise settings.KitError(f"it is not known who is in the class: {how}.")
    whose = Whose(known)
    download = clones.opened(place, unit, whose) or opened(place)
    by_student, unmatched = _by_student(download, whose)
    said = Collected(unit, download.system, unmatched=sorted({*unmatched, *download.strangers}), large=download.large)
    told = _told(times, whose, said) if times else {}
    came: dict[str, Origin] = {}
    for student, files in sorted(by_student.items()):
        at = told.get(student) or max((one.at for one in files if one.at), default=None)
        if at is None:
            said.untold += [student] if times else []
            said.late += [student] if any(one.late for one in files) else []
        if download.system == "canvas":
            said.otherwise += [f"{student}: {plain(one.path)}" for one in files if not whose.knows(one.who[1])]
        try:
            became = _place(student, unit, files, at)
            for what in ("same", "retimed") if became == "retimed" else (became,):
                getattr(said, what).append(student)
            if became != "older":
                came[student] = Origin(download.system, _first(files).path)
        except (zipfile.BadZipFile, RuntimeError, OSError, NotImplementedError) as error:
            said.unread.append(f"{student} ({reason(error)})")
    remember(unit, came)
    said.missing = [one.id for one in known if not one.left and not _has_handed_in(one, unit)]
    return said


def _first(files: list[Handed]) -> Handed:
    """The newest of a student's notebooks, or of what else there is."""
    return next((one for one in files if one.name.lower().endswith(".ipynb")), files[0])


def _by_student(download: Download, whose: Whose) -> tuple[dict[str, list[Handed]], list[str]]:
    """Each student's files, the newest first; and those of which it cannot be told whose they are.

    Two people of one name are told apart by their numbers: where the class's list has the numbers of most, one that it
    does not have is somebody else's.
    """
    numbered = download.system in ("canvas", "moodle")
    known = [whose.knows(one.who[0]) for one in download.handed]
    sure = numbered and 2 * sum(known) > len(known)
    found, unmatched = defaultdict(list), []
    for one in download.handed:
        student = whose.find(one.who) or _of_a_group(one, download, whose)
        if student is None or (sure and not whose.knows(one.who[0])):
            unmatched.append(one.path)
        else:
            found[student].append(one)
    for student, files in list(found.items()):
        if numbered and len({one.who[0] for one in files}) > 1:
            unmatched += [one.path for one in files if not whose.knows(one.who[0])]
            found[student] = [one for one in files if whose.knows(one.who[0])]
    return {
        student: sorted(files, key=lambda one: one.order, reverse=True) for student, files in found.items() if files
    }, unmatched


def _of_a_group(one: Handed, download: Download, whose: Whose) -> str | None:
    """The student behind the name of a group, which Moodle puts in front."""
    group, _, rest = one.who[-1].partition("-")
    return whose.find((one.who[0], rest)) if download.system == "moodle" and whose.is_section(group) else None


def _told(times: Path, whose: Whose, collected: Collected) -> dict[str, datetime]:
    """When each student of a table handed in, in UTC; a time without a zone is the class's or this machine's, as is told."""
    found, zone = {}, class_zone()
    for number, row in enumerate(rows(times), 2):
        said = next((row[name] for name in _WHEN if row.get(name, "-").strip("- ")), "")
        student = whose.find(hints(row))
        if not said or not student:
            continue
        try:
            at = when(said)
        except (ValueError, OverflowError):
            how = "write it as 2026-03-06 17:58"
            raise settings.KitError(
                f"{times}, line {number}: {plain(said)!r} is no time that is sure; {how}."
            ) from None
        if not at.tzinfo:
            at = at.replace(tzinfo=zone) if zone else at.astimezone()
            collected.zoneless += 1
            here = f"{at.tzname()}, this machine's zone; `timezone` in deadlines.toml says another"
            collected.zone = f"{zone.key} (deadlines.toml)" if zone else collected.zone or here
        found[student] = at.astimezone(UTC).replace(tzinfo=None)
    if not found:
        raise settings.KitError(
            f"{times} tells no time: it needs a column {_WHEN[0]!r}, and one that names the student."
        )
    return found


def _place(student: str, unit: str, files: list[Handed], at: datetime | None) -> str:
    """Puts a student's files where grading looks for them; says what that was.

    Returns:
        "new", "replaced", "older", "same", or, where the same files have another time than before, "retimed".
    """
    home = settings.class_folder() / "submitted" / student
    folder = unit_folder(home, unit)
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".collecting-") as beside:
        made = Path(beside) / unit
        made.mkdir()
        for name, data in _named(files, unit):
            (made / name).write_bytes(data)
        if at:
            write_atomically(made / STAMP, f"{at:%Y-%m-%d %H:%M:%S.%f} UTC\n")
        if not _holds(folder):
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(home / unit)
            return "new"
        before = read_time(folder / STAMP)[0]
        if _alike(made, folder):
            if at and at != before:
                (made / STAMP).replace(folder / STAMP)
                return "retimed"
            return "same"
        if at and before and at < before:
            return "older"
        put_aside(student, unit, folder)
        made.rename(home / unit)
        return "replaced"


def put_aside(student: str, unit: str, folder: Path) -> Path:
    """Moves what was handed in before out of grading's sight, into a folder of its own."""
    above = settings.class_folder() / "earlier" / unit / student
    above.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(one.name) for one in above.iterdir() if one.name.isdigit()), default=0)
    return folder.rename(above / str(number))


def _named(files: list[Handed], unit: str) -> Iterator[tuple[str, bytes]]:
    """The name under which each file is kept, and its bytes; a single notebook is called as it was handed out."""
    notebooks = [one for one in files if one.name.lower().endswith(".ipynb")]
    taken: set[str] = set()
    seen: set[bytes] = set()
    for one in files:
        if (data := one.read()) in seen:
            continue
        seen.add(data)
        name = f"{unit}.ipynb" if [one] == notebooks else plain(one.name).lstrip(".").replace("/", "_") or "unnamed"
        while name.lower() in {*taken, STAMP}:
            name = f"_{name}"
        taken.add(name.lower())
        yield name, data


def _files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.rglob("*") if one.is_file() and one.name != STAMP)


def _holds(folder: Path) -> bool:
    return folder.is_dir() and bool(_files(folder))


def _alike(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files, apart from the time."""
    first, second = ([file.relative_to(folder) for file in _files(folder)] for folder in (one, other))
    return first == second and not any(not filecmp.cmp(one / name, other / name, shallow=False) for name in first)


def _has_handed_in(student: Student, unit: str) -> bool:
    return _holds(unit_folder(settings.class_folder() / "submitted" / student.id, unit))
