"""What students receive: the files, and the zip that holds them."""

import io
import zipfile
from functools import lru_cache

from autograder import settings


def bundle() -> dict[str, bytes]:
    """What students receive, path by path: lessons, assignments, `utils`, the glossary and a README."""
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
    return {name: file.read_bytes() for name, file in places.items()}


@lru_cache(maxsize=1)
def zipped(files: tuple[tuple[str, bytes], ...]) -> bytes:
    """The student bundle; compressing takes seconds, which a process that releases several units spends once."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(f"attention-course/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return written.getvalue()
