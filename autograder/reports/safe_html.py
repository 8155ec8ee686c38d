"""Turns students' Markdown into HTML in which nothing runs, and which fetches nothing, for feedback and formgrader."""

import re
from html import escape
from urllib.parse import urlsplit

import nh3
from bs4 import BeautifulSoup
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML

from autograder.intake.guard import guarded
from autograder.reports.formulas import drawn

LINKS = ("http", "https", "mailto", "")  # what a link may lead to; "" is a place in the page
# The kinds of pictures that are shown; SVG is not among them, since it may hold scripts.
PICTURE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")
LONGEST = 10_000  # characters of a text that is rendered; some need time of the length squared
MOST_FORMULAS = 100  # formulas of one text that are drawn; the others stay as TeX
TAGS = set(
    "a abbr b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre s samp"
    " small span strong sub summary sup table tbody td tfoot th thead tr u ul var".split()
)
ATTRIBUTES = {
    "a": {"href", "title"}, "img": {"src", "alt", "title"}, "ol": {"start"}, "details": {"open"}, "abbr": {"title"},
    **dict.fromkeys(("th", "td"), {"style", "colspan", "rowspan"}), **dict.fromkeys(("div", "span"), {"class"}),
}  # fmt: skip
# of formulas and of coloured code, none of the page around
CLASS = re.compile(r"highlight|math|displayed|[a-z]{1,2}[0-9]?")


class Safe(str):
    """HTML that has been made safe already; cleaned again, drawn formulas and hints would be lost."""


def clean_once(html: str) -> str:
    """The filter that nbconvert's templates call for HTML of whatever origin."""
    return html if isinstance(html, Safe) else clean(html)


@pass_context
def markdown2html(context: Context, source: str) -> str:
    """The filter that nbconvert's templates call for a Markdown cell.

    Links lead to pages and addresses alone; pictures that would be fetched from elsewhere, by which a reader could be
    watched, are named instead. Formulas are drawn.
    """
    return Safe(_rendered(str(source), context.get("cell", {}).get("attachments", {})))


def unchanged(text: str) -> str:
    """Takes the place of nbconvert's filter for addresses that begin with files/, which takes minutes over a long text."""
    return text


def as_html(source: str, attachments: dict) -> str:
    """Markdown that a student may have written, as HTML that does nothing and fetches nothing."""
    return _rendered(source, attachments)


def _as_it_stands(error: BaseException, source: str, attachments: dict) -> str:
    return f"<pre>{escape(source)}</pre>"


@guarded(_as_it_stands)
def _rendered(source: str, attachments: dict) -> str:
    if len(source) > LONGEST:
        raise ValueError("too long")
    renderer = _Renderer(escape=False, exclude_anchor_links=True, attachments=attachments)
    return _with_formulas_drawn(clean(MarkdownWithMath(renderer=renderer).render(source)))


def clean(html: str) -> str:
    """What is left of HTML without whatever runs, loads, asks for input, or looks like a part of the page around it."""
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_kept_value,
        filter_style_properties={"text-align"},
        url_schemes={"http", "https", "mailto", "data"},
    )


def _kept_value(tag: str, name: str, value: str) -> str | None:
    if name == "href":
        return value if _scheme(value) in LINKS else None
    if name == "class":
        return " ".join(word for word in value.split() if CLASS.fullmatch(word)) or None
    return value


def _with_formulas_drawn(html: str) -> str:
    """Clean HTML with formulas drawn, and with words for pictures that would have to be fetched."""
    page = BeautifulSoup(html, features="html.parser")
    for picture in page.select("img"):
        if not PICTURE.fullmatch(str(picture.get("src", ""))):
            picture.replace_with(f"[picture {picture.get('alt', '')}: {picture.get('src', '')}]")
    for formula in page.select("span.math")[:MOST_FORMULAS]:
        if drawing := drawn(formula.get_text().strip("$"), "displayed" in formula["class"]):
            formula.replace_with(BeautifulSoup(drawing, features="html.parser"))
    return str(page)


def _scheme(address: str) -> str:
    try:
        return urlsplit("".join(address.split())).scheme.lower()
    except ValueError:
        return "unknown"


class _Renderer(IPythonRenderer):
    """nbconvert's, with formulas in elements of their own and with ticks that are no form."""

    def inline_math(self, body: str) -> str:
        return f'<span class="math">${escape(body)}$</span>'

    def block_math(self, body: str) -> str:
        return f'<span class="math displayed">$${escape(body)}$$</span>'

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")

    def task_list_item(self, text: str, checked: bool = False) -> str:
        return f"<li>{'☑' if checked else '☐'} {text}</li>\n"

    def _embed_image_or_attachment(self, src: str) -> str:
        """An attached picture; one that is missing keeps its name."""
        name = src.removeprefix("attachment:")
        attached = self.attachments.get(name, {}) if name != src else {}
        accepted = next((kind for kind in attached if PICTURE.fullmatch(f"data:{kind};base64,{attached[kind]}")), None)
        return f"data:{accepted};base64,{attached[accepted]}" if accepted else name


class CleanOutputs(SanitizeHTML):
    """nbconvert's step, for all but Markdown: that is made safe once it is HTML, which leaves tables, hints and formulas."""

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type == "markdown":
            return cell, resources
        return super().preprocess_cell(cell, resources, cell_index)
