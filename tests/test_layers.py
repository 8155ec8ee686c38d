"""Imports run one way: from each package down to those below it, never back up, and in no circle."""

import ast

import pytest
from conftest import ROOT

from autograder.import_graph import closure, imported

LAYERS = (  # lowest first; what stands in one line may not know of each other
    ("utils",),
    ("autograder", "autograder/files.py"),
    ("autograder/settings.py",),
    ("autograder/import_graph.py",),
    ("autograder/bank", "autograder/bank/families"),
    ("autograder/exercises",),
    ("autograder/intake", "autograder/sandbox"),
    ("autograder/gradebook",),
    ("autograder/grading",),
    ("autograder/nbgrader_plugin", "autograder/reports", "autograder/authoring"),
    ("autograder/marking",),
    ("autograder/trials",),
    ("autograder/commands",),
    ("autograder/__main__.py",),
)
OWN = ("autograder/sandbox/inside",)  # may use utils alone: nothing else of the course is there, where it runs
BESIDE = {"__init__", "_shared", "practice"}  # in a unit's folder beside its exercises; _shared is for several of them
UNITS = sorted((ROOT / "autograder" / "exercises").glob("unit_*"))
FILES = sorted(
    file
    for folder in ("utils", "autograder")
    for file in (ROOT / folder).rglob("*.py")
    if "templates" not in file.parts
)


def name(file) -> str:
    return file.relative_to(ROOT).as_posix()


def layer(file) -> tuple[int, str]:
    """The number and the entry of the layer that a file belongs to: the entry that names most of its path."""
    path = name(file)
    if path == "autograder/__init__.py":
        return 1, "autograder"
    fitting = [
        (len(entry), number, entry)
        for number, entries in enumerate(LAYERS)
        for entry in entries
        if path == entry or (path.startswith(f"{entry}/") and entry != "autograder")
    ]
    assert fitting, f"{path} belongs to no layer: it lies beside the packages"
    return max(fitting)[1:]


def needed(file) -> list:
    """What a file imports, without the packages that it lies in itself."""
    return [one for one in imported(file) if one.parent not in file.parents or one.name != "__init__.py"]


def assigned(file) -> dict:
    """The names that a file gives to constants at its top, with these."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {one.targets[0].id: ast.literal_eval(one.value) for one in body if isinstance(one, ast.Assign)}


def defined(file) -> set[str]:
    """The functions and classes that a file defines at its top."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {one.name for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("file", FILES, ids=name)
def test_no_import_runs_back_up(file):
    number, entry = layer(file)
    for other in needed(file):
        its, known = layer(other)
        assert its <= number, f"{name(file)} imports {name(other)}, which lies above it"
        beside = its == number and known.split("/")[:2] != entry.split("/")[:2]
        assert not beside, f"{name(file)} imports {name(other)}, which lies beside it"


def test_no_files_import_each_other_in_a_circle():
    plain = [file for file in FILES if file.name != "__init__.py"]
    circles = [name(one) for one in plain if any(one in closure([other]) for other in imported(one) if other in plain)]
    assert circles == []


def test_utils_uses_nothing_of_the_instructors():
    outside = [name(one) for one in closure((ROOT / "utils").rglob("*.py")) if not name(one).startswith("utils/")]
    assert outside == []


@pytest.mark.parametrize("own", OWN)
def test_what_runs_beside_student_code_uses_utils_and_itself_alone(own):
    reached = [name(one) for one in closure((ROOT / own).rglob("*.py"))]
    packages = ("autograder/__init__.py", "autograder/sandbox/__init__.py")
    assert [one for one in reached if not one.startswith(("utils/", f"{own}/")) and one not in packages] == []


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_an_exercises_file_or_folder_bears_its_name(unit):
    exercises = assigned(unit / "__init__.py")["EXERCISES"]
    lying = {file.relative_to(unit).parts[0].removesuffix(".py") for file in unit.rglob("*.py")} - BESIDE
    assert lying == set(exercises)
    for exercise in exercises:
        file, folder = unit / f"{exercise}.py", unit / exercise
        declared = defined(file if file.exists() else folder / "declaration.py")
        assert exercise in declared, f"{exercise} is declared elsewhere than under its name"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_no_unit_imports_another(unit):
    others = [one for one in UNITS if one != unit]
    files = [file for file in FILES if unit in file.parents]
    taken = {name(one) for file in files for one in imported(file) if any(other in one.parents for other in others)}
    assert taken == set(), "what two units share belongs in bank/families"


def test_a_packages_init_says_what_lives_there_and_holds_no_code():
    for file in FILES:
        if file.name == "__init__.py" and name(file) != "autograder/__init__.py":
            first, *rest = ast.parse(file.read_text(encoding="utf-8")).body
            assert isinstance(first, ast.Expr) and len(first.value.value) > 40, (
                f"{name(file)} does not say what is inside"
            )
            assert all(isinstance(one, ast.Assign) for one in rest), f"{name(file)} holds code"


def test_every_module_says_in_its_first_line_what_it_is_for():
    assert [name(file) for file in FILES if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))] == []


def test_no_two_classes_share_a_name():
    where: dict[str, list] = {}
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            # a mistake or an alternative is called by what it does, in its exercise
            mistakes = "exercises" in file.parts
            if isinstance(node, ast.ClassDef) and not mistakes and not node.name.startswith("_"):
                where.setdefault(node.name, []).append(name(file))
    assert {one: files for one, files in where.items() if len(files) > 1} == {}
