"""Marks for elsewhere: a table of one's own, or the LMS's own file with the marks filled in."""

import codecs
import csv
import io
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.marks import Marks, marks
from autograder.intake.lms.matching import Whose, hints
from autograder.intake.lms.sections import Section, find_section
from autograder.intake.lms.students import Student, as_row, decoded, lines, students
from autograder.intake.marked_cells import CHECK
from autograder.reports.safe_cells import cell

PENDING = "not graded yet"
_BYTE_ORDERS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass
class Exported:
    """What was written: the file, how many rows have a mark, whose marks are pending, and whom the LMS's file does not know.

    Attributes:
        column: the column of the LMS's file that holds the marks.
        scale: the most that the file allows, in words, where it is not what the unit allows.
    """

    file: Path
    filled: int = 0
    pending: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    column: str = ""
    scale: str = ""


def folder() -> Path:
    """Where exported files lie; inside the class's folder, for they name students."""
    return settings.make_class_folder() / "export"


def as_table(unit: str, section: str | None = None) -> Exported:
    """Writes a table: a row for each student, or each of a section, a column for each exercise and written answer.

    Raises:
        KitError: the gradebook cannot be used, holds nothing of the unit, or the class has no such section.
    """
    only = find_section(section) if section else None
    found, known = _graded(unit, only), {one.id: one for one in students()}
    names = list(dict.fromkeys(name for one in found.values() for name in one.cells))
    head = [
        "student",
        "name",
        "section",
        *(name.removeprefix(CHECK) for name in names),
        "late penalty",
        "total",
        PENDING,
    ]
    table = [head]
    for student, one in found.items():
        about = known.get(student, Student(student))
        points = [_number(one.cells.get(name)) for name in names]
        last = [_number(one.penalty), _number(one.total), " ".join(one.pending)]
        table.append([cell(student), cell(about.name), cell(about.section), *points, *last])
    file = _written(f"{unit}{only.suffix if only else ''}.csv", table, marked=True)
    return Exported(file, len(found), [student for student, one in found.items() if one.pending])


def into(unit: str, theirs: Path, section: str | None = None) -> Exported:
    """Fills an LMS's own file: the gradebook that Canvas exports, Moodle's grading worksheet, or any table that names students.

    Every other column stays as it is, and so does a row whose student has no mark, is not of the section or cannot be told.

    Raises:
        KitError: the file is no such table, the gradebook cannot be used, holds nothing of the unit, or there is no such section.
    """
    only = find_section(section) if section else None
    found = _graded(unit, only)
    whose = Whose(students() or map(Student, found))
    head, *given = lines(theirs) or [[]]
    column = _column(unit, head)
    if column not in head:
        head, given = [*head, column], [[*line, ""] for line in given]
    said = Exported(folder() / f"{unit}-{theirs.stem}{only.suffix if only else ''}.csv", column=column)
    meant, place = _meant(whose, head, given), head.index(column)
    for number, line in enumerate(given):
        line += [""] * (len(head) - len(line))
        student = meant.get(number)
        if student in found:
            line[place] = _number(found[student].total)
            said.filled += 1
    here = set(meant.values())
    said.pending = [student for student, one in found.items() if one.pending and student in here]
    said.unknown = sorted(found.keys() - here)
    said.scale = _scale(head, given, column, max(one.most for one in found.values()))
    _written(said.file.name, [head, *given], decoded(theirs)[1], theirs.read_bytes().startswith(_BYTE_ORDERS))
    return said


def _meant(whose: Whose, head: list[str], given: list[list[str]]) -> dict[int, str]:
    """The number of a line -> the one student whom it means; of two lines that mean one, that with a number or an address."""
    by_student: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for number, line in enumerate(given):
        row = as_row(head, line)
        if (student := whose.find(hints(row))) and not _POSSIBLE.match("".join(line[:1])):
            by_student[student].append((number, any(row.get(name) and whose.knows(row[name]) for name in _SURE)))
    meant = {}
    for student, told in by_student.items():
        sure = [number for number, known in told if known]
        if len(told) == 1 or len(sure) == 1:
            meant[told[0][0] if len(told) == 1 else sure[0]] = student
    return meant


_POSSIBLE = re.compile(r"\s*points possible", re.IGNORECASE)
_SURE = (
    "id",
    "sis user id",
    "sis login id",
    "username",
    "sid",
    "id number",
    "student id",
    "email",
    "email address",
    "identifier",
)


def _scale(head: list[str], given: list[list[str]], column: str, most: float) -> str:
    """The most that the LMS's file allows, where it is another number than ours."""
    for line in given:
        row = as_row(head, line)
        told = line[head.index(column)] if _POSSIBLE.match("".join(line[:1])) else row.get("maximum grade", "")
        try:
            if told and float(told) != most:
                return f"{float(told):g}, and ours is {most:g}"
        except ValueError:
            continue
    return ""


def _graded(unit: str, only: Section | None) -> dict[str, Marks]:
    found = marks(unit)
    if not found:
        raise settings.KitError(f"{unit} has no marks yet: run `python -m autograder grade {unit}`.")
    if only is None:
        return found
    found = {student: one for student, one in found.items() if student in only.students}
    if not found:
        raise settings.KitError(f"{unit}: nobody of section {only.name} has marks yet.")
    return found


def _column(unit: str, head: list[str]) -> str:
    """The column that takes the marks: Moodle's own, Canvas's of this unit, or a new one."""
    if "Identifier" in head and "Grade" in head:
        return "Grade"
    number, name = int(unit[:2]), re.escape(unit[3:].replace("_", " "))
    called = rf"{name}|{re.escape(unit)}|\b(?:unit|assignment|homework|hw)\s*0*{number}(?!\d)"
    computed = r"(current|final|unposted) (score|points|grade)"  # columns of Canvas that it fills itself
    alike = [
        one for one in head if re.search(called, one, re.IGNORECASE) and not re.search(computed, one, re.IGNORECASE)
    ]
    return alike[0] if len(alike) == 1 else unit


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _written(name: str, table: list[list[str]], delimiter: str = ",", marked: bool = False) -> Path:
    """Writes a table in UTF-8, marked as such by its first bytes or not: without them Excel takes it for another encoding."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(table)
    return write_atomically(folder() / name, ("\ufeff" if marked else "") + out.getvalue())
