"""Where nothing else is known of wrong numbers, what any look at them shows is told, and it is true."""

import numpy as np
import pytest
import torch

from autograder.bank.audit import examine
from autograder.bank.catalogue import find_exercise
from autograder.bank.drawing import VISIBLE_SEED
from autograder.bank.freezing import freeze
from utils.checking.diagnosis.traits import KINDS, trait_facts

A = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])


def traits(wanted, got):
    return trait_facts("Y", ["N"], wanted, got, 1e-5)


@pytest.mark.parametrize(
    "got, told",
    [
        (np.where(A == 3, np.inf, A), "Numbers of Y are inf, and all should be finite"),
        (np.where(A == -2, -np.inf, A), "Numbers of Y are −inf"),
        (np.where(A == 2, 0, A), "2 numbers of Y are 0, and 1 should be."),
        (np.where(A == 0, 0.5, A), "No number of Y is 0, and 1 should be."),
        (A + 1, "Y is 0 at other positions than it should be."),
        (np.abs(A) + 1, "No number of Y is negative, and some should be."),
        (np.where(A > 0, A, 7 - A), "Y should ascend along N, and does not."),
        (np.where(np.arange(6) < 3, A, 2 * A), "Y is right at the first 3 of 6 positions along N alone."),
        (np.where(np.arange(6) > 1, A, 2 * A), "Y is right at the last 4 of 6 positions along N alone."),
        (A * [2, 3, 1, 5, 6, 7], "Each number of Y that is wrong is, apart from its sign, too large."),
    ],
)
def test_what_any_look_shows_is_told(got, told):
    found = traits(A, got)
    assert all(key[0] in KINDS for key in found)
    assert any(told in text for text in found.values())


def test_positive_numbers_are_not_said_to_lack_negative_ones():
    assert not [key for key in traits(np.abs(A) + 1, np.abs(A) + 2) if key[0] == "sign"]


def test_a_code_without_zero_is_told():
    def normal_float(bits):
        chance = torch.Generator().manual_seed(1)
        return torch.linspace(-1, 1, 2**bits)[torch.randperm(2**bits, generator=chance)]

    frozen = freeze(find_exercise("normal_float"), VISIBLE_SEED)
    assert "No number of code is 0, and 1 should be." in examine(frozen, normal_float).message
