"""Where nothing else is known of wrong numbers, what any look at them shows is told, and it is true."""

import warnings

import numpy as np
import pytest
import torch

from autograder.bank.cases.drawing import VISIBLE_SEED
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine
from utils.checking.explaining.facts import Kind, Trait
from utils.checking.explaining.shapes import shape_facts
from utils.checking.explaining.traits import trait_facts
from utils.checking.records import Output

A = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])


def traits(expected, actual):
    return trait_facts("Y", ["N"], expected, actual, 1e-5)


@pytest.mark.parametrize(
    "actual, told",
    [
        (np.where(A == 3, np.inf, A), "Numbers of Y are infinite, and all should be finite"),
        (np.where(A == 2, 0, A), "Two numbers of Y are 0; in the right result one is."),
        (np.where(A == 0, 0.5, A), "No number of Y is 0; in the right result one is."),
        (np.abs(A) + 1, "No number of Y is negative; in the right result two are."),
        (np.where(A == 3, 30, A), "Numbers of Y are far larger than any in the right result."),
        (np.where(np.arange(6) < 3, A, 7), "Each number of Y that is wrong is 7."),
        (np.where(A > 0, 3 * A, A), "Each number of Y that is wrong is 3 times the right one."),
        (
            np.where(np.arange(6) < 3, A, 2 * A),
            "Along N, Y is right throughout at the first 3 of 6 positions, and at no other.",
        ),
        (
            np.where(np.arange(6) > 1, A, 2 * A),
            "Along N, Y is right throughout at the last 4 of 6 positions, and at no other.",
        ),
        (A * [2, 3, 1, 5, 6, 7], "Each number of Y that is wrong is, apart from its sign, too large."),
    ],
)
def test_what_any_look_shows_is_told(actual, told):
    facts = traits(A, actual)
    assert all(fact.kind.has(Trait.LOOK) for fact in facts)
    assert any(told in fact.sentence for fact in facts)


@pytest.mark.parametrize(("place", "which"), [(0, "first"), (-1, "last")])
def test_a_single_right_entry_in_a_corner_is_told(place, which):
    actual = np.full((3, 4), 99.0)
    expected = np.arange(12.0).reshape(3, 4)
    actual[place, place] = expected[place, place]
    told = [fact.sentence for fact in trait_facts("Y", ["N", "M"], expected, actual, 1e-5)]
    assert f"Only the {which} entry of Y along all its axes is right." in told


def test_zeros_at_other_places_are_told_of_no_tokens():
    expected, actual = np.array([0, 1, 2, 3]), np.array([1, 0, 0, 0])
    assert not [fact for fact in trait_facts("Y", ["N"], expected, actual, 1e-5) if fact.kind is Kind.ZEROS]


def test_positive_numbers_are_not_said_to_lack_negative_ones():
    assert not [fact for fact in traits(np.abs(A) + 1, np.abs(A) + 2) if fact.kind is Kind.SIGN]


def test_a_code_without_zero_is_told():
    def normal_float(bits):
        chance = torch.Generator().manual_seed(1)
        return torch.linspace(-1, 1, 2**bits)[torch.randperm(2**bits, generator=chance)]

    frozen = freeze(find_exercise("normal_float"), VISIBLE_SEED)
    assert "No number of code is 0; in the right result one is." in examine(frozen, normal_float).message


def test_the_largest_numbers_there_are_bring_no_warning():
    most = np.finfo(np.float64).max
    expected, actual = np.array([-most, most, 1.0, most]), np.array([most, -most, 1.0, -most])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traits(expected, actual)
        shape_facts("Y", ["N"], *(Output("tensor", shape=one.shape, values=one) for one in (expected, actual[:3])), {})
