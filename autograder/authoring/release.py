"""Releases a unit: generates its assignment with nbgrader, and packs what students receive."""

import hashlib
import json
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException

from autograder import settings
from autograder.authoring.address import repository, write_address
from autograder.authoring.bundle import bundle, write_zip
from autograder.gradebook.nbgrader_configuration import checked, configuration
from autograder.gradebook.store import course_directory, open_gradebook, quiet

MANIFEST = ".attention-course.json"


def release(unit: str, publish: Path | None = None) -> list[str]:
    """Writes `assignments/<unit>`, enters the unit in the gradebook, and writes the student bundle.

    If pyproject.toml names another address of the course than the notebooks, they are given that one first.

    Args:
        publish: a folder that becomes the students' repository; only files that an earlier release wrote there, and
            that nobody has changed since, are replaced.

    Returns:
        what was written, a line each.
    """
    with open_gradebook():
        pass  # a gradebook that cannot be used is reported before anything is written
    changed = write_address()
    lines = [f"{len(changed)} files now name {repository()}"] if changed else []
    lines.append(str(generate(unit, known=True)))
    files = bundle()
    lines.append(str(write_zip(files, settings.class_folder() / "release" / "attention-course.zip")))
    if publish:
        lines.append(str(_publish(files, publish)))
        if settings.address() is None:
            lines.append(
                "A notebook alone, as in Colab, cannot fetch the course yet: pyproject.toml names no repository."
            )
    return lines


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


def _publish(files: dict[str, bytes], folder: Path) -> Path:
    manifest = folder / MANIFEST
    published_digests = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    for name in files:
        target = folder / name
        if target.exists() and _digest(target.read_bytes()) not in (published_digests.get(name), _digest(files[name])):
            raise settings.KitError(f"{target} was not written by a release, or was changed since; move it away first.")
    digests = {name: _digest(data) for name, data in files.items()}
    for name, data in files.items():
        target = folder / name
        if not target.exists() or _digest(target.read_bytes()) != digests[name]:  # the same file keeps its date
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    manifest.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return folder


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
