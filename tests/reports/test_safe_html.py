"""What a student wrote is shown in feedback and formgrader, and does nothing there."""

import nbformat
import pytest
from nbconvert import HTMLExporter
from traitlets.config import Config

from autograder.gradebook.settings import configure
from autograder.grading.submission import as_markdown


@pytest.fixture(scope="module")
def shown():
    """The HTML that nbconvert makes of a text cell under the repository's configuration."""
    exporter = HTMLExporter(config=configure(Config()), template_name="basic")

    def show(text, **more):
        cell = nbformat.v4.new_markdown_cell(text, **more)
        return exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))[0]

    return show


@pytest.mark.parametrize(
    "text",
    [
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](java\tscript:alert(1))",
        "[a][b]\n\n[b]: javascript:alert(1)",
        "[a](vbscript:x)",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "# [a](javascript:alert(1))",
        "<a href='javascript:alert(1)'>a</a>",
        "<svg onload=alert(1)>",
        "<iframe src='https://example.org'></iframe>",
        "<script>alert(1)</script>",
        "![t](https://example.org/x.png)",
        "<img src='https://example.org/x.png'>",
        "<img src=x onerror=alert(1)>",
        "![t](javascript:alert(1))",
    ],
)
def test_nothing_that_runs_or_fetches_is_left(shown, text):
    page = shown(text).split("</style>")[-1].lower()
    for harmful in (
        "<script>alert",
        "<iframe",
        "<svg",
        'href="javascript',
        'href="vbscript',
        'href="data',
        'src="http',
        "src='http",
    ):
        assert harmful not in page, page
    assert 'onerror="' not in page and 'onload="' not in page


def test_honest_texts_keep_their_links_pictures_and_formulas(shown):
    picture = {"p.png": {"image/png": "aGVsbG8="}}
    text = "**bold** [paper](https://arxiv.org/abs/1706.03762) [below](#part) $\\sqrt{D}$ ![p](attachment:p.png)"
    page = shown(text, attachments=picture)
    for kept in (
        "<strong>bold</strong>",
        'href="https://arxiv.org/abs/1706.03762"',
        'href="#part"',
        "$\\sqrt{D}$",
        "data:image/png;base64,aGVsbG8=",
    ):
        assert kept in page, kept


def test_a_files_name_in_a_note_stays_text(shown):
    name = "[c](javascript:alert(1))<script>alert(1)</script>![x](http://example.org) *a* `b` # c"
    page = shown("- " + as_markdown(name))
    assert "javascript:alert(1)" in page
    for made in ('href="javascript', "<script>alert", "<em>a", "<code>b", "<h1", "<img"):
        assert made not in page


def test_a_note_is_shown_as_it_is_written(shown):
    note = "The notebook asked for the kernel 'R' & \"more\"; it was run with the course's Python."
    words = shown("- " + as_markdown(note)).replace("&#39;", "'").replace("&quot;", '"').replace("&amp;", "&")
    assert note in words
