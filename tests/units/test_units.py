"""Every unit from end to end: the stub earns nothing, the solution everything, and what is there for pleasure is not run."""

import json

import classes
import nbformat
import pytest
from classes import ROOT

from autograder import settings
from autograder.bank import catalogue
from autograder.trials.attacks.kinds import filled

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("unit", settings.units())
def test_the_stub_earns_nothing_and_the_solution_everything(unit, tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    assert classes.kit("release", unit, COURSE_CLASS=str(folder)).returncode == 0
    released = nbformat.read(ROOT / "assignments" / unit / f"{unit}.ipynb", as_version=4)
    solved = nbformat.read(ROOT / "solutions" / unit / f"{unit}.ipynb", as_version=4)
    for student, notebook in (("solved", filled(released, solved)), ("untouched", released)):
        file = folder / "submitted" / student / unit / f"{unit}.ipynb"
        file.parent.mkdir(parents=True)
        nbformat.write(notebook, file)
    ran = classes.kit("grade", unit, COURSE_CLASS=str(folder))
    assert ran.returncode == 0, ran.stderr
    earned = {"solved": {}, "untouched": {}}
    for line in (folder / "results" / f"{unit}.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        earned[record["student"]][record["exercise"]] = record["points"]
        assert record["state"] == "graded"
    assert earned["solved"] == {one.name: one.max_points for one in catalogue.units()[unit]}
    assert set(earned["untouched"].values()) == {0}
    graded = nbformat.read(folder / "autograded" / "solved" / unit / f"{unit}.ipynb", as_version=4)
    for cell in graded.cells:
        if "play" in cell.metadata.get("tags", []):
            assert [output.text.strip() for output in cell.outputs] == ["not run again when graded"]
            assert "except NotImplementedError" in cell.source, "the student's cell itself stays as it was"


def test_a_unit_without_a_lesson_does_not_belong_to_the_course(monkeypatch, tmp_path):
    lesson = settings.LESSON_TWINS / f"{settings.units()[0]}.py"
    (tmp_path / lesson.name).write_text(lesson.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(settings, "LESSON_TWINS", tmp_path)
    assert settings.units() == [lesson.stem]
