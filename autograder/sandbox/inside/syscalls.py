"""A filter of system calls: no other processes, no sockets, no signals to others, no uncounted memory,
no changes to what files are (owner, mode, times), which Landlock does not rule on."""

import errno
import os
from typing import Any

try:
    import pyseccomp
except (ImportError, OSError, RuntimeError):  # no libseccomp, or not Linux
    pyseccomp = None

_NEVER = """
    fork vfork execve execveat socket accept accept4 bind listen memfd_create memfd_secret shmget shmat shmctl msgget semget
    mq_open ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_open pidfd_getfd pidfd_send_signal
    rt_sigqueueinfo rt_tgsigqueueinfo io_uring_setup io_uring_enter io_uring_register userfaultfd perf_event_open bpf
    keyctl add_key request_key unshare setns mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount
    mount_setattr setpriority ioprio_set sched_setscheduler sched_setparam sched_setattr sched_setaffinity setpgid setsid
    reboot swapon swapoff init_module finit_module delete_module kexec_load acct quotactl syslog vhangup mlock mlock2
    mlockall fanotify_init name_to_handle_at open_by_handle_at migrate_pages move_pages mbind set_mempolicy personality
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat mknod mknodat
    setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr
    clock_settime clock_adjtime settimeofday adjtimex sethostname setdomainname
    setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset landlock_restrict_self
""".split()  # fmt: skip
_ELSEWHERE = "clone3"  # its flags cannot be examined; without it the C library falls back to clone
_THREAD = 0x00010000
_OWNERS = (8, 10, 15)  # fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX send signals to others


def available() -> bool:
    """Whether the filter can be made here."""
    return pyseccomp is not None


def prepare():
    """The filter, made once; `restrict` completes and loads it in each process. None where it cannot be made."""
    if pyseccomp is None:
        return None
    system_filter = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in _NEVER:
        _deny(system_filter, name)
    _deny(system_filter, _ELSEWHERE, errno.ENOSYS)
    _deny(system_filter, "clone", errno.EPERM, pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _THREAD, 0))
    for command in _OWNERS:
        _deny(system_filter, "fcntl", errno.EPERM, pyseccomp.Arg(1, pyseccomp.EQ, command))
    return system_filter


def restrict(made: Any) -> None:
    """Loads the filter into this process, which from now on can signal and limit itself alone."""
    own_process = os.getpid()
    for name in ("kill", "tgkill"):
        _deny(made, name, errno.EPERM, pyseccomp.Arg(0, pyseccomp.NE, own_process))
    _deny(made, "tkill")
    # The process cannot opt out of dying with its parent.
    _deny(made, "prctl", errno.EPERM, pyseccomp.Arg(0, pyseccomp.EQ, 1))
    _deny(made, "prlimit64", errno.EPERM, pyseccomp.Arg(0, pyseccomp.NE, 0))
    made.load()


def _deny(system_filter: Any, name: str, error: int = errno.EPERM, *arguments: Any) -> None:
    try:
        system_filter.add_rule(pyseccomp.ERRNO(error), name, *arguments)
    except (OSError, ValueError, RuntimeError):  # a call that this architecture or library does not know
        pass
