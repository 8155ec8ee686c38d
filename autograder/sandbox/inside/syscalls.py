"""A filter of system calls: no other processes, no way out through sockets, no signals to others, no memory and no files
that nobody counts, no changes to what files are (owner, mode, times, flags), which Landlock does not rule on.

Calls of the old numbers are denied by name. Of the newer ones, and of those that later kernels will have, none is there
but a few that are harmless: whoever asks for another is told what an older kernel would say, and does without.
"""

import ctypes
import errno
import os
import platform
from typing import Any

try:
    import pyseccomp
except (ImportError, OSError, RuntimeError):  # no libseccomp, or not Linux
    pyseccomp = None

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEVER = """
    fork vfork execve execveat socket accept accept4 bind listen connect sendmsg sendmmsg memfd_create shmget shmat
    shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open mq_unlink ptrace process_vm_readv
    process_vm_writev kcmp rt_sigqueueinfo rt_tgsigqueueinfo userfaultfd perf_event_open bpf keyctl add_key
    request_key unshare setns mount umount2 pivot_root chroot setpriority ioprio_set sched_setscheduler
    sched_setparam sched_setattr sched_setaffinity setpgid setsid reboot swapon swapoff init_module finit_module
    delete_module kexec_load acct quotactl syslog vhangup mlock mlock2 mlockall fanotify_init inotify_init
    inotify_init1 io_setup name_to_handle_at open_by_handle_at migrate_pages move_pages mbind set_mempolicy
    personality chmod fchmod fchmodat chown fchown lchown fchownat utime utimes futimesat utimensat mknod mknodat
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr clock_settime clock_adjtime settimeofday
    adjtimex sethostname setdomainname setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid
    setfsgid capset
""".split()  # fmt: skip
# From here on a call has the same number on every architecture: which one it is, a library need not know.
_FIRST_NEW, _NAME_OF_FIRST_NEW = 424, "pidfd_send_signal"
_FIRST_UNUSED = {"x86_64": 335, "aarch64": 295}  # the numbers between these and the new ones belong to no call
_CLOSE_RANGE = 436
_HARMLESS = (
    _CLOSE_RANGE,
    437,  # openat2
    439,  # faccessat2
    441,  # epoll_pwait2
    *(449, 454, 455, 456),  # futex_waitv, futex_wake, futex_wait, futex_requeue
    453,  # map_shadow_stack
    462,  # mseal
)
# What clone must share: a new process would not be a thread, and a thread with open files of its own would hide them.
_SHARED = (0x00010000, 0x00000400)
# fcntl: F_SETOWN, F_SETSIG and F_SETOWN_EX send signals to others; F_SETLEASE holds up whoever opens the file.
_COMMANDS = (8, 10, 15, 1024)
_OPTIONS = (1, 4)  # prctl: the process dies with its parent, and its parent sees its open files
# ioctl, by kind: sockets' owners, to whom signals go (0x89), and what files are: flags, seals, encryption, shared blocks.
_KINDS = (0x8900, 0x6600, 0x5800, 0x9400)
_TYPE_INTO_TERMINAL = 0x5412
_NO_SUCH_NAME = -1  # a name that is known, and which this architecture has not, has another negative number
_LOW = 0xFFFFFFFF  # the kernel looks at these bits alone of a command, whatever the others are


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("met", ctypes.c_uint8),
        ("unmet", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction))]


_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # of the kernel's language for filters
_ALLOWED, _ERROR = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22


def available() -> bool:
    """Whether the filter can be made here, and denies all that it is to deny."""
    return pyseccomp is not None and not unknown() and _number(_NAME_OF_FIRST_NEW) == _FIRST_NEW


def unknown() -> list[str]:
    """The names of the calls to be denied that the library does not know, and that would not be denied."""
    return [name for name in _NEVER if _number(name) == _NO_SUCH_NAME]


def prepare(more: tuple[str, ...] = ()) -> Any:
    """The filter, made once; `restrict` completes and loads it in each process. None where it cannot be made.

    Args:
        more: the names of calls that it denies besides.
    """
    if pyseccomp is None:
        return None
    system_filter = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in (*_NEVER, *more):
        _deny(system_filter, name)
    system_filter.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ERRNO(errno.ENOSYS))
    # All but to close at once: with a flag a thread gets open files of its own.
    _deny(system_filter, _CLOSE_RANGE, errno.EINVAL, pyseccomp.Arg(2, pyseccomp.NE, 0))
    # Without it the C library writes zeros, which are counted as they are written.
    _deny(system_filter, "fallocate", errno.EOPNOTSUPP)
    for flag in _SHARED:
        _deny(system_filter, "clone", errno.EPERM, pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, 0))
    for command in _COMMANDS:
        _deny(system_filter, "fcntl", errno.EPERM, pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _LOW, command))
    for option in _OPTIONS:
        _deny(system_filter, "prctl", errno.EPERM, pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _LOW, option))
    for kind in _KINDS:
        _deny(system_filter, "ioctl", errno.EOPNOTSUPP, pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFF00, kind))
    _deny(system_filter, "ioctl", errno.EPERM, pyseccomp.Arg(1, pyseccomp.MASKED_EQ, _LOW, _TYPE_INTO_TERMINAL))
    _deny(system_filter, "sendto", errno.EPERM, pyseccomp.Arg(4, pyseccomp.NE, 0))  # to an address
    return system_filter


def restrict(made: Any) -> None:
    """Loads the filter into this process, which from now on can signal and limit itself alone."""
    own_process = os.getpid()
    for name in ("kill", "tgkill"):
        _deny(made, name, errno.EPERM, pyseccomp.Arg(0, pyseccomp.NE, own_process))
    _deny(made, "tkill")
    _deny(made, "prlimit64", errno.EPERM, pyseccomp.Arg(0, pyseccomp.NE, 0))
    _refuse_new_calls()
    made.load()


def _deny(system_filter: Any, call: str | int, error: int = errno.EPERM, *arguments: Any) -> None:
    number = _number(call) if isinstance(call, str) else call
    if number >= 0:  # else `unknown` tells of it, or this architecture has no such call
        system_filter.add_rule(pyseccomp.ERRNO(error), number, *arguments)


def _number(name: str) -> int:
    return pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)


def _refuse_new_calls() -> None:
    """Loads a filter of its own, since the library has none that speaks of all numbers from one on.

    Raises:
        OSError: the kernel does not take it.
    """
    first = _FIRST_UNUSED.get(platform.machine(), _FIRST_NEW)
    count = len(_HARMLESS)
    lines = [
        _Instruction(_LOAD, 0, 0, 0),  # the number
        _Instruction(_AT_LEAST, 0, count + 1, first),
        *(_Instruction(_EQUAL, count - index, 0, number) for index, number in enumerate(_HARMLESS)),
        _Instruction(_RETURN, 0, 0, _ERROR | errno.ENOSYS),
        _Instruction(_RETURN, 0, 0, _ALLOWED),
    ]
    program = _Program(len(lines), (_Instruction * len(lines))(*lines))
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SET_FILTER, 2, ctypes.byref(program), 0, 0)):
        if _LIBC.prctl(*arguments) < 0:
            raise OSError(ctypes.get_errno(), "the filter of new system calls cannot be loaded")
