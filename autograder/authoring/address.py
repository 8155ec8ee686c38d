"""The address from which notebooks fetch the course, and the places in notebooks and their twins where it stands."""

import re
from collections.abc import Iterator
from pathlib import Path

from autograder import settings
from autograder.files import write_atomically

PLACEHOLDER = "https://github.com/OWNER/attention-course"
BADGE = "<!-- badge -->"
TEMPLATE = Path(__file__).parent / "templates" / "setup_cell.py"
# Both are found in a notebook's file as well as in its twin: in JSON, quotation marks have a backslash.
_FETCHED = re.compile(r'(?<=COURSE_REPOSITORY)(\\?", \\?")[^"\\]*')
_BADGE = re.compile(rf"(?:\[!\[[^\]\n]*\]\([^)\n]*\)\]\([^)\n]*\) )?{BADGE}")
_GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com"


def repository() -> str:
    """The students' repository, as pyproject.toml states it.

    Raises:
        KitError: it is no address that a student without an account could fetch the course from.
    """
    stated = settings.table()["repository"].removesuffix("/")
    if not re.fullmatch(r"https?://[\w.~:%@/+-]+", stated):
        raise settings.KitError(f"repository in pyproject.toml has to be a web address, https://…, and is {stated!r}.")
    return stated


def setup_code() -> str:
    """The first code cell of every notebook, with the repository's address from pyproject.toml."""
    return with_address(TEMPLATE.read_text(encoding="utf-8"), "").rstrip("\n")


def with_address(text: str, unit: str, address: str | None = None) -> str:
    """The text of a notebook or a cell with an address wherever one stands, and with the badge of the unit's lesson there.

    Args:
        address: the one that is meant, if not that of pyproject.toml. Colab opens what is on GitHub; elsewhere there is no badge.
    """
    course_address = address or repository()
    place = course_address.removeprefix(_GITHUB).removesuffix(".git")
    lesson = f"{COLAB}/github/{place}/blob/main/notebooks/{unit}.ipynb"
    badge = (
        f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({lesson}) " if course_address.startswith(_GITHUB) else ""
    )
    text = _FETCHED.sub(lambda match: match[1] + course_address, text)
    return _BADGE.sub(lambda match: badge + BADGE, text)


def write_address() -> list[Path]:
    """Writes the address of pyproject.toml into all notebooks and their twins; nothing is run, and outputs stay.

    Returns:
        the files that held another one.
    """
    changed = []
    for file in _files():
        text = file.read_text(encoding="utf-8")
        if (new := with_address(text, file.stem)) != text:
            changed.append(write_atomically(file, new))
    return changed


def _files() -> Iterator[Path]:
    """Notebooks and their twins, in whatever folder of the course they lie."""
    flat = (settings.LESSONS, settings.LESSON_TWINS, settings.MILESTONES, settings.MILESTONE_TWINS)
    for folder in (*flat, settings.SOLUTIONS, settings.ASSIGNMENTS):
        deep = "*" if folder in flat else "*/*"
        yield from sorted(file for end in (".ipynb", ".py") for file in folder.glob(deep + end))
