"""One list of requirements: every place that names packages or Python versions agrees with it.

Students' ranges are tried with the oldest and newest versions that they allow where COURSE_VERSIONS=1 asks for it: each takes
an environment of its own, of several GB.
"""

import ast
import os
import subprocess
import sys
import tomllib
from functools import cache

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

from utils.prepare import NEEDED

DIRECT = {"jupyterlab", "numpy", "torch", "matplotlib", "nbgrader", "nbval", "ipywidgets"}


def requirements(name="requirements.txt"):
    return (ROOT / name).read_text().split()


def test_every_requirement_is_pinned_and_the_direct_ones_are_there():
    more = requirements("requirements-test.txt") + requirements("requirements-book.txt")
    assert all("==" in line for line in requirements() + more)
    assert DIRECT <= {line.split("==")[0] for line in requirements()}
    assert "torch==2.13.0" in requirements()


def test_conda_installs_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip == requirements()


def test_nothing_compiles_a_grammar_of_addresses_to_read_a_notebook():
    """jsonschema from 4.25 on does, wherever Jupyter is installed: a second for each server, kernel and command."""
    code = "import sys, nbformat; print(*sorted({'lark', 'rfc3987_syntax'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, ""), ran.stderr


def test_the_package_metadata_reads_the_same_list():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["setuptools"]["dynamic"]["dependencies"] == {"file": "requirements.txt"}
    assert "dependencies" in project["project"]["dynamic"]


def test_python_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert f"python{project['requires-python']}" in environment["dependencies"]
    makefile = (ROOT / "Makefile").read_text()
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in makefile


THROUGH = {  # what the packages that are required cannot do without: parts of Jupyter, nbgrader, matplotlib and dask
    "IPython", "bs4", "jupyter_core", "nbclient", "nbconvert", "nbformat", "traitlets", "jinja2", "sqlalchemy", "PIL",
    "pygments", "dateutil", "yaml", "markupsafe",
}  # fmt: skip
DISTRIBUTED_AS = {"sklearn": "scikit-learn"}


@cache
def imported(*patterns) -> set[str]:
    """The packages that files import, by the names under which they are installed; Python's own and ours left out."""
    # einops where it is there
    files = [file for one in patterns for file in ROOT.glob(one) if file.parent.name != "practice"]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    found = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    found -= {"utils", "autograder", *sys.stdlib_module_names, *THROUGH}
    return {DISTRIBUTED_AS.get(name, name) for name in found}


def test_what_the_packages_import_is_required():
    needed = imported("utils/**/*.py", "autograder/**/*.py")
    assert needed <= {line.split("==")[0] for line in requirements()}


MACHINES = {  # what pip knows of a machine, and the Pythons for which all packages are there
    "Windows": {"sys_platform": "win32", "platform_machine": "AMD64"},
    "Mac": {"sys_platform": "darwin", "platform_machine": "arm64"},
    "Intel Mac": {"sys_platform": "darwin", "platform_machine": "x86_64"},
    "Linux": {"sys_platform": "linux", "platform_machine": "x86_64"},
    "Linux on ARM": {"sys_platform": "linux", "platform_machine": "aarch64"},
}


def for_students(machine: str) -> dict[str, Requirement]:
    lines = (ROOT / "requirements-students.txt").read_text(encoding="utf-8").splitlines()
    asked = [one for one in map(Requirement, lines) if one.marker is None or one.marker.evaluate(MACHINES[machine])]
    assert len({one.name for one in asked}) == len(asked), "one range for each package"
    return {one.name: one for one in asked}


@pytest.mark.parametrize("machine", MACHINES)
def test_students_get_what_notebooks_and_utils_need_and_nothing_of_the_instructors(machine):
    needed = imported("utils/**/*.py", "notebooks/text/*.py") | {"jupyterlab", "nbgrader"}  # for the Validate button
    assert for_students(machine).keys() == needed == {*NEEDED.values(), "jupyterlab", "nbgrader"}


@pytest.mark.parametrize("machine", MACHINES)
def test_students_ranges_hold_the_versions_that_the_course_is_tested_with(machine):
    """The pinned versions are the newest that a range is known to hold; each range has two ends."""
    pinned = dict(line.split("==") for line in requirements() if "[" not in line)
    for name, one in for_students(machine).items():
        assert {part.operator for part in one.specifier} == {">=", "<"}
        assert machine == "Intel Mac" and name in ("numpy", "torch") or pinned[name] in one.specifier, name


def test_an_intel_macs_last_torch_comes_with_the_numpy_that_it_was_built_for():
    asked = for_students("Intel Mac")
    assert "2.2.2" in asked["torch"].specifier and "2.0.0" not in asked["numpy"].specifier


def test_the_newest_torch_and_numpy_that_students_may_have_are_those_of_the_tests():
    for name in ("torch", "numpy"):
        pinned = Version(dict(line.split("==") for line in requirements() if "[" not in line)[name])
        after = f"{pinned.major}.{pinned.minor + 1}.0"
        assert after not in for_students("Linux")[name].specifier, f"{name} {after} was not tried"


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("COURSE_VERSIONS") != "1", reason="COURSE_VERSIONS=1 asks for it: 5 GB and minutes each"
)
@pytest.mark.parametrize("which", ["oldest", "oldest of an Intel Mac", "newest"])
def test_all_checks_pass_with_the_oldest_and_newest_packages(tmp_path, which):
    """In this Python; COURSE_PYTHON names another one."""
    asked = for_students("Intel Mac" if "Intel" in which else "Linux").values()
    if which == "newest":
        wanted = [f"{one.name}{one.specifier}" for one in asked]
    else:  # the first release that a range allows, with its mends
        wanted = [f"{one.name}~={part.version}.0" for one in asked for part in one.specifier if part.operator == ">="]
    subprocess.run([os.environ.get("COURSE_PYTHON", sys.executable), "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    ran = subprocess.run(
        [python, ROOT / "tests" / "support" / "all_checks.py"],
        cwd=tmp_path, env={**os.environ, "COURSE_DEVICE": "cpu"}, capture_output=True, text=True,
    )  # fmt: skip
    print(ran.stdout[-300:])
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
