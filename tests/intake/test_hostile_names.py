"""A folder of any name gets a result and a whole page of feedback, or a line that says why not."""

import json
import os
import unicodedata

import classes
import nbformat
import pytest
from classes import ROOT, UNIT

from autograder.intake import places, roster, submissions

pytestmark = pytest.mark.slow

GRADED = [
    "x..name", "-dash", "dot.", "space ", " ahead", "Case", "case", "a*b", "a[b]", "{x}", "{0}", "%s", "a+b", "~a", "$HOME", "?",
    'q"uo\'te', "(?P<x>", "<b>", "a\\b", "n" * 100, *(unicodedata.normalize(form, "josé") for form in ("NFC", "NFD")), "学生",
]  # fmt: skip
PASSED_OVER = ["..name", ".hidden", "n" * 101, "line\nbreak", "\u202eback"]
ON_THE_ROSTER = ["../../elsewhere", "a/b", "..", ".", "", "nul\0"]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder of a class, graded and with feedback; results by student; and the lines on stderr."""
    folder = classes.build(tmp_path_factory.mktemp("names") / "class", 0)
    solved = nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", as_version=4)
    for name in [*GRADED, *PASSED_OVER]:
        classes.hand_in(folder, name, solved)
    (folder / "submitted" / "circle").symlink_to("circle")
    for name in (".git", ".ipynb_checkpoints"):
        (folder / "submitted" / name / "objects").mkdir(parents=True)
    told = {"COURSE_CLASS": str(folder)}
    ran = classes.kit("grade", UNIT, **told)
    assert ran.returncode == 0, ran.stderr
    page = classes.kit("feedback", UNIT, **told)
    assert page.returncode == 0, page.stderr
    rows: dict = {}
    for row in map(json.loads, classes.results(folder).decode().split("\n")[:-1]):
        rows.setdefault(row["student"], []).append(row)
    return folder, rows, [line for line in ran.stderr.splitlines() if line.startswith("autograder: ")]


def test_each_folder_has_its_own_result(graded):
    folder, rows, _ = graded
    assert set(rows) == {*GRADED, "circle"}
    assert {sum(row["points"] for row in rows[name]) for name in GRADED} == {18}
    assert classes.gradebook_scores(classes.sqlite(folder)) == dict.fromkeys(GRADED, 18.0) | {"circle": 0.0}
    assert "symbolic link" in rows["circle"][0]["message"]


def test_each_has_a_whole_page(graded):
    folder, _, _ = graded
    for name in GRADED:
        page = (folder / "feedback" / name / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")
        assert '<section id="stable_softmax">' in page and 'class="code"' in page, name
    assert {one.name for one in (folder / "feedback").iterdir()} == {*GRADED, "circle"}


def test_the_others_are_told_in_a_line(graded):
    _, _, lines = graded
    *alike, linked, line = lines
    assert len(alike) == 2 and all("differ only in" in one for one in alike), "of case, and of the two josé"
    assert linked == f"autograder: circle has nothing of {UNIT} in submitted/ that can be graded: 0 points."
    assert line.startswith(f"autograder: {len(PASSED_OVER)} folders or students are passed over")
    assert "..name" in line and ".hidden" in line and ".git" not in line and "\u202e" not in line


@pytest.mark.parametrize("name", ON_THE_ROSTER)
def test_a_name_on_the_roster_leads_nowhere(class_folder, name):
    assert list(roster.find_all(UNIT, [name, "fine"]).folders) == ["fine"]
    assert roster.unusable([name, "fine"]) == [places.plain(name)]


@pytest.mark.parametrize("name", ["nul\0", "n" * 5000, "\udcff"])
def test_a_name_that_no_system_takes_is_a_sentence(class_folder, name):
    os.makedirs(class_folder / "submitted")
    found = submissions.find(name, UNIT)
    assert found.data is None and (found.malformed or found.missing)
    assert submissions.hand_in_time(name, UNIT)[:2] == (None, "")
