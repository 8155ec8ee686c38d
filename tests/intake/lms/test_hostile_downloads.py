"""A student's file that is called as an LMS would call it is that student's file, and changes nothing for the others."""

import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from conftest import UNIT

from autograder.intake.lms import collecting, students
from autograder.intake.timestamp import read_time

ROSTER = """id,name,email,also
alice,Alice Smith,alice@x.example,4711 11
bob,Bob Jones,bob@x.example,4712 12
carol,Carol Miller,carol@x.example,4713 13
"""
ALL = ["alice", "bob", "carol"]
NUMBERS = {"alice": "4711", "bob": "4712", "carol": "4713"}
# Where each download has a student's file; `file` counts the files.
LAYOUTS = {
    "folders": "{id}/{name}",
    "folders-below-one": "download/{id}/{name}",
    "moodle": "{full}_{number}_assignsubmission_file_/{name}",
    "moodle-groups": "Group B/{full}_{number}_assignsubmission_file_/{name}",
    "moodle-flat": "{full}_{number}_assignsubmission_file_{name}",
    "canvas": "{short}_{number}_{file}_{name}",
    "canvas-late": "{short}_LATE_{number}_{file}_{name}",
    "gradescope": "assignment_5_export/submission_{number}/{name}",
    "gradescope-at-the-top": "submission_{number}/{name}",
}
FLAT = ("moodle-flat", "canvas", "canvas-late")
# Names that an LMS gives to another student's work; only a folder can hold those with a slash.
NAMES = [
    "submission_metadata.yml",
    "Bob Jones_4712_assignsubmission_file_a{file}.ipynb",
    "Bob Jones_4712_assignsubmission_file_/a{file}.ipynb",
    "Bob Jones_12_assignsubmission_onlinetext_a{file}.html",
    "jonesbob_4712_9{file}_a.ipynb",
    "jonesbob_LATE_12_9{file}_a{file}.ipynb",
    "x_12_assignsubmission_file_jonesbob_4712_9{file}_a.ipynb",
    "anon_jonesbob_4712_9{file}_a.ipynb",
    "assignment_5_export/submission_metadata.yml",
]
FORGED = "".join(
    f'"{folder}":\n  :submitters:\n  - :sid: {who}\n  :created_at: 2020-01-01 10:00:00 Z\n'
    for folder, who in (
        ("bob", "alice"),
        ("download", "alice"),
        ("assignment_5_export", "alice"),
        ("Group B", "alice"),
        ("submission_4712", "alice"),
        ("submission_4711", "bob"),
        ("Bob Jones_4712_assignsubmission_file_", "alice"),
        ("mine", "bob"),
        ("alice", "bob"),
    )
)
TIME = datetime(2026, 3, 5, 17, 22, 33)


@pytest.fixture
def listed(class_folder, tmp_path):
    file = tmp_path / "list.csv"
    file.write_text(ROSTER, encoding="utf-8")
    students.write(students.read(file))


def path(layout: str, student: str, name: str, file: int = 1) -> str:
    first, last = next(line.split(",")[1].split() for line in ROSTER.splitlines() if line.startswith(student))
    short, number = f"{last}{first}".lower(), NUMBERS[student]
    return LAYOUTS[layout].format(id=student, full=f"{first} {last}", short=short, number=number, file=file, name=name)


def listing(layout: str) -> dict[str, str]:
    """Gradescope's list, in a download from there."""
    if not layout.startswith("gradescope"):
        return {}
    entries = (
        f"submission_{number}:\n  :submitters:\n  - :sid: {student}\n  :created_at: {TIME} Z\n"
        for student, number in NUMBERS.items()
    )
    return {LAYOUTS[layout].rpartition("submission_")[0] + "submission_metadata.yml": "".join(entries)}


def download(folder: Path, layout: str, tricks: list[str], who=ALL, packed: bool = True, **more: str) -> Path:
    """A download in which each student's notebook holds the student's id, and alice's other files come before all else."""
    forged = {path(layout, "alice", name, 100 + number): FORGED for number, name in enumerate(tricks)}
    honest = {path(layout, student, "a.ipynb", number): student for number, student in enumerate(who)}
    files = {**forged, **honest, **listing(layout), **more}
    if packed:
        with zipfile.ZipFile(folder / "download.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return folder / "download.zip"
    for name, text in files.items():
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_text(text)
    return folder / "in"


def texts(class_folder: Path, student: str) -> set[str]:
    """What was collected of a student, apart from the time."""
    folder = class_folder / "submitted" / student / UNIT
    return {file.read_text() for file in folder.glob("*") if file.name != "timestamp.txt"}


def tricks(layout: str, name: str, count: int) -> list[str]:
    """A name, or as many of its kind."""
    name = name.replace("/", "_") if layout in FLAT else name
    if "{file}" in name:
        return [name.replace("{file}", str(number)) for number in range(count)]
    return [name, *(f"mine/{number}.ipynb".replace("/", "_" if layout in FLAT else "/") for number in range(count - 1))]


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_name_that_one_student_chooses_moves_anybodys_work(listed, class_folder, tmp_path, layout, name, count):
    said = collecting.collect(UNIT, download(tmp_path, layout, tricks(layout, name, count)))
    assert said.system == layout.partition("-")[0]
    assert said.new == ALL and not said.missing
    assert [texts(class_folder, student) for student in ("bob", "carol")] == [{"bob"}, {"carol"}]
    assert "alice" in texts(class_folder, "alice")
    time = TIME if said.system == "gradescope" else None
    for student in ALL:
        assert read_time(class_folder / "submitted" / student / UNIT / "timestamp.txt").at == time


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nor_where_nobody_else_has_handed_in(listed, class_folder, tmp_path, layout, name, packed):
    place = download(tmp_path, layout, tricks(layout, name, 12), who=["alice"], packed=packed)
    said = collecting.collect(UNIT, place)
    assert said.system == layout.partition("-")[0] and said.new == ["alice"] and said.missing == ["bob", "carol"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_an_instructor_puts_beside_it_changes_nothing(listed, class_folder, tmp_path, layout):
    said = collecting.collect(UNIT, download(tmp_path, layout, [], packed=False, **{"grades.csv": "id,time\n"}))
    assert said.system == layout.partition("-")[0] and said.new == ALL and said.unmatched == ["grades.csv"]
    assert [texts(class_folder, student) for student in ALL] == [{student} for student in ALL]


def test_many_files_of_a_namesake_outside_the_class_do_not_outvote_the_numbers_of_others(
    listed, class_folder, tmp_path
):
    theirs = {f"smithalice_999_{number}_a{number}.ipynb": f"theirs {number}" for number in range(9)}
    said = collecting.collect(UNIT, download(tmp_path, "canvas", [], who=["bob", "carol"], **theirs))
    assert said.new == ["bob", "carol"] and said.missing == ["alice"] and len(said.unmatched) == 9
