"""What attacks have changed, left, written, reached, or carried to where it is read, once a class is graded."""

import base64
import hashlib
import json
import os
import re
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

import nbformat

from autograder import settings
from autograder.trials.attacks.kinds import UNIT, Attack
from autograder.trials.attacks.leaking import INPUTS, SHAPE
from autograder.trials.attacks.outside import Outside
from utils import progress

LEFT = "attack-left-this-"
LEAKED = re.compile(rb"LEAK\d{7,}|%d\d{6}" % SHAPE)  # how attacks write a hidden case's numbers
WROTE = re.compile(r"WROTE (\d+) MB")
LATE = 3  # times the limit on disk that may be written until somebody looks
ATTRIBUTES = "gave attributes to"
_GET_FLAGS, _NO_DUMP = 0x80086601, 0x40
DEEPEST = 8  # levels of folders in which left files are looked for
NETWORK, SECRET, HEAD, SCRIPT = (
    "reached what is outside",
    "saw a secret",
    "changed the page's head",
    "script in the feedback",
)


def digests(folder: Path) -> dict[Path, str]:
    """What every file that must not change holds: submissions, the repository's sources, and a few of the packages'.

    What `progress()` counts is none of these: whoever runs a notebook of the repository meanwhile writes it.
    """
    files = [file for file in (folder / "submitted").rglob("*") if file.is_file()]
    for name in ("utils", "autograder", "solutions", "assignments"):
        files += [
            file
            for file in (settings.ROOT / name).rglob("*")
            if file.suffix in (".py", ".ipynb", ".json", ".html") and file.name != progress.FILE
        ]
    for name in ("torch.functional", "IPython.core.interactiveshell"):
        place = sys.modules[name].__file__ if name in sys.modules else None
        files.append(Path(place) if place else settings.ROOT / "pyproject.toml")
    return {file: _file_state(file) for file in files}


def _file_state(file: Path) -> str:
    """A file's content, mode, owner and time of change."""
    status = file.lstat()
    marks = (status.st_mode, status.st_uid, status.st_mtime_ns)
    return hashlib.sha256(file.read_bytes()).hexdigest() + repr(marks)


def _attributes(file: Path) -> list[str]:
    """What was given to a file beside its content: extended attributes, readers, and that it is not to be dumped."""
    if sys.platform != "linux":
        return []
    names = [name for name in os.listxattr(file) if name.startswith(("user.", "system.posix_acl"))]
    flags = array("l", [0])
    with suppress(OSError), open(file, "rb") as opened:
        ioctl(opened, _GET_FLAGS, flags)
    return names + ["not to be dumped"] * bool(flags[0] & _NO_DUMP)


def harms(
    tried: Iterable[Attack], folder: Path, before: dict, outside: Outside, survivors: set, messages: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Each harm that was done: the attack's name, and what it did.

    Args:
        before: what `digests` gave.
        messages: by student, what feedback says.
    """
    tried = [*tried]
    yield from ((name, NETWORK) for name in outside.callers)
    for place in _surroundings(folder):
        for file in place.glob(f"{LEFT}*"):
            yield file.name.removeprefix(LEFT).split(".")[0], f"left a file in {place}"
            file.unlink()
    yield from _left_behind(outside.scratch)
    for file, digest in before.items():
        if not file.exists() or _file_state(file) != digest:
            yield (
                "spoils-packages" if file.is_relative_to(settings.ROOT) else "spoils-submissions",
                f"changed {file.name}",
            )
    for attack in tried:
        for file in filter(_attributes, (folder / "submitted" / attack.who).rglob("*.ipynb")):
            yield attack.name, f"{ATTRIBUTES} {file.name}"
    limit = int(settings.table()["limits"]["disk_mb"])
    for attack in tried:
        yield from ((attack.name, harm) for harm in _shown(attack, folder, messages.get(attack.who, "")))
        written = max(outside.written.get(attack.name, 0) >> 20, _said_written(attack, folder))
        if written > LATE * limit:
            yield attack.name, f"wrote {written} MB where {limit} are allowed"
    yield from (("scripts", SCRIPT) for page in [_page(folder, "scripts")] if _scripted(page, outside.marks["@PORT@"]))
    if outside.ended:
        yield "signals-by-ioctl", "ended a process outside"
    for process in survivors:
        yield "daemon", f"process {process} goes on"


def _shown(attack: Attack, folder: Path, message: str) -> Iterator[str]:
    """What the graded notebook and the page of feedback show and should not."""
    outputs = [output for cell in _cells(attack, folder) for output in cell.get("outputs", [])]
    if "SECRET SEEN" in json.dumps(outputs):
        yield SECRET
    pictures = [output.get("data", {}).get("image/png", "") for output in outputs]
    page = _page(folder, attack.who, attack.unit)
    texts = [json.dumps(outputs).encode(), message.encode(), page.encode(), *map(_decoded, pictures)]
    if any(map(LEAKED.search, texts)):
        yield INPUTS
    if page and _head(page) != _head(_page(folder, "a-neighbour", attack.unit) or page):
        yield HEAD


def _decoded(picture: str) -> bytes:
    try:
        return base64.b64decode(picture)
    except ValueError:
        return b""


def _said_written(attack: Attack, folder: Path) -> int:
    text = json.dumps([cell.get("outputs", []) for cell in _cells(attack, folder)])
    return max(map(int, WROTE.findall(text)), default=0)


def _head(page: str) -> list[str]:
    """The tags of a page's head, in order."""
    return re.findall(r"<(\w+)", re.sub(r"(?s)<style>.*?</style>", "<style>", page.partition("</head>")[0]))


def _scripted(page: str, port: str) -> bool:
    return "<script>document.title" in page or 'href="javascript' in page or f'src="http://127.0.0.1:{port}' in page


def _page(folder: Path, student: str, unit: str = UNIT) -> str:
    file = folder / "feedback" / student / unit / f"{unit}.html"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _cells(attack: Attack, folder: Path) -> list:
    file = folder / "autograded" / attack.who / attack.unit / f"{attack.unit}.ipynb"
    return nbformat.read(file, as_version=4).cells if file.exists() else []


def _left_behind(scratch: Path) -> Iterator[tuple[str, str]]:
    """The attacks of which the grader's scratch folder still holds files."""
    names, waiting = set(), [(scratch, 0)]
    while waiting:
        folder, depth = waiting.pop()
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.name.startswith(LEFT):
                    names.add(re.sub(r"-\d+$", "", entry.name.removeprefix(LEFT)))
                elif entry.is_dir(follow_symlinks=False) and depth < DEEPEST:
                    waiting.append((Path(entry.path), depth + 1))
    yield from ((name, "left its scratch folder") for name in sorted(names))


def _surroundings(folder: Path) -> list[Path]:
    shared_folders = [Path(path) for path in ("/", "/tmp", "/var/tmp", "/dev/shm", tempfile.gettempdir())]
    return list(
        dict.fromkeys([*shared_folders, Path.home(), settings.ROOT, *folder.parents, folder, folder / "submitted"])
    )
