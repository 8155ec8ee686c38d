"""A filter of system calls: no other processes, no way out through sockets, no signals to others, no memory and no files
that nobody counts, no changes to what files are (owner, mode, times, flags), which Landlock does not rule on."""

import errno
import os
from typing import Any

try:
    import pyseccomp
except (ImportError, OSError, RuntimeError):  # no libseccomp, or not Linux
    pyseccomp = None

_NEVER = """
    fork vfork execve execveat socket accept accept4 bind listen connect sendmsg sendmmsg memfd_create memfd_secret
    shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open mq_unlink ptrace
    process_vm_readv process_vm_writev process_madvise kcmp pidfd_open pidfd_getfd pidfd_send_signal rt_sigqueueinfo
    rt_tgsigqueueinfo io_uring_setup io_uring_enter io_uring_register userfaultfd perf_event_open bpf keyctl add_key
    request_key unshare setns mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount
    mount_setattr setpriority ioprio_set sched_setscheduler sched_setparam sched_setattr sched_setaffinity setpgid
    setsid reboot swapon swapoff init_module finit_module delete_module kexec_load acct quotactl syslog vhangup mlock
    mlock2 mlockall fanotify_init inotify_init inotify_init1 io_setup name_to_handle_at open_by_handle_at
    migrate_pages move_pages mbind set_mempolicy personality chmod fchmod fchmodat fchmodat2 chown fchown lchown
    fchownat utime utimes futimesat utimensat mknod mknodat setxattr lsetxattr fsetxattr setxattrat removexattr
    lremovexattr fremovexattr removexattrat file_setattr clock_settime clock_adjtime settimeofday adjtimex sethostname
    setdomainname setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset
    landlock_restrict_self
""".split()  # fmt: skip
_ELSEWHERE = "clone3"  # its flags cannot be examined; without it the C library falls back to clone
# What clone must share: a new process would not be a thread, and a thread with open files of its own would hide them.
_SHARED = (0x00010000, 0x00000400)
# fcntl: F_SETOWN, F_SETSIG and F_SETOWN_EX send signals to others; F_SETLEASE holds up whoever opens the file.
_COMMANDS = (8, 10, 15, 1024)
_OPTIONS = (1, 4)  # prctl: the process dies with its parent, and its parent sees its open files
# ioctl, by kind: sockets' owners, to whom signals go (0x89), and what files are: flags, seals, encryption, shared blocks.
_KINDS = (0x8900, 0x6600, 0x5800, 0x9400)
_TYPE_INTO_TERMINAL = 0x5412
_LOW = 0xFFFFFFFF  # the kernel looks at these bits alone of a command, whatever the others are


def available() -> bool:
    """Whether the filter can be made here."""
    return pyseccomp is not None


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
    _deny(system_filter, _ELSEWHERE, errno.ENOSYS)
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
    made.load()


def _deny(system_filter: Any, name: str, error: int = errno.EPERM, *arguments: Any) -> None:
    try:
        system_filter.add_rule(pyseccomp.ERRNO(error), name, *arguments)
    except (OSError, ValueError, RuntimeError):  # a call that this architecture or library does not know
        pass
