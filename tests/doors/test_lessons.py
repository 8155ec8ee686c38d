"""Each lesson, run once in JupyterLab from the bundle that students receive: all that is promised of it holds."""

import ast

import claims
import lesson_results
import lesson_run
import nbformat
import pytest
from browser import Copy, chromium, installed_chromium, running_browser, running_lab

from autograder import settings

# one group a lesson: where several processes test, all that is asked of one run is asked in the process that made it
LESSONS = {unit: pytest.param(unit, marks=pytest.mark.xdist_group(f"lesson {unit}")) for unit in settings.units()}
pytestmark = pytest.mark.slow
WAY = "JupyterLab in Chromium" if installed_chromium() else "nbclient"
# a lesson that breaks a promise is not run again for the next one
IN_THIS_PROCESS: dict[str, lesson_results.Result] = {}


def only(*numbers: str):
    """Asks a test of some lessons alone."""
    chosen = [param for unit, param in LESSONS.items() if unit[:2] in numbers]
    return pytest.mark.parametrize("lesson", chosen, indirect=True, ids=lambda unit: unit)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A student's machine: the unpacked bundle, and nothing else of the repository."""
    return Copy.of_the_bundle(tmp_path_factory.mktemp("student"), **lesson_run.VARIABLES)


@pytest.fixture(scope="module")
def browser(bundle):
    """Headless Chromium in front of a JupyterLab over the bundle."""
    with running_lab(bundle) as address, running_browser(address) as browser:
        yield browser


@pytest.fixture(scope="module", params=LESSONS.values(), ids=lambda unit: unit)
def lesson(request, bundle):
    """What came of running the lesson: the kept result, or a new one, which is kept if no test finds fault with it."""
    unit, failed = request.param, request.session.testsfailed
    if unit not in IN_THIS_PROCESS:
        key = lesson_results.state(unit, bundle.folder, WAY)
        IN_THIS_PROCESS[unit] = lesson_results.kept(unit, key) or lesson_results.made(unit, key, _run(request, bundle))
    result = IN_THIS_PROCESS[unit]
    yield result
    IN_THIS_PROCESS[unit] = result.proved() if request.session.testsfailed == failed else result.disproved()


def _run(request, bundle):
    if not installed_chromium():
        return lambda file: lesson_run.without_a_browser(bundle, request.param, file)
    browser = request.getfixturevalue("browser")
    return lambda file: lesson_run.in_the_browser(browser, bundle, request.param, file)


@pytest.fixture
def unit(lesson):
    """The lesson's name."""
    return lesson.report["lesson"]


@pytest.fixture
def seen(lesson):
    """What the browser showed; skips where there is none."""
    if lesson.report["browser"] is None:
        chromium()
    return lesson.report["browser"]


def _committed(unit: str):
    return nbformat.read(settings.LESSONS / f"{unit}.ipynb", as_version=4)


# What was run --------------------------------------------------------------------------------------------------------


def test_every_cell_of_a_lesson_runs_and_none_ends_with_an_error(lesson):
    assert lesson.report["errors"] == [] and lesson.report["not_run"] == []


def test_every_claim_of_a_lesson_is_what_comes_out(lesson, unit):
    committed = _committed(unit)
    assert len(claims.claims(committed)) >= 5
    assert not (differences := claims.broken(committed, lesson.notebook)), "\n\n".join(differences)


def test_a_lesson_shows_its_pictures_each_with_words_for_those_who_cannot_see_it(lesson, unit):
    shown, committed = _pictures(lesson.notebook), _pictures(_committed(unit))
    assert shown.keys() == committed.keys() and shown
    assert min(len(words) for words in shown.values()) > 30


def _pictures(notebook) -> dict[tuple, str]:
    """The alternative text of each picture, by cell and place in the cell."""
    outputs = [(cell.id, out) for cell in notebook.cells for out in cell.get("outputs", [])]
    pictures = [(cell, out.metadata["image/png"]) for cell, out in outputs if "image/png" in out.get("data", {})]
    return {(cell, number): about.get("alt", "") for number, (cell, about) in enumerate(pictures)}


# What was seen -------------------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_the_page_of_a_lesson_misses_nothing_of_the_servers_own(seen):
    assert seen["missed"] == []


@pytest.mark.browser
def test_a_lesson_is_run_where_nothing_of_the_instructors_can_be_imported(seen):
    assert seen["autograder"] is False


@pytest.mark.browser
def test_the_formulas_of_a_lesson_are_typeset(seen):
    formulas = seen["formulas"]
    assert formulas["typeset"] > 20
    assert formulas["left_as_written"] == [] and formulas["with_errors"] == []


@pytest.mark.browser
def test_every_explorer_of_a_lesson_appears(seen, lesson, unit):
    code = "\n".join(cell.source for cell in _committed(unit).cells if cell.cell_type == "code")
    calls = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    asked = [call for call in calls if isinstance(call, ast.Name) and call.id == "explore"]
    assert len(seen["explorers"]) == len(asked) > 0


@pytest.mark.browser
def test_every_control_redraws_picture_and_words_and_moved_back_restores_them(seen):
    for explorer in seen["explorers"]:
        assert explorer["moves"]
        assert [move for move in explorer["moves"] if not move["redrawn"] or move["restored"] is False] == []


@pytest.mark.browser
def test_no_label_of_an_explorer_is_cut_off(seen):
    assert [explorer["cut_labels"] for explorer in seen["explorers"] if explorer["cut_labels"]] == []


# What the words below an explorer say --------------------------------------------------------------------------------


def _words(seen, control: str, to: str) -> str:
    """The words below an explorer after a move."""
    moves = [move for explorer in seen["explorers"] for move in explorer["moves"]]
    return next(move["words"] for move in moves if (move["control"], move["to"]) == (control, to))


@pytest.mark.browser
@only("05")
def test_words_dragged_into_another_order_leave_each_output_what_it_was(seen):
    dragged = _words(seen, "order", "second word dragged to the end")
    assert "the₂ bites the₁ man dog" in dragged and "is what it was" in dragged


@pytest.mark.browser
@only("05")
def test_a_word_taken_away_is_told(seen):
    assert "taken away" in _words(seen, "order", "first word taken away")


@pytest.mark.browser
@only("06")
def test_the_explorer_of_the_heads_starts_with_a_sentence_and_its_reading(seen):
    assert "the cow didn't cross the bridge" in seen["explorers"][0]["words"].replace(" ,", ",")


@pytest.mark.browser
@only("07")
def test_a_painted_cell_is_followed_by_who_depends_on_whom(seen):
    assert "After one layer: [START] on cool. After two layers: [START] on" in seen["explorers"][0]["words"]
    assert "After one layer: none. After two layers: none." in _words(seen, "[START] → cool", "0")


@pytest.mark.browser
@only("07")
def test_a_row_with_nothing_to_see_is_named(seen):
    assert "Nothing to attend to" in _words(seen, "row [START]", "emptied")
