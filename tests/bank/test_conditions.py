"""Each condition catches what goes wrong under it alone, and authors waive one only with a reason."""

import math

import pytest
import torch
from torch import nn

from autograder.bank import catalogue
from autograder.bank.cases.conditions import CONDITIONS
from autograder.bank.cases.drawing import VISIBLE_SEED, draw
from autograder.bank.declaration import parts
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine
from utils.checking.messages.conditions import UNDER, under


def attend(Q, X):
    A = (Q @ X.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ X, A


def always_single(Q, X):
    return [one.float() for one in attend(Q, X)] if Q.dtype == torch.float64 else attend(Q, X)


def wide(Q, X):
    return [one.float() for one in attend(Q, X)] if Q.dtype == torch.bfloat16 else attend(Q, X)


def flat(Q, X):
    return attend(Q.view(-1, *Q.shape[-2:]).view(Q.shape), X.view(-1).view(X.shape))


def elsewhere(Q, X):
    Y, A = attend(Q, X)
    return Y + torch.zeros(Y.shape), A


def without_maximum(Q, X):
    powers = (Q @ X.mT / math.sqrt(Q.shape[-1])).exp()
    A = powers / powers.sum(dim=-1, keepdim=True)
    return A @ X, A


def cut_off(Q, X):
    _, A = attend(Q, X)
    A = A * (A > 1e-5)
    return A @ X, A


def zeros_are_padding(Q, X):
    E = (Q @ X.mT / math.sqrt(Q.shape[-1])).masked_fill((X == 0).all(dim=-1).unsqueeze(-2), -1e30)
    A = E.softmax(dim=-1)
    return A @ X, A


def squeezed(Q, X):
    Y, A = attend(Q, X)
    return (Y.squeeze(-2) if X.shape[-2] == 1 else Y), A


def by_size(Q, X):
    return attend(Q, X.mT if X.shape[-1] == X.shape[-2] else X)


def sixty_four(Q, X):
    E = Q @ X.mT / math.sqrt(Q.shape[-1])
    A = torch.cat([E[..., :64].softmax(dim=-1), torch.zeros_like(E[..., 64:])], dim=-1)
    return A @ X, A


def one_batch_axis(E, mask):
    B, T_y, T_x = E.shape
    return E.masked_fill(~mask.unsqueeze(-2), -math.inf).softmax(dim=-1)


def by_position(Q, X, /):
    return attend(Q, X)


def cut(Q, X):
    Y, A = attend(Q, X)
    return Y.detach(), A


def by_logarithms(Q, X):
    A = (Q @ X.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1).log().exp()  # of 0 the logarithm has no gradient
    return A @ X, A


class Dropping(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K, self.W_V = nn.Linear(D_X, D_Q, bias=False), nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        K = self.W_K(X)
        A = (Q @ K.mT / math.sqrt(K.shape[-1])).softmax(dim=-1)
        A = A * 0.9 if self.training else A
        return A @ self.W_V(X), A


WRONG = {
    "float64": always_single, "bfloat16": wide, "layout": flat, "device": elsewhere, "large": without_maximum, "spread": cut_off,
    "zero": zeros_are_padding, "ones": squeezed, "equal": by_size, "scale": sixty_four, "batches": one_batch_axis,
    "calls": by_position, "gradients": cut, "saturation": by_logarithms, "training": Dropping,
}  # fmt: skip


def test_every_condition_has_an_answer_that_is_wrong_under_it():
    assert set(WRONG) == {one.name for one in CONDITIONS}


@pytest.mark.parametrize("condition", WRONG)
def test_what_is_wrong_under_a_condition_is_caught_under_it(condition):
    others = {"training": "AttentionLayer", "batches": "attention_weights"}
    name, made = others.get(condition, "scaled_dot_product_attention"), WRONG[condition]
    for seed in ("one", "two"):
        result = examine(freeze(catalogue.find_exercise(name), seed, grading=True, mistakes=False), made)
        failed = [verdict for verdict in result.verdicts if not verdict.passed]
        assert any(verdict.condition == condition for verdict in failed), [verdict.property for verdict in failed]
        if {verdict.condition for verdict in failed} == {condition} and condition in UNDER:
            said = " ".join(result.message.split())
            known = [under(condition, result.problem.of_gradients, near_enough) for near_enough in (False, True)]
            assert any(" ".join(one.split()) in said for one in known) or "it fails exactly where" in said


def test_a_condition_is_examined_on_every_exercise_that_does_not_waive_it():
    always = {"calls", "gradients", "float64"}
    for exercise in (one for unit in catalogue.units().values() for one in unit):
        if any(case.rows for case in exercise.cases) or not exercise.differentiable:
            continue
        seen = {case.condition for case in draw(exercise, VISIBLE_SEED, grading=True)}
        assert always - seen <= set(exercise.waived), exercise.name


def test_what_is_waived_is_a_condition_and_has_a_reason():
    known = {one.name for one in CONDITIONS}
    for exercise in (one for unit in catalogue.units().values() for one in unit):
        assert set(exercise.waived) <= known and all(len(why) > 20 for why in exercise.waived.values()), exercise.name


@pytest.mark.parametrize(
    ("axis", "axes", "pieces"),
    [
        ("N", ["N"], ["N"]),
        ("H*W", ["C", "H*W"], ["H", "W"]),
        ("Q+N", ["Q", "N", "Q+N"], ["Q", "N"]),
        ("N+1", ["N", "N+1"], ["N", "1"]),
        ("N+1", ["B", "N+1", "D"], ["N+1"]),  # the tokens of a picture: no condition could vary them otherwise
    ],
)
def test_an_axis_is_composed_of_what_has_sizes_of_its_own(axis, axes, pieces):
    assert parts(axis, axes) == pieces


def test_the_positions_of_a_vision_transformer_are_varied():
    cases = draw(catalogue.find_exercise("VisionTransformer"), "one", grading=True)
    sizes = [case.sizes["N+1"] for case in cases]
    assert min(sizes) == 2 and max(sizes) > 196 + 1
