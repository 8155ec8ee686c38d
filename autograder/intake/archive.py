"""Takes the notebook out of a zip archive, in memory and in small pieces: no path in it leads anywhere, no size is believed."""

import io
import os
import stat
import zipfile
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

MAX_LIST = 4_000_000  # bytes of an archive's list of what it holds
PIECE = 4096  # bytes that are decompressed at once: two methods of zip know no bound of their own


class _Sipped(io.FileIO):
    """A file of which nobody gets more at once than an archive's list may take."""

    def read(self, size: int = -1) -> bytes:
        return super().read(MAX_LIST if size < 0 else min(size, MAX_LIST))


def notebook_in(file: Path, name: str, most: int, ignored: tuple) -> tuple[bytes | None, str]:
    """The bytes of the notebook in an archive, preferably the one called `name`; None if there is none.

    Args:
        most: bytes that it may have.
        ignored: patterns of names that are no work of a student's.

    Returns:
        the bytes, and a sentence if they are too many.

    Raises:
        whatever zipfile and the decompressors raise at an archive that is damaged or no archive.
    """
    with _Sipped(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise zipfile.BadZipFile("no file")
        with zipfile.ZipFile(opened) as archive:
            inside = [one for one in reversed(archive.infolist()) if _is_notebook(one.filename, ignored)]
            if not inside:
                return None, ""
            inside.sort(key=lambda one: (PurePosixPath(one.filename).name != name, one.filename.count("/")))
            return _unpacked(archive, inside[0], most)  # of two of one name the last, as when it is unpacked


def _is_notebook(path: str, ignored: tuple) -> bool:
    parts = PurePosixPath(path).parts
    return path.endswith(".ipynb") and not any(fnmatch(part, one) for part in parts for one in ignored)


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> tuple[bytes | None, str]:
    data = bytearray()
    with archive.open(member) as opened:
        while len(data) <= most and (piece := opened.read(PIECE)):
            data += piece
    if len(data) > most:
        return (
            None,
            f"The notebook inside the archive is larger than {most // 1_000_000} MB; clear its outputs and hand that in.",
        )
    return bytes(data), ""
