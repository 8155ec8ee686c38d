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
    """A time that is written in words or digits.

    Raises:
        ValueError: the text is no time, lacks the day or the hour, or could be two times: 06/03 is in March or in June.
    """
    firsts = (
        (False,) if re.match(r"\d{4}-\d", said) else (True,) if re.match(r"\d\d?\.\d\d?\.\d", said) else (False, True)
    )
    defaults = datetime(2000, 1, 1, 1, 1), datetime(2001, 2, 2, 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dates.UnknownTimezoneWarning)
        try:
            readings = {dates.parse(said, dayfirst=first, default=default) for first in firsts for default in defaults}
        except dates.UnknownTimezoneWarning as error:
            raise ValueError(str(error)) from None
    if len(readings) != 1:
        raise ValueError("ambiguous or incomplete")
    return readings.pop()


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
        name = tomllib.loads(deadlines_file().read_text(encoding="utf-8")).get("timezone")
    except (OSError, ValueError):
        return None
    return zone(name)
