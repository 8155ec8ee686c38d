"""The line that a message shows is the student's own, however libraries are reached, and wherever the student works."""

import os
import subprocess
import sys
import sysconfig
import textwrap
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from conftest import ROOT, plain

from utils.checking.observing.failures import _in_a_library

ANSWER = """
def attention_scores(q, X):
    return library.wrap("some words", width=0)
"""


def imported(name: str, file: Path):
    spec = spec_from_file_location(name, file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("how", ["as it is", "folder linked", "file linked from a cache"])
def test_a_line_of_a_librarys_is_not_taken_for_the_students(examine, tmp_path, monkeypatch, how):
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    file = stdlib / "textwrap.py"
    if how == "folder linked":
        (tmp_path / "linked").symlink_to(stdlib)
        file = tmp_path / "linked" / "textwrap.py"
    elif how == "file linked from a cache":
        (tmp_path / "cached.py").write_text(Path(textwrap.__file__).read_text())
        (tmp_path / "site").mkdir()
        file = tmp_path / "site" / "textwrap.py"
        file.symlink_to(tmp_path / "cached.py")
        monkeypatch.setattr("utils.checking.observing.failures._NOT_THEIRS", (f"{tmp_path / 'site'}{os.sep}",))
    (tmp_path / "answer.py").write_text(ANSWER)
    answer = imported("answer", tmp_path / "answer.py")
    answer.library = imported("linked_library", file)
    result = examine("attention_scores", answer.attention_scores)
    assert result.problem == "exception"
    assert 'in your line return library.wrap("some words", width=0)' in plain(result.message)


@pytest.mark.parametrize("linked", [False, True])
def test_a_students_own_file_is_theirs_also_behind_a_link(examine, tmp_path, linked):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "helper.py").write_text("def helper(q):\n    return q.no_such_thing\n")
    (tmp_path / "link").symlink_to(folder)
    helper = imported("own_helper", tmp_path / ("link" if linked else "work") / "helper.py").helper
    result = examine("attention_scores", lambda q, X: helper(q))
    assert "in your line return q.no_such_thing" in plain(result.message)


def test_a_folder_whose_name_begins_like_a_librarys_is_none():
    stdlib = sysconfig.get_paths()["stdlib"]
    assert _in_a_library(f"{stdlib}/textwrap.py") and not _in_a_library(f"{stdlib}-course/answer.py")
    assert _in_a_library("<frozen importlib._bootstrap>") and not _in_a_library("<ipython-input-1>")
    assert not _in_a_library(f"{sys.prefix}/course/answer.py")


CELL = """
import sys, torch
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell(colors="nocolor")
shell.run_cell("import torch\\nfrom utils.check import check\\n"
               "def attention_scores(q, X):\\n    return torch.nn.Linear(2, 3)(X)\\ncheck(attention_scores)")
print(torch.__file__)
"""


def test_a_cell_is_told_from_torch_in_an_environment_behind_a_link(tmp_path):
    (tmp_path / "environment").symlink_to(sys.prefix)
    python = tmp_path / "environment" / "bin" / "python"
    if not python.exists():
        pytest.skip("this interpreter's folder holds no bin/python that could be linked")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COURSE_DEVICE": "cpu"}
    ran = subprocess.run([python, "-c", CELL], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "in your line return torch.nn.Linear(2, 3)(X)" in plain(ran.stdout), ran.stdout + ran.stderr
