"""A kept run of a lesson serves as long as nothing changes that the run depends on; a run with a fault is never kept."""

import os
import subprocess
import sys

import lesson_results
import nbformat
import pytest
from conftest import ROOT
from imports import closure

LESSON = "from utils.figures import plots\nfrom utils import stored\n"
FILES = {
    "requirements.txt": "numpy==2.4.6",
    "notebooks/stored/01_one.json": "{}",
    "notebooks/stored/02_two.json": "{}",
    "utils/__init__.py": "",
    "utils/stored.py": 'FOLDER = "packs"',
    "utils/packs/one.json": "{}",
    "utils/figures/__init__.py": "",
    "utils/figures/plots.py": "def draw():\n    from utils import colours",
    "utils/colours.py": "import numpy",
    "utils/other.py": "",
    "utils/data/words.json": "{}",
}


@pytest.fixture
def bundle(tmp_path):
    """A bundle in small, of one lesson that imports `utils.figures.plots`, which imports `utils.colours` when it draws."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LESSON + "%pip list\n")])
    nbformat.write(notebook, tmp_path / "notebooks/01_one.ipynb")
    return tmp_path


def test_all_that_a_lesson_imports_is_found_through_others_and_inside_functions(bundle):
    found = {str(file.relative_to(bundle.resolve())) for file in closure([bundle / "notebooks/01_one.ipynb"])}
    utils = {f"utils/{name}.py" for name in ("__init__", "stored", "colours", "figures/__init__", "figures/plots")}
    assert found == {"notebooks/01_one.ipynb"} | utils


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        ("notebooks/01_one.ipynb", True),
        ("notebooks/stored/01_one.json", True),
        ("notebooks/stored/02_two.json", False),
        ("requirements.txt", True),
        ("utils/colours.py", True),
        ("utils/packs/one.json", True),
        ("utils/data/words.json", False),
        ("utils/other.py", False),
    ],
)
def test_a_lesson_is_run_again_if_a_file_changes_that_its_run_depends_on(bundle, name, matters):
    before = lesson_results.state("01_one", bundle, "Chromium")
    (bundle / name).write_text((bundle / name).read_text() + "\n")
    assert (lesson_results.state("01_one", bundle, "Chromium") != before) is matters


def test_a_lesson_is_run_again_where_somebody_else_opens_it(bundle):
    one, other = (lesson_results.state("01_one", bundle, how) for how in ("JupyterLab in Chromium", "nbclient"))
    assert one != other


@pytest.fixture
def result(bundle, tmp_path, monkeypatch):
    """result(key) runs nothing, and gives a result that says so."""
    monkeypatch.setattr(lesson_results, "KEPT", tmp_path / "kept")
    monkeypatch.delenv("COURSE_FRESH", raising=False)

    def run(file):
        file.write_bytes((bundle / "notebooks/01_one.ipynb").read_bytes())
        return {"errors": []}

    return lambda key: lesson_results.made("01_one", key, run)


def test_a_result_is_kept_once_it_is_proved_and_no_longer_if_it_is_disproved(result):
    made = result("a")
    assert lesson_results.kept("01_one", "a") is None
    proved = made.proved()
    assert lesson_results.kept("01_one", "a").report == {"lesson": "01_one", "errors": []}
    proved.disproved()
    assert lesson_results.kept("01_one", "a") is None


def test_a_new_result_takes_the_place_of_the_lessons_older_ones(result):
    result("a").proved()
    result("b").proved()
    assert lesson_results.kept("01_one", "a") is None and lesson_results.kept("01_one", "b")


def test_a_fresh_run_can_be_asked_for(result, monkeypatch):
    result("a").proved()
    monkeypatch.setenv("COURSE_FRESH", "1")
    assert lesson_results.kept("01_one", "a") is None


def test_where_two_processes_test_all_that_is_asked_of_one_lesson_is_asked_in_one(tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "conftest.py").write_text("from groups import pytest_collection_modifyitems")
    (tmp_path / "test_groups.py").write_text(
        "import os, pytest\n"
        "GROUPS = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in 'ab']\n"
        "@pytest.mark.parametrize('number', range(3))\n"
        "@pytest.mark.parametrize('name', GROUPS)\n"
        "def test(name, number):\n"
        "    open(f'{name}-' + os.environ['PYTEST_XDIST_WORKER'], 'w')\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-n2", "--dist=loadgroup", "-p", "no:cacheprovider"]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT / "tests" / "support")}
    ran = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert len([*tmp_path.glob("a-*"), *tmp_path.glob("b-*")]) == 2
