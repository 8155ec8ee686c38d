"""Builds notebooks from their text twins: labels, check cells and set-up code come from one source each."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import jupytext
import nbformat
import torch
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder import settings
from autograder.authoring import gallery
from autograder.authoring.address import PLACEHOLDER, setup_code, with_address
from autograder.authoring.demands import demands
from autograder.authoring.labels import give_titles
from autograder.authoring.numbering import number
from autograder.authoring.provenance import KEY, keep_outputs, made_from
from autograder.authoring.reading import lay_out
from autograder.authoring.release import generate
from autograder.bank import catalogue
from autograder.bank.freezing import write_pack

CELL_METADATA = "tags,label,nbgrader,deletable,editable,-all"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# The text that stands before every milestone's parts.
WHOSE_CODE = Path(__file__).parent / "templates" / "whose_code.md"
HIDDEN = "### BEGIN HIDDEN TESTS\nfrom autograder.nbgrader_plugin.test_cell import check\n### END HIDDEN TESTS\n"


def build(units: list[str], execute: bool = True) -> Iterator[Path]:
    """Rebuilds units' self-checks, solutions, assignments, lessons and milestones from their sources; yields the files.

    Args:
        execute: whether lessons are run whose code, or what it uses, has changed; else these are left as they are.
    """
    # Cases are small: on a busy machine, threads that wait for each other take ten times as long.
    torch.set_num_threads(1)
    for unit in units:
        yield write_pack(unit)
        yield build_solution(settings.SOLUTIONS / unit / f"{unit}.py")
        yield generate(unit)
        twin = settings.LESSON_TWINS / f"{unit}.py"
        if execute or is_fresh(twin):
            yield build_lesson(twin)
        for twin in sorted(settings.MILESTONE_TWINS.glob(f"{unit[:2]}_*.py")):
            if execute or is_fresh(twin, settings.MILESTONES):
                yield build_lesson(twin, settings.MILESTONES)


def build_solution(twin: Path) -> Path:
    """Writes the dressed twin back, and the notebook beside it, without outputs."""
    nb = dressed(twin)
    twin.write_text(as_twin(nb), encoding="utf-8")
    return _write_notebook(nb, twin.with_suffix(".ipynb"))


def build_lesson(twin: Path, folder: Path = settings.LESSONS) -> Path:
    """Writes the dressed twin back, and the lesson with its outputs, as they come without live widgets.

    It is run only if its code, or what that uses, is not what the outputs that are there were made from.
    """
    nb, notebook_file = dressed(twin), folder / f"{twin.stem}.ipynb"
    twin.write_text(as_twin(nb), encoding="utf-8")
    digest = made_from(twin, nb, _modules_apart(folder))
    if is_fresh(twin, folder):
        keep_outputs(nb, nbformat.read(notebook_file, as_version=4))
    elif folder == settings.LESSONS:
        run(nb, folder, explorers=gallery.FOLDER / twin.stem)
        gallery.sign(twin.stem, digest)
    else:
        run(nb, settings.MILESTONES if folder == settings.MILESTONES else settings.LESSONS)
    nb.metadata[KEY] = digest
    return _write_notebook(nb, notebook_file)


def is_fresh(twin: Path, folder: Path = settings.LESSONS) -> bool:
    """Whether a lesson's outputs were made from its code, and from what that uses, as these are now."""
    notebook_file, digest = folder / f"{twin.stem}.ipynb", made_from(twin, dressed(twin), _modules_apart(folder))
    has_fresh_pictures = folder != settings.LESSONS or gallery.is_of(twin.stem, digest)
    return (
        has_fresh_pictures
        and notebook_file.exists()
        and nbformat.read(notebook_file, as_version=4).metadata.get(KEY) == digest
    )


def _modules_apart(folder: Path) -> Path | None:
    """The modules whose changes leave a notebook's outputs as they are: in a milestone, what examines its parts."""
    return settings.ROOT / "utils" / "checking" if folder == settings.MILESTONES else None


def dressed(twin: Path) -> NotebookNode:
    """The notebook of a twin, with set-up code, badge, labels and hidden tests filled in; without outputs."""
    nb = jupytext.read(twin, fmt="py:percent")
    unit = settings.find_unit(twin.stem) if twin.parent.parent == settings.SOLUTIONS else None
    names = {exercise.name: exercise for exercise in catalogue.exercises_of(unit)} if unit else {}
    if any("incorrectly_encoded_metadata" in cell.metadata for cell in nb.cells):
        raise settings.KitError(f"{twin.name}: the metadata of a cell cannot be read; it has to stand in one line.")
    for cell in nb.cells:
        if "setup" in cell.metadata.get("tags", []):
            cell.source = setup_code()
        elif "demands" in cell.metadata.get("tags", []):
            cell.source = demands(catalogue.exercises_of(unit))
        elif "whose-code" in cell.metadata.get("tags", []):
            cell.source = WHOSE_CODE.read_text(encoding="utf-8").rstrip("\n")
        elif cell.cell_type == "code" and names:
            _label_cell(cell, names)
    if unit:
        number(nb, names)
    lay_out(nb)
    if not unit:
        give_titles(nb)
    _give_address(nb, twin.stem, PLACEHOLDER)
    _set_ids(nb)
    _give_address(nb, twin.stem)
    nb.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    nb.nbformat, nb.nbformat_minor = 4, 5
    return nb


def as_twin(nb: NotebookNode) -> str:
    """The text of a notebook's twin."""
    plain = nbformat.from_dict(nb)
    plain.metadata = {"jupytext": {"notebook_metadata_filter": "-all", "cell_metadata_filter": CELL_METADATA}}
    return jupytext.writes(plain, fmt="py:percent")


def run(nb: NotebookNode, folder: Path, explorers: Path | None = None) -> None:
    """Executes a notebook in place, with static figures, and leaves nothing in it that changes from run to run.

    Args:
        explorers: the folder in which other states of the notebook's explorers are drawn, if anywhere.
    """
    variables = {"COURSE_STATIC": "1", "COURSE_DEVICE": "cpu", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(settings.ROOT)}
    with TemporaryDirectory() as home:
        if explorers:
            _run_at_kernel_start(Path(home), "from autograder.authoring import gallery; gallery.watch()")
            variables["IPYTHONDIR"] = home
            drawing = f"from autograder.authoring import gallery; gallery.draw({str(explorers)!r})"
            nb.cells.append(nbformat.v4.new_code_cell(drawing))
        # How many pieces a cell prints in depends on the load; joined into one stream, they are the same in each run.
        client = NotebookClient(nb, timeout=600, kernel_name="python3", record_timing=False, coalesce_streams=True)
        client.execute(cwd=str(folder), env={**os.environ, **variables})
    if explorers:
        nb.cells.pop()
    nb.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in nb.cells:
        cell.metadata.pop("execution", None)


def _run_at_kernel_start(home: Path, code: str) -> None:
    """Lets kernels whose IPython lives in `home` run code before anything else."""
    place = home / "profile_default" / "startup"
    place.mkdir(parents=True)
    (place / "00-course.py").write_text(code + "\n", encoding="utf-8")


def differences(twin: Path, notebook: Path) -> list[str]:
    """Where a notebook and its twin disagree, in words; empty if the build would change nothing but outputs."""
    nb = dressed(twin)
    sentences = (
        [] if twin.read_text(encoding="utf-8") == as_twin(nb) else [f"{twin.name} is not as the build writes it"]
    )
    if not notebook.exists():
        return [*sentences, f"{notebook.name} is missing"]
    built = nbformat.read(notebook, as_version=4)
    if [_essence(cell) for cell in nb.cells] != [_essence(cell) for cell in built.cells]:
        sentences.append(f"{notebook.name} and {twin.name} differ in their cells")
    return sentences


def _essence(cell: NotebookNode) -> tuple:
    return cell.id, cell.cell_type, cell.source, json.dumps(cell.metadata, sort_keys=True)


def _label_cell(cell: NotebookNode, exercises: dict) -> None:
    """Labels the cell that holds an exercise's solution, or the one that checks it."""
    last = cell.source.strip().splitlines()[-1] if cell.source.strip() else ""
    checked = re.fullmatch(r"check\((\w+)\)", last)
    if checked and checked[1] in exercises:
        exercise = exercises[checked[1]]
        cell.source = HIDDEN + last
        cell.metadata["nbgrader"] = _nbgrader_metadata(
            settings.CHECK + exercise.name, grade=True, points=exercise.max_points
        )
    elif "### BEGIN SOLUTION" in cell.source:
        defined = re.search(r"^(?:def|class) (\w+)", cell.source, flags=re.MULTILINE)
        if defined:  # an exercise, or what an exercise is built on
            cell.metadata["nbgrader"] = _nbgrader_metadata(defined[1], solution=True)


def _nbgrader_metadata(grade_id: str, grade: bool = False, solution: bool = False, points: float | None = None) -> dict:
    marks = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": grade,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return dict(sorted((marks if points is None else {**marks, "points": points}).items()))


def _give_address(nb: NotebookNode, unit: str, address: str | None = None) -> None:
    for cell in nb.cells:
        cell.source = with_address(cell.source, unit, address)


def _set_ids(nb: NotebookNode) -> None:
    """Gives cells ids that depend on their labels or texts alone, so that a rebuild gives the same file."""
    taken_ids = set()
    for cell in nb.cells:
        label = cell.metadata.get("nbgrader", {}).get("grade_id")
        base = label or "cell-" + hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:10]
        number, cell_id = 1, base
        while cell_id in taken_ids:
            number += 1
            cell_id = f"{base}-{number}"
        taken_ids.add(cell_id)
        cell["id"] = cell_id


def _write_notebook(nb: NotebookNode, file: Path) -> Path:
    nbformat.validate(nb)
    file.write_text(nbformat.writes(nb) + "\n", encoding="utf-8")
    return file
