"""Code of any nesting costs at most its own cell: what reads it bounds how deep it goes, and never crashes."""

import json
import os
import subprocess
import sys
import textwrap

import classes
import nbformat
import pytest
from classes import ROOT, UNIT

from autograder.intake import student_code
from autograder.intake.notebook_file import MAX_CELL
from autograder.trials.attacks.kinds import filled, place


def _long(piece: str, before: str = "", behind: str = "") -> str:
    """A cell of the size that is just accepted, of one piece again and again."""
    return before + piece * ((MAX_CELL - len(before) - len(behind)) // len(piece)) + behind


def _nested(opened: str, closed: str, inside: str = "") -> str:
    count = (MAX_CELL - len(inside)) // (len(opened) + len(closed))
    return opened * count + inside + closed * count


KINDS = {
    "calls": _long("()", "raise f"),
    "attributes": _long(".b", "x = a"),
    "subscripts": _long("[0]", "x = a"),
    "minus": _long("-", "", "1"),
    "not": _long("not ", "", "1"),
    "sum": _long("+a", "a"),
    "power": _long("**a", "a"),
    "annotation": _long("|a", "x: a"),
    "comparison": _long("<a", "a"),
    "lists": _nested("[", "]"),
    "parentheses": _nested("(", ")"),
    "sets": _nested("{", "}", "1"),
    "open": _long("("),
    "lambda": _long("lambda:", "", "1"),
    "conditional": _long("1 if a else ", "", "1"),
    "ladder": _long("elif a:pass\n", "if a:pass\n"),
    "indented": "".join(" " * depth + "if a:\n" for depth in range(400)) + " " * 400 + "pass",
    "await": _long("await ", "", "a"),
    "module": _long(".a", "import a"),
    "modules": _long("import a" + ".a" * 299 + "\n"),
    "decorators": _long("@a\n", "", "def f(): pass"),
    "f-strings": 'f"' + "{a:" * 9000 + "}" * 9000 + '"',
    "statements": _long("a;"),
    "assignments": _long("a=", "", "1"),
    "loops": _long("for a in b ", "[a ", "]"),
    "patterns": "match x:\n case " + "[" * 150 + "a" + "]" * 150 + ":pass",
    "words": _long("print a "),
    "zeros": "a\0b" * 1000,
    "number": "x = " + "9" * 90_000,
    "form-feeds": _long("\f", "", "x = 1"),
    "backslashes": _long("\\\n", "", "x = 1"),
    "letters": _long("ﬁ", "x = 1 # "),
    "tabs": "if a:\n\tb\n        c\n",
}
READS = """
import threading
from test_hostile_code import KINDS
from autograder.intake import student_code

def read():
    for kind, code in KINDS.items():
        student_code.defined(code), student_code.finished(code), student_code.parses(code)
        student_code.Notebook([code, "import gc, numpy"]).hidden_call(("softmax",), "f")
    print("read")

threading.stack_size(8 << 20)  # a cluster's worker reads in a thread; a process has as much
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""


def test_no_nesting_crashes_the_process_that_reads_it():
    found = os.pathsep.join(
        [str(ROOT), str(ROOT / "tests" / "intake"), str(ROOT / "tests"), str(ROOT / "tests" / "support")]
    )
    command = [sys.executable, "-c", textwrap.dedent(READS)]
    ran = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": found}, capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stdout) == (0, "read\n"), ran.stderr


@pytest.mark.parametrize("piece", ["()", ".a", "[0]", "+a", "|a"])
@pytest.mark.parametrize("count", [50, 250, 290, 400, 900, 1400, 2900])
def test_a_chain_defines_what_it_defines_or_nothing(piece, count):
    code = "def f():\n    raise a" + piece * count + "\nx = 1"
    assert student_code.defined(code) == (frozenset({"f", "x"}) if count < 291 else frozenset())
    assert student_code.finished(code) == student_code.defined(code)


def test_unread_code_hides_nothing():
    hidden = "import numpy\ndef f(x):\n    y = numpy.softmax(x)\n    return y" + "[:]" * 400
    assert student_code.parse(hidden) == []
    assert student_code.Notebook([hidden]).hidden_call(("softmax",), "f") == "softmax"
    assert student_code.Notebook([hidden.replace("numpy", "torch")]).hidden_call(("softmax",), "f") == "", (
        "it is watched"
    )
    own = "import gc\ndef stable_softmax(x):\n    return x" + "[:]" * 400
    assert student_code.Notebook([own]).hidden_call(("softmax",), "stable_softmax") == ""


def test_stubs_and_parents_are_known_without_going_deep():
    stub = "def f(x):\n    '''Says what it does.'''\n    raise NotImplementedError()"
    module = "class A(B):\n  def __init__(self):\n    super().__init__()\n  def f(self):\n    raise NotImplementedError"
    assert student_code.finished(stub) == student_code.finished(module) == frozenset()
    assert student_code.finished(module.replace("super().__init__()", "self.a = 1")) == {"A"}
    assert student_code.finished(stub.replace("NotImplementedError()", "ValueError()")) == {"f"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Points by student and exercise: nesting in cells of the student's own, and in one exercise's cell."""
    folder = classes.build(tmp_path_factory.mktemp("code") / "class", 0)
    released, solved = (
        nbformat.read(ROOT / kind / UNIT / f"{UNIT}.ipynb", as_version=4) for kind in ("assignments", "solutions")
    )
    kinds = [kind for kind in KINDS if kind != "module"]  # Python itself takes ten seconds for it
    for start in range(0, len(kinds), 8):
        notebook = filled(released, solved)
        at = place(notebook, "attention_scores")
        notebook.cells[at:at] = [nbformat.v4.new_code_cell(KINDS[kind]) for kind in kinds[start : start + 8]]
        classes.hand_in(folder, f"own-{start}", notebook)
    for kind in ("calls", "minus", "ladder", "lists", "sum"):
        notebook = filled(released, solved)
        notebook.cells[place(notebook, "stable_softmax")].source = KINDS[kind]
        classes.hand_in(folder, f"in-place-{kind}", notebook)
    ran = classes.kit("grade", UNIT, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    points: dict = {}
    for row in map(json.loads, classes.results(folder).splitlines()):
        points.setdefault(row["student"], {})[row["exercise"]] = row["points"]
    return points


def test_nested_cells_of_a_students_own_cost_nothing(results):
    assert {sum(row.values()) for student, row in results.items() if student.startswith("own")} == {18}


def test_a_nested_exercise_costs_that_exercise_alone(results):
    rows = [row for student, row in results.items() if student.startswith("in-place")]
    assert len(rows) == 5
    for row in rows:
        assert row["stable_softmax"] == 0 and row["attention_scores"] == 2 and row["gradient_through_softmax"] == 2


def test_what_was_read_of_a_large_cell_is_not_kept():
    before = student_code._kept.cache_info().currsize
    large = "x = 1\n" * (student_code.ORDINARY // 6 + 1)
    assert student_code.parse(large) and student_code._kept.cache_info().currsize == before
    assert student_code.parse("x = 'an ordinary cell'") and student_code._kept.cache_info().currsize == before + 1
