"""Where a lesson's section can be read again: in the book, in the repository, or by the path of its notebook."""

import os
import re
from functools import cache
from html import unescape
from pathlib import Path

from autograder import settings

_LESSON_SECTION = re.compile(r'lesson (\d\d), "(.*)"')  # the form in which checks name a section
_SECTION = re.compile(r'<section id="([^"]+)">.*?<h[1-6]>(.*?)</h[1-6]>', re.DOTALL)


def link(section: str, page: Path) -> str:
    """The address of a section such as 'lesson 04, "Many queries at once"', for a page that lies at `page`; "" if there is none.

    The book is read where it was built; else the notebook, where pyproject.toml has the repository's address.
    """
    match = _LESSON_SECTION.fullmatch(section.strip())
    unit = next((name for name in settings.units() if match and name[:2] == match[1]), None)
    if not match or not unit:
        return ""
    chapter = settings.BOOK / "notebooks" / f"{unit}.html"
    if chapter.exists():
        anchor = _anchors(chapter, chapter.stat().st_mtime_ns).get(_words(match[2]), "")
        return os.path.relpath(chapter, page.parent) + (f"#{anchor}" if anchor else "")
    address = settings.address()
    return f"{address}/blob/HEAD/{_notebook(unit)}" if address else ""


def notebook(section: str) -> str:
    """The path of the lesson in the repository, for where there is no link; "" if no lesson is named."""
    match = _LESSON_SECTION.fullmatch(section.strip())
    unit = next((name for name in settings.units() if match and name[:2] == match[1]), None)
    return _notebook(unit) if unit else ""


def _notebook(unit: str) -> str:
    return (settings.LESSONS / f"{unit}.ipynb").relative_to(settings.ROOT).as_posix()


@cache
def _anchors(chapter: Path, changed: int) -> dict[str, str]:
    """The headings of a page of the book, as words -> where they are."""
    sections = _SECTION.findall(chapter.read_text(encoding="utf-8"))
    return {
        _words(unescape(re.sub(r"<a class=\"headerlink\".*?</a>|<[^>]+>", "", title))): id for id, title in sections
    }


def _words(title: str) -> str:
    """A heading's letters and digits, which are the same however it is typeset."""
    return " ".join(re.findall(r"\w+", title.casefold()))
