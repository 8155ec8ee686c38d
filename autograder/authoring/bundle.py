"""What students receive: the files, and the zip that holds them."""

import io
import os
import time
import zipfile
import zlib
from pathlib import Path

from autograder import settings

# The date that a zip has for a file whose date nobody has given.
FIRST = (1980, 1, 1, 0, 0, 0)


def bundle() -> dict[str, bytes]:
    """What students receive, path by path: lessons, assignments, milestones, `utils`, the glossary and a README."""
    root = settings.ROOT
    places = {"README.md": root / "docs" / "students.md", "requirements.txt": root / "requirements-students.txt"}
    places["docs/glossary.md"] = root / "docs" / "glossary.md"
    for file in sorted((root / "utils").rglob("*")):
        if file.suffix in (".py", ".json", ".pt") and "__pycache__" not in file.parts:
            places[file.relative_to(root).as_posix()] = file
    for assignment in sorted(settings.ASSIGNMENTS.glob("*/*.ipynb")):
        places[f"assignments/{assignment.stem}/{assignment.name}"] = assignment
        places[f"notebooks/{assignment.name}"] = settings.LESSONS / assignment.name
        for file in sorted((settings.LESSONS / "stored").glob(f"{assignment.stem}*.*")):  # the lesson's long runs
            places[f"notebooks/stored/{file.name}"] = file
    for notebook in sorted(settings.MILESTONES.glob("*.ipynb")):
        places[f"milestones/{notebook.name}"] = notebook
    return {name: file.read_bytes() for name, file in places.items()}


def write_zip(files: dict[str, bytes], target: Path) -> Path:
    """Packs the student bundle; each file has the date on which it was first packed with its present content.

    The same files give the same bytes, in the place where a zip of them lies already, and everywhere else under the same
    SOURCE_DATE_EPOCH (seconds since 1970), which then is the time of all that is new.
    """
    dates, today = _entry_dates(target), _time_of_packing()
    entries = [(f"attention-course/{name}", data) for name, data in files.items()]
    earlier_dates = [dates.get((name, len(data), zlib.crc32(data))) for name, data in entries]
    if len(dates) == len(entries) and all(earlier_dates):
        return target  # compressing would take seconds
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for (name, data), date in zip(entries, earlier_dates):
            entry = zipfile.ZipInfo(name, date_time=date or today)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(written.getvalue())
    return target


def _entry_dates(file: Path) -> dict[tuple[str, int, int], tuple]:
    """When each file of a zip was dated, by name, length and checksum; nothing where there is no such zip."""
    if not zipfile.is_zipfile(file):
        return {}
    with zipfile.ZipFile(file) as archive:
        return {
            (entry.filename, entry.file_size, entry.CRC): entry.date_time
            for entry in archive.infolist()
            if entry.date_time > FIRST
        }


def _time_of_packing() -> tuple:
    """The time, from year to second: in local time as zips have it, or in UTC where SOURCE_DATE_EPOCH gives it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return max(FIRST, (time.gmtime(int(epoch)) if epoch else time.localtime())[:6])
