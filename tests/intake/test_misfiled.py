"""What lies where nobody looks for it is told, with where it belongs; what is in its place is not."""

import pytest
from conftest import UNIT
from handed_in import put, released

from autograder.intake.misfiled import misfiled

NAME = f"{UNIT}.ipynb"


@pytest.mark.parametrize("name", [f"ada_{NAME}", "ada.zip", "export.csv"])
def test_files_beside_the_students_folders_are_told(class_folder, name):
    put(class_folder, {f"../{name}": "x", f"{UNIT}/{NAME}": released()})
    (said,) = misfiled(UNIT)
    assert said.startswith(f"{name} lies in submitted/ itself") and f"submitted/STUDENT/{UNIT}/" in said


def test_many_are_told_in_one_sentence(class_folder):
    put(class_folder, {f"../{number}.ipynb": "x" for number in range(9)})
    (said,) = misfiled(UNIT)
    assert "0.ipynb, 1.ipynb, 2.ipynb and 6 more lie in" in said


@pytest.mark.parametrize("name", [UNIT, "Assignment 4", "04 attention layer", "hw04"])
def test_folders_by_unit_are_told(class_folder, name):
    put(class_folder, {f"ada/{NAME}": released(), f"bob/{NAME}": released()}, student=name)
    (said,) = misfiled(UNIT)
    assert name in said and "(ada, bob)" in said and f"submitted/STUDENT/{UNIT}/" in said


def test_what_is_in_its_place_is_not_told(class_folder):
    assert misfiled(UNIT) == []
    put(class_folder, {f"{UNIT}/{NAME}": released(), "notes/a.txt": "x"})
    put(class_folder, {f"hw4/{NAME}": released()}, student="4")
    put(class_folder, {f"{UNIT}/{NAME}": released()}, student="0412345")
    put(class_folder, {"../.DS_Store": "x"})
    assert misfiled(UNIT) == []


def test_odd_names_are_told_as_text(class_folder):
    put(class_folder, {"../line\nbreak.ipynb": "x"})
    (said,) = misfiled(UNIT)
    assert said.isprintable()


def test_grading_tells_it(class_folder, kit):
    put(class_folder, {f"{UNIT}/{NAME}": "", f"../bob_{NAME}": released()})
    assert kit("release", UNIT).returncode == 0
    ran = kit("grade", UNIT, "--workers", 1)
    assert ran.returncode == 0 and f"bob_{NAME} lies in submitted/ itself" in ran.stderr
