"""Marks for elsewhere: a table of one's own, or the LMS's own file with the marks filled in."""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.marks import Marks, marks
from autograder.intake.lms.matching import Whose
from autograder.intake.lms.students import Student, rows, students
from autograder.intake.marked_cells import CHECK
from autograder.reports.safe_cells import cell

PENDING = "not graded yet"


@dataclass
class Exported:
    """What was written: the file, how many rows have a mark, whose marks are pending, and whom the LMS's file does not know."""

    file: Path
    filled: int = 0
    pending: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def folder() -> Path:
    """Where exported files lie; inside the class's folder, for they name students."""
    return settings.make_class_folder() / "export"


def as_table(unit: str) -> Exported:
    """Writes a table: a row for each student, a column for each exercise and written answer.

    Raises:
        KitError: the gradebook cannot be used, or holds nothing of the unit.
    """
    found, known = _graded(unit), {one.id: one for one in students()}
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
    file = _written(f"{unit}.csv", table)
    return Exported(file, len(found), [student for student, one in found.items() if one.pending])


def into(unit: str, theirs: Path) -> Exported:
    """Fills an LMS's own file: the gradebook that Canvas exports, Moodle's grading worksheet, or any table that names students.

    Every other column stays as it is. A row whose student has no mark stays empty.

    Raises:
        KitError: the file is no such table, or the gradebook cannot be used, or holds nothing of the unit.
    """
    found = _graded(unit)
    whose = Whose(students() or map(Student, found))
    given, head = rows(theirs), _head(theirs)
    column = _column(unit, head)
    said = Exported(folder() / f"{unit}-{theirs.stem}.csv")
    here, table = set(), [head + ([column] if column not in head else [])]
    for row in given:
        values = [row.get(name.strip().lower(), "") for name in table[0]]
        student = whose.find(value for name, value in row.items() if value and _names_somebody(name))
        if "points possible" in "".join(values[:1]).lower():
            values[table[0].index(column)] = _number(max(one.most for one in found.values()))
        elif student in found:
            here.add(student)
            values[table[0].index(column)] = _number(found[student].total)
            said.filled += 1
        table.append(values)
    said.pending = [student for student, one in found.items() if one.pending and student in here]
    said.unknown = sorted(found.keys() - here)
    _written(said.file.name, table)
    return said


_WHO = re.compile(r"student|^id$|sis|login|name|e-?mail|username|identifier|number|sid")


def _names_somebody(column: str) -> bool:
    return bool(_WHO.search(column))


def _graded(unit: str) -> dict[str, Marks]:
    found = marks(unit)
    if not found:
        raise settings.KitError(f"{unit} has no marks yet: run `python -m autograder grade {unit}`.")
    return found


def _head(file: Path) -> list[str]:
    """A table's columns as they are spelled."""
    first = file.read_bytes().decode("utf-8-sig", "replace").splitlines()[:1]
    delimiter = max(",;\t", key="".join(first).count)
    return next(csv.reader(first, delimiter=delimiter), [])


def _column(unit: str, head: list[str]) -> str:
    """The column that takes the marks: Moodle's own, Canvas's of this unit, or a new one."""
    if "Identifier" in head and "Grade" in head:
        return "Grade"
    number, name = unit[:2], unit[3:].replace("_", " ")
    alike = [
        one
        for one in head
        if re.search(rf"(?<!\d){number}(?!\d)|{re.escape(name)}|{re.escape(unit)}", one, re.IGNORECASE)
    ]
    return alike[0] if len(alike) == 1 else unit


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _written(name: str, table: list[list[str]]) -> Path:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(table)
    return write_atomically(folder() / name, out.getvalue())
