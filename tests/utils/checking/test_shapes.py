"""A wrong shape is told by what became of its axes, and by which part of the right numbers came."""

import numpy as np
import pytest

from utils.checking.explaining import sizes
from utils.checking.explaining.facts import Kind, common
from utils.checking.explaining.shapes import shape_facts
from utils.checking.messages.shapes import looks_like
from utils.checking.records import Output

SIZES = {"N": 3, "M": 4}


def output(values):
    return Output("tensor", shape=values.shape, values=values)


def told(expected, actual, axes=("N", "M"), sizes=SIZES):
    """What is told of a single case: the first fact, or what nothing more is known of."""
    shared = common([shape_facts("Y", list(axes)[: expected.ndim], output(expected), output(actual), sizes)])
    return shared[0].sentence if shared else f"Y {looks_like(expected.shape, actual.shape, axes)}"


@pytest.mark.parametrize(
    "expected, actual, said",
    [
        ((3, 4), (4, 3), "exchanging axes alone does not make it right"),
        ((1, 4), (4,), "squeeze() removes every axis"),
        ((1, 4, 1), (4,), "2 axes too few: some of size 1"),
        ((3, 4, 5), (12, 5), "torch.stack"),
        ((3, 1, 5), (3, 5), "squeeze() removes every axis"),
        ((3, 4, 5), (3, 5), "summed over"),
        ((3, 4), (3, 4, 1), "left over from keepdim"),
        ((3, 4), (3, 4, 2), "one axis too many"),
        ((3, 4), (3, 1), "left over from keepdim"),
        ((), (2,), "one axis too many"),
        ((3, 4), (3, 7), "too long along M, its axis −1"),
        ((3, 4), (3, 2), "too short along M, its axis −1"),
        ((3, 4), (1, 4), "size 1 along N, its axis −2"),
        ((3, 4), (5, 7), "the wrong shape"),
        ((3, 4), (6, 2), "as many numbers as asked for, and they are shared out"),
        ((3, 4), (3, 0), "Y is empty: it has no entry along M"),
        ((3, 4, 5), (), "a single number"),
    ],
)
def test_a_wrong_shape_is_told_by_what_became_of_its_axes(expected, actual, said):
    axes = ("N", "M") if len(expected) == 2 else ("B", "N", "M")
    assert said in told(
        np.zeros(expected) + np.arange(np.prod(expected)).reshape(expected), np.full(actual, 100.0), axes
    )


RIGHT = np.random.default_rng(0).standard_normal((3, 4))


@pytest.mark.parametrize(
    "actual, said",
    [
        (RIGHT.T, "Y is right but for the order of its axes: it is [M, N]."),
        (RIGHT.sum(axis=0), "Y holds the sum over N of what is asked for"),
        (RIGHT.mean(axis=1), "Y holds the mean over M of what is asked for"),
        (RIGHT[:, -1], "Y holds the last position along M of what is asked for"),
        (np.array(RIGHT.mean()), "Y is a single number, the mean of what is asked for."),
        (np.diagonal(RIGHT), "Y holds only the diagonal of what is asked for"),
        (RIGHT.ravel(), "Two of them have become one"),
        (RIGHT.reshape(3, 2, 2), "The numbers of Y are right and in the right order"),
        (RIGHT[:2], "too short along N, and right as far as it goes"),
        (np.concatenate([RIGHT, RIGHT]), "too long along N, and right as far as it goes"),
        (RIGHT[1:], "its beginning is missing, and the rest is right"),
        (np.delete(RIGHT, 1, axis=1), "something is missing in its middle, 1 long, behind the first 1"),
    ],
)
def test_numbers_of_another_shape_tell_what_they_are(actual, said):
    assert said in told(RIGHT, actual)


def test_numbers_that_go_wrong_before_the_end_are_told_by_how_far_they_are_right():
    expected, actual = np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3, 1])
    assert "right at the first 2 positions, and not at the next" in told(expected, actual, ["L"], {})


@pytest.mark.parametrize(
    "asked, came, said",
    [
        ([5, 7], [16, 16], "Y has 16 entries along L on each input on which it fails"),
        ([5, 7], [7, 9], "Y has 2 entries too many along L, its axis −1, on each input"),
        ([5, 7], [4, 6], "Y has one entry too few along L, its axis −1."),
        ([5, 7], [10, 14], "Y is twice as long as asked for along L"),
    ],
)
def test_lengths_are_told_by_what_is_the_same_on_all_inputs(asked, came, said):
    pairs = [(1.0 * np.arange(n), 100.0 + np.arange(m)) for n, m in zip(asked, came)]
    each = [shape_facts("Y", ["L"], output(a), output(b), {}) for a, b in pairs]
    assert said in common(each)[0].sentence
    assert not common(each[:1]) and not common(each, different=1), "two draws of one size show no more than one"


def test_tokens_that_no_right_result_has_are_told():
    assert "larger than any in the right result" in told(np.array([1, 2, 3]), np.array([1, 9]), ["L"], {})


def test_of_two_axes_of_one_name_the_last_is_told():
    pair = (Output("tensor", shape=shape, values=np.zeros(shape)) for shape in ((2, 3), (4, 5)))
    (count,) = (fact for fact in shape_facts("Y", ["N", "N"], *pair, {}) if fact.kind is Kind.SHAPE_COUNT)
    assert count.sentence == "Y has 2 entries too many along N, its axis −1, on each input on which it fails."


def test_which_part_is_right_is_one_fact_whatever_its_sentence_says(monkeypatch):
    for name in ("right_as_far", "beginning_missing", "in_front", "in_the_middle"):
        monkeypatch.setattr(sizes.words, name, lambda **details: "")
    cut = {"beginning": RIGHT[:, :3], "end": RIGHT[:, 1:], "both ends": np.delete(RIGHT, 2, axis=1)}
    for part, actual in cut.items():
        (fact,) = [
            one
            for one in shape_facts("Y", ["N", "M"], output(RIGHT), output(actual), SIZES)
            if one.kind == Kind.SHAPE_PART
        ]
        assert fact.value == f"{part} short"
    others = shape_facts("Y", ["N", "M"], output(RIGHT), output(np.delete(RIGHT, 1, axis=1)), SIZES)
    assert fact in others, "it is the same fact wherever the middle begins"
