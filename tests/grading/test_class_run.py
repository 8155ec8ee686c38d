"""A class is graded end to end: marks, states, sentences; the same by the kit as by nbgrader's own autograde."""

import csv
import json
import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from conftest import ROOT, UNIT

from autograder.bank import catalogue
from autograder.trials.demo import build as build_sample_class

pytestmark = pytest.mark.slow

STATES = {"endless-loop": "timeout", "notebook-cut-off": "malformed", "notebook-missing": "missing"}
LOST = {  # student -> points lost by exercise; everybody else has all or none
    "scale-forgotten": {"scaled_dot_product_attention": 3, "AttentionLayer": 3},
    "scaled-by-data-width": {"AttentionLayer": 3},
    "softmax-over-queries": {"scaled_dot_product_attention": 3},
    "softmax-over-axis-one": {"scaled_dot_product_attention": 1},
    "softmax-overflows": {"stable_softmax": 1},
    "grid-row-by-row": {"attention_pooling": 1},
    "products-not-summed": {"attention_scores": 2},
    "weights-not-returned": {"scaled_dot_product_attention": 3},
    "return-forgotten": {"attention_scores": 2},
    "uses-numpy": {"attention_scores": 0.5},
    "input-overwritten": {"stable_softmax": 0.75},
    "forbidden-call": {"stable_softmax": 3},
    "roles-swapped": {"CrossAttentionLayer": 2},
    "outer-product-forgotten": {"gradient_through_softmax": 2},
    "syntax-error": {"attention_scores": 2},
    "endless-loop": {"attention_pooling": 3},
    "check-edited": {"stable_softmax": 3},
}
NOTHING = {"stub-untouched", "notebook-cut-off", "notebook-missing"}


def run(*command, **environment):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )


def test_every_submission_gets_one_line_for_each_exercise(graded):
    folder, records = graded
    assert set(records) == {entry.name for entry in (folder / "submitted").iterdir()}
    assert {len(row) for row in records.values()} == {len(catalogue.units()[UNIT])}
    for row in records.values():
        for record in row.values():
            assert {"student", "exercise", "state", "points", "max_points", "message", "misconception"} <= set(record)
            assert record["message"].startswith(("✓", "✗"))


def test_marks_are_what_each_submission_has_worked_for(graded):
    _, records = graded
    for student, row in records.items():
        lost = {
            name: one["max_points"] - one["points"] for name, one in row.items() if one["points"] < one["max_points"]
        }
        if student in NOTHING:
            assert sum(one["points"] for one in row.values()) == 0, student
        else:
            assert lost == LOST.get(student, {}), student


def test_nobody_gets_an_unexplained_zero(graded):
    _, records = graded
    for student, row in records.items():
        assert STATES.get(student, "graded") in {one["state"] for one in row.values()}
        for one in row.values():
            assert one["points"] == one["max_points"] or len(one["message"].split()) > 8


def test_misconceptions_are_named_as_data(graded):
    _, records = graded
    assert records["softmax-over-axis-one"]["scaled_dot_product_attention"]["misconception"] == "softmax_over_axis_one"
    assert records["scaled-by-data-width"]["AttentionLayer"]["misconception"] == "scaled_by_data_width"
    assert records["softmax-overflows"]["stable_softmax"]["misconception"] == "largest_not_subtracted"
    assert records["uses-numpy"]["attention_scores"]["problem"] == "not_a_tensor"
    assert "SyntaxError" in records["syntax-error"]["attention_scores"]["message"]


def test_repairs_are_told_to_instructor_and_student(graded):
    folder, records = graded
    for student in ("check-deleted", "cell-duplicated", "check-edited", "labels-stripped"):
        assert records[student]["attention_scores"]["repairs"]
        page = (folder / "feedback" / student / UNIT / f"{UNIT}.html").read_text()
        assert "Before grading, this was put right" in page


def test_every_student_has_a_feedback_page_with_the_sentence(graded):
    folder, records = graded
    for student in records:
        assert (folder / "feedback" / student / UNIT / f"{UNIT}.html").stat().st_size > 500
    page = (folder / "feedback" / "softmax-over-axis-one" / UNIT / f"{UNIT}.html").read_text()
    assert "softmax(dim=1) is right for one sequence" in page
    assert "it was cut off" in (folder / "feedback" / "notebook-cut-off" / UNIT / f"{UNIT}.html").read_text()


def test_the_report_counts_misconceptions_and_needs_no_network(graded):
    folder, _ = graded
    page = (folder / "report" / f"{UNIT}.html").read_text()
    assert "softmax over axis one" in page and "not scaled" in page
    assert "http://" not in page and "https://" not in page
    assert page.count("<script") == 1 and "script-src 'sha256-" in page, "the kit's own alone, which sorts tables"


def test_nbgraders_own_autograde_gives_equal_scores(graded, tmp_path_factory):
    folder, _ = graded
    stock = tmp_path_factory.mktemp("stock")
    environment = {"COURSE_CLASS": str(stock), "COURSE_CELL_SECONDS": "10"}
    assert run("nbgrader", "generate_assignment", UNIT, "--force", **environment).returncode == 0
    build_sample_class(UNIT, stock)
    run("nbgrader", "autograde", UNIT, **environment)  # it reports the unreadable notebook, and goes on
    assert run("nbgrader", "generate_feedback", UNIT, "--student=right-as-taught", **environment).returncode == 0
    scores = {}
    for name, where in (("kit", folder), ("stock", stock)):
        file = where / "grades.csv"
        assert run("nbgrader", "export", "--to", str(file), COURSE_CLASS=str(where)).returncode == 0
        with file.open() as opened:
            scores[name] = {row["student_id"]: float(row["raw_score"] or 0) for row in csv.DictReader(opened)}
    students = set(scores["kit"]) | set(scores["stock"])
    assert len(students) >= 25
    different = {s for s in students if scores["kit"].get(s, 0) != scores["stock"].get(s, 0)}
    assert not different, [(s, scores["kit"].get(s), scores["stock"].get(s)) for s in different]


def test_grading_again_keeps_manual_grades_and_gives_the_same_lines(graded, tmp_path):
    from nbgrader.api import Gradebook

    folder = shutil.copytree(graded[0], tmp_path / "class", symlinks=True)  # others read the class as it was graded
    url = f"sqlite:///{folder / 'gradebook.db'}"
    before = (folder / "results" / f"{UNIT}.jsonl").read_text()
    with Gradebook(url) as gradebook:
        gradebook.find_grade("written_scaling", UNIT, UNIT, "right-as-taught").manual_score = 1.5
        gradebook.db.commit()
    ran = run("autograder", "grade", UNIT, "--student", "right-as-taught", "--workers", "1", COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    assert (folder / "results" / f"{UNIT}.jsonl").read_text() == before
    with Gradebook(url) as gradebook:
        assert gradebook.find_grade("written_scaling", UNIT, UNIT, "right-as-taught").manual_score == 1.5
        assert gradebook.find_submission(UNIT, "right-as-taught").score == 19.5


def test_the_mark_scheme_reaches_the_grader_and_not_the_student(graded):
    folder, _ = graded
    graded_notebook = (folder / "autograded" / "right-as-taught" / UNIT / f"{UNIT}.ipynb").read_text()
    assert "BEGIN MARK SCHEME" in graded_notebook
    assert "MARK SCHEME" not in (ROOT / "assignments" / UNIT / f"{UNIT}.ipynb").read_text()
    page = (folder / "feedback" / "right-as-taught" / UNIT / f"{UNIT}.html").read_text()
    assert "MARK SCHEME" not in page and "HIDDEN TESTS" not in page and "Without the scale the gradient falls" in page


def test_validate_accepts_the_solution_and_refuses_the_stub(tmp_path):
    place = {"COURSE_CLASS": str(tmp_path)}
    ran = run("nbgrader", "validate", str(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb"), **place)
    assert "Success! Your notebook passes all the tests." in ran.stdout, ran.stdout
    ran = run("nbgrader", "validate", str(ROOT / "assignments" / UNIT / f"{UNIT}.ipynb"), **place)
    assert "VALIDATION FAILED ON" in ran.stdout
    assert "Not written yet" in ran.stdout and "Traceback" not in ran.stdout


HOSTILE = {
    "exits": "import os\nos._exit(0)",
    "raises-exit": "raise SystemExit(3)",
    "closes-its-output": "import os\nfor n in range(3, 40):\n    try: os.close(n)\n    except OSError: pass",
    "patches-torch": "import torch\ntorch.allclose = torch.equal = lambda *a, **k: True",
    "forges-a-line": (
        "import os, json\nfor n in range(3, 40):\n    try:\n"
        '        os.write(n, b\'{"exercise": "attention_scores", "observations": [7]}\\n{"cell": "x"}\\n[]\\nnull\\n\')\n'
        "    except OSError: pass"
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_submission_stops_a_class(kit, class_folder, name):
    assert kit("release", UNIT).returncode == 0
    notebook = nbformat.read(ROOT / "assignments" / UNIT / f"{UNIT}.ipynb", as_version=4)
    place = next(i for i, cell in enumerate(notebook.cells) if cell.id == "attention_scores")
    notebook.cells.insert(place, nbformat.v4.new_code_cell(HOSTILE[name]))
    for student, made in {
        "a-hostile-one": notebook,
        "z-another": nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", 4),
    }.items():
        folder = class_folder / "submitted" / student / UNIT
        folder.mkdir(parents=True)
        nbformat.write(made, folder / f"{UNIT}.ipynb")
    ran = kit("grade", UNIT)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in (class_folder / "results" / f"{UNIT}.jsonl").read_text().splitlines()]
    assert sum(row["points"] for row in rows if row["student"] == "a-hostile-one") == 0
    assert sum(row["points"] for row in rows if row["student"] == "z-another") == 18
