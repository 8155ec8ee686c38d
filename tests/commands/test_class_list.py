"""Who is in the class, and what they hand in, from the command line alone."""

import re
import stat
import zipfile

import pytest
from conftest import ROOT, UNIT

from autograder.gradebook.deadlines import deadlines

CANVAS = 'Student,ID,SIS Login ID,Section\n"Doe, Jane",4711,jdoe,A\n"Berg, Piet",4712,pberg,B\n'


@pytest.fixture
def listed(kit, tmp_path):
    file = tmp_path / "canvas.csv"
    file.write_text(CANVAS)
    return kit("roster", str(file))


def test_a_list_becomes_the_class(listed, kit, class_folder):
    assert listed.returncode == 0 and "2 students" in listed.stdout and "section A: 1" in listed.stdout
    from autograder.gradebook.store import open_gradebook

    with open_gradebook() as gradebook:
        assert {(one.id, one.first_name, one.last_name) for one in gradebook.students} == {
            ("jdoe", "Jane", "Doe"),
            ("pberg", "Piet", "Berg"),
        }
    assert stat.S_IMODE(class_folder.stat().st_mode) == 0o700


def test_a_download_is_collected_and_who_is_missing_is_named(listed, kit, class_folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        archive.writestr("doejane_4711_1_work.ipynb", "{}")
    ran = kit("collect", "04", str(tmp_path / "submissions.zip"))
    assert ran.returncode == 0 and "1 new" in ran.stdout and "1 missing: pberg (Piet Berg)" in ran.stdout
    assert kit("collect", "04", str(tmp_path / "submissions.zip"), "--all-names").stdout.count("already here") == 1
    assert (class_folder / "submitted" / "jdoe" / UNIT / f"{UNIT}.ipynb").exists()


def test_who_leaves_is_in_no_table_and_comes_back_with_everything(listed, kit):
    assert "1 students, and 1 who have left" in kit("roster", "--remove", "pberg").stdout
    from autograder.intake.roster import find_all

    assert [one.student for one in find_all(UNIT, ["jdoe", "pberg"]).submissions] == ["jdoe"]
    kit("roster", "--restore", "pberg")
    assert [one.student for one in find_all(UNIT, ["jdoe", "pberg"]).submissions] == ["jdoe", "pberg"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("roster", "--remove", "jdo"), "did you mean 'jdoe'"),
        (("collect", "04", "/nowhere.zip"), "there is no /nowhere.zip"),
        (("collect", "99", "x"), "no unit is called"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_nearest_name(listed, kit, arguments, word):
    ran = kit(*arguments)
    assert ran.returncode == 2 and word in ran.stderr


def test_a_class_without_a_list_is_told_how_to_get_one(kit):
    ran = kit("roster")
    assert ran.returncode == 2 and "the list that your LMS exports" in ran.stderr


def test_the_documented_deadlines_are_ones_that_can_be_used(kit, class_folder):
    page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(timezone.*?)```", page, re.DOTALL)
    class_folder.mkdir()
    (class_folder / "deadlines.toml").write_text(example)
    found = deadlines()
    assert len(found.due) == 2 and found.late_days == 3 and found.penalty.of(20, 1) == 2
