"""A journal that holds what the kit has not written is told by file and line, and none of its other lines is lost."""

import json

import pytest
from conftest import UNIT

from autograder.grading.journal import Journal, journal_file, load_outcomes
from autograder.settings import KitError

RECORD = {
    "student": "ada",
    "exercise": "attention_scores",
    "state": "graded",
    "points": 2.0,
    "max_points": 2.0,
    "message": "✓ attention_scores",
    "misconception": None,
    "problem": None,
    "failed": [],
    "repairs": [],
    "sandbox": "bubblewrap",
}


def outcome(student, **changed):
    return {
        "student": student,
        "unit": UNIT,
        "digest": "0" * 64,
        "scores": {"attention_scores": 2.0},
        "comments": {},
        "seconds": 1.0,
        "times": {},
        "records": [{**RECORD, "student": student}],
        "sandbox": "bubblewrap",
        **changed,
    }


def without(name):
    return {key: value for key, value in outcome("bob").items() if key != name}


FOREIGN = [
    [1, 2],
    3,
    None,
    "text",
    {},
    {"recorded": 3},
    {"recorded": [["ada"]]},
    {"student": "bob"},
    {"student": ["bob"], "records": []},
    *map(without, ("records", "scores", "digest", "comments")),
    outcome("bob", records=[{"student": "bob"}]),
    outcome("bob", records=[3]),
    outcome("bob", scores=[]),
]


@pytest.mark.parametrize(
    "line", [*map(json.dumps, FOREIGN), "{not JSON", "[" * 100_000, "\udcff\udcfe"], ids=lambda line: line[:30]
)
@pytest.mark.parametrize("place", ["in the middle", "at the end"])
def test_a_foreign_line_is_told_and_nothing_else_is_lost(class_folder, line, place):
    file = journal_file(UNIT)
    file.parent.mkdir(parents=True)
    lines = [json.dumps(outcome("ada")), line, json.dumps(outcome("eve"))]
    text = ("\n".join(lines if place == "in the middle" else [lines[0], lines[2], line]) + "\n").encode(
        "utf-8", "surrogateescape"
    )
    file.write_bytes(text)
    was_cut_short = place == "at the end" and not _is_json(line)
    if was_cut_short:  # as a crash may leave it
        assert set(load_outcomes(UNIT)) == {"ada", "eve"}
        with Journal(file) as journal:
            assert set(journal.outcomes) == {"ada", "eve"}
        return
    number = 2 if place == "in the middle" else 3
    for read in (lambda: load_outcomes(UNIT), lambda: Journal(file), lambda: Journal(file)):
        with pytest.raises(KitError, match=f"journal.jsonl, line {number}: "):
            read()
    assert file.read_bytes() == text
    file.write_bytes(text.replace(line.encode("utf-8", "surrogateescape") + b"\n", b"\n"))
    with Journal(file) as journal:
        assert set(journal.outcomes) == set(load_outcomes(UNIT)) == {"ada", "eve"}


def _is_json(line):
    try:
        json.loads(line.encode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return False
    return True
