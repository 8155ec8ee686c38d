"""What a class misunderstood: each mistake with its sentence, how many make it, what to reread, and how it looks in code."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import partial

import nbformat

from autograder.bank import catalogue
from autograder.gradebook.outcomes import Record
from autograder.gradebook.store import graded_file
from autograder.grading.examined import MALFORMED, MISSING, WRONG_NOTEBOOK
from autograder.intake.guard import guarded
from autograder.reports.bounded import each_bounded
from utils.checking.observing.refusals import CONFINED

NOTHING_TO_COUNT = (MISSING, MALFORMED, WRONG_NOTEBOOK)  # states that say nothing about an exercise
UNFINISHED = "unfinished"
_NOT_TAUGHT = (None, *NOTHING_TO_COUNT, CONFINED, UNFINISHED, "graded_earlier")  # problems that no lesson is about
EXCERPTS, LONGEST = 2, 1_200  # how many students' code is shown for a mistake, and characters of each
# Students whose code is looked at for that, and the characters of an answer that is read: Python needs long for some.
LOOKED_AT, MOST_READ = 20, 20_000


def topics(
    unit: str,
    records: list[Record],
    quarter: dict[str, tuple[float, ...]],
    open_names: bool,
    workers: int | None = None,
) -> list[dict]:
    """Misconceptions and other problems by how many students have them, most first, each with its sentence.

    What was not handed in, or not begun, is nothing to reteach; it is counted under its state.

    Args:
        quarter: each student's shares of the four quarters of the class.
        open_names: whether names, messages and code may be shown.
    """
    having: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record["problem"] not in _NOT_TAUGHT:
            having[record["exercise"], record["misconception"] or record["problem"]].append(record)
    declared = {exercise.name: exercise for exercises in catalogue.units().values() for exercise in exercises}
    sentences = {
        (name, mistake.name): mistake.sentence
        for name, exercise in declared.items()
        for mistake in exercise.explanations
    }
    codes = _codes(unit, having, workers) if open_names else {}
    rows = []
    for (exercise, name), affected in sorted(having.items(), key=lambda item: (-len(item[1]), item[0])):
        spread = [sum(quarter[record["student"]][index] for record in affected) for index in range(4)]
        rows.append(
            {
                "exercise": exercise,
                "name": name,
                "students": len(affected),
                "sentence": sentences.get((exercise, name), ""),
                "sample": _sample_message(affected) if open_names and (exercise, name) not in sentences else "",
                "reread": _section_to_reread(affected),
                "names": sorted(record["student"] for record in affected) if open_names else [],
                "excerpts": _excerpts(codes, exercise, affected),
                "cells": [{"students": round(count, 1), "share": 4 * count / len(quarter)} for count in spread],
            }
        )
    return rows


def _body_lines(message: str) -> list[str]:
    """A message's lines without the one that names the exercise."""
    return [line.strip() for line in message.splitlines()[1:]]


def _sample_message(records: list[Record]) -> str:
    """What one of the students is told, where the mistake has no sentence of its own."""
    for record in records:
        lines = [line for line in _body_lines(record["message"]) if line and not line.startswith("reread")]
        if lines:
            return " ".join(lines)
    return ""


def _section_to_reread(records: list[Record]) -> str:
    """The lesson's section that most of the students are sent to."""
    sections = Counter(
        line.partition("reread ")[2]
        for record in records
        for line in _body_lines(record["message"])
        if "reread lesson" in line
    )
    return sections.most_common(1)[0][0] if sections else ""


def _codes(
    unit: str, having: Mapping[tuple[str, str], list[Record]], workers: int | None
) -> dict[tuple[str, str], str]:
    """(student, exercise) -> the answer, of as many students as are looked at for excerpts of these mistakes."""
    exercises_of: dict[str, set[str]] = defaultdict(set)
    for (exercise, _), affected in having.items():
        for record in affected[:LOOKED_AT]:
            exercises_of[record["student"]].add(exercise)
    tasks = [(student, *sorted(exercises)) for student, exercises in exercises_of.items()]
    answers_by_student = each_bounded(partial(_student_codes, unit), tasks, workers)
    return {
        (student, exercise): code
        for (student, *_), codes in answers_by_student
        for exercise, code in (codes or {}).items()
    }


def _excerpts(codes: Mapping[tuple[str, str], str], exercise: str, records: list[Record]) -> list[str]:
    """How the mistake looks in the code of some students who are not named, the shortest first."""
    found = {codes.get((record["student"], exercise), "") for record in records[:LOOKED_AT]} - {""}
    return sorted(found, key=lambda code: (len(code), code))[:EXCERPTS]


@guarded(lambda *_: {})
def _student_codes(unit: str, task: tuple[str, ...]) -> dict[str, str]:
    """A student's answers to some exercises without docstrings and comments, as far as they can be had."""
    student, *exercises = task
    sources: dict[str, str] = {}
    for cell in nbformat.read(graded_file(student, unit), as_version=4).cells:
        sources.setdefault(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    return {exercise: _code(sources[exercise]) for exercise in exercises if exercise in sources}


@guarded(lambda *_: "")
def _code(source: str) -> str:
    return _without_comments(source)[:LONGEST] if len(source) <= MOST_READ else ""


def _without_comments(source: str) -> str:
    """Code without comments and docstrings, in which a name could stand."""
    import ast

    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
