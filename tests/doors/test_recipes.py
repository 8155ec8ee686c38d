"""What docs/recipes.md gives to copy: the files are there, the settings are taken, and the image holds what grading needs."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, UNIT
from handed_in import put, solved
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import Exchange
from traitlets.config.loader import PyFileConfigLoader

RECIPES = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", RECIPES, re.DOTALL)
CONTAINERFILE = (ROOT / "recipes" / "container" / "Containerfile").read_text(encoding="utf-8")


def _copied() -> dict[str, str]:
    """What the image takes from the repository, and where it lies there."""
    found = {}
    for line in CONTAINERFILE.replace("\\\n", " ").splitlines():
        if line.startswith("COPY "):
            *sources, target = [one for one in shlex.split(line)[1:] if not one.startswith("--")]
            found |= {one: f"{target}{one}" if target.endswith("/") else target for one in sources}
    return found


def test_each_file_that_is_named_is_there():
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", RECIPES):
        assert (ROOT / "docs" / link).exists(), link
    for file in re.findall(r"`((?:tests|recipes)/[\w./]+)`", RECIPES):
        assert (ROOT / file).exists(), file


def test_the_python_to_copy_is_python():
    assert len(PYTHON) >= 4
    for block in PYTHON:
        ast.parse(block)


def test_nbgrader_takes_the_servers_settings(tmp_path):
    (block,) = [one for one in PYTHON if "Exchange.root" in one]
    (tmp_path / "nbgrader_config.py").write_text(block, encoding="utf-8")
    config = PyFileConfigLoader("nbgrader_config.py", path=str(tmp_path)).load_config()
    directory = CourseDirectory(config=config)
    assert directory.course_id == "attention-course"
    assert Exchange(coursedir=directory, config=config).root == "/srv/nbgrader/exchange"


def test_no_work_of_students_gets_into_an_image():
    assert not {"classroom", "classroom/", "."} & _copied().keys()
    assert re.search(r"^USER [1-9]", CONTAINERFILE, re.MULTILINE)


@pytest.mark.slow
def test_what_the_image_holds_is_enough_to_release_grade_and_tell(tmp_path):
    for source, target in _copied().items():
        place = tmp_path / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, place)
    put(tmp_path / "class", {f"{UNIT}/{UNIT}.ipynb": solved(count=2)})
    told = {name: value for name, value in os.environ.items() if not name.startswith(("COURSE", "PYTHON"))}
    told["COURSE_CLASS"] = str(tmp_path / "class")
    for command in (["release", "04"], ["grade", "04", "--workers", "1"], ["feedback", "04"], ["report", "04"]):
        arguments = [sys.executable, "-m", "autograder", *command]
        ran = subprocess.run(arguments, cwd=tmp_path / "course", env=told, capture_output=True, text=True)
        assert ran.returncode == 0, (command, ran.stderr)
    page = (tmp_path / "class" / "feedback" / "ada" / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")
    assert "attention_scores" in page and (tmp_path / "class" / "release" / "attention-course.zip").exists()
