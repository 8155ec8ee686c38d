"""One question across all students: shown without names, marked by criteria, entered into nbgrader's gradebook."""

import re
import shutil
import threading
import urllib.error
import urllib.parse
import urllib.request

import classes
import nbformat
import pytest
from browser import offline_browser, screenshot
from conftest import UNIT
from nbgrader.api import Gradebook

from autograder import settings
from autograder.marking.questions import answers, key, questions
from autograder.marking.server import _row, page, server, take

CELL, WHO = "written_scaling", "right-with-loops"


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


def form(student, *points, comment="", tab=None):
    """What a browser sends of one student: what was chosen, and what the tab had shown."""
    name, tab = key(student), tab or shown_now(student)
    chosen = [*points, *tab["chosen"][len(points) :]]
    hidden = {f"{name}.{what}": [tab[what]] for what in ("was", "shown")}
    fields = {f"{name}.{place}": [value] for place, value in enumerate(chosen) if value}
    return {**fields, **hidden, f"{name}.comment": [comment or tab["comment"]]}


def shown_now(student):
    (question,) = questions(UNIT)
    return next(_row(one, question, {}) for one in answers(UNIT, question) if one.student == student)


def entered(*told, **more):
    (question,) = questions(UNIT)
    return take(UNIT, question, form(*told, **more))[0]


def test_a_mark_stays_settled_until_the_answer_changes(marked):
    told = {"COURSE_CLASS": str(marked)}
    before = classes.kit("grade", UNIT, "--quiet", **told).stdout
    open_before = int(re.search(r"^(\d+) written answers wait for a mark: mark 04$", before, re.MULTILINE)[1])
    assert "handed in a file that cannot be read: " in before
    assert entered(WHO, "1", "0.5") == 1 and grade(marked, WHO)[:2] == (1.5, False)
    classes.kit("grade", UNIT, "--student", WHO, **told)
    assert grade(marked, WHO)[:2] == (1.5, False), "the same answer"
    after = classes.kit("grade", UNIT, **told).stdout
    assert f"{open_before - 1} written answers wait for a mark: mark 04" in after
    file = marked / "submitted" / WHO / UNIT / f"{UNIT}.ipynb"
    notebook = nbformat.read(file, as_version=4)
    (cell,) = [one for one in notebook.cells if one.metadata.get("nbgrader", {}).get("grade_id") == CELL]
    cell.source += " And one more reason."
    nbformat.write(notebook, file)
    assert f"{open_before} written answers wait" in classes.kit("grade", UNIT, **told).stdout
    assert grade(marked, WHO)[:2] == (1.5, True), "another answer: somebody looks again, and until then the mark stays"


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
    assert entered(WHO, "1", "0.5", comment="Why not D?") == 1
    assert grade(marked, WHO) == (1.5, False, "Why not D?")
    assert entered(WHO) == 0  # not touched
    assert entered(WHO, "1", "1") == 1 and grade(marked, WHO) == (2.0, False, "Why not D?")
    (one,) = [one for one in answers(UNIT, question) if one.student == WHO]
    assert one.given == (1.0, 1.0) and one.score == 2 and not one.waiting


@pytest.mark.parametrize("points", [("1",), ("", "1"), ()])
def test_an_answer_without_all_its_points_is_left_alone_and_stays_on_the_page(marked, points):
    (question,) = questions(UNIT)
    count, left, _ = take(UNIT, question, form(WHO, *points, comment="half"))
    assert count == 0 and grade(marked, WHO)[0] is None
    assert "half" in page(UNIT, CELL, typed=left)


def test_points_stay_within_the_criterion(marked):
    entered(WHO, "99", "-4")
    assert grade(marked, WHO)[0] == 1


def test_a_mark_given_in_formgrader_stands(marked):
    entered(WHO, "1", "0.5")
    with Gradebook(f"sqlite:///{marked / 'gradebook.db'}") as gradebook:
        gradebook.find_grade(CELL, UNIT, UNIT, WHO).manual_score = 2.0
        gradebook.db.commit()
    assert shown_now(WHO)["chosen"] == ["", ""]  # nothing is preselected that is not the mark
    assert entered(WHO) == 0 and grade(marked, WHO)[0] == 2


def test_an_older_tab_undoes_nothing(marked):
    (question,) = questions(UNIT)
    entered(WHO, "1", "0.5")
    old = shown_now(WHO)
    entered(WHO, "1", "1")
    assert take(UNIT, question, form(WHO, tab=old))[0] == 0  # not touched there
    assert take(UNIT, question, form(WHO, "0", "0", tab=old))[::2] == (0, 1)  # touched, but changed elsewhere meanwhile
    assert grade(marked, WHO)[0] == 2


def test_marks_of_the_same_answer_survive_grading_again(marked, kit):
    (question,) = questions(UNIT)
    entered(WHO, "1", "0.5")
    assert kit("grade", UNIT, "--student", WHO, COURSE_CLASS=str(marked)).returncode == 0
    assert grade(marked, WHO)[0] == 1.5
    (one,) = [one for one in answers(UNIT, question) if one.student == WHO]
    assert not one.waiting and one.given == (1.0, 0.5)


def articles(shown):
    """The keys of the answers that a page shows to be marked, and of those that are folded as nothing is written."""
    above, _, below = shown.partition('<details id="untouched">')
    return [set(re.findall(r'<article id="a(\w+)"', part)) for part in (above, below)]


def test_the_page_begins_with_what_is_not_marked_and_folds_what_nobody_wrote(marked):
    (question,) = questions(UNIT)
    nothing = {key(one.student) for one in answers(UNIT, question) if one.text.strip() in ("", "YOUR ANSWER HERE")}
    assert key("stub-untouched") in nothing and key(WHO) not in nothing
    before, folded = articles(page(UNIT, CELL))
    assert folded == nothing and key(WHO) in before and not before & nothing
    assert f"0 of {len(before)} answers are marked" in page(UNIT, CELL)
    assert f"{len(nothing)} without an answer" in page(UNIT, CELL)
    entered(WHO, "1", "0.5")
    assert articles(page(UNIT, CELL)) == [before - {key(WHO)}, nothing]
    assert articles(page(UNIT, CELL, whole=True)) == [before, nothing]
    assert f"1 of {len(before)} answers are marked" in page(UNIT, CELL)


def test_names_come_from_the_class_s_list(marked):
    (marked / "roster.csv").write_text(f"id,name\n{WHO},Ann <Ångström>\n", encoding="utf-8")
    assert f"Ann &lt;Ångström&gt; ({WHO})" in page(UNIT, CELL, names=True) and "Ångström" not in page(UNIT, CELL)


def test_a_damaged_file_of_points_is_told(marked):
    (marked / "marking").mkdir()
    (marked / "marking" / f"{UNIT}.json").write_text("{")
    with pytest.raises(settings.KitError, match="damaged"):
        page(UNIT, CELL)


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
        assert "1 answer is entered. 1 of " in shown.locator("h1 + p").inner_text()
        assert shown.locator("article:has-text('marked:')").count() == 0
        shown.locator("a", has_text="show all").click()
        assert shown.locator("article:has-text('marked:')").count() == 1
        shown.locator("a", has_text="only those not marked").click()
        assert shown.locator("option[value='Well argued.']").count() == 1
        screenshot(shown, "marking-open")
