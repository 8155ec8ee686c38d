"""Marks that were entered once and are gone from the gradebook are entered again, and that is told."""

import shutil
import time

import classes
import pytest
from classes import UNIT
from nbgrader.api import Gradebook

from autograder.gradebook import store

pytestmark = pytest.mark.slow

SIZE = 6


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    place = tmp_path_factory.mktemp("lost")
    classes.build_and_grade(place, SIZE)
    return place / "class"


@pytest.fixture
def folder(graded, tmp_path):
    return shutil.copytree(graded, tmp_path / "class")


def _grade(folder):
    ran = classes.kit("grade", UNIT, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    return [line for line in ran.stderr.splitlines() if line.startswith("autograder: ")]


def _scores(folder):
    return classes.gradebook_scores(classes.sqlite(folder))


def test_a_deleted_gradebook_is_filled_again(folder):
    (folder / "gradebook.db").unlink()
    assert classes.kit("release", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    (note,) = _grade(folder)
    assert "student-00, student-01, student-02 and 3 more" in note and "entered" in note
    assert _scores(folder) == classes.expected_scores(SIZE)
    assert _grade(folder) == []


def test_a_removed_student_and_a_lost_score_are_entered_and_what_was_changed_by_hand_stays(folder):
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.remove_student("student-01")
        gradebook.find_grade("check_stable_softmax", UNIT, UNIT, "student-03").auto_score = None
        gradebook.find_grade("check_stable_softmax", UNIT, UNIT, "student-04").auto_score = 1.0
        gradebook.find_grade("written_scaling", UNIT, UNIT, "student-05").manual_score = 1.5
        gradebook.db.commit()
    (note,) = _grade(folder)
    assert "the marks of student-01, student-03 were missing" in note
    entered = classes.expected_scores(SIZE)
    by_hand = {"student-04": 1.0 - 3.0, "student-05": 1.5}  # of 3 points, and of a question marked by hand
    assert _scores(folder) == entered | {name: entered[name] + more for name, more in by_hand.items()}
    assert _grade(folder) == []


def test_who_handed_in_nothing_is_entered_too_and_who_is_gone_is_not(folder):
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.add_student("absent")
    (note,) = _grade(folder)
    assert "absent has nothing of" in note and _scores(folder)["absent"] == 0
    assert _grade(folder) == [], "it is told once"
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.remove_student("student-00")
        gradebook.remove_submission(UNIT, "absent")
    shutil.rmtree(folder / "submitted" / "student-00")
    (note,) = _grade(folder)
    assert "marks of absent were missing" in note
    assert "student-00" not in _scores(folder) and _scores(folder)["absent"] == 0


def test_comparing_a_class_of_thousands_is_one_query(folder, monkeypatch):
    monkeypatch.setenv("COURSE_CLASS", str(folder))
    cells = {cell.grade_id: 0.0 for cell in store.released(UNIT) if cell.metadata["grade"]}
    everybody = {f"student-{number:02}": {"scores": cells} for number in range(5000)}
    started = time.process_time()
    assert len(store.not_entered(UNIT, everybody)) == 5000 - SIZE
    assert time.process_time() - started < 2
