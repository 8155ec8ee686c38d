"""The written questions of a unit with their mark schemes, and what each student has answered."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

from autograder import settings
from autograder.files import write_atomically
from autograder.gradebook.store import graded_file, patiently, penalise
from autograder.intake.guard import guarded
from autograder.intake.lms.students import left

_SCHEME = re.compile(r"^=== BEGIN MARK SCHEME ===\n(.*?)^=== END MARK SCHEME ===\n?", re.DOTALL | re.MULTILINE)
_CRITERION = re.compile(r"\*\*(½|\d+(?:\.\d+)?) points?: (.+?)\.?\*\*\s*(.*?)(?=\n\s*\n\*\*|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Criterion:
    """One line of a mark scheme: its points, what it is about, and what earns them."""

    points: float
    title: str
    text: str

    @property
    def steps(self) -> list[float]:
        """The points that can be given: in halves."""
        return [half / 2 for half in range(int(2 * self.points) + 1)]


@dataclass(frozen=True)
class WrittenQuestion:
    """A written question: the cell that holds the answers, its heading, its text, and the rubric."""

    cell: str
    title: str
    text: str
    criteria: tuple[Criterion, ...]
    most: float


@dataclass(frozen=True)
class Answer:
    """What a student has answered, and how it is marked so far.

    Attributes:
        given: the points for each criterion, where they were given here to this very text and are the mark still.
        score: the mark that a human has given; None if none.
        waiting: whether it waits for a human: not marked, or handed in anew after it was.
        untouched: whether nothing is written: no text, or the words that the assignment was handed out with.
    """

    student: str
    text: str
    attachments: dict
    given: tuple[float, ...]
    score: float | None
    comment: str
    waiting: bool
    untouched: bool

    @property
    def state(self) -> str:
        """A digest that is another once somebody has changed this answer or its mark."""
        return digest(self.text, self.given, self.score, self.comment)


def digest(*what: object) -> str:
    """A short word that stands for some values, and for no others."""
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def key(student: str) -> str:
    """What stands for a student in a form and in the order of answers, and tells nobody who it is."""
    return hashlib.sha256(f"{settings.secret()} {student}".encode()).hexdigest()[:16]


def questions(unit: str) -> list[WrittenQuestion]:
    """The written questions of a unit, from the instructor's source."""
    cells = nbformat.read(settings.SOLUTIONS / unit / f"{unit}.ipynb", as_version=4).cells
    written_questions, text_above = [], ""
    for cell in cells:
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and marks.get("grade") and marks.get("solution"):
            written_questions.append(_written_question(marks["grade_id"], text_above, marks["points"]))
        elif cell.cell_type == "markdown":
            text_above = cell.source
    return written_questions


def _written_question(cell: str, text_above: str, most: float) -> WrittenQuestion:
    scheme = "".join(_SCHEME.findall(text_above))
    criteria = tuple(
        Criterion(0.5 if points == "½" else float(points), title, " ".join(text.split()))
        for points, title, text in _CRITERION.findall(scheme)
    )
    if sum(criterion.points for criterion in criteria) != most:  # a mark scheme of another form is shown as it stands
        criteria = (Criterion(float(most), "points", scheme),)
    text = _SCHEME.sub("", text_above)
    title = next(iter(re.findall(r"^## (.+)$", text, re.MULTILINE)), cell)
    return WrittenQuestion(cell, title, text, criteria, float(most))


def answers(unit: str, question: WrittenQuestion) -> list[Answer]:
    """What everybody in the class has answered, in the order of a digest that tells nothing of the student.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """
    kept_by_student, left_students = _kept_points(unit).get(question.cell, {}), left()
    placeholder = _answer_cell(settings.ASSIGNMENTS / unit / f"{unit}.ipynb", question.cell)[0]

    def read(gradebook):
        mark_of = {}
        for submission in gradebook.assignment_submissions(unit):
            for notebook in submission.notebooks:
                grade = next((candidate for candidate in notebook.grades if candidate.name == question.cell), None)
                comments = {comment.name: comment.manual_comment for comment in notebook.comments}
                if grade is not None and submission.student_id not in left_students:
                    mark = (grade.manual_score, bool(grade.needs_manual_grade), comments.get(question.cell))
                    mark_of[submission.student_id] = mark
        return mark_of

    rows = []
    for student, (score, waiting, comment) in patiently(read).items():
        text, attachments = _answer_cell(graded_file(student, unit), question.cell)
        if text is not None:
            entry = kept_by_student.get(student, {"points": [], "text": ""})
            is_same_text = entry["text"] == digest(text) and len(entry["points"]) == len(question.criteria)
            points = (
                tuple(entry["points"]) if is_same_text and score is not None and sum(entry["points"]) == score else ()
            )
            untouched = not attachments and text.split() in ([], (placeholder or "").split())
            rows.append(Answer(student, text, attachments, points, score, comment or "", waiting, untouched))
    return sorted(rows, key=lambda answer: key(answer.student))


@guarded(lambda *_: (None, {}))
def _answer_cell(file: Path, name: str) -> tuple[str | None, dict]:
    """The text of a notebook's cell for an answer and the pictures in it; None where there is none."""
    cells = nbformat.read(file, as_version=4).cells
    cell = next(candidate for candidate in cells if candidate.metadata.get("nbgrader", {}).get("grade_id") == name)
    return cell.source, cell.get("attachments", {})


def save(unit: str, question: WrittenQuestion, answer: Answer, given: list[float], comment: str) -> None:
    """Enters a mark by hand and its comment into nbgrader's gradebook; the points by criterion are kept beside it.

    A late penalty follows the mark.

    Raises:
        KitError: the gradebook cannot be used, or stays locked.
    """

    def enter(gradebook):
        grade = gradebook.find_grade(question.cell, unit, unit, answer.student)
        grade.manual_score, grade.needs_manual_grade = sum(given), False
        gradebook.find_comment(question.cell, unit, unit, answer.student).manual_comment = comment or None
        gradebook.db.flush()
        penalise(gradebook, unit, answer.student, gradebook.find_submission_notebook(unit, unit, answer.student))
        gradebook.db.commit()

    patiently(enter)
    all_kept = _kept_points(unit)
    all_kept.setdefault(question.cell, {})[answer.student] = {"points": given, "text": digest(answer.text)}
    write_atomically(_points_file(unit), json.dumps(all_kept, ensure_ascii=False, indent=1, sort_keys=True))


def _points_file(unit: str) -> Path:
    return settings.class_folder() / "marking" / f"{unit}.json"


def _kept_points(unit: str) -> dict[str, dict[str, dict]]:
    """cell -> student -> the points by criterion, and a digest of the text that they were given to.

    Raises:
        KitError: the file is damaged.
    """
    file = _points_file(unit)
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except ValueError:
        raise settings.KitError(f"{file} is damaged: move it away; the marks are in the gradebook.") from None
