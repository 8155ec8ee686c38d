"""Which tests belong together on one worker, in which order they run, and which of them a change touches."""

import re
import subprocess
from pathlib import Path

import pytest

from autograder.import_graph import closure

ROOT = Path(__file__).resolve().parent.parent.parent
# what takes minutes in one piece begins at once; the bank comes last, in small pieces, so that all workers end together
FIRST = ("doors", "trials", "grading", "sandbox", "gradebook", "intake", "units", "utils", "authoring", "reports")
BY_UNIT = ("test_bank", "test_units", "test_without_double")  # minutes for all units, and nothing that units share
SOURCES = {  # what a file that is no module belongs to: tests of these folders look at it
    "notebooks": ("doors", "authoring", "bank", "utils", "grading", "intake"),
    "solutions": ("doors", "authoring", "units", "bank", "grading", "intake"),
    "assignments": ("doors", "authoring", "units", "grading", "intake"),
    "utils": ("doors", "authoring", "bank", "utils"),
    "docs": ("doors", "trials", "authoring"),
    "autograder": ("reports", "authoring"),
}


def group(items: list) -> None:
    """Marks what must stay on one worker: a file's tests, or those of one unit, and all that look at one graded class."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_group(item)))


def _group(item) -> str:
    if "graded" in item.fixturenames and item.path.name != "test_browser.py":
        return "a graded class"
    unit = getattr(item, "callspec", None) and item.path.stem in BY_UNIT and item.callspec.params.get("unit")
    return f"{item.path.stem} of {unit}" if unit else item.path.stem


def order(items: list) -> None:
    """Sorts tests so that what takes long begins first; within a folder they stay as they are."""
    folders = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: folders.get(_folder(item.path), len(FIRST)))


def _folder(file: Path) -> str:
    """The folder of the tests that a file lies in, at whatever depth."""
    return file.relative_to(ROOT / "tests").parts[0]


def touched(items: list) -> tuple[list, list]:
    """The tests that a change touches and that take seconds; and the others.

    A change is what git sees of the working tree, against the commit before. A test is touched where its file, or what the
    file imports of the course, has changed; of an exercise, those of its unit alone.
    """
    changed = _changed()
    units = {found[0] for file in changed if (found := re.search(r"\d\d_[a-z_]+", file.as_posix()))}
    only_units = bool(changed) and all(re.search(r"\d\d_[a-z_]+", file.as_posix()) for file in changed)
    reached: dict[Path, bool] = {}
    kept, left = [], []
    for item in items:
        if item.path not in reached:
            reached[item.path] = _reaches(item.path, changed)
        unit = re.search(r"\d\d_[a-z]+_[a-z_]+", item.name)
        elsewhere = only_units and unit and unit[0] not in units
        slow = item.get_closest_marker("slow") or item.get_closest_marker("browser")
        (left if slow or elsewhere or not reached[item.path] else kept).append(item)
    return kept, left


def _changed() -> set[Path]:
    commands = (["diff", "--name-only", "HEAD~1"], ["ls-files", "--others", "--exclude-standard"])
    names = [
        subprocess.run(["git", *one], cwd=ROOT, capture_output=True, text=True, check=True).stdout for one in commands
    ]
    return {Path(name) for name in "".join(names).splitlines()}


def _is_imported(file: Path) -> bool:
    return file.suffix == ".py" and file.parts[0] in ("utils", "autograder", "tests") and "templates" not in file.parts


def _reaches(file: Path, changed: set[Path]) -> bool:
    support = [*(ROOT / "tests" / "support").glob("*.py"), ROOT / "tests" / "conftest.py"]
    named = [one for one in support if re.search(rf"\b{one.stem}\b", file.read_text(encoding="utf-8"))]
    runs = [ROOT / "autograder" / "__main__.py"] if "kit" in file.read_text(encoding="utf-8") else []
    known = {one.relative_to(ROOT) for one in closure([file, *named, *runs])}
    folder = _folder(file)
    data = any(folder in SOURCES.get(one.parts[0], ()) for one in changed if not _is_imported(one))
    return bool(known & changed) or data or any(len(one.parts) == 1 for one in changed)
