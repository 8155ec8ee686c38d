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

MOST = 25  # misconceptions that are listed


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
        where = f"of section {only.name}" if only else "of the class"
        raise settings.KitError(f"nobody {where} is graded yet: run `python -m autograder grade UNIT`.")
    kind = SUFFIX if pseudonyms else ""
    page = settings.class_folder() / "report" / f"course{only.suffix if only else ''}{kind}.html"
    found = course(results, {one.id: one for one in students()}, pseudonyms)
    for unit in found["units"]:
        own = f"{unit['name']}{kind}.html"
        unit["page"] = own if (page.parent / own).exists() else ""
    for one in found["returning"]:
        one["link"] = reteaching.link(one["reread"], page)
        one["notebook"] = reteaching.notebook(one["reread"])
    table = page.with_suffix(".csv")
    write_atomically(table, _as_csv(found, pseudonyms))
    shown = render("course.html", **found, section=only and only.name, table=table.name, sorting=script("sorting.js"))
    return write_atomically(page, shown)


def _records(unit: str, only: Section | None) -> list[Record]:
    if not results_file(unit).exists():
        return []
    return [one for one in load_results(unit) if only is None or one["student"] in only.students]


def course(results: Mapping[str, list[Record]], about: Mapping[str, Student], pseudonyms: bool = False) -> dict:
    """What the report says, as plain data.

    Args:
        results: the records of each unit, in the order of the units.
        about: the class's list of students by id; those who are not in it have their id alone.
    """
    lines, medians = in_course(results, totals())
    called = {line.student: pseudonym(line.student) if pseudonyms else line.student for line in lines}
    if pseudonyms:
        lines.sort(key=lambda line: called[line.student])  # the order of the names would tell them
    shown = [_line(line, called, {} if pseudonyms else about) for line in lines]
    last = list(results)[-LAST:]
    back, more = returning(results, MOST)
    return {
        "students": shown,
        "sections": len({one["section"] for one in shown}) > 1,
        "units": [_unit(unit, lines) for unit in results],
        "medians": medians,
        "last": last,
        "risk": sorted(
            (one for line, one in zip(lines, shown) if line.at_risk(len(last))),
            key=lambda one: (-len(one["missing"]) - len(one["below"]), one["share"]),
        ),
        "absent": [one for line, one in zip(lines, shown) if line.absent],
        "returning": [_returning(one, called) for one in back],
        "more_returning": more,
        "open": any(own.open for line in lines for own in line.units.values()),
    }


def _line(line: InCourse, called: Mapping[str, str], about: Mapping[str, Student]) -> dict:
    who = about.get(line.student, Student(line.student))
    return {
        "name": called[line.student],
        "full_name": who.name,
        "section": who.section,
        "units": line.units,
        "points": line.points,
        "of": line.of,
        "share": line.points / line.of if line.of else 0.0,
        "missing": line.missing,
        "below": line.below,
        "never": [unit for unit, own in line.units.items() if own.state == MISSING],
    }


def _unit(unit: str, lines: list[InCourse]) -> dict:
    """How a unit went: of those who handed in, mean, median and spread."""
    own = [line.units[unit] for line in lines if unit in line.units]
    there = [one for one in own if one.state != MISSING]
    return {
        "name": unit,
        "number": unit[:2],
        "students": len(own),
        "there": len(there),
        "of": max((one.of for one in own), default=0),
        "spread": Spread.of([one.points for one in there]),
        "share": sum(one.share for one in there) / len(there) if there else 0.0,
    }


def _returning(one: Returning, called: Mapping[str, str]) -> dict:
    return {
        "name": one.name,
        "names": [name for name in one.names if name != one.name],
        "sentence": one.sentence,
        "reread": one.reread,
        "students": one.students,
        "again": sorted(called[student] for student in one.again),
        "units": one.units,
    }


def _as_csv(found: dict, pseudonyms: bool) -> str:
    """The table of students for a spreadsheet."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    units = [unit["name"] for unit in found["units"]]
    more = [] if pseudonyms else ["name", "section"]
    table.writerow(["student", *more, *units, "total", "of", "missing", "at risk"])
    at_risk = {one["name"] for one in found["risk"]}
    for one in found["students"]:
        own = [f"{one['units'][unit].points:g}" if unit in one["units"] else "" for unit in units]
        about = [] if pseudonyms else [cell(one["full_name"]), cell(one["section"])]
        missing = " ".join(unit[:2] for unit in one["never"])
        last = [f"{one['points']:g}", f"{one['of']:g}", missing, "yes" if one["name"] in at_risk else ""]
        table.writerow([cell(one["name"]), *about, *own, *last])
    return out.getvalue()
