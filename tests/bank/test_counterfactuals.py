"""What nobody declared is told by what gives the same numbers: other inputs, weights, results, or functions of torch."""

import math

import pytest
import torch
from torch import nn

from autograder.bank import catalogue
from autograder.bank.freezing import freeze, self_check
from utils.checking.concluding import examine
from utils.checking.packs.packed_exercise import unpack_exercise


def told(name, made, seed="one"):
    exercise = catalogue.find_exercise(name)
    graded = examine(freeze(exercise, seed, grading=True), made)
    shipped = examine(unpack_exercise(self_check(freeze(exercise, "visible"))), made)
    assert graded.misconception == shipped.misconception, "the self-check says what grading says"
    return graded.misconception, " ".join(graded.message.split())


def additive(act):
    def scores(S, H, W, U, v):
        return act((S @ W).unsqueeze(-2) + (H @ U).unsqueeze(-3)) @ v

    return scores


@pytest.mark.parametrize(
    ("act", "name"),
    [(torch.sigmoid, "sigmoid for tanh"), (torch.relu, "relu for tanh"), (lambda X: X, "nothing for tanh")],
)
def test_another_function_is_told_by_its_name(act, name):
    exercise = catalogue.find_exercise("additive_scores")
    parameters = list(exercise.signature.parameters)
    assert len(parameters) == 5, parameters
    named = {one.name for one in exercise.misconceptions}
    found, said = told("additive_scores", additive(act))
    assert found == name or found in named, said


def test_a_softmax_along_another_axis_is_asked_for_where_empty_rows_come_out_otherwise():
    found, said = told("masked_softmax", lambda E, mask: (
        E.masked_fill(~mask, -math.inf).softmax(dim=-2).nan_to_num(0.0)
    ))  # fmt: skip
    assert found is None, said
    assert "does the softmax run along that axis" in said


def test_a_bias_that_is_not_added_is_told_by_its_name():
    class Layer(nn.Module):
        def __init__(self, H, D_H):
            super().__init__()
            self.H = H
            self.W_QKV, self.W_O = nn.Linear(H * D_H, 3 * H * D_H), nn.Linear(H * D_H, H * D_H)

        def forward(self, X, context=None):
            parts = [self.W_QKV(one).chunk(3, dim=-1) for one in (X, X if context is None else context)]
            Q, K, V = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in (parts[0][0], *parts[1][1:]))
            A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
            return (A @ V).transpose(1, 2).flatten(2) @ self.W_O.weight.mT, A

    assert told("MultiHeadAttention", Layer)[0] == "W_O.bias zero"


def test_a_position_that_is_left_out_is_told():
    def without_last(Q, K, V):
        q, k = (torch.nn.functional.elu(one) + 1 for one in (Q, K[..., :-1, :]))
        return q @ (k.mT @ V[..., :-1, :]) / (q @ k.sum(dim=-2).unsqueeze(-1))

    assert told("linear_attention", without_last)[0] == "N_X without its last"


def test_a_change_that_no_number_shows_is_no_explanation():
    frozen = freeze(catalogue.find_exercise("tiled_attention"), "one", grading=True)
    for one in frozen.cases:
        made = one.mistakes.get("block one more")
        assert made is None or made.failure, "the block's size changes no number"


def test_every_change_has_a_name_of_its_own_and_a_whole_sentence():
    for exercise in (one for unit in catalogue.units().values() for one in unit):
        names = [one.name for one in exercise.counterfactuals]
        assert len(names) == len(set(names)), exercise.name
        assert all(one.sentence.strip().endswith((".", "?")) for one in exercise.counterfactuals), exercise.name


def test_plain_arguments_that_are_mixed_up_are_told():
    right = catalogue.find_exercise("quantized_bytes").reference

    def exchanged(n, block, second_block, double):
        return right(n, second_block, block, double)

    def inverted(n, block, second_block, double):
        return right(n, block, second_block, not double)

    def written_into_the_code(n, block, second_block, double):
        return right(n, 64, 256, double)

    assert "if block and second_block changed places." in told("quantized_bytes", exchanged)[1]
    assert (
        "if double were inverted, True where it is False and False where it is True."
        in told("quantized_bytes", inverted)[1]
    )
    message = told("quantized_bytes", written_into_the_code)[1]
    assert (
        "if block were 64 and second_block were 256, whatever is given. Are these numbers written into the code, or"
        in message
    )


def test_real_numbers_that_changed_places_are_told():
    right = catalogue.find_exercise("switch_adapters").reference

    def exchanged(W, A, B, alpha, A_new, B_new, alpha_new):
        return right(W, A, B, alpha_new, A_new, B_new, alpha)

    assert "if alpha and alpha_new changed places." in told("switch_adapters", exchanged)[1]
