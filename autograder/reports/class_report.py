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

MOST_PAIRS = 50  # that are listed


def write_report(unit: str, pseudonyms: bool = False, section: str | None = None) -> Path:
    """Writes the report of a graded unit as one HTML file that needs no network, and returns its path.

    Args:
        pseudonyms: names are replaced by ones that stay the same within the class and lead back only with its folder;
            the page is a file of its own.
        section: only the students of this section are in it.

    Raises:
        KitError: the unit is not graded yet, the class has no such section, or the gradebook cannot be used.
    """
    records, only = load_results(unit), find_section(section) if section else None
    if not any(only is None or one["student"] in only.students for one in records):
        where = f"section {only.name}" if only else "the class"
        raise settings.KitError(f"{unit}: nobody who is graded is in {where}.")
    name = unit + (only.suffix if only else "") + (SUFFIX if pseudonyms else "")
    page = settings.class_folder() / "report" / f"{name}.html"
    found = summary(unit, records, pseudonyms, only)
    for topic in found["topics"]:
        topic["link"] = reteaching.link(topic["reread"], page)
        topic["notebook"] = reteaching.notebook(topic["reread"])
    write_atomically(page.with_suffix(".csv"), _as_csv(found))
    return write_atomically(page, render("report.html", **found, table=f"{name}.csv", sorting=script("sorting.js")))


def _as_csv(found: dict) -> str:
    """The table of students for a spreadsheet; a stretch, which has no points, is ✓ or empty."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    columns = [*(["full_name"] if found["named"] else []), *(["section"] if found["sections"] else [])]
    heads = ["name" if one == "full_name" else one for one in columns]
    exercises = [one["name"] for one in found["exercises"]]
    table.writerow(["student", *heads, "total", "of", "automatic", "late", "open", *exercises, "notes"])
    for one in found["students"]:
        points = [_points(one["by_exercise"][exercise]) for exercise in exercises]
        about = [cell(one[column]) for column in ("name", *columns)]
        total = [f"{number:g}" for number in (one["total"], one["of"], one["points"], one["penalty"], one["open"])]
        table.writerow([*about, *total, *points, " ".join(one["states"])])
    return out.getvalue()


def _points(record: Record) -> float | str:
    if not record:
        return ""
    return record["points"] if record["max_points"] else "" if record["problem"] else "✓"


def summary(unit: str, records: list[Record], pseudonyms: bool = False, only: Section | None = None) -> dict:
    """What the report says, as plain data.

    Args:
        only: the section that it is about; without it, all of the class. Code is compared with that of the whole class.
    """
    everyone = list(dict.fromkeys(record["student"] for record in records))
    records = [one for one in records if only is None or one["student"] in only.students]
    known = list(dict.fromkeys(record["student"] for record in records))
    called = {name: pseudonym(name) if pseudonyms else name for name in known}
    pairs = [one for one in similar_pairs(unit, everyone) if {one.one, one.other} <= {*known, PUBLISHED}]
    outcomes = {student: one for student, one in load_outcomes(unit).items() if student in called}
    if pseudonyms:
        records = [{**one, **_nameless(one, called[one["student"]])} for one in records]
        records.sort(key=lambda one: one["student"])  # the order of the names would tell them
    exercises = list(dict.fromkeys(record["exercise"] for record in records))
    by_student: dict[str, list[Record]] = defaultdict(list)
    for one in records:
        by_student[one["student"]].append(one)
    students = _students(unit, by_student, called, pseudonyms)
    counted = [one for one in records if one["state"] not in NOTHING_TO_COUNT]
    names = {one["student"] for one in counted}
    graded = [one for one in students if one["name"] in names]
    points = {one["name"]: one["points"] for one in graded}
    copies = _copies(pairs, called)
    return {
        "unit": unit,
        "section": only.name if only else "",
        "exercises": [_exercise(name, counted, graded, outcomes) for name in exercises],
        "students": students,
        "sections": len({one["section"] for one in students}) > 1,
        "named": any(one["full_name"] for one in students),
        "late": any(one["penalty"] for one in students),
        "open": any(one["open"] for one in students),
        "counted": len(graded),
        "missing": sum(one["states"] == [MISSING] for one in students),
        "scores": histogram(list(points.values()), students[0]["max_points"] if students else 0),
        "states": Counter(record["state"] for record in records).most_common(),
        "levels": {level: MEANING[level] for level in sorted({one["sandbox"] for one in records} - {""})},
        "by_hand": [(one["student"], one["exercise"]) for one in records if one["state"] == UNJUDGED],
        "totals": Spread.of(list(points.values())),
        "of": students[0]["max_points"] if students else 0,
        "topics": topics(unit, counted, quarters(points), not pseudonyms),
        "unfinished": _unfinished(counted, exercises),
        "quarters": QUARTERS,
        "silent": _silent_checks(counted, exercises),
        "pairs": copies[:MOST_PAIRS],
        "more_pairs": max(0, len(copies) - MOST_PAIRS),
        "published": _published(pairs, called),
    }


def _published(pairs: list[AlikePair], called: dict[str, str]) -> list[dict]:
    """Who has most of the published solution, those first who have all of it."""
    rows = [
        {"name": called[pair.one], "share": pair.share, "identical": pair.identical}
        for pair in pairs
        if pair.other == PUBLISHED
    ]
    return sorted(rows, key=lambda one: (not one["identical"], -one["share"], one["name"]))


def _copies(pairs: list[AlikePair], called: dict[str, str]) -> list[dict]:
    """Who handed in the same or nearly the same, those together whose code is identical."""
    groups: dict[str, dict[str, None]] = {}
    for pair in pairs:
        if pair.identical and pair.other != PUBLISHED:
            one = groups.setdefault(pair.one, {pair.one: None})
            groups[pair.other] = one
            one[pair.other] = None
    rows = []
    for pair in pairs:
        names = list(groups.get(pair.one, ())) if pair.identical else [pair.one, pair.other]
        if pair.other != PUBLISHED and [pair.one, pair.other] == names[:2]:
            row = {"names": sorted(called[name] for name in names), "identical": pair.identical}
            rows.append({**row, "share": pair.share, "count": pair.fingerprints})
    return sorted(rows, key=lambda row: (not row["identical"], -row["share"], -row["count"], row["names"]))


def _nameless(record: Record, name: str) -> dict:
    """What is left of a record: repairs and messages name files and quote code, and both may name students."""
    count = len(record["repairs"])
    said = (record["misconception"] or record["problem"] or "right").replace("_", " ")
    return {"student": name, "repairs": [f"repairs: {count}"] if count else [], "message": said}


def _students(unit: str, rows: dict[str, list[Record]], called: dict[str, str], pseudonyms: bool) -> list[dict]:
    """The students' lines: what was graded, what the gradebook holds, and, without pseudonyms, name and section."""
    where = {} if pseudonyms else sections()  # a small section would tell who is who
    full = {} if pseudonyms else {one.id: one.name for one in class_list()}
    held = _held(unit, called)
    return [
        {
            **_student(name, row),
            "full_name": full.get(name, ""),
            "section": where.get(name, ""),
            **_in_gradebook(row, held[name]),
        }
        for name, row in rows.items()
    ]


def _student(name: str, row: list[Record]) -> dict:
    return {
        "name": name,
        "row": row,
        "by_exercise": defaultdict(dict, {one["exercise"]: one for one in row}),
        "points": sum(record["points"] for record in row),
        "max_points": sum(record["max_points"] for record in row),
        "states": sorted({record["state"] for record in row} - {GRADED}),
        "why": row[0]["message"].partition(" · ")[2] if row[0]["state"] in NOTHING_TO_COUNT else "",
        "repairs": row[0]["repairs"],
        "mistakes": [
            f"{one['exercise']}: {(one['misconception'] or one['problem']).replace('_', ' ')}"
            for one in row
            if one["problem"] and one["state"] not in NOTHING_TO_COUNT
        ],
    }


def _held(unit: str, called: dict[str, str]) -> dict[str, tuple[Total | None, float]]:
    """What the gradebook holds of each student, by the name in the report, and what lateness cost."""
    found, late = totals().get(unit, {}), lateness(unit)
    return {
        name: (found.get(student), late[student].penalty if student in late else 0.0)
        for student, name in called.items()
    }


def _in_gradebook(row: list[Record], held: tuple[Total | None, float]) -> dict:
    """Points after a late penalty, by hand and by machine; of how many that are graded so far; how many are open."""
    found, penalty = held
    if not found:
        found = Total(sum(one["points"] for one in row), sum(one["max_points"] for one in row), 0.0)
    return {"total": found.points, "of": found.most - found.open, "open": found.open, "penalty": penalty}


def _exercise(name: str, records: list[Record], students: list[dict], outcomes: Mapping[str, Outcome]) -> dict:
    """Difficulty (share of the points earned; for a stretch, of those right), discrimination, and how long it took to run."""
    own = [one for one in records if one["exercise"] == name]
    right, most = {one["student"]: float(one["problem"] is None) for one in own}, sum(one["max_points"] for one in own)
    scores = {one["student"]: one["points"] for one in own} if most else right
    rest = {one["name"]: one["points"] - (scores.get(one["name"], 0) if most else 0) for one in students}
    times = [one["times"][name] for one in outcomes.values() if name in one.get("times", {})]
    return {
        "name": name,
        "share": sum(scores.values()) / (most or len(own) or 1),
        "right": int(sum(right.values())),
        "students": len(own),
        "stretch": bool(own) and not most,
        "discrimination": discrimination(scores, rest),
        "median_seconds": median(times) if times else None,
        "longest_seconds": max(times, default=None),
    }


def _unfinished(records: list[Record], exercises: list[str]) -> list[dict]:
    """The exercises that students left as they were handed out, with how many."""
    left = Counter(one["exercise"] for one in records if one["problem"] == UNFINISHED)
    return [{"exercise": name, "students": left[name]} for name in exercises if left[name]]


def _silent_checks(records: list[Record], exercises: list[str]) -> list[dict]:
    """The checks that nobody failed who attempted the exercise: too easy, or no longer needed."""
    found = []
    for name in exercises:
        tried = [
            one
            for one in records
            if one["exercise"] == name and one["state"] == GRADED and one["problem"] != "unfinished"
        ]
        failed = {check for one in tried for check in one["failed"]}
        every = dict.fromkeys(case.property for case in draw(catalogue.find_exercise(name), VISIBLE_SEED, grading=True))
        if len(tried) >= ENOUGH:
            found.append({"exercise": name, "checks": [one for one in every if one not in failed], "of": len(every)})
    return found
