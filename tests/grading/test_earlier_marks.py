"""Absence is not a fact: a mark that was earned stays where its submission is gone, and all who tell of it say the same."""

import json
import shutil
import unicodedata

import classes
import pytest
from classes import ROOT, UNIT
from nbgrader.api import Gradebook

pytestmark = pytest.mark.slow

SIZE = 3  # student-02 has 15 points, the others 18
WHO = "student-02"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    place = tmp_path_factory.mktemp("earlier")
    classes.build_and_grade(place, SIZE)
    return place / "class"


@pytest.fixture
def folder(graded, tmp_path):
    return shutil.copytree(graded, tmp_path / "class")


def grade(folder, *options, verb="grade"):
    """What is told on stderr, or by `regrade` on stdout, line by line."""
    ran = classes.kit(verb, UNIT, *options, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    if verb == "regrade":
        return ran.stdout.splitlines()
    return [line for line in ran.stderr.splitlines() if line.startswith("autograder: ")]


def rows(folder, student=WHO):
    return [row for row in map(json.loads, classes.results(folder).splitlines()) if row["student"] == student]


def points(folder, student=WHO):
    """The points of results, journal and gradebook, which are one."""
    (outcome,) = [one for one in classes.outcomes(folder) if one["student"] == student]
    assert outcome["records"] == rows(folder, student)
    total = sum(row["points"] for row in rows(folder, student))
    assert classes.gradebook_scores(classes.sqlite(folder))[student] == total
    return total


def _folder_gone(home, file):
    shutil.move(home, home.parent.parent / "archived")


def _unit_gone(home, file):
    shutil.rmtree(file.parent)


def _notebook_gone(home, file):
    file.unlink()


def _link_to_nowhere(home, file):
    file.unlink()
    file.symlink_to("nowhere")


def _folder_is_a_link(home, file):
    shutil.move(home, home.parent.parent / "linked")
    home.symlink_to(home.parent.parent / "linked")


def _folder_is_a_file(home, file):
    shutil.rmtree(home)
    home.write_text("moved to the archive")


def _cut_off(home, file):
    file.write_text(file.read_text()[:4000])


def _no_notebook_at_all(home, file):
    file.write_bytes(b"\x89PNG\r\n\x1a\n\x81\x8d")


GONE = [
    _folder_gone, _unit_gone, _notebook_gone, _link_to_nowhere, _folder_is_a_link, _folder_is_a_file, _cut_off,
    _no_notebook_at_all,
]  # fmt: skip


@pytest.fixture(scope="module")
def accidents(graded, tmp_path_factory):
    """A class in which each accident happened to a student whose mark was in the gradebook; and what was told then."""
    folder = shutil.copytree(graded, tmp_path_factory.mktemp("accidents") / "class")
    for accident in GONE:
        shutil.copytree(folder / "submitted" / WHO, folder / "submitted" / accident.__name__)
    grade(folder)
    for accident in GONE:
        home = folder / "submitted" / accident.__name__
        accident(home, home / UNIT / f"{UNIT}.ipynb")
    return folder, [grade(folder), grade(folder)]


@pytest.mark.parametrize("accident", GONE, ids=lambda one: one.__name__)
def test_the_mark_stays_where_what_earned_it_is_gone(accidents, accident):
    folder, _ = accidents
    assert points(folder, accident.__name__) == 15
    assert {row["state"] for row in rows(folder, accident.__name__)} == {"graded"}
    assert all("mark of an earlier submission" in row["repairs"][-1] for row in rows(folder, accident.__name__))


def test_each_run_says_whose_marks_stay_and_why(accidents):
    _, told = accidents
    for notes in told:
        (note,) = [one for one in notes if "keep the marks" in one]
        assert f"and {len(GONE) - 3} more keep the marks of earlier submissions" in note
        assert "gone or can no longer be graded" in note and "cut off" in note and "--missing-as-zero" in note


def test_a_class_whose_submissions_are_all_gone_keeps_its_marks(folder):
    shutil.rmtree(folder / "submitted")
    (note,) = grade(folder, "--again")
    assert "student-00, student-01, student-02 keep the marks" in note
    assert classes.gradebook_scores(classes.sqlite(folder)) == classes.expected_scores(SIZE)


def test_feedback_and_report_say_that_it_is_an_earlier_mark(folder):
    _cut_off(None, folder / "submitted" / WHO / UNIT / f"{UNIT}.ipynb")
    grade(folder)
    grade(folder, verb="feedback")
    grade(folder, verb="report")
    page = (folder / "feedback" / WHO / UNIT / f"{UNIT}.html").read_text()
    assert "This is the mark of an earlier submission" in page and "cut off" in page
    assert '<section id="stable_softmax">' in page and 'class="code"' in page, "with the work that has the mark"
    page = (folder / "report" / f"{UNIT}.html").read_text()
    assert "This is the mark of an earlier submission" in page and "15 / 20" in page  # the gradebook's total


def test_zero_is_entered_on_request_and_what_comes_back_is_graded(folder):
    _folder_gone(folder / "submitted" / WHO, None)
    grade(folder)
    assert grade(folder, "--missing-as-zero") == []
    assert points(folder) == 0 and {row["state"] for row in rows(folder)} == {"missing"}
    assert grade(folder) == [] and points(folder) == 0
    shutil.move(folder / "archived", folder / "submitted" / WHO)
    assert grade(folder) == [] and points(folder) == 15


def test_a_submission_that_comes_back_is_as_if_it_had_never_gone(folder):
    before, notebook = classes.results(folder), folder / "autograded" / WHO / UNIT / f"{UNIT}.ipynb"
    text = json.loads(notebook.read_text())
    _folder_gone(folder / "submitted" / WHO, None)
    grade(folder)
    assert json.loads(notebook.read_text()) != text
    shutil.move(folder / "archived", folder / "submitted" / WHO)
    assert grade(folder) == []
    assert classes.results(folder) == before and json.loads(notebook.read_text()) == text


def test_a_new_submission_that_can_be_graded_replaces_the_mark(folder):
    _cut_off(None, folder / "submitted" / WHO / UNIT / f"{UNIT}.ipynb")
    grade(folder)
    shutil.copy(
        folder / "submitted" / "student-00" / UNIT / f"{UNIT}.ipynb",
        folder / "submitted" / WHO / UNIT / f"{UNIT}.ipynb",
    )
    assert grade(folder) == [] and points(folder) == 18
    assert not [text for row in rows(folder) for text in row["repairs"]]


def test_regrade_examines_what_is_there_and_who_is_gone_keeps_the_mark(folder):
    _folder_gone(folder / "submitted" / WHO, None)
    none, note, written = grade(folder, "--yes", verb="regrade")
    assert none == "No mark changes, in 2 submissions." and written == "Written."
    assert note.startswith(f"{WHO} keeps the mark of an earlier submission")
    assert points(folder) == 15


def test_marks_by_hand_stay_as_they_are(folder):
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.find_grade("written_scaling", UNIT, UNIT, WHO).manual_score = 1.5
        gradebook.find_grade("check_stable_softmax", UNIT, UNIT, WHO).auto_score = 1.0
        gradebook.db.commit()
    _folder_gone(folder / "submitted" / WHO, None)
    grade(folder)
    assert classes.gradebook_scores(classes.sqlite(folder))[WHO] == 17.5


def test_a_mark_that_only_the_gradebook_knows_stays(folder):
    _folder_gone(folder / "submitted" / WHO, None)
    shutil.rmtree(folder / "results")
    (note,) = grade(folder)
    assert WHO in note and points(folder) == 15
    wrong = {row["exercise"]: row["points"] for row in rows(folder) if row["points"] < row["max_points"]}
    assert wrong == {"stable_softmax": 0}
    grade(folder, verb="feedback")
    grade(folder, verb="report")


def test_a_deleted_gradebook_gets_the_mark_of_who_is_gone_too(folder):
    _folder_gone(folder / "submitted" / WHO, None)
    grade(folder)
    (folder / "gradebook.db").unlink()
    grade(folder, verb="release")
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.add_student(WHO)
    grade(folder)
    assert points(folder) == 15


def test_who_never_handed_in_gets_zero_and_that_is_told(folder):
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.add_student("absent")
    (note,) = grade(folder)
    assert note == f"autograder: absent has nothing of {UNIT} in submitted/ that can be graded: 0 points."
    assert points(folder, "absent") == 0


def test_a_name_typed_in_another_way_is_graded_as_the_rosters(folder):
    name = unicodedata.normalize("NFC", "José")
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.add_student(name)
    shutil.copytree(
        folder / "submitted" / "student-00", folder / "submitted" / (unicodedata.normalize("NFD", "JOSÉ") + " ")
    )
    (folder / "submitted" / (unicodedata.normalize("NFD", "JOSÉ") + " ") / UNIT / "timestamp.txt").write_text(
        "2026-02-03 04:05:06 UTC"
    )
    assert grade(folder) == [] and points(folder, name) == 18
    assert set(classes.gradebook_scores(classes.sqlite(folder))) == {*classes.expected_scores(SIZE), name}
    assert (folder / "autograded" / name / UNIT / "timestamp.txt").exists()
    with Gradebook(classes.sqlite(folder)) as gradebook:
        assert gradebook.find_submission(UNIT, name).timestamp.hour == 4


def test_a_folder_that_no_one_on_the_roster_has_is_told_and_graded(folder):
    shutil.copytree(folder / "submitted" / "student-00", folder / "submitted" / "new")
    (note,) = grade(folder)
    assert "new is in submitted/ but not in the gradebook's roster: a new student was made" in note
    assert points(folder, "new") == 18 and grade(folder) == []


def test_the_option_is_documented(kit):
    assert "--missing-as-zero" in kit("grade", "--help").stdout
    assert "--missing-as-zero" in (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
