"""The instructor's nbgrader configuration holds for the kit too: the same marks and late penalties; errors are a sentence."""

import os
import shutil
import sqlite3

import classes
import nbformat
import pytest
from classes import ROOT, UNIT
from nbgrader.api import Gradebook
from traitlets.utils.importstring import import_item

from autograder import nbgrader_plugin, reports
from autograder.gradebook import store
from autograder.gradebook.nbgrader_configuration import configuration
from autograder.settings import KitError
from autograder.trials.attacks.kinds import filled, place

DUE = "2026-02-03 12:00:00 UTC"
TIMES = {
    "on-time": "2026-02-03 11:59:59 UTC",
    "two-days-late": "2026-02-05 13:00:00 UTC",
    "late-and-wrong": "2026-02-03 14:30:00 +0100",
    "no-time": None,
}
PER_DAY = """
from nbgrader.plugins import BasePlugin

class PerDay(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 2.5 * (1 + total_seconds_late // 86400)
"""
METHODS = {
    "none": "",
    "zero": 'c.LateSubmissionPlugin.penalty_method = "zero"\n',
    "a-plugin": "import sys, os\nsys.path.insert(0, os.path.dirname(__file__))\n"
    'c.AssignLatePenalties.plugin_class = "late_rules.PerDay"\n',
}
LATE = {  # what is taken off
    "none": {},
    "zero": {"two-days-late": 18.0, "late-and-wrong": 15.0},
    "a-plugin": {"two-days-late": 7.5, "late-and-wrong": 2.5},
}
COLUMNS = """
select assignment.name, submitted.student_id, submitted.timestamp, notebook.late_submission_penalty, cell.name,
       grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade
from submitted_assignment submitted
join assignment on assignment.id = submitted.assignment_id
join submitted_notebook notebook on notebook.assignment_id = submitted.id
join grade on grade.notebook_id = notebook.id join base_cell cell on cell.id = grade.cell_id
order by 2, 5
"""


def _written(tmp_path, text):
    """A folder in which nbgrader looks for configuration."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "nbgrader_config.py").write_text(text, encoding="utf-8")
    (folder / "late_rules.py").write_text(PER_DAY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    folder = classes.build(tmp_path_factory.mktemp("late") / "class", 0)
    kinds = [nbformat.read(ROOT / kind / UNIT / f"{UNIT}.ipynb", as_version=4) for kind in ("assignments", "solutions")]
    for student, time in TIMES.items():
        notebook = filled(*kinds)
        if student == "late-and-wrong":
            notebook.cells[place(notebook, "stable_softmax")].source = classes.WRONG
        file = classes.hand_in(folder, student, notebook)
        if time:
            file.with_name("timestamp.txt").write_text(time)
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.update_or_create_assignment(UNIT, duedate=DUE)
    return folder


def _columns(folder):
    with sqlite3.connect(folder / "gradebook.db") as database:
        return database.execute(COLUMNS).fetchall()


def _totals(folder):
    with Gradebook(classes.sqlite(folder)) as gradebook:
        found = gradebook.assignment_submissions(UNIT)
        return {one.student.id: (one.score, one.late_submission_penalty, one.needs_manual_grade) for one in found}


def test_everything_that_nbgrader_loads_of_the_kit_by_name_is_there():
    names = [name for package in (nbgrader_plugin, reports) for key, name in vars(package).items() if key.isupper()]
    assert 0 < len(names) == len({*names})
    assert [name for name in names if not callable(import_item(name))] == []


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_kit_and_nbgrader_enter_the_same_marks_and_late_penalties(handed_in, tmp_path, method):
    config, held = _written(tmp_path, METHODS[method]), {}
    for way in ("kit", "nbgrader"):
        folder = shutil.copytree(handed_in, tmp_path / way)
        told = {"COURSE_CLASS": str(folder), "JUPYTER_CONFIG_DIR": str(config)}
        verb = ("grade", UNIT) if way == "kit" else ("autograde", UNIT)
        ran = (classes.kit if way == "kit" else classes.nbgrader)(*verb, **told)
        assert ran.returncode == 0, ran.stderr
        held[way] = _columns(folder), _totals(folder)
    assert held["kit"] == held["nbgrader"]
    assert {student: late for student, (_, late, _) in held["kit"][1].items() if late} == LATE[method]


def test_a_penalty_follows_the_mark_when_it_is_entered_again(kit, handed_in, tmp_path):
    folder, config = shutil.copytree(handed_in, tmp_path / "class"), _written(tmp_path, METHODS["zero"])
    told = {"COURSE_CLASS": str(folder), "JUPYTER_CONFIG_DIR": str(config)}
    assert kit("grade", UNIT, "--student", "late-and-wrong", **told).returncode == 0
    with Gradebook(classes.sqlite(folder)) as gradebook:
        gradebook.find_grade("written_scaling", UNIT, UNIT, "late-and-wrong").manual_score = 1.5
        gradebook.db.commit()
    assert kit("grade", UNIT, "--student", "late-and-wrong", **told).returncode == 0
    assert _totals(folder)["late-and-wrong"] == (16.5, 16.5, False)  # the answer is the same: nobody has to look again


ERRORS = {
    "no Python": ("c.A.b = 1\nc.B.d = (\n", "line 2"),
    "an error": ("import os\n\nc.X.y = undefined\n", "line 3"),
    "the end of it all": ("raise SystemExit(3)\n", "line 1"),
    "an unknown method": ('\nc.LateSubmissionPlugin.penalty_method = "half"\n', "line 2"),
    "no such plugin": ('c.AssignLatePenalties.plugin_class = "no_such_module.Plugin"\n', "line 1"),
    "no plugin at all": ("\n\n\nc.AssignLatePenalties.plugin_class = 3\n", "line 4"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_a_configuration_that_cannot_be_used_is_told_in_a_line_before_any_work(kit, handed_in, tmp_path, what):
    text, where = ERRORS[what]
    ran = kit("grade", UNIT, COURSE_CLASS=str(handed_in), JUPYTER_CONFIG_DIR=str(_written(tmp_path, text)))
    (line,) = ran.stderr.strip().splitlines()
    assert ran.returncode == 2 and line.startswith("autograder: ") and "nbgrader_config.py, " + where in line
    assert not (handed_in / "results").exists()


def test_a_damaged_json_file_is_told_with_its_line(monkeypatch, class_folder, tmp_path):
    folder = _written(tmp_path, "")
    (folder / "nbgrader_config.json").write_text('{"LateSubmissionPlugin":\n {"penalty_method" "zero"}}')
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(folder))
    with pytest.raises(KitError, match="nbgrader_config.json, line 2"):
        configuration()


def test_a_plugin_that_fails_is_told_with_its_line_and_what_was_graded_is_kept(kit, handed_in, tmp_path):
    folder, config = shutil.copytree(handed_in, tmp_path / "class"), _written(tmp_path, METHODS["a-plugin"])
    rules = config / "late_rules.py"
    rules.write_text(PER_DAY.replace("late_rules", "broken_rules").replace("return 2.5", "return 1 / 0"))
    (config / "nbgrader_config.py").write_text(METHODS["a-plugin"].replace("late_rules", "broken_rules"))
    rules.rename(config / "broken_rules.py")
    told = {"COURSE_CLASS": str(folder), "JUPYTER_CONFIG_DIR": str(config)}
    ran = kit("grade", UNIT, "--student", "late-and-wrong", **told)
    assert ran.returncode == 2 and "broken_rules.py, line 6" in ran.stderr and "late-and-wrong" in ran.stderr
    assert [one["student"] for one in classes.outcomes(folder)] == ["late-and-wrong"]


def test_the_kits_own_settings_stand_on_top_and_the_environment_stays(monkeypatch, class_folder, tmp_path):
    text = (
        'c.CourseDirectory.root = "/elsewhere"\nc.CourseDirectory.db_url = "sqlite:////elsewhere.db"\nc.Mine.own = 3\n'
    )
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(_written(tmp_path, text)))
    before = os.environ.get("PYTHONPATH")
    found = configuration()
    assert (
        found.CourseDirectory.root == str(ROOT)
        and found.CourseDirectory.db_url == f"sqlite:///{class_folder}/gradebook.db"
    )
    assert found.Mine.own == 3 and os.environ.get("PYTHONPATH") == before


def test_a_configuration_is_read_once_and_again_when_it_has_changed(monkeypatch, class_folder, tmp_path):
    file = (
        _written(tmp_path, f'open({str(tmp_path / "read")!r}, "a").write("x")\nc.Mine.own = 1\n') / "nbgrader_config.py"
    )
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(file.parent))
    for _ in range(20):
        store.late_penalties()
        configuration().Mine.own = 7
    assert (tmp_path / "read").read_text() == "x" and configuration().Mine.own == 1
    file.write_text("c.Mine.own = 2\n")
    os.utime(file, (1, 1))
    assert configuration().Mine.own == 2
