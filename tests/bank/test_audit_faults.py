"""What an audit finds wrong is told in one line for each cause, with the condition to waive and the line to mend."""

import subprocess
import sys

import pytest
import torch
from conftest import ROOT
from jaxtyping import Float
from torch import Tensor

from autograder.bank import catalogue
from autograder.bank.audit import auditing
from autograder.bank.audit.faults import Fault, told
from autograder.bank.declaration import Case, exercise


def entropy(A: Float[Tensor, "N D"]) -> Float[Tensor, "N"]:
    return -(A * A.log()).sum(dim=-1)


def of_several(A: Float[Tensor, "N D"]) -> Float[Tensor, "N"]:
    if A.shape[-1] == 1:
        raise ValueError("one number has no entropy")
    return entropy(A)


def positive(inputs, sizes, rng):
    return {"A": abs(inputs["A"]) + 0.1}


def declared(monkeypatch, reference=entropy, draws=positive, **changes):
    """A small exercise that the audit finds, and that nobody has practised."""
    monkeypatch.setattr(reference, "__module__", "autograder.exercises.unit_99_test", raising=False)
    cases = [Case("one matrix", expand={})]
    made = exercise(points=1, section="", outputs="H", formula="", cases=cases, draws=draws, **changes)(reference)
    monkeypatch.setattr(catalogue, "find_exercise", lambda name: made)
    monkeypatch.setattr(auditing, "practices", lambda exercise: [])
    return made


def found(seed="audit"):
    return told(auditing._find("cpu", "entropy", seed).faults)


def test_alternatives_that_fail_under_one_condition_are_one_line_that_names_it(monkeypatch):
    made = declared(monkeypatch)

    @made.alternative
    def one_matrix_by_rows(A):
        return (
            torch.stack([-(row @ row.log()) for row in A.view(-1, A.shape[-1]).contiguous()])
            if A.is_contiguous()
            else A
        )

    @made.alternative
    def one_matrix_by_entries(A):
        return entropy(A) if A.is_contiguous() else A

    lines = [one for one in found() if "alternative fails" in one]
    assert len(lines) == 1 and "under layout alone: one_matrix_by_rows, one_matrix_by_entries" in lines[0]
    assert 'waived={"layout": "why"}' in lines[0] and "\n" not in lines[0]


def test_a_condition_that_the_reference_does_not_meet_is_named_with_the_way_to_waive_it(monkeypatch):
    declared(monkeypatch, of_several)
    (line,) = found()
    assert "ValueError: one number has no entropy" in line and 'waived={"ones": "why"}' in line and "\n" not in line


def test_an_error_in_a_declaration_is_told_in_one_line(monkeypatch):
    declared(monkeypatch, draws=lambda inputs, sizes, rng: {"A": inputs["a"]})
    (line,) = found()
    assert line.startswith("entropy: it cannot be examined: KeyError: 'a'") and "\n" not in line


@pytest.mark.parametrize(
    "faults, lines",
    [
        (
            [Fault("e", "a misconception is taken for right: {}", name) for name in "abcd"],
            ("e: a misconception is taken for right: a, b, c and 1 more",),
        ),
        (
            [
                Fault("e", f"e · case {n} — the misconception m moves the output by {n}.5 tolerances only")
                for n in (1, 2)
            ],
            ("e: the misconception m moves the output by 1.5 tolerances only (case 1; and 1 more)",),
        ),
        (
            [Fault("e", "no case has gradients"), Fault("f", "no case has gradients")],
            ("e: no case has gradients", "f: no case has gradients"),
        ),
    ],
)
def test_faults_of_one_cause_are_one_line(faults, lines):
    assert told(faults) == lines


def test_one_exercise_is_audited_by_its_name():
    made = subprocess.run(
        [sys.executable, "-m", "autograder", "audit", "top_k_gates", "count_block"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    rows = [line.split()[0] for line in made.stdout.splitlines()[1:] if line and not line.startswith(" ")]
    assert made.returncode == 0 and rows[:2] == ["top_k_gates", "count_block"]
