"""Mutants are what they say, and cases that are too few let some live."""

from dataclasses import replace

import pytest

from autograder.bank import catalogue
from autograder.bank.audit.auditing import survivors, tells_apart, without_bounds
from autograder.bank.audit.mutants import mutants
from autograder.bank.freezing import freeze


def test_a_reference_is_changed_in_one_place_at_a_time():
    names = [one.name for one in mutants(catalogue.find_exercise("doubly_stochastic_penalty"))]
    assert "found.append(((1 + looked) ** 2).sum())" in names
    assert "found.append(((1 - looked) ** 3).sum())" in names
    assert "looked = weights[words].sum(dim=1)" in names
    assert "return torch.stack(found)" in names
    assert "without found.append(((1 - looked) ** 2).sum())" in names
    assert len(names) == len(set(names))


def test_every_mutant_is_told_by_all_cases_and_some_live_where_only_shapes_are_seen():
    exercise = catalogue.find_exercise("doubly_stochastic_penalty")
    frozen = freeze(exercise, "one", grading=True, mistakes=False)
    assert survivors(exercise, frozen) == []
    shapes = replace(frozen, cases=tuple(one for one in frozen.cases if one.case.elsewhere))
    assert "found.append(((1 + looked) ** 2).sum())" in survivors(exercise, shapes)


@pytest.mark.parametrize("unit", catalogue.units())
def test_what_is_said_to_be_equivalent_is_a_mutant(unit):
    for exercise in catalogue.units()[unit]:
        for end, why in exercise.equivalent.items():
            assert sum(one.name.endswith(end) for one in mutants(exercise)) == 1, (exercise.name, end)
            assert why


@pytest.mark.parametrize("name", ["layer_norm", "scaled_dot_product_attention", "contrastive_loss"])
def test_what_changes_nothing_lives_on_all_cases_those_whose_numbers_count_each_by_its_size_included(name):
    """Else the audit's question about mutants could not fail."""
    exercise = catalogue.find_exercise(name)
    frozen = freeze(exercise, "one", grading=True, mistakes=False)
    assert not tells_apart(without_bounds(frozen), exercise.reference, "cpu")
