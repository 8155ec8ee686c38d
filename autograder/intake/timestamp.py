"""Reads when a submission was handed in, as nbgrader's timestamp.txt says; a time that cannot be read counts as unknown."""

import os
import re
import stat
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from nbgrader.utils import parse_utc

from autograder.intake.guard import guarded

LONGEST = 100  # the most bytes of a file that holds a time
ZONE = re.compile(r"[\w+-]+(:\d\d)?(/[\w+-]+)*", re.ASCII)  # a path that led elsewhere would be opened as a zone
UNREAD = "timestamp.txt does not say a time that can be read; when this was handed in counts as unknown."


class HandInTime(NamedTuple):
    """When something was handed in, in UTC, and the text that says so; else None, "" and, if a text says no time, a sentence."""

    at: datetime | None = None
    text: str = ""
    fault: str = ""


@guarded(lambda error, file: HandInTime(fault="" if isinstance(error, FileNotFoundError) else UNREAD))
def read_time(file: Path) -> HandInTime:
    """The time in a file; no link is followed, and nothing that is no file is waited for."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        data = opened.read(LONGEST + 1) if stat.S_ISREG(os.fstat(opened.fileno()).st_mode) else b""
    if len(data) > LONGEST:
        raise ValueError("no time")
    text = data.decode()
    return HandInTime(_parsed(text), text)


@guarded(lambda *_: None)
def time_of(text: str) -> datetime | None:
    """The time that a text says, in UTC, such as the text of a HandInTime; None where it says none."""
    return _parsed(text)


def _parsed(text: str) -> datetime:
    parts = text.strip().split(" ")
    if not text.strip() or len(parts) == 3 and not ZONE.fullmatch(parts[2]):
        raise ValueError("no time")
    return parse_utc(text.strip())
