"""What is enumerated has its words: no problem without a sentence, no condition without cases and, where it is told, words."""

import pytest

from autograder.bank.cases.conditions import CONDITIONS
from utils.checking.conditions import ConditionName
from utils.checking.explaining.facts import Kind, Trait
from utils.checking.judging.problems import About, Problem
from utils.checking.messages.conditions import UNDER
from utils.checking.messages.describing import WRITERS

TOLD_OTHERWISE = {  # by the problem itself, or by gradients, or as an ordinary case
    ConditionName.DEVICE,
    ConditionName.CALLS,
    ConditionName.GRADIENTS,
    ConditionName.EDGE,
}


def test_every_problem_has_a_sentence():
    assert set(WRITERS) == set(Problem)


def test_every_condition_has_cases_and_words():
    assert {one.name for one in CONDITIONS} == set(ConditionName) - {ConditionName.EDGE, ConditionName.JOINT}
    assert set(UNDER) == set(ConditionName) - TOLD_OTHERWISE


@pytest.mark.parametrize("member", [Problem.WRONG_VALUE, Kind.SIDE, ConditionName.SPREAD])
def test_a_member_is_its_text_and_knows_what_is_true_of_it(member):
    assert member == str(member) and hash(member) == hash(str(member)) and f"{member}" == str(member)
    assert member.traits is not None and member.has(member.traits)


def test_what_is_true_of_a_member_is_asked_one_by_one_or_together():
    assert Problem.WRONG_VALUE.has(About.NUMBERS) and not Problem.WRONG_VALUE.has(About.GRADIENTS)
    assert Kind.STRETCH.has(Trait.PLACE) and Kind.STRETCH.has(Trait.LOOK | Trait.STEP)
    assert not Kind.FACTOR.has(Trait.LOOK)


def test_all_that_is_known_of_a_shape_is_one_group():
    assert {one.group for one in Kind if one.name.startswith("SHAPE_")} == {"shape"}
    assert len({one.group for one in Kind if not one.name.startswith("SHAPE_")}) == sum(
        not one.name.startswith("SHAPE_") for one in Kind
    )
