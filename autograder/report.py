"""The class report: one page on what the class earned and what it misunderstood."""

from collections import Counter
from pathlib import Path

from autograder import bank, course
from autograder.engine import GRADED, MALFORMED, MISSING
from autograder.pages import render
from autograder.record import load_results
from autograder.submissions import write_atomically


def write_report(unit: str) -> Path:
    """Writes the report of a graded unit as one HTML file that needs no network, and returns its path.

    Raises:
        KitError: the unit is not graded yet.
    """
    page = render("report.html", **summary(unit, load_results(unit)))
    return write_atomically(course.class_folder() / "report" / f"{unit}.html", page)


def summary(unit: str, records: list[dict]) -> dict:
    """What the report says, as plain data."""
    exercises = list(dict.fromkeys(record["exercise"] for record in records))
    students = list(dict.fromkeys(record["student"] for record in records))
    cells = {(record["student"], record["exercise"]): record for record in records}
    return {
        "unit": unit,
        "exercises": [_exercise(name, [one for one in records if one["exercise"] == name]) for name in exercises],
        "students": [_student(name, [cells[name, exercise] for exercise in exercises]) for name in students],
        "states": Counter(record["state"] for record in records).most_common(),
        "topics": _topics(records),
    }


def _exercise(name: str, records: list[dict]) -> dict:
    earned = sum(record["points"] for record in records)
    possible = sum(record["max_points"] for record in records)
    right = sum(record["problem"] is None for record in records)
    return {"name": name, "share": earned / possible, "right": right, "students": len(records)}


def _student(name: str, row: list[dict]) -> dict:
    return {
        "name": name,
        "row": row,
        "points": sum(record["points"] for record in row),
        "max_points": sum(record["max_points"] for record in row),
        "states": sorted({record["state"] for record in row} - {GRADED}),
        "repairs": row[0]["repairs"],
    }


def _topics(records: list[dict]) -> list[dict]:
    """Misconceptions and other problems by how many students have them, most first, each with its sentence.

    What was not handed in, or not begun, is nothing to reteach; it is counted under its state.
    """
    taught = [record for record in records if record["problem"] not in (None, MISSING, MALFORMED, "unfinished")]
    counted = Counter((record["exercise"], record["misconception"] or record["problem"]) for record in taught)
    sentences = {
        (exercise.name, mistake.name): mistake.sentence
        for unit in bank.units().values()
        for exercise in unit
        for mistake in exercise.misconceptions
    }
    return [
        {"exercise": exercise, "name": name, "students": count, "sentence": sentences.get((exercise, name), "")}
        for (exercise, name), count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    ]
