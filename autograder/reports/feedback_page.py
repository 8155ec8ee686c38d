"""The page that a student gets back: points, what is right, and for each exercise the sentence beside the student's code."""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

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
from autograder.reports import safe_html
from autograder.reports.pages import render
from autograder.reports.plain_text import as_plain_html, shortened
from autograder.reports.safe_html import as_html
from autograder.reports.topics import UNFINISHED

LONGEST = 20_000  # characters of code that are coloured
LONGEST_TITLE = 200  # characters of a notebook's title
PLAINLY = (
    "Your notebook takes too long to show, or too much memory. This is a plainer page: your code and your answers are"
    " as you typed them, without colours, formulas and pictures, and long ones are cut. Your points are not touched."
)
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


@dataclass(frozen=True)
class TaskText:
    """What stands above a marked cell: its heading, and its text with its hints, as safe HTML."""

    heading: str
    html: str


class FeedbackPage(HTMLExporter):
    """Takes the place of nbgrader's page: `feedback`, `nbgrader generate_feedback` and `release_feedback` write this one."""

    plainly = False

    def from_notebook_node(self, nb, resources=None, **kw):
        nb, resources = Exporter.from_notebook_node(self, nb, resources, **kw)
        return page(nb, resources.get("nbgrader", {}), self.plainly), resources


class PlainPage(FeedbackPage):
    """The page of a notebook that would take too long as it is: what the student wrote stands there as it was typed."""

    plainly = True


def page(nb: NotebookNode, about: dict, plainly: bool = False) -> str:
    """The page of one graded notebook.

    Args:
        about: what nbgrader says of it: unit, student, points, penalty.
        plainly: what the student wrote is neither coloured nor read as Markdown.
    """
    unit, student = about.get("assignment", about.get("notebook", "")), about.get("student", "")
    records = _records(unit, student)
    student_standing = standing(unit, student) if student else Standing()
    parts = parts_of(nb, records, student_standing.waiting, tasks_of(unit) or _tasks(nb), plainly)
    first = next(iter(records.values()), None)
    return render(
        "feedback.html",
        unit=unit,
        title=_title(nb)[:LONGEST_TITLE] or unit,
        student=student,
        parts=parts,
        score=about.get("score", 0),
        most=about.get("max_score", 0),
        open=sum(part.most for part in parts if part.state == "open"),
        penalty=about.get("late_penalty", 0),
        late=student_standing.late,
        repairs=first.get("repairs", []) if first else [],
        styles=_styles(),
        messages=[],
        note=PLAINLY if plainly else "",
    )


@cache
def _styles() -> dict[str, str]:
    return {kind: HtmlFormatter(style=style).get_style_defs(".code") for kind, style in STYLES.items()}


def _records(unit: str, student: str) -> dict[str, Record]:
    """exercise -> what grading found."""
    file = results_file(unit)
    return _records_of_all(unit, file.stat().st_mtime_ns).get(student, {}) if file.exists() else {}


@lru_cache(maxsize=2)
def _records_of_all(unit: str, changed: int) -> dict[str, dict[str, Record]]:
    """student -> exercise -> what grading found; read once for the pages of a class."""
    by_student: dict[str, dict[str, Record]] = {}
    for record in load_results(unit):
        by_student.setdefault(record["student"], {})[record["exercise"]] = record
    return by_student


def parts_of(
    nb: NotebookNode,
    records: Mapping[str, Record],
    waiting: frozenset[str],
    tasks: Mapping[str, TaskText],
    plainly: bool = False,
) -> list[Part]:
    """The exercises and questions of a graded notebook, in its order.

    Args:
        waiting: the cells whose marks a human has not given yet.
        tasks: what stands above each marked cell in the notebook that was handed out.
        plainly: what the student wrote is neither coloured nor read as Markdown.
    """
    work, parts = {}, []
    for cell in nb.cells:
        marks = cell.metadata.get("nbgrader", {})
        name = marks.get("grade_id", "")
        if marks.get("grade") and marks.get("solution"):
            is_plain = plainly or len(cell.source) > safe_html.LONGEST
            answer = as_plain_html(cell.source) if is_plain else as_html(cell.source, cell.get("attachments", {}))
            parts.append(_part(cell, name, None, tasks.get(name), answer, waiting))
        elif marks.get("solution"):
            work[name] = cell.source
        elif marks.get("grade") and name.startswith(CHECK):
            exercise = name.removeprefix(CHECK)
            code = (as_plain_html if plainly else coloured)(work.get(exercise, ""))
            parts.append(_part(cell, exercise, records.get(exercise), tasks.get(name), code, waiting))
    return parts


def tasks_of(unit: str) -> dict[str, TaskText]:
    """The tasks of a unit as it was handed out, rendered once for the pages of a class; none where it was not."""
    file = settings.ASSIGNMENTS / unit / f"{unit}.ipynb"
    return _tasks_of_file(file, file.stat().st_mtime_ns) if file.exists() else {}


@lru_cache(maxsize=2)
def _tasks_of_file(file: Path, changed: int) -> dict[str, TaskText]:
    return _tasks(nbformat.read(file, as_version=4))


def _tasks(released: NotebookNode) -> dict[str, TaskText]:
    """The marked cells of a notebook -> the text cell with a heading that stands above each."""
    task_above: dict[str, TaskText] = {}
    task: NotebookNode | None = None
    for cell in released.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade"):
            task_above[marks["grade_id"]] = _task(task)
        elif (
            cell.cell_type == "markdown" and not marks.get("solution") and re.search(r"^## ", cell.source, re.MULTILINE)
        ):
            task = cell
    return task_above


def _task(cell: NotebookNode | None) -> TaskText:
    heading, text = _heading_and_text(cell.source if cell else "")
    return TaskText(heading, as_html(text, cell.get("attachments", {}) if cell else {}))


def _part(
    cell: NotebookNode, name: str, record: Record | None, task: TaskText | None, work: str, waiting: frozenset[str]
) -> Part:
    marks = cell.metadata.nbgrader
    points, most = marks.get("score") or 0, marks.get("points") or 0
    message = record.get("message", "") if record else ""
    if not message and cell.cell_type == "code":
        message = "".join(output.get("text", "") for output in cell.outputs)
    task = task or TaskText("", "")
    if marks.grade_id in waiting:
        state = "open"
    elif not most:
        state = "right" if record and not record["problem"] else "stretch"
    else:
        state = "right" if points >= most else "partly" if points else "wrong"
    folded = state == "right" or record is not None and record.get("problem") == UNFINISHED
    said, comment = _message_body("\n".join(filter(None, shortened(message)))), marks.get("comment") or ""
    return Part(name, task.heading, state, points, most, said, comment, work, task.html, folded)


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


@guarded(lambda error, source: as_plain_html(source))
def coloured(source: str) -> str:
    """Python as HTML, with the colours of the page's styles."""
    if len(source) > LONGEST:
        raise ValueError("too long")
    return highlight(source.strip("\n") + "\n", PythonLexer(), HtmlFormatter(cssclass="code")) if source.strip() else ""
