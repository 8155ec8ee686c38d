"""Only what changes the code that examines counts as tampering, and it costs only what it spoils."""

import pytest
from conftest import UNIT

from autograder.grading.examination import examine_cells
from autograder.sandbox import levels
from autograder.sandbox.inside.tampering import Original
from autograder.sandbox.limits import limits_of
from utils.checking import records
from utils.checking.judging import judge
from utils.checking.observing import observe

RIGHT = "def attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
NEXT = """
import torch
def stable_softmax(e, dim=-1):
    p = (e - e.amax(dim, keepdim=True)).exp()
    return p / p.sum(dim, keepdim=True)
"""


@pytest.mark.parametrize("name", ["__compiled_fn_0_e1b2", "__builtins_dict___1", "__import_torch", "a_note"])
def test_a_new_name_that_nothing_looks_up_is_none(monkeypatch, name):
    original = Original()
    monkeypatch.setattr(observe, name, 1, raising=False)
    assert original.is_unchanged()


@pytest.mark.parametrize("name", ["len", "isinstance", "__import__"])
def test_a_new_name_that_hides_a_built_in_one_is(monkeypatch, name):
    original = Original()
    monkeypatch.setattr(judge, name, 1, raising=False)
    assert not original.is_unchanged()


@pytest.mark.parametrize(
    ("owner", "name"), [(observe, "at_stage"), (records.Observation, "outputs"), (records.Observation, "a_note")]
)
def test_a_changed_value_and_whatever_is_new_in_a_class_are(monkeypatch, owner, name):
    original = Original()
    monkeypatch.setattr(owner, name, 1, raising=False)
    assert not original.is_unchanged()


def test_a_changed_code_object_is():
    original, before = Original(), observe._call.__code__
    try:
        observe._call.__code__ = (lambda target, arguments, by="": None).__code__
        assert not original.is_unchanged()
    finally:
        observe._call.__code__ = before
    assert original.is_unchanged()


def examined(*cells):
    told = [{"exercise": one[1:]} if one.startswith("?") else {"source": one} for one in cells]
    return {one.exercise: one for one in examine_cells(told, "seed", levels.available()[0], limits_of(UNIT))[1]}


@pytest.mark.parametrize(
    "made",
    [
        "@torch.compile",
        "@torch.compile(dynamic=True)",
        "@torch.jit.script",
        "@torch.compiler.disable",
        "import torch._dynamo\n@torch._dynamo.optimize('eager')",
    ],
)
def test_compiled_answers_and_those_below_earn_all_points(made):
    found = examined(f"import torch\n{made}\n{RIGHT}", "?attention_scores", NEXT, "?stable_softmax")
    assert all(one.result.passed for one in found.values()), [one.result.message for one in found.values()]


CHANGE = "import utils.checking.observing.observe as o\no._call = None"


def test_a_cell_that_tampers_costs_no_exercise_that_does_without_it():
    found = examined(CHANGE, RIGHT, "?attention_scores", NEXT, "?stable_softmax")
    assert all(one.result.passed and "changes the code that examines" in one.note for one in found.values())


def test_an_answer_that_tampers_itself_earns_nothing():
    found = examined(f"{RIGHT}\n{CHANGE}; attention_scores.x = 1", "?attention_scores")["attention_scores"]
    assert found.result.problem == "tampered" and found.result.points == 0
