"""Grades one submission from beginning to end: a task comes in, an outcome goes out, nothing is kept or written.

Tasks and outcomes are plain data, so that any process, on this machine or another, can do the work.
"""

import base64
import html
import re
import time

import nbformat
import torch
from nbformat import NotebookNode
from nbgrader import utils as nbgrader_utils

from autograder import settings
from autograder.bank import catalogue
from autograder.gradebook.outcomes import Outcome, Record
from autograder.grading import newer_python
from autograder.grading.examination import examine_cells
from autograder.grading.examined import KILLED, MALFORMED, MISSING, UNJUDGED, WRONG_NOTEBOOK, Examined
from autograder.grading.task_data import Task
from autograder.intake.contents import Form, other
from autograder.intake.guard import guarded
from autograder.intake.marked_cells import Released, is_test_of
from autograder.intake.notebook_file import parse
from autograder.intake.repair import repair
from autograder.sandbox import levels
from autograder.sandbox.job import JobCell
from autograder.sandbox.limits import Limits
from utils.checking.judging.verdict import Result

# stands for what a cell shows once grading has run the notebook's code on its cases
_LEFT_OUT = {
    "output_type": "stream",
    "name": "stdout",
    "text": "(what this cell shows is left out below the first check)",
}
_NOT_RUN = "print('not run again when graded')"
PLAY = "play"  # the tag of a cell that an assignment has for the student's pleasure alone, such as a training


def grade_one(task: Task) -> Outcome:
    """Repairs, runs and judges one submission.

    A submission of a form that nobody has thought of gets a state and a sentence; it does not stop the grading of others.

    Returns:
        the outcome: {"student", "unit", "digest", "records" (one for each exercise), "notebook" (text of the graded notebook, or
        None), "scores" and "comments" for the gradebook by cell, "sandbox", "seconds", "times"}.

    Raises:
        KitError: the sandbox cannot be had, or what was released has other points than the exercises have now.
    """
    torch.set_num_threads(1)
    started = time.monotonic()
    if task["missing"] or task["malformed"]:
        return ungraded(task, MISSING if task["missing"] else MALFORMED, task["missing"] or task["malformed"])
    level = levels.choose(task["level"] or None, task["accept_weak"], task["proven"], task["device"])
    return {**_graded(task, level), "seconds": round(time.monotonic() - started, 3)}


def _unreadable(error: BaseException, task: Task, level: str) -> Outcome:
    sentence = f"The notebook could not be graded ({type(error).__name__}: {str(error)[:200]})."
    return ungraded(task, MALFORMED, sentence)


@guarded(_unreadable)
def _graded(task: Task, level: str) -> Outcome:
    notebook, fault, notes = parse(base64.b64decode(task["data"] or ""))
    if notebook is None:
        return ungraded(task, MALFORMED, fault)
    released = [Released(**cell) for cell in task["released"]]
    if sentence := other(notebook, task["unit"], Form(tuple(released))):
        return ungraded(task, WRONG_NOTEBOOK, sentence)
    repaired = repair(notebook, released)
    task["notes"] = [*task["notes"], *notes, *repaired.metadata.course.repairs]
    return {**examine_repaired(repaired, task, level), "notebook": nbformat.writes(repaired)}


def examine_repaired(notebook: NotebookNode, task: Task, level: str) -> Outcome:
    """Runs and judges a notebook that `repair` has been through, fills in its outputs, and returns the outcome."""
    _check_points(notebook, task["unit"])
    examined = _stand_in(notebook, task) if task["malformed"] or task.get("other") else _examine(notebook, task, level)
    _write_notes(notebook, task["notes"])
    by_hand = [judged.exercise for judged in examined if judged.state == UNJUDGED]
    notebook.metadata.course.by_hand = by_hand  # for nbgrader's own autograde, which reads scores off outputs
    return {
        **_outcome(task, [_record(task["student"], judged, task["notes"], level) for judged in examined], level),
        "scores": {
            _grade_id(cell): None if is_test_of(cell) in by_hand else nbgrader_utils.determine_grade(cell)[0]
            for cell in notebook.cells
            if nbgrader_utils.is_grade(cell)
        },
        "comments": {_grade_id(cell): _comment(cell) for cell in notebook.cells if nbgrader_utils.is_solution(cell)},
        "times": {judged.exercise: judged.seconds for judged in examined},
    }


def _check_points(notebook: NotebookNode, unit: str) -> None:
    """Raises KitError where points were changed after the release: they would not fit into the gradebook.

    That is the course's fault and not a student's, so it stops grading.
    """
    released_points = {name: cell.metadata.nbgrader.points for cell in notebook.cells if (name := is_test_of(cell))}
    current_points = {exercise.name: exercise.max_points for exercise in catalogue.exercises_of(unit)}
    if differ := sorted(
        name
        for name in released_points.keys() | current_points.keys()
        if released_points.get(name) != current_points.get(name)
    ):
        raise settings.KitError(
            f"exercises or points of {unit} were changed after it was released ({', '.join(differ)}): run `make notebooks`"
            f" and `python -m autograder release {unit}`, then grade again."
        )


def _stand_in(notebook: NotebookNode, task: Task) -> list[Examined]:
    """The exercises' outcomes where the notebook only stands in for a notebook that cannot be graded."""
    state = MALFORMED if task["malformed"] else WRONG_NOTEBOOK
    examined = _all_in_state(task["unit"], state, task["malformed"] or task["other"])
    _show_results(notebook, examined)
    return examined


def _all_in_state(unit: str, state: str, sentence: str) -> list[Examined]:
    return [
        Examined(
            exercise.name,
            state,
            Result(exercise.name, 0, exercise.max_points, state, None, f"✗ {exercise.name} · {sentence}", ()),
        )
        for exercise in catalogue.exercises_of(unit)
    ]


def ungraded(task: Task, state: str, sentence: str) -> Outcome:
    """The outcome of a submission that was not run: every exercise has this state, no points and this sentence."""
    examined = _all_in_state(task["unit"], state, sentence)
    return _outcome(task, [_record(task["student"], judged, task["notes"], "") for judged in examined], "")


def given_up(task: Task) -> Outcome:
    """The outcome where the worker itself died, more than once, while it graded this submission."""
    return ungraded(task, KILLED, "The process that graded this notebook was killed each time it was tried.")


def _outcome(task: Task, records: list[Record], level: str) -> Outcome:
    return {
        "student": task["student"],
        "unit": task["unit"],
        "digest": task["digest"],
        "notebook": None,
        "scores": {},
        "comments": {},
        "seconds": 0.0,
        "times": {},
        "records": records,
        "sandbox": level,
    }


def _examine(notebook: NotebookNode, task: Task, level: str) -> list[Examined]:
    """Runs and judges a repaired notebook and fills in its outputs."""
    above = _first_check(notebook)
    cells = [_job_cell(cell, task["plain"], index < above) for index, cell in enumerate(notebook.cells)]
    limits = Limits(**task["limits"])
    first = [cell["source"] for cell in task["released"] if not cell["metadata"] and cell["cell_type"] == "code"]
    outputs, examined = examine_cells(
        cells, task["seed"], level, limits, task["device"], files=task["files"], first=first
    )
    python_version = notebook.metadata.get("language_info", {}).get("version", "")
    examined = [newer_python.left_open(judged, cells, python_version) for judged in examined]
    task["notes"] = [*task["notes"], *dict.fromkeys(judged.note for judged in examined if judged.note)]
    _show_outputs(notebook, cells, outputs)
    _show_results(notebook, examined)
    notebook.metadata.course.sandbox = level
    return examined


def _first_check(notebook: NotebookNode) -> int:
    """The index of the first check; below it, code knows cases, and what it shows might be theirs."""
    checks = (index for index, cell in enumerate(notebook.cells) if is_test_of(cell))
    return next(checks, len(notebook.cells))


def _job_cell(cell: NotebookNode, plain: list[str], shown: bool) -> JobCell:
    if exercise := is_test_of(cell):
        return {"exercise": exercise}
    unchanged = cell.source in plain
    if unchanged and PLAY in cell.metadata.get("tags", []):
        return {"source": _NOT_RUN}
    step: JobCell = {"source": cell.source if cell.cell_type == "code" else "", "pictures": shown and not unchanged}
    if nbgrader_utils.is_solution(cell):
        step["own"] = _grade_id(cell)
    return step


def _show_outputs(notebook: NotebookNode, steps: list[JobCell], outputs: dict[int, list[dict]]) -> None:
    """Fills in what cells have shown, down to the first check."""
    above = _first_check(notebook)
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            shown = outputs.get(index, [])
            of_code = shown and steps[index].get("source") != _NOT_RUN
            shown = [_LEFT_OUT] if of_code and index > above else shown
            cell.outputs = [nbformat.from_dict(output) for output in shown]


def _show_results(notebook: NotebookNode, examined: list[Examined]) -> None:
    by_name = {judged.exercise: judged for judged in examined}
    for cell in notebook.cells:
        if name := is_test_of(cell):
            cell.outputs = _test_outputs(by_name[name])


def _test_outputs(judged: Examined) -> list:
    """What a test cell shows once graded: the message, and the points in the form that nbgrader reads."""
    message = nbformat.v4.new_output("stream", name="stdout", text=judged.result.message + "\n")
    points = nbformat.v4.new_output(
        "execute_result", data={"text/plain": str(float(judged.result.points))}, execution_count=1
    )
    return [message, points]


def _write_notes(notebook: NotebookNode, notes: list[str]) -> None:
    notebook.metadata.course.repairs = list(notes)
    if notes:
        items = "\n".join(f"- {as_markdown(note)}" for note in notes)
        text = f"**Before grading, this was put right in a copy of your notebook:**\n\n{items}"
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="repairs"))


def as_markdown(text: str) -> str:
    """Text that stays text: a file's name may hold HTML or Markdown."""
    return re.sub(r"([\\`*_{}\[\]()#+!|~$])", r"\\\1", html.escape(text, quote=False))


def _record(student: str, judged: Examined, notes: list[str], level: str) -> Record:
    return {
        "student": student,
        **judged.record,
        "failed": [verdict.property for verdict in judged.result.verdicts if not verdict.passed],
        "repairs": list(notes),
        "sandbox": level,
    }


def _grade_id(cell: NotebookNode) -> str:
    return cell.metadata.nbgrader.grade_id


def _comment(cell: NotebookNode) -> str | None:
    """nbgrader's remark on an answer that was left as it was handed out."""
    same = cell.metadata.nbgrader.get("checksum") == nbgrader_utils.compute_checksum(cell)
    return "No response." if same else None
