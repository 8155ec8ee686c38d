"""The page that a student gets back: points, what is right, and for each exercise the sentence beside the student's code."""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import nbformat
from nbconvert.exporters import HTMLExporter
from nbconvert.exporters.exporter import Exporter
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder import settings
from autograder.gradebook.marks import Standing, standing
from autograder.gradebook.outcomes import Record
from autograder.gradebook.store import load_results, results_file
from autograder.intake.guard import guarded
from autograder.intake.marked_cells import CHECK
from autograder.reports.pages import render
from autograder.reports.safe_html import as_html
from autograder.reports.topics import UNFINISHED

LONGEST = 20_000  # characters of code that are coloured
STYLES = {"light": "default", "dark": "github-dark"}


@dataclass(frozen=True)
class Part:
    """One exercise, or one written question, on the page; what is HTML is safe.

    Attributes:
        title: the heading in the assignment, such as "4 · Many queries".
        message: what the check said, or the instructor's comment.
        state: right, partly, wrong, open (not graded yet) or stretch.
        work: the student's code or answer, as HTML.
        task: the assignment's own text with its hints, as HTML.
        folded: whether the work is right, or was left as handed out, so that it need not be seen at once.
    """

    name: str
    title: str
    state: str
    points: float
    most: float
    message: str
    comment: str
    work: str
    task: str
    folded: bool


class FeedbackPage(HTMLExporter):
    """Takes the place of nbgrader's page: `feedback`, `nbgrader generate_feedback` and `release_feedback` write this one."""

    def from_notebook_node(self, nb, resources=None, **kw):
        nb, resources = Exporter.from_notebook_node(self, nb, resources, **kw)
        return page(nb, resources.get("nbgrader", {})), resources


def page(nb: NotebookNode, about: dict) -> str:
    """The page of one graded notebook.

    Args:
        about: what nbgrader says of it: unit, student, points, penalty.
    """
    unit, student = about.get("assignment", about.get("notebook", "")), about.get("student", "")
    records = _records(unit, student)
    student_standing = standing(unit, student) if student else Standing()
    released = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    parts = parts_of(
        nb, records, student_standing.waiting, nbformat.read(released, as_version=4) if released.exists() else nb
    )
    first = next(iter(records.values()), None)
    return render(
        "feedback.html",
        unit=unit,
        title=_title(nb) or unit,
        student=student,
        parts=parts,
        score=about.get("score", 0),
        most=about.get("max_score", 0),
        open=sum(part.most for part in parts if part.state == "open"),
        penalty=about.get("late_penalty", 0),
        late=student_standing.late,
        repairs=first.get("repairs", []) if first else [],
        styles={kind: HtmlFormatter(style=style).get_style_defs(".code") for kind, style in STYLES.items()},
        messages=[],
    )


def _records(unit: str, student: str) -> dict[str, Record]:
    """exercise -> what grading found."""
    if not results_file(unit).exists():
        return {}
    return {record["exercise"]: record for record in load_results(unit) if record["student"] == student}


def parts_of(
    nb: NotebookNode, records: Mapping[str, Record], waiting: frozenset[str], released: NotebookNode
) -> list[Part]:
    """The exercises and questions of a graded notebook, in its order.

    Args:
        waiting: the cells whose marks a human has not given yet.
        released: the notebook as it was handed out, for the text of the tasks.
    """
    work, parts, tasks = {}, [], _tasks(released)
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        name = marks.get("grade_id", "")
        if marks.get("grade") and marks.get("solution"):
            answer = as_html(cell.source, cell.get("attachments", {}))
            parts.append(_part(cell, name, None, tasks.get(name), answer, waiting))
        elif marks.get("solution"):
            work[name] = cell.source
        elif marks.get("grade") and name.startswith(CHECK):
            exercise = name.removeprefix(CHECK)
            code = coloured(work.get(exercise, ""))
            parts.append(_part(cell, exercise, records.get(exercise), tasks.get(name), code, waiting))
    return parts


def _tasks(released: NotebookNode) -> dict[str, NotebookNode | None]:
    """The marked cells of a notebook -> the text cell with a heading that stands above each."""
    task_above: dict[str, NotebookNode | None] = {}
    task: NotebookNode | None = None
    for cell in released.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade"):
            task_above[marks["grade_id"]] = task
        elif (
            cell.cell_type == "markdown" and not marks.get("solution") and re.search(r"^## ", cell.source, re.MULTILINE)
        ):
            task = cell
    return task_above


def _part(
    cell: NotebookNode, name: str, record: Record | None, task: NotebookNode | None, work: str, waiting: frozenset[str]
) -> Part:
    marks = cell.metadata.nbgrader
    points, most = marks.get("score") or 0, marks.get("points") or 0
    message = record.get("message", "") if record else ""
    if not message and cell.cell_type == "code":
        message = "".join(output.get("text", "") for output in cell.outputs)
    heading, text = _heading_and_text(task.source if task else "")
    if marks.grade_id in waiting:
        state = "open"
    elif not most:
        state = "right" if record and not record["problem"] else "stretch"
    else:
        state = "right" if points >= most else "partly" if points else "wrong"
    task_html = as_html(text, task.get("attachments", {}) if task else {})
    folded = state == "right" or record is not None and record.get("problem") == UNFINISHED
    return Part(
        name, heading, state, points, most, _message_body(message), marks.get("comment") or "", work, task_html, folded
    )


def _heading_and_text(text: str) -> tuple[str, str]:
    """The last heading of a task, and what stands below it."""
    *_, before, heading, after = (
        ["", "", *re.split(r"^## (.*)$", text, flags=re.MULTILINE)[-3:]] if text else ["", "", ""]
    )
    return heading.strip(), after or before


def _title(nb: NotebookNode) -> str:
    titles = (cell.source.partition("\n")[0] for cell in nb.cells if cell.source.startswith("# "))
    return next(titles, "").lstrip("# ")


def _message_body(message: str) -> str:
    """What a check says, without the line that names the exercise, its lines joined where they were only wrapped."""
    head, _, rest = message.strip().partition("\n")
    text = textwrap.dedent(rest) if head.startswith(("✗", "✓")) and rest else message.strip()
    return re.sub(r"(?<=[^\n]{45})\n(?=[^\s·])", " ", text)


def _as_it_stands(error: BaseException, source: str) -> str:
    return render("code.html", source=source)


@guarded(_as_it_stands)
def coloured(source: str) -> str:
    """Python as HTML, with the colours of the page's styles."""
    if len(source) > LONGEST:
        raise ValueError("too long")
    return highlight(source.strip("\n") + "\n", PythonLexer(), HtmlFormatter(cssclass="code")) if source.strip() else ""
