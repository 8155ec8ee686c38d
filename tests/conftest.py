"""What several test files share: the self-checks as shipped, an examination in one line, and a class folder of its own."""

import atexit
import json
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
UNIT = "04_attention_layer"
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Each process of the tests releases into a folder of its own: what is committed stays as it is, and nobody waits.
_released = Path(tempfile.mkdtemp(prefix="released-"))
shutil.copytree(ROOT / "assignments", _released, dirs_exist_ok=True)
atexit.register(shutil.rmtree, _released, ignore_errors=True)
os.environ["COURSE_RELEASE"] = str(_released)

import choosing  # noqa: E402 - the course reads that when it is imported
import groups  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption("--touched", action="store_true", help="only what a change touches and takes seconds")


def pytest_collection_modifyitems(config, items):
    choosing.group(items)
    choosing.order(items)
    if config.getoption("--touched"):
        items[:], left = choosing.touched(items)
        config.hook.pytest_deselected(items=left)
    groups.keep_together(config, items)


def plain(message: str) -> str:
    """A message on one line."""
    return " ".join(message.split())


@pytest.fixture(scope="session")
def shipped():
    """The self-checks by exercise, as a student's `utils` holds them."""
    from utils.check import all_exercises

    return all_exercises()


@pytest.fixture(scope="session")
def examine(shipped):
    """examine(name, object) -> the Result of an exercise's self-check."""
    from utils.checking.concluding import examine

    return lambda name, made, device="cpu": examine(shipped[name], made, device)


@pytest.fixture
def class_folder(tmp_path, monkeypatch):
    """An empty class folder that the kit uses for the length of a test."""
    folder = tmp_path / "class"
    monkeypatch.setenv("COURSE_CLASS", str(folder))
    return folder


@pytest.fixture
def kit(class_folder):
    """kit(verb, ..., NAME=value) runs the command line on the test's class; gives returncode, stdout and stderr."""
    import classes

    return classes.kit


@pytest.fixture(scope="session")
def graded(tmp_path_factory):
    """The sample class graded by the kit: the folder, and the records by student and exercise.

    Others read it too: a test that marks or grades works on a copy.
    """
    import classes

    from autograder.trials.demo import build

    folder = tmp_path_factory.mktemp("kit")
    environment = {"COURSE_CLASS": str(folder), "COURSE_CELL_SECONDS": "10"}
    assert classes.kit("release", UNIT, **environment).returncode == 0
    build(UNIT, folder)
    for verb in ("grade", "feedback", "report"):
        ran = classes.kit(verb, UNIT, **environment)
        assert ran.returncode == 0, ran.stderr
    records = defaultdict(dict)
    for line in classes.results(folder).decode().splitlines():
        record = json.loads(line)
        records[record["student"]][record["exercise"]] = record
    return folder, records
