"""The student's side alone: in a fresh environment that holds only the bundle, and in a stand-in for Colab."""

import ast
import os
import re
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT, UNIT

from autograder import settings
from autograder.authoring.release import bundle


def run(*command, cwd, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COURSE", "VIRTUAL"))}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env={**clean, **environment}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """A student's machine: the unpacked bundle, and a new virtual environment with its requirements alone."""
    home = tmp_path_factory.mktemp("student")
    archive = home / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for name, data in bundle().items():
            opened.writestr(f"attention-course/{name}", data)
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(home)
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    install = [home / "venv/bin/python", "-m", "pip", "install", "-q", "-r", home / "attention-course/requirements.txt"]
    done = run(*install, cwd=home)
    assert done.returncode == 0, done.stderr[-2000:]
    return home


def python(home, *arguments, cwd, **environment):
    path = os.pathsep.join([str(home / "venv/bin"), os.environ["PATH"]])
    return run(home / "venv/bin/python", *arguments, cwd=cwd, PATH=path, HOME=str(home), **environment)


def execute(home, notebook, **environment):
    """Runs a notebook as `jupyter nbconvert --execute` does, in its own folder."""
    arguments = ["-m", "nbconvert", "--to", "notebook", "--execute", "--output", "ran.ipynb", notebook.name]
    return python(home, *arguments, cwd=notebook.parent, COURSE_STATIC="1", **environment)


def test_a_lesson_runs_from_the_bundle(student):
    """The one that takes seconds; of the others nbval runs the same text, and the next test looks for what they need."""
    ran = execute(student, student / "attention-course/notebooks" / f"{UNIT}.ipynb")
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.parametrize("unit", settings.units())
def test_the_bundle_holds_what_a_lesson_needs(student, unit):
    text = (settings.LESSON_TWINS / f"{unit}.py").read_text(encoding="utf-8")
    imports = [ast.unparse(one) for one in ast.parse(text).body if isinstance(one, (ast.Import, ast.ImportFrom))]
    assert any("utils" in one for one in imports)
    ran = python(student, "-c", "\n".join(imports), cwd=student / "attention-course", COURSE_STATIC="1")
    assert ran.returncode == 0, ran.stderr[-3000:]
    for name in re.findall(r'stored_runs\.load\("(\w+)"\)', text):
        assert (student / "attention-course/notebooks/stored" / f"{name}.json").exists()
    assert (student / "attention-course/notebooks" / f"{unit}.ipynb").exists()


def test_checks_and_validation_work_from_the_bundle(student):
    folder = student / "attention-course/assignments" / UNIT
    ran = python(student, "-m", "nbgrader", "validate", f"{UNIT}.ipynb", cwd=folder)
    assert "VALIDATION FAILED ON" in ran.stdout
    assert "Not written yet" in ran.stdout and "ModuleNotFoundError" not in ran.stdout

    solved = (ROOT / "solutions" / UNIT / f"{UNIT}.ipynb").read_text()
    solved = solved.replace("### BEGIN HIDDEN TESTS\\n", "").replace(
        "from autograder.nbgrader_plugin.test_cell import check\\n", ""
    )
    (folder / "solved.ipynb").write_text(solved.replace("### END HIDDEN TESTS\\n", ""))
    ran = python(student, "-m", "nbgrader", "validate", "solved.ipynb", cwd=folder)
    assert "Success! Your notebook passes all the tests." in ran.stdout, ran.stdout


def test_the_bundle_installs_nothing_of_the_instructors(student):
    ran = python(student, "-c", "import autograder", cwd=student / "attention-course")
    assert "No module named 'autograder'" in ran.stderr


@pytest.fixture(scope="module")
def colab(student, tmp_path_factory):
    """A stand-in for Colab: `google.colab` is there, jaxtyping and the course are not; a repository can be cloned."""
    published = tmp_path_factory.mktemp("published")
    for name, data in bundle().items():
        (published / name).parent.mkdir(parents=True, exist_ok=True)
        (published / name).write_bytes(data)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "published"]):
        subprocess.run([*git, *command], cwd=published, check=True)
    stand_in = tmp_path_factory.mktemp("stand-in")
    (stand_in / "google" / "colab").mkdir(parents=True)
    for folder in (stand_in / "google", stand_in / "google" / "colab"):
        (folder / "__init__.py").write_text("")
    assert python(student, "-m", "pip", "uninstall", "-q", "-y", "jaxtyping", cwd=student).returncode == 0
    return {"PYTHONPATH": str(stand_in), "COURSE_REPOSITORY": published.as_uri()}


def test_a_single_notebook_fetches_the_course_in_colab(student, colab, tmp_path):
    before = python(student, "-m", "pip", "freeze", cwd=student).stdout
    for source in ("notebooks", f"assignments/{UNIT}"):
        place = tmp_path / source.replace("/", "-")
        place.mkdir()
        (place / f"{UNIT}.ipynb").write_bytes(bundle()[f"{source}/{UNIT}.ipynb"])
        allow = ["--allow-errors"] if source.startswith("assignments") else []
        arguments = [
            "-m",
            "nbconvert",
            "--to",
            "notebook",
            "--execute",
            *allow,
            "--output",
            "ran.ipynb",
            f"{UNIT}.ipynb",
        ]
        ran = python(student, *arguments, cwd=place, **colab)
        assert ran.returncode == 0, ran.stderr[-3000:]
        assert (place / "attention-course" / "utils" / "check.py").exists()
        if allow:
            assert "Not written yet" in (place / "ran.ipynb").read_text()
    after = python(student, "-m", "pip", "freeze", cwd=student).stdout
    added = set(after.split()) - set(before.split())
    assert {line.split("==")[0] for line in added} <= {"jaxtyping", "wadler-lindig", "wadler_lindig"}, (
        "only what is missing"
    )


def test_an_address_that_does_not_answer_is_told_in_one_sentence(student, colab, tmp_path):
    (tmp_path / f"{UNIT}.ipynb").write_bytes(bundle()[f"notebooks/{UNIT}.ipynb"])
    nowhere = {**colab, "COURSE_REPOSITORY": (tmp_path / "nowhere").as_uri()}
    ran = execute(student, tmp_path / f"{UNIT}.ipynb", **nowhere)
    assert ran.returncode != 0
    assert "The course could not be fetched from" in ran.stderr


def test_where_the_course_is_at_hand_the_first_cell_does_nothing(student):
    from autograder.authoring.build import setup_code

    folder = student / "attention-course" / "notebooks"
    before = sorted(path.name for path in folder.iterdir())
    ran = python(student, "-c", setup_code() + "\nimport utils\nprint(utils.__file__)", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert str(student / "attention-course") in ran.stdout
    assert sorted(path.name for path in folder.iterdir()) == before
