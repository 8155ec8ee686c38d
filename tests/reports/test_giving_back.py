"""Feedback pages are packed as Moodle and Canvas take them back, and never where git would see students' names."""

import csv
import os
import re
import stat
import subprocess
import zipfile

import pytest
from conftest import ROOT, UNIT
from course_results import record, write_results

from autograder.bank import catalogue

ROSTER = 'id,name,email,section,also\njdoe,Jane Doe,,A,4711\npberg,Piet Berg,,B,4712\nnova,"Nová, Eva",,B,4713\n'
PAGE = f"{UNIT}.html"


@pytest.fixture
def collected(kit, class_folder, tmp_path):
    """collected(names) collects a download with these files, and writes results of all three students."""

    def run(*names):
        class_folder.mkdir(mode=0o700, exist_ok=True)
        (class_folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
        if names:
            with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
                for name in names:
                    archive.writestr(name, '{"cells": []}')
            assert kit("collect", "04", str(tmp_path / "download.zip")).returncode == 0
        exercises = catalogue.exercises_of(UNIT)
        students = ("jdoe", "nova", "pberg")
        write_results(
            class_folder, UNIT, [record(UNIT, one, exercise, True) for one in students for exercise in exercises]
        )
        return class_folder

    return run


def _names(file):
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        return sorted(archive.namelist())


def test_moodle_gets_the_folders_of_its_own_download(collected, kit):
    folder = collected(
        "Jane Doe_4711_assignsubmission_file_/my work.ipynb", "Eva Nová_4713_assignsubmission_file/a.ipynb"
    )
    ran = kit("feedback", "04", "--zip")
    assert ran.returncode == 0 and "Upload multiple feedback files in a zip" in ran.stdout
    assert "1 left out" in ran.stdout and "pberg" in ran.stdout
    file = folder / "export" / f"{UNIT}-feedback.zip"
    names = _names(file)
    assert names == [f"Eva Nová_4713_assignsubmission_file_/{PAGE}", f"Jane Doe_4711_assignsubmission_file_/{PAGE}"]
    for name in names:  # as Moodle takes a path apart: name, participant, plugin, and the file's own name behind them
        _, number, kind, plugin, rest = "/".join(name.split("/")[:1]).split("_", 4)
        assert number.isdecimal() and (kind, plugin, rest) == ("assignsubmission", "file", "")
    with zipfile.ZipFile(file) as archive:
        assert "Feedback for jdoe" in archive.read(f"Jane Doe_4711_assignsubmission_file_/{PAGE}").decode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_canvas_gets_names_with_its_own_two_numbers_first(collected, kit, tmp_path):
    collected("doejane_LATE_4711_99_my work-2.ipynb", "bergpiet_4712_100_04_attention_layer.ipynb")
    ran = kit("feedback", "04", "--zip", str(tmp_path / "back.zip"))
    assert ran.returncode == 0 and "Re-Upload Submissions" in ran.stdout and "1 left out" in ran.stdout
    names = _names(tmp_path / "back.zip")
    assert names == ["bergpiet_4712_100_04_attention_layer.html", "doejane_LATE_4711_99_my work-2.html"]
    numbers = [[part for part in re.split("_", name) if part.isdecimal()][:2] for name in names]
    assert numbers == [["4712", "100"], ["4711", "99"]]


def test_the_newest_name_counts_and_that_of_older_work_does_not(collected, kit, tmp_path):
    collected("doejane_4711_99_work.ipynb")
    collected("doejane_4711_105_work-1.ipynb")
    kit("feedback", "04", "--zip", str(tmp_path / "back.zip"))
    assert _names(tmp_path / "back.zip") == ["doejane_4711_105_work-1.html"]
    with open(tmp_path / "class" / "collected" / f"{UNIT}.csv", encoding="utf-8", newline="") as opened:
        (row,) = csv.DictReader(opened)
    assert row == {"student": "jdoe", "system": "canvas", "path": "doejane_4711_105_work-1.ipynb"}


def test_where_no_names_are_known_each_student_has_a_folder(collected, kit, tmp_path):
    collected()
    ran = kit("feedback", "04", "--folder", str(tmp_path / "back"))
    assert ran.returncode == 0 and "a folder for each student" in ran.stdout and "left out" not in ran.stdout
    found = sorted(one.relative_to(tmp_path / "back").as_posix() for one in (tmp_path / "back").rglob("*.html"))
    assert found == [f"jdoe Jane Doe/{PAGE}", f"nova Nová, Eva/{PAGE}", f"pberg Piet Berg/{PAGE}"]
    assert stat.S_IMODE((tmp_path / "back").stat().st_mode) == 0o700


def test_of_gradescope_it_is_said_that_it_takes_none(collected, kit, class_folder):
    collected()
    (class_folder / "collected").mkdir()
    (class_folder / "collected" / f"{UNIT}.csv").write_text(
        "student,system,path\njdoe,gradescope,submission_1/a.ipynb\n"
    )
    ran = kit("feedback", "04", "--zip")
    assert ran.returncode == 0 and "Gradescope takes no feedback files" in ran.stdout


def test_nothing_is_overwritten_that_it_did_not_write(collected, kit, tmp_path):
    collected("doejane_4711_99_work.ipynb")
    before = (tmp_path / "download.zip").read_bytes()
    ran = kit("feedback", "04", "--zip", str(tmp_path / "download.zip"))
    assert ran.returncode == 2 and "nothing was overwritten" in ran.stderr
    assert (tmp_path / "download.zip").read_bytes() == before
    for _ in range(2):  # its own is written anew
        assert kit("feedback", "04", "--zip", str(tmp_path / "back.zip")).returncode == 0
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    assert "not empty" in kit("feedback", "04", "--folder", str(tmp_path / "full")).stderr


def test_students_names_go_nowhere_where_git_tracks_files(collected, kit, tmp_path):
    collected("doejane_4711_99_work.ipynb")
    place = ROOT / "docs" / "feedback-of-the-test.zip"
    for options in (("--zip", str(place)), ("--folder", str(place))):
        ran = kit("feedback", "04", *options)
        assert ran.returncode == 2 and "where git tracks files" in ran.stderr and not place.exists()
    other = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    (other / ".gitignore").write_text("private/\n")
    assert "where git tracks files" in kit("feedback", "04", "--zip", str(other / "a.zip")).stderr
    assert kit("feedback", "04", "--zip", str(other / "private" / "a.zip")).returncode == 0


def test_one_file_holds_one_unit(kit):
    ran = kit("feedback", "04", "05", "--zip", "a.zip")
    assert ran.returncode == 2 and "one unit" in ran.stderr and not os.path.exists("a.zip")
