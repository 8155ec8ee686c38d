"""What is named or said of a condition holds for all that was seen, not for the part of it that fits."""

import torch

from autograder.bank.audit import examine
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze


def masked_softmax(E, mask):
    """Right, but for a single key, which gets a weight of 1 whatever the mask says."""
    if E.shape[-1] == 1:
        return E.softmax(dim=-1)
    nothing = ~mask.expand(E.shape).any(dim=-1, keepdim=True)
    hidden = E.masked_fill(~mask, -torch.inf)
    return torch.where(nothing, 0.0, torch.where(nothing, 0.0, hidden).softmax(dim=-1))


def attention_weights(E, mask):
    """Right, but that weights below a thousandth become 0: on wide spreads, and in long sentences of ordinary scores."""
    A = E.masked_fill(~mask.unsqueeze(-2), -torch.inf).softmax(dim=-1)
    return torch.where(A < 1e-3, 0.0, A)


def test_a_mistake_that_would_fail_where_the_code_passes_is_not_named():
    result = examine(freeze(find_exercise("masked_softmax"), "six", grading=True), masked_softmax, reveal=False)
    assert not result.passed and result.misconception is None


def test_a_condition_is_told_only_where_nothing_else_fails():
    result = examine(freeze(find_exercise("attention_weights"), "eight", grading=True), attention_weights, reveal=False)
    assert not result.passed and {"spread", "scale"} <= {one.condition for one in result.verdicts if not one.passed}
    assert "numbers that differ much in size" not in " ".join(result.message.split())
