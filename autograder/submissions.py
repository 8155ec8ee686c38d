"""Finds a class's submissions and reads them, whatever state their files are in."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.reader import NotJSONError

from autograder.course import class_folder

MAX_BYTES = 50_000_000


@dataclass(frozen=True)
class Submission:
    """One student's notebook for a unit, or a sentence that says why there is none to grade."""

    student: str
    unit: str
    notebook: nbformat.NotebookNode | None = None
    missing: str = ""
    malformed: str = ""


def students(unit: str, roster: list[str] = ()) -> list[str]:
    """Everyone who handed in a folder or is on the roster."""
    folder = class_folder() / "submitted"
    handed_in = [entry.name for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []
    return sorted({*handed_in, *roster})


def read(student: str, unit: str) -> Submission:
    """Reads one submission; every fault of the file becomes a sentence, never an exception."""
    file = class_folder() / "submitted" / student / unit / f"{unit}.ipynb"
    if not file.is_file() or file.is_symlink():
        found = sorted(other.name for other in file.parent.glob("*.ipynb")) if file.parent.is_dir() else []
        aside = f" There is {', '.join(found)}; rename it." if found else ""
        return Submission(student, unit, missing=f"No notebook {unit}.ipynb was handed in.{aside}")
    try:
        if file.stat().st_size > MAX_BYTES:
            return Submission(student, unit, malformed=f"The notebook is larger than {MAX_BYTES // 1_000_000} MB.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # repeated cell ids and the like are repaired, and reported, later
            notebook = nbformat.reads(file.read_bytes().decode("utf-8-sig"), as_version=4)
        return Submission(student, unit, notebook=_sound(notebook))
    except UnicodeDecodeError:
        fault = "The notebook is not text in UTF-8: it was damaged, or saved as something else."
    except (NotJSONError, RecursionError):
        fault = "The notebook is not JSON: it was cut off or damaged, perhaps by an upload that broke off."
    except Exception as error:  # nbformat raises whatever a foreign structure makes it stumble over
        fault = f"The file is no notebook that can be read ({type(error).__name__})."
    return Submission(student, unit, malformed=f"{fault} Open it in JupyterLab, save it again and hand that in.")


def _sound(notebook):
    """The notebook with each cell in the form that later steps rely on; raises where it cannot be brought into it."""
    if not isinstance(notebook.get("cells"), list):
        raise TypeError("no list of cells")
    for cell in notebook.cells:
        cell.source = "".join(cell.source) if isinstance(cell.source, list) else str(cell.source)
        cell.metadata = cell.metadata if isinstance(cell.get("metadata"), dict) else nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type in ("code", "markdown", "raw")]
    notebook.metadata = nbformat.from_dict({"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}})
    return notebook


def read_all(unit: str, roster: list[str], only: str | None = None) -> list[Submission]:
    """All submissions of a unit, in the order of the students' names."""
    return [read(student, unit) for student in students(unit, roster) if only in (None, student)]


def write_atomically(file: Path, text: str) -> Path:
    """Writes a text file so that a reader sees the old one or the new one, never half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)
    return file
