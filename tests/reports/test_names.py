"""Whatever a student is called, on the roster or by a folder, a page's head and its elements stay as they are."""

import json

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import UNIT
from course_results import record, write_results

from autograder.bank import catalogue
from autograder.reports.class_report import write_report
from autograder.reports.course_report import write_course_report
from autograder.reports.feedback_page import page
from autograder.reports.pages import LONGEST_NAME, as_name

NAMES = [
    "</title><script>ran()</script>",
    "<img src=x onerror=ran()>",
    '" onmouseover="ran()',
    "' autofocus onfocus=ran() '",
    "one\nline\r\nand another\u2028more",
    "\u202eevitcepsrep\u202c \u2067x\u2069 \u200f",
    "a" * 10_000,
    "{{7*7}}{% raw %}{# x #}",
    "&lt;b&gt;&#x3c;",
    "-->]]><!--",
    "\0\x1b[31m\x7f",
]
DISORDER = set("\0\x1b\x7f\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _form(html):
    """A page's elements and the names of their attributes, in order; and its text, checked for what turns text round."""
    read = BeautifulSoup(html, "html.parser")
    assert not DISORDER & set(html) and "49" not in read.title.text
    return [(part.name, sorted(part.attrs)) for part in read.select("*")]


@pytest.mark.parametrize("name", NAMES)
def test_a_feedback_page_keeps_its_head_and_form(name):
    cell = nbformat.v4.new_markdown_cell("an answer", metadata={"nbgrader": {"grade_id": "w"}})
    shown = page(nbformat.v4.new_notebook(cells=[cell]), {"notebook": "x", "student": ""})
    named = page(nbformat.v4.new_notebook(cells=[cell]), {"notebook": "x", "student": name})
    assert _form(named) == _form(shown)
    title = BeautifulSoup(named, "html.parser").title.text
    assert len(title) < LONGEST_NAME + 40 and "\n" not in title and title.startswith("x: feedback for ")


@pytest.fixture
def class_with(class_folder):
    """class_with(name) makes results of a class in which ada is called that."""

    def make(name):
        exercises = catalogue.exercises_of(UNIT)
        records = [record(UNIT, student, one) for student in ("ada", "bob") for one in exercises]
        write_results(class_folder, UNIT, records)
        quoted = name.replace('"', '""')
        roster = f'id,name\nada,"{quoted}"\nbob,Bob\n'
        (class_folder / "roster.csv").write_text(roster, encoding="utf-8", newline="")

    return make


@pytest.mark.parametrize("write", [lambda: write_report(UNIT), write_course_report], ids=["unit", "course"])
def test_a_report_keeps_its_head_and_form(class_with, write):
    class_with("Ada")
    usual = _form(write().read_text(encoding="utf-8"))
    for name in NAMES:
        if "\0" not in name:  # Python's csv reads no such line
            class_with(name)
            html = write().read_text(encoding="utf-8")
            assert _form(html) == usual, name
            assert "a" * (LONGEST_NAME + 1) not in html


def test_ordinary_names_are_shown_as_they_are():
    for name in ("Jane Doe", "Müller, Łukasz", "李小龙", "علي", "می\u200cخواهم", "O'Neil-Smith", "ada"):
        assert as_name(name) == name
    assert json.dumps(as_name("a\nb")) == '"a b"'
