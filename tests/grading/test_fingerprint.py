"""A unit's fingerprint changes with every file that decides its marks, and with no other."""

import pytest
from conftest import ROOT, UNIT

from autograder.bank import catalogue
from autograder.grading import fingerprint
from autograder.grading.fingerprint import deciding

DECIDING = (  # what takes part in finding, reading, running and judging a submission
    "autograder/bank/declaration.py",
    "autograder/bank/cases/drawing.py",
    "autograder/bank/families/attention.py",
    "autograder/bank/freezing.py",
    "autograder/grading/examination.py",
    "autograder/grading/submission.py",
    "autograder/grading/task.py",
    "autograder/intake/marked_cells.py",
    "autograder/intake/misplaced_work.py",
    "autograder/intake/notebook_file.py",
    "autograder/intake/repair.py",
    "autograder/intake/student_code.py",
    "autograder/intake/submissions.py",
    "autograder/sandbox/inside/confine.py",
    "autograder/sandbox/inside/runner.py",
    "autograder/sandbox/inside/shell.py",
    "autograder/sandbox/job.py",
    "autograder/sandbox/limits.py",
    "utils/checking/judging/judge.py",
    "utils/checking/messages/exceptions.py",
    "utils/checking/observing/observe.py",
    "utils/checking/toy_models.py",
)
OTHER = ("utils/figures", "utils/measures", "autograder/reports", "autograder/authoring", "autograder/trials")


def names(unit: str) -> set[str]:
    return {file.relative_to(ROOT).as_posix() for file in deciding(unit)}


def test_everything_that_judging_imports_takes_part():
    assert set(DECIDING) <= names(UNIT)


@pytest.mark.parametrize("unit", catalogue.units())
def test_pictures_and_reports_take_no_part(unit):
    assert not [name for name in names(unit) if name.startswith(OTHER)]


@pytest.mark.parametrize("unit", catalogue.units())
def test_a_unit_depends_on_its_own_exercises_and_on_what_they_import(unit):
    own = f"autograder/exercises/unit_{unit}"
    files = {file.relative_to(ROOT).as_posix() for file in (ROOT / own).rglob("*.py")}
    assert files <= names(unit)
    others = {name for name in names(unit) if "/unit_" in name} - files
    imported = "".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    assert not [
        name for name in others if name.removesuffix(".py").replace("/", ".").rpartition(".")[0] not in imported
    ]


def test_a_changed_file_changes_the_fingerprint_if_it_takes_part(tmp_path, monkeypatch):
    file = tmp_path / "one.py"
    file.write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(fingerprint, "deciding", lambda unit: [file])
    monkeypatch.setattr(fingerprint.settings, "ROOT", tmp_path)
    before = fingerprint.fingerprint(UNIT)
    assert fingerprint.fingerprint(UNIT) == before
    file.write_text("a = 2\n", encoding="utf-8")
    assert fingerprint.fingerprint(UNIT) != before
    file.rename(tmp_path / "other.py")
    file = tmp_path / "other.py"
    file.write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(fingerprint, "deciding", lambda unit: [file])
    assert fingerprint.fingerprint(UNIT) != before
