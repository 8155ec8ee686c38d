"""Limits are data: read where work is handed out, carried along, and each submission is held to its own."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pytest
from conftest import UNIT

from autograder import settings
from autograder.grading.examination import examine_cells
from autograder.grading.task import task
from autograder.intake.submissions import Submission
from autograder.sandbox import levels
from autograder.sandbox.job import Job
from autograder.sandbox.limits import Limits, limits_of

TRAINED = "03_image_captioning"
TIMES = ("COURSE_CELL_SECONDS", "COURSE_SUBMISSION_SECONDS")
ENDLESS = "def attention_scores(q, X):\n    while True: pass"


@pytest.fixture(autouse=True)
def no_times_asked_for(monkeypatch):
    for name in TIMES:
        monkeypatch.delenv(name, raising=False)


def test_a_unit_that_trains_has_more_time_unless_a_time_is_asked_for(monkeypatch):
    multiplier = settings.table()["timeout_multiplier"][TRAINED]
    usual, trained = limits_of(UNIT), limits_of(TRAINED)
    assert multiplier > 1 and trained.cell_seconds == multiplier * usual.cell_seconds
    assert trained.submission_seconds == multiplier * usual.submission_seconds
    assert (trained.memory_bytes, trained.disk_bytes) == (usual.memory_bytes, usual.disk_bytes)
    for name, seconds in zip(TIMES, ("7", "8")):
        monkeypatch.setenv(name, seconds)
    assert limits_of(TRAINED) == replace(trained, cell_seconds=7, submission_seconds=8)


@pytest.mark.parametrize("variable", TIMES)
@pytest.mark.parametrize("asked", ["long", "0", "-3", "nan", "inf"])
def test_what_is_no_number_of_seconds_is_told(monkeypatch, variable, asked):
    monkeypatch.setenv(variable, asked)
    with pytest.raises(settings.KitError, match=re.escape(f"{variable}='{asked}' is not a number of seconds")):
        limits_of(UNIT)


def test_memory_is_bounded_where_no_driver_maps_it():
    assert limits_of(UNIT).memory_bytes > 0 == limits_of(UNIT, "cuda:0").memory_bytes


def test_a_task_brings_its_limits_through_json(class_folder, monkeypatch):
    monkeypatch.setenv("COURSE_CELL_SECONDS", "2.5")
    handed_in = Submission("somebody", TRAINED, b"{}")
    told = task(handed_in, [], [], "cpu", "", False, True)
    back = json.loads(json.dumps(told))
    assert back == told and Limits(**back["limits"]) == limits_of(TRAINED)
    assert back["limits"]["cell_seconds"] == 2.5


def at_once(action, each):
    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(action, each))


def test_two_jobs_at_once_end_by_their_own_limits():
    sleep = {"cells": [{"source": "import time\ntime.sleep(2)\nprint('awake')"}], "cases": {}, "device": "cpu"}

    def output(seconds):
        limits = replace(limits_of(UNIT), cell_seconds=seconds)
        return Job(sleep, levels.available()[0], limits).result().outputs[0][0]

    short, long = at_once(output, [0.5, 20])
    assert (short["ename"], short["evalue"]) == ("TimeLimit", "stopped after 0.5 s")
    assert long["text"] == "awake\n"


def test_two_submissions_at_once_are_told_the_limits_that_held_for_each(monkeypatch):
    def message(limits):
        cells = [{"source": ENDLESS}, {"exercise": "attention_scores"}]
        _, (examined,) = examine_cells(cells, "seed", levels.available()[0], limits)
        return examined.state, " ".join(examined.result.message.split())

    asked = [replace(limits_of(UNIT), cell_seconds=seconds) for seconds in (1, 3)]
    monkeypatch.setenv("COURSE_CELL_SECONDS", "not read once work is handed out")
    for (state, said), seconds in zip(at_once(message, asked), (1, 3)):
        assert state == "timeout" and f"It took longer than {seconds} s" in said


def test_a_whole_submission_is_told_its_own_limit():
    cells = [{"source": "import time\ntime.sleep(9)"}, {"exercise": "attention_scores"}]
    limits = replace(limits_of(UNIT), submission_seconds=2)
    _, (examined,) = examine_cells(cells, "seed", levels.available()[0], limits)
    assert "The notebook as a whole may take 2 s" in " ".join(examined.result.message.split())


def test_limits_are_frozen_and_plain():
    assert json.loads(json.dumps(asdict(limits_of(UNIT)))) == asdict(limits_of(UNIT))
    with pytest.raises(AttributeError):
        limits_of(UNIT).cell_seconds = 1
