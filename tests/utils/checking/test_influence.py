"""What a wrong result depends on is told from its gradients: padding that counts, positions that do not, means of means."""

import pytest
from examining import examine_hidden

from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze


@pytest.fixture(scope="module")
def frozen():
    return freeze(find_exercise("masked_cross_entropy"), "influence")


def losses(logits, y):
    return -logits.log_softmax(dim=-1).gather(-1, y[..., None]).squeeze(-1)  # [B, T]


def padding_counts(logits, y):
    return losses(logits, y).sum() / (y != 0).sum()


def stop_left_out(logits, y):
    return 1.3 * (losses(logits, y) * (y > 2)).sum() / (y > 2).sum()


def mean_of_means(logits, y):
    words = y != 0
    return 1.3 * ((losses(logits, y) * words).sum(dim=1) / words.sum(dim=1)).mean()


def padding_alone(logits, y):
    return (losses(logits, y) * (y == 0)).sum() / (y != 0).sum()


def wrong_everywhere(logits, y):
    return (losses(logits, y) * (y != 0)).square().sum() / (y != 0).sum()


def no_way_back(logits, y):
    return (logits.argmax(dim=-1) != y)[y != 0].float().mean() + 0 * logits.detach().sum()


def small_number_added(logits, y):
    at = logits.softmax(dim=-1).gather(-1, y[..., None])[..., 0]
    return -((at + 0.05 * (at < 0.2)).log() * (y != 0)).sum() / (y != 0).sum()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (small_number_added, "At some of the positions that count the derivative"),
        (padding_counts, "loss depends on logits where y is 0, and should not."),
        (stop_left_out, "The derivative of loss with respect to logits is 0 where y is 2, and should not be"),
        (mean_of_means, "a mean of these means?"),
        (padding_alone, "loss depends on logits where y is 0, and should not."),
        (padding_alone, "The derivative of loss with respect to logits is 0 at each position where it should not be:"),
        (wrong_everywhere, "does each position get a weight of its own"),
        (no_way_back, "No gradient flows from loss back to logits"),
    ],
)
def test_a_wrong_loss_is_told_by_what_it_depends_on(frozen, made, said):
    result = examine_hidden(frozen, made)
    assert said in " ".join(result.message.split()), result.message


def test_a_factor_that_is_the_same_everywhere_is_left_to_the_factor(frozen):
    twice = examine_hidden(frozen, lambda logits, y: 2 * (losses(logits, y) * (y != 0)).sum() / (y != 0).sum())
    assert "derivative" not in twice.message and not twice.passed
