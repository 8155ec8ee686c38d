"""Weights over maps, rows of another sequence, choices that are not one's own scores' largest, and what most failures share."""

import numpy as np

from utils.checking.explaining.discrete import discrete_facts
from utils.checking.explaining.facts import Fact, Kind, mostly
from utils.checking.explaining.relations import _are_largest
from utils.checking.explaining.weights import weighed_axes, weight_facts


def softmax(E, axis):
    powers = np.exp(E - E.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


E = np.random.default_rng(0).normal(size=(2, 3, 4))
MAP = softmax(E, (-2, -1))


def kinds(expected, actual):
    facts = weight_facts("A", ["B", "H", "W"], expected, actual, 1e-5, {"B": 2, "H": 3, "W": 4})
    return {fact.kind for fact in facts}


def test_weights_over_two_axes_are_known_as_such():
    assert (weighed_axes(MAP), weighed_axes(softmax(E, -1)), weighed_axes(E)) == (2, 1, 0)


def test_a_softmax_along_one_axis_of_a_map_is_told():
    assert Kind.SUM_OVER in kinds(MAP, softmax(E, -1)) and Kind.SUM_OVER in kinds(MAP, softmax(E, -2))


def test_weights_cut_to_zero_are_told_from_those_shared_anew():
    cut = np.where(MAP < np.median(MAP), 0, MAP)
    assert Kind.CUT in kinds(MAP, cut) and Kind.KEPT in kinds(MAP, cut / cut.sum(axis=(-2, -1), keepdims=True))


def test_rows_of_another_sequence_are_told():
    y = np.arange(6).reshape(2, 3)
    rows = Fact(Kind.ROWS, "y")
    assert rows in discrete_facts("y", y, y[::-1]) and rows not in discrete_facts("y", y, y + 1)
    (elsewhere,) = (fact for fact in discrete_facts("y", y, y[::-1], "M") if fact == rows)
    assert "sequence" not in elsewhere.sentence  # where there is no batch


def test_of_equal_largest_scores_any_may_be_chosen():
    scores = np.array([[1.0, 3.0, 3.0]])
    chosen = [_are_largest(scores, np.array([place])) for place in (0, 1, 2, 3, -1)]
    assert chosen == [False, True, True, False, False]


def test_what_most_cases_share_is_told_if_the_one_that_is_shown_has_it():
    one, other = [Fact(Kind.SHIFT, "a", sentence="a")], [Fact(Kind.SHIFT, "b", sentence="b")]
    assert mostly([one, one, one, other], one) == [Fact(Kind.SHIFT, "a")]
    assert not mostly([one, one, one, other], other) and not mostly([one, other], one)


def test_weights_over_a_whole_batch_of_maps_name_their_axes():
    facts = weight_facts("A", ["B", "H", "W"], MAP, softmax(E, (0, 1, 2)), 1e-5, {})
    assert any("sums to 1 over B, H and W together; each map should" in fact.sentence for fact in facts)
    facts = weight_facts("A", ["B", "H", "W"], MAP, 1.1 * MAP, 1e-5, {})
    assert any("each should sum to 1 over H and W together" in fact.sentence for fact in facts)


def test_what_only_a_coarse_tolerance_takes_for_equal_is_not_told():
    right = np.eye(40)[:2]
    tied = np.where(np.arange(40) < 30, 1 / 30, 0.0) + np.zeros((2, 1))
    found = {fact.kind for fact in weight_facts("A", ["B", "N"], right, tied, 2e-3, {})}
    assert not found & {Kind.TWICE, Kind.BEFORE, Kind.UNIFORM, Kind.ROW_FACTOR}


def test_a_number_of_the_keys_alone_and_a_factor_of_each_row_are_told_from_other_scores():
    rows, draw = softmax(E, -1), np.random.default_rng(1)
    assert Kind.COLUMN in kinds(rows, softmax(E + draw.normal(size=(2, 1, 4)), -1))
    assert Kind.ROW_TEMPERATURE in kinds(rows, softmax(E * draw.uniform(0.3, 3, size=(2, 3, 1)), -1))
    assert not {Kind.COLUMN, Kind.ROW_TEMPERATURE} & kinds(rows, softmax(E + draw.normal(size=E.shape), -1))
    # one factor has a sentence of its own
    assert not {Kind.COLUMN, Kind.ROW_TEMPERATURE} & kinds(rows, softmax(2 * E, -1))
