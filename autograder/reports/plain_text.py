"""Shows what a student wrote as it was typed, and where it is long only its beginning, with a sentence that says so."""

from autograder.reports.pages import render

SHOWN = 20_000  # characters of one cell or answer that are shown as plain text


def shortened(text: str, most: int = SHOWN) -> tuple[str, str]:
    """The beginning of a text, and a sentence on what was left out; the whole text and nothing where it is short enough."""
    if len(text) <= most:
        return text, ""
    return text[:most], f"These are the first {most:,} of {len(text):,} characters, as plain text."


def as_plain_html(text: str) -> str:
    """A text as HTML in which each of its characters stands for itself; nothing where there is none."""
    if not text.strip():
        return ""
    beginning, sentence = shortened(text)
    return render("code.html", source=beginning, sentence=sentence)
