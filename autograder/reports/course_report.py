"""The course report: one page over all units, with each student's line, what comes back, and who may need help."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.marks import totals
from autograder.gradebook.outcomes import Record
from autograder.gradebook.store import load_results, results_file
from autograder.grading.examined import MISSING
from autograder.intake.lms.sections import Section, find_section
from autograder.intake.lms.students import Student, students
from autograder.reports import reteaching
from autograder.reports.measures import Spread
from autograder.reports.pages import render, script
from autograder.reports.pseudonyms import SUFFIX, pseudonym
from autograder.reports.returning import Returning, returning
from autograder.reports.safe_cells import cell
from autograder.reports.standing import LAST, InCourse, in_course

# How many misconceptions are listed at most.
MOST = 25


def write_course_report(pseudonyms: bool = False, section: str | None = None) -> Path:
    """Writes the report over all graded units as one HTML file that needs no network, with a table beside it; returns its path.

    Args:
        pseudonyms: names are replaced, in an order that says nothing of them, and sections are left out;
            the page is a file of its own.
        section: only the students of this section are in it.

    Raises:
        KitError: nothing is graded yet, the class has no such section, or the gradebook cannot be used.
    """
    only = find_section(section) if section else None
    results = {unit: records for unit in settings.units() if (records := _records(unit, only))}
    if not results:
        group = f"of section {only.name}" if only else "of the class"
        raise settings.KitError(f"nobody {group} is graded yet: run `python -m autograder grade UNIT`.")
    kind = SUFFIX if pseudonyms else ""
    page = settings.class_folder() / "report" / f"course{only.suffix if only else ''}{kind}.html"
    contents = course(results, {student.id: student for student in students()}, pseudonyms)
    for unit in contents["units"]:
        unit_page = f"{unit['name']}{kind}.html"
        unit["page"] = unit_page if (page.parent / unit_page).exists() else ""
    for misconception in contents["returning"]:
        misconception["link"] = reteaching.link(misconception["reread"], page)
        misconception["notebook"] = reteaching.notebook(misconception["reread"])
    table = page.with_suffix(".csv")
    write_atomically(table, _as_csv(contents, pseudonyms))
    html = render("course.html", **contents, section=only and only.name, table=table.name, sorting=script("sorting.js"))
    return write_atomically(page, html)


def _records(unit: str, only: Section | None) -> list[Record]:
    if not results_file(unit).exists():
        return []
    return [record for record in load_results(unit) if only is None or record["student"] in only.students]


def course(results: Mapping[str, list[Record]], about: Mapping[str, Student], pseudonyms: bool = False) -> dict:
    """What the report says, as plain data.

    Args:
        results: the records of each unit, in the order of the units.
        about: the class's list of students by id; those who are not in it have their id alone.
    """
    lines, medians = in_course(results, totals())
    display_names = {line.student: pseudonym(line.student) if pseudonyms else line.student for line in lines}
    if pseudonyms:
        # The order of the real names would give them away.
        lines.sort(key=lambda line: display_names[line.student])
    rows = [_student_row(line, display_names, {} if pseudonyms else about) for line in lines]
    last = list(results)[-LAST:]
    misconceptions, more = returning(results, MOST)
    return {
        "students": rows,
        "sections": len({row["section"] for row in rows}) > 1,
        "units": [_unit_row(unit, lines) for unit in results],
        "medians": medians,
        "last": last,
        "risk": sorted(
            (row for line, row in zip(lines, rows) if line.at_risk(len(last))),
            key=lambda row: (-len(row["missing"]) - len(row["below"]), row["share"]),
        ),
        "absent": [row for line, row in zip(lines, rows) if line.absent],
        "returning": [_misconception_row(misconception, display_names) for misconception in misconceptions],
        "more_returning": more,
        "open": any(result.open for line in lines for result in line.units.values()),
    }


def _student_row(line: InCourse, display_names: Mapping[str, str], about: Mapping[str, Student]) -> dict:
    student = about.get(line.student, Student(line.student))
    return {
        "name": display_names[line.student],
        "full_name": student.name,
        "section": student.section,
        "units": line.units,
        "points": line.points,
        "of": line.of,
        "share": line.points / line.of if line.of else 0.0,
        "missing": line.missing,
        "below": line.below,
        "never": [unit for unit, result in line.units.items() if result.state == MISSING],
    }


def _unit_row(unit: str, lines: list[InCourse]) -> dict:
    """How a unit went: of those who handed in, mean, median and spread."""
    results = [line.units[unit] for line in lines if unit in line.units]
    handed_in = [result for result in results if result.state != MISSING]
    return {
        "name": unit,
        "number": unit[:2],
        "students": len(results),
        "there": len(handed_in),
        "of": max((result.of for result in results), default=0),
        "spread": Spread.of([result.points for result in handed_in]),
        "share": sum(result.share for result in handed_in) / len(handed_in) if handed_in else 0.0,
    }


def _misconception_row(misconception: Returning, display_names: Mapping[str, str]) -> dict:
    return {
        "name": misconception.name,
        "names": [name for name in misconception.names if name != misconception.name],
        "sentence": misconception.sentence,
        "reread": misconception.reread,
        "students": misconception.students,
        "again": sorted(display_names[student] for student in misconception.again),
        "units": misconception.units,
    }


def _as_csv(contents: dict, pseudonyms: bool) -> str:
    """The table of students for a spreadsheet."""
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer, lineterminator="\n")
    units = [unit["name"] for unit in contents["units"]]
    columns = [] if pseudonyms else ["name", "section"]
    table.writerow(["student", *columns, *units, "total", "of", "missing", "at risk"])
    at_risk = {row["name"] for row in contents["risk"]}
    for row in contents["students"]:
        unit_points = [f"{row['units'][unit].points:g}" if unit in row["units"] else "" for unit in units]
        identity = [] if pseudonyms else [cell(row["full_name"]), cell(row["section"])]
        missing = " ".join(unit[:2] for unit in row["never"])
        last = [f"{row['points']:g}", f"{row['of']:g}", missing, "yes" if row["name"] in at_risk else ""]
        table.writerow([cell(row["name"]), *identity, *unit_points, *last])
    return buffer.getvalue()
