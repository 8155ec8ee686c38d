"""Takes notebooks out of a zip archive, in memory and in small pieces: no path in it leads anywhere, no size is believed."""

import io
import os
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from autograder.intake.guard import guarded, reason

MAX_LIST = 4_000_000  # the most bytes of an archive's list of its members
PIECE = 4096  # bytes that are decompressed at once: two methods of zip know no bound of their own
DEEPEST = 3  # the most archives within one another that are opened
MEMBERS = 60  # the most members of one archive that are unpacked


@dataclass(frozen=True)
class Member:
    """A file in an archive: its bytes, or a sentence on why they cannot be had; and its last change, if that is known."""

    path: str
    data: bytes | None
    fault: str = ""
    changed: float | None = None


@dataclass
class Budget:
    """How many bytes may still be unpacked, of all the archives of a submission together."""

    left: int


class _Sipped(io.FileIO):
    """A file of which no single read returns more bytes than an archive's list may have."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(MAX_LIST if size is None or size < 0 else min(size, MAX_LIST))


class _SippedBytes(io.BytesIO):
    """An archive that lay in another archive; no single read returns more bytes than an archive's list may have."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(MAX_LIST if size is None or size < 0 else min(size, MAX_LIST))


def members(file: Path, order: Callable[[str], tuple | None], budget: Budget, most: int) -> Iterator[Member]:
    """What an archive holds, also in archives within it, the likeliest first.

    Args:
        order: what to sort the members by, given their paths; None for a member that is not asked for.
        most: how many bytes a member may have.

    Raises:
        whatever zipfile and the decompressors raise at an archive that is damaged or no archive.
    """
    with _Sipped(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise zipfile.BadZipFile("no file")
        yield from _members_inside(opened, order, budget, most, "", 1)


def _members_inside(
    opened: IO[bytes], order: Callable, budget: Budget, most: int, where: str, depth: int
) -> Iterator[Member]:
    with zipfile.ZipFile(opened) as archive:
        by_name = {
            member.filename: member for member in archive.infolist() if not member.is_dir() and order(member.filename)
        }
        # Of several members of the same name the last is taken.
        for member in sorted(by_name.values(), key=lambda listed: order(listed.filename))[:MEMBERS]:
            path = f"{where}{member.filename}"
            if PurePosixPath(member.filename).suffix.lower() != ".zip":
                data, fault = _unpacked(archive, member, budget, most)
                yield Member(path, data, fault, _change_time(member))
            elif depth < DEEPEST:
                data, _ = _unpacked(archive, member, budget, most)
                if data is not None and zipfile.is_zipfile(io.BytesIO(data)):
                    yield from _members_inside(_SippedBytes(data), order, budget, most, f"{path}/", depth + 1)


def _change_time(member: zipfile.ZipInfo) -> float | None:
    try:
        return time.mktime((*member.date_time, 0, 0, -1)) if member.date_time[0] > 1980 else None
    except (ValueError, OverflowError):
        return None


@guarded(lambda error, *_: (None, f"cannot be read ({reason(error)}); hand in the notebook itself"))
def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget, most: int) -> tuple[bytes | None, str]:
    if member.flag_bits & 1:
        return None, "is protected by a password; hand in the notebook itself"
    data = bytearray()
    with archive.open(member) as opened:
        while len(data) <= min(most, budget.left) and (piece := opened.read(PIECE)):
            data += piece
    budget.left -= len(data)
    if len(data) > most or budget.left < 0:
        return None, f"is larger than {most // 1_000_000} MB; clear its outputs and hand in the notebook itself"
    return bytes(data), ""
