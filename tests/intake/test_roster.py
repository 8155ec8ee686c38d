"""Names that are typed in different ways are one student, and nobody becomes a new one without a word."""

import os
import unicodedata

import pytest
from conftest import ROOT, UNIT

from autograder.intake import roster

NOTEBOOK = (ROOT / "assignments" / UNIT / f"{UNIT}.ipynb").read_text(encoding="utf-8")
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "José") for form in ("NFC", "NFD"))


def hand_in(class_folder, folder, unit=UNIT):
    file = class_folder / "submitted" / folder / unit / f"{unit}.ipynb"
    file.parent.mkdir(parents=True)
    file.write_text(NOTEBOOK, encoding="utf-8")


def seats(found):
    """student -> the folder that is read as theirs, of those who have handed in something."""
    return {one.student: found.folders[one.student] for one in found.submissions if one.data}


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        (COMPOSED, DECOMPOSED.upper() + " "),
        (DECOMPOSED, COMPOSED),
        ("ada", "ADA"),
        ("Ada", " ada"),
        ("ada", "ada\n"),
        ("ada", "\ufeffada\u200b"),
        ("STRASSE", "straße"),
        ("ada ", "ada"),
    ],
)
def test_a_name_typed_in_another_way_is_the_students_own(class_folder, name, folder):
    hand_in(class_folder, folder)
    found = roster.find_all(UNIT, ["ben", name])
    assert seats(found) == {name: folder} and sorted(found.folders) == sorted(["ben", name])
    assert found.notes == [] and roster.unusable(["ben", name]) == []


@pytest.mark.parametrize("other", ["adam", "ad a", "Jose", "ada2"])
def test_another_name_is_another_student_and_told(class_folder, other):
    hand_in(class_folder, other)
    found = roster.find_all(UNIT, ["ada", COMPOSED])
    assert seats(found) == {other: other}
    assert found.notes == [f"{other} is in submitted/ but not in the gradebook's roster: a new student was made."]


def test_who_was_graded_before_is_no_new_student(class_folder):
    hand_in(class_folder, "ben")
    found = roster.find_all(UNIT, ["ada"], before={"ben"})
    assert seats(found) == {"ben": "ben"} and found.notes == []


def test_where_there_is_no_roster_folders_are_the_class(class_folder):
    hand_in(class_folder, "ada")
    (class_folder / "submitted" / "ben").mkdir()
    found = roster.find_all(UNIT)
    assert list(found.folders) == ["ada", "ben"] and found.notes == []


def test_a_folder_of_nobody_with_nothing_in_it_makes_no_student_and_is_told(class_folder):
    hand_in(class_folder, "ada")
    (class_folder / "submitted" / "backup").mkdir()
    found = roster.find_all(UNIT, ["ada"])
    assert list(found.folders) == ["ada"]
    (note,) = found.notes
    assert "backup is in submitted/ but not in the gradebook's roster" in note and UNIT in note


def test_two_folders_that_fall_together_are_both_graded_and_told(class_folder):
    for folder in (COMPOSED, DECOMPOSED):
        hand_in(class_folder, folder)
    for names in ([], [COMPOSED], [DECOMPOSED], [COMPOSED, DECOMPOSED]):
        found = roster.find_all(UNIT, names)
        assert seats(found) == {COMPOSED: COMPOSED, DECOMPOSED: DECOMPOSED}
        (note,) = found.notes
        assert "differ only in case" in note


def test_of_two_folders_the_one_with_work_is_the_students(class_folder):
    hand_in(class_folder, "Ada")
    (class_folder / "submitted" / "ada").mkdir()
    found = roster.find_all(UNIT, ["ada"])
    assert seats(found) == {"ada": "Ada"} and list(found.folders) == ["ada"]
    assert "'Ada' and 'ada'" in found.notes[0]


def test_two_on_the_roster_who_are_told_apart_by_case_stay_apart(class_folder):
    hand_in(class_folder, "case")
    found = roster.find_all(UNIT, ["Case", "case"])
    assert seats(found) == {"case": "case"} and list(found.folders) == ["Case", "case"] and found.notes == []


def test_one_student_is_found_however_the_name_is_typed(class_folder):
    for folder in (DECOMPOSED, "ben"):
        hand_in(class_folder, folder)
    assert list(roster.find_all(UNIT, [COMPOSED], "JOSÉ").folders) == [COMPOSED]
    assert list(roster.find_all(UNIT, ["Case", "case"], "case").folders) == ["case"]
    assert roster.find_all(UNIT, [COMPOSED], "nobody").submissions == []


def test_names_that_cannot_be_stored_are_passed_over(class_folder):
    hand_in(class_folder, "fine")
    os.makedirs(os.fsencode(class_folder / "submitted") + b"/\xff\xfe")
    (class_folder / "submitted" / "line\nbreak").mkdir()
    assert list(roster.find_all(UNIT).folders) == ["fine"] and len(roster.unusable()) == 2


def test_the_roster_counts_as_well_as_the_folders(class_folder):
    hand_in(class_folder, "handed-in")
    assert list(roster.find_all(UNIT, ["on-the-roster"]).folders) == ["handed-in", "on-the-roster"]
