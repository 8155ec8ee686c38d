"""Confines the calling process for good: namespaces, Landlock, a filter of system calls, and limits on what it may use.

Each function takes something away and nothing gives it back. They rely on Linux; elsewhere the limits alone apply.
"""

import ctypes
import os
import resource
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from .disk import ENTRY

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_NAMESPACES = 0x00020000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000  # mount, IPC, user, process, network
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_READ_ONLY, _AGAIN, _BIND, _MOVE = 0x1, 0x20, 0x1000, 0x2000
RESERVE = 256 << 20  # bytes of address space that a notebook's cells leave to the examination of what they made
MACHINE = ("/proc/cpuinfo", "/proc/meminfo")  # what libraries ask of the machine while they compute


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, value: int = 1) -> None:
    _checked(_LIBC.prctl(option, value, 0, 0, 0), f"prctl {option}")


def die_with_parent() -> None:
    """Has the kernel kill this process when the one that started it ends."""
    if sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, 9)


def adopt_orphans() -> None:
    """Makes this process the parent of whatever its descendants leave behind, so that it can end them."""
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER)


def hide_memory() -> None:
    """Keeps other processes of the same user from reading or writing this one's memory."""
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 0)


def enter_namespaces(disk: int, writable: list[str]) -> None:
    """Moves into new namespaces: the next child is process 1 of its own, sees no other, and has no network.

    The folders of `writable` become empty ones in memory that hold at most `disk` bytes each, and no more files than would
    fill them; of /proc, MACHINE is left.

    Raises:
        OSError: the kernel does not allow it here.
    """
    user, group = os.getuid(), os.getgid()
    _prctl(_PR_SET_DUMPABLE, 1)  # otherwise the maps written below belong to root
    _checked(_LIBC.unshare(_NEW_NAMESPACES), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _prctl(_PR_SET_DUMPABLE, 0)
    _mount("none", "/", None, 0x4000 | 0x40000)  # recursive and private: nothing mounted here is seen elsewhere
    for place in writable:
        _mount("tmpfs", place, f"size={disk},nr_inodes={disk // ENTRY},mode=700", 0)
    _mount("tmpfs", "/dev/shm", "size=4k,mode=555", 0)  # made here, where the old /proc is still in sight
    for file in filter(os.path.exists, MACHINE):
        mount_point = file.replace("/proc", "/dev/shm")
        Path(mount_point).touch()
        _mount(file, mount_point, None, _BIND)
    _mount("tmpfs", "/dev/shm", "size=4k,mode=555", _AGAIN | _READ_ONLY)
    _mount("/dev/shm", "/proc", None, _MOVE)
    _mount("tmpfs", "/dev/shm", "size=1m,nr_inodes=256", 0)


def _mount(source: str, target: str, data: str | None, flags: int) -> None:
    kind = b"tmpfs" if source == "tmpfs" else None
    options = data.encode() if data else None
    flags |= 0x2 | 0x4 if kind else 0  # no set-user-id programs, no devices
    _checked(_LIBC.mount(source.encode(), target.encode(), kind, ctypes.c_ulong(flags), options), f"mount {target}")


def show_open_files() -> None:
    """Lets processes of the same user see which files this one has open: what is deleted and open counts as disk."""
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 1)


def close_all_but(*kept: int) -> None:
    """Closes every other descriptor: what is open already, no later rule takes away."""
    start = 0
    for descriptor in (*sorted(kept), 1 << 20):
        if start < descriptor:  # an empty range would close everything
            os.closerange(start, descriptor)
        start = descriptor + 1


def drop_capabilities() -> None:
    """Gives up every capability: root's own, and those that a new user namespace brings."""
    if sys.platform != "linux":
        return
    _prctl(_PR_SET_NO_NEW_PRIVS)
    for capability in range(64):
        if _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    _checked(_LIBC.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def address_space() -> int:
    """Bytes of address space that this process uses now; 0 where that cannot be told."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def threads_of_user() -> int:
    """How many threads this user has on the machine, as far as this process can see; root is not counted, nor limited."""
    if sys.platform != "linux" or os.getuid() == 0:
        return 0
    count = 0
    for entry in os.scandir("/proc"):
        with suppress(OSError, ValueError):
            if entry.name.isdigit() and entry.stat().st_uid == os.getuid():
                count += int(Path(entry.path, "stat").read_text().rpartition(")")[2].split()[17])
    return count


def limit(memory: int, cpu: float, file_size: int, processes: int = 256, files: int = 256) -> None:
    """Sets hard limits on this process; that on memory is lower within `reserve`.

    Args:
        memory: bytes of address space, the reserve not counted; 0 sets no limit (accelerators reserve far more than they use).
        cpu: seconds of computing.
        file_size: bytes of one file.
        processes: processes and threads of this user, and signals that wait for it (does not bind root). The system counts
            all that the user has, so what runs already comes on top.
        files: open files.
    """
    bounds = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: max(1, round(cpu)),
        resource.RLIMIT_FSIZE: file_size,
        resource.RLIMIT_NOFILE: files,
        resource.RLIMIT_NPROC: threads_of_user() + processes,
    }
    if hasattr(resource, "RLIMIT_SIGPENDING"):
        bounds[resource.RLIMIT_SIGPENDING] = processes  # each timer of the system's takes one
    if memory:
        bounds[resource.RLIMIT_AS] = memory + RESERVE
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (bound, bound))


@contextmanager
def reserve():
    """Keeps the last bytes of this process's memory back for the time in which a cell of a notebook runs."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_AS, (max(0, hard - RESERVE), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
