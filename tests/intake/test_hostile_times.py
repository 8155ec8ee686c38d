"""A submission whose time cannot be read is graded, and costs the others of its class nothing; the time is unknown."""

import json
import warnings

import classes
import pytest
from classes import ROOT, UNIT

from autograder.intake import submissions, timestamp

HOSTILE = {
    "too-large": b"9" * 33 + b"m",
    "a-path-for-a-zone": b"2026-01-01 00:00:00 ../../etc/passwd",
    "an-absolute-path": b"2026-01-01 00:00:00 /etc/passwd",
    "no-text": b"\xff\xfe\x00",
    "no-offset": b"2026-01-01 00:00:00 99999999999999",
    "empty": b"",
    "too-long": b"2026-01-01" + b" " * 200,
    "digits": b"1" * 100,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_time_raises_and_each_is_told(tmp_path, name):
    file = tmp_path / "timestamp.txt"
    file.write_bytes(HOSTILE[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert timestamp.read_time(file) == (None, "", timestamp.UNREAD)


@pytest.mark.parametrize(
    "text", ["2026-01-01 12:00:00 UTC", "2026-01-01 13:00:00.5 Europe/Berlin", "2026-01-01T12:00Z"]
)
def test_times_that_nbgrader_and_editors_write_are_read(tmp_path, text):
    file = tmp_path / "timestamp.txt"
    file.write_text(text)
    at, kept, said = timestamp.read_time(file)
    assert at.hour == 12 and kept == text and not said


def test_a_submission_without_a_time_is_not_told_of_one(class_folder):
    classes.hand_in(class_folder, "student", _solution())
    assert submissions.find("student", UNIT).notes == () and submissions.hand_in_time("student", UNIT)[:2] == (None, "")


def _solution():
    import nbformat

    return nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", as_version=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A class of three, of whom two handed in such times; released, not graded."""
    folder = tmp_path_factory.mktemp("times") / "class"
    assert classes.kit("release", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    for student, text in {
        "a": HOSTILE["too-large"],
        "b": HOSTILE["a-path-for-a-zone"],
        "c": b"2026-01-01 00:00:00 UTC",
    }.items():
        classes.hand_in(folder, student, _solution()).with_name("timestamp.txt").write_bytes(text)
    return folder


@pytest.mark.parametrize("by", ["the kit", "nbgrader"])
def test_everybody_is_graded_and_student_and_instructor_are_told(folder, by):
    told = {"COURSE_CLASS": str(folder)}
    if by == "the kit":
        ran = classes.kit_apart("grade", UNIT, PYTHONWARNINGS="error::FutureWarning", **told)
    else:
        ran = classes.nbgrader("autograde", UNIT, "--force", **told)
    assert ran.returncode == 0, ran.stderr
    assert classes.gradebook_scores(classes.sqlite(folder)) == {"a": 18.0, "b": 18.0, "c": 18.0}
    rows = [json.loads(line) for line in classes.results(folder).splitlines()]
    assert {row["student"] for row in rows if timestamp.UNREAD in row["repairs"]} == {"a", "b"}
    assert classes.kit("feedback", UNIT, **told).returncode == 0
    pages = {one: (folder / "feedback" / one / UNIT / f"{UNIT}.html").read_text(encoding="utf-8") for one in "abc"}
    assert {one for one, page in pages.items() if "counts as unknown" in page} == {"a", "b"}
