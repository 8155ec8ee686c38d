"""Grades a class: reads each submission, repairs it, runs and judges it, and records the outcome."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import nbformat
from tqdm import tqdm

from autograder import bank, course, record
from autograder.engine import GRADED, MALFORMED, MISSING, Examined, examine_cells
from autograder.kernel import submission_seed
from autograder.repair import Released, is_test_of, repair
from autograder.submissions import Submission, read_all
from utils.judge import Result


@dataclass(frozen=True)
class Outcome:
    """One graded submission: the notebook with its outputs (None if there was none) and its exercises' outcomes."""

    submission: Submission
    examined: list[Examined]
    notebook: nbformat.NotebookNode | None = None
    repairs: list = field(default_factory=list)


def grade(unit: str, device: str = "cpu", workers: int = 1, student: str | None = None) -> list[dict]:
    """Grades all submissions of a unit, or one student's, and returns the records that were written.

    A submission that cannot be graded gets its own state and sentence; it stops nobody else's.

    Raises:
        KitError: the unit is not released, there is nothing to grade, or the gradebook cannot be used.
    """
    released = record.released(unit)
    submissions = read_all(unit, record.roster(), student)
    if not submissions:
        who = f"of {student} " if student else ""
        raise course.KitError(f"there is no submission {who}in {course.class_folder() / 'submitted'}.")
    records = []
    with ThreadPoolExecutor(max(1, workers)) as pool:
        running = [pool.submit(_examine_safely, submission, released, device) for submission in submissions]
        for done in tqdm(
            as_completed(running), total=len(running), desc=f"grading {unit}", unit="submission", leave=False
        ):
            records += _save(done.result())
    record.save_results(unit, records)
    return sorted(records, key=lambda one: one["student"])


def _examine_safely(submission: Submission, released: list[Released], device: str) -> Outcome:
    """A submission of a form that nobody has thought of gets a state and a sentence; it does not stop the class."""
    try:
        return examine(submission, released, device)
    except course.KitError:
        raise
    except Exception as error:
        return _ungradable(
            submission, MALFORMED, f"The notebook could not be graded ({type(error).__name__}: {error})."
        )


def examine(submission: Submission, released: list[Released], device: str) -> Outcome:
    """Runs and judges one submission; writes nothing."""
    if submission.notebook is None:
        return _ungradable(
            submission, MISSING if submission.missing else MALFORMED, submission.missing or submission.malformed
        )
    notebook = repair(submission.notebook, released)
    cells = [
        {"exercise": tested}
        if (tested := is_test_of(cell))
        else {"source": cell.source if cell.cell_type == "code" else ""}
        for cell in notebook.cells
    ]
    outputs, examined = examine_cells(cells, submission_seed(submission.unit, submission.student), device)
    by_name = {one.exercise: one for one in examined}
    for index, cell in enumerate(notebook.cells):
        tested = is_test_of(cell)
        if tested:
            cell.outputs = _shown(by_name[tested])
        elif cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in outputs.get(index, [])]
    return Outcome(submission, examined, notebook, notebook.metadata.course.repairs)


def _shown(one: Examined) -> list:
    """What a test cell shows once graded: the message, and the points in the form that nbgrader reads."""
    message = nbformat.v4.new_output("stream", name="stdout", text=one.result.message + "\n")
    points = nbformat.v4.new_output(
        "execute_result", data={"text/plain": str(float(one.result.points))}, execution_count=1
    )
    return [message, points]


def _ungradable(submission: Submission, state: str, sentence: str) -> Outcome:
    examined = [
        Examined(one.name, state, Result(one.name, 0, one.max_points, state, None, f"✗ {one.name} · {sentence}", ()))
        for one in bank.units()[submission.unit]
    ]
    return Outcome(submission, examined)


def _save(outcome: Outcome) -> list[dict]:
    student, unit = outcome.submission.student, outcome.submission.unit
    if outcome.notebook is None:
        record.save_ungradable(student, unit)
    else:
        notebook = record.restore_tests(outcome.notebook, student, unit)
        _tell_repairs(notebook, outcome.repairs)
        record.save_graded(notebook, student, unit)
    return [_line(student, one, outcome.repairs) for one in outcome.examined]


def _tell_repairs(notebook, repairs: list[str]):
    if repairs:
        text = "**Before grading, this was put right in a copy of your notebook:**\n\n" + "\n".join(
            f"- {one}" for one in repairs
        )
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(text, id="repairs"))


def _line(student: str, one: Examined, repairs: list) -> dict:
    result = one.result
    return {
        "student": student,
        "exercise": one.exercise,
        "state": one.state,
        "points": result.points,
        "max_points": result.max_points,
        "message": result.message,
        "misconception": result.misconception,
        "problem": result.problem,
        "repairs": list(repairs),
    }


def table(records: list[dict]) -> str:
    """The grades as a table: a line for each student, a column for each exercise."""
    exercises = list(dict.fromkeys(record["exercise"] for record in records))
    by_student: dict[str, dict] = {}
    for one in records:
        by_student.setdefault(one["student"], {})[one["exercise"]] = one
    width = max(len("student"), *map(len, by_student))
    short = [f"{number}" for number in range(1, len(exercises) + 1)]
    lines = [
        f"{'student':<{width}}  " + " ".join(f"{name:>4}" for name in short) + "  total  state, and what to talk about"
    ]
    for student, row in by_student.items():
        points = " ".join(f"{row[name]['points']:>4g}" for name in exercises)
        total = sum(one["points"] for one in row.values())
        states = sorted({one["state"] for one in row.values()} - {GRADED}) or [GRADED]
        topics = list(dict.fromkeys(one["misconception"] or one["problem"] for one in row.values() if one["problem"]))
        said = [topic for topic in topics if topic not in states]
        lines.append(f"{student:<{width}}  {points}  {total:>5g}  {'/'.join(states)} {', '.join(said[:3])}".rstrip())
    lines.append("")
    lines += [f"{number} {name} ({_points(records, name):g})" for number, name in zip(short, exercises)]
    return "\n".join(lines)


def _points(records: list[dict], exercise: str) -> float:
    return next(one["max_points"] for one in records if one["exercise"] == exercise)
