"""The students of a class: `roster.csv` in the class's folder, and the lists that Canvas, Moodle and Gradescope export."""

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically
from autograder.intake.places import is_usable, listed

COLUMNS = ("id", "name", "email", "section", "also", "left")
# The names of columns in our own file and in those of Canvas, Moodle and Gradescope; the first column that has a value counts.
_IDS = ("id", "sis login id", "username", "sis user id", "sid", "student id", "id number")
_NUMBERS = ("sis login id", "sis user id", "username", "sid", "id number", "identifier", "canvas id")
_NAMES = ("name", "student", "full name")
_FIRST, _LAST = ("first name", "firstname", "given name"), ("last name", "surname", "lastname", "family name")
_EMAILS = ("email", "email address", "e-mail")
_SECTIONS = ("section", "sections", "groups", "group")
# The names in rows of Canvas's gradebook that are no students.
_NOBODY = re.compile(r"\s*points possible|student, test$|test student$", re.IGNORECASE)


@dataclass(frozen=True)
class Student:
    """One student of a class.

    Attributes:
        id: the name of the folder in `submitted/`, and the student's id in nbgrader's gradebook.
        name: as the learning management system writes it, "Jane Doe" or "Doe, Jane".
        also: what else identifies the student there: numbers and logins.
        left: whether the student has left the class; such a student is in no table any more.
    """

    id: str
    name: str = ""
    email: str = ""
    section: str = ""
    also: tuple[str, ...] = ()
    left: bool = False

    @property
    def first_and_last(self) -> tuple[str, str]:
        """The two parts of the name, for nbgrader's gradebook."""
        if "," in self.name:
            last, _, first = self.name.partition(",")
            return first.strip(), last.strip()
        first, _, last = self.name.rpartition(" ")
        return first.strip(), last.strip()


def roster_file() -> Path:
    """Where the class's students are listed."""
    return settings.class_folder() / "roster.csv"


def students() -> list[Student]:
    """The class's students, also those who have left; none where there is no list.

    Raises:
        KitError: the list cannot be used.
    """
    file = roster_file()
    return read(file) if file.exists() else []


def called(name: str, known: Iterable[Student]) -> Student | None:
    """The student with this id; else the only one with this number, login or address."""
    known, folded = list(known), name.casefold()
    by_id = [student for student in known if student.id == name]
    matching = [student for student in known if folded in map(str.casefold, (student.id, student.email, *student.also))]
    return by_id[0] if by_id else matching[0] if len(matching) == 1 else None


def left() -> set[str]:
    """The ids of those who have left the class."""
    return {student.id for student in students() if student.left}


def read(file: Path) -> list[Student]:
    """The students in our own list, or in one that Canvas, Moodle or Gradescope has exported.

    Raises:
        KitError: the file has no column that names students, or two rows share an id.
    """
    class_list = [student for row in rows(file) if (student := _student(row))]
    if not class_list:
        columns = "a column id (or SIS Login ID, Username, SID, ID number, ID, Email) and one with names"
        raise settings.KitError(f"{file} lists no students: it needs {columns}.")
    twice = [id for id, count in Counter(student.id for student in class_list).items() if count > 1]
    if twice:
        raise settings.KitError(f"{file} has more than one row with the id {listed(sorted(twice))}.")
    unusable = [student.id for student in class_list if not is_usable(student.id)]
    if unusable:
        raise settings.KitError(f"{file}: {listed(unusable)} cannot be used as an id, as no folder can be called that.")
    return class_list


def decoded(file: Path) -> tuple[str, str]:
    """A table's text and what separates its columns, as an LMS or a spreadsheet exports it.

    Raises:
        KitError: the file is no table of text.
    """
    data = file.read_bytes()
    for encoding in ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
            return text, max(",;\t", key=text.partition("\n")[0].count)
        except UnicodeDecodeError:
            continue
    raise settings.KitError(f"{file} is no table of text: export it as CSV.")


def lines(file: Path) -> list[list[str]]:
    """A table's lines, the one with the columns' names first.

    Raises:
        KitError: the file cannot be read as a table.
    """
    text, delimiter = decoded(file)
    try:
        return [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if line]
    except csv.Error as error:
        raise settings.KitError(f"{file} cannot be read as a table ({error}).") from None


def rows(file: Path) -> list[dict[str, str]]:
    """The rows of a table; columns are called in small letters.

    Raises:
        KitError: the file cannot be read as a table.
    """
    head, *rest = lines(file) or [[]]
    return [as_row(head, line) for line in rest]


def as_row(head: list[str], line: list[str]) -> dict[str, str]:
    """One line of a table by its columns' names in small letters; of two columns of the same name the first counts."""
    row: dict[str, str] = {}
    for name, value in zip(head, line):
        row.setdefault(name.strip().lower(), value.strip())
    return row


def _first_value(row: dict[str, str], names: Iterable[str]) -> str:
    return next((row[name] for name in names if row.get(name)), "")


def _github_row(row: dict[str, str]) -> dict[str, str]:
    """A row of GitHub Classroom's list under the columns of an LMS.

    Students choose their logins there; teachers choose what else identifies a student: an address, a name or a number.
    """
    identifier = row.get("identifier", "")
    kind = "email" if "@" in identifier else "name" if " " in identifier else "id number"
    return {**row, "identifier": "", "username": row["github_username"], **({kind: identifier} if identifier else {})}


def _student(row: dict[str, str]) -> Student | None:
    """The student of one row; None for a row that is no student's."""
    if row.get("role", "student").lower() in ("instructor", "ta", "reader", "teacher"):
        return None
    row = _github_row(row) if "github_username" in row else row
    name = _first_value(row, _NAMES) or f"{_first_value(row, _FIRST)} {_first_value(row, _LAST)}".strip()
    email = _first_value(row, _EMAILS)
    canvas = "student" in row  # the gradebook of Canvas, in which ID is a number of its own
    own_id = _first_value(row, [column for column in _IDS if not (canvas and column == "id")])
    id = own_id or email.partition("@")[0] or (row.get("id", "") if canvas else "")
    if not id or _NOBODY.match(name):
        return None
    also = [*row.get("also", "").split(), *(row[column] for column in _NUMBERS if row.get(column))]
    also += [row["id"]] if canvas and row.get("id") else []
    also = [re.sub(r"^participant\s+", "", identifier, flags=re.IGNORECASE) for identifier in also]
    others = tuple(dict.fromkeys(identifier for identifier in also if identifier != id))
    id = unicodedata.normalize("NFC", id)
    return Student(
        id, name, email, _first_value(row, _SECTIONS), others, row.get("left", "").lower() in ("yes", "1", "true", "x")
    )


def write(found: Iterable[Student]) -> Path:
    """Writes the class's list of students."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for student in found:
        table.writerow(
            [
                student.id,
                student.name,
                student.email,
                student.section,
                " ".join(student.also),
                "yes" if student.left else "",
            ]
        )
    settings.make_class_folder()
    return write_atomically(roster_file(), out.getvalue())
