"""Each relation is found where it holds, and told only if it holds on all cases."""

import numpy as np
import pytest

from utils.checking.explaining.discrete import discrete_facts, truth_facts
from utils.checking.explaining.facts import Cases, common
from utils.checking.explaining.places import place_facts
from utils.checking.explaining.scales import asked, named_factors, scale_facts
from utils.checking.explaining.weights import are_weights, weight_facts

LIMIT = 1e-5
SIZES = {"N_Q": 4, "N_X": 5, "D_Q": 7}
RNG = np.random.default_rng(0)
Y = RNG.standard_normal((4, 7))
E = RNG.standard_normal((4, 5))


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


A = softmax(E)


def scales(got, wanted=Y):
    return scale_facts("Y", wanted, got, LIMIT, SIZES, vectors=True)


def weights(got, wanted=A):
    return weight_facts("A", ["N_Q", "N_X"], wanted, got, LIMIT, SIZES)


@pytest.mark.parametrize(
    ("got", "key"),
    [
        (Y / 7**0.5, ("factor", "Y", "1/√D_Q")),
        (-Y, ("factor", "Y", "−1")),
        (Y / 20, ("factor", "Y", "1/(N_Q·N_X)", Cases(2))),
        (Y * 1.234, ("factor", "Y", "?")),
        (Y + 0.5, ("shift", "Y")),
        (np.zeros_like(Y), ("constant", "Y", "0")),
        (Y[:, ::-1], ("moved", "Y")),
        (Y * np.array([1, 2, 3, 4])[:, None], ("row factor", "Y", 1)),
        (Y * 1.001, ("factor", "Y", "?")),
        (Y + 1e-3 * np.sin(9 * Y), ("close", "Y")),
    ],
)
def test_what_became_of_numbers_is_found(got, key):
    assert key in scales(got)


def test_a_turned_vector_keeps_its_length():
    turned = Y @ np.linalg.qr(RNG.standard_normal((7, 7)))[0]
    assert ("length", "Y") in scales(turned)
    assert ("length", "Y") not in scale_facts("Y", Y, turned, LIMIT, SIZES, vectors=False)


def test_numbers_that_are_simply_others_have_no_relation():
    assert scales(RNG.standard_normal(Y.shape)) == {}


CAUSAL = np.tril(np.ones((4, 5)))


@pytest.mark.parametrize(
    ("got", "key"),
    [
        (softmax(E * 7**0.5), ("temperature", "A", "√D_Q")),
        (softmax(-E), ("temperature", "A", "−1")),
        (softmax(E * np.log(2)), ("temperature", "A", "ln 2")),
        (softmax(E, axis=0), ("sum over", "A", 2)),
        (A / 5, ("sum", "A", "less")),
        (softmax(A), ("twice", "A")),
        (np.full_like(A, 0.2), ("uniform", "A")),
        ((A == A.max(axis=-1, keepdims=True)).astype(float), ("hard", "A")),
        (A * CAUSAL / (A * CAUSAL).sum(-1, keepdims=True), ("lost", "A")),
        (A**2 + 0.01, ("order", "A")),
        (A[:, ::-1], ("moved in rows", "A")),
        (softmax(E + np.arange(20).reshape(4, 5) % 3), ("other scores", "A")),
        (E, ("before", "A")),
        (E**3, ("negative", "A")),
        (softmax(E * (7 / 5) ** 0.5), ("temperature", "A", "√D_Q/√N_X", Cases(2))),
    ],
)
def test_what_became_of_weights_is_found(got, key):
    assert key in weights(got)


def test_a_causal_mask_is_told_as_such():
    told = weights(A * CAUSAL / (A * CAUSAL).sum(-1, keepdims=True))
    assert "later than the query's own" in told["lost", "A"]


def test_weight_where_none_should_be_is_seen():
    wanted = softmax(np.where(np.arange(5) < 3, E, -np.inf))
    assert ("leak", "A") in weights(A, wanted)
    assert are_weights(wanted) and not are_weights(E)


@pytest.mark.parametrize(
    ("place", "key"),
    [
        (np.s_[-1], ("wrong at", "Y", "N_Q", "last")),
        (np.s_[1:], ("right at", "Y", "N_Q", "first")),
    ],
)
def test_where_numbers_are_wrong_is_found(place, key):
    got = Y.copy()
    got[place] += 1
    assert key in place_facts("Y", ["N_Q", "D_Q"], Y, got, LIMIT)


def test_a_loop_that_goes_wrong_later_is_told_from_one_that_begins_wrong():
    tokens = RNG.integers(3, 9, size=(2, 6))
    later, at_once = tokens.copy(), tokens.copy()
    later[:, 3:] += 1
    at_once += 1
    assert ("after a start", "y") in place_facts("y", ["B", "steps"], tokens, later, LIMIT)
    assert ("from the start", "y") in place_facts("y", ["B", "steps"], tokens, at_once, LIMIT)
    assert not any("start" in key[0] for key in place_facts("A", ["B", "N_X"], tokens, later, LIMIT))


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda n: n + 1, ("off by", "n", 1)),
        (lambda n: n * 3, ("times", "n", "3")),
        (lambda n: n - 2**32, ("overflow", "n")),
    ],
)
def test_what_became_of_counts_is_found(change, key):
    counts = np.array([2**40 + 12, 2**41, 2**42 + 5])
    assert key in discrete_facts("n", counts, change(counts))


def test_a_mask_on_the_wrong_side_is_told():
    mask = np.arange(6) < 3
    assert ("truth", "m", "inverted") in truth_facts("m", mask, ~mask)
    assert ("truth", "m", "more") in truth_facts("m", mask, np.arange(6) < 4)
    both = truth_facts("m", mask, np.arange(6) % 2 == 0)
    assert ("truth", "m", "some more") in both and ("truth", "m", "both") in both


def test_only_what_all_cases_share_is_told():
    one, other = scales(Y / 7**0.5), scale_facts("Y", Y, Y / 5**0.5, LIMIT, {**SIZES, "D_Q": 5}, vectors=True)
    assert common([one, other]) == [("factor", "Y", "1/√D_Q")]
    assert common([one, scales(Y + 0.5)]) == []


def test_a_name_made_of_two_sizes_takes_two_cases():
    wide = {**SIZES, "D_Q": 6}
    one, other = scales(Y / 20), scale_facts("Y", Y, Y / 20, LIMIT, wide, vectors=True)
    assert ("factor", "Y", "1/(N_Q·N_X)", Cases(2)) not in common([one])
    assert ("factor", "Y", "1/(N_Q·N_X)", Cases(2)) in common([one, other])


@pytest.mark.parametrize(
    ("label", "question"),
    [
        ("√D_Q", "is a division by √D_Q missing before the softmax?"),
        ("1/√D_Q", "is there a division by √D_Q too many?"),
        ("√D_Q/√N_X", "divided by √N_X in the place of √D_Q?"),
        ("2/√D_Q", "divided by D_Q/2 in the place of √D_Q?"),
        ("1/(2·√D_Q)", "divided by 2·D_Q in the place of √D_Q?"),
    ],
)
def test_a_factor_of_scores_asks_for_the_division_that_gives_it(label, question):
    assert asked(label).endswith(question)
    assert asked("N_X") == "."


def test_factors_go_by_the_names_of_sizes():
    assert ("√D_Q",) in named_factors(7**0.5, SIZES, 1e-4)
    assert ("√D_Q/√N_X", Cases(2)) in named_factors((7 / 5) ** 0.5, SIZES, 1e-4)
    assert named_factors(0.777, SIZES, 1e-4) == []


def test_huge_rows_have_no_length_to_compare():
    huge = np.full((2, 3), 1e200)
    with np.errstate(all="raise"):
        assert not {"length", "row factor"} & {
            key[0] for key in scale_facts("Y", huge, huge * [1, 2, 3], 1e-5, {}, vectors=True)
        }
