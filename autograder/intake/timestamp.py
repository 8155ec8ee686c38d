"""Reads when a submission was handed in, as nbgrader's timestamp.txt says; a time that cannot be read counts as unknown."""

import os
import re
import stat
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

from autograder.intake.guard import guarded

LONGEST = 100  # the most bytes of a file that holds a time
ZONE = re.compile(r"[\w+-]+(:\d\d)?(/[\w+-]+)*", re.ASCII)  # a path that led elsewhere would be opened as a zone
UNREAD = "timestamp.txt does not say a time that can be read; when this was handed in counts as unknown."


@guarded(lambda error, file: (None, "", "" if isinstance(error, FileNotFoundError) else UNREAD))
def read_time(file: Path) -> tuple[datetime | None, str, str]:
    """The time in a file, in UTC, and the file's text; or None, "" and, if there is such a file, a sentence on it.

    No link is followed, and nothing that is no file is waited for.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        data = opened.read(LONGEST + 1) if stat.S_ISREG(os.fstat(opened.fileno()).st_mode) else b""
    text = data.decode()
    parts = text.strip().split(" ")
    if not text.strip() or len(data) > LONGEST or len(parts) == 3 and not ZONE.fullmatch(parts[2]):
        raise ValueError("no time")
    return parse_utc(text.strip()), text, ""
