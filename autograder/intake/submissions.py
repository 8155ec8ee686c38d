"""Finds a student's submission, whatever its file is called and wherever it lies; no link is followed."""

import base64
import hashlib
import os
import stat
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path

from autograder import settings
from autograder.intake.archive import notebook_in
from autograder.intake.guard import guarded, reason
from autograder.intake.timestamp import read_time

MAX_BYTES = 100_000_000  # of a notebook, outputs included
MAX_EXTRA = 5_000_000  # of an extra file that travels
MAX_DEPTH, MAX_FILES, LOOKED_AT = (
    6,
    500,
    5,
)  # how far a submission's folder is searched; how many notebooks are compared
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


def _plain(name: str) -> str:
    """A file's name as text that can be printed and stored, whatever bytes it is made of."""
    text = name.encode("utf-8", "replace").decode()
    return "".join(one if one.isprintable() else "�" for one in text)[:100]


def _closed(error, student: str, unit: str) -> Submission:
    return Submission(student, unit, malformed=f"The folder handed in cannot be read ({reason(error)}).")


@guarded(_closed)
def find(student: str, unit: str) -> Submission:
    """Finds one submission: under its own name, else renamed, in a folder below, or in a zip file."""
    home = settings.class_folder() / "submitted" / student
    folder = _unit_folder(home, unit)
    asked = folder / f"{unit}.ipynb"
    if linked := [one for one in (home, folder, asked) if one.is_symlink()]:
        what = "notebook" if linked[0] == asked else "folder"
        return Submission(student, unit, missing=f"The {what} handed in is a symbolic link; links are not followed.")
    files = _regular_files(folder) or [file for file in _regular_files(home, 1) if _is_named(file, unit)]
    file, notes = _choose(files, folder, unit)
    if file is not None:
        data, fault = read(file)
        found = Submission(student, unit, data, malformed=fault)
    if file is None or (found.data or b"")[:4] == b"PK\x03\x04":
        found, file = _in_a_zip(student, unit, files if file is None else [file])
    if found.data is None and not found.malformed:
        return found
    extra, left_out = _extras(folder, files, file)
    aside = f"{_listed(left_out)} lay beside the notebook and {'was' if len(left_out) == 1 else 'were'} left out."
    unknown = _time(student, unit)[2]
    notes = [*notes, *found.notes, *([aside] if left_out else []), *([unknown] if unknown else [])]
    return Submission(student, unit, found.data, malformed=found.malformed, notes=tuple(notes), files=extra)


def handed_in_at(student: str, unit: str) -> tuple[datetime | None, str]:
    """When a submission was handed in, as nbgrader's timestamp.txt says, and that file's text; None if it cannot be told."""
    return _time(student, unit)[:2]


@guarded(lambda *_: (None, "", ""))
def _time(student: str, unit: str) -> tuple[datetime | None, str, str]:
    return read_time(_unit_folder(settings.class_folder() / "submitted" / student, unit) / "timestamp.txt")


def _unit_folder(home: Path, unit: str) -> Path:
    """A student's folder for a unit, also where its name is written in other case."""
    if not (home / unit).exists() and home.is_dir() and not home.is_symlink():
        same = sorted(one.name for one in os.scandir(home) if one.name.lower() == unit.lower())
        return home / (same or [unit])[0]
    return home / unit


def _is_named(file: Path, unit: str) -> bool:
    return _is_notebook(file) and (unit[:2] in file.name or unit[3:] in file.name.lower())


def _is_notebook(file: Path) -> bool:
    """Whether a file is called a notebook, also where a download has put another ending behind."""
    return ".ipynb" in [one.lower() for one in file.suffixes[-2:]]


def _regular_files(folder: Path, depth: int = MAX_DEPTH) -> list[Path]:
    """The regular files below a folder, nearest and notebooks first; links, devices and pipes are passed over."""
    found, level = [], [folder]
    for _ in range(depth):
        inner = []
        for place in level:
            if not place.is_dir() or place.is_symlink():
                continue
            for one in sorted(os.scandir(place), key=lambda entry: (".ipynb" not in entry.name.lower(), entry.name)):
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
    notebooks = [file for file in files if _is_notebook(file)]
    if not notebooks:
        return None, []
    asked = folder / f"{unit}.ipynb"
    if asked in notebooks:
        return asked, []
    likely = sorted(notebooks, key=lambda file: not _is_named(file, unit))[:LOOKED_AT]
    chosen = max(likely, key=_work_in)  # the first of those that hold most
    others = f", the first of {len(notebooks)} notebooks" if len(notebooks) > 1 else ""
    return chosen, [
        f"The notebook was called {_plain(os.path.relpath(chosen, folder))}{others}; it was taken for {unit}.ipynb."
    ]


def _work_in(file: Path) -> tuple[int, int]:
    """How much of an assignment a file seems to hold: its checks, and how little was left as it was handed out."""
    data = read(file)[0] or b""
    return data.count(b"check("), -data.count(b"raise NotImplementedError")


@guarded(lambda error, file: (None, f"The notebook cannot be read ({reason(error)})."))
def read(file: Path) -> tuple[bytes | None, str]:
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
        if file.suffix.lower() in (".zip", ".ipynb") and (found := _from_archive(file, student, unit)):
            return found, file
    names = [file.name for file in files]
    which = "which is no notebook" if len(names) == 1 else "none of which is a notebook"
    aside = f" There is {_listed(names)}, {which}." if names else ""
    return Submission(student, unit, missing=f"No notebook {unit}.ipynb was handed in.{aside}"), None


def _damaged(error, file: Path, student: str, unit: str) -> Submission:
    said = f"The archive {_plain(file.name)} cannot be read ({reason(error)}); hand in the notebook."
    return Submission(student, unit, malformed=said)


@guarded(_damaged)
def _from_archive(file: Path, student: str, unit: str) -> Submission | None:
    data, fault = notebook_in(file, f"{unit}.ipynb", MAX_BYTES, IGNORED)
    if data is None and not fault:
        return None
    note = f"The notebook was handed in inside {_plain(file.name)}; it was taken out of it."
    return Submission(student, unit, data, malformed=fault, notes=() if fault else (note,))


def _extras(folder: Path, files: list[Path], notebook: Path | None) -> tuple[dict, list[str]]:
    """The extra files that pyproject.toml lists, as base64, and the names of those that it does not."""
    listed = settings.table().get("extra_files", [])
    travel, left_out = {}, []
    for file in files:
        if file == notebook:
            continue
        if file.parent == folder and any(fnmatch(file.name, pattern) for pattern in listed):
            data, _ = read(file)
            if data is not None and len(data) <= MAX_EXTRA:
                travel[file.name] = base64.b64encode(data).decode()
                continue
        left_out.append(file.name)
    return travel, left_out


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(_plain, names[:3])) + more
