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

Form = Mapping[str, list[str]]  # what a form says, by field
NOTHING: Form = MappingProxyType({})
MOST = 5_000_000  # bytes of a form
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
    asked = questions(unit)
    if not asked:
        raise settings.KitError(f"{unit} has no written question.")
    question = next((one for one in asked if one.cell == chosen), asked[0])
    everyone, called = answers(unit, question), {one.id: one.name for one in students()}
    written = [one for one in everyone if not one.untouched]

    def rows(some):
        return [{**_row(one, question, typed), "name": called.get(one.student, "")} for one in some]

    return render(
        "marking.html",
        unit=unit,
        questions=asked,
        question=question,
        text=as_html(question.text, {}),
        scheme=[as_html(one.text, {}) for one in question.criteria],
        answers=rows(one for one in written if one.waiting or whole),
        untouched=rows(one for one in everyone if one.untouched),
        marked=sum(not one.waiting for one in written),
        written=len(written),
        bank=sorted({" ".join(one.comment.split()) for one in everyone if one.comment}),
        names=names,
        whole=whole,
        said=said,
    )


def _row(one: Answer, question: WrittenQuestion, typed: Form) -> dict:
    """What the page shows of one answer: its text, and what is chosen and written beside it."""
    name = key(one.student)
    shown = [f"{points:g}" for points in one.given] or [""] * len(question.criteria)
    told = [typed.get(f"{name}.{place}", [value])[0] for place, value in enumerate(shown)]
    comment = typed.get(f"{name}.comment", [one.comment])[0]
    return {
        "key": name,
        "student": one.student,
        "html": as_html(one.text, one.attachments),
        "chosen": told,
        "comment": comment,
        "score": one.score,
        "waiting": one.waiting,
        "was": one.state,
        "shown": digest(shown, _words(one.comment)),
    }


def _words(comment: str) -> str:
    """A comment without what a browser may change of it."""
    return " ".join(comment.split())


def take(unit: str, question: WrittenQuestion, form: Form) -> tuple[int, dict[str, list[str]], int]:
    """Enters what a form says of answers that were touched in it, where each criterion has points.

    Returns:
        how many answers were marked, what was typed and not entered, and how many answers had changed meanwhile.
    """
    count, changed = 0, 0
    left: dict[str, list[str]] = {}
    for one in answers(unit, question):
        name = key(one.student)
        told = [form.get(f"{name}.{place}", [""])[0] for place in range(len(question.criteria))]
        comment = form.get(f"{name}.comment", [""])[0].replace("\r\n", "\n").strip()
        if digest(told, _words(comment)) == form.get(f"{name}.shown", [""])[0]:
            continue
        if form.get(f"{name}.was", [one.state])[0] != one.state:
            changed += 1
        elif all(told):
            given = [_points(value, most.points) for value, most in zip(told, question.criteria)]
            same = _words(comment) == _words(one.comment)  # formgrader's line breaks stay
            save(unit, question, one, given, one.comment if same else comment)
            count += 1
        elif any(told) or comment:
            left |= {field: values for field, values in form.items() if field.startswith(f"{name}.")}
    return count, left, changed


def _points(value: str, most: float) -> float:
    try:
        return min(max(0.0, float(value)), most)
    except ValueError:
        return 0.0


def server(unit: str, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """A server on this machine alone and its address, which holds a word that nobody can guess."""
    word, one_at_a_time = secrets.token_urlsafe(16), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(lambda asked, query: page(unit, asked, "", "names" in query, "all" in query))

        def do_POST(self):
            size = int(self.headers.get("Content-Length") or 0)
            form = parse_qs(self.rfile.read(min(size, MOST)).decode("utf-8", "replace"))

            def entered(asked, query):
                question, typed = next((one for one in questions(unit) if one.cell == asked), None), form
                try:
                    count, typed, changed = take(unit, question, form) if question else (0, {}, 0)
                    said = f"{count} {'answer is' if count == 1 else 'answers are'} entered."
                    said += f" {changed} had been changed elsewhere and were left as they are." if changed else ""
                    said += " What has no points for each criterion is still below." if typed else ""
                except settings.KitError as error:
                    said = f"Not everything was entered: {error}"
                return page(unit, asked, said, "names" in query, "all" in query, typed)

            self._answer(entered)

        def _answer(self, made):
            parts = urlsplit(self.path)
            begin, _, asked = parts.path.strip("/").partition("/")
            if not secrets.compare_digest(begin.encode("utf-8", "replace"), word.encode()):
                return self.send_error(HTTPStatus.NOT_FOUND)
            try:
                with one_at_a_time:
                    data = made(asked, parse_qs(parts.query, keep_blank_values=True)).encode()
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

    made = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    return made, f"http://127.0.0.1:{made.server_port}/{word}/"
