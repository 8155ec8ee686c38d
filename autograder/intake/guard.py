"""A guard around everything that reads a submission: whatever error the submission causes becomes a sentence."""

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from autograder.settings import KitError

PASSED = (KitError, KeyboardInterrupt, SystemExit, GeneratorExit)  # they concern the class, or whoever grades it
SECONDS = 10.0  # of computing, for reading a notebook's code. An ordinary notebook's takes less than one
_TICK = 0.25  # seconds of computing after which it is seen whether they are over

# When the readings that are under way have to end, the outermost first, in the main thread's seconds of computing.
_deadlines: list[float] = []

Reading = TypeVar("Reading", bound=Callable)


class OutOfTime(BaseException):
    """Reading a submission takes longer than any that is in good faith; no `except Exception` on the way keeps it."""


def guarded(otherwise: Callable, seconds: float | None = None) -> Callable[[Reading], Reading]:
    """A decorator: where the function raises, whatever it is, `otherwise(error, *arguments)` is returned instead.

    A submission can make libraries fail in ways that nobody has listed: too deep, too large, of a number that is none,
    with a warning that has been turned into an error. None of that may stop the others of a class.

    Args:
        seconds: of computing that the function may take; without it, as many as what it is a part of. Where that has
            none left, nothing is returned, so that nobody takes for an answer, and keeps, what was cut off.
    """

    def decorate(read: Reading) -> Reading:
        @wraps(read)
        def safely(*arguments: Any) -> Any:
            try:
                with warnings.catch_warnings(), within(seconds):
                    warnings.simplefilter("ignore")
                    return read(*arguments)
            except PASSED:
                raise
            except BaseException as error:  # extensions in other languages raise what is no Exception
                if isinstance(error, OutOfTime) and _is_over():  # what this is a part of has no time left either
                    raise
                return otherwise(error, *arguments)

        return cast(Reading, safely)

    return decorate


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Raises OutOfTime in what takes longer than so many seconds of computing, or than what it is a part of may take.

    Only the main thread can be interrupted, and only while nobody else uses this timer of the process; elsewhere
    nothing is raised.
    """
    depth = len(_deadlines)
    if seconds is None or threading.current_thread() is not threading.main_thread() or (not depth and _is_taken()):
        yield
        return
    before = signal.getsignal(signal.SIGVTALRM)
    _deadlines.append(min([time.thread_time() + seconds, *_deadlines]))
    try:
        if not depth:
            signal.signal(signal.SIGVTALRM, _ring)
            signal.setitimer(signal.ITIMER_VIRTUAL, _TICK, _TICK)
        yield
    finally:
        try:
            _end(depth, before)
        finally:  # it may have rung just now; it rings again a tick later at the earliest
            _end(depth, before)


def _is_taken() -> bool:
    """Whether somebody else uses the timer."""
    return any(signal.getitimer(signal.ITIMER_VIRTUAL))


def _is_over() -> bool:
    """Whether the time of the innermost reading that is under way is over."""
    return bool(_deadlines) and time.thread_time() > _deadlines[-1]


def _ring(*_: object) -> None:
    if _is_over():
        raise OutOfTime("it takes too long to be read")


def _end(depth: int, before: Any) -> None:
    del _deadlines[depth:]
    if not depth:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL if before is None else before)


def reason(error: BaseException) -> str:
    """What went wrong, in as few words as can be printed."""
    return getattr(error, "strerror", None) or type(error).__name__
