"""What a student wrote is shown in feedback and formgrader, and does nothing there."""

import html
import re
import time

import nbformat
import pytest
from browser import offline_browser
from bs4 import BeautifulSoup
from conftest import ROOT
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

from autograder.gradebook.nbgrader_configuration import configure
from autograder.grading.submission import as_markdown
from autograder.reports.feedback_page import FeedbackPage
from autograder.reports.formulas import drawn
from autograder.reports.safe_html import LONGEST


@pytest.fixture(scope="module", params=["feedback", "formgrader"])
def whole(request):
    """The page of a written answer: for the student, and by nbconvert's template, as formgrader has it."""
    config = configure(Config())
    for_student = request.param == "feedback"
    exporter = FeedbackPage(config=config) if for_student else HTMLExporter(config=config, template_name="classic")
    about = {"notebook": "name", "score": 1, "max_score": 2, "late_penalty": 0}
    written = {"nbgrader": {"grade_id": "written", "grade": True, "solution": True, "points": 2}}

    def show(text, **more):
        cell = nbformat.v4.new_markdown_cell(text, metadata=written, **more)
        page = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]), {"nbgrader": about})[0]
        return page.replace('class="answer"', 'class="answer" id="notebook-container"')

    return show


@pytest.fixture(scope="module")
def shown(whole):
    """What that page shows of the cell."""

    def show(text, **more):
        page = whole(text, **more)
        begin = page.index('id="notebook-container"')
        return page[begin : page.index("</section>", begin) if "</section>" in page else None]

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
        'alt="\\sqrt{D}"',
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


def test_tables_hints_ticks_and_coloured_code_come_out_as_they_should(shown):
    hint = "<details open><summary>Hint</summary>\n\n**see** $h$\n\n</details>"
    page = shown(
        f"| a | b |\n|---|:-:|\n| 1 < 2 | $x$ |\n\n{hint}\n\n- [x] done\n" + "\n```python\nreturn 1  # $h$\n```\n"
    )
    for kept in (
        "<td>1 &lt; 2</td>",
        "text-align:center",
        "<summary>Hint</summary>",
        "<strong>see</strong>",
        "☑ done",
        "# $h$",
    ):
        assert kept in page, kept
    assert page.count('class="formula"') == 2 and '<span class="k">return</span>' in page and "<input" not in page
    assert "<details open" in page


@pytest.mark.parametrize(
    "tex",
    [
        r"$\frac{QK^\top}{\sqrt{D}} \le 1$",
        r"$$\sum_x \big(\varphi(k_x)\big)$$",
        r"$$\begin{aligned} a &= b \\ c &= d \end{aligned}$$",
        r"\begin{align*}a &= 1\end{align*}",
        "$α \\to β$",
        r"$$W = \begin{pmatrix} \tfrac12 & -\sqrt2 \\ 0 & i \bmod 2 \end{pmatrix}, \quad b = 0$$",
        r"$\begin{pmatrix}1\end{pmatrix}$",
        r"$1/\sqrt D$",
        r"$\sqrt\pi + \frac1D$",
        r"$$y_n = \begin{cases} x_n & \text{if } a \leq n < b \\ -100 & \text{otherwise,} \end{cases} \qquad z = 1$$",
    ],
)
def test_formulas_are_drawn(shown, tex):
    page = shown(f"before {tex} behind" if tex[1] != "b" else tex)
    assert "data:image/svg+xml" in page and "$" not in page, page


def test_formulas_of_assignments_are_all_drawn():
    found = set()
    for file in sorted((ROOT / "assignments").glob("*/*.ipynb")):
        cells = nbformat.read(file, as_version=4).cells
        texts = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        found |= {one[0] or one[1] for one in re.findall(r"\$\$(.+?)\$\$|\$([^$]+?)\$", texts, re.DOTALL)}
    assert len(found) > 100 and [tex for tex in found if not drawn(tex, True)] == []


@pytest.mark.parametrize(
    "tex",
    [
        r"\unknown{x}",
        "学",
        r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}",
        r"\begin{pmatrix}",
        "x" * 600,
        "{" * 30,
        r"\hspace{1e300}x",
        "<b>x</b>&amp;",
    ],
)
def test_a_formula_that_cannot_be_drawn_stays_as_text(shown, tex, capfd):
    page = shown(f"a ${tex}$ b")
    words = html.unescape(re.sub("<[^>]*>", "", page))
    assert f"${tex}$" in words or "data:image/svg+xml" in page
    assert capfd.readouterr().err == ""


HOSTILE = [
    one.replace("⏎", "\n")
    for one in r"""
<script>ran()</script>
<scr<script>ipt>ran()</script>
<SCRIPT SRC=//e.org/x.js></SCRIPT>
<img src=x onerror=ran()>
<img src="data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9InJhbigpIi8+">
<img src="data:text/html,x" onload=ran()>
<svg onload=ran()>
<svg><use href="//e.org/x.svg#a"/></svg>
<math><mi xlink:href='javascript:ran()'>x</mi></math>
<iframe srcdoc='<script>ran()</script>'>
<object data=//e.org></object><embed src=//e.org>
<form action=//e.org><input autofocus onfocus=ran()><button formaction=//e.org>x</button>
<a href='javascript:ran()'>x</a>
<a href='&#106;avascript:ran()'>x</a>
[x](javascript&colon;ran())
<details ontoggle=ran() open>x
<style>@import '//e.org/x.css'; body {background: url(//e.org/x)}</style>
<p style='background:url(//e.org/x)'>x</p>
<table background=//e.org/x><td background=//e.org/x style='text-align:url(//e.org/x)'>x</table>
<link rel=stylesheet href=//e.org/x>
<base href=//e.org>
<meta http-equiv=refresh content='0;url=//e.org'>
<video src=//e.org/x><audio src=//e.org/x><source srcset=//e.org/x>
<img srcset='//e.org/x 1x' src=//e.org/y>
![x](//e.org/x)
![x](attachment:none)
<body onload=ran()>
<!--<img src=x onerror=ran()>-->
<noscript><p title='</noscript><img src=x onerror=ran()>'>
<template><script>ran()</script></template>
<textarea></textarea><script>ran()</script>
`</code><script>ran()</script>`
$</span><script>ran()</script>$
$$<img src=x onerror=ran()>$$
<span class='math'>$<img src=x onerror=ran()>$</span>
<div class='panel-heading score btn' id=written_scaling>x</div>
```html⏎<script>ran()</script>⏎```
```mermaid⏎click a ran()⏎```
```<script>ran()</script>⏎x⏎```
<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror=ran()&gt;'>
""".strip().splitlines()
]


ACTIVE = "script,style,iframe,object,embed,form,input,button,svg,math,link,base,meta,video,audio,source"


def test_nothing_of_what_is_hostile_runs_or_loads(whole):
    for text in HOSTILE:
        page = BeautifulSoup(whole(text), "html.parser").select_one("#notebook-container")
        assert not page.select(
            "script,style,iframe,object,embed,form,input,button,svg,math,link,base,meta,video,audio,source"
        ), text
        for part in page.select("*"):
            for name, value in part.attrs.items():
                assert not name.startswith("on") and name not in ("srcset", "srcdoc", "background", "action"), text
                assert "ran()" not in value or name in ("alt", "title"), text
                assert name != "src" or value.startswith(("data:image/png", "data:image/svg+xml;base64,")), text
        assert not page.select(".score, .btn, #written_scaling"), text


@pytest.mark.browser
@pytest.mark.parametrize("policy", ["as written", "taken out"])
def test_a_whole_page_of_it_asks_for_nothing_and_runs_nothing(whole, tmp_path, policy):
    """With the page's policy, which forbids both, and without, where there must be nothing to forbid."""
    file, text = tmp_path / "page.html", whole("\n\n".join(HOSTILE))
    file.write_text(text if policy == "as written" else re.sub("<meta[^>]*Policy[^>]*>", "", text), encoding="utf-8")
    with offline_browser() as browser:
        page, asked, said = browser.new_page(), [], []
        page.on("request", lambda sent: asked.append(sent.url))
        page.on("console", lambda one: said.append(one.text))
        page.add_init_script("window.ran = () => console.log('ran')")
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('a').forEach(one => one.href.startsWith('javascript') && one.click())")
        page.evaluate("document.querySelectorAll('details, summary').forEach(one => one.click())")
    theirs = ("data:", "https://cdnjs.cloudflare.com/")  # what nbconvert's template asks for itself
    assert [one for one in asked if not one.startswith(theirs)] == [file.as_uri()] and "ran" not in said


def test_a_students_page_has_no_script_and_forbids_them():
    page = FeedbackPage(config=configure(Config())).from_notebook_node(nbformat.v4.new_notebook())[0]
    assert "<script" not in page and 'http-equiv="Content-Security-Policy"' in page and "default-src 'none'" in page


def test_long_and_broken_texts_are_shown_as_they_stand(shown):
    assert "a &lt; b" in shown("a < b " * LONGEST) and "<pre>" in shown("a < b " * LONGEST)
    assert "missing.png" in shown("![p](attachment:missing.png)")
    assert "x" in shown(">" * 5000 + "x")


@pytest.mark.parametrize(
    "piece",
    ["[", "*a ", "> ", "`a`` ", "$a ", "\\\\(", "\\\\[", "<a ", "|a", "![", "[a](", "&", "- ", "<!--", "\\begin{a}"],
)
def test_no_text_holds_up_the_page(shown, piece):
    started = time.process_time()
    shown(piece * (LONGEST // len(piece)))
    assert time.process_time() - started < 5


@pytest.mark.timeout(60)  # nbconvert's own filter took minutes over such a text, and held up a class's feedback
def test_a_long_text_of_beginnings_of_addresses_holds_nothing_up():
    from autograder.reports.safe_html import unchanged

    exporter = HTMLExporter(config=configure(Config()))
    assert exporter.environment.filters["strip_files_prefix"] is unchanged
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("src=" * 25_000)])
    assert "src=src=" in exporter.from_notebook_node(notebook)[0]
