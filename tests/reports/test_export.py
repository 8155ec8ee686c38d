"""Marks reach a table of one's own and the files of Canvas and Moodle, and what is pending is told."""

import codecs
import csv
from pathlib import Path

import pytest
from conftest import UNIT

CANVAS = (
    "Student,ID,SIS Login ID,Section,04 The attention layer (77),Notes\n"
    "    Points Possible,,,,20,\n"
    '"Loops, Right",1,right-with-loops,A,,keep me\n'
    '"Nobody, Ann",2,ann,A,,\n'
)
MOODLE = "Identifier,Full name,Email address,Grade,Maximum Grade\nParticipant 5,scale-forgotten,x@uni.example,,20.00\n"


@pytest.fixture(scope="module")
def exported(graded):
    """exported(text) gives the rows of an LMS's file after its marks were filled in; without a text, our own table."""
    folder, _ = graded

    def run(tmp_path, text=None):
        import classes

        more = []
        if text:
            (tmp_path / "theirs.csv").write_text(text, encoding="utf-8")
            more = ["--into", str(tmp_path / "theirs.csv")]
        ran = classes.kit("export", UNIT, *more, COURSE_CLASS=str(folder))
        assert ran.returncode == 0, ran.stderr
        with open(ran.stdout.partition(": ")[0], encoding="utf-8-sig", newline="") as opened:
            return list(csv.DictReader(opened)), ran

    return run


def test_a_table_has_a_column_for_each_exercise_and_flags_what_is_pending(exported, tmp_path):
    rows, ran = exported(tmp_path)
    own = {row["student"]: row for row in rows}
    right = own["right-with-loops"]
    assert right["total"] == "18" and right["stable_softmax"] == "3" and right["written_scaling"] == ""
    assert right["not graded yet"] == "written_scaling" and "not graded yet" in ran.stderr
    assert own["scale-forgotten"]["AttentionLayer"] == "0"


def test_canvas_gets_its_column_filled_and_everything_else_back(exported, tmp_path):
    rows, ran = exported(tmp_path, CANVAS)
    assert [row["04 The attention layer (77)"] for row in rows] == ["20", "18", ""]
    assert rows[1]["Student"] == "Loops, Right" and rows[1]["Notes"] == "keep me"
    assert "does not name" in ran.stderr


def test_moodle_gets_its_grade(exported, tmp_path):
    rows, _ = exported(tmp_path, MOODLE)
    assert rows[0]["Grade"] == "12" and rows[0]["Maximum Grade"] == "20.00"


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["without", "with"])
def test_their_file_keeps_the_mark_that_says_utf_8(exported, tmp_path, mark):
    rows, ran = exported(tmp_path, mark + CANVAS.replace("Nobody, Ann", "Ångström, Ann"))
    written = Path(ran.stdout.partition(": ")[0]).read_bytes()
    assert written.startswith(codecs.BOM_UTF8) == bool(mark) and rows[2]["Student"] == "Ångström, Ann"


def test_a_spreadsheet_is_told_that_our_own_table_is_utf_8(exported, tmp_path):
    _, ran = exported(tmp_path)
    assert Path(ran.stdout.partition(": ")[0]).read_bytes().startswith(codecs.BOM_UTF8)
