"""At the command line: what is wrong is said in one line, with an exit status that is not 0, and nothing is overwritten."""

import json

import pytest
from conftest import UNIT

RIGHT = "def attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)\n"


def refused(ran, *words):
    assert ran.returncode == 2, (ran.stdout, ran.stderr)
    (line,) = ran.stderr.strip().splitlines()
    assert line.startswith("autograder: ")
    assert all(word in line for word in words), line


@pytest.mark.parametrize("verb", ["release", "grade", "feedback", "report"])
def test_an_unknown_unit_is_named_with_those_there_are(kit, verb):
    refused(kit(verb, "99"), "99", UNIT)


def test_grading_before_release_says_what_to_do(kit):
    refused(kit("grade", UNIT), "release")


def test_grading_an_empty_class_says_where_it_looked(kit, class_folder):
    kit("release", UNIT)
    refused(kit("grade", UNIT), "submitted")


@pytest.mark.parametrize("verb", ["feedback", "report"])
def test_feedback_and_report_need_grades(kit, verb):
    refused(kit(verb, UNIT), "not graded yet")


@pytest.mark.parametrize("content", [b"this is no database", b"SQLite format 3\x00" + b"\x00" * 2000])
def test_a_damaged_gradebook_is_told_and_left_alone(kit, class_folder, content):
    class_folder.mkdir()
    (class_folder / "gradebook.db").write_bytes(content)
    refused(kit("release", UNIT), "gradebook")
    refused(kit("grade", UNIT), "gradebook")
    assert (class_folder / "gradebook.db").read_bytes() == content


def test_an_old_gradebook_is_told_and_left_alone(kit, class_folder):
    import sqlite3

    assert kit("release", UNIT).returncode == 0
    with sqlite3.connect(class_folder / "gradebook.db") as database:
        database.execute("ALTER TABLE submitted_assignment DROP COLUMN timestamp")
    (class_folder / "submitted" / "somebody" / UNIT).mkdir(parents=True)
    before = (class_folder / "gradebook.db").read_bytes()
    refused(kit("grade", UNIT), "nbgrader db upgrade")
    assert (class_folder / "gradebook.db").read_bytes() == before


def test_a_class_folder_that_cannot_be_written_is_told(kit):
    refused(kit("release", UNIT, COURSE_CLASS="/proc/no-such-class"), "/proc/no-such-class")


def test_an_unusable_device_is_told(kit):
    refused(kit("grade", UNIT, COURSE_DEVICE="quantum"), "COURSE_DEVICE")


def test_damaged_results_are_told(kit, class_folder):
    (class_folder / "results").mkdir(parents=True)
    (class_folder / "results" / f"{UNIT}.jsonl").write_text('{"student":')
    refused(kit("report", UNIT), "damaged")


def test_judge_prints_one_json_object(kit, tmp_path):
    file = tmp_path / "answer.py"
    file.write_text("import torch\n" + RIGHT)
    ran = kit("judge", "attention_scores", file)
    verdict = json.loads(ran.stdout)
    assert ran.returncode == 0
    assert (verdict["state"], verdict["passed"], verdict["points"]) == ("graded", True, 2)
    file.write_text(RIGHT.replace(".sum(-1)", ".mean(-1)"))
    verdict = json.loads(kit("judge", "attention_scores", file).stdout)
    assert (verdict["passed"], verdict["points"], verdict["misconception"]) == (False, 0, "averaged_products")


@pytest.mark.parametrize(
    ("content", "state", "said"),
    [
        (b"def attention_scores(q, X:", "malformed", "not Python"),
        (b"\xff\xfe\x00", "malformed", "UTF-8"),
        (b"x = 1\n", "graded", "Nothing is called `attention_scores`"),
        (b"1 / 0\n", "graded", "ZeroDivisionError"),
        (b"import os\nos._exit(1)\n", "killed", "ended its own process"),
        (b"while True: pass\n", "timeout", "Nothing is called"),
        (RIGHT.encode() + b"attention_scores = 3\n", "graded", "not a function"),
        (b"def attention_scores(q, X):\n    while True: pass\n", "timeout", "longer than"),
    ],
)
def test_judge_says_what_is_wrong_with_a_file(kit, tmp_path, content, state, said):
    file = tmp_path / "answer.py"
    file.write_bytes(content)
    ran = kit("judge", "attention_scores", file, COURSE_CELL_SECONDS="2")
    verdict = json.loads(ran.stdout)
    assert (ran.returncode, verdict["state"], verdict["points"]) == (0, state, 0)
    assert said in " ".join(verdict["message"].split())
    assert "Traceback" not in ran.stdout + ran.stderr


def test_judge_refuses_unknown_exercises_and_absent_files(kit, tmp_path):
    refused(kit("judge", "no_such", tmp_path / "x.py"), "no_such", "attention_scores")
    refused(kit("judge", "attention_scores", tmp_path / "x.py"), "x.py")


def test_the_demo_never_deletes_what_no_demo_made(tmp_path):
    from autograder.settings import KitError
    from autograder.trials.demo import _clean

    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "precious.txt").write_text("work")
    with pytest.raises(KitError, match="no demo has made"):
        _clean(folder)
    assert (folder / "precious.txt").read_text() == "work"
