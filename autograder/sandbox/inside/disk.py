"""What a job has on disk: bounded while it writes, measured, and removed, however deep its folders are."""

import ctypes
import errno
import os
import platform
import re
import signal
import stat
from contextlib import suppress
from pathlib import Path

ENTRY = 4096  # bytes that a file counts at least: an empty one takes room as well
# The errors for what was deleted, or put in the place of a folder, since it was listed.
_GONE_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_LIBC = ctypes.CDLL(None)
_KCMP = {"x86_64": 312, "aarch64": 272}.get(platform.machine(), -1)  # without it no two threads are found alike
_OPEN_FILES = 2  # what it compares
_AS_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class _Folder:
    """An open folder, closed with the last reference to it; it is opened from its parent, since whole paths grow too long."""

    def __init__(self, name: str, parent: "_Folder | None" = None):
        self.descriptor = -1
        within = None if parent is None else parent.descriptor
        self.descriptor = os.open(name, _AS_FOLDER, dir_fd=within)

    def __del__(self):
        if self.descriptor >= 0:
            os.close(self.descriptor)


def _room(folder: _Folder) -> int:
    """Bytes that the file system of a folder has left, and ENTRY for each file that it can still hold."""
    status = os.fstatvfs(folder.descriptor)
    return status.f_bfree * status.f_frsize + status.f_ffree * ENTRY


class Quota:
    """The bound on what a job has on disk.

    Asking is cheap enough to be done every few milliseconds: all is measured only where the file system has lost as much
    room as the job has left, whoever took it.
    """

    def __init__(self, folder: Path, allowed: int):
        self.folder, self.allowed = folder, allowed
        self.kept_open = _Folder(str(folder))  # its file system can be asked even when the job has removed the folder
        self.first_room = self.most_room = _room(self.kept_open)
        self.left: float = allowed

    def exceeded(self, process: int, anyway: bool = False) -> bool:
        """Whether a process has more on disk than is allowed; it stands still while that is measured.

        Args:
            process: the job's.
            anyway: measure even if no room was lost: some file systems are late to tell.
        """
        room = _room(self.kept_open)
        self.most_room = max(self.most_room, room)
        if self.most_room - room > self.left:
            os.kill(process, signal.SIGSTOP)
            in_use = used(self.folder, process, self.first_room - room)
            os.kill(process, signal.SIGCONT)
            # An eighth at least: a job that is close to its bound is not stopped for every file of its neighbours.
            self.most_room, self.left = room, max(self.allowed - in_use, self.allowed / 8)
            return in_use > self.allowed
        return anyway and used(self.folder, process) > self.allowed


def used(folder: Path, process: int, lost: float | None = None) -> float:
    """Bytes of disk below a folder, and in what a process holds and has deleted; what cannot be seen is infinite.

    Args:
        folder: the job's.
        process: the job's; what any of its threads has open counts.
        lost: bytes that the file system has lost since the job began. If it is told, what is mapped into memory counts too;
            of that only a privileged process sees the size, so to others it is what the process wrote and the disk lost.
    """
    total = _bytes_below(folder)
    held, unseen = _deleted(process, folder, mapped=lost is not None)
    return max(total + held, min(lost, _written(process))) if unseen and lost is not None else total + held


def _bytes_below(folder: Path) -> float:
    total = 0
    waiting: list[tuple[_Folder | None, str]] = [(None, str(folder))]
    while waiting:
        try:
            parent, name = waiting.pop()
            inner = _Folder(name, parent)
            with os.scandir(inner.descriptor) as entries:
                for entry in entries:
                    total += max(ENTRY, entry.stat(follow_symlinks=False).st_blocks * 512)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((inner, entry.name))
        except OSError as error:
            if error.errno not in _GONE_ERRORS:
                return float("inf")
    return total


def _deleted(process: int, folder: Path, mapped: bool) -> tuple[int, bool]:
    """Bytes in deleted files and folders that a process holds open or mapped, and whether there are more that cannot be seen."""
    sizes: dict[int, int] = {}  # by inode: one file may be open several times
    unseen = False
    threads = _listed(f"/proc/{process}/task")
    for thread in _apart(threads):
        for descriptor in _listed(f"/proc/{process}/task/{thread}/fd"):
            with suppress(OSError):
                _note(f"/proc/{process}/task/{thread}/fd/{descriptor}", sizes)
    for addresses, inode in _deleted_mappings(process, threads, folder) if mapped else ():
        try:
            if inode not in sizes:
                _note(f"/proc/{process}/map_files/{addresses}", sizes)
        except PermissionError:
            unseen = True
        except OSError:  # it is mapped no longer, or nothing is shown, since the first thread has ended
            unseen = unseen or not _listed(f"/proc/{process}/map_files")
    return sum(sizes.values()), unseen


def _listed(folder: str) -> list[str]:
    """The names in a folder of /proc; none where it is gone."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _apart(threads: list[str]) -> list[str]:
    """The threads whose open files are none of those before them: the first alone, unless another has its own."""
    apart: list[str] = []
    for thread in threads:
        if not any(_LIBC.syscall(_KCMP, int(thread), int(other), _OPEN_FILES, 0, 0) == 0 for other in apart):
            apart.append(thread)
    return apart


def _note(link: str, sizes: dict[int, int]) -> None:
    """Enters the size of what a link leads to, if it was deleted."""
    status = os.stat(link)
    if not status.st_nlink and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        sizes[status.st_ino] = status.st_blocks * 512


def _deleted_mappings(process: int, threads: list[str], folder: Path) -> list[tuple[str, int]]:
    """The addresses of a process's memory that are deleted files of a folder, with their inodes."""
    pattern = re.compile(rf"(\S+) \S+ \S+ \S+ (\d+) +{re.escape(str(folder))}/.* \(deleted\)")
    for thread in threads:  # the first may have ended, and shows nothing then
        with suppress(OSError):
            with open(f"/proc/{process}/task/{thread}/maps", encoding="utf-8", errors="surrogateescape") as file:
                found = [pattern.match(line) for line in file]
            if found:
                return [(one[1], int(one[2])) for one in found if one]
    return []


def _written(process: int) -> float:
    """Bytes that a process has written, into files mapped to memory as well; infinite where that is not counted."""
    try:
        counts = dict(line.split(": ") for line in Path(f"/proc/{process}/io").read_text().splitlines())
        return max(int(counts["wchar"]), int(counts["write_bytes"]))
    except (OSError, KeyError, ValueError):
        return float("inf")


def remove(folder: Path) -> None:
    """Deletes a folder with all that lies in it, and passes over what cannot be deleted.

    One folder is open at a time, since whole paths grow too long: the way goes from it into an inner one, and back by "..".
    """
    try:
        here = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    way: list[tuple[str, tuple[int, int]]] = []  # the folders gone into, each with the identity of the one before
    waiting = [[folder.name]]  # the folders still to be gone into, of each on the way
    try:
        while waiting:
            if waiting[-1]:
                name = waiting[-1].pop()
                with suppress(OSError):
                    inner = _entered(here, name)
                    way.append((name, _identity(here)))
                    os.close(here)
                    here = inner
                    waiting.append(_folders_left(here))
                continue
            waiting.pop()
            if way:
                name, before = way.pop()
                inner, here = here, os.open("..", _AS_FOLDER, dir_fd=here)
                os.close(inner)
                if _identity(here) != before:
                    return  # somebody has moved the folder: what it lies in now is not ours to delete
                with suppress(OSError):
                    os.rmdir(name, dir_fd=here)
    finally:
        os.close(here)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _entered(within: int, name: str) -> int:
    """A folder, open, in which everything may be deleted, whatever its mode was."""
    try:
        inner = os.open(name, _AS_FOLDER, dir_fd=within)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=within)
        return os.open(name, _AS_FOLDER, dir_fd=within)
    with suppress(OSError):
        os.fchmod(inner, 0o700)
    return inner


def _folders_left(within: int) -> list[str]:
    """Deletes the files in an open folder and returns the names of its folders."""
    folders = []
    with suppress(OSError):
        with os.scandir(within) as entries:
            listed = list(entries)
        for entry in listed:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    os.unlink(entry.name, dir_fd=within)
    return folders
