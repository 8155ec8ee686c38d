"""Points are fair: they are for the idea, conditions cost a quarter at most, and nothing costs points that no check shows."""

from dataclasses import replace

import pytest
import torch

from autograder.bank import catalogue
from autograder.bank.cases.conditions import CONDITIONS
from autograder.bank.cases.drawing import SCALE, VISIBLE_SEED, draw
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze, frozen_exercise
from autograder.bank.practice import written
from utils.checking.concluding import examine
from utils.checking.judging.judge import judge
from utils.checking.judging.points import ROBUSTNESS, earned
from utils.checking.records import DrawnCase, Failure, FrozenCase, Observation

EXERCISES = [one for unit in catalogue.units().values() for one in unit]
MOST = 0.25
RIGHT, WRONG = (Observation(failure=Failure("call", kind)) for kind in ("Right", "RuntimeError"))


def failing_under(exercise, fails) -> float:
    """The share of an exercise's points that is left where every case fails of which `fails` is true."""
    cases = [FrozenCase(replace(one, raises="Right"), RIGHT) for one in draw(exercise, "a class", grading=True)]
    frozen = frozen_exercise(exercise, cases)
    seen = [WRONG if fails(one.case) else Observation() if one.case.elsewhere else RIGHT for one in cases]
    verdicts = [judge(frozen, one, came) for one, came in zip(cases, seen)]
    assert [not verdict.passed for verdict in verdicts] == [fails(one.case) for one in cases]
    return sum(earned(frozen, verdicts).values()) / exercise.max_points


def is_demand(exercise, case: DrawnCase) -> bool:
    return bool(case.condition) and case.condition not in exercise.taught


@pytest.mark.parametrize("exercise", [one for one in EXERCISES if one.max_points], ids=lambda one: one.name)
def test_all_conditions_together_cost_no_more_than_a_quarter_of_any_exercise(exercise):
    assert ROBUSTNESS <= MOST
    assert failing_under(exercise, lambda case: is_demand(exercise, case)) >= 1 - MOST
    assert failing_under(exercise, lambda case: not is_demand(exercise, case)) == 0


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)
def test_whatever_can_cost_points_a_check_shows(exercise):
    def kinds(grading: bool) -> set:
        """Part, condition and headline; of what an author made large, no headline, since one stands for others."""
        own = {one.property for one in exercise.cases}
        cases = draw(exercise, VISIBLE_SEED, grading)
        return {
            (one.part, one.condition, "" if one.condition == SCALE and one.property in own else one.property)
            for one in cases
        }

    assert kinds(grading=True) == kinds(grading=False)


def test_what_an_exercise_says_it_teaches_are_conditions_that_it_is_examined_under():
    known = {condition.name for condition in CONDITIONS}
    for exercise in EXERCISES:
        assert set(exercise.taught) <= known & {case.condition for case in draw(exercise, VISIBLE_SEED)}, exercise.name


def test_each_exercise_has_answers_in_three_styles_of_practice():
    # which use what the notebook has trained
    trained = [one for one in EXERCISES if any(case.rows for case in one.cases)]
    few = [one.name for one in EXERCISES if one not in trained and len(written(one)) < 3]
    assert not few


def points(name: str, made, seed: str = "points") -> float:
    return examine(freeze(find_exercise(name), seed, grading=True, mistakes=False), made).points


def test_a_right_idea_that_writes_into_its_input_keeps_three_quarters():
    def overwriting(e, dim=-1):
        e -= e.amax(dim=dim, keepdim=True)
        powers = e.exp()
        return powers / powers.sum(dim=dim, keepdim=True)

    assert points("stable_softmax", overwriting) == 3 * (1 - MOST)


def test_a_wrong_idea_earns_nothing_however_robust_it_is():
    assert points("attention_scores", lambda q, X: 2 * (X @ q[..., None])[..., 0]) == 0


def test_whole_numbers_may_be_of_any_length_and_numbers_from_flags_of_any_precision():
    def narrow(lengths, N):
        return torch.arange(N, device=lengths.device)[None, None] < lengths[:, None, None]

    assert points("padding_mask", narrow) == 2
    frozen = freeze(find_exercise("alignment_error_rate"), "types", grading=True, mistakes=False)
    reference = find_exercise("alignment_error_rate").reference
    assert examine(frozen, lambda *given: reference(*given).double()).passed


def test_a_single_number_of_bfloat16_inputs_may_be_of_single_precision():
    frozen = freeze(find_exercise("balance_loss"), "types", grading=True, mistakes=False)
    reference = find_exercise("balance_loss").reference
    result = examine(
        frozen, lambda logits, k: reference(logits.float(), k).to(torch.promote_types(logits.dtype, torch.float32))
    )
    assert result.passed, result.message


def test_what_torch_has_not_for_bfloat16_costs_nothing():
    def by_cdist(q, X):
        apart = torch.cdist(q[..., None, :], X)[..., 0, :] ** 2
        return ((q**2).sum(-1, keepdim=True) + (X**2).sum(-1) - apart) / 2

    frozen = freeze(find_exercise("attention_scores"), "cdist", grading=True, mistakes=False)
    half = [one for one in frozen.cases if one.case.precision == "bfloat16"]
    assert half and examine(replace(frozen, cases=tuple(half)), by_cdist).passed
