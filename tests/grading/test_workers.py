"""Workers, a cluster, and a gradebook in PostgreSQL: wherever the work is done and kept, the results are the same bytes."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import classes
import pytest
from classes import UNIT, until

pytestmark = pytest.mark.slow

SIZE = 8


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return classes.build_and_grade(tmp_path_factory.mktemp("alone"), SIZE, "--workers", "1")


@pytest.fixture
def folder(alone, tmp_path):
    return shutil.copytree(alone[0], tmp_path / "class")


def same(folder, alone):
    assert classes.results(folder) == alone[1]
    for file in (alone[0].with_name("class") / "autograded").rglob("*.ipynb"):
        assert (folder / file.relative_to(alone[0].with_name("class"))).read_bytes() == file.read_bytes()
    assert classes.gradebook_scores(classes.sqlite(folder)) == classes.expected_scores(SIZE)


def test_three_workers_give_the_same_bytes_as_one(folder, alone):
    ran = classes.kit("grade", UNIT, "--workers", "3", COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    same(folder, alone)


# A cluster -----------------------------------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _dask(*arguments, log) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": "."}
    with open(log, "ab") as stream:
        command = ["dask", *map(str, arguments)]
        return subprocess.Popen(command, cwd=classes.ROOT, env=environment, stdout=stream, stderr=stream)


@contextmanager
def _cluster(place: Path, threads=(1, 2)):
    """A scheduler, and a worker for each number of threads, as the documentation starts them; yields address and processes."""
    address = f"tcp://127.0.0.1:{_free_port()}"
    started = [_dask("scheduler", "--host", address, "--no-dashboard", log=place / "scheduler.log")]
    for number, count in enumerate(threads):
        options = ("--nthreads", count, "--no-dashboard", "--death-timeout", "120", "--local-directory", place)
        started.append(_dask("worker", address, *options, log=place / f"worker-{number}.log"))
    try:
        yield address, started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def test_a_cluster_gives_the_same_bytes(folder, alone, tmp_path):
    with _cluster(tmp_path) as (address, _):
        ran = classes.kit_apart("grade", UNIT, "--scheduler", address, COURSE_CLASS=str(folder))
        assert ran.returncode == 0, ran.stderr
    same(folder, alone)


def test_a_clusters_worker_that_is_killed_costs_a_repeat_and_no_marks(folder, alone, tmp_path):
    with _cluster(tmp_path) as (address, (_, worker, *_)):
        grading = classes.start("grade", UNIT, "--scheduler", address, COURSE_CLASS=str(folder))
        until(lambda: classes.outcomes(folder))
        for process in classes.family(worker.pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        _, said = grading.communicate()
        assert grading.returncode == 0, said
    same(folder, alone)


def test_a_scheduler_that_is_killed_is_told_and_the_next_run_goes_on(folder, alone, tmp_path):
    with _cluster(tmp_path) as (address, (scheduler, *_)):
        grading = classes.start("grade", UNIT, "--scheduler", address, COURSE_CLASS=str(folder))
        until(lambda: classes.outcomes(folder))
        os.kill(scheduler.pid, signal.SIGKILL)
        _, said = grading.communicate(timeout=180)
    before = {one["student"]: one for one in classes.outcomes(folder)}
    if grading.returncode:  # it may have been done already
        assert grading.returncode == 2 and "the scheduler at" in said and "Traceback" not in said, said
    ran = classes.kit("grade", UNIT, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    now = {one["student"]: one for one in classes.outcomes(folder)}
    assert {name: now[name] for name in before} == before, "what was graded was graded again"
    same(folder, alone)


def test_a_cluster_that_is_not_there_is_told_in_a_line(kit, folder):
    ran = kit("grade", UNIT, "--scheduler", f"tcp://127.0.0.1:{_free_port()}", COURSE_CLASS=str(folder))
    assert ran.returncode == 2 and "Traceback" not in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("autograder: no scheduler answers at")


# PostgreSQL ----------------------------------------------------------------------------------------------------------


def _postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[-3]))
    if not found and not (found := list(filter(None, [shutil.which("initdb")]))):
        word = "PostgreSQL is not installed, so no gradebook was kept in one"
        if os.environ.get("REQUIRE_POSTGRESQL"):
            pytest.fail(f"{word}, and REQUIRE_POSTGRESQL asks for it")
        pytest.skip(word)
    return Path(found[-1]).parent


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory):
    """A PostgreSQL server of the test's own; gives the URL of an empty database."""
    programs, place = _postgres_programs(), tmp_path_factory.mktemp("postgresql")
    user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None  # it will not run as root
    owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    if user:
        place = Path("/tmp") / f"postgresql-{os.getpid()}"  # below a folder that others can enter
        place.mkdir()
        os.chown(place, user.pw_uid, user.pw_gid)
    port = _free_port()

    def run(*command):
        ran = subprocess.run([programs / command[0], *command[1:]], cwd=place, capture_output=True, text=True, **owner)
        assert ran.returncode == 0, ran.stderr

    run("initdb", "-D", place / "data", "-U", "teacher", "--auth", "trust", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={place}"
    run("pg_ctl", "-D", place / "data", "-l", place / "log", "-w", "-o", options, "start")
    try:
        run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "teacher", "course")
        yield f"postgresql+psycopg://teacher:a-password@127.0.0.1:{port}/course"
    finally:
        run("pg_ctl", "-D", place / "data", "-m", "immediate", "stop")
        shutil.rmtree(place, ignore_errors=True)


def test_a_gradebook_in_postgresql_holds_the_same_marks(postgresql, folder, alone):
    environment = {"COURSE_CLASS": str(folder), "COURSE_GRADEBOOK": postgresql.replace("+psycopg", "")}
    (folder / "gradebook.db").unlink()
    for verb in ("release", "grade", "feedback", "report"):
        ran = classes.kit(verb, UNIT, **environment)
        assert ran.returncode == 0, ran.stderr
    assert classes.results(folder) == alone[1]
    assert classes.gradebook_scores(postgresql) == classes.expected_scores(SIZE)
    assert not (folder / "gradebook.db").exists()


def test_nbgraders_own_commands_use_that_gradebook(postgresql, folder):
    environment = {**os.environ, "COURSE_CLASS": str(folder), "COURSE_GRADEBOOK": postgresql.replace("+psycopg", "")}
    student = "late-comer"
    shutil.copytree(folder / "submitted" / "student-00", folder / "submitted" / student)
    for arguments in (["autograde", UNIT, f"--student={student}"], ["export", "--to", str(folder / "grades.csv")]):
        command = [sys.executable, "-m", "nbgrader", *arguments]
        ran = subprocess.run(command, cwd=classes.ROOT, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    assert f"{UNIT}" in (folder / "grades.csv").read_text() and classes.gradebook_scores(postgresql)[student] == 18.0


def test_a_database_that_cannot_be_reached_is_told_without_its_password(kit, class_folder):
    url = f"postgresql://teacher:a-password@127.0.0.1:{_free_port()}/course"
    ran = kit("release", UNIT, COURSE_GRADEBOOK=url)
    assert ran.returncode == 2 and "Connection refused" in ran.stderr and "a-password" not in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
