"""What a class misunderstood: each mistake with its sentence, how many make it, what to reread, and how it looks in code."""

from collections import Counter, defaultdict

import nbformat

from autograder.bank import catalogue
from autograder.gradebook.outcomes import Record
from autograder.gradebook.store import graded_file
from autograder.grading.examined import MALFORMED, MISSING, WRONG_NOTEBOOK
from autograder.intake.guard import guarded
from utils.checking.observing.refusals import CONFINED

NOTHING_TO_COUNT = (MISSING, MALFORMED, WRONG_NOTEBOOK)  # states that say nothing about an exercise
UNFINISHED = "unfinished"
_NOT_TAUGHT = (None, *NOTHING_TO_COUNT, CONFINED, UNFINISHED, "graded_earlier")  # problems that no lesson is about
EXCERPTS, LONGEST = 2, 1_200  # how many students' code is shown for a mistake, and characters of each


def topics(unit: str, records: list[Record], quarter: dict[str, tuple[float, ...]], open_names: bool) -> list[dict]:
    """Misconceptions and other problems by how many students have them, most first, each with its sentence.

    What was not handed in, or not begun, is nothing to reteach; it is counted under its state.

    Args:
        quarter: each student's shares of the four quarters of the class.
        open_names: whether names, messages and code may be shown.
    """
    having: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for one in records:
        if one["problem"] not in _NOT_TAUGHT:
            having[one["exercise"], one["misconception"] or one["problem"]].append(one)
    declared = {exercise.name: exercise for found in catalogue.units().values() for exercise in found}
    sentences = {
        (name, mistake.name): mistake.sentence for name, one in declared.items() for mistake in one.explanations
    }
    rows = []
    for (exercise, name), found in sorted(having.items(), key=lambda item: (-len(item[1]), item[0])):
        spread = [sum(quarter[one["student"]][at] for one in found) for at in range(4)]
        rows.append(
            {
                "exercise": exercise,
                "name": name,
                "students": len(found),
                "sentence": sentences.get((exercise, name), ""),
                "sample": _sample(found) if open_names and (exercise, name) not in sentences else "",
                "reread": _reread(found),
                "names": sorted(one["student"] for one in found) if open_names else [],
                "excerpts": _excerpts(unit, exercise, found) if open_names else [],
                "cells": [{"students": round(count, 1), "share": 4 * count / len(quarter)} for count in spread],
            }
        )
    return rows


def _body(message: str) -> list[str]:
    """A message's lines without the one that names the exercise."""
    return [line.strip() for line in message.splitlines()[1:]]


def _sample(found: list[Record]) -> str:
    """What one of the students is told, where the mistake has no sentence of its own."""
    for one in found:
        lines = [line for line in _body(one["message"]) if line and not line.startswith("reread")]
        if lines:
            return " ".join(lines)
    return ""


def _reread(found: list[Record]) -> str:
    """The lesson's section that most of the students are sent to."""
    said = Counter(
        line.partition("reread ")[2] for one in found for line in _body(one["message"]) if "reread lesson" in line
    )
    return said.most_common(1)[0][0] if said else ""


def _excerpts(unit: str, exercise: str, found: list[Record]) -> list[str]:
    """How the mistake looks in the code of some students who are not named, the shortest first."""
    codes = {code for one in found[:20] if (code := _code(unit, exercise, one["student"]))}
    return sorted(codes, key=len)[:EXCERPTS]


@guarded(lambda *_: "")
def _code(unit: str, exercise: str, student: str) -> str:
    """A student's answer without its docstring and comments, as far as it can be had."""
    cells = nbformat.read(graded_file(student, unit), as_version=4).cells
    source = next(one.source for one in cells if one.metadata.get("nbgrader", {}).get("grade_id") == exercise)
    return _bare(source)[:LONGEST]


def _bare(source: str) -> str:
    """Code without comments and docstrings, in which a name could stand."""
    import ast

    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
