"""Modules that are lent: one is built for many, and nothing that an answer does to it reaches the next."""

from types import SimpleNamespace

import torch
from torch import nn

from autograder.bank.built_once import lent

ANYTHING = SimpleNamespace(cases=[])
BEGINS = SimpleNamespace(cases=[SimpleNamespace(starts="inner.weight")])


class Scaled(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.inner = nn.Linear(D, D)

    def forward(self, X):
        return self.inner(X)


def changed(forward):
    return type(forward.__name__, (Scaled,), {"forward": forward})


def vandal(self, X):
    self.extra, self.inner.factor = nn.Parameter(torch.ones(1)), 2
    self.inner.bias = None
    return self.inner(X)


def doubled(self, X):
    return 2 * self.inner(X)


def test_answers_that_change_calls_alone_share_a_module_that_is_as_it_was_built():
    first = lent(ANYTHING, changed(vandal))(3)
    first(torch.ones(3))
    second = lent(ANYTHING, changed(doubled))(3)
    assert second is first
    assert [name for name, _ in second.named_parameters()] == ["inner.weight", "inner.bias"]
    assert not hasattr(second.inner, "factor") and "extra" not in vars(second)
    assert torch.equal(second(torch.ones(3)), 2 * second.inner(torch.ones(3)))


def test_what_an_answer_keeps_is_still_there_at_its_own_next_call():
    form = lent(ANYTHING, changed(vandal))
    form(4)(torch.ones(4))
    assert form(4).inner.factor == 2


def test_a_class_with_a_building_of_its_own_has_modules_of_its_own():
    class Wider(Scaled):
        def __init__(self, D: int):
            super().__init__(D)
            self.inner = nn.Linear(D, D + 1)

    assert lent(ANYTHING, Wider)(3)(torch.ones(3)).shape == (4,)
    assert lent(ANYTHING, Scaled)(3)(torch.ones(3)).shape == (3,)


def test_where_it_counts_how_modules_begin_each_is_built_anew():
    form = lent(BEGINS, Scaled)
    assert form is Scaled and form(3) is not form(3)
