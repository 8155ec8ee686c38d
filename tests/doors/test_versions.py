"""One list of requirements: every place that names packages or Python versions agrees with it."""

import tomllib

import yaml
from conftest import ROOT

DIRECT = {"jupyterlab", "numpy", "torch", "matplotlib", "nbgrader", "nbval", "ipywidgets"}


def requirements(name="requirements.txt"):
    return (ROOT / name).read_text().split()


def test_every_requirement_is_pinned_and_the_direct_ones_are_there():
    assert all("==" in line for line in requirements() + requirements("requirements-test.txt"))
    assert DIRECT <= {line.split("==")[0] for line in requirements()}
    assert "torch==2.13.0" in requirements()


def test_conda_installs_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert pip == requirements()


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


def test_what_the_packages_import_is_required():
    import ast
    import sys

    files = [*(ROOT / "utils").rglob("*.py"), *(ROOT / "autograder").rglob("*.py")]
    trees = [ast.parse(file.read_text()) for file in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    ours = {"utils", "autograder"} | set(sys.stdlib_module_names)
    through = {  # parts of what is required, from the packages that make up Jupyter and nbgrader
        "IPython", "bs4", "nbclient", "nbconvert", "nbformat", "traitlets", "jinja2", "sqlalchemy",
    }  # fmt: skip
    distributed_as = {"sklearn": "scikit-learn"}
    needed = {distributed_as.get(name, name) for name in imported - ours - through}
    assert needed <= {line.split("==")[0] for line in requirements()}
