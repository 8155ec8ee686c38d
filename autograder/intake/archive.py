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
LISTED = 20_000  # the most names that are weighed, of all the archives of a file together
# Bytes up to which a member may be packed as tightly as can be; a larger one that shrank to less than so small a part
# of itself is no notebook: text with many repeats in it shrinks to a fiftieth.
FREE, TIGHTEST = 10_000_000, 200


@dataclass(frozen=True)
class Member:
    """A file in an archive: its bytes, or a sentence on why they cannot be had; and its last change, if that is known."""

    path: str
    data: bytes | None
    fault: str = ""
    changed: float | None = None


@dataclass
class Budget:
    """How many bytes may still be unpacked, and how many names weighed, of all the archives of a file together."""

    left: int
    names: int = LISTED


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
        for member in _likeliest(archive, order, budget):
            path = f"{where}{member.filename}"
            if PurePosixPath(member.filename).suffix.lower() != ".zip":
                data, fault = _unpacked(archive, member, budget, most)
                yield Member(path, data, fault, _change_time(member))
            elif depth < DEEPEST:
                data, _ = _unpacked(archive, member, budget, most)
                if data is not None and zipfile.is_zipfile(io.BytesIO(data)):
                    yield from _members_inside(_SippedBytes(data), order, budget, most, f"{path}/", depth + 1)


def _likeliest(archive: zipfile.ZipFile, order: Callable, budget: Budget) -> list[zipfile.ZipInfo]:
    """The members that are unpacked, in their order; of several members of the same name the last is taken."""
    weighed: dict[str, tuple[tuple, zipfile.ZipInfo]] = {}
    for member in archive.infolist():
        if budget.names > 0 and not member.is_dir() and (key := order(member.filename)):
            budget.names -= 1
            weighed[member.filename] = key, member
    return [member for _, member in sorted(weighed.values(), key=lambda entry: entry[0])[:MEMBERS]]


def _change_time(member: zipfile.ZipInfo) -> float | None:
    try:
        return time.mktime((*member.date_time, 0, 0, -1)) if member.date_time[0] > 1980 else None
    except (ValueError, OverflowError):
        return None


@guarded(lambda error, *_: (None, f"cannot be read ({reason(error)}); hand in the notebook itself"))
def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget, most: int) -> tuple[bytes | None, str]:
    if member.flag_bits & 1:
        return None, "is protected by a password; hand in the notebook itself"
    too_large = f"is larger than {most // 1_000_000} MB; clear its outputs and hand in the notebook itself"
    # What a list says of a size is a bound that is kept when a member is read, whether it is true or not.
    if member.file_size > min(most, budget.left):
        return None, too_large
    if member.file_size > max(FREE, TIGHTEST * min(member.compress_size, archive.start_dir)):
        return None, "is packed more tightly than a notebook can be; clear its outputs and hand in the notebook itself"
    data = bytearray()
    with archive.open(member) as opened:
        while len(data) <= min(most, budget.left) and (piece := opened.read(PIECE)):
            data += piece
    budget.left -= len(data)
    if len(data) > most or budget.left < 0:
        return None, too_large
    return bytes(data), ""
