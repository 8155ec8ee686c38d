"""What an exercise may ask for besides right numbers: an error in words, a table that is never made, a mask, no idle work."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import plain
from torch import nn

from autograder.bank.cases.drawing import draw
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from autograder.exercises.unit_08_efficient_attention.generate_with_cache.cached import decode_anew
from utils.checking.concluding import examine as examined
from utils.checking.observing.observe import observe

causal_mask, generate_with_cache, linear_attention, masked_softmax, padding_mask, tiled_attention = map(
    find_exercise,
    ("causal_mask", "generate_with_cache", "linear_attention", "masked_softmax", "padding_mask", "tiled_attention"),
)


class Positions(nn.Module):
    """Learned positions, correct but for what `refuse` does with a sequence of N vectors and M positions."""

    refuse = staticmethod(lambda N, M: None)

    def __init__(self, max_length, D):
        super().__init__()
        self.table = nn.Embedding(max_length, D)

    def forward(self, X):
        N, M = X.shape[-2], self.table.num_embeddings
        if N > M:
            self.refuse(N, M)
        return X + self.table.weight[:N]


class TooLong(ValueError):
    pass


def raising(error, text):
    def refuse(N, M):
        raise error(text.format(N=N, M=M))

    return type("Refusing", (Positions,), {"refuse": staticmethod(refuse)})


@pytest.mark.parametrize(
    ("error", "text", "problem", "said"),
    [
        (ValueError, "{N} is more than {M}", None, "all hold"),
        (ValueError, "only {M} positions, not {N}!", None, "all hold"),
        (TooLong, "{N} is more than {M}", None, "all hold"),
        (ValueError, "", "vague_error", "message does not help"),
        (ValueError, "too long: {N}", "vague_error", "it says “too long: "),
        (ValueError, " ".join(map(str, range(500))), "vague_error", "it says “0 1 2 3"),
        (IndexError, "{N} is more than {M}", "wrong_error", "A ValueError of your own should be raised"),
        (NotImplementedError, "", "unfinished", "not written yet"),
    ],
)
def test_an_error_that_is_asked_for_is_judged_by_type_and_numbers(examine, error, text, problem, said):
    result = examine("LearnedPositions", raising(error, text))
    assert (result.problem, result.points) == (problem, 2 if problem else 3)
    assert said in plain(result.message)


def test_a_mistake_is_known_in_whatever_words_its_author_raises_the_error(examine):
    def refusing_full_length(self, X):
        if X.shape[-2] >= len(self.table.weight):
            raise ValueError(f"length {X.shape[-2]} where {len(self.table.weight)} is the end")
        return X + self.table.weight[: X.shape[-2]]

    result = examine("LearnedPositions", type("Refusing", (Positions,), {"forward": refusing_full_length}))
    assert result.misconception == "full_length_refused"


def test_a_result_where_an_error_is_asked_for_is_told_so(examine):
    def cut(self, X):
        return X[..., :1, :] + self.table.weight[:1] if X.shape[-2] > len(self.table.weight) else good(self, X)

    good = Positions.forward
    result = examine("LearnedPositions", type("Cutting", (Positions,), {"forward": cut}))
    assert (result.problem, result.points) == ("no_error", 2)
    assert "A ValueError should be raised here, and a result came instead" in plain(result.message)


def whole_table(Q, K, V, block):
    return (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1) @ V


@pytest.mark.parametrize("reveal", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_right_numbers_by_way_of_a_table_that_should_not_exist_are_told_so(reveal, named):
    frozen = freeze(tiled_attention, "a draw", grading=not reveal, mistakes=named)
    result = examined(replace(frozen, is_hidden=not reveal), whole_table)
    assert (result.problem, result.misconception, result.points) == ("too_large", "whole_table" if named else None, 0)
    said = plain(result.message)
    assert ("as large as the whole table" if named else "made on the way is too large") in said
    assert ("the largest intermediate tensor holds" in said) == reveal, "a hidden case's numbers"


def test_a_mistake_that_shows_in_what_is_made_on_the_way_has_its_own_name():
    def small(Q, K, V, block):
        return in_blocks(Q, K, V, block=8)

    in_blocks = tiled_attention.alternatives[0].object
    frozen = freeze(tiled_attention, "a draw")
    assert examined(frozen, small).misconception == "blocks_of_another_size"
    assert examined(frozen, in_blocks).passed


def test_wrong_numbers_are_known_for_what_they_are_however_large_the_way_to_them():
    def unscaled(Q, K, V, block):
        return (Q @ K.mT).softmax(dim=-1) @ V

    assert examined(freeze(tiled_attention, "a draw"), unscaled).misconception == "not_scaled"


@pytest.mark.parametrize("rows", [1, 16, 64])
@pytest.mark.parametrize("named", [True, False])
def test_a_table_in_pieces_is_as_much_work_as_the_whole(rows, named):
    def in_pieces(Q, K, V):
        q, k = (torch.where(one > 0, one + 1, one.exp()) for one in (Q, K))
        tables = [piece @ k.mT for piece in q.split(rows, dim=-2)]
        return torch.cat([table @ V / table.sum(dim=-1, keepdim=True) for table in tables], dim=-2)

    frozen = freeze(linear_attention, "a draw", mistakes=named)
    result = examined(frozen, in_pieces)
    assert (result.problem, result.misconception) == ("too_much", "table_in_pieces" if named else None)
    assert ("made on the way are too large together" in plain(result.message)) != named
    assert all(examined(frozen, other.object).passed for other in linear_attention.alternatives)


def test_the_same_numbers_in_blocks_are_right():
    frozen = freeze(tiled_attention, "a draw", mistakes=False)
    assert all(examined(frozen, other.object).passed for other in tiled_attention.alternatives)


def test_a_size_that_is_an_argument_is_drawn_and_an_axis_of_size_one_is_one():
    cases = [case for seed in "abc" for case in draw(padding_mask, seed)]
    assert all(case.inputs["N"] == case.sizes["N"] for case in cases)
    assert len({case.inputs["N"] for case in cases if case.property == "more sequences than positions"}) > 1
    shared = next(case for case in draw(masked_softmax, "a") if "all heads" in case.property)
    assert shared.inputs["mask"].shape == (shared.sizes["B"], 1, 1, shared.sizes["N_X"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            lambda N_Q, N_X, offset: torch.ones(N_Q, N_X).tril(offset + 3).bool(),
            "True at positions where it should be False",
        ),
        (lambda N_Q, N_X, offset: torch.eye(N_Q, N_X).bool(), "False at positions where it should be True"),
        (
            lambda N_Q, N_X, offset: torch.ones(N_Q, N_X).roll(1).tril(2).triu(1).bool(),
            "mask is False at some positions where it should be True",
        ),
        (lambda N_Q, N_X, offset: torch.ones(N_Q, N_X, dtype=torch.uint8), "it should hold True and False, torch.bool"),
    ],
)
def test_a_mask_is_spoken_of_as_true_and_false(wrong, said):
    result = examined(freeze(causal_mask, "a draw", mistakes=False), wrong)
    assert said in plain(result.message)
    assert result.problem == "wrong_dtype" or re.search(
        r"expected mask\[\d, \d\] = (True|False), yours is", result.message
    )


def test_a_function_of_numbers_alone_is_not_asked_for_another_device():
    case = draw(causal_mask, "a draw")[0]
    seen = observe(causal_mask.reference, case, "meta")
    assert (seen.failure, seen.device) == (None, "cpu")


def test_right_tokens_by_reading_all_again_earn_their_part():
    result = examined(freeze(generate_with_cache, "a draw"), decode_anew)
    assert (result.misconception, result.points) == ("nothing_kept", 1)


def test_a_gradient_of_nan_behind_right_numbers_is_named():
    def hidden(E, mask):
        bias = torch.zeros_like(E).masked_fill(~mask, -np.inf)
        return (E + bias).softmax(dim=-1).nan_to_num(0.0)

    result = examined(freeze(masked_softmax, "a draw"), hidden)
    assert (result.misconception, result.points) == ("not_a_number_hidden_in_the_result_alone", 3.5)


def counted(change=lambda count: count):
    """attention_cost as it should be, and the operations then changed."""

    def attention_cost(N, D, H, bytes_per_number):
        return change(8 * N * D * D + 4 * N * N * D), H * N * N * bytes_per_number

    return attention_cost


@pytest.mark.parametrize(
    ("change", "problem", "said"),
    [
        (lambda count: count, None, "all hold"),
        (lambda count: count + (count > 10**9), "wrong_value", "Each number of flops is 1 too large"),
        (lambda count: count.to(torch.int32), "wrong_value", "past what 32 bits hold"),
        (lambda count: count.double(), "wrong_dtype", "numbers with a fraction"),
        (lambda count: count > 3, "wrong_dtype", "Is it a comparison?"),
    ],
)
def test_counts_are_whole_numbers_and_right_to_the_last_one(examine, change, problem, said):
    result = examine("attention_cost", counted(change))
    assert (result.problem, result.misconception) == (problem, None), result.message
    assert said in plain(result.message)


def test_a_large_count_is_shown_in_all_its_digits(examine):
    message = examine("attention_cost", counted(lambda count: count + (count > 10**9))).message
    expected, yours = re.search(r"= (\d+), yours is (\d+)", plain(message)).groups()
    assert int(yours) == int(expected) + 1 > 10**12
