"""Classes for tests: handed in, graded by the command line, and what came of it."""

import io
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import nbformat
import nbgrader.api
from conftest import ROOT, UNIT

from autograder.__main__ import main
from autograder.bank import catalogue
from autograder.grading.workers import local
from autograder.trials.attacks.kinds import filled, place
from autograder.trials.processes import family

MANY = 4  # students of a class as built who have done everything; the others have done two exercises, and are graded sooner
NOT_BEGUN = catalogue.exercises_of(UNIT)[2:]
WRONG = "def stable_softmax(e, dim=-1):\n    return torch.exp(e) / torch.exp(e).sum(-1, keepdim=True)"

# workers and their sandboxes take seconds to start: what grades in this process keeps them for the next class
local.keeps_workers = True
# for each new gradebook nbgrader starts a process that looks for the newest of the files which came with it
nbgrader.api.get_alembic_version = cache(nbgrader.api.get_alembic_version)


def kit(*arguments, **environment):
    """Runs the kit's command line in this process, which has imported what it needs; gives what a completed process has.

    Where a test does not say how many workers grade, there is one: others test meanwhile, and each takes seconds to start.
    """
    arguments = _alone(arguments)
    said, complained = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, environment), redirect_stdout(said), redirect_stderr(complained):
        try:
            returncode = main([str(one) for one in arguments])
        except SystemExit as ended:  # what argparse makes of a wrong option
            returncode = ended.code
    return SimpleNamespace(returncode=returncode, stdout=said.getvalue(), stderr=complained.getvalue())


def _alone(arguments: tuple) -> tuple:
    """The arguments with one worker where they would grade with one for each core."""
    grades = arguments[0] in ("grade", "regrade") and not {"--workers", "--scheduler", "--help"} & set(arguments)
    return (*arguments, "--workers", "1") if grades else arguments


def kit_apart(*arguments, **environment):
    """Runs the kit's command line in a process of its own; gives the completed process."""
    command = [sys.executable, "-m", "autograder", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)


def nbgrader(*arguments, **environment):
    """Runs an nbgrader command in the repository; gives the completed process."""
    command = [sys.executable, "-m", "nbgrader", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)


def start(*arguments, **environment):
    """Starts the kit's command line, grading with one worker where a test names no number; gives the running process."""
    command = [sys.executable, "-m", "autograder", *map(str, _alone(arguments))]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdout=pipe, stderr=pipe, text=True)


def build(folder: Path, size: int, seed: str = "a secret of the test") -> Path:
    """A class whose every third notebook has one exercise wrong; released, not graded. From the fifth on they only began."""
    folder.mkdir(parents=True)
    (folder / ".seed").write_text(seed, encoding="utf-8")
    assert kit("release", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    released = nbformat.read(ROOT / "assignments" / UNIT / f"{UNIT}.ipynb", as_version=4)
    solved = nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", as_version=4)
    for number in range(size):
        notebook = filled(released, solved)
        if number >= MANY:
            for one in NOT_BEGUN:
                notebook.cells[place(notebook, one.name)].source = released.cells[place(released, one.name)].source
        if number % 3 == 2:
            notebook.cells[place(notebook, "stable_softmax")].source = WRONG
        hand_in(folder, f"student-{number:02}", notebook)
    return folder


def build_and_grade(place: Path, size: int, *options) -> tuple[Path, bytes]:
    """A class as built, to copy for each test, and the results of grading it in peace; graded, it lies beside it as `class`."""
    folder = build(place / "class", size)
    built = shutil.copytree(folder, place / "built")
    ran = kit("grade", UNIT, *options, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    return built, results(folder)


def hand_in(folder: Path, student: str, notebook) -> Path:
    file = folder / "submitted" / student / UNIT / f"{UNIT}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    return file


def results(folder: Path) -> bytes:
    return (folder / "results" / f"{UNIT}.jsonl").read_bytes()


def outcomes(folder: Path) -> list[dict]:
    """The whole lines of the journal that hold an outcome, in order."""
    file = folder / "results" / f"{UNIT}.journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    entries = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [entry for entry in entries if "student" in entry]


def gradebook_scores(url: str) -> dict[str, float]:
    """The automatic scores by student."""
    from nbgrader.api import Gradebook

    with Gradebook(url) as gradebook:
        return {one.student.id: one.score for one in gradebook.assignment_submissions(UNIT)}


def expected_scores(size: int) -> dict[str, float]:
    missing = sum(one.max_points for one in NOT_BEGUN)
    lost = {number: 3.0 * (number % 3 == 2) + missing * (number >= MANY) for number in range(size)}
    return {f"student-{number:02}": 18.0 - points for number, points in lost.items()}


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder / 'gradebook.db'}"


def until(holds, seconds: float = 60.0, what: str = "it"):
    """Waits until `holds()` is true, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while not (held := holds()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return held


def until_graded(folder: Path, count: int) -> None:
    """Waits until so many submissions are graded, as long as none takes a minute."""
    for number in range(1, count + 1):
        until(lambda: len(outcomes(folder)) >= number, what=f"the outcome of submission {number}")


def lives(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def workers(grader: int) -> list[int]:
    """The worker processes of a grader: those among its descendants that have started a sandbox."""
    return [process for process in family(grader) if _is_worker(process)]


def _is_worker(process: int) -> bool:
    try:
        threads = Path(f"/proc/{process}/task").glob("*/children")  # a child is that of the thread that started it
        children = [int(one) for file in threads for one in file.read_text().split()]
        forked = b"forkserver" in Path(f"/proc/{process}/cmdline").read_bytes()
        return forked and any(b"inside.warm" in Path(f"/proc/{child}/cmdline").read_bytes() for child in children)
    except OSError:  # it has just ended
        return False
