"""Tables, reports and exports of one section of the class."""

import csv
import shutil

import pytest
from conftest import UNIT

SECTION_A = ("right-as-taught", "scale-forgotten", "notebook-missing")
SECTION_B = ("softmax-over-queries", "right-with-loops")


@pytest.fixture(scope="module")
def copied(graded, tmp_path_factory):
    """The graded sample class with a list of students in two sections; most are in neither."""
    folder = shutil.copytree(graded[0], tmp_path_factory.mktemp("sections") / "class")
    lines = [f"{one},,,Group A" for one in SECTION_A] + [f"{one},,,Group B" for one in SECTION_B]
    (folder / "roster.csv").write_text("id,name,email,section\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def in_sections(copied, kit, monkeypatch):
    monkeypatch.setenv("COURSE_CLASS", str(copied))
    return copied


def test_the_table_and_the_summary_show_the_section_alone(in_sections, kit):
    table = kit("grade", UNIT, "--table", "--section", "Group A").stdout
    assert all(one in table for one in SECTION_A) and "softmax-over-queries" not in table
    again = kit("grade", UNIT, "--section", "group b")
    assert again.stdout.startswith(f"{UNIT}: 2 students, 2 handed in")
    assert "submission" not in again.stderr, "no bar where nothing is graded"


def test_the_report_of_a_section_is_a_page_of_its_own(in_sections, kit):
    whole = (in_sections / "report" / f"{UNIT}.html").read_text(encoding="utf-8")
    assert kit("report", UNIT, "--section", "Group A").returncode == 0
    page = (in_sections / "report" / f"{UNIT}-Group_A.html").read_text(encoding="utf-8")
    assert "scale-forgotten" in page and "section Group A" in page
    assert not [one for one in (*SECTION_B, "stub-untouched") if one in page]
    assert (in_sections / "report" / f"{UNIT}.html").read_text(encoding="utf-8") == whole


def test_where_there_are_several_sections_the_table_of_students_names_them(in_sections, kit):
    kit("report", UNIT)
    with open(in_sections / "report" / f"{UNIT}.csv", encoding="utf-8", newline="") as opened:
        rows = {row["student"]: row for row in csv.DictReader(opened)}
    assert rows["scale-forgotten"]["section"] == "Group A" and rows["stub-untouched"]["section"] == ""
    assert rows["right-as-taught"]["attention_backward"] == "✓" and rows["notebook-missing"]["attention_backward"] == ""
    assert "<th>section</th>" in (in_sections / "report" / f"{UNIT}.html").read_text(encoding="utf-8")
    kit("report", UNIT, "--section", "Group A")
    assert "<th>section</th>" not in (in_sections / "report" / f"{UNIT}-Group_A.html").read_text(encoding="utf-8")


def test_an_export_holds_the_section_alone(in_sections, kit, tmp_path):
    ran = kit("export", UNIT, "--section", "Group B")
    with open(ran.stdout.partition(": ")[0], encoding="utf-8-sig", newline="") as opened:
        assert {row["student"] for row in csv.DictReader(opened)} == set(SECTION_B)
    theirs = tmp_path / "canvas.csv"
    theirs.write_text("Student,SIS Login ID,Points\nL,right-with-loops,\nT,right-as-taught,\n", encoding="utf-8")
    ran = kit("export", UNIT, "--into", str(theirs), "--section", "Group B")
    with open(ran.stdout.partition(": ")[0], encoding="utf-8", newline="") as opened:
        rows = {row["SIS Login ID"]: row[UNIT] for row in csv.DictReader(opened)}
    assert rows == {"right-with-loops": "18", "right-as-taught": ""}


@pytest.mark.parametrize("verb", ["report", "export", "grade"])
def test_an_unknown_section_is_refused_with_the_nearest_name(in_sections, kit, verb):
    ran = kit(verb, UNIT, "--section", "Grup A")
    assert ran.returncode == 2 and "did you mean 'Group A'" in ran.stderr


def test_a_student_of_two_sections_is_in_both(class_folder):
    from autograder.intake.lms.sections import find_section

    class_folder.mkdir()
    (class_folder / "roster.csv").write_text(
        'id,name,section\njdoe,J,"Lab 1, Lab 2"\npberg,P,Lab 2\n', encoding="utf-8"
    )
    assert find_section("lab 2").students == {"jdoe", "pberg"} and find_section("Lab 1").students == {"jdoe"}


@pytest.mark.parametrize(
    ("own", "names"),
    [
        (["Lab A", "Lab B", "Lab A and Lab B"], {"Lab A": 2, "Lab B": 2}),
        (["Lab A", "Lab B", "Lab A, Lab B"], {"Lab A": 2, "Lab B": 2}),
        (["Design and Analysis", "Design and Analysis", "Logic"], {"Design and Analysis": 2, "Logic": 1}),
    ],
)
def test_who_is_in_two_sections_makes_no_third(kit, class_folder, own, names):
    class_folder.mkdir()
    lines = "".join(f'student{number},,"{one}"\n' for number, one in enumerate(own))
    (class_folder / "roster.csv").write_text(f"id,name,section\n{lines}", encoding="utf-8")
    told = [line.strip() for line in kit("roster").stdout.splitlines()[1:]]
    assert told == [f"section {name}: {count}" for name, count in names.items()]
    ran = kit("export", UNIT, "--section", "nowhere")
    assert ran.returncode == 2 and ran.stderr.strip().endswith(f"there are: {', '.join(names)}")


def test_a_class_without_sections_is_told_where_they_come_from(kit, class_folder):
    ran = kit("report", "--course", "--section", "A")
    assert ran.returncode == 2 and "in its column `section`" in ran.stderr
