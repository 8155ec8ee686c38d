"""The course report, from the command line and in headless Chromium without network: who stands where, and what comes back."""

import csv
import re

import pytest
from browser import offline_browser, screenshot
from course_results import record, write_course, write_results

from autograder.bank import catalogue

UNITS = ["04_attention_layer", "05_self_attention", "06_multi_head"]
STUDENTS = [f"s{number:02}" for number in range(12)]
ROSTER = "id,name,email,section\n" + "".join(
    f"{one},Name of {one},,{'A' if one < 's06' else 'B'}\n" for one in STUDENTS
)


def _named(unit: str, name: str):
    """An exercise of a unit that knows the mistake, and the mistake."""
    return next(
        (one, found) for one in catalogue.exercises_of(unit) for found in one.misconceptions if found.name == name
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three units: s00 never came, s01 missed the last two, s02 got nothing right in them, s03 and s09 forget the scale."""
    folder = tmp_path_factory.mktemp("course")
    for unit in UNITS:
        exercise, mistake = _named(unit, "not_scaled")
        gone = {"s00": UNITS, "s01": UNITS[1:]}
        records = []
        for student in STUDENTS:
            for one in catalogue.exercises_of(unit):
                said = (
                    mistake
                    if one is exercise and (student == "s03" or (student == "s09" and unit == UNITS[0]))
                    else None
                )
                if student == "s02" and unit != UNITS[0] and one.misconceptions:
                    said = one.misconceptions[-1]
                records.append(record(unit, student, one, unit in gone.get(student, ()), said))
        write_results(folder, unit, records)
    (folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def write(folder):
    """write(...) runs `report --course` with these options; gives what a completed process has."""
    import classes

    return lambda *options: classes.kit("report", "--course", *options, COURSE_CLASS=str(folder))


def _table(folder, name="course"):
    with open(folder / "report" / f"{name}.csv", encoding="utf-8", newline="") as opened:
        return {row["student"]: row for row in csv.DictReader(opened)}


def test_each_student_has_a_line_with_points_total_and_of_how_many(write, folder):
    ran = write()
    assert ran.returncode == 0 and ran.stdout.strip() == str(folder / "report" / "course.html")
    rows = _table(folder)
    most = [sum(one.max_points for one in catalogue.exercises_of(unit)) for unit in UNITS]
    assert list(rows) == STUDENTS and rows["s05"]["name"] == "Name of s05" and rows["s05"]["section"] == "A"
    assert [rows["s05"][unit] for unit in UNITS] == [f"{one:g}" for one in most]
    assert rows["s05"]["total"] == rows["s05"]["of"] == f"{sum(most):g}"
    assert rows["s03"]["total"] == f"{sum(most) - sum(_named(unit, 'not_scaled')[0].max_points for unit in UNITS):g}"


def test_who_falls_behind_is_told_apart_from_who_never_came(write, folder):
    write()
    rows = _table(folder)
    assert {student for student, row in rows.items() if row["at risk"]} == {"s01", "s02"}
    assert rows["s01"]["missing"] == "05 06" and rows["s00"]["missing"] == "04 05 06"


def test_pseudonyms_leave_no_name_and_an_order_that_says_nothing(write, folder):
    write()
    named = [(folder / "report" / f"course{kind}").read_bytes() for kind in (".html", ".csv")]
    (folder / "report" / f"{UNITS[0]}.html").write_text("a page with names", encoding="utf-8")
    ran = write("--pseudonyms")
    assert ran.returncode == 0 and ran.stdout.strip() == str(folder / "report" / "course-pseudonyms.html")
    assert [(folder / "report" / f"course{kind}").read_bytes() for kind in (".html", ".csv")] == named
    page = (folder / "report" / "course-pseudonyms.html").read_text(encoding="utf-8")
    table = (folder / "report" / "course-pseudonyms.csv").read_text(encoding="utf-8")
    assert "course-pseudonyms.csv" in page and f'href="{UNITS[0]}.html"' not in page
    assert not [one for one in STUDENTS if re.search(rf"\b{one}\b", page + table)] and "Name of" not in page + table
    names = re.findall(r"^student-[0-9a-f]{8}", table, re.MULTILINE)
    assert len(names) == len(STUDENTS) and names == sorted(names) and "section" not in table


def test_a_section_has_a_report_of_its_own(write, folder):
    assert write("--section", "b").returncode == 0
    assert list(_table(folder, "course-B")) == [one for one in STUDENTS if one >= "s06"]
    assert write("--section", "b", "--pseudonyms").stdout.strip().endswith("course-B-pseudonyms.html")
    assert len(_table(folder, "course-B-pseudonyms")) == 6
    refused = write("--section", "C-group")
    assert refused.returncode == 2 and "no section is called 'C-group'" in refused.stderr and "A, B" in refused.stderr


def test_one_unit_is_no_plural(kit, class_folder):
    write_course(class_folder, ["jdoe"], UNITS[:1])
    assert kit("report", "--course").returncode == 0
    assert "1 student, 1 unit with results" in (class_folder / "report" / "course.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [("report",), ("report", "--course", "04")])
def test_it_has_to_be_clear_which_report_is_meant(kit, arguments):
    ran = kit(*arguments)
    assert ran.returncode == 2 and "--course" in ran.stderr


def test_a_class_without_results_is_told_what_to_do(kit):
    ran = kit("report", "--course")
    assert ran.returncode == 2 and "grade UNIT" in ran.stderr


def test_what_a_human_has_marked_counts_and_what_is_open_counts_nowhere(graded, tmp_path, monkeypatch):
    """In the sample class, each written answer of 2 points waits for a human."""
    from autograder.gradebook.marks import marks, totals

    folder, records = graded
    monkeypatch.setenv("COURSE_CLASS", str(folder))
    found, known = totals()["04_attention_layer"], marks("04_attention_layer")
    assert {student: (one.points, one.most) for student, one in found.items()} == {
        student: (one.total, one.most) for student, one in known.items()
    }
    assert found["right-as-taught"].open == 2 and found["notebook-missing"].open == 0


@pytest.mark.browser
def test_in_a_browser_it_fits_sorts_and_asks_for_nothing(write, folder):
    write()
    with offline_browser() as browser:
        page = browser.new_page()
        asked, complaints = [], []
        page.on("request", lambda sent: asked.append(sent.url))
        page.on("console", lambda said: complaints.append(said.text))
        for width in (420, 1200):
            for dark in ("dark", "light"):
                page.set_viewport_size({"width": width, "height": 1000})
                page.emulate_media(color_scheme=dark)
                page.goto((folder / "report" / "course.html").as_uri())
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
                screenshot(page, f"course-{width}-{dark}")
        assert {one.partition(":")[0] for one in asked} == {"file"} and len(asked) == 4 and complaints == []
        _it_sorts(page)
        _it_tells_what_comes_back(page)


def _it_sorts(page):
    def names():
        return page.locator("#everyone tbody td.name").all_inner_texts()

    def totals():
        return [float(one) for one in page.locator("#everyone tbody td:nth-last-child(3)").all_inner_texts()]

    total = page.locator("#everyone th").filter(has_text="total")
    assert names() == STUDENTS and totals() != sorted(totals())
    total.get_by_role("button").click()
    assert totals() == sorted(totals()) and names()[0] == "s00" and total.get_attribute("aria-sort") == "ascending"
    total.get_by_role("button").click()
    assert totals() == sorted(totals(), reverse=True) and total.get_attribute("aria-sort") == "descending"
    page.locator("#everyone th").filter(has_text="05").get_by_role("button").click()
    assert set(names()[-2:]) == {"s00", "s01"}, "who handed in nothing is last"


def _it_tells_what_comes_back(page):
    row = page.locator("#returning tbody tr").filter(has_text="the scale of the scores")
    cells = row.locator("td").all_inner_texts()
    assert "√D" in cells[0] and cells[1:3] == ["2", "1"], "of s03 and s09, one has it again"
    assert [int(one or 0) for one in cells[3:]] == [2, 1, 1]
    row.locator("summary").click()
    assert "s03" in row.locator("details").inner_text() and "s09" not in row.locator("details").inner_text()
    link = row.locator("a").get_attribute("href") if row.locator("a").count() else ""
    assert "04_attention_layer" in (link or cells[0])


@pytest.mark.slow
def test_three_hundred_students_and_all_units_take_seconds(tmp_path, monkeypatch):
    import time

    from autograder import settings
    from autograder.reports.course_report import write_course_report

    monkeypatch.setenv("COURSE_CLASS", str(tmp_path))
    students = [f"student{number:03}" for number in range(300)]
    write_course(tmp_path, students, settings.units())
    began = time.process_time()
    page = write_course_report()
    assert time.process_time() - began < 15
    assert len(_table(tmp_path)) == 300 and page.stat().st_size < 3_000_000
