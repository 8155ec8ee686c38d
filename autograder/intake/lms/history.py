"""When the files of a student's repository were committed; of the repository nothing but its objects is used.

What a student hands in as `.git` is the student's to write: its configuration and hooks could name commands for git to run.
So git never works in it. It works in an empty repository of our own that borrows the objects, and HEAD is read as text.
"""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path, PurePosixPath

from autograder.intake.guard import guarded
from autograder.intake.lms.downloads import in_utc

_SECONDS = 60  # for all files of one repository
_LARGEST_TEXT = 10_000_000  # bytes of a file that lists branches
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"ref: (refs/heads/[^\s\x00-\x1f\x7f~^:?*\[\\]+)")
_CONFIGURATION = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
# A second fence: nothing in a repository of our own asks for any of this.
_OPTIONS = (
    "--no-pager",
    "-c", "protocol.allow=never",
    "-c", "core.fsmonitor=false",
    "-c", f"core.hooksPath={os.devnull}",
    "-c", "core.commitGraph=false",
    "-c", "core.multiPackIndex=false",
    "-c", "log.showSignature=false",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOC_LIMIT": "512m",
}


@guarded(lambda error, clone, files: {})
def commit_times(clone: Path, files: Iterable[Path]) -> dict[Path, datetime]:
    """When each file was committed last, as the student's machine said; in UTC.

    A file is left out where nothing tells: it was never committed, or what lies in `.git` is broken, or leads elsewhere.
    """
    handed_in = clone.absolute() / ".git"
    commit = _last_commit(handed_in)
    if commit is None or not _holds_its_objects(handed_in):
        return {}
    times = {}
    end = time.monotonic() + _SECONDS
    with tempfile.TemporaryDirectory(prefix="history-") as folder:
        own = _empty_repository(Path(folder), shallow=_text(handed_in, "shallow"))
        for file in files:
            path = file.relative_to(clone).as_posix()
            try:
                times[file] = _commit_time(own, handed_in / "objects", commit, path, end - time.monotonic())
            except subprocess.TimeoutExpired:
                break
            except (ValueError, OverflowError, subprocess.SubprocessError):
                continue
    return times


def _commit_time(own: Path, objects: Path, commit: str, path: str, seconds: float) -> datetime:
    """When a path was committed last before or in a commit, in UTC.

    Raises:
        ValueError, OverflowError: git names no time, or one that no calendar has.
        SubprocessError: git cannot read the objects, or not in time.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    said = subprocess.run(
        ["git", *_OPTIONS, f"--git-dir={own}", "log", "-1", "--format=%cI", commit, "--", path],
        env={**environment, **_ENVIRONMENT, "GIT_OBJECT_DIRECTORY": str(objects)},
        cwd=own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=seconds,
        check=True,
    )
    return in_utc(datetime.fromisoformat(said.stdout.strip()))


def _empty_repository(folder: Path, shallow: str) -> Path:
    """Makes a repository without commits, whose history begins where that of a shallow clone does."""
    for name in ("objects", "refs"):
        (folder / name).mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
    (folder / "config").write_text(_CONFIGURATION, encoding="utf-8")
    if begins := [line for line in shallow.splitlines() if _COMMIT.fullmatch(line)]:
        (folder / "shallow").write_text("\n".join(begins) + "\n", encoding="utf-8")
    return folder


def _last_commit(git_folder: Path) -> str | None:
    """The id of the commit that HEAD means; None if none can be read."""
    head = _text(git_folder, "HEAD").strip()
    if branch := _BRANCH.fullmatch(head):
        head = _text(git_folder, branch[1]).strip() or _packed(git_folder, branch[1])
    return head if _COMMIT.fullmatch(head) else None


def _packed(git_folder: Path, branch: str) -> str:
    """The id that the list of packed branches has for a branch; "" if it has none."""
    entries = (line.split(" ", 1) for line in _text(git_folder, "packed-refs").splitlines())
    return next((entry[0] for entry in entries if entry[1:] == [branch]), "")


def _text(git_folder: Path, name: str) -> str:
    """What a small file in `.git` says; "" if there is none, or if a link leads to it."""
    parts = PurePosixPath(name).parts
    steps = [git_folder, *(git_folder.joinpath(*parts[:count]) for count in range(1, len(parts) + 1))]
    file = steps[-1]
    if ".." in parts or any(step.is_symlink() for step in steps) or not file.is_file():
        return ""
    return file.read_text(encoding="utf-8", errors="replace") if file.stat().st_size <= _LARGEST_TEXT else ""


def _holds_its_objects(git_folder: Path) -> bool:
    """Whether all objects lie in `.git` itself: as files and folders, and without a list of other places to look in."""
    objects = git_folder / "objects"
    if git_folder.is_symlink() or not objects.is_dir() or os.path.lexists(objects / "info" / "alternates"):
        return False
    entries = (objects, *objects.glob("*"), *objects.glob("*/*"))
    return not any(entry.is_symlink() or not (entry.is_file() or entry.is_dir()) for entry in entries)
