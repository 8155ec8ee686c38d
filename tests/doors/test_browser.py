"""The course in a real JupyterLab: a reader moves the explorer, a student validates, an instructor grades by hand."""

import json
import os
from contextlib import contextmanager

import nbformat
import pytest
from browser import IDLE, Copy, choose, chromium, formgrader, running_browser, running_lab, screenshot, scroll_to, until
from nbgrader.api import Gradebook

from autograder.trials.sample_class import sample_class

pytestmark = pytest.mark.browser
UNIT, CLASS = "04_attention_layer", "class-in-the-browser"
RIGHT, WRONG, WRONG_AT = "right-as-taught", "softmax-over-axis-one", "scaled_dot_product_attention"
SOLVED = ("attention_scores", "stable_softmax")  # what the student of the half-done notebook has written
EXPLORER = ".widget-vbox:has(.widget-slider)"
READ_PICTURE = """async image => {
    const bytes = new Uint8Array(await (await fetch(image.src)).arrayBuffer());
    return Array.from(bytes, byte => String.fromCharCode(byte)).join("");
}"""


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


@pytest.fixture(scope="module")
def lesson(browser):
    """The lesson with all cells run, and its explorer alive and in view."""
    with browser.notebook(f"notebooks/{UNIT}.ipynb") as page:
        choose(page, "Run", "Run All Cells")
        scroll_to(page, EXPLORER)
        page.locator(EXPLORER).evaluate("box => box.scrollIntoView({block: 'center'})")
        page.locator("img.widget-image").wait_for()
        yield page


def _seen(page, explorer: str) -> tuple[str, str]:
    """The explorer's picture, and the words below it."""
    box = page.locator(explorer)
    return box.locator("img.widget-image").evaluate(READ_PICTURE), box.locator(".widget-html-content").inner_text()


def _changes_and_comes_back(page, change, back, explorer=EXPLORER):
    """Asserts that `change` draws another picture with other words below, and `back` the first ones again."""
    first = _seen(page, explorer)
    change()
    until(page, lambda: all(a != b for a, b in zip(_seen(page, explorer), first)), "picture and words change")
    yield
    back()
    until(page, lambda: _seen(page, explorer) == first, "picture and words are as at first")


def test_moving_a_slider_redraws_the_figure_and_moving_it_back_restores_it(lesson):
    slider = lesson.get_by_role("slider").first
    for _ in _changes_and_comes_back(lesson, lambda: slider.press("ArrowRight"), lambda: slider.press("ArrowLeft")):
        screenshot(lesson, "lesson-slider-moved")


def test_the_switch_redraws_the_figure_and_switching_back_restores_it(lesson):
    switch = lesson.get_by_label("divide by √D")
    for _ in _changes_and_comes_back(lesson, switch.uncheck, switch.check):
        screenshot(lesson, "lesson-switch-off")


def test_no_label_of_the_explorer_is_cut_off(lesson):
    cut = "labels => labels.filter(label => label.scrollWidth > label.clientWidth).map(label => label.innerText)"
    assert lesson.locator(EXPLORER).locator(".widget-slider .widget-label").evaluate_all(cut) == []


@pytest.mark.parametrize("lesson", ["01_rnn_seq2seq", "02_bahdanau_attention", "03_image_captioning"])
def test_the_explorer_of_a_trained_model_is_moved_by_both_sliders(browser, lesson):
    with browser.notebook(f"notebooks/{lesson}.ipynb") as page:
        choose(page, "Run", "Run All Cells")
        scroll_to(page, EXPLORER, seconds=240)
        page.locator(EXPLORER).evaluate("box => box.scrollIntoView({block: 'center'})")
        page.locator("img.widget-image").wait_for()
        for number, (there, back) in enumerate((("ArrowRight", "ArrowLeft"), ("ArrowLeft", "ArrowRight"))):
            slider = page.get_by_role("slider").nth(number)
            for _ in _changes_and_comes_back(page, lambda: slider.press(there), lambda: slider.press(back)):
                screenshot(page, f"{lesson}-slider-{number}-moved")


@contextmanager
def _run_whole(browser, lesson: str):
    """The lesson with all its cells run: what is moved before is drawn only then."""
    with browser.notebook(f"notebooks/{lesson}.ipynb") as page:
        choose(page, "Run", "Run All Cells")
        page.locator("[data-status=busy]").wait_for()
        page.locator(IDLE).wait_for(timeout=300_000)
        yield page


def _into_view(page, explorer: str) -> None:
    scroll_to(page, explorer)
    page.locator(explorer).evaluate("box => box.scrollIntoView({block: 'center'})")


def test_words_are_dragged_into_another_order_and_taken_away(browser):
    explorer = ".widget-vbox:has(> .widget-vbox .jupyter-widget-tagsinput)"
    with _run_whole(browser, "05_self_attention") as page:
        _into_view(page, explorer)
        words = page.locator(".jupyter-widget-tag:has(.jupyter-widget-tag-close)")
        told = page.get_by_label("tell the layer the positions")
        for _ in _changes_and_comes_back(page, told.check, told.uncheck, explorer):
            screenshot(page, "lesson-05-positions-told")
        first = _seen(page, explorer)
        words.nth(1).drag_to(words.nth(4))
        until(
            page, lambda: all(a != b for a, b in zip(_seen(page, explorer), first)), "the words stand in another order"
        )
        assert "the₁ bites the₂ dog man" in _seen(page, explorer)[1] and "is what it was" in _seen(page, explorer)[1]
        screenshot(page, "lesson-05-words-dragged")
        words.nth(0).locator(".jupyter-widget-tag-close").click()
        until(page, lambda: "taken away" in _seen(page, explorer)[1], "a word is gone")
        _into_view(page, EXPLORER)
        for number in range(3):
            slider = page.locator(EXPLORER).get_by_role("slider").nth(number)
            for _ in _changes_and_comes_back(
                page, lambda: slider.press("ArrowLeft"), lambda: slider.press("ArrowRight")
            ):
                screenshot(page, f"lesson-05-slider-{number}-moved")


def test_heads_and_tiles_are_explored(browser):
    heads, tiles = f"{EXPLORER}:has(.widget-dropdown)", f"{EXPLORER}:not(:has(.widget-dropdown))"
    with _run_whole(browser, "06_multi_head") as page:
        _into_view(page, heads)
        assert "layer 2, head 1" in _seen(page, heads)[1]
        who = page.locator(heads).get_by_role("combobox")
        moves = [lambda: who.select_option("the pronoun"), lambda: who.select_option("the disguise")]
        for _ in _changes_and_comes_back(page, *moves, heads):
            screenshot(page, "lesson-06-pronoun")
        there, back = "ArrowRight", "ArrowLeft"
        sliders = [(heads, 0, back, there), (heads, 1, there, back), (heads, 2, there, back)]  # layer, head, tale
        sliders += [(tiles, 0, back, there), (tiles, 1, back, there)]  # keys in a block, tile
        for explorer, number, away, home in sliders:
            _into_view(page, explorer)
            slider = page.locator(explorer).get_by_role("slider").nth(number)
            for _ in _changes_and_comes_back(page, lambda: slider.press(away), lambda: slider.press(home), explorer):
                screenshot(page, f"lesson-06-{'heads' if explorer == heads else 'tiles'}-{number}-moved")


def test_a_painted_cell_redraws_the_figure_and_the_sentence_says_who_depends_on_whom(browser):
    explorer = ".widget-vbox:has(> .widget-vbox .widget-gridbox)"
    with browser.notebook("notebooks/07_masking.ipynb") as page:
        choose(page, "Run", "Run All Cells")
        page.locator("[data-status=busy]").wait_for()
        page.locator(IDLE).wait_for(timeout=240_000)
        scroll_to(page, explorer)
        page.locator(explorer).evaluate("box => box.scrollIntoView({block: 'end'})")
        assert "After one layer: nobody. After two layers: nobody." in _seen(page, explorer)[1]
        button = page.get_by_title("[START] → cool")
        for _ in _changes_and_comes_back(page, button.click, button.click, explorer):
            screenshot(page, "lesson-07-painted")
            assert button.inner_text() == "1"
            assert "After one layer: [START] on cool. After two layers: [START] on" in _seen(page, explorer)[1]
        page.get_by_title("[START] → [START]").click()
        until(
            page, lambda: "Nothing to see" in _seen(page, explorer)[1], "the sentence names the row with nothing to see"
        )
        screenshot(page, "lesson-07-nothing-to-see")


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
