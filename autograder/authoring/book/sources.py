"""Lays out what Sphinx reads: notebooks, guides and a first page, at the paths that they have in the repository."""

import shutil
from pathlib import Path

import jinja2
import nbformat

from autograder import settings
from autograder.authoring.book import plane
from autograder.authoring.book.course_map import sample_of_a_check, units
from autograder.authoring.book.notebook import dressed, written
from autograder.authoring.book.places import BUNDLE, DOCUMENTS, DOWNLOADS, HERE
from autograder.authoring.bundle import bundle, write_zip
from utils.milestones.declared import MILESTONES


def lay_out(folder: Path) -> None:
    """Writes the sources of all pages below `folder`; a file that is there with the same text is left alone."""
    for unit in settings.units():
        for source, path in _notebooks(unit).items():
            nb = nbformat.read(source, as_version=4)
            _write(folder / path, written(dressed(nb, unit, path)))
    for name in DOCUMENTS:
        _write(folder / "docs" / f"{name}.md", (settings.ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    for template in ("index", "assignments/index", "milestones/index"):
        _write(folder / f"{template}.md", _filled(f"{template}.md"))


def lay_downloads(folder: Path) -> None:
    """Copies notebooks as they are in the repository, and packs the whole course, below `folder`."""
    for unit in settings.units():
        for source, path in _notebooks(unit).items():
            (folder / DOWNLOADS / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / DOWNLOADS / path)
    write_zip(bundle(), folder / DOWNLOADS / BUNDLE)


def _notebooks(unit: str) -> dict[Path, str]:
    """A unit's notebooks, and their paths in the book."""
    assignment = f"assignments/{unit}/{unit}.ipynb"
    return {
        settings.LESSONS / f"{unit}.ipynb": f"notebooks/{unit}.ipynb",
        settings.ASSIGNMENTS / unit / f"{unit}.ipynb": assignment,
        **{file: f"milestones/{file.name}" for file in settings.MILESTONES.glob(f"{unit[:2]}_*.ipynb")},
    }


def _filled(name: str) -> str:
    loader = jinja2.FileSystemLoader(HERE / "templates")
    environment = jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True, autoescape=False
    )
    return environment.get_template(name).render(
        units=units(),
        milestones=MILESTONES,
        sample=sample_of_a_check(),
        documents=DOCUMENTS,
        bundle=f"{DOWNLOADS}/{BUNDLE}",
        plane=plane.numbers(),
    )


def _write(file: Path, text: str) -> None:
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
