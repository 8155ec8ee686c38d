"""Renders the kit's own HTML pages; everything that is filled in is escaped."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@cache
def _environment() -> Environment:
    folder = Path(__file__).parent / "templates"
    return Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True)


def render(template: str, **values) -> str:
    """A page from a template of `templates/`."""
    return _environment().get_template(template).render(**values)
