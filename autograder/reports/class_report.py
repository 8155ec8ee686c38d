"""The class report: one page on what the class earned in a unit, what it misunderstood, and what to look at."""

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from autograder import settings
from autograder.bank import catalogue
from autograder.bank.cases.drawing import VISIBLE_SEED, draw
from autograder.files import write_atomically
from autograder.gradebook.marks import Total, lateness, totals
from autograder.gradebook.outcomes import Outcome, Record
from autograder.gradebook.store import load_results
from autograder.grading.examined import GRADED, MISSING, UNJUDGED
from autograder.grading.journal import load_outcomes
from autograder.intake.lms.sections import Section, find_section, sections
from autograder.intake.lms.students import students as class_list
from autograder.reports import reteaching
from autograder.reports.measures import ENOUGH, QUARTERS, Spread, discrimination, histogram, quarters
from autograder.reports.pages import render, script
from autograder.reports.pseudonyms import SUFFIX, pseudonym
from autograder.reports.safe_cells import cell
from autograder.reports.similarity import PUBLISHED, AlikePair, similar_pairs
from autograder.reports.topics import NOTHING_TO_COUNT, UNFINISHED, topics
from autograder.sandbox.levels import MEANING

# How many pairs of similar submissions are listed at most.
MOST_PAIRS = 50


def write_report(unit: str, pseudonyms: bool = False, section: str | None = None, workers: int | None = None) -> Path:
    """Writes the report of a graded unit as one HTML file that needs no network, and returns its path.

    Args:
        pseudonyms: names are replaced by ones that stay the same within the class and lead back only with its folder;
            the page is a file of its own.
        section: only the students of this section are in it.
        workers: how many processes read submissions at once; without it, one for each core.

    Raises:
        KitError: the unit is not graded yet, the class has no such section, or the gradebook cannot be used.
    """
    records, only = load_results(unit), find_section(section) if section else None
    if not any(only is None or record["student"] in only.students for record in records):
        group = f"section {only.name}" if only else "the class"
        raise settings.KitError(f"{unit}: nobody who is graded is in {group}.")
    name = unit + (only.suffix if only else "") + (SUFFIX if pseudonyms else "")
    page = settings.class_folder() / "report" / f"{name}.html"
    contents = summary(unit, records, pseudonyms, only, workers)
    for topic in contents["topics"]:
        topic["link"] = reteaching.link(topic["reread"], page)
        topic["notebook"] = reteaching.notebook(topic["reread"])
    write_atomically(page.with_suffix(".csv"), _as_csv(contents))
    return write_atomically(page, render("report.html", **contents, table=f"{name}.csv", sorting=script("sorting.js")))


def _as_csv(contents: dict) -> str:
    """The table of students for a spreadsheet; a stretch, which has no points, is ✓ or empty."""
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer, lineterminator="\n")
    columns = [*(["full_name"] if contents["named"] else []), *(["section"] if contents["sections"] else [])]
    heads = ["name" if column == "full_name" else column for column in columns]
    exercises = [exercise["name"] for exercise in contents["exercises"]]
    table.writerow(["student", *heads, "total", "of", "automatic", "late", "open", *exercises, "notes"])
    for student in contents["students"]:
        points = [_points_cell(student["by_exercise"][exercise]) for exercise in exercises]
        identity = [cell(student[column]) for column in ("name", *columns)]
        total = [
            f"{number:g}"
            for number in (student["total"], student["of"], student["points"], student["penalty"], student["open"])
        ]
        table.writerow([*identity, *total, *points, " ".join(student["states"])])
    return buffer.getvalue()


def _points_cell(record: Record) -> float | str:
    if not record:
        return ""
    return record["points"] if record["max_points"] else "" if record["problem"] else "✓"


def summary(
    unit: str,
    records: list[Record],
    pseudonyms: bool = False,
    only: Section | None = None,
    workers: int | None = None,
) -> dict:
    """What the report says, as plain data.

    Args:
        only: the section that it is about; without it, all of the class. Code is compared with that of the whole class.
    """
    everyone = list(dict.fromkeys(record["student"] for record in records))
    records = [record for record in records if only is None or record["student"] in only.students]
    shown_students = list(dict.fromkeys(record["student"] for record in records))
    display_names = {name: pseudonym(name) if pseudonyms else name for name in shown_students}
    all_pairs, uncompared = similar_pairs(unit, everyone, workers)
    pairs = [pair for pair in all_pairs if {pair.one, pair.other} <= {*shown_students, PUBLISHED}]
    outcomes = {student: outcome for student, outcome in load_outcomes(unit).items() if student in display_names}
    if pseudonyms:
        records = [{**record, **_without_names(record, display_names[record["student"]])} for record in records]
        # The order of the real names would give them away.
        records.sort(key=lambda record: record["student"])
    exercises = list(dict.fromkeys(record["exercise"] for record in records))
    by_student: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_student[record["student"]].append(record)
    students = _student_rows(unit, by_student, display_names, pseudonyms)
    counted = [record for record in records if record["state"] not in NOTHING_TO_COUNT]
    counted_names = {record["student"] for record in counted}
    graded = [row for row in students if row["name"] in counted_names]
    points = {row["name"]: row["points"] for row in graded}
    copies = _copied_rows(pairs, display_names)
    return {
        "unit": unit,
        "section": only.name if only else "",
        "exercises": [_exercise_row(name, counted, graded, outcomes) for name in exercises],
        "students": students,
        "sections": len({row["section"] for row in students}) > 1,
        "named": any(row["full_name"] for row in students),
        "late": any(row["penalty"] for row in students),
        "open": any(row["open"] for row in students),
        "counted": len(graded),
        "missing": sum(row["states"] == [MISSING] for row in students),
        "scores": histogram(list(points.values()), students[0]["max_points"] if students else 0),
        "states": Counter(record["state"] for record in records).most_common(),
        "levels": {level: MEANING[level] for level in sorted({record["sandbox"] for record in records} - {""})},
        "by_hand": [(record["student"], record["exercise"]) for record in records if record["state"] == UNJUDGED],
        "totals": Spread.of(list(points.values())),
        "of": students[0]["max_points"] if students else 0,
        "topics": topics(unit, counted, quarters(points), not pseudonyms, workers),
        "unfinished": _unfinished_rows(counted, exercises),
        "quarters": QUARTERS,
        "silent": _silent_checks(counted, exercises),
        "pairs": copies[:MOST_PAIRS],
        "more_pairs": max(0, len(copies) - MOST_PAIRS),
        "published": _published_rows(pairs, display_names),
        "uncompared": sorted(display_names[student] for student in uncompared if student in display_names),
    }


def _published_rows(pairs: list[AlikePair], display_names: dict[str, str]) -> list[dict]:
    """Who has most of the published solution, those first who have all of it."""
    rows = [
        {"name": display_names[pair.one], "share": pair.share, "identical": pair.identical}
        for pair in pairs
        if pair.other == PUBLISHED
    ]
    return sorted(rows, key=lambda row: (not row["identical"], -row["share"], row["name"]))


def _copied_rows(pairs: list[AlikePair], display_names: dict[str, str]) -> list[dict]:
    """Rows of students who handed in the same or nearly the same code; those whose code is identical share a row."""
    groups: dict[str, dict[str, None]] = {}
    for pair in pairs:
        if pair.identical and pair.other != PUBLISHED:
            group = groups.setdefault(pair.one, {pair.one: None})
            groups[pair.other] = group
            group[pair.other] = None
    rows = []
    for pair in pairs:
        names = list(groups.get(pair.one, ())) if pair.identical else [pair.one, pair.other]
        if pair.other != PUBLISHED and [pair.one, pair.other] == names[:2]:
            row = {"names": sorted(display_names[name] for name in names), "identical": pair.identical}
            rows.append({**row, "share": pair.share, "count": pair.fingerprints})
    return sorted(rows, key=lambda row: (not row["identical"], -row["share"], -row["count"], row["names"]))


def _without_names(record: Record, name: str) -> dict:
    """What a record says without names: its repairs name files and its message quotes code, and both may name students."""
    count = len(record["repairs"])
    verdict = (record["misconception"] or record["problem"] or "right").replace("_", " ")
    return {"student": name, "repairs": [f"repairs: {count}"] if count else [], "message": verdict}


def _student_rows(
    unit: str, by_student: dict[str, list[Record]], display_names: dict[str, str], pseudonyms: bool
) -> list[dict]:
    """The students' lines: what was graded, what the gradebook holds, and, without pseudonyms, name and section."""
    # A small section would give away who is who.
    section_of = {} if pseudonyms else sections()
    full_names = {} if pseudonyms else {student.id: student.name for student in class_list()}
    entries = _gradebook_entries(unit, display_names)
    return [
        {
            **_student_row(name, records),
            "full_name": full_names.get(name, ""),
            "section": section_of.get(name, ""),
            **_gradebook_points(records, entries[name]),
        }
        for name, records in by_student.items()
    ]


def _student_row(name: str, records: list[Record]) -> dict:
    return {
        "name": name,
        "row": records,
        "by_exercise": defaultdict(dict, {record["exercise"]: record for record in records}),
        "points": sum(record["points"] for record in records),
        "max_points": sum(record["max_points"] for record in records),
        "states": sorted({record["state"] for record in records} - {GRADED}),
        "why": records[0]["message"].partition(" · ")[2] if records[0]["state"] in NOTHING_TO_COUNT else "",
        "repairs": records[0]["repairs"],
        "mistakes": [
            f"{record['exercise']}: {(record['misconception'] or record['problem']).replace('_', ' ')}"
            for record in records
            if record["problem"] and record["state"] not in NOTHING_TO_COUNT
        ],
    }


def _gradebook_entries(unit: str, display_names: dict[str, str]) -> dict[str, tuple[Total | None, float]]:
    """What the gradebook holds of each student, by the name in the report, and what lateness cost."""
    unit_totals, late = totals().get(unit, {}), lateness(unit)
    return {
        name: (unit_totals.get(student), late[student].penalty if student in late else 0.0)
        for student, name in display_names.items()
    }


def _gradebook_points(records: list[Record], entry: tuple[Total | None, float]) -> dict:
    """A student's points by hand and by machine after the late penalty, out of those graded so far, and those still open."""
    total, penalty = entry
    if not total:
        total = Total(sum(record["points"] for record in records), sum(record["max_points"] for record in records), 0.0)
    return {"total": total.points, "of": total.most - total.open, "open": total.open, "penalty": penalty}


def _exercise_row(name: str, records: list[Record], students: list[dict], outcomes: Mapping[str, Outcome]) -> dict:
    """An exercise's difficulty (share of the points earned; for a stretch, of those right), discrimination and run times."""
    exercise_records = [record for record in records if record["exercise"] == name]
    right, most = (
        {record["student"]: float(record["problem"] is None) for record in exercise_records},
        sum(record["max_points"] for record in exercise_records),
    )
    scores = {record["student"]: record["points"] for record in exercise_records} if most else right
    rest = {
        student["name"]: student["points"] - (scores.get(student["name"], 0) if most else 0) for student in students
    }
    times = [outcome["times"][name] for outcome in outcomes.values() if name in outcome.get("times", {})]
    return {
        "name": name,
        "share": sum(scores.values()) / (most or len(exercise_records) or 1),
        "right": int(sum(right.values())),
        "students": len(exercise_records),
        "stretch": bool(exercise_records) and not most,
        "discrimination": discrimination(scores, rest),
        "median_seconds": median(times) if times else None,
        "longest_seconds": max(times, default=None),
    }


def _unfinished_rows(records: list[Record], exercises: list[str]) -> list[dict]:
    """The exercises that students left as they were handed out, with how many."""
    counts = Counter(record["exercise"] for record in records if record["problem"] == UNFINISHED)
    return [{"exercise": name, "students": counts[name]} for name in exercises if counts[name]]


def _silent_checks(records: list[Record], exercises: list[str]) -> list[dict]:
    """The checks that nobody failed who attempted the exercise: too easy, or no longer needed."""
    silent = []
    for name in exercises:
        tried = [
            record
            for record in records
            if record["exercise"] == name and record["state"] == GRADED and record["problem"] != "unfinished"
        ]
        failed = {check for record in tried for check in record["failed"]}
        all_checks = dict.fromkeys(
            case.property for case in draw(catalogue.find_exercise(name), VISIBLE_SEED, grading=True)
        )
        if len(tried) >= ENOUGH:
            silent.append(
                {
                    "exercise": name,
                    "checks": [check for check in all_checks if check not in failed],
                    "of": len(all_checks),
                }
            )
    return silent
