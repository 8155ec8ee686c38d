"""One question across all students: shown without names, marked by criteria, entered into nbgrader's gradebook."""

import re
import shutil
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest
from browser import offline_browser, screenshot
from conftest import UNIT
from nbgrader.api import Gradebook

from autograder.marking.questions import answers, key, questions
from autograder.marking.server import page, server, take

CELL = "written_scaling"


@pytest.fixture
def marked(graded, tmp_path, monkeypatch):
    """A copy of the sample class, graded, to be marked."""
    folder = shutil.copytree(graded[0], tmp_path / "class", symlinks=True)
    monkeypatch.setenv("COURSE_CLASS", str(folder))
    return folder


def grade(folder, student):
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as gradebook:
        found = gradebook.find_grade(CELL, UNIT, UNIT, student)
        comment = gradebook.find_comment(CELL, UNIT, UNIT, student).comment
        return found.manual_score, found.needs_manual_grade, comment


def form(student, *points, comment=""):
    name = key(student)
    return {**{f"{name}.{place}": [value] for place, value in enumerate(points)}, f"{name}.comment": [comment]}


@pytest.mark.parametrize("unit", ["01", "04", "09", "13", "17"])
def test_mark_schemes_become_rubrics_whose_points_add_up(unit):
    from autograder.settings import find_unit

    for question in questions(find_unit(unit)):
        assert sum(one.points for one in question.criteria) == question.most
        assert all(one.title and one.text for one in question.criteria) and "MARK SCHEME" not in question.text


def test_answers_are_shown_without_names_and_the_solution_stays_out(marked):
    shown = page(UNIT, CELL)
    assert "right-with-loops" not in shown and "right-with-loops" in page(UNIT, CELL, names=True)
    assert "Without the scale the gradient falls" in shown and "BEGIN SOLUTION" not in shown


def test_a_mark_is_entered_with_its_comment_and_can_be_changed(marked):
    (question,) = questions(UNIT)
    assert take(UNIT, question, form("right-with-loops", "1", "0.5", comment="Why not D?")) == 1
    assert grade(marked, "right-with-loops") == (1.5, False, "Why not D?")
    assert take(UNIT, question, form("right-with-loops", "1", "0.5", comment="Why not D?")) == 0
    assert take(UNIT, question, form("right-with-loops", "1", "1")) == 1
    assert grade(marked, "right-with-loops")[:2] == (2.0, False)
    (one,) = [one for one in answers(UNIT, question) if one.student == "right-with-loops"]
    assert one.given == (1.0, 1.0) and one.score == 2


@pytest.mark.parametrize("points", [("1",), ("", "1"), ()])
def test_an_answer_without_all_its_points_is_left_alone(marked, points):
    (question,) = questions(UNIT)
    assert take(UNIT, question, form("right-with-loops", *points)) == 0
    assert grade(marked, "right-with-loops")[0] is None


def test_points_stay_within_the_criterion(marked):
    (question,) = questions(UNIT)
    take(UNIT, question, form("right-with-loops", "99", "-4"))
    assert grade(marked, "right-with-loops")[0] == 1


def test_marks_survive_grading_again(marked, kit):
    (question,) = questions(UNIT)
    take(UNIT, question, form("right-with-loops", "1", "0.5"))
    assert kit("grade", UNIT, "--student", "right-with-loops", COURSE_CLASS=str(marked)).returncode == 0
    assert grade(marked, "right-with-loops")[0] == 1.5


@pytest.fixture
def address(marked):
    serving, where = server(UNIT)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield where
    serving.shutdown()
    serving.server_close()


def test_nobody_without_the_word_gets_in(address):
    wrong = re.sub(r"/[^/]+/$", "/guess/", address)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(wrong)
    with urllib.request.urlopen(address) as answer:
        assert "script" not in answer.headers["Content-Security-Policy"] and b"<script" not in answer.read()


@pytest.mark.browser
def test_marking_in_a_browser(address, marked):
    with offline_browser() as browser:
        browser.set_offline(False)  # no other host than this machine is found
        shown = browser.new_page()
        shown.set_viewport_size({"width": 1280, "height": 900})
        shown.goto(address + CELL)
        first = shown.locator("article").first
        for field in first.locator("fieldset").all():
            field.locator("input[type=radio]").last.check()
        first.locator("input[type=text]").fill("Well argued.")
        screenshot(shown, "marking")
        shown.locator("button").click()
        assert "1 answer is entered." in shown.locator("h1 + p").inner_text()
        shown.locator("a", has_text="only those not marked").click()
        assert shown.locator("option[value='Well argued.']").count() == 1
        screenshot(shown, "marking-open")
