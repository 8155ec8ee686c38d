"""The first look at an answer: fewer cases, in which nothing is missing that all cases ask for."""

import pytest

from autograder.bank import catalogue
from autograder.bank.cases.drawing import draw
from autograder.bank.cases.joining import WAYS, joined

EXERCISES = [exercise.name for unit in catalogue.units().values() for exercise in unit]


def cases_of(name):
    whole = draw(catalogue.find_exercise(name), "a draw", grading=True)
    return whole, joined(whole)


def asked(cases):
    """What cases ask for, part by part: each way to pass numbers, each device, gradients, and each draw of numbers."""
    ways = {(case.part, way, getattr(case, way)) for case in cases for way in (*WAYS, "elsewhere", "raises", "starts")}
    gradients = {(case.part, "gradient", case.gradient) for case in cases}
    return ways | gradients


@pytest.mark.parametrize("name", EXERCISES)
def test_the_first_look_asks_for_all_that_all_cases_ask_for(name):
    whole, first = cases_of(name)
    assert asked(first) >= asked(whole)
    assert len(first) <= len(whole)


@pytest.mark.parametrize("name", EXERCISES)
def test_no_numbers_are_left_out_but_of_cases_that_are_drawn_again_with_gradients(name):
    whole, first = cases_of(name)

    def numbers(cases):
        return {tuple(map(id, case.inputs.values())) for case in cases}

    again = {case.property for case in whole if case.once and case.gradient and case.condition in ("", "edge")}
    left_out = [case for case in whole if numbers([case]) - numbers(first)]
    assert {case.property for case in left_out if case.condition in ("", "edge")} <= again
    ways = {getattr(case, way) for case in first for way in WAYS}
    for case in left_out:  # what passes the numbers of a case that was left out is passed on other numbers
        assert {getattr(case, way) for way in WAYS} <= ways


@pytest.mark.parametrize("name", EXERCISES)
def test_one_case_of_each_part_is_called_several_times(name):
    whole, first = cases_of(name)
    repeated = {case.part for case in whole if not case.once}
    assert {case.part for case in first if not case.once} == repeated
    bounds = [[case.bounds for case in cases if case.bounds and not case.once] for cases in (first, whole)]
    assert bounds[0] == bounds[1]


def test_what_rides_on_a_case_is_named_and_costs_no_idea():
    whole, first = cases_of("scaled_dot_product_attention")
    known = {case.property for case in whole}
    joint = [case for case in first if case.property not in known]
    assert len(joint) >= 4
    for case in joint:
        assert case.condition == "joint"
        assert not (case.coarse or case.single or case.extreme) and min(case.sizes.values()) > 1


def test_the_first_look_is_a_good_deal_shorter_over_the_course():
    counts = [tuple(map(len, cases_of(name))) for name in EXERCISES]
    whole, first = map(sum, zip(*counts))
    assert first < 0.75 * whole
