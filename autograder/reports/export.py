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
    marks_by_student, class_students = _graded_marks(unit, only), {student.id: student for student in students()}
    names = list(dict.fromkeys(name for student_marks in marks_by_student.values() for name in student_marks.cells))
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
    for student, student_marks in marks_by_student.items():
        class_student = class_students.get(student, Student(student))
        points = [_number_text(student_marks.cells.get(name)) for name in names]
        totals = [
            _number_text(student_marks.penalty),
            _number_text(student_marks.total),
            " ".join(student_marks.pending),
        ]
        table.append([cell(student), cell(class_student.name), cell(class_student.section), *points, *totals])
    file = _write_table(f"{unit}{only.suffix if only else ''}.csv", table, marked=True)
    return Exported(
        file,
        len(marks_by_student),
        [student for student, student_marks in marks_by_student.items() if student_marks.pending],
    )


def into(unit: str, theirs: Path, section: str | None = None) -> Exported:
    """Fills an LMS's own file: the gradebook that Canvas exports, Moodle's grading worksheet, or any table that names students.

    Every other column stays as it is, and so does a row whose student has no mark, is not of the section or cannot be told.

    Raises:
        KitError: the file is no such table, the gradebook cannot be used, holds nothing of the unit, or there is no such section.
    """
    only = find_section(section) if section else None
    marks_by_student = _graded_marks(unit, only)
    finder = Whose(students() or map(Student, marks_by_student))
    head, *rows = lines(theirs) or [[]]
    column = _marks_column(unit, head)
    if column not in head:
        head, rows = [*head, column], [[*line, ""] for line in rows]
    exported = Exported(folder() / f"{unit}-{theirs.stem}{only.suffix if only else ''}.csv", column=column)
    student_of_line, index = _student_of_line(finder, head, rows), head.index(column)
    for number, line in enumerate(rows):
        line += [""] * (len(head) - len(line))
        student = student_of_line.get(number)
        if student in marks_by_student:
            line[index] = _number_text(marks_by_student[student].total)
            exported.filled += 1
    students_in_file = set(student_of_line.values())
    exported.pending = [
        student
        for student, student_marks in marks_by_student.items()
        if student_marks.pending and student in students_in_file
    ]
    exported.unknown = sorted(marks_by_student.keys() - students_in_file)
    exported.scale = _other_scale(
        head, rows, column, max(student_marks.most for student_marks in marks_by_student.values())
    )
    _write_table(exported.file.name, [head, *rows], decoded(theirs)[1], theirs.read_bytes().startswith(_BYTE_ORDERS))
    return exported


def _student_of_line(finder: Whose, head: list[str], rows: list[list[str]]) -> dict[int, str]:
    """The number of a line -> the student whom it means; of several lines for one student, that with an id or an address."""
    by_student: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for number, line in enumerate(rows):
        row = as_row(head, line)
        if (student := finder.find(hints(row))) and not _POINTS_POSSIBLE.match("".join(line[:1])):
            by_student[student].append(
                (number, any(row.get(name) and finder.knows(row[name]) for name in _SURE_COLUMNS))
            )
    student_of_line = {}
    for student, candidates in by_student.items():
        sure = [number for number, is_sure in candidates if is_sure]
        if len(candidates) == 1 or len(sure) == 1:
            student_of_line[candidates[0][0] if len(candidates) == 1 else sure[0]] = student
    return student_of_line


_POINTS_POSSIBLE = re.compile(r"\s*points possible", re.IGNORECASE)
_SURE_COLUMNS = (
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


def _other_scale(head: list[str], rows: list[list[str]], column: str, most: float) -> str:
    """The most that the LMS's file allows, where it is another number than ours."""
    for line in rows:
        row = as_row(head, line)
        allowed = (
            line[head.index(column)] if _POINTS_POSSIBLE.match("".join(line[:1])) else row.get("maximum grade", "")
        )
        try:
            if allowed and float(allowed) != most:
                return f"{float(allowed):g}, and ours is {most:g}"
        except ValueError:
            continue
    return ""


def _graded_marks(unit: str, only: Section | None) -> dict[str, Marks]:
    marks_by_student = marks(unit)
    if not marks_by_student:
        raise settings.KitError(f"{unit} has no marks yet: run `python -m autograder grade {unit}`.")
    if only is None:
        return marks_by_student
    marks_by_student = {
        student: student_marks for student, student_marks in marks_by_student.items() if student in only.students
    }
    if not marks_by_student:
        raise settings.KitError(f"{unit}: nobody of section {only.name} has marks yet.")
    return marks_by_student


def _marks_column(unit: str, head: list[str]) -> str:
    """The column that takes the marks: Moodle's own, Canvas's of this unit, or a new one."""
    if "Identifier" in head and "Grade" in head:
        return "Grade"
    number, name = int(unit[:2]), re.escape(unit[3:].replace("_", " "))
    pattern = rf"{name}|{re.escape(unit)}|\b(?:unit|assignment|homework|hw)\s*0*{number}(?!\d)"
    # Canvas computes these columns itself.
    computed = r"(current|final|unposted) (score|points|grade)"
    alike = [
        heading
        for heading in head
        if re.search(pattern, heading, re.IGNORECASE) and not re.search(computed, heading, re.IGNORECASE)
    ]
    return alike[0] if len(alike) == 1 else unit


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _write_table(name: str, table: list[list[str]], delimiter: str = ",", marked: bool = False) -> Path:
    """Writes a table in UTF-8, marked as such by its first bytes or not: without them Excel takes it for another encoding."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(table)
    return write_atomically(folder() / name, ("\ufeff" if marked else "") + buffer.getvalue())
