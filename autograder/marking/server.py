"""Serves the marking page to a browser on this machine, and takes marks from it."""

import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from autograder import settings
from autograder.gradebook.store import apply_deadlines
from autograder.marking.questions import WrittenQuestion, answers, key, questions, save
from autograder.reports.pages import render
from autograder.reports.safe_html import as_html

MOST = 5_000_000  # bytes of a form
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'"


def page(unit: str, chosen: str | None, said: str = "", names: bool = False, only_open: bool = False) -> str:
    """The page of one question, the first if none is chosen.

    Raises:
        KitError: the unit has no written question.
    """
    asked = questions(unit)
    if not asked:
        raise settings.KitError(f"{unit} has no written question.")
    question = next((one for one in asked if one.cell == chosen), asked[0])
    everyone = answers(unit, question)
    rows = [one for one in everyone if one.score is None or not only_open]
    return render(
        "marking.html",
        unit=unit,
        questions=asked,
        question=question,
        text=as_html(question.text, {}),
        scheme=[as_html(one.text, {}) for one in question.criteria],
        answers=[(key(one.student), one, as_html(one.text, one.attachments)) for one in rows],
        marked=sum(one.score is not None for one in everyone),
        everyone=len(everyone),
        bank=sorted({one.comment for one in everyone if one.comment}),
        names=names,
        only_open=only_open,
        said=said,
    )


def take(unit: str, question: WrittenQuestion, form: dict[str, list[str]]) -> int:
    """Enters what a form says and what is not entered yet; returns how many answers were marked by it.

    An answer is marked once each of its criteria has points.
    """
    count = 0
    for one in answers(unit, question):
        name = key(one.student)
        told = [form.get(f"{name}.{place}", [""])[0] for place in range(len(question.criteria))]
        if not all(told):
            continue
        given = [_points(value, most.points) for value, most in zip(told, question.criteria)]
        comment = form.get(f"{name}.comment", [""])[0].strip()
        if list(one.given) != given or comment != one.comment or one.score != sum(given):
            save(unit, question, one.student, given, comment)
            count += 1
    if count:
        apply_deadlines(unit)
    return count


def _points(value: str, most: float) -> float:
    try:
        return min(max(0.0, float(value)), most)
    except ValueError:
        return 0.0


def server(unit: str, port: int = 0) -> tuple[ThreadingHTTPServer, str]:
    """A server on this machine alone and its address, which holds a word that nobody can guess."""
    word = secrets.token_urlsafe(16)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self._answer(lambda asked, query: page(unit, asked, "", "names" in query, "open" in query))

        def do_POST(self):
            size = int(self.headers.get("Content-Length") or 0)
            form = parse_qs(self.rfile.read(min(size, MOST)).decode("utf-8", "replace"))

            def entered(asked, query):
                question = next((one for one in questions(unit) if one.cell == asked), None)
                count = take(unit, question, form) if question else 0
                what = "answer is" if count == 1 else "answers are"
                return page(unit, asked, f"{count} {what} entered.", "names" in query, "open" in query)

            self._answer(entered)

        def _answer(self, made):
            parts = urlsplit(self.path)
            begin, _, asked = parts.path.strip("/").partition("/")
            if not secrets.compare_digest(begin, word):
                return self.send_error(HTTPStatus.NOT_FOUND)
            try:
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
