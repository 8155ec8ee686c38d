"""What Canvas, Moodle and Gradescope let one download reaches the right student, with its time, and loses nothing."""

import zipfile
from datetime import datetime

import pytest
from conftest import UNIT

from autograder import settings
from autograder.intake.lms import collecting, students
from autograder.intake.lms.merging import merged
from autograder.intake.lms.telling import told
from autograder.intake.lms.times import when as when_said
from autograder.intake.timestamp import read_time

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,04 (77)
    Points Possible,,,,,20
"Doe, Jane",4711,S-1,jdoe,A,
"van der Berg, Piet",4712,S-2,pberg,A,
"Öztürk, Ayşe",4713,S-3,aozturk,B,
"Student, Test",4799,,,A,
"""
MOODLE = "\ufeffFirst name;Last name;Username;ID number;Email address;Groups\n" + "\n".join(
    [
        "Jane;Doe;jdoe;1;jane.doe@uni.example;Mon",
        "Piet;van der Berg;pberg;2;p.berg@uni.example;Tue",
        "Ayşe;Öztürk;aozturk;3;a@uni.example;",
    ]
)
GRADESCOPE = """First Name,Last Name,SID,Email,Role,Section
Jane,Doe,jdoe,jane.doe@uni.example,Student,A
Piet,van der Berg,pberg,p.berg@uni.example,Student,A
Ayşe,Öztürk,aozturk,a@uni.example,Student,B
"""
ALL = ["jdoe", "pberg", "aozturk"]


@pytest.fixture
def roster(class_folder, tmp_path):
    """roster(text) makes a list that an LMS has exported the class's own."""

    def enter(text: str):
        file = tmp_path / "list.csv"
        file.write_text(text, encoding="utf-8")
        whole, said = merged(students.students(), students.read(file))
        students.write(whole)
        return said

    return enter


@pytest.fixture
def pack(tmp_path):
    """pack({path: text}) makes a zip."""

    def made(files: dict, name="download.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        return tmp_path / name

    return made


def handed_in(class_folder, student, name=f"{UNIT}.ipynb"):
    return (class_folder / "submitted" / student / UNIT / name).read_text(encoding="utf-8")


def when(class_folder, student):
    return read_time(class_folder / "submitted" / student / UNIT / "timestamp.txt")[0]


@pytest.mark.parametrize("text", [CANVAS, MOODLE, GRADESCOPE], ids=["canvas", "moodle", "gradescope"])
def test_the_list_of_students_is_read_as_each_system_exports_it(roster, text):
    roster(text)
    found = students.students()
    assert [one.id for one in found] == ALL
    assert [one.first_and_last for one in found] == [("Jane", "Doe"), ("Piet", "van der Berg"), ("Ayşe", "Öztürk")] or (
        text is not CANVAS and found[1].first_and_last == ("Piet van der", "Berg")
    )


def test_a_newer_list_adds_and_updates_and_removes_nobody(roster):
    roster(CANVAS)
    said = roster(GRADESCOPE.replace("Piet,van der Berg,pberg", "Mara,Novak,mnovak"))
    found = {one.id: one for one in students.students()}
    assert [*found] == [*ALL, "mnovak"]
    assert found["jdoe"].email == "jane.doe@uni.example" and "4711" in found["jdoe"].also
    assert "mnovak" in said[0] and "pberg" in said[1] and "--remove" in said[1]


@pytest.mark.parametrize(
    ("text", "word"),
    [("a,b\n1,2\n", "lists no students"), ("id\nx\nx\n", "more than one row"), ("id\n../x\n", "cannot be used")],
)
def test_a_list_that_cannot_be_used_is_refused(roster, text, word):
    with pytest.raises(settings.KitError, match=word):
        roster(text)


def test_canvas(class_folder, roster, pack):
    roster(CANVAS)
    place = pack(
        {
            "doejane_4711_950_04_attention_layer-1.ipynb": "second",
            "doejane_4711_949_copy.ipynb": "second",
            "vanderbergpiet_LATE_4712_901_my work.ipynb": "late",
            "vanderbergpiet_LATE_4712_902_data.csv": "1,2",
            "strangerann_9999_903_04.ipynb": "?",
            "__MACOSX/._doejane_4711_900_04_attention_layer.ipynb": "x",
        }
    )
    said = collecting.collect(UNIT, place)
    assert said.system == "canvas" and said.new == ["jdoe", "pberg"]
    (kept,) = (class_folder / "submitted" / "jdoe" / UNIT).iterdir()  # the same bytes once
    assert kept.read_text() == "second"
    assert handed_in(class_folder, "pberg") == "late" and handed_in(class_folder, "pberg", "data.csv") == "1,2"
    assert said.late == ["pberg"] and when(class_folder, "pberg") is None
    assert said.unmatched == ["strangerann_9999_903_04.ipynb"] and said.missing == ["aozturk"]
    lines = "\n".join(told(said))
    assert "2 new" in lines and "1 missing: aozturk (Ayşe Öztürk)" in lines
    assert "1 file matches nobody in the class's list, or two students: strangerann" in lines


def test_files_of_one_name_in_several_folders_are_all_kept(class_folder, roster, tmp_path):
    roster(CANVAS)
    for folder, text in ((".", "done"), ("backup", "empty")):
        (tmp_path / "in" / "jdoe" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "jdoe" / folder / "04.ipynb").write_text(text)
    collecting.collect(UNIT, tmp_path / "in")
    found = (class_folder / "submitted" / "jdoe" / UNIT).iterdir()
    assert sorted(file.read_text() for file in found) == ["done", "empty"]


def test_a_namesake_who_is_not_in_the_class_gets_nobodys_place(class_folder, roster, pack):
    roster(CANVAS)
    said = collecting.collect(UNIT, pack({"doejane_4711_1_a.ipynb": "ours", "doejane_999_2_a.ipynb": "theirs"}))
    assert said.unmatched == ["doejane_999_2_a.ipynb"] and handed_in(class_folder, "jdoe") == "ours"


def test_two_of_one_name_without_numbers_in_the_list_are_told_and_not_guessed(roster, pack):
    roster("id,name\njdoe,Jane Doe\n")
    said = collecting.collect(UNIT, pack({"doejane_1_1_a.ipynb": "a", "doejane_2_2_a.ipynb": "b"}))
    assert said.new == [] and len(said.unmatched) == 2


def test_an_anonymous_download_is_called_that(roster, pack):
    roster(CANVAS)
    with pytest.raises(settings.KitError, match="anonymous"):
        collecting.collect(UNIT, pack({"anon_aB3xZ_67890_04.ipynb": "?"}))


def test_a_file_in_moodles_group_mode_reaches_its_student(class_folder, roster, pack):
    roster(MOODLE)
    said = collecting.collect(UNIT, pack({"Mon-Jane Doe_777_assignsubmission_file/04.ipynb": "jane"}))
    assert said.new == ["jdoe"] and handed_in(class_folder, "jdoe") == "jane"


def test_a_list_of_another_system_makes_no_second_students(roster):
    roster(CANVAS)
    rows = "Jane,Doe,30001,j@x.example,Student\nTom,Teach,t,t@x.example,Instructor\n"
    said = roster(f"First Name,Last Name,SID,Email,Role\n{rows}")
    found = {one.id: one for one in students.students()}
    assert [*found] == ALL and found["jdoe"].email == "j@x.example" and "30001" in found["jdoe"].also
    assert not any("new" in one for one in said)


@pytest.mark.parametrize(
    ("said", "hour"),
    [
        ("2026-03-06 17:58", 17),
        ("06.03.2026 17:58", 17),
        ("Friday, 6 March 2026, 5:58 PM", 17),
        ("06/03/2026 17:58", None),
        ("18:00", None),
        ("12", None),
        ("2026-03-06 17:58 EST", None),
    ],
)
def test_a_time_that_could_be_two_is_refused(said, hour):
    if hour is None:
        with pytest.raises(ValueError):
            when_said(said)
    else:
        assert when_said(said) == datetime(2026, 3, 6, hour, 58)


def test_a_table_without_times_is_told(roster, pack, tmp_path):
    roster(CANVAS)
    (tmp_path / "t.csv").write_text("Full name,Zuletzt\nJane Doe,2026-03-06 17:58\n")
    with pytest.raises(settings.KitError, match="tells no time"):
        collecting.collect(UNIT, pack({"doejane_4711_1_a.ipynb": ""}), tmp_path / "t.csv")


def test_a_number_that_is_another_students_id_decides_nothing(class_folder, roster, pack):
    roster(CANVAS + '"Novak, Mara",4714,4711,mnovak,B,\n')  # her SIS id is Jane's number in Canvas
    said = collecting.collect(UNIT, pack({"doejane_4711_1_a.ipynb": "jane", "novakmara_4714_2_a.ipynb": "mara"}))
    assert said.new == ["jdoe", "mnovak"] and handed_in(class_folder, "jdoe") == "jane"
    assert collecting.collect(UNIT, pack({"nobody_4711_1_a.ipynb": "?"})).unmatched == ["nobody_4711_1_a.ipynb"]


@pytest.mark.parametrize("behind", ["_assignsubmission_file_/", "_assignsubmission_file/", "_assignsubmission_file_"])
def test_moodle(class_folder, roster, pack, tmp_path, behind):
    roster(MOODLE)
    place = pack(
        {
            f"Jane Doe_12345{behind}work.ipynb": "jane",
            f"Group B/Ayşe Öztürk_12346{behind}work (1).ipynb": "ayşe",
            "Piet van der Berg_12347_assignsubmission_onlinetext_/onlinetext.html": "hello",
        }
    )
    times = tmp_path / "worksheet.csv"
    times.write_text(
        "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
        'Participant 12345,Jane Doe,jane.doe@uni.example,Submitted,-,"Thursday, 5 March 2026, 10:15 AM"\n'
        'Participant 12346,Ayşe Öztürk,a@uni.example,Submitted,-,"Friday, 6 March 2026, 11:20 PM"\n'
        "Participant 12347,Piet van der Berg,p.berg@uni.example,No submission,-,-\n",
        encoding="utf-8",
    )
    said = collecting.collect(UNIT, place, times)
    assert said.system == "moodle" and said.new == ["aozturk", "jdoe"] and said.missing == ["pberg"]
    assert handed_in(class_folder, "aozturk") == "ayşe" and len(said.unmatched) == 1
    here = datetime(2026, 3, 6, 23, 20).astimezone()
    assert when(class_folder, "aozturk") == (here - here.utcoffset()).replace(tzinfo=None)


LISTING = """---
submission_11:
  :submitters:
  - :name: Jane Doe
    :sid: jdoe
    :email: jane.doe@uni.example
  - :name: Piet van der Berg
    :sid:
    :email: p.berg@uni.example
  :created_at: 2026-03-05 17:22:33.5 Z
  :score: 3.0
  :results: !ruby/object:Thing {}
submission_12:
  :submitters:
  - :name: Ann Stranger
    :sid: zzz
  :created_at: 2026-03-05 17:22:33 Z
"""


def test_gradescope(class_folder, roster, pack):
    roster(GRADESCOPE)
    place = pack(
        {
            "assignment_5_export/submission_metadata.yml": LISTING,
            "assignment_5_export/submission_11/work.ipynb": "both",
            "assignment_5_export/submission_12/work.ipynb": "?",
        }
    )
    said = collecting.collect(UNIT, place)
    assert said.system == "gradescope" and said.new == ["jdoe", "pberg"] and said.missing == ["aozturk"]
    assert when(class_folder, "pberg") == datetime(2026, 3, 5, 17, 22, 33, 500000)
    assert said.unmatched == ["assignment_5_export/submission_12/work.ipynb"]


def test_folders_called_after_students(class_folder, roster, tmp_path):
    roster(CANVAS)
    (tmp_path / "in" / "JDoe" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "JDoe" / "deep" / "x.ipynb").write_text("jane")
    assert collecting.collect(UNIT, tmp_path / "in").new == ["jdoe"] and handed_in(class_folder, "jdoe") == "jane"


def test_collecting_twice_changes_nothing_and_a_new_attempt_puts_the_old_one_aside(class_folder, roster, pack):
    roster(CANVAS)
    first, second = ({"doejane_4711_1_a.ipynb": text} for text in ("first", "second"))
    collecting.collect(UNIT, pack(first))
    assert collecting.collect(UNIT, pack(first)).same == ["jdoe"]
    assert collecting.collect(UNIT, pack(second)).replaced == ["jdoe"]
    assert collecting.collect(UNIT, pack(first)).replaced == ["jdoe"] and handed_in(class_folder, "jdoe") == "first"
    kept = sorted(file.read_text() for file in (class_folder / "earlier").rglob("*.ipynb"))
    assert kept == ["first", "second"]
    assert sorted(one.name for one in (class_folder / "submitted" / "jdoe").iterdir()) == [UNIT]


def test_what_came_later_is_not_replaced_by_an_older_download(class_folder, roster, pack):
    roster(GRADESCOPE)
    old = {"submission_metadata.yml": LISTING, "submission_11/work.ipynb": "old"}
    new = {"submission_metadata.yml": LISTING.replace("03-05", "03-07"), "submission_11/work.ipynb": "new"}
    collecting.collect(UNIT, pack(new))
    assert collecting.collect(UNIT, pack(old)).older == ["jdoe", "pberg"] and handed_in(class_folder, "jdoe") == "new"


def test_without_a_list_of_students_nothing_is_collected(class_folder, pack):
    with pytest.raises(settings.KitError, match="roster FILE"):
        collecting.collect(UNIT, pack({"doejane_4711_1_a.ipynb": ""}))


@pytest.mark.parametrize("data", [b"no zip", b""])
def test_what_is_no_download_is_refused(roster, tmp_path, data):
    roster(CANVAS)
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(settings.KitError, match="no zip and no folder"):
        collecting.collect(UNIT, tmp_path / "x.zip")


@pytest.mark.parametrize("zone", ["", "Europe/Rome"])
def test_the_zone_of_times_without_one_is_told_and_so_are_times_that_change(class_folder, roster, pack, tmp_path, zone):
    roster(CANVAS)
    if zone:
        (class_folder / "deadlines.toml").write_text(f'timezone = "{zone}"\n')
    place, times = pack({"doejane_4711_1_a.ipynb": "", "vanderbergpiet_4712_2_a.ipynb": ""}), tmp_path / "t.csv"

    def said(at):
        times.write_text(f"id,submitted at\njdoe,{at}\npberg,2026-03-06T17:58:00Z\n")
        return "\n".join(told(collecting.collect(UNIT, place, times)))

    first = said("2026-03-06 17:58")
    assert "1 time without a zone is read as " in first and "changed" not in first
    assert (
        f"{zone} (deadlines.toml)." in first if zone else "this machine's zone; `timezone` in deadlines.toml" in first
    )
    if zone:
        assert when(class_folder, "jdoe") == datetime(2026, 3, 6, 16, 58)
    assert "changed" not in said("2026-03-06 17:58")
    second = said("2026-03-06T19:00:00Z")
    assert "2 already here" in second and "1 time changed." in second and "without a zone" not in second


def test_a_list_that_is_cut_says_how_to_see_it_whole(roster, pack):
    roster("id,name\n" + "".join(f"s{number:02},Name{number:02} Given\n" for number in range(13)))
    said = collecting.collect(UNIT, pack({"s00/a.ipynb": ""}))
    (missing,) = [line for line in told(said) if "missing" in line]
    assert "s10 (Name10 Given) … and 2 more (`--all-names` names them)" in missing and "s11" not in missing
    assert [line for line in told(said, whole=True) if "missing" in line][0].endswith("s12 (Name12 Given)")
