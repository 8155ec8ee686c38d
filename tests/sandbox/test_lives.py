"""The process that jobs are forked from may end at any time: it is started again, and nobody loses anything by it."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
from classes import lives, until
from conftest import ROOT, UNIT
from in_sandbox import printed, run

from autograder.grading.workers import local
from autograder.sandbox import job, levels
from autograder.sandbox.inside import warm
from autograder.sandbox.levels import BUBBLEWRAP
from autograder.sandbox.limits import limits_of
from autograder.sandbox.own_folder import OwnFolder
from autograder.trials.processes import family


@pytest.fixture(params=levels.available())
def level(request):
    return request.param


def test_a_warm_process_that_was_killed_is_replaced(level):
    run(level, "1")
    job._running[level].process.kill()
    assert printed(level, "print('again')") == "again"


def test_threads_share_a_warm_process_that_outlives_them(level):
    if level in job._running:
        job._running[level].process.kill()
        job._running[level].process.wait()
    with ThreadPoolExecutor(3) as pool:  # each finds it gone, and one of them starts another
        said = list(pool.map(lambda number: printed(level, f"print({number})"), range(6)))
    assert said == [str(number) for number in range(6)]
    process = job._running[level].process
    time.sleep(0.5)  # the end of the thread that started it would reach it by now
    assert process.poll() is None and printed(level, "print('on')") == "on"
    assert job._running[level].process is process


def test_what_ends_one_warm_process_does_not_end_the_next(level):
    run(level, "1")
    gone = job._running[level]
    gone.process.kill()
    run(level, "1")
    new = job._running[level]
    job._replace(level, gone)  # another thread noticed it later
    assert job._running[level] is new is not gone and new.process.poll() is None


def test_nothing_lingers_when_the_grader_is_killed(level, tmp_path):
    script = (
        "import sys, threading\nfrom autograder.sandbox import job\nfrom autograder.sandbox.limits import Limits\n"
        "told = {'cells': [{'source': 'import time; time.sleep(60)'}], 'cases': {}, 'device': 'cpu'}\n"
        f"started = job.Job(told, {level!r}, Limits(60, 90, 1 << 30, 1 << 26))\n"
        "print('started', job._running[" + repr(level) + "].process.pid, flush=True)\nstarted.result()"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    grader = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    warm = int(grader.stdout.readline().split()[1])
    time.sleep(0.5)
    started = family(warm)
    assert len(started) >= 2
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    until(lambda: not any(map(lives, started)), 10, "the end of all that the grader started")
    assert len(list(tmp_path.glob("submissions-*"))) == (level != BUBBLEWRAP)
    next_one = f"from autograder.sandbox.levels import Warm\nWarm({level!r}).end()"
    subprocess.run([sys.executable, "-c", next_one], cwd=ROOT, env=environment, check=True)
    assert not list(tmp_path.glob("submissions-*")), "what a killed grader left, the next one removes"


MOMENTS = {"before a job": None, "as it begins": 0.0, "while it runs": 0.3}
SLOW = "import time\ntime.sleep(0.6)\nprint('whole')"


# bubblewrap is two processes around the one that jobs are forked from.
PARTS = [(level, part) for level in levels.available() for part in range(3 if level == BUBBLEWRAP else 1)]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("level", "part"), PARTS)
def test_a_sandbox_that_is_killed_at_any_moment_costs_nobody_anything(level, part, moment):
    run(level, "1")
    processes = _of_the_sandbox(level, job._running[level].process.pid)
    started = None if MOMENTS[moment] is None else _started(level, SLOW)
    time.sleep(MOMENTS[moment] or 0)
    os.kill(processes[part], signal.SIGKILL)
    ran = (started or _started(level, SLOW)).result()
    assert ran.how == "ended" and ran.fatal == {} and ran.outputs[0][0]["text"] == "whole\n"


def _of_the_sandbox(level, process):
    """The processes from the one that the grader started to the one that jobs are forked from."""
    found = [process]
    while level == BUBBLEWRAP and (below := Path(f"/proc/{found[-1]}/task/{found[-1]}/children").read_text().split()):
        found.append(int(below[0]))
    return found


def _started(level, source):
    return job.Job({"cells": [{"source": source}], "cases": {}, "device": "cpu"}, level, limits_of(UNIT))


def test_a_sandbox_that_is_ended_while_it_starts_is_started_again(level, monkeypatch):
    start, started = subprocess.Popen, []

    def first_one_ends(*arguments, **options):
        started.append(start(*arguments, **options))
        if len(started) == 1:
            started[0].kill()
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", first_one_ends)
    levels.Warm(level).end()
    assert len(started) == 2


def test_a_process_that_was_killed_before_it_was_confined_is_none_that_could_not_be():
    assert warm._told_of_unconfined({"how": "killed", "signal": 9}) == {}
    assert warm._told_of_unconfined({"how": "killed", "signal": 0})["how"] == "unconfined"


# Folders of processes that were killed ----------------------------------------------------------------------------------


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_else_is(tmp_path, monkeypatch):
    code = (
        "import os, signal\nfrom autograder.sandbox.own_folder import OwnFolder\nfolder = OwnFolder('grading-')\n"
        "(folder.path / 'task').write_text('x')\n(folder.path / 'inner').mkdir(mode=0)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment)
    (left,) = tmp_path.glob("grading-*")
    assert left.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "grading-exams").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".lock").touch()
    (tmp_path / "grading-link").symlink_to(tmp_path / "elsewhere")
    with OwnFolder("grading-") as first, OwnFolder("grading-") as second:
        assert not left.exists() and first.exists() and second.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "grading-exams", "grading-link"]
    assert (tmp_path / "elsewhere" / ".lock").exists()


class _InstantPool:
    """Does at once what it is given; `deaths` are the numbers of the tasks with which, or before which, its worker dies."""

    def __init__(self, given: list, deaths: dict[int, str]):
        self.given, self.deaths = given, deaths

    def submit(self, work, file, seed):
        when = self.deaths.pop(len(self.given), "")
        if when == "before":
            raise BrokenProcessPool
        self.given.append((Path(file).read_text(), seed))
        future = Future()
        if when == "with":
            future.set_exception(BrokenProcessPool())
        else:
            Path(file).write_text(json.dumps({"of": seed}))
            future.set_result(None)
        return future


def _graded_in_pools(tmp_path, monkeypatch, tasks, workers, deaths):
    given: list = []
    monkeypatch.setattr(local, "_lent", lambda: _InstantPool(given, deaths))
    monkeypatch.setattr(local, "_take_back", lambda pool: None)
    monkeypatch.setattr(local, "given_up", lambda task: {"given up": task["seed"]})
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return list(local.grade_all(tasks, workers, 3)), given


def test_seeds_of_cases_lie_in_no_file(tmp_path, monkeypatch):
    tasks = [{"student": f"s{number}", "seed": f"secret-{number}"} for number in range(3)]
    graded, given = _graded_in_pools(tmp_path, monkeypatch, tasks, 2, {})
    assert len(graded) == 3
    assert sorted(seed for _, seed in given) == ["secret-0", "secret-1", "secret-2"]
    assert not any("secret" in text for text, _ in given) and not list(tmp_path.iterdir())


def test_a_worker_that_dies_while_it_has_nothing_to_do_costs_nobody_anything(tmp_path, monkeypatch):
    tasks = [{"student": f"s{number}", "seed": str(number)} for number in range(5)]
    graded, _ = _graded_in_pools(tmp_path, monkeypatch, tasks, 2, {0: "before", 3: "before"})
    assert sorted(outcome["of"] for outcome in graded) == ["0", "1", "2", "3", "4"]


def test_a_worker_that_dies_with_a_task_does_it_again_alone(tmp_path, monkeypatch):
    tasks = [{"student": f"s{number}", "seed": "all of one draw"} for number in range(6)]
    graded, given = _graded_in_pools(tmp_path, monkeypatch, tasks, 1, {2: "with"})
    assert graded == [{"of": "all of one draw"}] * 6
    students = [json.loads(text)["student"] for text, _ in given]
    assert students == ["s0", "s1", "s2", "s3", "s2", "s3", "s4", "s5"]


def test_each_worker_has_draws_of_its_own_as_long_as_there_are_enough(tmp_path, monkeypatch):
    tasks = [{"student": f"{draw}{number}", "seed": draw} for number in range(6) for draw in "abcd"]
    pools: list[list] = []
    monkeypatch.setattr(local, "_lent", lambda: pools.append([]) or _InstantPool(pools[-1], {}))
    monkeypatch.setattr(local, "_take_back", lambda pool: None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert len(list(local.grade_all(tasks, 2, 3))) == 24
    draws = [[seed for _, seed in given] for given in pools]
    assert [sorted(set(seeds)) for seeds in draws] == [["a", "c"], ["b", "d"]]
    assert all(seeds == sorted(seeds) for seeds in draws), "one draw after another"
