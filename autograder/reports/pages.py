"""Renders the kit's own HTML pages; everything that is filled in is escaped, and only the kit's own script runs."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
LONGEST_NAME = 100  # characters of a name that are shown; folders' names are no longer
_JOINERS = "\u200c\u200d"  # names in Persian and in Indian scripts are written with them
# What turns round the order of the text behind it, and control characters.
_DISORDER = dict.fromkeys(
    {*range(32), *range(127, 160), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)} - {9, 10, 13}
)


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(TEMPLATES)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, finalize=_in_order
    )
    environment.filters["as_name"] = as_name
    return environment


def _in_order(value: object) -> object:
    """What is filled in, without characters that would change the text around it; what is HTML already stays."""
    return value.translate(_DISORDER) if isinstance(value, str) and not isinstance(value, Markup) else value


def as_name(text: str) -> str:
    """A name as one short line of text, whatever was typed for it."""
    line = "".join(character if character.isprintable() or character in _JOINERS else " " for character in text)
    return line if len(line) <= LONGEST_NAME else f"{line[:LONGEST_NAME]}…"


def render(template: str, **values: object) -> str:
    """A page from a template of `templates/`."""
    return _environment().get_template(template).render(**values)


@dataclass(frozen=True)
class Script:
    """A script of the kit's and the source under which a page's Content-Security-Policy lets it run, and no other."""

    text: str
    source: str


@cache
def script(name: str) -> Script:
    """A script of `templates/`, to stand in a page of the instructor's; pages for students have none."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    return Script(text, f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")
