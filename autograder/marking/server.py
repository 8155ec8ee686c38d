"""Serves the marking page to a browser on this machine, and takes marks from it."""

import secrets
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from urllib.parse import parse_qs, urlsplit

from autograder import settings
from autograder.intake.lms.students import students
from autograder.marking.questions import Answer, WrittenQuestion, answers, digest, key, questions, save
from autograder.reports.pages import render
from autograder.reports.safe_html import as_html

Form = Mapping[str, list[str]]  # the values that a form sends, by field
NOTHING: Form = MappingProxyType({})
MOST = 5_000_000  # bytes of a form that are read at most
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'"


def page(
    unit: str,
    chosen: str | None,
    said: str = "",
    names: bool = False,
    whole: bool = False,
    typed: Form = NOTHING,
) -> str:
    """The page of one question, the first if none is chosen.

    Args:
        names: whether to say whose each answer is.
        whole: whether to show the answers that are marked, too.
        typed: what a form has said that was not entered; it stays on the page.

    Raises:
        KitError: the unit has no written question.
    """
    unit_questions = questions(unit)
    if not unit_questions:
        raise settings.KitError(f"{unit} has no written question.")
    question = next((candidate for candidate in unit_questions if candidate.cell == chosen), unit_questions[0])
    all_answers, name_of = answers(unit, question), {student.id: student.name for student in students()}
    written = [answer for answer in all_answers if not answer.untouched]

    def rows(shown_answers):
        return [{**_row(answer, question, typed), "name": name_of.get(answer.student, "")} for answer in shown_answers]

    return render(
        "marking.html",
        unit=unit,
        questions=unit_questions,
        question=question,
        text=as_html(question.text, {}),
        scheme=[as_html(criterion.text, {}) for criterion in question.criteria],
        answers=rows(answer for answer in written if answer.waiting or whole),
        untouched=rows(answer for answer in all_answers if answer.untouched),
        marked=sum(not answer.waiting for answer in written),
        written=len(written),
        bank=sorted({" ".join(answer.comment.split()) for answer in all_answers if answer.comment}),
        names=names,
        whole=whole,
        said=said,
    )


def _row(answer: Answer, question: WrittenQuestion, typed: Form) -> dict:
    """What the page shows of one answer: its text, and what is chosen and written beside it."""
    name = key(answer.student)
    shown_points = [f"{points:g}" for points in answer.given] or [""] * len(question.criteria)
    chosen = [typed.get(f"{name}.{place}", [value])[0] for place, value in enumerate(shown_points)]
    comment = typed.get(f"{name}.comment", [answer.comment])[0]
    return {
        "key": name,
        "student": answer.student,
        "html": as_html(answer.text, answer.attachments),
        "chosen": chosen,
        "comment": comment,
        "score": answer.score,
        "waiting": answer.waiting,
        "was": answer.state,
        "shown": digest(shown_points, _comment_words(answer.comment)),
    }


def _comment_words(comment: str) -> str:
    """A comment without what a browser may change of it."""
    return " ".join(comment.split())


def take(unit: str, question: WrittenQuestion, form: Form) -> tuple[int, dict[str, list[str]], int]:
    """Enters what a form says of answers that were touched in it, where each criterion has points.

    Returns:
        how many answers were marked, what was typed and not entered, and how many answers had changed meanwhile.
    """
    count, changed = 0, 0
    not_entered: dict[str, list[str]] = {}
    for answer in answers(unit, question):
        name = key(answer.student)
        chosen = [form.get(f"{name}.{place}", [""])[0] for place in range(len(question.criteria))]
        comment = form.get(f"{name}.comment", [""])[0].replace("\r\n", "\n").strip()
        if digest(chosen, _comment_words(comment)) == form.get(f"{name}.shown", [""])[0]:
            continue
        if form.get(f"{name}.was", [answer.state])[0] != answer.state:
            changed += 1
        elif all(chosen):
            points = [_points_given(value, most.points) for value, most in zip(chosen, question.criteria)]
            # A comment that differs in spacing alone stays as it is, with the line breaks that it got in formgrader.
            is_same_comment = _comment_words(comment) == _comment_words(answer.comment)
            save(unit, question, answer, points, answer.comment if is_same_comment else comment)
            count += 1
        elif any(chosen) or comment:
            not_entered |= {field: values for field, values in form.items() if field.startswith(f"{name}.")}
    return count, not_entered, changed


def _points_given(value: str, most: float) -> float:
    try:
        return min(max(0.0, float(value)), most)
    except ValueError:
        return 0.0


def server(unit: str, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """A server on this machine alone and its address, which holds a word that nobody can guess."""
    secret_word, one_at_a_time = secrets.token_urlsafe(16), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(lambda cell, query: page(unit, cell, "", "names" in query, "all" in query))

        def do_POST(self):
            size = int(self.headers.get("Content-Length") or 0)
            form = parse_qs(self.rfile.read(min(size, MOST)).decode("utf-8", "replace"))

            def entered(cell, query):
                question, typed = next((written for written in questions(unit) if written.cell == cell), None), form
                try:
                    count, typed, changed = take(unit, question, form) if question else (0, {}, 0)
                    message = f"{count} {'answer is' if count == 1 else 'answers are'} entered."
                    message += f" {changed} had been changed elsewhere and were left as they are." if changed else ""
                    message += " What has no points for each criterion is still below." if typed else ""
                except settings.KitError as error:
                    message = f"Not everything was entered: {error}"
                return page(unit, cell, message, "names" in query, "all" in query, typed)

            self._answer(entered)

        def _answer(self, make_page):
            parts = urlsplit(self.path)
            begin, _, cell = parts.path.strip("/").partition("/")
            if not secrets.compare_digest(begin.encode("utf-8", "replace"), secret_word.encode()):
                return self.send_error(HTTPStatus.NOT_FOUND)
            try:
                with one_at_a_time:
                    data = make_page(cell, parse_qs(parts.query, keep_blank_values=True)).encode()
            except settings.KitError as error:
                return self.send_error(HTTPStatus.CONFLICT, explain=str(error))
            self.send_response(HTTPStatus.OK)
            for name, value in (
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Length", str(len(data))),
                ("Content-Security-Policy", POLICY),
                ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    http_server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    return http_server, f"http://127.0.0.1:{http_server.server_port}/{secret_word}/"
