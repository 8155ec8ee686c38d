"""Finds out whether an error comes from the sandbox of grading, and whether a library or the submission was refused."""

import errno
import os
import re
import sysconfig
from types import FrameType

CONFINED = "confined"  # a library was refused what it needs by itself: the kit's fault
NOT_ALLOWED = "not_allowed"  # the code asked for what grading forbids on purpose
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_MACHINE = ("/proc/", "/sys/", "/dev/", "/etc/", "/run/", "/usr/", "/var/")  # folders that hold no student's files
_REACHING_OUT = ("socket", "subprocess", "multiprocessing", "pty")
_ON_PURPOSE = r"shared memory|socket|process|fork"
_TEXTS = "|".join(["cpuinfo", r"getpwuid\(\)", *(re.escape(os.strerror(number)) for number in _REFUSED)])
_PACKAGES = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
# beginnings of file names of frames in libraries
_LIBRARIES = (*_PACKAGES, sysconfig.get_paths()["stdlib"], "<frozen ")
_LONGEST = 5  # errors in a chain of causes that are looked at


def refusal(error: BaseException, line: str = "") -> str:
    """CONFINED, NOT_ALLOWED, or "" for an error of any other cause.

    The answer depends on the error's number, text and place. All of these can be forged: a human decides on CONFINED ones.

    Args:
        line: the author's own line that led to the error; an error that this line raises or asserts itself is no refusal.
    """
    if re.search(r"\b(raise|assert)\b", line):
        return ""
    try:
        return _refusal_in_chain(error, line)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error of a student's own class may do anything when it is examined
        return ""


def _refusal_in_chain(error: BaseException, line: str) -> str:
    refusal = ""
    current: BaseException | None = error
    for _ in range(_LONGEST):
        if current is None or refusal:
            break
        refusal = _system_refusal(current, line) if isinstance(current, OSError) else told(f"{current}"[:2000])
        current = current.__cause__ or current.__context__
    return refusal


def told(text: str) -> str:
    """CONFINED, NOT_ALLOWED or "", for the text of an error that names in words what was refused, as compiled libraries do."""
    if not re.search(_TEXTS, text):
        return ""
    return NOT_ALLOWED if re.search(_ON_PURPOSE, text) else CONFINED


def _system_refusal(error: OSError, line: str) -> str:
    called = _frames_of_libraries(error)
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


def _frames_of_libraries(error: BaseException) -> list[FrameType]:
    """The frames of libraries below the author's innermost line when the error was raised."""
    frames: list[FrameType] = []
    trace = error.__traceback__
    while trace is not None:
        place = trace.tb_frame.f_code.co_filename
        frames = [*frames, trace.tb_frame] if place.startswith(_LIBRARIES) else []
        trace = trace.tb_next
    return frames
