"""A guard around everything that reads a submission: whatever error the submission causes becomes a sentence."""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from autograder.settings import KitError

PASSED = (KitError, KeyboardInterrupt, SystemExit, GeneratorExit)  # they concern the class, or whoever grades it


Reading = TypeVar("Reading", bound=Callable)


def guarded(otherwise: Callable) -> Callable[[Reading], Reading]:
    """A decorator: where the function raises, whatever it is, `otherwise(error, *arguments)` is returned instead.

    A submission can make libraries fail in ways that nobody has listed: too deep, too large, of a number that is none,
    with a warning that has been turned into an error. None of that may stop the others of a class.
    """

    def decorate(read: Reading) -> Reading:
        @wraps(read)
        def safely(*arguments: Any) -> Any:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return read(*arguments)
            except PASSED:
                raise
            except BaseException as error:  # extensions in other languages raise what is no Exception
                return otherwise(error, *arguments)

        return cast(Reading, safely)

    return decorate


def reason(error: BaseException) -> str:
    """What went wrong, in as few words as can be printed."""
    return getattr(error, "strerror", None) or type(error).__name__
