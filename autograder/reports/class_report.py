"""The class report: one page on what the class earned, what it misunderstood, and what to look at."""

import csv
import hashlib
import hmac
import io
from collections import Counter, defaultdict
from pathlib import Path
from statistics import StatisticsError, correlation, mean, median, pstdev

from autograder import settings
from autograder.bank import catalogue
from autograder.bank.drawing import VISIBLE_SEED, draw
from autograder.files import write_atomically
from autograder.gradebook.store import load_results
from autograder.grading.examined import GRADED, UNJUDGED
from autograder.grading.journal import load_outcomes
from autograder.reports.pages import render
from autograder.reports.safe_cells import cell
from autograder.reports.similarity import PUBLISHED, AlikePair, similar_pairs
from autograder.reports.topics import NOTHING_TO_COUNT, UNFINISHED, topics
from autograder.sandbox.levels import MEANING

QUARTERS = ("lowest quarter", "second", "third", "highest quarter")
MOST_PAIRS = 50  # that are listed
ENOUGH = 5  # students without whom a statistic says nothing


def write_report(unit: str, pseudonyms: bool = False) -> Path:
    """Writes the report of a graded unit as one HTML file that needs no network, and returns its path.

    Args:
        pseudonyms: names are replaced by ones that stay the same within the class and lead back only with its folder.

    Raises:
        KitError: the unit is not graded yet.
    """
    if not load_results(unit):
        raise settings.KitError(f"{unit}: nobody who is graded is in the class.")
    found, folder = summary(unit, load_results(unit), pseudonyms), settings.class_folder() / "report"
    write_atomically(folder / f"{unit}.csv", _as_csv(found))
    return write_atomically(folder / f"{unit}.html", render("report.html", **found))


def _as_csv(found: dict) -> str:
    """The table of students for a spreadsheet."""
    out = io.StringIO(newline="")
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["student", "total", "of", *(one["name"] for one in found["exercises"]), "notes"])
    for one in found["students"]:
        own = {row["exercise"]: row["points"] for row in one["row"]}
        points = [own.get(exercise["name"], "") for exercise in found["exercises"]]
        table.writerow([cell(one["name"]), one["points"], one["max_points"], *points, " ".join(one["states"])])
    return out.getvalue()


def summary(unit: str, records: list[dict], pseudonyms: bool = False) -> dict:
    """What the report says, as plain data."""
    known = list(dict.fromkeys(record["student"] for record in records))
    called = {name: _pseudonym(name) if pseudonyms else name for name in known}
    pairs = similar_pairs(unit, known)
    outcomes = load_outcomes(unit)
    if pseudonyms:
        records = [{**one, **_nameless(one, called[one["student"]])} for one in records]
        records.sort(key=lambda one: one["student"])  # the order of the names would tell them
    exercises = list(dict.fromkeys(record["exercise"] for record in records))
    students = [
        _student(name, [one for one in records if one["student"] == name])
        for name in dict.fromkeys(one["student"] for one in records)
    ]
    counted = [one for one in records if one["state"] not in NOTHING_TO_COUNT]
    names = {one["student"] for one in counted}
    graded = [one for one in students if one["name"] in names]
    return {
        "unit": unit,
        "exercises": [_exercise(name, counted, graded, outcomes) for name in exercises],
        "students": students,
        "counted": len(graded),
        "scores": _histogram(students),
        "states": Counter(record["state"] for record in records).most_common(),
        "levels": {level: MEANING[level] for level in sorted({one["sandbox"] for one in records} - {""})},
        "by_hand": [(one["student"], one["exercise"]) for one in records if one["state"] == UNJUDGED],
        "totals": _totals(graded),
        "topics": topics(unit, counted, *_quarters(graded), not pseudonyms),
        "unfinished": _unfinished(counted, exercises),
        "quarters": QUARTERS,
        "silent": _silent_checks(counted, exercises),
        "pairs": _copies(pairs, called)[:MOST_PAIRS],
        "more_pairs": max(0, len(_copies(pairs, called)) - MOST_PAIRS),
        "published": sorted(
            (
                {"name": called[pair.one], "share": pair.share, "identical": pair.identical}
                for pair in pairs
                if pair.other == PUBLISHED
            ),
            key=lambda one: (not one["identical"], -one["share"], one["name"]),
        ),
    }


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


def _pseudonym(name: str) -> str:
    secret = settings.secret().encode()
    return "student-" + hmac.new(secret, name.encode(), hashlib.sha256).hexdigest()[:8]


def _nameless(record: dict, name: str) -> dict:
    """What is left of a record: repairs and messages name files and quote code, and both may name students."""
    count = len(record["repairs"])
    said = (record["misconception"] or record["problem"] or "right").replace("_", " ")
    return {"student": name, "repairs": [f"repairs: {count}"] if count else [], "message": said}


def _student(name: str, row: list[dict]) -> dict:
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


def _exercise(name: str, records: list[dict], students: list[dict], outcomes: dict) -> dict:
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
        "discrimination": _discrimination(scores, rest),
        "median_seconds": median(times) if times else None,
        "longest_seconds": max(times, default=None),
    }


def _discrimination(scores: dict[str, float], rest: dict[str, float]) -> float | None:
    """Correlation of an exercise's points with the rest of each score; None where it cannot be said."""
    if len(scores) < ENOUGH:
        return None
    try:
        return correlation(list(scores.values()), [rest[name] for name in scores])
    except StatisticsError:  # everybody has the same
        return None


def _totals(students: list[dict]) -> dict | None:
    """Mean, median and spread of the totals of those who handed in."""
    points = [one["points"] for one in students]
    if not points:
        return None
    return {"mean": mean(points), "median": median(points), "spread": pstdev(points), "of": students[0]["max_points"]}


def _histogram(students: list[dict]) -> list[dict]:
    """How many students have which total, in at most twelve steps whose width is a whole number of points."""
    top = students[0]["max_points"] if students else 0
    width = next(one for one in (1, 2, 5, 10, 20, 50, 100, 1000) if top <= 12 * one)
    steps = max(1, -(-int(top) // width))
    counts = Counter(min(steps - 1, int(one["points"] // width)) for one in students)
    return [
        {"from": step * width, "to": min(top, (step + 1) * width), "students": counts[step]} for step in range(steps)
    ]


def _unfinished(records: list[dict], exercises: list[str]) -> list[dict]:
    """The exercises that students left as they were handed out, with how many."""
    left = Counter(one["exercise"] for one in records if one["problem"] == UNFINISHED)
    return [{"exercise": name, "students": left[name]} for name in exercises if left[name]]


def _quarters(students: list[dict]) -> tuple[dict[str, int], Counter]:
    """Each student's quarter of the class by total score, 0 the lowest; equal scores are in the same one."""
    totals = sorted(one["points"] for one in students)
    place = {one["name"]: min(3, 4 * totals.index(one["points"]) // len(totals)) for one in students}
    return place, Counter(place.values())


def _silent_checks(records: list[dict], exercises: list[str]) -> list[dict]:
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
