"""Times as tables and instructors write them, and the time zone of a class."""

import re
import tomllib
import warnings
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import parser as dates

from autograder import settings


def when(said: str) -> datetime:
    """A time in words or digits.

    Raises:
        ValueError: it is no time, lacks the day or the hour, or could be two: 06/03 is in March or in June.
    """
    firsts = (
        (False,) if re.match(r"\d{4}-\d", said) else (True,) if re.match(r"\d\d?\.\d\d?\.\d", said) else (False, True)
    )
    defaults = datetime(2000, 1, 1, 1, 1), datetime(2001, 2, 2, 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dates.UnknownTimezoneWarning)
        try:
            found = {dates.parse(said, dayfirst=first, default=one) for first in firsts for one in defaults}
        except dates.UnknownTimezoneWarning as error:
            raise ValueError(str(error)) from None
    if len(found) != 1:
        raise ValueError("ambiguous or incomplete")
    return found.pop()


def zone(name: Any) -> ZoneInfo | None:
    """The time zone that is named; None, which is this machine's, where none is.

    Raises:
        KitError: there is none of that name.
    """
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        how = "write one such as Europe/Rome or America/Chicago"
        raise settings.KitError(f"timezone {name!r} is not known; {how}.") from None


def deadlines_file():
    """Where an instructor writes deadlines and the class's time zone down."""
    return settings.class_folder() / "deadlines.toml"


def class_zone() -> ZoneInfo | None:
    """The time zone of the class, as far as its deadlines name one."""
    try:
        said = tomllib.loads(deadlines_file().read_text(encoding="utf-8")).get("timezone")
    except (OSError, ValueError):
        return None
    return zone(said)
