"""The book: every lesson is in it, its links lead somewhere, nothing comes from another host, and it reads on a telephone."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from browser import offline_browser
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder import settings
from autograder.authoring import gallery
from autograder.authoring.book import notebook
from autograder.authoring.book.__main__ import make
from autograder.authoring.book.places import BUNDLE, DOCUMENTS, address
from autograder.authoring.reading import is_folded
from utils.milestones.declared import MILESTONES

UNITS = settings.units()
PATH = f"notebooks/{UNITS[0]}.ipynb"
LINK = re.compile(r'<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"')
ID = re.compile(r'\sid="([^"]*)"')
IMAGE = re.compile(r"<img\b[^>]*>")
PAGES = (
    "index.html",
    "notebooks/04_attention_layer.html",
    "notebooks/12_attention_in_vision.html",
    "docs/glossary.html",
    "docs/instructors.html",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The whole book, as `make book` makes it; a warning of Sphinx's would be an error."""
    folder = tmp_path_factory.mktemp("book")
    assert make(folder / "book", folder / "work") == 0
    return folder / "book"


@pytest.fixture(scope="module")
def pages(book):
    """The text of all pages, by their paths."""
    return {
        file.relative_to(book).as_posix(): file.read_text(encoding="utf-8") for file in sorted(book.rglob("*.html"))
    }


def test_every_lesson_assignment_and_guide_has_a_page(pages):
    wanted = {f"notebooks/{unit}.html" for unit in UNITS} | {f"assignments/{unit}/{unit}.html" for unit in UNITS}
    wanted |= {f"milestones/{one.name}.html" for one in MILESTONES}
    assert wanted | {f"docs/{name}.html" for name in DOCUMENTS} | {"index.html", "search.html"} <= pages.keys()
    guides = {file.stem for file in (ROOT / "docs").glob("*.md")}
    assert guides == set(DOCUMENTS)


def test_every_link_leads_to_a_page_and_a_place_on_it(book, pages):
    ids = {path: set(ID.findall(text)) for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        for tag, written in LINK.findall(text):
            link = urlsplit(unescape(written))
            if link.scheme or link.netloc:
                assert tag == "a", f"{path} fetches {written}"
                continue
            target = (book / path).parent / unquote(link.path) if link.path else book / path
            place = target.resolve().relative_to(book.resolve()).as_posix()
            known = not link.fragment or link.fragment in ids.get(place, ())
            if not target.is_file() or (target.suffix == ".html" and not known):
                dead.append(f"{path}: {written}")
    assert dead == []


@pytest.mark.parametrize("unit", UNITS)
def test_a_lesson_keeps_its_figures_their_descriptions_and_its_folds(unit, pages):
    nb = nbformat.read(settings.LESSONS / f"{unit}.ipynb", as_version=4)
    page, cells = pages[f"notebooks/{unit}.html"], [cell for cell in nb.cells if cell.cell_type == "code"]
    drawn = [output for cell in cells for output in cell.outputs if "image/png" in output.get("data", {})]
    shown = [unescape(one) for one in IMAGE.findall(page) if "_images/" in one]
    assert len(shown) == len(drawn)
    for output, image in zip(drawn, shown):
        assert f'alt="{" ".join(output.metadata["image/png"]["alt"].split())}"' in image
    folded = [cell for cell in cells if is_folded(cell) and "setup" not in cell.metadata.tags]
    assert page.count('<details class="admonition hide above-input">') == len(folded)
    assert "def course_folder" not in page


def test_each_explorer_is_shown_in_other_states_beside_the_way_to_move_it(pages):
    for unit in UNITS:
        page, shown = pages[f"notebooks/{unit}.html"], gallery.of_lesson(unit)
        assert page.count('<div class="states">') == page.count('class="explorer-note"') == len(shown)
        assert page.count(f"_static/gallery/{unit}/") == sum(map(len, shown)) > 0


def test_the_book_is_made_without_what_runs_a_lesson():
    code = "import sys, autograder.authoring.book.__main__; print(*{'torch', 'nbgrader', 'numpy', 'PIL'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, ""), ran.stderr


def test_notebooks_to_download_are_those_of_the_repository(book):
    for unit in UNITS:
        lesson = f"notebooks/{unit}.ipynb"
        assert (book / "downloads" / lesson).read_bytes() == (ROOT / lesson).read_bytes()
    for one in MILESTONES:
        assert (book / f"downloads/milestones/{one.name}.ipynb").is_file()
    assert (book / "downloads" / BUNDLE).stat().st_size > 1e6


def test_no_page_holds_the_placeholder_of_the_address(pages):
    held = [path for path, text in pages.items() if "colab.research" in text or "github.com/OWNER" in text]
    assert held == [] or address()


def test_where_the_course_has_an_address_its_notebooks_open_in_colab(monkeypatch):
    nb = new_notebook(cells=[new_markdown_cell("# T\n\n[![x](y)](https://github.com/OWNER/z) <!-- badge -->\n\nText.")])
    assert "colab" not in notebook.dressed(nb, UNITS[0], PATH).cells[0].source
    monkeypatch.setattr(notebook, "address", lambda: "https://github.com/school/course")
    shown = notebook.dressed(nb, UNITS[0], PATH).cells[0].source
    assert f"colab.research.google.com/github/school/course/blob/main/notebooks/{UNITS[0]}.ipynb" in shown
    assert "OWNER" not in shown and "OWNER" in nb.cells[0].source


def drawing(source, **metadata):
    output = new_output("display_data", {"image/png": "AAAA"}, metadata={"image/png": {"alt": "A line."}})
    return new_code_cell(source, outputs=[output], metadata={"tags": ["fold"], **metadata})


def test_a_folded_cell_says_what_it_holds_in_the_line_that_unfolds_it():
    cells = [
        new_markdown_cell("# T"),
        drawing("# @title Draws Figure 3\nshow(x)"),
        new_markdown_cell("**Figure 3.** A line."),
    ]
    shown = notebook.dressed(new_notebook(cells=cells), UNITS[0], PATH).cells[1]
    assert shown.metadata.mystnb["code_prompt_show"] == "Code: draws Figure 3" and shown.source == "show(x)"


def test_formulas_in_the_line_that_unfolds_are_marked_as_formulas():
    nb = new_notebook(
        cells=[new_markdown_cell("# T\n\n<details><summary>Is it $a < b$?</summary>\n\nNo.\n\n</details>")]
    )
    shown = notebook.dressed(nb, UNITS[0], PATH).cells[0].source
    assert r'<span class="math notranslate nohighlight">\(a &lt; b\)</span>' in shown


def test_the_workflow_builds_the_book_with_a_python_that_the_course_allows():
    text = (ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    steps = jobs["build"]["steps"]
    assert "make book" in [step.get("run") for step in steps] and jobs["publish"]["needs"] == "build"
    assert (
        "3.11"
        <= next(step["with"]["python-version"] for step in steps if "setup-python" in step.get("uses", ""))
        <= "3.13"
    )
    assert next(step["with"]["path"] for step in steps if "pages-artifact" in step.get("uses", "")) == "book"


@pytest.fixture(scope="module")
def context():
    with offline_browser() as opened:
        yield opened


def opened(context, book: Path, path: str, width: int = 1400):
    """A page of the book, with what it asked for and what its scripts complained of."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.asked, page.complained = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.complained.append(str(error)))
    page.goto((book / "x").as_uri()[:-1] + path)
    return page


DRAWN = "document.querySelectorAll('.math').length === document.querySelectorAll('.math mjx-container').length"
TOO_WIDE = """() => {
    const itself = (one) => ["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX);
    const scrolls = (one) => one && (itself(one) || scrolls(one.parentElement));
    return [...document.querySelectorAll(".bd-article *")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && one.checkVisibility() && !scrolls(one))
        .map((one) => one.outerHTML.slice(0, 100));
}"""


@pytest.mark.browser
@pytest.mark.parametrize("path", PAGES)
def test_a_page_draws_its_formulas_asks_no_other_host_and_fits_a_telephone(path, book, context):
    page = opened(context, book, path, width=390)
    page.wait_for_function(DRAWN)
    assert page.locator("mjx-merror").count() == 0 and page.locator("img:not([alt])").count() == 0
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == [] == page.complained
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(TOO_WIDE) == []
    page.close()


@pytest.mark.browser
def test_search_finds_the_softmax(book, context):
    page = opened(context, book, "search.html?q=softmax")
    page.locator("#search-results a", has_text="The attention layer").first.wait_for()
    page.locator("#search-results li").nth(5).wait_for()  # what is found appears one by one
    page.close()


@pytest.mark.browser
def test_figures_keep_their_white_ground_in_the_dark(book, context):
    page = opened(context, book, PAGES[1])
    page.emulate_media(color_scheme="dark")
    page.locator("html[data-theme=dark]").wait_for()
    grounds = page.eval_on_selector_all(
        ".cell_output img", "all => all.map((one) => getComputedStyle(one).backgroundColor)"
    )
    assert set(grounds) == {"rgb(255, 255, 255)"}
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    page.close()


@pytest.mark.browser
def test_the_live_picture_shows_the_weights_of_lesson_04(book, context):
    page = opened(context, book, PAGES[0])
    told = json.loads(page.locator("#plane-numbers").text_content())
    assert told["words"] == ["we", "see", "the", "sky"]
    weights = page.locator(".plane-weights").inner_text
    first = weights()
    page.get_by_role("button", name=told["asked"][2]).click()
    assert weights() != first
    page.locator(".plane svg").press("ArrowLeft")
    assert page.locator("button[aria-pressed=true]").count() == 0
    page.close()
