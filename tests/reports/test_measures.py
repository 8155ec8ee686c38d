"""The numbers of a report: nobody's place is decided by a name."""

import pytest

from autograder.reports.measures import discrimination, histogram, quarters
from autograder.reports.returning import family


def test_students_of_one_score_have_the_same_share_of_each_quarter():
    totals = {"a": 0, "b": 10, "c": 10, "d": 10, "e": 10, "f": 18, "g": 18, "h": 18}
    found = quarters(totals)
    assert found["b"] == found["c"] == found["d"] == found["e"] == pytest.approx((0.25, 0.5, 0.25, 0))
    assert found["a"] == (1, 0, 0, 0) and found["f"] == pytest.approx((0, 0, 1 / 3, 2 / 3))
    renamed = quarters(dict(zip(reversed("abcdefgh"), totals.values())))
    assert sorted(renamed.values()) == sorted(found.values())
    for at in range(4):
        assert sum(shares[at] for shares in found.values()) == pytest.approx(2), "each quarter is a quarter"


def test_where_all_have_the_same_everybody_is_in_every_quarter():
    assert set(quarters(dict.fromkeys("abc", 7.0)).values()) == {(0.25,) * 4} and quarters({}) == {}


def test_the_histogram_has_steps_of_whole_points_and_counts_everybody():
    found = histogram([0, 2.25, 17.75, 18, 18], 18)
    assert {type(step["from"]) for step in found} == {int} and sum(step["students"] for step in found) == 5
    assert found[-1] == {"from": 16, "to": 18, "students": 3} and found[1]["students"] == 1


def test_discrimination_is_the_correlation_with_the_rest():
    scores, rest = dict(zip("abcdef", (0, 0, 1, 1, 2, 2))), dict(zip("abcdef", (1, 2, 5, 6, 8, 9)))
    assert discrimination(scores, rest) > 0.9
    assert discrimination(scores, {one: -value for one, value in rest.items()}) < -0.9
    assert discrimination(dict.fromkeys("abcdef", 2), rest) is None and discrimination({"a": 1}, rest) is None


@pytest.mark.parametrize(
    ("misconception", "kind"),
    [
        ("not_scaled", "the scale of the scores"),
        ("A over √D", "the scale of the scores"),
        ("softmax_over_queries", "the axis of the softmax"),
        ("tokens one more", "one too many, or one too few"),
        ("padding_mask inverted", "the mask turned round"),
        ("first_block_alone", "first block alone"),
    ],
)
def test_mistakes_of_one_kind_are_one_family(misconception, kind):
    assert family(misconception) == kind
