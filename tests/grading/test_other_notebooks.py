"""Who handed in another notebook than the assignment reads which it is; no repairs, no answer to mark, by both commands."""

import json

import classes
import pytest
from conftest import UNIT
from handed_in import lesson, own, put, released, solved, zipped

from autograder.bank import catalogue

NAME = f"{UNIT}/{UNIT}.ipynb"
HAND_IN = f"hand in assignments/{UNIT}/{UNIT}.ipynb."
OTHERS = {  # what lies in the assignment's place, and what its student reads
    "lesson": (lesson(), f"This is lesson 04 ({UNIT}), not assignment 04: {HAND_IN}"),
    "lesson-05": (lesson("05_self_attention"), f"This is lesson 05 (05_self_attention), not assignment 04: {HAND_IN}"),
    "unit-05": (
        solved("05_self_attention"),
        f"This is assignment 05 (05_self_attention), not assignment 04: {HAND_IN}",
    ),
    "scratch": (own("x = 1", "print(x)"), f"This notebook holds none of the exercises of assignment 04: {HAND_IN}"),
    "empty": (own(), f"This notebook is empty: {HAND_IN}"),
}
HELPER = "def stable_softmax(e, dim=-1):\n    return e.softmax(dim)"
WITHOUT_LABELS = [{**cell, "metadata": {}, "id": f"c{n}"} for n, cell in enumerate(json.loads(solved())["cells"])]
STUBS = [{**cell, "metadata": {}, "id": f"c{n}"} for n, cell in enumerate(json.loads(released())["cells"])]
RIGHT = {  # what is the assignment all the same, and its points
    "as-handed-out": (released(), 0.0),
    "without-labels": (json.dumps({**json.loads(solved()), "cells": WITHOUT_LABELS}), 18.0),
    "handed-out-without-labels": (json.dumps({**json.loads(released()), "cells": STUBS}), 0.0),
    "code-alone": (own(*["".join(cell["source"]) for cell in WITHOUT_LABELS if cell["cell_type"] == "code"]), 18.0),
}
ELSEWHERE = {f"{UNIT}/work.zip": zipped({f"{UNIT}-Copy1.ipynb": solved()}), NAME: lesson()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A class of those, released; not graded."""
    folder = tmp_path_factory.mktemp("others") / "class"
    assert classes.kit("release", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    for student, (text, _) in {**OTHERS, **RIGHT}.items():
        put(folder, {NAME: text}, student)
    put(folder, ELSEWHERE, "elsewhere")
    helped = json.loads(solved("05_self_attention"))
    helped["cells"].insert(5, {**json.loads(own(HELPER))["cells"][0], "id": "helper"})
    put(folder, {NAME: json.dumps(helped)}, "unit-05-with-a-helper")
    return folder


@pytest.fixture(scope="module", params=["the kit", "nbgrader"])
def records(request, folder):
    """The records by student, graded in one of the two ways."""
    for file in (folder / "results").glob("*"):
        file.unlink()
    told = {"COURSE_CLASS": str(folder)}
    by_kit = request.param == "the kit"
    ran = (
        classes.kit("grade", UNIT, "--again", **told)
        if by_kit
        else classes.nbgrader("autograde", UNIT, "--force", **told)
    )
    assert ran.returncode == 0, ran.stderr
    found = {}
    for line in classes.results(folder).decode().splitlines():
        record = json.loads(line)
        found.setdefault(record["student"], []).append(record)
    return found


@pytest.mark.parametrize("student", OTHERS)
def test_what_it_is_is_told_in_one_sentence_and_nothing_is_repaired(records, student):
    for record in records[student]:
        assert (record["state"], record["problem"], record["points"]) == ("other_notebook", "other_notebook", 0)
        assert record["message"] == f"✗ {record['exercise']} · {OTHERS[student][1]}"
        assert record["repairs"] == [] and record["misconception"] is None


def test_a_helper_of_another_units_answer_makes_it_no_assignment_of_this_unit(records):
    assert {one["state"] for one in records["unit-05-with-a-helper"]} == {"other_notebook"}


def test_no_text_of_another_notebook_is_given_to_be_marked_by_hand(folder, records):
    from nbgrader.api import Gradebook

    with Gradebook(classes.sqlite(folder)) as gradebook:
        for student in OTHERS:
            grades = gradebook.find_submission_notebook(UNIT, UNIT, student).grades
            assert {one.auto_score for one in grades} <= {0.0, None} and not any(
                one.needs_manual_grade for one in grades
            )
    for student in OTHERS:
        file = folder / "autograded" / student / NAME
        if file.exists():
            texts = [cell["source"] for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]]
            assert not any("translator" in "".join(text) for text in texts)


@pytest.mark.parametrize("student", RIGHT)
def test_the_right_notebook_is_graded_in_whatever_state(records, student):
    assert {one["state"] for one in records[student]} == {"graded"}
    assert sum(one["points"] for one in records[student]) == RIGHT[student][1]


def test_work_beside_a_lesson_is_graded_by_both(records):
    assert sum(one["points"] for one in records["elsewhere"]) == 18.0
    said = " ".join(records["elsewhere"][0]["repairs"])
    assert "inside work.zip" in said and "(lesson 04)" in said


def test_a_report_counts_them_in_no_statistic(folder, records, monkeypatch):
    from autograder.reports.class_report import summary

    monkeypatch.setenv("COURSE_CLASS", str(folder))
    everyone = [one for row in records.values() for one in row]
    report = summary(UNIT, everyone)
    assert report["counted"] == len(RIGHT) + 1 and len(report["students"]) == len(records)
    assert dict(report["states"])["other_notebook"] == len(catalogue.units()[UNIT]) * (len(OTHERS) + 1)
    assert not [one for one in report["topics"] if one["name"] in ("missing_object", "other_notebook")]
    for exercise in report["exercises"]:
        own_points = [one for one in everyone if one["exercise"] == exercise["name"] and one["state"] == "graded"]
        assert exercise["students"] == len(own_points) == len(RIGHT) + 1
        if most := sum(one["max_points"] for one in own_points):
            assert exercise["share"] == pytest.approx(sum(one["points"] for one in own_points) / most)
    assert [one["why"] for one in report["students"] if one["name"] == "lesson"] == [OTHERS["lesson"][1]]
    assert sum(step["students"] for step in report["scores"]) == report["counted"]


def test_a_class_in_which_nobody_handed_in_the_assignment_has_a_report(folder, records, monkeypatch):
    from autograder.reports.class_report import summary

    monkeypatch.setenv("COURSE_CLASS", str(folder))
    report = summary(UNIT, [one for student in OTHERS for one in records[student]])
    assert report["counted"] == 0 and report["topics"] == [] and {one["share"] for one in report["exercises"]} == {0}


def test_feedback_pages_tell_it_once_the_results_are_there(folder, records):
    assert classes.kit("feedback", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    for student, (_, said) in OTHERS.items():
        page = (folder / "feedback" / student / UNIT / f"{UNIT}.html").read_text(encoding="utf-8")
        assert said.split(":")[0] in page and "had been deleted" not in page
