"""The class report in headless Chromium, without network: what it counts, shows and hides."""

import json
import re

import pytest
from browser import offline_browser, screenshot
from conftest import UNIT

from autograder import settings
from autograder.bank import catalogue
from autograder.reports import reteaching

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page():
    """A page of a browser that has no network; `asked` lists what it asked for beyond the file itself."""
    with offline_browser() as browser:
        page = browser.new_page()
        page.asked = []
        page.on("request", lambda sent: page.asked.append(sent.url))
        yield page


@pytest.fixture
def report(page, graded):
    folder, records = graded
    page.asked.clear()
    page.goto((folder / "report" / f"{UNIT}.html").as_uri())
    return page


def _rows(page, table: str) -> list[list[str]]:
    read = "rows => rows.map(row => Array.from(row.cells, cell => cell.innerText.trim()))"
    return page.locator(f"{table} tr:has(td)").evaluate_all(read)


def test_the_report_opens_without_network_and_asks_for_nothing(report):
    assert len(report.asked) == 1 and report.asked[0].startswith("file:")
    screenshot(report, "report")
    report.locator("#alike").scroll_into_view_if_needed()
    screenshot(report, "report-pairs")
    report.locator("#students").scroll_into_view_if_needed()
    screenshot(report, "report-students")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 420])
def test_it_fits_the_window_and_no_row_is_taller_than_a_paragraph(report, width, dark):
    report.set_viewport_size({"width": width, "height": 1000})
    report.emulate_media(color_scheme="dark" if dark else "light")
    assert report.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert report.evaluate("Math.max(...Array.from(document.querySelectorAll('tr'), one => one.offsetHeight))") < 500
    screenshot(report, f"report-{width}-{'dark' if dark else 'light'}")
    if width == 1200:
        total = report.locator("#everyone td.total").first.bounding_box()
        assert total["x"] + total["width"] <= width
    report.set_viewport_size({"width": 1300, "height": 1000})


def test_a_click_on_a_columns_name_sorts_the_table(report, graded):
    _, records = graded
    points = {student: sum(one["points"] for one in row.values()) for student, row in records.items()}

    def names():
        return report.locator("#everyone tbody td.name").all_inner_texts()

    head = report.locator("#everyone th").filter(has_text="total")
    for turn in (1, -1):
        head.get_by_role("button").click()
        assert [turn * points[one] for one in names()] == sorted(turn * one for one in points.values())
    assert head.get_attribute("aria-sort") == "descending"
    assert not set(report.locator("#everyone tbody td.points:last-of-type").all_inner_texts()) & set("0123456789")


def test_no_script_runs_but_the_reports_own(report):
    report.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.other = 1'}))"
    )
    assert report.evaluate("window.other") is None
    report.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.other = 1\">')")
    assert report.evaluate("window.other") is None


def test_on_paper_it_is_black_on_white_and_fits(report):
    report.emulate_media(media="print", color_scheme="dark")
    report.set_viewport_size({"width": 720, "height": 1000})
    assert report.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert report.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert not report.locator("nav").is_visible()
    report.emulate_media(media="screen", color_scheme="light")
    report.set_viewport_size({"width": 1300, "height": 1000})


def test_the_lessons_section_to_reteach_is_a_link_where_there_is_a_book_or_an_address(report, graded):
    folder, _ = graded
    said = report.locator("#heat tbody tr").filter(has_text="softmax over queries").locator("small").first
    if settings.BOOK.exists():
        address = said.locator("a").get_attribute("href")
        chapter, _, anchor = address.partition("#")
        page = (folder / "report" / chapter).resolve()
        assert page == settings.BOOK / "notebooks" / f"{UNIT}.html" and f'id="{anchor}"' in page.read_text(
            encoding="utf-8"
        )
    elif not settings.address():
        assert f"notebooks/{UNIT}.ipynb" in said.inner_text()


def test_without_a_book_the_link_leads_to_the_repository_and_without_an_address_the_path_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "BOOK", tmp_path)
    monkeypatch.setattr(settings, "address", lambda: "https://github.com/school/course")
    section = 'lesson 04, "Many queries at once"'
    assert reteaching.link(section, tmp_path / "a.html").endswith(f"school/course/blob/HEAD/notebooks/{UNIT}.ipynb")
    monkeypatch.setattr(settings, "address", lambda: None)
    assert (
        reteaching.link(section, tmp_path / "a.html") == ""
        and reteaching.notebook(section) == f"notebooks/{UNIT}.ipynb"
    )
    assert reteaching.link("", tmp_path / "a.html") == reteaching.notebook("") == ""


def test_scores_are_of_those_who_were_examined_and_it_is_told_who_is_left_out(report, graded):
    _, records = graded
    counts = [int(row[1]) for row in _rows(report, "#histogram")]
    states = [{one["state"] for one in row.values()} for row in records.values()]
    missing = sum(one == {"missing"} for one in states)
    unread = sum(one <= {"malformed", "other_notebook"} for one in states)
    assert missing and unread and sum(counts) == len(records) - missing - unread
    said = report.locator("#scores + p").inner_text()
    assert said.startswith(f"Of the {sum(counts)} examined,")
    assert f"{missing} who handed in nothing and {unread} whose hand-in could not be examined." in said
    best = sum(sum(one["points"] for one in row.values()) == 18 for row in records.values())
    assert counts[-1] >= best >= 5


def test_the_heat_map_counts_each_mistake_in_the_quarters_of_the_class(report, graded):
    _, records = graded
    rows = _rows(report, "#heat")
    everyone = [one for row in records.values() for one in row.values()]
    for row in rows:
        assert int(row[0]) == pytest.approx(sum(float(cell or 0) for cell in row[3:7]), abs=0.21), row
    (row,) = [row for row in rows if row[1] == "AttentionLayer" and row[2].startswith("not scaled")]
    assert (
        int(row[0]) == sum(one["misconception"] == "not_scaled" and one["exercise"] == row[1] for one in everyone) == 1
    )
    shades = report.locator("#heat td.heat").evaluate_all(
        "cells => cells.map(one => getComputedStyle(one).backgroundColor)"
    )
    alphas = [float(re.search(r", ([\d.]+)\)$", shade).group(1)) if "rgba" in shade else 1.0 for shade in shades]
    counted = [float(cell or 0) for row in rows for cell in row[3:7]]
    assert all((alpha > 0) == (count > 0) for alpha, count in zip(alphas, counted))


def test_difficulty_discrimination_and_time_are_given_for_each_exercise(report, graded):
    rows = {row[0]: row for row in _rows(report, "#difficulty")}
    assert len(rows) == len(catalogue.units()[UNIT])
    for row in rows.values():
        assert 0 < float(row[1].split()[0]) < 100 and -1 <= float(row[3]) <= 1 and 0 <= float(row[4]) <= float(row[5])
    assert float(rows["attention_pooling"][5]) > 9, "the endless loop"


def test_checks_that_nobody_failed_are_listed(report, graded):
    _, records = graded
    listed = {row[0]: row[1] for row in _rows(report, "#silent")}
    assert len(listed) == len(catalogue.units()[UNIT])
    for exercise, said in listed.items():
        own = [row[exercise] for row in records.values()]
        tried = [one for one in own if one["state"] == "graded" and one["problem"] != "unfinished"]
        names = set(said.partition(": ")[2].split(" · "))
        assert names and not names & {check for one in tried for check in one["failed"]}


def test_a_stretch_is_told_by_the_share_of_those_who_have_it_right(report):
    rows = {row[0]: row[1:] for row in _rows(report, "#difficulty")}
    right, _, students = rows["attention_backward ✓"][1].split()
    assert 0 < int(right) < int(students)
    assert rows["attention_backward ✓"][0] == f"{100 * int(right) / int(students):.0f} %"


def test_copies_are_listed_once_and_those_of_the_published_solution_by_themselves(report):
    """Most of the sample class is the published solution with one change; one answer is another's with other names."""
    rows = _rows(report, "#copies")
    assert [row[:2] for row in rows] == [
        ["right-with-loops and right-with-loops-copied", "identical"],
        [
            "cell-duplicated, check-deleted, labels-stripped, right-as-taught, roles-swapped and scaled-by-data-width",
            "identical",
        ],
    ]
    published = {row[0]: row[1] for row in _rows(report, "#taken")}
    assert published["right-as-taught"] == "identical" and published["softmax-overflows"].endswith("%")
    assert not {"right-with-loops", "right-with-einsum", "stub-untouched", "notebook-cut-off"} & published.keys()


def test_states_and_sandbox_level_are_told(report, graded):
    _, records = graded
    said = report.locator("nav + p").inner_text()
    for state in ("graded", "timeout", "malformed", "missing"):
        count = sum(one["state"] == state for row in records.values() for one in row.values())
        assert f"{count} {state}" in said
    assert next(iter(records["right-as-taught"].values()))["sandbox"] in said


def test_pseudonyms_leave_no_name(report, graded, kit):
    folder, records = graded
    named = [(folder / "report" / f"{UNIT}{kind}").read_bytes() for kind in (".html", ".csv")]
    ran = kit("report", UNIT, "--pseudonyms", COURSE_CLASS=str(folder))
    written = folder / "report" / f"{UNIT}-pseudonyms.html"
    assert ran.returncode == 0 and ran.stdout.strip() == str(written)
    page = written.read_text(encoding="utf-8")
    assert f"{UNIT}-pseudonyms.csv" in page and "right-as-taught" not in written.with_suffix(".csv").read_text("utf-8")
    assert [(folder / "report" / f"{UNIT}{kind}").read_bytes() for kind in (".html", ".csv")] == named
    assert not [student for student in records if student in page]
    assert len(set(re.findall(r'class="name"[^>]*>(student-[0-9a-f]{8})<', page))) == len(records)
    assert json.dumps("right-as-taught") not in page
