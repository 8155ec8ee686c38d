"""A folder of clones, as GitHub Classroom gives them, reaches the right students; no link is followed, lessons are no work."""

import os
import subprocess
from datetime import datetime

import pytest
from conftest import UNIT
from handed_in import lesson, released, solved

from autograder import settings
from autograder.intake.lms import collecting, students
from autograder.intake.lms.merging import merged
from autograder.intake.timestamp import read_time

ROSTER = """"identifier","github_username","github_id","name"
"jane.doe@uni.example","jane-doe","1","JD"
"pberg","Doe","2",""
"Öztürk, Ayşe","ayse","3","ayşe"
"nobody.yet@uni.example","","",""
"""
HOME = f"assignments/{UNIT}/{UNIT}.ipynb"
MORE = f"assignments/05_self_attention/{UNIT}.ipynb"


@pytest.fixture
def roster(class_folder, tmp_path):
    """Makes GitHub Classroom's list of students the class's own."""
    file = tmp_path / "classroom_roster.csv"
    file.write_text(ROSTER, encoding="utf-8")
    students.write(merged([], students.read(file))[0])


@pytest.fixture
def clones(roster, tmp_path):
    """clones({name: {path: text}}) makes repositories in a folder, each committed on 6 March 2026, 17:58 in Rome."""
    at = "2026-03-06T17:58:00+01:00"
    told = {**os.environ, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    told |= {f"GIT_{who}_{what}": "x@y.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def made(repositories: dict, name="attention-04-submissions"):
        for clone, files in repositories.items():
            for path, text in {"README.md": "the course", f"notebooks/{UNIT}.ipynb": lesson(), **files}.items():
                file = tmp_path / name / clone / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "work")):
                subprocess.run(["git", "-C", tmp_path / name / clone, *command], env=told, check=True)
        return tmp_path / name

    return made


def _held(student: str) -> list[str]:
    folder = settings.class_folder() / "submitted" / student / UNIT
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def test_the_list_of_github_classroom_is_read(roster):
    known = {one.id: one for one in students.students()}
    assert list(known) == ["jane-doe", "Doe", "ayse", "nobody.yet"]
    assert known["jane-doe"].email == "jane.doe@uni.example" and known["Doe"].also == ("pberg",)
    assert known["ayse"].name == "Öztürk, Ayşe"


def test_it_finds_the_students_whom_another_system_has_listed(class_folder, tmp_path, roster):
    lms = [students.Student("jdoe", "Jane Doe", "jane.doe@uni.example"), students.Student("pberg", "Piet van der Berg")]
    whole, _ = merged(lms, students.students())
    assert {one.id: one.also for one in whole if one.also} == {"jdoe": ("jane-doe",), "pberg": ("pberg", "Doe")}


@pytest.mark.parametrize("around", ["attention-04-submissions", "downloaded"])
def test_each_clone_reaches_its_student_with_the_time_of_the_commit(clones, around):
    files = {HOME: solved(count=2), MORE: solved(note="misplaced")}
    place = clones({"attention-04-jane-doe": files, "attention-04-Doe": {HOME: solved(count=1)}}, around)
    said = collecting.collect(UNIT, place)
    assert said.new == ["Doe", "jane-doe"] and not said.unmatched and said.missing == ["ayse", "nobody.yet"]
    assert _held("jane-doe") == [f"{UNIT}.ipynb", "timestamp.txt"]
    folder = settings.class_folder() / "submitted" / "jane-doe" / UNIT
    assert (folder / f"{UNIT}.ipynb").read_text(encoding="utf-8") == solved(count=2)
    assert read_time(folder / "timestamp.txt")[0] == datetime(2026, 3, 6, 16, 58)
    assert collecting.collect(UNIT, place).same == ["Doe", "jane-doe"]


def test_a_table_of_grades_says_when_work_was_pushed(clones, tmp_path):
    place = clones({"attention-04-ayse": {HOME: solved(count=1)}})
    table = tmp_path / "grades.csv"
    head = "assignment_name,github_username,roster_identifier,student_repository_name,submission_timestamp"
    table.write_text(f'{head}\n04,ayse,"Öztürk, Ayşe",attention-04-ayse,2026-03-07 08:00:00 UTC\n', encoding="utf-8")
    collecting.collect(UNIT, place, table)
    stamp = settings.class_folder() / "submitted" / "ayse" / UNIT / "timestamp.txt"
    assert read_time(stamp)[0] == datetime(2026, 3, 7, 8)


def test_what_is_as_it_was_handed_out_is_no_work_yet(clones):
    said = collecting.collect(UNIT, clones({"attention-04-ayse": {HOME: released()}, "attention-04-Doe": {HOME: "{}"}}))
    assert said.new == ["Doe"] and "ayse" in said.missing


def test_a_notebook_that_was_moved_is_found_and_a_group_is_told(clones):
    moved = {"my work.ipynb": solved(count=1), "05_self_attention.ipynb": solved("05_self_attention", 1)}
    said = collecting.collect(
        UNIT, clones({"attention-04-ayse": moved, "attention-04-team-7": {HOME: solved(count=1)}})
    )
    assert said.new == ["ayse"] and said.unmatched == [f"attention-04-team-7/{HOME}"]
    assert f"{UNIT}.ipynb" in _held("ayse") and len(_held("ayse")) == 2


def test_no_link_of_a_repository_is_followed(clones, tmp_path):
    place = clones({"attention-04-ayse": {"a.txt": "x"}, "attention-04-Doe": {HOME: solved(count=1)}})
    (place / "attention-04-ayse" / "assignments").mkdir()
    (place / "attention-04-ayse" / "assignments" / UNIT).symlink_to(settings.SOLUTIONS / UNIT)
    (place / "attention-04-ayse" / "mine.ipynb").symlink_to(settings.SOLUTIONS / UNIT / f"{UNIT}.ipynb")
    assert collecting.collect(UNIT, place).new == ["Doe"] and _held("ayse") == []
