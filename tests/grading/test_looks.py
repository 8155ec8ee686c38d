"""The first look at an exercise and the closer one: what is wrong is told as all cases tell it, and joint failures count."""

import pytest
from conftest import UNIT

from autograder.bank import catalogue
from autograder.grading.concluding import conclude_look, failing_places
from autograder.grading.examination import examine_cells
from autograder.grading.looks import first_look, whole_look
from autograder.sandbox import levels
from autograder.sandbox.job import Job
from autograder.sandbox.limits import limits_of
from utils.checking.observing.observe import observe

NAME, SEED = "attention_scores", "a seed"
RIGHT = "import torch\ndef attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
WRONG = {
    "a mean": RIGHT.replace("sum", "mean"),
    "another axis": RIGHT.replace("sum(-1)", "sum(-2)"),
    "no float64": RIGHT.replace("(q.un", "(q.float().un").replace("* X", "* X.float()"),
    "a view of what has no such view": RIGHT.replace("* X)", "* X.view(-1, X.shape[-1]).view(X.shape))"),
    "by position alone": RIGHT.replace("q, X)", "q, X, /)"),
    "an error": RIGHT.replace("return", "raise ValueError('no')\n    return"),
    "unfinished": "def attention_scores(q, X):\n    raise NotImplementedError",
    "not there": "x = 1",
}
# Steep scores cancel: in single precision its results are right only with the room that rounding needs.
IN_TILES = """
import torch

def tiled_attention(Q, K, V, block):
    scale, blocks = Q.shape[-1] ** -0.5, range(0, K.shape[1], block)
    m = torch.full_like(Q[..., :1], -torch.inf)
    for begin in blocks:
        m = torch.maximum(m, (Q @ K[:, begin : begin + block].mT * scale).amax(dim=-1, keepdim=True))
    above, below = 0.0, 0.0
    for begin in blocks:
        powers = (Q @ K[:, begin : begin + block].mT * scale - m).exp()
        above, below = above + powers @ V[:, begin : begin + block], below + powers.sum(dim=-1, keepdim=True)
    return above / below
"""


def examined(source, *others, name=NAME):
    cells = [{"source": source}, {"exercise": name}, *({"source": other} for other in others)]
    _, (found,) = examine_cells(cells, SEED, levels.available()[0], limits_of(UNIT))
    return found


def observed(source, look):
    names: dict = {}
    exec(source, names)
    return [observe(names[look.exercise.name], case) for case in look.cases]


def judged_on_all_cases(source, name=NAME):
    whole = whole_look(name, SEED)
    return conclude_look(whole, observed(source, whole), reveal=False).result


def test_rounding_moves_some_right_results_beyond_the_usual_tolerance():
    look = first_look("tiled_attention", SEED)
    observations = observed(IN_TILES, look)
    failing = failing_places(look, observations)
    assert failing and all(look.is_within_rounding(place, observations[place]) for place in failing)


@pytest.mark.parametrize("name, source", [(NAME, RIGHT), ("tiled_attention", IN_TILES)])
def test_a_right_answer_is_looked_at_once(name, source, monkeypatch):
    asked = []
    closer = Job.__init__.__globals__["Conversation"]._looks

    def looks(self, index, name, again=False):
        for step in closer(self, index, name, again):
            asked.append((name, len(step.turns)))
            yield step

    monkeypatch.setattr(Job.__init__.__globals__["Conversation"], "_looks", looks)
    found = examined(source, name=name)
    assert asked == [(name, len(first_look(name, SEED).cases))]
    assert found.result.message == judged_on_all_cases(source, name).message
    assert found.result.points == found.result.max_points
    assert len(found.result.verdicts) == len(whole_look(name, SEED).cases)


@pytest.mark.parametrize("mistake", [name for name in WRONG if name not in ("an error", "not there")])
def test_what_is_wrong_is_told_as_all_cases_tell_it(mistake):
    found, expected = examined(WRONG[mistake]).result, judged_on_all_cases(WRONG[mistake])
    assert not expected.passed
    assert (found.points, found.problem, found.misconception) == (
        expected.points,
        expected.problem,
        expected.misconception,
    )
    assert [v.property for v in found.verdicts if not v.passed] == [
        v.property for v in expected.verdicts if not v.passed
    ]
    assert found.message.splitlines()[:2] == expected.message.splitlines()[:2]


@pytest.mark.parametrize("mistake", ["an error", "not there"])
def test_what_cannot_run_is_looked_at_on_all_cases_too(mistake):
    found = examined(WRONG[mistake])
    assert found.result.points == 0
    assert len(found.result.verdicts) == len(whole_look(NAME, SEED).cases)


def test_what_is_defined_further_down_gets_a_closer_look_as_well():
    right, wrong = examined("x = 1", RIGHT), examined("x = 1", WRONG["a mean"])
    assert right.result.points == right.result.max_points
    assert wrong.result.misconception == judged_on_all_cases(WRONG["a mean"]).misconception


def test_an_answer_that_fails_on_joint_cases_alone_loses_robustness_and_is_told():
    plain = next(case for case in whole_look(NAME, SEED).cases if case.layout)
    source = RIGHT.replace(
        "    return",
        f"    if not X.is_contiguous() and X.shape != {tuple(plain.inputs['X'].shape)}:\n"
        "        return q.sum() * X[..., 0]\n    return",
    )
    assert judged_on_all_cases(source).passed
    found = examined(source)
    assert not found.result.passed and found.result.points == 0.75 * found.result.max_points
    assert "together they do not" in " ".join(found.result.message.split())


def test_an_answer_that_is_wrong_at_the_first_look_and_right_at_the_closer_one_is_wrong():
    calls = []
    for case in first_look(NAME, SEED).cases:
        observe(lambda q, X: calls.append(1) or (q.unsqueeze(-2) * X).sum(-1), case)
    source = RIGHT.replace("import torch", "import torch\ncalls = []").replace(
        "    return", f"    calls.append(1)\n    return (1 if len(calls) > {len(calls)} else 2) *"
    )
    found = examined(source)
    assert found.result.points == 0 and found.result.problem == "unstable"


def test_every_exercise_has_a_right_result_without_being_run():
    for exercise in catalogue.exercises_of(UNIT):
        result = whole_look(exercise.name, SEED).right
        assert result.passed and result.points == exercise.max_points
