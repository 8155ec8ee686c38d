"""The table of students in a unit's report: whose line it is, what lateness cost, and what is still to be marked."""

import csv
import re
import shutil

import pytest
from browser import offline_browser, screenshot
from conftest import UNIT

NAMES = {"right-as-taught": "Anna-Katharina von Hohenstein-Lindenberg", "softmax-over-queries": "Doe, Jane"}
DEADLINES = 'penalty = "50%"\n[due]\n04 = 2026-03-06T18:00:00Z\n'


@pytest.fixture(scope="module")
def folder(graded, tmp_path_factory):
    """The graded sample class with names and sections; one student was a day late, and lost half of 18 points."""
    import classes

    folder = shutil.copytree(graded[0], tmp_path_factory.mktemp("table") / "class")
    lines = ["id,name,section", *(f'{one},"{name}",Lab {number}' for number, (one, name) in enumerate(NAMES.items()))]
    (folder / "roster.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "deadlines.toml").write_text(DEADLINES, encoding="utf-8")
    stamp = folder / "submitted" / "right-as-taught" / UNIT / "timestamp.txt"
    stamp.write_text("2026-03-07 17:00:00 UTC", encoding="utf-8")
    for arguments in (("grade", UNIT, "--quiet"), ("report", UNIT), ("report", UNIT, "--pseudonyms")):
        ran = classes.kit(*arguments, COURSE_CLASS=str(folder))
        assert ran.returncode == 0, ran.stderr
    return folder


def _rows(folder, name=UNIT):
    with open(folder / "report" / f"{name}.csv", encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def test_the_spreadsheet_names_the_student_and_tells_penalty_and_open_answers(folder):
    rows = {row["student"]: row for row in _rows(folder)}
    late = rows["right-as-taught"]
    assert late["name"] == NAMES["right-as-taught"] and late["section"] == "Lab 0"
    assert [late[one] for one in ("automatic", "late", "total", "of", "open")] == ["18", "9", "9", "18", "2"]
    assert rows["softmax-over-queries"]["late"] == "0" and rows["notebook-missing"]["name"] == ""
    assert [rows["notebook-missing"][one] for one in ("total", "of", "open")] == ["0", "20", "0"]


def test_the_terminals_table_tells_name_and_penalty(folder):
    import classes

    said = classes.kit("grade", UNIT, "--table", COURSE_CLASS=str(folder)).stdout.splitlines()
    assert re.match(r"student .* total +late +state", said[0])
    (late,) = [line for line in said if "Hohenstein" in line]
    assert late.startswith("right-as-taught  Anna-Katharina") and re.search(r" 18 +-9  graded", late)
    assert [line for line in said if line.startswith("softmax-over-queries  Doe, Jane")]
    assert "late: what lateness costs; it is not taken off in this table" in said


def test_with_pseudonyms_there_are_no_names_and_the_same_marks(folder):
    rows = _rows(folder, f"{UNIT}-pseudonyms")
    page = (folder / "report" / f"{UNIT}-pseudonyms.html").read_text(encoding="utf-8")
    assert not {"name", "section"} & rows[0].keys() and "Hohenstein" not in page and "Jane" not in page
    assert [row["total"] for row in rows if row["late"] == "9"] == ["9"]


@pytest.mark.browser
def test_the_page_shows_it_and_fits(folder):
    with offline_browser() as browser:
        page = browser.new_page()
        page.goto((folder / "report" / f"{UNIT}.html").as_uri())
        row = page.locator("#everyone tbody tr").filter(has_text="Hohenstein")
        said = re.sub(r"\s+", " ", row.inner_text())
        assert "18 −9 9 / 18 …" in said
        missing = page.locator("#everyone tbody tr").filter(has_text="notebook-missing")
        assert missing.locator("td.total").inner_text() == "0 / 20"
        for width in (1200, 420):
            page.set_viewport_size({"width": width, "height": 1000})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            page.locator("#everyone").scroll_into_view_if_needed()
            screenshot(page, f"students-{width}")
        page.set_viewport_size({"width": 1200, "height": 1000})
        table = page.locator("#everyone").bounding_box()
        assert table["x"] + table["width"] <= 1200
        assert row.locator("td.who").bounding_box()["height"] < 130, "a long name takes a few lines"
        page.locator("#everyone th").filter(has_text="late").get_by_role("button").click()
        assert page.locator("#everyone tbody td.name").first.inner_text() == "right-as-taught"
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 720, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
