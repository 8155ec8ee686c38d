"""Faults in the middle of grading: whatever is killed, full or locked, nothing is lost, doubled or graded twice."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import classes
import pytest
from classes import ROOT, UNIT, until

from autograder.grading.journal import Journal
from autograder.trials.processes import family

pytestmark = pytest.mark.slow

SIZE = 8


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return classes.build_and_grade(tmp_path_factory.mktemp("undisturbed"), SIZE)


@pytest.fixture
def folder(undisturbed, tmp_path):
    return shutil.copytree(undisturbed[0], tmp_path / "class")


def whole(folder, expected):
    """Everybody is graded once, with the marks of an undisturbed run, in results and gradebook alike."""
    assert classes.results(folder) == expected
    assert classes.gradebook_scores(classes.sqlite(folder)) == classes.expected_scores(SIZE)
    graded = [one["student"] for one in classes.outcomes(folder)]
    assert sorted(graded) == sorted(set(graded)) == sorted(classes.expected_scores(SIZE))
    for student in graded:
        assert (folder / "autograded" / student / UNIT / f"{UNIT}.ipynb").exists()


@pytest.mark.parametrize("after", [0, 1, 4, SIZE - 1])
def test_a_grader_that_was_killed_goes_on_where_it_ended(folder, undisturbed, after):
    grading = classes.start("grade", UNIT, COURSE_CLASS=str(folder))
    classes.until_graded(folder, after)
    started = family(grading.pid)
    grading.send_signal(signal.SIGKILL)
    grading.wait()
    until(lambda: not any(map(classes.lives, started)), 20, "the end of all that the grader started")
    before = {one["student"]: one for one in classes.outcomes(folder)}
    assert len(before) >= after
    ran = classes.kit("grade", UNIT, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    now = {one["student"]: one for one in classes.outcomes(folder)}
    assert {name: now[name] for name in before} == before, "what was graded was graded again"
    whole(folder, undisturbed[1])


def test_killed_workers_cost_a_repeat_and_no_marks(folder, undisturbed):
    grading = classes.start("grade", UNIT, "--workers", "2", COURSE_CLASS=str(folder))
    for done in (1, 5):
        classes.until_graded(folder, done)
        workers = until(lambda: classes.workers(grading.pid), what="a worker to kill")
        os.kill(workers[0], signal.SIGKILL)
    _, said = grading.communicate()
    assert grading.returncode == 0, said
    whole(folder, undisturbed[1])


def test_a_submission_with_which_every_worker_dies_is_told_so_and_stops_nobody(tmp_path):
    folder = classes.build(tmp_path / "class", 1)
    grading = classes.start("grade", UNIT, "--workers", "1", COURSE_CLASS=str(folder))
    while grading.poll() is None:
        for worker in classes.workers(grading.pid):
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.02)
    assert grading.returncode == 0, grading.communicate()
    (outcome,) = classes.outcomes(folder)
    assert {record["state"] for record in outcome["records"]} == {"killed"}
    assert "killed each time it was tried" in outcome["records"][0]["message"]


def test_two_graders_at_once_do_not_meet(folder, undisturbed):
    first = classes.start("grade", UNIT, COURSE_CLASS=str(folder))
    until(lambda: classes.outcomes(folder))
    second = classes.kit("grade", UNIT, COURSE_CLASS=str(folder))
    assert second.returncode == 2 and "another run is grading" in second.stderr
    _, said = first.communicate()
    assert first.returncode == 0, said
    whole(folder, undisturbed[1])


def test_a_gradebook_that_is_locked_for_a_while_is_waited_for(folder, undisturbed):
    grading = classes.start("grade", UNIT, COURSE_CLASS=str(folder))
    until(lambda: classes.outcomes(folder))
    with _locked(folder):
        time.sleep(8)  # longer than SQLite itself waits, which is 5 s
    _, said = grading.communicate()
    assert grading.returncode == 0, said
    whole(folder, undisturbed[1])


def test_a_gradebook_that_stays_locked_is_told_and_nothing_is_graded_twice(folder, undisturbed, kit, monkeypatch):
    from autograder.gradebook import store

    monkeypatch.setattr(store, "WAIT", 1.0)
    with _locked(folder, when=lambda: classes.outcomes(folder)):
        ran = kit("grade", UNIT, COURSE_CLASS=str(folder))
    assert ran.returncode == 2 and "is locked by another program" in ran.stderr
    before = {one["student"]: one for one in classes.outcomes(folder)}
    assert before and classes.gradebook_scores(classes.sqlite(folder)) == {}
    assert kit("grade", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    now = {one["student"]: one for one in classes.outcomes(folder)}
    assert {name: now[name] for name in before} == before
    whole(folder, undisturbed[1])


class _locked:
    """Holds the gradebook's lock, as a program does that writes and does not end; at once, or as soon as `when()`."""

    def __init__(self, folder, when=lambda: True):
        self.file, self.when, self.leave, self.held = (
            folder / "gradebook.db",
            when,
            threading.Event(),
            threading.Event(),
        )
        self.thread = threading.Thread(target=self._hold)

    def _hold(self):
        until(self.when)
        database = sqlite3.connect(self.file, timeout=30)
        database.execute("BEGIN EXCLUSIVE")
        self.held.set()
        self.leave.wait()
        database.rollback()
        database.close()

    def __enter__(self):
        self.thread.start()
        if self.when():
            self.held.wait()

    def __exit__(self, *error):
        self.leave.set()
        self.thread.join()


FULL_DISK = """
mount -t tmpfs -o size=SIZEk tmpfs "$PLACE" && cp -r "$BUILT" "$PLACE/class" || exit 99
free=$(df --output=avail -k "$PLACE" | tail -1)
dd if=/dev/zero of="$PLACE/filler" bs=1024 count=$((free - LEFT)) status=none
COURSE_CLASS="$PLACE/class" "$PYTHON" -m autograder grade UNIT --workers 1; echo "first: $?" >&2
rm "$PLACE/filler"
COURSE_CLASS="$PLACE/class" "$PYTHON" -m autograder grade UNIT --workers 1 || exit 98
cp -r "$PLACE/class" "$KEPT"
"""


@pytest.mark.parametrize("left", [20, 150, 300])
def test_a_full_disk_is_told_in_a_line_and_the_next_run_goes_on(undisturbed, tmp_path, left):
    (tmp_path / "disk").mkdir()
    script = FULL_DISK.replace("SIZE", "40000").replace("UNIT", UNIT).replace("LEFT", str(left))
    told = {"PLACE": tmp_path / "disk", "BUILT": undisturbed[0], "KEPT": tmp_path / "kept", "PYTHON": sys.executable}
    command = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "bash", "-c", script]
    environment = {**os.environ, **{name: str(value) for name, value in told.items()}}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if ran.returncode in (1, 99):
        pytest.skip("this machine lets nobody mount a small disk, so nothing was tried on a full one")
    assert ran.returncode == 0, ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if "autograder: " in line]
    assert line.startswith("autograder: ") and ("No space left" in line or "disk is full" in line)
    assert "first: 2" in ran.stderr and "Traceback" not in ran.stderr
    whole(tmp_path / "kept", undisturbed[1])


def _outcome(student):
    held = {"unit": "unit", "digest": "", "scores": {}, "comments": {}, "records": []}
    return {"student": student, "notebook": "text", **held}


def test_a_line_that_was_cut_short_is_dropped_and_the_rest_kept(tmp_path):
    file = tmp_path / "unit.journal.jsonl"
    with Journal(file) as journal:
        journal.append(_outcome("a"))
        journal.recorded(["a"])
        journal.append(_outcome("b"))
    with file.open("ab") as opened:
        opened.write(b'{"student": "c", "rec')
    with Journal(file) as journal:
        assert set(journal.outcomes) == {"a", "b"} and journal.unrecorded == {"b"}
        journal.append(_outcome("c"))
        journal.compact()
    with Journal(file) as journal:
        assert list(journal.outcomes) == ["a", "b", "c"] and journal.unrecorded == {"b", "c"}
    assert b"text" not in file.read_bytes()
