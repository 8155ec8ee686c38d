"""Releases a unit: generates its assignment with nbgrader, and packs what students receive."""

import hashlib
import io
import json
import zipfile
from functools import lru_cache
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException

from autograder import settings
from autograder.gradebook.nbgrader_configuration import checked, configuration
from autograder.gradebook.store import course_directory, open_gradebook, quiet

MANIFEST = ".attention-course.json"


def release(unit: str, publish: Path | None = None) -> list[str]:
    """Writes `assignments/<unit>`, enters the unit in the gradebook, and writes the student bundle.

    Args:
        publish: a folder that becomes the students' repository; only files that an earlier release wrote there, and
            that nobody has changed since, are replaced.

    Returns:
        what was written, a line each.
    """
    with open_gradebook():
        pass  # an unusable gradebook is told before anything is written
    lines = [str(generate(unit, known=True)), str(_write_zip(bundle()))]
    return lines + ([str(_publish(bundle(), publish))] if publish else [])


def generate(unit: str, known: bool = False) -> Path:
    """Writes `assignments/<unit>` as nbgrader makes it from the solution.

    Args:
        known: whether the class's gradebook is to know of the unit, too.
    """
    source = settings.SOLUTIONS / unit / f"{unit}.ipynb"
    if not source.exists():
        raise settings.KitError(f"{source} is missing: run `make notebooks` first.")
    config = configuration()
    config.GenerateAssignment.no_database, config.SaveCells.enabled = not known, known
    try:
        with checked():
            GenerateAssignment(coursedir=course_directory(unit), config=config, force=True, log=quiet).start()
    except NbGraderException as error:
        raise settings.KitError(f"nbgrader could not generate {unit}: {error}") from None
    return settings.ASSIGNMENTS / unit / f"{unit}.ipynb"


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


def _write_zip(files: dict[str, bytes]) -> Path:
    target = settings.class_folder() / "release" / "attention-course.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(_zipped(tuple(files.items())))
    return target


@lru_cache(maxsize=1)
def _zipped(files: tuple[tuple[str, bytes], ...]) -> bytes:
    """The student bundle; compressing takes seconds, which a process that releases several units spends once."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(f"attention-course/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return written.getvalue()


def _publish(files: dict[str, bytes], folder: Path) -> Path:
    manifest = folder / MANIFEST
    known = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    for name in files:
        there = folder / name
        if there.exists() and _digest(there.read_bytes()) not in (known.get(name), _digest(files[name])):
            raise settings.KitError(f"{there} was not written by a release, or was changed since; move it away first.")
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    digests = {name: _digest(data) for name, data in files.items()}
    manifest.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return folder


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
