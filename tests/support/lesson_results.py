"""Each lesson is run once, and what came of it is kept until something changes that the run depends on."""

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from browser import ROOT
from nbformat import NotebookNode

from autograder import settings
from autograder.import_graph import closure

KEPT = ROOT / ".lesson-runs"
THE_RUN = ("browser.py", "explorer_tour.py", "lesson_run.py")  # the tests' own code that makes a result


UNPROVED = ".unproved"  # the end of a result's name as long as not every promise was found kept


@dataclass(frozen=True)
class Result:
    """What a run left behind: the notebook as JupyterLab saved it, and the report of what was seen."""

    folder: Path
    notebook: NotebookNode
    report: dict

    def proved(self) -> "Result":
        """Keeps the result for the next time the tests run, instead of the lesson's older ones."""
        for older in KEPT.glob(f"{self.folder.name.partition('-')[0]}-*"):
            if older != self.folder:
                shutil.rmtree(older)
        return self._renamed(self.folder.name.removesuffix(UNPROVED))

    def disproved(self) -> "Result":
        """Leaves the result to be looked at; it is never used again."""
        return self._renamed(self.folder.name.removesuffix(UNPROVED) + UNPROVED)

    def _renamed(self, name: str) -> "Result":
        return replace(self, folder=self.folder.rename(self.folder.with_name(name)))


def read(folder: Path) -> Result:
    """The result in a folder."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return Result(folder, nbformat.read(folder / "lesson.ipynb", as_version=4), report)


def kept(unit: str, key: str) -> Result | None:
    """The proved result of a lesson in the state that `key` stands for; COURSE_FRESH=1 asks for a new one."""
    folder = KEPT / f"{unit}-{key}"
    return read(folder) if folder.exists() and os.environ.get("COURSE_FRESH") != "1" else None


def made(unit: str, key: str, run: Callable[[Path], dict]) -> Result:
    """A new result: `run(file)` runs the lesson, writes the notebook with its outputs there, and returns the report."""
    folder = KEPT / f"{unit}-{key}{UNPROVED}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    report = {"lesson": unit, **run(folder / "lesson.ipynb")}
    text = json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    return read(folder)


def state(unit: str, bundle: Path, how: str) -> str:
    """A digest of all that a lesson's run depends on, from the unpacked bundle; `how` says who opens the notebook."""
    digest = hashlib.sha256(f"{how} {platform.python_version()} {platform.machine()}".encode())
    for file in [*(bundle / name for name in parts(unit, bundle)), *(Path(__file__).parent / one for one in THE_RUN)]:
        digest.update(f"\0{file.name}\0".encode() + (file.read_bytes() if file.exists() else b"missing"))
    return digest.hexdigest()[:20]


def parts(unit: str, bundle: Path) -> list[Path]:
    """The files of the bundle that a lesson's run may read: notebook, imports and data, stored results, pins."""
    twin = settings.LESSON_TWINS / f"{unit}.py"
    modules = {file.relative_to(ROOT) for file in closure([twin]) if file != twin}
    data = {file.relative_to(bundle) for file in (bundle / "utils").rglob("*.*") if file.suffix not in (".py", ".pyc")}
    if Path("utils/check.py") not in modules:
        data = {file for file in data if file.parent.name != "packs"}  # of self-checks, which change often
    stored = {file.relative_to(bundle) for file in (bundle / "notebooks" / "stored").glob(f"{unit}*.json")}
    return sorted({Path("notebooks", f"{unit}.ipynb"), Path("requirements.txt")} | modules | data | stored)
