"""Feedback and report of a class in which somebody's notebook takes a reader minutes: all is there, in time, and says so."""

import os
import shutil
import signal
import time

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import UNIT

from autograder.reports import feedback_page
from autograder.reports.class_report import write_report
from autograder.reports.feedback import NOT_SHOWN, write_feedback
from autograder.reports.feedback_page import PLAINLY
from autograder.reports.plain_text import SHOWN
from autograder.reports.topics import _code

SLOW = "  \n" * 6_600  # pygments takes time of the length squared: seconds for each of such cells
HOSTILE, ALSO = "right-with-loops", "right-with-einsum"


@pytest.fixture
def graded_class(graded, tmp_path, monkeypatch):
    """A copy of the graded sample class; `spoil(student, source, ...)` puts other text into all that a student wrote."""
    folder = shutil.copytree(graded[0], tmp_path / "class")
    monkeypatch.setenv("COURSE_CLASS", str(folder))

    def spoil(student, source, answer=None):
        file = folder / "autograded" / student / UNIT / f"{UNIT}.ipynb"
        notebook = nbformat.read(file, as_version=4)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = source if cell.cell_type == "code" else answer or source
        nbformat.write(notebook, file)

    return folder, spoil


def _page(folder, student):
    return (folder / "feedback" / student / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")


def test_a_page_that_takes_too_long_is_made_plainly_and_the_others_as_before(graded_class, graded):
    folder, spoil = graded_class
    spoil(HOSTILE, f"x = 1\n{SLOW}y = 2")
    before = {path.parent.parent.name: path.read_bytes() for path in folder.glob(f"feedback/*/{UNIT}/*.html")}
    started = time.monotonic()
    pages = write_feedback(UNIT)
    assert time.monotonic() - started < 60
    students = [page.parent.parent.name for page in pages]
    assert students == list(dict.fromkeys(students)) and set(students) == set(graded[1]) == set(before)
    after = {path.parent.parent.name: path.read_bytes() for path in pages}
    assert {student for student in after if after[student] != before[student]} == {HOSTILE}
    page = _page(folder, HOSTILE)
    assert PLAINLY in page and "y = 2" in page and "18 points" in page and 'class="code"' in page


def test_a_page_that_ends_its_process_is_there_without_the_notebook(graded_class, monkeypatch):
    folder, _ = graded_class
    whole = feedback_page.page

    def page(nb, about, plainly=False):
        if about["student"] == HOSTILE:
            os.kill(os.getpid(), signal.SIGKILL)
        if about["student"] == ALSO and not plainly:
            raise MemoryError
        return whole(nb, about, plainly)

    monkeypatch.setattr(feedback_page, "page", page)
    pages = write_feedback(UNIT, workers=2)
    assert all(page.exists() for page in pages)
    assert NOT_SHOWN in _page(folder, HOSTILE) and "attention_scores" in _page(folder, HOSTILE)
    assert PLAINLY in _page(folder, ALSO) and PLAINLY not in _page(folder, "scale-forgotten")


def test_long_code_and_answers_are_cut_with_a_sentence(graded_class):
    folder, spoil = graded_class
    spoil(HOSTILE, "a." * 50_000, "<b>$x$" * 10_000)
    started = time.monotonic()
    write_feedback(UNIT, HOSTILE)
    page = _page(folder, HOSTILE)
    assert PLAINLY not in page and time.monotonic() - started < 30
    assert f"first {SHOWN:,} of 100,000 characters" in page and f"first {SHOWN:,} of 60,000 characters" in page
    assert "&lt;b&gt;" in page
    shown = [len(part.text) for part in BeautifulSoup(page, "html.parser").select(".code pre")]
    assert len(shown) > 5 and max(shown) == SHOWN


def test_a_report_leaves_out_of_the_comparison_what_takes_too_long_and_says_so(graded_class):
    folder, spoil = graded_class
    spoil(HOSTILE, "x = 1\n" + "  \n" * 33_000 + "y = 2")
    started = time.monotonic()
    page = BeautifulSoup(write_report(UNIT).read_text(encoding="utf-8"), "html.parser")
    assert time.monotonic() - started < 60
    assert "Not compared" in page.select_one("#uncompared").text and HOSTILE in page.select_one("#uncompared").text
    assert "right-with-loops-copied" not in page.select_one("#uncompared").text
    assert page.select("#everyone tbody tr")


def test_no_excerpt_is_made_of_code_that_python_reads_slowly():
    started = time.process_time()
    assert _code("import " + "a." * 49_000 + "a") == "" and time.process_time() - started < 1
    assert _code("def f(x):\n    '''Words'''\n    return x  # more") == "def f(x):\n    return x"
