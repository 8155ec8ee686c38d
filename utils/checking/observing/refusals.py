"""Whether an error comes of the confinement in which submissions run: refused to a library, or to the code that asked."""

import errno
import os
import re
import sysconfig
from types import FrameType

CONFINED = "confined"  # a library was refused what it needs by itself: the kit's fault
NOT_ALLOWED = "not_allowed"  # the code asked for what grading forbids on purpose
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_MACHINE = ("/proc/", "/sys/", "/dev/", "/etc/", "/run/", "/usr/", "/var/")  # not a student's, whoever reads there
_REACHING_OUT = ("socket", "subprocess", "multiprocessing", "pty")
_ON_PURPOSE = r"shared memory|socket|process|fork"
_TEXTS = "|".join(["cpuinfo", r"getpwuid\(\)", *(re.escape(os.strerror(number)) for number in _REFUSED)])
_PACKAGES = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
_LIBRARIES = (*_PACKAGES, sysconfig.get_paths()["stdlib"], "<frozen ")  # where the code of a frame is said to lie
_LONGEST = 5  # errors that led to one another


def refusal(error: BaseException, line: str = "") -> str:
    """CONFINED, NOT_ALLOWED, or "" for an error of any other cause.

    It goes by the error's number, text and place. All of these can be forged: what is CONFINED is left to a human.

    Args:
        line: the author's own line that led to it; what it raises or asserts itself nobody refused.
    """
    if re.search(r"\b(raise|assert)\b", line):
        return ""
    try:
        return _of_chain(error, line)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error of a class of the student's own may do anything when it is looked at
        return ""


def _of_chain(error: BaseException, line: str) -> str:
    found = ""
    one: BaseException | None = error
    for _ in range(_LONGEST):
        if one is None or found:
            break
        found = _of_system(one, line) if isinstance(one, OSError) else told(f"{one}"[:2000])
        one = one.__cause__ or one.__context__
    return found


def told(text: str) -> str:
    """The same of an error that says in words alone what was refused, as compiled libraries do."""
    if not re.search(_TEXTS, text):
        return ""
    return NOT_ALLOWED if re.search(_ON_PURPOSE, text) else CONFINED


def _of_system(error: OSError, line: str) -> str:
    called = _called(error)
    if any(frame.f_globals.get("__name__", "").partition(".")[0] in _REACHING_OUT for frame in called):
        return NOT_ALLOWED
    path = error.filename if isinstance(error.filename, str) else ""
    of_machine = path.startswith(_MACHINE)
    if error.errno not in _REFUSED and not (error.errno == errno.ENOENT and of_machine):  # hidden is as good as refused
        return ""
    if path and os.path.abspath(path).startswith(os.getcwd() + os.sep):
        return CONFINED if called else NOT_ALLOWED
    by_package = any(frame.f_code.co_filename.startswith(_PACKAGES) for frame in called)
    return CONFINED if by_package and (not path or of_machine and path not in line) else NOT_ALLOWED


def _called(error: BaseException) -> list[FrameType]:
    """The frames of libraries that the author's innermost line had called when it came to the error."""
    found: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        place = trace.tb_frame.f_code.co_filename
        found = [*found, trace.tb_frame] if place.startswith(_LIBRARIES) else []
        trace = trace.tb_next
    return found
