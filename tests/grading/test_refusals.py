"""An error that the sandbox brought about is told as the kit's fault, and left to a human; what is forbidden is told so."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from classes import hand_in, sqlite
from conftest import ROOT, UNIT, plain
from nbgrader.api import Gradebook

from autograder.grading.examination import examine_cells
from autograder.sandbox import levels
from autograder.sandbox.levels import RLIMITS
from autograder.sandbox.limits import limits_of
from autograder.trials.attacks.kinds import FIRST, FULL, filled, place

RIGHT = "def attention_scores(q, X):\n    {}\n    return (q.unsqueeze(-2) * X).sum(-1)"
NEEDS = "import psutil; psutil.Process().memory_maps()"  # reads /proc, as a library may that computes
STATES = {  # a line of a student's -> the state and the problem of an exercise that is right but for it
    NEEDS: ("unjudged", "confined"),
    "import shutil; open('f', 'w').close(); shutil.copy('f', 'g')": ("unjudged", "confined"),
    "open('/etc/passwd').read()": ("graded", "not_allowed"),
    "__import__('pathlib').Path('/proc/self/status').read_text()": ("graded", "not_allowed"),
    "open('/usr/x', 'w')": ("graded", "not_allowed"),
    "import os; os.fork()": ("graded", "not_allowed"),
    "import subprocess; subprocess.run(['ls'])": ("graded", "not_allowed"),
    "import urllib.request; urllib.request.urlopen('http://example.com')": ("graded", "not_allowed"),
    "import torch; list(torch.utils.data.DataLoader(torch.arange(4), num_workers=2))": ("graded", "not_allowed"),
    "open('data.csv')": ("graded", "exception"),
    "raise PermissionError(13, 'Permission denied', '/proc/cpuinfo')": ("graded", "exception"),
    "raise RuntimeError('Failed to initialize cpuinfo!')": ("graded", "exception"),
    "bytearray(8 << 30)": ("graded", "exception"),
    "[1][3]": ("graded", "exception"),
}
FORGED = """
import os
class Forged(OSError):
    errno = property(lambda self: {body})
def attention_scores(q, X):
    hidden = __builtins__['eval'] if isinstance(__builtins__, dict) else __builtins__.eval
    hidden("(_ for _ in ()).throw(Forged())", dict(Forged=Forged))
"""


@pytest.fixture(params=[level for level in levels.available() if level != RLIMITS])
def strong(request):
    return request.param


def examined(level, *sources):
    _, (found,) = examine_cells(
        [*({"source": one} for one in sources), {"exercise": FIRST}], "seed", level, limits_of(UNIT)
    )
    return found


@pytest.mark.parametrize("line", STATES)
def test_who_was_refused_what_decides_what_an_error_counts_for(strong, line):
    found = examined(strong, "import torch", RIGHT.format(line))
    assert (found.state, found.result.problem) == STATES[line], found.result.message
    assert found.result.points == 0


def test_a_refused_library_is_told_as_no_fault_of_the_students(strong):
    said = plain(examined(strong, RIGHT.format(NEEDS)).result.message)
    assert said.startswith(f"? {FIRST} · to be marked by hand") and "no fault of yours" in said and NEEDS in said
    assert "Your code" not in said


def test_what_grading_forbids_is_told_as_that(strong):
    said = plain(examined(strong, RIGHT.format("open('/etc/passwd')")).result.message)
    assert "what grading does not allow" in said and "Your code raised" not in said


def test_an_exercise_that_a_refused_cell_should_have_defined_is_left_to_a_human(strong):
    asked = "import psutil\n{}psutil.Process().memory_maps()"
    assert examined(strong, asked.format(f"{FIRST} = ")).state == "unjudged"
    assert examined(strong, asked.format("width = "), RIGHT.format("width")).state == "unjudged"
    assert examined(strong, f"{NEEDS}\n{RIGHT.format('pass')}").result.passed, "what stands behind it is run"
    assert examined(strong, NEEDS, RIGHT.format("pass")).result.passed, "what is right stays right"
    assert examined(strong, NEEDS, RIGHT.format("return q")).state == "graded", "what is wrong stays wrong"


def test_a_library_that_says_in_words_what_it_was_refused_is_understood(strong):
    compiled = "eval(\"(_ for _ in ()).throw(RuntimeError('Failed to initialize cpuinfo!'))\")"
    assert examined(strong, RIGHT.format(compiled)).state == "unjudged"


BACKWARD = """
import torch
class Refused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, slope):
        raise RuntimeError("Failed to initialize cpuinfo!")
"""


def test_a_gradient_that_the_sandbox_refused_is_left_to_a_human(strong):
    found = examined(strong, BACKWARD + RIGHT.format("q = Refused.apply(q)"))
    assert found.state == "unjudged", found.result.message


@pytest.mark.parametrize("body", ["1 / 0", "13", "exit()", "__import__('time').sleep(99)"])
def test_a_forged_refusal_gains_no_points_and_stops_nothing(strong, body, monkeypatch):
    monkeypatch.setenv("COURSE_CELL_SECONDS", "2")
    found = examined(strong, FORGED.format(body=body))
    assert found.result.points == 0 and found.state in ("unjudged", "graded", "timeout", "killed")


@pytest.fixture
def notebooks():
    return [nbformat.read(ROOT / kind / UNIT / f"{UNIT}.ipynb", 4) for kind in ("assignments", "solutions")]


def refused(notebooks):
    """A solved notebook in which the sandbox is in the way of the first exercise."""
    made = filled(*notebooks)
    made.cells[place(made, FIRST)].source = RIGHT.format(NEEDS)
    return made


def left_open(folder) -> list:
    """The exercises that the gradebook wants to be marked by hand, and the score without them."""
    with Gradebook(sqlite(folder)) as gradebook:
        grades = gradebook.find_submission_notebook(UNIT, UNIT, "ada").grades
        open_ones = [
            one.name
            for one in grades
            if one.needs_manual_grade and one.auto_score is None and "written" not in one.name
        ]
        return [*open_ones, sum(one.auto_score or 0 for one in grades)]


def test_the_mark_is_left_for_the_instructor_who_is_told_everywhere(kit, class_folder, notebooks):
    assert kit("release", UNIT).returncode == 0
    hand_in(class_folder, "ada", refused(notebooks))
    said = kit("grade", UNIT)
    assert (
        said.returncode == 0
        and f"to be marked by hand in formgrader, since grading could not run them: ada {FIRST}" in said.stdout
    )
    lines = (class_folder / "results" / f"{UNIT}.jsonl").read_text().splitlines()
    (line,) = [one for one in map(json.loads, lines) if one["exercise"] == FIRST]
    assert (line["state"], line["points"], line["problem"]) == ("unjudged", 0, "confined")
    name, score = left_open(class_folder)
    assert FIRST in name and score == FULL - line["max_points"]
    assert kit("feedback", UNIT).returncode == kit("report", UNIT).returncode == 0
    page = (class_folder / "feedback" / "ada" / UNIT / f"{UNIT}.html").read_text()
    assert "to be marked by hand" in page and "no fault of yours" in page
    report = (class_folder / "report" / f"{UNIT}.html").read_text()
    assert f"ada: {FIRST}" in report and "To be marked by hand" in report


def test_nbgraders_own_autograde_leaves_it_open_too(kit, class_folder, notebooks):
    assert kit("release", UNIT).returncode == 0
    hand_in(class_folder, "ada", refused(notebooks))
    environment = {**os.environ, "COURSE_CLASS": str(class_folder)}
    command = [sys.executable, "-m", "nbgrader", "autograde", UNIT]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    name, score = left_open(class_folder)
    assert FIRST in name and score == FULL - 2
