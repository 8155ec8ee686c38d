"""The student's side alone: in a fresh environment that holds only the bundle, and in a stand-in for Colab."""

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from browser import CONNECTED, Copy, chromium, own_environment, running_browser, running_lab, screenshot
from conftest import ROOT, UNIT

from autograder import settings
from autograder.authoring.release import bundle
from autograder.intake.notebook_file import MAX_CELL, MAX_CELLS, MAX_SOURCE
from autograder.intake.places import MAX_BYTES
from autograder.sandbox.limits import limits_of

pytestmark = pytest.mark.xdist_group("a student's environment")  # making it takes longer than all the tests


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
    install = [home / "venv/bin/python", "-m", "pip", "install", "-q", "--no-compile"]  # only what is used is compiled
    done = run(*install, "-r", home / "attention-course/requirements.txt", cwd=home)
    assert done.returncode == 0, done.stderr[-2000:]
    return home


def python(home, *arguments, cwd, **environment):
    path = os.pathsep.join([str(home / "venv/bin"), os.environ["PATH"]])
    return run(home / "venv/bin/python", *arguments, cwd=cwd, PATH=path, HOME=str(home), **environment)


def execute(home, notebook, *options, **environment):
    """Runs a notebook as `jupyter nbconvert --execute` does, in its own folder."""
    arguments = ["-m", "nbconvert", "--to", "notebook", "--execute", *options, "--output", "ran.ipynb", notebook.name]
    return python(home, *arguments, cwd=notebook.parent, **environment)


def beginning(name: str, folder: Path, until: str) -> Path:
    """A notebook of the bundle, by itself in a folder: its cells up to the first one with that in its code."""
    notebook = nbformat.reads(bundle()[name].decode(), as_version=4)
    last = next(n for n, cell in enumerate(notebook.cells) if cell.cell_type == "code" and until in cell.source)
    notebook.cells = notebook.cells[: last + 1]
    folder.mkdir(exist_ok=True)
    nbformat.write(notebook, folder / Path(name).name)
    return folder / Path(name).name


def test_a_lesson_runs_to_its_first_figure_with_the_requirements_alone(student):
    """Whole lessons are run in test_lessons.py, where more is installed; the next test looks for what they need."""
    folder = student / "attention-course/notebooks"
    notebook = beginning(f"notebooks/{UNIT}.ipynb", folder / "begun", until="show(")
    ran = execute(student, notebook, COURSE_STATIC="1")
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "image/png" in (folder / "begun/ran.ipynb").read_text()


def test_all_that_lessons_import_is_in_the_bundle_or_required(student):
    """Wherever in a lesson it is imported; in one process, as most of the time goes into torch."""
    imports = {}
    for unit in settings.units():
        tree = ast.parse((settings.LESSON_TWINS / f"{unit}.py").read_text(encoding="utf-8"))
        found = {ast.unparse(one) for one in ast.walk(tree) if isinstance(one, (ast.Import, ast.ImportFrom))}
        assert any("utils" in line for line in found - {"from utils.prepare import prepare"}), unit
        imports |= dict.fromkeys(sorted(found))
    ran = python(student, "-c", "\n".join(imports), cwd=student / "attention-course", COURSE_STATIC="1")
    assert ran.returncode == 0, ran.stderr[-3000:]


@pytest.mark.parametrize("unit", settings.units())
def test_the_bundle_holds_a_lesson_with_its_stored_results(unit):
    text = (settings.LESSON_TWINS / f"{unit}.py").read_text(encoding="utf-8")
    ends = {"runs": "json", "weights": "pt"}
    loaded = re.findall(r'stored_(runs|weights)\.load\("([\w.]+)"', text)
    stored = {f"notebooks/stored/{name}.{ends[what]}" for what, name in loaded}
    assert {f"notebooks/{unit}.ipynb", *stored} <= set(bundle())


def test_no_link_in_the_bundle_leads_nowhere():
    files, dead = bundle(), []
    for name, data in files.items():
        if not name.endswith((".md", ".ipynb")):
            continue
        text = data.decode("utf-8")
        if name.endswith(".ipynb"):
            cells = nbformat.reads(text, as_version=4).cells
            text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)\s#]+)", text):
            if os.path.normpath(os.path.join(os.path.dirname(name), link)) not in files:
                dead.append(f"{name}: {link}")
    assert not dead


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


@pytest.fixture(scope="module")
def lab(student):
    """JupyterLab as the README starts it, without the step that hides the instructors' tools and, once asked, with it."""
    chromium()
    home = student / "home"
    here = {**own_environment(home), "PATH": os.pathsep.join([str(student / "venv/bin"), os.environ["PATH"]])}
    return Copy(student / "attention-course", here, str(student / "venv/bin/python"))


def tools(page) -> set[str]:
    """What of nbgrader a page of JupyterLab shows: its menu, its panel, and its commands."""
    page.get_by_role("menuitem", name="Help", exact=True).wait_for()
    page.locator(".jp-Launcher, .jp-Notebook").first.wait_for()
    shown = page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    shown += [tab.get_attribute("title") or "" for tab in page.locator(".lm-TabBar-tab").all()]
    shown += page.evaluate("window.jupyterapp.commands.listCommands()")
    return {one for one in shown if "nbgrader" in one.lower()}


@pytest.mark.browser
def test_students_meet_no_tool_of_instructors_in_jupyterlab(student, lab):
    steps = re.search(r"```\n(python3 -m venv .*?)```", (lab.folder / "README.md").read_text("utf-8"), re.DOTALL)[1]
    hide = next(line.split() for line in steps.splitlines() if "utils.lab" in line)
    with running_lab(lab) as address, running_browser(address) as browser:
        page = browser.context.new_page()
        page.goto(f"{address}/lab")
        page.get_by_role("menuitem", name="Nbgrader", exact=True).wait_for()
        assert "Nbgrader Create Assignment" in tools(page), "that is what is to be hidden"

        hidden = python(student, *hide[1:], cwd=lab.folder)
        assert hidden.returncode == 0 and "Validate" in hidden.stdout, hidden.stderr
        page.goto(f"{address}/lab/tree/assignments/{UNIT}/{UNIT}.ipynb")
        page.locator(".validate-button").wait_for()
        page.wait_for_function(CONNECTED)
        screenshot(page, "students-lab")
        assert tools(page) == set()
        page.locator(".validate-button").click()
        dialog = page.locator(".jp-Dialog", has_text="Validation Results")
        dialog.wait_for()
        assert "Not written yet" in dialog.inner_text() and "Traceback" not in dialog.inner_text()


def test_the_limits_that_the_students_guide_names_are_those_of_grading():
    guide, limits = bundle()["README.md"].decode(), limits_of(UNIT)
    said = re.search(r"\| time \| (\d+) seconds for each cell, (\d+) for the whole", guide)
    assert [int(one) for one in said.groups()] == [limits.cell_seconds, limits.submission_seconds]
    assert f"| memory | {limits.memory_bytes >> 30} GB," in guide
    assert f"a scratch folder of {limits.disk_bytes >> 20} MB" in guide
    assert f"| {MAX_SOURCE // 10**6} MB of text, {MAX_CELL // 10**3} kB in a cell, {MAX_CELLS:,} cells;" in guide
    assert f"a file above {MAX_BYTES // 10**6} MB" in guide


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
    before = installed(student)
    lesson = beginning(f"notebooks/{UNIT}.ipynb", tmp_path / "lesson", until="show(")
    ran = execute(student, lesson, **colab)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert (lesson.parent / "attention-course" / "utils" / "check.py").exists()
    added = {line.split("==")[0].replace("-", "_") for line in installed(student) - before}
    assert "jaxtyping" in added <= {"jaxtyping", "wadler_lindig"}, "what is missing and nothing else"


def test_a_single_assignment_is_checked_in_colab(student, colab, tmp_path):
    assignment = beginning(f"assignments/{UNIT}/{UNIT}.ipynb", tmp_path / "assignment", until="check(")
    ran = execute(student, assignment, "--allow-errors", **colab)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert (assignment.parent / "attention-course" / "utils" / "check.py").exists()
    assert "Not written yet" in (assignment.parent / "ran.ipynb").read_text()


def installed(home) -> set[str]:
    return set(python(home, "-m", "pip", "freeze", cwd=home).stdout.split())


def test_an_address_that_does_not_answer_is_told_in_one_sentence(student, colab, tmp_path):
    lesson = beginning(f"notebooks/{UNIT}.ipynb", tmp_path / "lesson", until="prepare()")
    ran = execute(student, lesson, **{**colab, "COURSE_REPOSITORY": (tmp_path / "nowhere").as_uri()})
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
