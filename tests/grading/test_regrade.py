"""After a changed exercise: whose marks change and why is shown first, written only when asked, and manual grades stay."""

import json

import nbformat
import pytest
from browser import Copy
from conftest import UNIT
from nbgrader.api import Gradebook

from autograder.trials.sample_class import sample_class

pytestmark = pytest.mark.slow

ALONE = ("--workers", "1")  # each takes seconds to start
STUDENTS = ("right-as-taught", "forbidden-call", "softmax-overflows")
BEFORE, AFTER = 'SOFTMAX = (*FUSED, "softmax", ', "SOFTMAX = (*FUSED, "  # what the changed exercise no longer forbids


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the repository with three submissions, graded, one of them by hand too; then an exercise is changed."""
    copy = Copy.make(tmp_path_factory.mktemp("regrade"), COURSE_CLASS="class")
    copy.kit("release", UNIT)
    kinds = [nbformat.read(copy.folder / kind / UNIT / f"{UNIT}.ipynb", 4) for kind in ("assignments", "solutions")]
    made = sample_class(*kinds)
    for student in STUDENTS:
        file = copy.folder / "class" / "submitted" / student / UNIT / f"{UNIT}.ipynb"
        file.parent.mkdir(parents=True)
        file.write_text(made[student], encoding="utf-8")
    copy.kit("grade", UNIT, *ALONE)
    with _gradebook(copy) as gradebook:
        gradebook.find_grade("written_scaling", UNIT, UNIT, "forbidden-call").manual_score = 1.5
        gradebook.db.commit()
    source = copy.folder / "autograder" / "exercises" / f"unit_{UNIT}" / "stable_softmax.py"
    text = source.read_text(encoding="utf-8")
    assert BEFORE in text
    source.write_text(text.replace(BEFORE, AFTER), encoding="utf-8")
    return copy


def _gradebook(copy):
    return Gradebook(f"sqlite:///{copy.folder / 'class' / 'gradebook.db'}", "attention-course")


def _results(copy) -> str:
    return (copy.folder / "class" / "results" / f"{UNIT}.jsonl").read_text(encoding="utf-8")


def _points(copy, student: str, exercise: str) -> float:
    rows = map(json.loads, _results(copy).splitlines())
    return next(row["points"] for row in rows if (row["student"], row["exercise"]) == (student, exercise))


def _scores(copy) -> dict:
    with _gradebook(copy) as gradebook:
        return {student: gradebook.find_submission(UNIT, student).score for student in STUDENTS}


def test_regrade_shows_whose_marks_change_and_writes_only_when_asked(course):
    before, scores = _results(course), _scores(course)
    assert scores == {"right-as-taught": 18, "forbidden-call": 16.5, "softmax-overflows": 17}

    ran = course.run("grade", UNIT, *ALONE)
    assert "3 results come from an earlier version" in ran.stderr and "regrade" in ran.stderr
    assert _results(course) == before

    ran = course.run("regrade", UNIT, *ALONE)
    assert ran.returncode == 0, ran.stderr
    first, last, nothing = ran.stdout.splitlines()
    assert first.split()[:6] == ["forbidden-call", "stable_softmax", "0", "→", "3", "of"]
    assert "(forbidden_call → right)" in first
    assert last == "1 mark changes, in 1 of 3 submissions." and "Nothing was written" in nothing
    assert (_results(course), _scores(course)) == (before, scores)

    again = course.run("regrade", UNIT, *ALONE, "--yes")
    assert again.returncode == 0 and again.stdout.splitlines()[0] == first and "Written." in again.stdout
    assert _points(course, "forbidden-call", "stable_softmax") == 3
    assert _scores(course) == {**scores, "forbidden-call": 19.5}, "the mark given by hand stays"

    ran = course.run("grade", UNIT, *ALONE)
    assert "earlier version" not in ran.stderr
    assert course.run("regrade", UNIT, *ALONE).stdout.startswith("No mark changes")
