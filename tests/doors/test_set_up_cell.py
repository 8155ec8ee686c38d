"""The first cell of a notebook finds the course wherever the kernel was started, and says what is wrong where it cannot."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, UNIT

from autograder.authoring.build import setup_code

TELL = "\nimport utils.checking.packs.shipped\nprint(utils.__file__)"
FETCHED = "could not be fetched from"


@pytest.fixture
def course(tmp_path):
    """The course in a folder, with a notebook's file in it."""
    home = tmp_path / "home" / "attention-course"
    shutil.copytree(ROOT / "utils", home / "utils", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.txt", home)
    (home / "assignments" / UNIT).mkdir(parents=True)
    notebook(home).touch()
    return home


def notebook(home):
    return home / "assignments" / UNIT / f"{UNIT}.ipynb"


def run(folder, before="", **environment):
    """Runs the set-up cell as a kernel does that was started in a folder; gives what it printed and, at its end, said."""
    left_out = ("PYTHON", "COURSE", "JPY")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    code = before + "\n" + setup_code() + TELL
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={**clean, **environment}, capture_output=True, text=True
    )
    return ran.stdout.strip(), ran.stderr


@pytest.fixture
def published(course, tmp_path):
    """The address of a repository that holds the course."""
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "published"]):
        subprocess.run([*git, *command], cwd=course, check=True)
    return course.as_uri()


@pytest.fixture
def elsewhere(tmp_path):
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


def test_a_kernel_in_the_notebooks_folder_finds_the_course(course):
    found, error = run(notebook(course).parent)
    assert found == str(course / "utils" / "__init__.py"), error


def test_a_kernel_that_vscode_started_elsewhere_finds_the_course(course, elsewhere):
    for folder in (elsewhere, "/"):
        found, error = run(folder, f"__vsc_ipynb_file__ = {str(notebook(course))!r}")
        assert found == str(course / "utils" / "__init__.py"), error


def test_a_kernel_that_jupyter_started_elsewhere_finds_the_course(course, elsewhere):
    found, error = run(elsewhere, JPY_SESSION_NAME=str(notebook(course)))
    assert found == str(course / "utils" / "__init__.py"), error


def test_a_downloaded_notebook_finds_the_course_unpacked_beside_it(course, elsewhere):
    course.rename(elsewhere / "attention-course-main")
    (elsewhere / "single.ipynb").touch()
    for folder, before in ((elsewhere, ""), ("/", f"__vsc_ipynb_file__ = {str(elsewhere / 'single.ipynb')!r}")):
        found, error = run(folder, before)
        assert found == str(elsewhere / "attention-course-main" / "utils" / "__init__.py"), error


@pytest.mark.parametrize("there", ["a package", "a module", "a folder", "an imported package"])
def test_another_package_called_utils_is_not_in_the_way(course, elsewhere, there):
    """In site-packages, which come after the working folder on Python's path; or in the notebook's own folder."""
    site, own = elsewhere / "site", notebook(course).parent
    site.mkdir()
    if there == "a module":
        (own / "utils.py").write_text("def plot(): ...\n")
    elif there == "a folder":
        (own / "utils").mkdir()
    else:
        (site / "utils").mkdir()
        for name in ("__init__", "checking"):
            (site / "utils" / f"{name}.py").write_text("theirs = True\n")
    found, error = run(own, "import utils.checking" if "imported" in there else "", PYTHONPATH=str(site))
    assert found == str(course / "utils" / "__init__.py"), error


def test_a_folder_that_is_empty_is_filled(published, elsewhere):
    (elsewhere / "attention-course").mkdir()
    found, error = run(elsewhere, COURSE_REPOSITORY=published)
    assert found == str(elsewhere / "attention-course" / "utils" / "__init__.py"), error


def test_the_course_is_fetched_beside_the_notebook(published, elsewhere, tmp_path):
    (elsewhere / "single.ipynb").touch()
    found, error = run("/", f"__vsc_ipynb_file__ = {str(elsewhere / 'single.ipynb')!r}", COURSE_REPOSITORY=published)
    assert found == str(elsewhere / "attention-course" / "utils" / "__init__.py"), error


@pytest.mark.parametrize("left", ["utils/checking", ".git/objects", "a file"])
def test_what_a_broken_download_left_is_named_and_left_alone(published, elsewhere, left):
    if left == "a file":
        (elsewhere / "attention-course").write_text("")
    else:
        (elsewhere / "attention-course" / left).mkdir(parents=True)
    found, error = run(elsewhere, COURSE_REPOSITORY=published)
    assert f"What is in {elsewhere / 'attention-course'} is not the whole course: delete or rename it" in error
    assert "No module named" not in error.splitlines()[-1] and "During handling" not in error
    assert (elsewhere / "attention-course").exists()


def test_a_repository_that_is_not_the_course_is_named(tmp_path, elsewhere):
    subprocess.run(["git", "init", "-q", tmp_path / "other"], check=True)
    found, error = run(elsewhere, COURSE_REPOSITORY=(tmp_path / "other").as_uri())
    assert FETCHED in error and "is not the whole course" in error


def test_a_machine_without_git_is_told_so(elsewhere, tmp_path):
    found, error = run(elsewhere, PATH=str(tmp_path), COURSE_REPOSITORY="https://example.org/attention-course")
    assert "There is no git here: install it, or download the course and unpack it beside this notebook." in error


@pytest.mark.parametrize("address", ["file:///nowhere/course", "https://localhost:9/course", "http://localhost:9/a"])
def test_an_address_without_an_answer_is_told_with_gits_own_words(elsewhere, address):
    found, error = run(elsewhere, COURSE_REPOSITORY=address)
    assert f"{FETCHED} {address}. Is there a network" in error and "git says: fatal:" in error
    assert not (elsewhere / "attention-course").exists(), "the next try begins anew"


def test_without_an_address_the_instructor_is_asked(elsewhere):
    found, error = run(elsewhere, COURSE_REPOSITORY="https://github.com/OWNER/attention-course")
    assert "Ask your instructor for its address." in error


def test_a_kernel_of_an_older_python_is_told_so(course):
    before = "import sys; sys.version_info = (3, 9, 18)"
    found, error = run(notebook(course).parent, before)
    assert "The course needs Python 3.11 or newer, and this notebook's kernel is Python 3.9." in error
