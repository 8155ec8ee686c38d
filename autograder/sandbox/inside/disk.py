"""What a job has on disk, and its removal, however deep its folders are and whatever their permissions."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

# The errors for what was deleted, or put in the place of a folder, since it was listed.
_GONE_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class _Folder:
    """An open folder, closed with the last reference to it; it is opened from its parent, since whole paths grow too long."""

    def __init__(self, name: str, parent: "_Folder | None" = None):
        self.descriptor = None
        within = None if parent is None else parent.descriptor
        self.descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)

    def __del__(self):
        if self.descriptor is not None:
            os.close(self.descriptor)


def used(folder: Path, process: int) -> float:
    """Bytes of disk below a folder, and in files that a process holds open and has deleted; what cannot be seen is infinite."""
    total = 0
    waiting: list[tuple[_Folder | None, str]] = [(None, str(folder))]
    while waiting:
        try:
            parent, name = waiting.pop()
            inner = _Folder(name, parent)
            with os.scandir(inner.descriptor) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((inner, entry.name))
        except OSError as error:
            if error.errno not in _GONE_ERRORS:
                return float("inf")
    return total + _deleted_bytes(process)


def _deleted_bytes(process: int) -> int:
    total = 0
    with suppress(OSError):
        for descriptor in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                status = os.stat(f"/proc/{process}/fd/{descriptor}")
                total += status.st_blocks * 512 if stat.S_ISREG(status.st_mode) and not status.st_nlink else 0
    return total


def remove(folder: Path) -> None:
    """Deletes a folder; one that is within another is lifted up first, so that no path grows long."""
    lifted = 0
    while True:
        removed = 0
        for entry in _entries(folder):
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
                    for inner in _entries(entry.path):
                        lifted += 1
                        os.rename(inner.path, os.path.join(folder, f".lifted-{lifted}"))
                    os.rmdir(entry.path)
                else:
                    os.unlink(entry.path)
                removed += 1
        if not removed:
            break
    with suppress(OSError):
        os.rmdir(folder)


def _entries(folder: Path | str) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
