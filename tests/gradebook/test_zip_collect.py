"""`nbgrader zip_collect`, which the docs name, takes what Moodle and Canvas give, into the class's folder and nowhere else."""

import subprocess

import classes
import pytest
from classes import ROOT, UNIT
from handed_in import solved, zipped

NAME = f"{UNIT}.ipynb"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A class folder into which the unit is released."""
    folder = tmp_path_factory.mktemp("collected") / "class"
    assert classes.kit("release", UNIT, COURSE_CLASS=str(folder)).returncode == 0
    return folder


def untracked() -> str:
    return subprocess.run(["git", "status", "--short"], cwd=ROOT, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("lms", "files"),
    [
        ("moodle", {f"Ada Lovelace_12345_assignsubmission_file_/{NAME}": "Ada Lovelace"}),
        ("moodle-flat", {f"Ada Lovelace_12345_assignsubmission_file_{NAME}": "Ada Lovelace"}),
        ("canvas", {f"lovelaceada_111_901_{NAME}": "lovelaceada"}),
        ("canvas-late", {f"lovelaceada_LATE_111_901_{NAME}": "lovelaceada"}),
        ("canvas-again", {f"lovelaceada_111_901_{UNIT}-1.ipynb": "lovelaceada", f"hopper_112_902_{NAME}": "hopper"}),
    ],
)
def test_what_a_learning_platform_gives_is_collected(released, lms, files):
    archive = released / "downloaded" / UNIT / "archive"
    archive.mkdir(parents=True, exist_ok=True)
    for old in archive.iterdir():
        old.unlink()
    (archive / f"{lms}.zip").write_bytes(zipped(dict.fromkeys(files, solved(note=lms))))
    before = untracked()
    ran = classes.nbgrader("zip_collect", UNIT, "--force", COURSE_CLASS=str(released))
    assert ran.returncode == 0, ran.stderr
    for student in files.values():
        found = released / "submitted" / student / UNIT / NAME
        assert found.read_text(encoding="utf-8") == solved(note=lms), ran.stderr
    assert untracked() == before
