"""The checkout in a real JupyterLab: a lesson opens beside its twin, a student validates, an instructor grades by hand."""

import json
import os

import explorer_tour
import lesson_run
import nbformat
import pytest
from browser import Copy, chromium, formgrader, running_browser, running_lab, screenshot, until
from nbgrader.api import Gradebook

from autograder.authoring.build import KERNEL
from autograder.trials.sample_class import sample_class

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("checkout in the browser")]  # one server, one graded class
UNIT, CLASS = "04_attention_layer", "class-in-the-browser"
RIGHT, WRONG, WRONG_AT = "right-as-taught", "softmax-over-axis-one", "scaled_dot_product_attention"
SOLVED = ("attention_scores", "stable_softmax")  # what the student of the half-done notebook has written


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the repository whose lesson is newer than its text twin, as every build leaves it."""
    chromium()
    copy = Copy.make(tmp_path_factory.mktemp("browser"), COURSE_CLASS=CLASS)
    twin = copy.folder / "notebooks" / "text" / f"{UNIT}.py"
    built = (copy.folder / "notebooks" / f"{UNIT}.ipynb").stat().st_mtime
    os.utime(twin, (built - 60, built - 60))
    return copy


@pytest.fixture(scope="module")
def browser(course):
    """Headless Chromium in front of a JupyterLab over the copy."""
    with running_lab(course) as address, running_browser(address) as browser:
        yield browser


@pytest.fixture(scope="module")
def samples(course):
    """The sample class's notebooks, made from the copy's assignment and solution."""
    made = sample_class(_notebook(course, "assignments"), _notebook(course, "solutions"))
    return {student: nbformat.reads(made[student], as_version=4) for student in (RIGHT, WRONG)}


def _notebook(course, kind: str):
    return nbformat.read(course.folder / kind / UNIT / f"{UNIT}.ipynb", as_version=4)


# Lesson --------------------------------------------------------------------------------------------------------------


def test_a_lesson_opens_where_it_lies_beside_its_twin(browser):
    """What happens in it is seen from the bundle, where there are no twins."""
    with browser.notebook(f"notebooks/{UNIT}.ipynb") as page:
        page.locator("h1", has_text="attention layer").wait_for()


FAULTY = [
    "from utils.figures import plots\nfrom utils.figures.explorers import Slider, Switch, explore",
    "def draw(size, dead):\n    return plots.heat_map([[size]], 'a', 'b')",
    "explore(draw, alt='{size:.1f} {dead}'.format, size=Slider('size', 0, 1, 1), dead=Switch('dead'))",
    "1 / 0",
    "print('not reached')",
]


def test_a_run_of_a_lesson_sees_what_is_wrong_with_it(browser, course, tmp_path, monkeypatch):
    """What test_lessons.py asks of a run can fail: here is an error, a formula that is none, a control that draws nothing."""
    monkeypatch.setattr(explorer_tour, "PATIENCE", 5)
    cells = [nbformat.v4.new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(FAULTY)]
    cells += map(nbformat.v4.new_markdown_cell, ["Good: $x^2$", "Never closed: $x", "Wrong: $\\left( x$"])
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.write(notebook, course.folder / "notebooks" / "faulty.ipynb")
    report = lesson_run.in_the_browser(browser, course, "faulty", tmp_path / "ran.ipynb")
    assert [error[:2] for error in report["errors"]] == [("cell-3", "ZeroDivisionError")]
    assert report["not_run"] == ["cell-4"]
    seen = report["browser"]
    assert seen["autograder"] is True, "this is the instructor's checkout"
    assert [text.strip() for text in seen["formulas"]["left_as_written"]] == ["Never closed: $x"]
    assert set(seen["formulas"]["with_errors"]) == {"\\left( x"}
    (moves,) = [explorer["moves"] for explorer in seen["explorers"]]
    assert {move["control"]: (move["redrawn"], move["restored"]) for move in moves} == {
        "size": (True, True),
        "dead": (False, True),
    }


# Student -------------------------------------------------------------------------------------------------------------


def _validated(browser, course, name: str, notebook) -> str:
    """What nbgrader's dialog says when a student presses Validate on the notebook."""
    folder = course.folder / "at-home"
    folder.mkdir(exist_ok=True)
    nbformat.write(notebook, folder / f"{name}.ipynb")
    with browser.notebook(f"at-home/{name}.ipynb") as page:
        page.locator(".validate-button").click()
        dialog = page.locator(".jp-Dialog", has_text="Validation Results")
        dialog.wait_for()
        screenshot(page, f"validate-{name}")
        return " ".join(dialog.inner_text().split())


def test_validate_says_of_each_unsolved_exercise_that_it_is_not_written_yet(browser, course, samples):
    notebook, sources = _notebook(course, "assignments"), {cell.id: cell.source for cell in samples[RIGHT].cells}
    for cell in notebook.cells:
        if cell.id in SOLVED:
            cell.source = sources[cell.id]
    said = _validated(browser, course, "half-done", notebook)
    marks = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells if cell.cell_type == "code"]
    exercises = {one["grade_id"] for one in marks if one.get("solution")}
    assert {name for name in exercises if f"check({name})" in said} == exercises - set(SOLVED)
    assert said.count("Not written yet: ") == len(exercises) - len(SOLVED)
    assert "Traceback" not in said and ".py" not in said


def test_validate_names_the_misconception(browser, course, samples):
    said = _validated(browser, course, "misconception", samples[WRONG])
    assert f"✗ {WRONG_AT} · " in said and "softmax(dim=1)" in said
    assert said.count("✗") == 1 and "Traceback" not in said and ".py" not in said


def test_validate_says_success_of_a_solved_notebook(browser, course, samples):
    assert "Success! Your notebook passes all the tests." in _validated(browser, course, "solved", samples[RIGHT])


# Instructor ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(course, samples):
    """The class's folder: the unit released, and the samples handed in and graded."""
    folder = course.folder / CLASS
    course.kit("release", "04")
    for student, notebook in samples.items():
        place = folder / "submitted" / student / UNIT
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{UNIT}.ipynb")
    course.kit("grade", "04")
    return folder


def _open_submission(page, student: str):
    """Walks through formgrader to a student's graded notebook."""
    pages = formgrader(page)
    pages.get_by_role("link", name="Manual Grading").click()
    for title in (f"gradebook/{UNIT}", f"gradebook/{UNIT}/{UNIT}"):
        pages.locator(f"td a[href$='{title}']").click()
    pages.get_by_role("link", name="Submission #1").wait_for()  # the button below works once the table is there
    pages.get_by_text("Show All Names").click()
    pages.get_by_role("link", name=student, exact=True).click()
    pages.locator("#written_scaling").wait_for()
    return pages


def _message(folder, student: str, exercise: str) -> str:
    lines = (folder / "results" / f"{UNIT}.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = {"student": student, "exercise": exercise}
    return next(one["message"] for one in map(json.loads, lines) if wanted.items() <= one.items())


def _written_grade(folder, student: str) -> tuple[float | None, float]:
    """The manual score and the score that counts, of the written answer."""
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", "attention-course") as gradebook:
        grade = gradebook.find_grade("written_scaling", UNIT, UNIT, student)
        return grade.manual_score, grade.score


def test_formgrader_lists_the_assignment_with_its_number_of_submissions(browser, graded, samples):
    with browser.lab() as page:
        row = formgrader(page).locator("tr", has=page.locator("td.name", has_text=UNIT))
        row.locator("td.num-submissions").wait_for()
        screenshot(page, "formgrader-assignments")
        assert row.locator("td.num-submissions").inner_text() == str(len(samples))


def test_formgrader_shows_the_kits_sentence_below_the_check(browser, graded):
    with browser.lab() as page:
        pages = _open_submission(page, WRONG)
        cell = pages.locator("div.cell", has=page.locator(f"#check_{WRONG_AT}"))
        cell.scroll_into_view_if_needed()
        screenshot(page, "formgrader-sentence")
        shown, message = " ".join(cell.inner_text().split()), " ".join(_message(graded, WRONG, WRONG_AT).split())
        assert "softmax(dim=1)" in message and message in shown


def test_a_score_given_by_hand_is_stored_and_outlives_a_second_grading(browser, course, graded):
    with browser.lab() as page:
        score = _open_submission(page, RIGHT).locator("#written_scaling")

        def stored():
            score.fill("")  # formgrader saves a change, and only once it has loaded the grades
            score.fill("1.5")
            score.press("Tab")
            page.wait_for_timeout(1000)
            return _written_grade(graded, RIGHT) == (1.5, 1.5)

        until(page, stored, "the score is stored")
        screenshot(page, "formgrader-manual-score")
    course.kit("grade", "04")
    assert _written_grade(graded, RIGHT) == (1.5, 1.5)
    with browser.lab() as page:
        score = _open_submission(page, RIGHT).locator("#written_scaling")
        until(page, lambda: score.input_value() == "1.5", "formgrader shows the score again")


def test_formgraders_autograde_button_uses_the_same_engine(browser, course, graded, samples):
    student = "handed-in-late"
    place = graded / "submitted" / student / UNIT
    place.mkdir(parents=True)
    nbformat.write(samples[WRONG], place / f"{UNIT}.ipynb")
    with browser.lab() as page:
        pages = formgrader(page)
        pages.locator("tr", has=pages.locator("td.name", has_text=UNIT)).locator("td.num-submissions a").click()
        row = pages.locator("tr", has=pages.locator("td.student-id", has_text=student))
        row.locator("td.autograde a").click()
        pages.locator(".modal-body", has_text="Successfully autograded").wait_for()
        screenshot(page, "formgrader-autograde")
    lines = (graded / "results" / f"{UNIT}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {one["student"]: one for one in map(json.loads, lines) if one["exercise"] == WRONG_AT}
    assert {**rows[student], "student": WRONG} == rows[WRONG] and rows[student]["sandbox"]
    made = nbformat.read(graded / "autograded" / student / UNIT / f"{UNIT}.ipynb", as_version=4)
    assert made.metadata.course.sandbox == rows[student]["sandbox"]


# All of them ---------------------------------------------------------------------------------------------------------


def test_no_page_misses_anything_of_the_servers_own(browser, graded):
    with browser.notebook(f"assignments/{UNIT}/{UNIT}.ipynb") as page:
        _open_submission(page, WRONG)
    assert browser.missed == []
