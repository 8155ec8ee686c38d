"""What a job has on disk, and its removal, however deep its folders are and whatever their permissions."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def used(folder: Path, process: int) -> float:
    """Bytes of disk below a folder, and in files that a process holds open and has deleted; too deep to see is infinite."""
    total, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError as error:  # it may be gone by now
            if error.errno == errno.ENAMETOOLONG:
                return float("inf")
    return total + _deleted(process)


def _deleted(process: int) -> int:
    total = 0
    with suppress(OSError):
        for one in os.listdir(f"/proc/{process}/fd"):
            with suppress(OSError):
                found = os.stat(f"/proc/{process}/fd/{one}")
                total += found.st_blocks * 512 if stat.S_ISREG(found.st_mode) and not found.st_nlink else 0
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


def _entries(folder) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
