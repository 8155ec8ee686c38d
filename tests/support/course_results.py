"""Results of a whole course, as grading leaves them: real units, exercises and mistakes, for as many students as asked."""

import json
import random
from pathlib import Path

from autograder.bank import catalogue

RETURNING = ("not_scaled", "softmax_over_queries", "padding_counted", "split_without_exchange")


def write_course(folder: Path, students: list[str], units: list[str], seed: int = 1, missing=None) -> None:
    """Writes `results/UNIT.jsonl` of each unit; each student has a strength of their own, and keeps some mistakes.

    Args:
        missing: student -> the units in which nothing was handed in.
    """
    chance = random.Random(seed)
    strength = {student: chance.betavariate(5, 2) for student in students}
    keeps = {student: chance.sample(RETURNING, chance.choice((0, 0, 1))) for student in students}
    (folder / "results").mkdir(parents=True, exist_ok=True)
    for unit in units:
        exercises = catalogue.exercises_of(unit)
        records = []
        for student in students:
            gone = unit in (missing or {}).get(student, ())
            for one in exercises:
                mistake = None if gone else _mistake(chance, one, strength[student], keeps[student])
                records.append(record(unit, student, one, gone, mistake))
        write_results(folder, unit, records)


def write_results(folder: Path, unit: str, records: list[dict]) -> Path:
    file = folder / "results" / f"{unit}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return file


def record(unit: str, student: str, exercise, is_missing: bool = False, mistake=None) -> dict:
    """One line of the results: right, or with the mistake given, or not handed in."""
    section = next(iter(exercise.sections.values()))
    said = f'✗ {exercise.name} · the plain case\n  {mistake.sentence if mistake else ""}\n  reread lesson {unit[:2]}, "{section}"'
    missing = f"✗ {exercise.name} · No notebook {unit}.ipynb was handed in."
    right = not is_missing and not mistake
    return {
        "student": student,
        "exercise": exercise.name,
        "state": "missing" if is_missing else "graded",
        "points": exercise.max_points if right else 0,
        "max_points": exercise.max_points,
        "message": missing if is_missing else said if mistake else f"✓ {exercise.name}",
        "misconception": mistake.name if mistake else None,
        "problem": "missing" if is_missing else "wrong_value" if mistake else None,
        "failed": ["the plain case"] if mistake else [],
        "repairs": [],
        "sandbox": "" if is_missing else "bubblewrap",
    }


def _mistake(chance: random.Random, exercise, strength: float, keeps: list[str]):
    known = {one.name: one for one in exercise.misconceptions}
    for name in keeps:
        if name in known and chance.random() < 0.7:
            return known[name]
    return None if not known or chance.random() < strength else chance.choice(list(known.values()))
