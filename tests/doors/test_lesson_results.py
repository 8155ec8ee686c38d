"""A kept run of a lesson serves as long as nothing changes that the run depends on; a run with a fault is never kept."""

import os
import subprocess
import sys

import lesson_results
import pytest
from browser import Copy
from conftest import ROOT

UNIT = "05_self_attention"


@pytest.fixture
def bundle(tmp_path):
    """What students receive, unpacked."""
    return Copy.of_the_bundle(tmp_path).folder


@pytest.mark.parametrize(
    ("name", "matters"),
    [
        (f"notebooks/{UNIT}.ipynb", True),
        (f"notebooks/stored/{UNIT}.json", True),
        ("notebooks/stored/01_rnn_seq2seq.json", False),
        ("notebooks/01_rnn_seq2seq.ipynb", False),
        ("requirements.txt", True),
        ("utils/models/training.py", True),  # imported by the lesson
        ("utils/figures/captioning.py", False),
        ("utils/data/scenes.py", False),
        (f"utils/checking/packs/{UNIT}.json", False),
    ],
)
def test_a_lesson_is_run_again_if_a_file_changes_that_its_run_depends_on(bundle, name, matters):
    before = lesson_results.state(UNIT, bundle, "Chromium")
    (bundle / name).write_text((bundle / name).read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert (lesson_results.state(UNIT, bundle, "Chromium") != before) is matters


def test_a_lesson_is_run_again_if_the_bundle_lacks_what_it_imports(bundle):
    before = lesson_results.state(UNIT, bundle, "Chromium")
    (bundle / "utils" / "models" / "training.py").unlink()
    assert lesson_results.state(UNIT, bundle, "Chromium") != before


def test_a_lesson_is_run_again_where_somebody_else_opens_it(bundle):
    assert lesson_results.state(UNIT, bundle, "Chromium") != lesson_results.state(UNIT, bundle, "nbclient")


@pytest.fixture
def result(bundle, tmp_path, monkeypatch):
    """result(key) runs nothing, and gives a result that says so."""
    monkeypatch.setattr(lesson_results, "KEPT", tmp_path / "kept")
    monkeypatch.delenv("COURSE_FRESH", raising=False)

    def run(file):
        file.write_bytes((bundle / f"notebooks/{UNIT}.ipynb").read_bytes())
        return {"errors": []}

    return lambda key: lesson_results.made(UNIT, key, run)


def test_a_result_is_kept_once_it_is_proved_and_no_longer_if_it_is_disproved(result):
    made = result("a")
    assert lesson_results.kept(UNIT, "a") is None
    proved = made.proved()
    assert lesson_results.kept(UNIT, "a").report == {"lesson": UNIT, "errors": []}
    proved.disproved()
    assert lesson_results.kept(UNIT, "a") is None


def test_a_new_result_takes_the_place_of_the_lessons_older_ones(result):
    result("a").proved()
    result("b").proved()
    assert lesson_results.kept(UNIT, "a") is None and lesson_results.kept(UNIT, "b")


def test_a_fresh_run_can_be_asked_for(result, monkeypatch):
    result("a").proved()
    monkeypatch.setenv("COURSE_FRESH", "1")
    assert lesson_results.kept(UNIT, "a") is None


def test_where_two_processes_test_all_that_is_asked_of_one_lesson_is_asked_in_one(tmp_path):
    pytest.importorskip("xdist")
    hook = "import groups\ndef pytest_collection_modifyitems(config, items):\n    groups.keep_together(config, items)\n"
    (tmp_path / "conftest.py").write_text(hook)
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
