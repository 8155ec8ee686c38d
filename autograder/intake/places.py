"""Where a student's files lie: the unit's folder in any spelling, the files around it, and their bytes; no link is followed."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path, PurePosixPath

from autograder import settings
from autograder.intake.guard import guarded, reason

MAX_BYTES = 100_000_000  # the most bytes of a notebook, outputs included
MAX_DEPTH, MAX_FILES = 7, 500  # how far a folder is searched, and how many of its files are looked at
MAX_ELSEWHERE = 1500  # the most files of a student's other folders that are looked at
SECRET = "submission_secret.txt"  # a file of nbgrader's exchange: whoever has its text finds the feedback
IGNORED = ("timestamp.txt", SECRET, ".*", "__pycache__", "__MACOSX", "*.pyc")
CHECKPOINTS = (".ipynb_checkpoints", "*-checkpoint.ipynb", ".~*.ipynb")  # what Jupyter keeps of an earlier state
_PLACEHOLDER = ".*.icloud"  # stands for a file that was never fetched from iCloud

_NUMBERED = "unit|assignments?|homework|hw|exercises?|ex|sheet|task|lab|week|ps|problemset|blatt|uebung|übung|aufgabe"
_NUMBER = re.compile(rf"^(?:{_NUMBERED})?[\W_]*0*(\d{{1,2}})(?!\d)", re.IGNORECASE)
_DATE = re.compile(r"^\d{1,4}[-._]\d{1,2}[-._]\d{1,4}")


def plain(name: str) -> str:
    """A file's name as text that can be printed and stored, whatever bytes it is made of."""
    text = name.encode("utf-8", "replace").decode()
    return "".join(character if character.isprintable() else "�" for character in text)[:100]


def is_usable(name: str) -> bool:
    """Whether a name can be a folder's in each place where the kit and nbgrader write; they pass over hidden folders there."""
    return bool(name) and plain(name) == name and not name.startswith(".") and "/" not in name


def listed(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(plain, names[:3])) + more


@lru_cache(maxsize=4096)
def unit_of(name: str, units: tuple[str, ...]) -> str | None:
    """The unit that the name of a file or folder says, in whatever spelling; None if it says none.

    "Assignment 4", "hw4", "04", "04-attention_layer (1)" and "AttentionLayer" all say unit 04_attention_layer.
    """
    words = _words(name)
    for unit in units:
        parts = _words(unit[3:])
        if any(words[at : at + len(parts)] == parts for at in range(len(words))) or "".join(words) == "".join(parts):
            return unit
    number = None if _DATE.match(name) else _NUMBER.match(name)
    return next((unit for unit in units if number and int(unit[:2]) == int(number[1])), None)


def units() -> tuple[str, ...]:
    return tuple(settings.units())


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", name.casefold())


def unit_folder(home: Path, unit: str) -> Path:
    """A student's folder for a unit, also where its name is spelled in another way."""
    if not (home / unit).exists() and home.is_dir() and not home.is_symlink():
        folders = sorted(entry.name for entry in os.scandir(home) if entry.is_dir() and not entry.name.startswith("."))
        same_spelling = [name for name in folders if _words(name) == _words(unit)]
        return home / (same_spelling or [name for name in folders if unit_of(name, units()) == unit] or [unit])[0]
    return home / unit


@dataclass(frozen=True)
class Places:
    """A student's files, links left out.

    Attributes:
        near: files that may have been meant for the unit: in its folder first, then elsewhere, not under another unit's name.
        far: files under another unit's name, and saved states that Jupyter keeps; looked at where nothing near holds work.
        placeholders: hidden files that stand for files that were never fetched from a cloud.
    """

    near: list[Path]
    far: list[Path]
    placeholders: list[Path]


def places(home: Path, folder: Path, unit: str) -> Places:
    """The files in a student's home, sorted by where they lie."""
    own = list(_regular_files(folder))
    others = _files_elsewhere(home, folder)
    hidden = [file for file in (*own, *others) if fnmatch(file.name, _PLACEHOLDER)]
    saved = [file for file in (*own, *others) if _is_checkpoint(file)]
    all_units = units() if others else ()
    away = {file for file in others if _names_another_unit(file.relative_to(home), unit, all_units)} | {*saved}
    near = [file for file in (*own, *others) if file not in away and file not in hidden]
    return Places(near, [file for file in (*others, *saved) if file in away and file not in hidden], hidden)


def _files_elsewhere(home: Path, folder: Path) -> list[Path]:
    """What lies in a student's home, not in the unit's folder; each folder of it is searched for itself."""
    if not home.is_dir():
        return []
    files = [file for file in _regular_files(home, 1)]
    inner = [Path(entry.path) for entry in _entries(home) if entry.is_dir(follow_symlinks=False)]
    for place in inner[:MAX_FILES]:
        if place != folder and len(files) < MAX_ELSEWHERE:
            files += _readable_files(place)
    return files


@guarded(lambda *_: [])
def _readable_files(place: Path) -> list[Path]:
    return list(_regular_files(place))


def _names_another_unit(inside: Path, unit: str, all_units: tuple[str, ...]) -> bool:
    named_units = {unit_of(part, all_units) for part in inside.parts}
    return unit not in named_units and named_units != {None}


def _is_checkpoint(file: Path) -> bool:
    return any(fnmatch(file.name, pattern) for pattern in CHECKPOINTS)


def is_ignored(name: str) -> bool:
    """Whether a file or folder of this name is no work of a student's."""
    if name == ".." or any(fnmatch(name, pattern) for pattern in (*CHECKPOINTS, _PLACEHOLDER)):
        return False
    return any(fnmatch(name, pattern) for pattern in IGNORED)


def _entries(folder: Path) -> list[os.DirEntry]:
    if not folder.is_dir() or folder.is_symlink():
        return []
    entries = [entry for entry in os.scandir(folder) if not is_ignored(entry.name) and not entry.is_symlink()]
    return sorted(entries, key=lambda entry: (".ipynb" not in entry.name.lower(), entry.name))


def _regular_files(folder: Path, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """The regular files below a folder, nearest and notebooks first; links, devices and pipes are passed over."""
    count, level = 0, [folder]
    for _ in range(depth):
        inner = []
        for place in level:
            for entry in _entries(place):
                if entry.is_dir(follow_symlinks=False):
                    inner.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False) and (place.name != CHECKPOINTS[0] or ".ipynb" in entry.name):
                    yield Path(entry.path)
                    count += 1
                if count >= MAX_FILES:
                    return
        level = inner


def is_notebook(name: str) -> bool:
    """Whether a file's name is a notebook's, also where a download or a copy has put something behind the ending."""
    return ".ipynb" in [suffix.lower().split(" ")[0] for suffix in PurePosixPath(name).suffixes[-2:]]


@guarded(lambda error, file, *_: (None, f"The notebook cannot be read ({reason(error)})."))
def read(file: Path, most: int | None = None) -> tuple[bytes | None, str]:
    """A file's bytes, without following a link that took its place meanwhile.

    Args:
        most: how many bytes are enough; without it the whole file is read, and the sentence says if it is too large.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return None, "What was handed in is no file."
        data = opened.read(most or MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return None, f"The notebook is larger than {MAX_BYTES // 1_000_000} MB; clear its outputs and hand it in again."
    return data, ""
