"""What students hand in, for tests of how it is found: notebooks with so much work in them, archives, and files in folders."""

import io
import json
import zipfile
from functools import cache
from pathlib import Path

from conftest import ROOT, UNIT


@cache
def _cells(unit: str) -> tuple[str, dict[str, str]]:
    solution = json.loads((ROOT / "solutions" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"))
    lines = {
        cell["id"]: "".join(cell["source"]).splitlines() for cell in solution["cells"] if "nbgrader" in cell["metadata"]
    }
    marks = ("### BEGIN SOLUTION", "### END SOLUTION")
    given = {name: "\n".join(line for line in text if line.strip() not in marks) for name, text in lines.items()}
    return (ROOT / "assignments" / unit / f"{unit}.ipynb").read_text(encoding="utf-8"), given


def marked(unit: str = UNIT) -> list[str]:
    """The labels of a unit's exercises and written answers, in order."""
    cells = json.loads(released(unit))["cells"]
    return [cell["id"] for cell in cells if cell["metadata"].get("nbgrader", {}).get("solution")]


def released(unit: str = UNIT) -> str:
    return _cells(unit)[0]


def lesson(unit: str = UNIT) -> str:
    return (ROOT / "notebooks" / f"{unit}.ipynb").read_text(encoding="utf-8")


def solved(unit: str = UNIT, count: int = 99, note: str = "", **changed) -> str:
    """The assignment with its first `count` exercises and answers done; `note` tells one such notebook from another."""
    made, given = json.loads(released(unit)), _cells(unit)[1]
    done = marked(unit)[:count]
    for cell in made["cells"]:
        if cell["id"] in done:
            cell["source"] = changed.get(cell["id"], given[cell["id"]])
    made["metadata"]["note"] = note
    return json.dumps(made, ensure_ascii=False, indent=1)


def own(*sources: str) -> str:
    """A notebook of a student's own, of these code cells."""
    cells = [
        {"cell_type": "code", "source": one, "metadata": {}, "outputs": [], "execution_count": None} for one in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def zipped(files: dict, times: dict | None = None) -> bytes:
    """An archive of files; `times` gives when some were changed, as (year, month, day, hour, minute, second)."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, (times or {}).get(name, (2026, 11, 20, 12, 0, 0)))
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def put(class_folder: Path, files: dict, student: str = "ada") -> Path:
    """Lays files into a student's folder, by their paths in it."""
    home = class_folder / "submitted" / student
    for name, data in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return home
