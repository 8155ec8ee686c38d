"""Renders the kit's own HTML pages; everything that is filled in is escaped, and only the kit's own script runs."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)


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
