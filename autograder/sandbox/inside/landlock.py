"""Landlock: restricts which files this process and its children can open, and what they can reach outside."""

import ctypes
import os
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _DEVICE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by version
_SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11  # making devices, sockets and pipes
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE
_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    return max(0, _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def unruled() -> tuple[str, ...]:
    """The system calls that change a file by its path and that this kernel's Landlock lets through."""
    return ("truncate",) if version() < 3 else ()


def restrict(readable: list, writable: list) -> None:
    """From now on only what lies below these paths can be opened; no network; no signals to processes outside.

    Args:
        readable: files and folders that can be read and executed; those that do not exist are passed over.
        writable: files and folders that can be read, written and deleted, and not executed.

    Raises:
        OSError: the kernel has no Landlock.
    """
    kernel_version = version()
    if not kernel_version:
        raise OSError("the kernel has no Landlock")
    all_rights = max(rights for since, rights in _FILE_RIGHTS.items() if since <= kernel_version)
    rules = _Ruleset(all_rights, _TCP if kernel_version >= 4 else 0, _SCOPES if kernel_version >= 6 else 0)
    size = 24 if kernel_version >= 6 else 16 if kernel_version >= 4 else 8
    ruleset = _checked(_LIBC.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        for path in readable:
            _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
        for path in writable:
            _allow(ruleset, path, all_rights & ~(_EXECUTE | _SPECIAL))
        _checked(_LIBC.prctl(38, 1, 0, 0, 0))  # no new privileges: Landlock asks for it
        _checked(_LIBC.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path | str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _PathRule(rights if Path(path).is_dir() else rights & _OF_FILES, parent)
        _checked(_LIBC.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0)))
    finally:
        os.close(parent)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
