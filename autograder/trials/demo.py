"""Builds the sample class in a folder of its own, grades it and says where to look: the kit from end to end."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat

from autograder import settings

FOLDER = "demo"
MARKER = "a sample class; made anew by every demo"


def demo(unit: str) -> Iterator[str]:
    """Releases the unit, builds the sample class, grades it, writes feedback and report; yields lines to print.

    Raises:
        KitError: the demo's folder holds something that no demo has made.
    """
    os.environ["COURSE_CLASS"] = FOLDER
    from autograder.authoring.release import release
    from autograder.grading.class_run import Options, grade, table
    from autograder.reports.class_report import write_report
    from autograder.reports.feedback import write_feedback

    folder = _clean(settings.class_folder())
    release(unit)
    count = build(unit, folder)
    yield f"{count} sample submissions in {folder / 'submitted'}"
    # The weak sandbox is accepted, since the demo wrote every submission itself.
    records = grade(unit, Options(workers=os.cpu_count() or 1, accept_weak=True))
    yield "\n" + table(records) + "\n"
    pages = write_feedback(unit)
    yield f"{len(pages)} feedback pages, such as {pages[0]}"
    yield f"class report             {write_report(unit)}"
    yield f"results, line by line    {folder / 'results' / (unit + '.jsonl')}"
    yield f"gradebook                {folder / 'gradebook.db'}"
    yield "the same in formgrader   COURSE_CLASS=demo make lab, then Nbgrader > Formgrader"


def build(unit: str, folder: Path) -> int:
    """Writes the sample submissions below `folder` and returns their number."""
    from autograder.trials.sample_class import sample_class

    released = nbformat.read(settings.ASSIGNMENTS / unit / f"{unit}.ipynb", as_version=4)
    solved = nbformat.read(settings.SOLUTIONS / unit / f"{unit}.ipynb", as_version=4)
    submissions = sample_class(released, solved)
    for student, text in submissions.items():
        place = folder / "submitted" / student / unit
        place.mkdir(parents=True)
        if text is not None:
            (place / f"{unit}.ipynb").write_text(text, encoding="utf-8")
    return len(submissions)


def _clean(folder: Path) -> Path:
    note = folder / "README"
    if (
        folder.exists()
        and any(folder.iterdir())
        and not (note.exists() and note.read_text(encoding="utf-8").strip() == MARKER)
    ):
        raise settings.KitError(f"{folder} holds something that no demo has made; move it away first.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    note.write_text(MARKER + "\n", encoding="utf-8")
    return folder
