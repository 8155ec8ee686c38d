"""Rounding alone never costs a point, and what is more than rounding is still told."""

import numpy as np
import pytest
from torch import nn

from autograder.bank import catalogue, rounding
from autograder.bank.cases.drawing import draw
from autograder.bank.freezing import allow_for_rounding, expect, freeze, freeze_case
from autograder.bank.rounding import MARGIN
from utils.checking.concluding import examine
from utils.checking.judging.judge import judge
from utils.checking.observing.observe import observe

STEEP = "s9"  # with scores of ±500, in which single precision errs by 3e-4


@pytest.mark.parametrize("seed", [STEEP, "s42", "s77"])
def test_right_answers_pass_on_steep_scores(seed):
    exercise = catalogue.find_exercise("tiled_attention")
    frozen = freeze(exercise, seed, grading=True, mistakes=False)
    for alternative in exercise.alternatives:
        result = examine(frozen, alternative.object)
        assert result.passed, result.message


def test_room_is_made_only_where_rounding_needs_it():
    exercise = catalogue.find_exercise("tiled_attention")
    cases = {case.property: allow_for_rounding(exercise, expect(exercise, case)).case for case in draw(exercise, STEEP)}
    assert cases["blocks that fit"].tolerance == 0
    assert 1e-4 < cases["a batch of one, and scores that climb"].tolerance < 1e-2


def test_the_measurement_is_the_distance_between_neighbouring_numbers():
    exercise = catalogue.find_exercise("stable_softmax")
    case = next(one for one in draw(exercise, "a") if one.property == "scores around 1000")
    seen = expect(exercise, case).expected
    spacing = float(np.spacing(np.abs(case.arrays[0]).max()))
    measured = rounding.allow_for_rounding(exercise.reference, case, seen).tolerance / MARGIN
    assert 0.05 * spacing < measured < 4 * spacing


def test_a_small_mistake_is_more_than_rounding():
    exercise = catalogue.find_exercise("tiled_attention")
    frozen = freeze(exercise, STEEP, grading=True)
    result = examine(frozen, lambda Q, K, V, block: exercise.alternatives[0].object(Q, K, V, block) * 1.001)
    assert not result.passed


class Late(nn.Module):
    """Self-attention that divides by the sum after mixing: where weights are nearly 0 or 1, its gradients cancel to rounding."""

    def __init__(self, D, D_Q, D_V):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Linear(D, width, bias=False) for width in (D_Q, D_Q, D_V))

    def forward(self, X, P=None):
        located = X if P is None else X + P
        E = self.W_Q(located) @ self.W_K(located).mT / self.W_Q.out_features**0.5
        powers = (E - E.detach().amax(dim=-1, keepdim=True)).exp()
        total = powers.sum(dim=-1, keepdim=True)
        return powers @ self.W_V(X) / total, powers / total


@pytest.mark.parametrize("seed", ["r0", "r6", "r18"])
def test_gradients_that_cancel_have_room_for_rounding(seed):
    exercise = catalogue.find_exercise("SelfAttentionLayer")
    frozen = freeze(exercise, seed, grading=True, mistakes=False)
    assert any(one.case.gradient_tolerances for one in frozen.cases if one.case.condition == "saturation")
    result = examine(frozen, Late)
    assert result.passed, result.message


def _single(name):
    """An exercise's case in which each number counts by its own size, with what is expected."""
    exercise = catalogue.find_exercise(name)
    case = next(one for one in draw(exercise, "s", grading=True) if one.single)
    return exercise, freeze_case(exercise, case, mistakes=False)


def test_a_number_that_is_only_copied_has_its_own_size():
    _, frozen = _single("patchify")
    assert (0.05 < np.abs(frozen.expected.outputs[0].values)).all()
    assert np.ptp(np.log10(frozen.units[0])) > 5


def test_a_number_that_a_right_way_loses_has_the_size_of_what_hides_it():
    exercise, frozen = _single("rnn_step")  # one of its right ways is 2σ(2z) − 1 for tanh z
    alone = rounding.units([exercise.reference], frozen.case)[0]
    assert alone.min() < 1e-2 < 0.1 < frozen.units[0].min()


@pytest.mark.parametrize("limit, passes", [(1e-4, False), (0.0, True)])
def test_small_numbers_count_beside_large_ones(limit, passes):
    exercise, frozen = _single("patchify")

    def cut_off(images, P):
        X = exercise.alternatives[0].object(images, P)
        return X * (X.abs() > limit)

    verdict = judge(freeze(exercise, "s", mistakes=False), frozen, observe(cut_off, frozen.case))
    assert verdict.passed == passes
