"""Folders in the temporary folder that are removed even where their process is killed: by the next one that makes some."""

import fcntl
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from autograder.sandbox.inside import disk

_LOCK = ".lock"


class OwnFolder:
    """A new folder that no other user can enter, at `path`, and the lock that says it is in use."""

    def __init__(self, prefix: str):
        _remove_left(prefix)
        made = Path(tempfile.mkdtemp())
        self.lock = open(made / _LOCK, "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        # Others look for the prefix, so they find the folder only once it is locked.
        self.path = made.rename(made.with_name(prefix + made.name))

    def remove(self) -> None:
        """Removes the folder with all that lies in it."""
        _remove(self.path)
        self.lock.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()


def _remove_left(prefix: str) -> None:
    """Removes folders of this prefix that nobody holds any more; what another user made is none of ours."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                with open(folder / _LOCK) as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)


def _remove(folder: Path) -> None:
    """Removes a folder, its lock last: a removal that is cut off must be found again."""
    with suppress(OSError):
        for inner in os.listdir(folder):
            if inner != _LOCK:
                disk.remove(folder / inner)
    disk.remove(folder)
