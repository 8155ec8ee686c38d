"""What students receive: it gives nothing away, and publishing never overwrites what somebody else wrote."""

import ast
import inspect
import io
import os
import re
import zipfile
from datetime import datetime
from functools import cache

import nbformat
import pytest
from conftest import ROOT, UNIT
from nbclient import NotebookClient
from nbgrader.validator import Validator

from autograder import settings
from autograder.authoring.bundle import bundle, write_zip
from autograder.bank import catalogue
from autograder.bank.cases.drawing import VISIBLE_SEED, draw

FILES = bundle()
WORDS = ("BEGIN SOLUTION", "BEGIN HIDDEN", "BEGIN MARK SCHEME", "autograder.", "import autograder", "from autograder")


def telling_lines(text: str) -> set:
    """The lines of code that would help somebody who should write them."""
    lines = {re.sub(r"\s+#.*", "", line).strip() for line in text.splitlines()}
    dull = re.compile(
        r"(return|super|def|class|@|#|import|from|\"\"\")\W*\w*\W*$|self\.W_\w = nn\.Linear|raise|E = |if scaled"
    )
    return {
        line
        for line in lines
        if len(line) > 25 and not dull.match(line) and "Float[" not in line and "def " not in line
    }


def solution_regions() -> dict:
    regions = {}
    for file in settings.SOLUTIONS.glob("*/*.ipynb"):
        for cell in nbformat.read(file, as_version=4).cells:
            for region in re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, flags=re.DOTALL):
                regions.setdefault(file.stem, "")
                regions[file.stem] += region
    return regions


@cache
def given_out() -> str:
    """All text of the bundle but the lessons, which teach what the assignments ask for on single examples.

    Left out are the numbers of self-checks: strings of Base64 alone, in which no line of code can be read.
    """
    texts = [
        data.decode()
        for name, data in FILES.items()
        if name.endswith((".py", ".ipynb", ".json", ".md", ".txt")) and not name.startswith("notebooks/")
    ]
    return re.sub(r'"[A-Za-z0-9+/]{24,}={0,2}"', '""', "\n".join(texts)).replace('\\"', '"')


@pytest.mark.parametrize("unit", list(catalogue.units()))
def test_no_line_of_a_solution_is_given_out(unit):
    text = given_out()
    lines = telling_lines(solution_regions()[unit])
    assert len(lines) > 10, "there is something to look for"
    assert not [line for line in lines if line in text]


@pytest.mark.parametrize("unit", list(catalogue.units()))
def test_no_line_of_a_reference_or_mistake_is_given_out(unit):
    text = given_out()
    for one in catalogue.units()[unit]:
        for made in [one.reference, *(v.object for v in one.alternatives + one.misconceptions)]:
            source = inspect.getsource(made.forward if isinstance(made, type) else made)
            body = source.split('"""')[-1] if '"""' in source else source.partition(":\n")[2]
            assert not [line for line in telling_lines(body) if line in text]


@pytest.mark.parametrize("unit", list(catalogue.units()))
def test_no_number_that_grading_draws_is_given_out(unit):
    """Sizes and kinds of cases are known; the numbers come from the class's secret."""
    for one in catalogue.units()[unit]:
        shipped, graded, others = (_random(one, seed) for seed in (VISIBLE_SEED, "a class", "another class"))
        assert shipped & graded <= others, one.name  # such as a code book


def _random(exercise, seed: str) -> set[bytes]:
    """The arrays of an exercise's cases that hold more than a few numbers with fractions."""
    arrays = [array for case in draw(exercise, seed, grading=seed != VISIBLE_SEED) for array in case.arrays]
    return {one.tobytes() for one in arrays if one.dtype.kind == "f" and len(set(one.reshape(-1)[:99].tolist())) > 8}


def test_no_marker_of_the_instructors_side_is_given_out():
    for name, data in FILES.items():
        assert not [word for word in WORDS if word in data.decode(errors="ignore")], name


def test_the_bundle_holds_no_instructors_file():
    assert all(
        name.startswith(
            ("utils/", "assignments/", "notebooks/", "milestones/", "requirements.txt", "README.md", "docs/glossary.md")
        )
        for name in FILES
    )
    assert f"assignments/{UNIT}/{UNIT}.ipynb" in FILES and f"notebooks/{UNIT}.ipynb" in FILES
    assert not [name for name in FILES if name.startswith("notebooks/text")]


def test_utils_never_imports_the_autograder():
    for file in (ROOT / "utils").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "autograder"], file


def test_release_packs_the_bundle_the_same_way_twice(kit, class_folder):
    assert kit("release", "4").returncode == 0
    archive = class_folder / "release" / "attention-course.zip"
    first = archive.read_bytes()
    assert kit("release", UNIT).returncode == 0
    assert archive.read_bytes() == first
    with zipfile.ZipFile(archive) as opened:
        assert {name.removeprefix("attention-course/") for name in opened.namelist()} == set(FILES)
        assert {one.date_time[0] for one in opened.infolist()} == {datetime.now().year}


def dates(file) -> dict[str, str]:
    with zipfile.ZipFile(file) as opened:
        return {one.filename.partition("/")[2]: datetime(*one.date_time).isoformat() for one in opened.infolist()}


def test_in_the_zip_a_file_has_the_date_of_its_last_change(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = write_zip({"README.md": b"read", "notes.md": b"old"}, tmp_path / "first.zip")
    assert dates(first) == dict.fromkeys(["README.md", "notes.md"], "2023-11-14T22:13:20")
    again = write_zip({"README.md": b"read", "notes.md": b"old"}, tmp_path / "elsewhere" / "again.zip")
    assert again.read_bytes() == first.read_bytes()

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    write_zip({"README.md": b"read", "notes.md": b"new", "more.md": b""}, first)
    new = "2027-01-15T08:00:00"
    assert dates(first) == {"README.md": "2023-11-14T22:13:20", "notes.md": new, "more.md": new}


def test_a_zip_without_dates_or_half_written_is_packed_anew(tmp_path):
    old = tmp_path / "old.zip"
    with zipfile.ZipFile(old, "w") as opened:
        opened.writestr(zipfile.ZipInfo("attention-course/README.md"), b"read")
    assert dates(old)["README.md"].startswith("1980")
    assert not dates(write_zip({"README.md": b"read"}, old))["README.md"].startswith("1980")
    old.write_bytes(old.read_bytes()[:40])
    assert set(dates(write_zip({"README.md": b"read"}, old))) == {"README.md"}


def test_publishing_updates_its_own_files_and_leaves_all_others(kit, tmp_path):
    target = tmp_path / "students"
    assert kit("release", UNIT, "--publish", target).returncode == 0
    (target / "notes.txt").write_text("mine")
    written = os.stat(target / "README.md").st_mtime_ns
    assert kit("release", UNIT, "--publish", target).returncode == 0
    assert (target / "notes.txt").read_text() == "mine"
    assert os.stat(target / "README.md").st_mtime_ns == written, "what has not changed keeps its date"

    (target / "README.md").write_text("changed by hand")
    refused = kit("release", UNIT, "--publish", target)
    assert refused.returncode == 2
    assert "README.md was not written by a release" in refused.stderr
    assert (target / "README.md").read_text() == "changed by hand"


def test_a_notebook_that_is_run_as_a_whole_goes_on_after_a_failing_check(tmp_path, monkeypatch):
    """Nothing is begun: every check says so in red, `progress()` calls nothing wrong, and validation still fails."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    file = tmp_path / f"{UNIT}.ipynb"
    file.write_bytes((settings.ASSIGNMENTS / UNIT / file.name).read_bytes())
    nb = nbformat.read(file, as_version=4)
    NotebookClient(nb, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    errors = [out.ename for cell in nb.cells for out in cell.get("outputs", []) if out.output_type == "error"]
    checks = sum(cell.source.startswith("check(") for cell in nb.cells)
    assert errors == ["CheckFailed"] * checks and checks > 5
    told = "".join(out.get("text", "") for out in nb.cells[-1].outputs)
    assert told.count("not begun") == checks - 1 and "✗" not in told, "the stretch has no points"
    validator = Validator()
    validator.stream = io.StringIO()
    validator.validate_and_print(str(file))
    assert "VALIDATION FAILED" in validator.stream.getvalue()
