"""Finds a class's submissions and reads them, whatever state their files are in; nothing is followed out of a folder."""

import base64
import hashlib
import os
import stat
import warnings
import zipfile
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import nbformat
from nbformat.reader import NotJSONError

from autograder import course

MAX_BYTES = 50_000_000  # of a notebook
MAX_EXTRA = 5_000_000  # of an extra file that travels
MAX_DEPTH, MAX_FILES = 4, 500  # how far a submission's folder is searched
IGNORED = ("timestamp.txt", ".*", "__pycache__", "__MACOSX", "*.pyc", "*-checkpoint.ipynb")


@dataclass(frozen=True)
class Submission:
    """One student's notebook for a unit as bytes, or a sentence that says why there is none.

    Attributes:
        data: the notebook's bytes; None if there is none.
        missing: why there is none.
        malformed: why what there is cannot be used.
        notes: what was put right to find it, in sentences for instructor and student.
        files: extra files that travel with it, name -> base64.
    """

    student: str
    unit: str
    data: bytes | None = None
    missing: str = ""
    malformed: str = ""
    notes: tuple = ()
    files: dict = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """What tells this submission from another version of it."""
        parts = [self.data or b"", self.missing.encode(), self.malformed.encode()]
        parts += [f"{name}:{data}".encode() for name, data in sorted(self.files.items())]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


def students(unit: str, roster: list[str] = ()) -> list[str]:
    """Everyone who handed in a folder or is on the roster."""
    folder = course.class_folder() / "submitted"
    entries = [one.name for one in os.scandir(folder) if one.is_dir()] if folder.is_dir() else []
    handed_in = [name for name in entries if not name.startswith(".") and _plain(name) == name]
    return sorted({*handed_in, *roster})


def _plain(name: str) -> str:
    """A file's name as text that can be printed and stored, whatever bytes it is made of."""
    text = name.encode("utf-8", "replace").decode()
    return "".join(one if one.isprintable() else "�" for one in text)[:100]


def find_all(unit: str, roster: list[str], only: str | None = None) -> list[Submission]:
    """All submissions of a unit, in the order of the students' names."""
    return [find(student, unit) for student in students(unit, roster) if only in (None, student)]


def find(student: str, unit: str) -> Submission:
    """Finds one submission: under its own name, else renamed, in a folder below, or in a zip file."""
    home = course.class_folder() / "submitted" / student
    folder = home / unit
    if home.is_symlink() or folder.is_symlink():
        return Submission(student, unit, missing="The folder handed in is a symbolic link; links are not followed.")
    try:
        files = _regular_files(folder)
        file, notes = _choose(files, folder, unit)
        if file is not None:
            data, fault = _read(file)
            found = Submission(student, unit, data, malformed=fault)
        else:
            found, file = _in_a_zip(student, unit, files)
        if found.data is None and not found.malformed:
            return found
        extra, left_out = _extras(folder, files, file)
    except OSError as error:
        return Submission(student, unit, malformed=f"The folder handed in cannot be read ({error.strerror}).")
    notes = [
        *notes,
        *found.notes,
        *([f"{_listed(left_out)} lay beside the notebook and was left out."] if left_out else []),
    ]
    return Submission(student, unit, found.data, malformed=found.malformed, notes=tuple(notes), files=extra)


def _regular_files(folder: Path) -> list[Path]:
    """The regular files below a folder, nearest first; symbolic links, devices and pipes are passed over."""
    found, level = [], [folder]
    for _ in range(MAX_DEPTH):
        inner = []
        for place in level:
            if not place.is_dir() or place.is_symlink():
                continue
            for one in sorted(os.scandir(place), key=lambda entry: entry.name):
                if any(fnmatch(one.name, pattern) for pattern in IGNORED) or one.is_symlink():
                    continue
                if one.is_dir(follow_symlinks=False):
                    inner.append(Path(one.path))
                elif one.is_file(follow_symlinks=False):
                    found.append(Path(one.path))
                if len(found) >= MAX_FILES:
                    return found
        level = inner
    return found


def _choose(files: list[Path], folder: Path, unit: str) -> tuple[Path | None, list[str]]:
    """The notebook to grade among the files, and what is to be said about the choice."""
    notebooks = [file for file in files if file.suffix.lower() == ".ipynb"]
    if not notebooks:
        return None, []
    asked = folder / f"{unit}.ipynb"
    if asked in notebooks:
        return asked, []
    same = [file for file in notebooks if unit[:2] in file.stem or unit[3:] in file.stem]
    chosen = (same or notebooks)[0]
    others = f", the first of {len(notebooks)} notebooks" if len(notebooks) > 1 else ""
    return chosen, [
        f"The notebook was called {_plain(str(chosen.relative_to(folder)))}{others}; it was taken for {unit}.ipynb."
    ]


def _read(file: Path) -> tuple[bytes | None, str]:
    """A file's bytes, without following a link that took its place meanwhile."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return None, "What was handed in is no file."
        data = opened.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return None, f"The notebook is larger than {MAX_BYTES // 1_000_000} MB; clear its outputs and hand it in again."
    return data, ""


def _in_a_zip(student: str, unit: str, files: list[Path]) -> tuple[Submission, Path | None]:
    """The notebook in the first zip file, read in memory: nothing is unpacked, so no path in it leads anywhere."""
    for file in files:
        if file.suffix.lower() != ".zip":
            continue
        try:
            with zipfile.ZipFile(file) as archive:
                inside = [one for one in archive.infolist() if one.filename.endswith(".ipynb") and not one.is_dir()]
                inside.sort(key=lambda one: (Path(one.filename).name != f"{unit}.ipynb", one.filename.count("/")))
                if inside and inside[0].file_size <= MAX_BYTES:
                    with archive.open(inside[0]) as opened:
                        data = opened.read(MAX_BYTES)
                    note = f"The notebook was handed in inside {_plain(file.name)}; it was taken out of it."
                    return Submission(student, unit, data, notes=(note,)), file
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, ValueError, EOFError):
            return Submission(
                student, unit, malformed=f"The archive {_plain(file.name)} cannot be read; hand in the notebook."
            ), file
    names = [file.name for file in files]
    aside = f" There is {_listed(names)}, which is no notebook." if names else ""
    return Submission(student, unit, missing=f"No notebook {unit}.ipynb was handed in.{aside}"), None


def _extras(folder: Path, files: list[Path], notebook: Path | None) -> tuple[dict, list[str]]:
    """The extra files that pyproject.toml lists, as base64, and the names of those that it does not."""
    listed = course.settings().get("extra_files", [])
    travel, left_out = {}, []
    for file in files:
        if file == notebook:
            continue
        if file.parent == folder and any(fnmatch(file.name, pattern) for pattern in listed):
            data, _ = _read(file)
            if data is not None and len(data) <= MAX_EXTRA:
                travel[file.name] = base64.b64encode(data).decode()
                continue
        left_out.append(file.name)
    return travel, left_out


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(_plain, names[:3])) + more


def parse(data: bytes) -> tuple[nbformat.NotebookNode | None, str, list[str]]:
    """A notebook from its bytes; or a sentence on why it is none; and what had to be put right.

    Every fault of the file becomes a sentence, never an exception.
    """
    try:
        text, notes = _decode(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # repeated cell ids and the like are repaired, and reported, later
            return *_sound(nbformat.reads(text, as_version=4), notes), notes
    except UnicodeDecodeError:
        fault = "The notebook is not text in UTF-8: it was damaged, or saved as something else."
    except (NotJSONError, RecursionError):
        fault = "The notebook is not JSON: it was cut off or damaged, perhaps by an upload that broke off."
    except Exception as error:  # nbformat raises whatever a foreign structure makes it stumble over
        fault = f"The file is no notebook that can be read ({type(error).__name__})."
    return None, f"{fault} Open it in JupyterLab, save it again and hand that in.", []


def _decode(data: bytes) -> tuple[str, list[str]]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16"), ["The notebook was saved as UTF-16; it was read as such."]
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text = data.decode("cp1252")
        if not text.lstrip().startswith("{"):
            raise
        return text, ["The notebook was not in UTF-8; it was read as Windows text, and some characters may be wrong."]


def _sound(notebook, notes: list[str]):
    """The notebook with each cell in the form that later steps rely on; raises where it cannot be brought into it."""
    if not isinstance(notebook.get("cells"), list):
        raise TypeError("no list of cells")
    size = 0
    for cell in notebook.cells:
        cell.source = "".join(cell.source) if isinstance(cell.source, list) else str(cell.source)
        cell.metadata = cell.metadata if isinstance(cell.get("metadata"), dict) else nbformat.from_dict({})
        if cell.cell_type == "code":
            size += len(str(cell.get("outputs", "")))
            cell.outputs, cell.execution_count = [], None
    if size > 5_000_000:
        notes.append(
            f"The outputs of the notebook took {size // 1_000_000} MB; they were dropped, as outputs are made anew."
        )
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type in ("code", "markdown", "raw")]
    kernel = notebook.metadata.get("kernelspec", {}) if isinstance(notebook.get("metadata"), dict) else {}
    language = kernel.get("language") or kernel.get("name") if isinstance(kernel, dict) else None
    if isinstance(language, str) and language and "python" not in language.lower() and kernel.get("name") != "python3":
        notes.append(f"The notebook asked for the kernel {language[:40]!r}; it was run with the course's Python.")
    notebook.metadata = nbformat.from_dict({"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}})
    return notebook, ""


def write_atomically(file: Path, text: str) -> Path:
    """Writes a text file so that a reader sees the old one or the new one, never half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)
    finally:
        beside.unlink(missing_ok=True)
    return file
