"""Where code fails is told only if it is true of all that fails and of nothing that passes."""

import numpy as np

from utils.checking.explaining import circumstances
from utils.checking.explaining.facts import Fact, Kind, common
from utils.checking.explaining.sizes import length_facts
from utils.checking.records import DrawnCase, Output


def where(failed, passed) -> str:
    """The words for what parts the cases that fail from those that pass; empty where nothing does."""
    circumstance = circumstances.where(failed, passed)
    return circumstance.words if circumstance else ""


def case(batch, N=5, mask=None, **sizes):
    symbols = {"X": f"{batch} N D".strip()}
    inputs = {"X": np.ones(3, dtype=np.float32)} | ({"mask": np.array(mask)} if mask is not None else {})
    return DrawnCase("a case", "result", inputs, symbols, {"N": N, "D": 7, **sizes})


def test_batch_axes_are_counted():
    one, none, two = case("B"), case(""), case("B_1 B_2")
    assert where([none, none], [one, one]) == "there is no batch axis"
    assert where([two, two], [one, none]) == "there are several batch axes"
    assert where([two, none], [one, one]) == "there is not exactly one batch axis"
    assert where([two, one], [none, one]) == ""


def test_a_size_of_one_and_an_empty_row_are_seen():
    assert where([case("B", N=1), case("B_1 B_2", N=1)], [case("B"), case("")]) == "N is 1"
    empty, full = [[True], [False]], [[True], [True]]
    assert where([case("B", mask=empty)] * 2, [case("B", mask=full)] * 2) == "a row of mask is False all through"


def test_lengths_beyond_some_size_are_told_without_the_size():
    long, short = [case("B", N=70), case("B", N=90)], [case("B", N=4), case("B", N=6), case("B", N=9)]
    assert where(long, short) == "N is large (small ones pass)"
    assert where(long, short[:2]) == "", "two sizes that pass show no bound"


def test_of_two_sizes_that_are_large_together_both_are_told():
    long, short = [case("B", N=70, M=80), case("B", N=90, M=99)], [case("B", N=n, M=n + 1) for n in (4, 6, 9)]
    assert where(long, short) == "N or M is large (small ones pass)"


def test_one_case_shows_nothing():
    assert where([case("")], [case("B"), case("B")]) == where([case(""), case("")], [case("B")]) == ""


def lengths(name, axis, expected, actual, sizes):
    """Facts about a result with one axis of the wrong size, whose numbers are other ones too."""
    expected, actual = (
        Output("tensor", shape=(n,), values=first + np.arange(n)) for n, first in ((expected, 0), (actual, 100))
    )
    return length_facts(name, [axis], expected, actual, sizes)


def test_a_size_in_the_place_of_another_takes_two_cases():
    sizes = [{"N_Q": 4, "N_X": 5}, {"N_Q": 6, "N_X": 3}]
    each = [lengths("Y", "N_Q", one["N_Q"], one["N_X"], one) for one in sizes]
    assert common(each) == [Fact(Kind.SHAPE_SIZE, "Y", axis="N_Q", value="N_X", evidence=2)] and common(each[:1]) == []
    each = [lengths("y", "steps", n, n - 1, {"steps": n}) for n in (4, 7)]
    (fact,) = common(each)
    assert fact.sentence == "y has one entry too few along steps, its axis −1."


def test_a_size_that_some_cases_have_no_name_for_is_not_told():
    failed, unnamed = [case("B", M=1), case("B_1 B_2", M=1)], case("B")
    assert where(failed, [case("B", M=5), case("", M=4)]) == "M is 1"
    assert where(failed, [case("B", M=5), unnamed]) != "M is 1"


def test_of_sizes_that_are_large_together_all_are_told_and_none_of_many():
    long = [case("B", K=150, pad=218), case("B", K=149, pad=230)]
    short = [case("B", K=n, pad=90 + n) for n in (2, 4, 6)]
    assert where(long, short) == "K or pad is large (small ones pass)"
    many = dict.fromkeys(("K", "pad", "M", "L"), 200)
    few = [case("B", K=n, pad=n + 1, M=n + 2, L=n + 3) for n in (2, 4, 6)]
    assert where([case("B", **many)] * 2, few) == ""


def test_a_large_size_that_passes_anywhere_is_no_bound():
    long, short = [case("B", N=70), case("B", N=90)], [case("B", N=4), case("B", N=6), case("B", N=9)]
    assert where(long, [*short, case("B", N=80, M=1)]) == ""
