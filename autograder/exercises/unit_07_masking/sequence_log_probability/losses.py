"""Exercise 5 again: mistakes by which something else comes out: a mean, a loss, a perplexity, another base."""

import torch
import torch.nn.functional as F

from autograder.exercises.unit_07_masking.sequence_log_probability.declaration import (
    _factors,
    _total,
    sequence_log_probability,
)


def _whatever_the_length(made):
    """Registers a mistake that begins with the mean of a sequence's factors: as it is, 0/0 for a sequence of length 1, and with
    care."""
    for name, least in ((made.__name__, 0), (f"{made.__name__}_with_care", 1)):

        def mistake(logits, tokens, lengths, least=least):
            return made(_total(_factors(logits, tokens), lengths) / (lengths - 1).clamp(min=least))

        mistake.__name__, mistake.__doc__ = name, made.__doc__
        sequence_log_probability.misconception(mistake)
    return made


@_whatever_the_length
def averaged(mean):
    """The logarithms are averaged over the tokens. That is how a loss is given, so that long and short sequences compare; the
    probability of a sequence is a product, its logarithm a sum."""
    return mean


@_whatever_the_length
def mean_loss(mean):
    """This is the mean cross-entropy, the loss of training: the sign is reversed, and it is divided by the number of tokens.
    Asked for is log P, the sum of log-probabilities."""
    return -mean


@_whatever_the_length
def perplexity(mean):
    """This is the perplexity, exp of the mean loss. Asked for is log P, the sum of log-probabilities."""
    return torch.exp(-mean)


@sequence_log_probability.misconception
def averaged_over_all_tokens(logits, tokens, lengths):
    """The logarithms are divided by the number of tokens, the start among them. The probability of a sequence is a product, its
    logarithm a sum."""
    return _total(_factors(logits, tokens), lengths) / lengths


@sequence_log_probability.misconception
def loss_of_the_batch(logits, tokens, lengths):
    """This is one number for the whole batch, the mean cross-entropy of all positions, padding among them. Each sequence has a
    probability of its own, the sum over its tokens: [B]."""
    return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:])


@sequence_log_probability.misconception
def negative(logits, tokens, lengths):
    """The sign is that of a loss: this is −log P. A probability is at most 1, so its logarithm is 0 or less."""
    return -_total(_factors(logits, tokens), lengths)


@sequence_log_probability.misconception
def negative_with_padding(logits, tokens, lengths):
    """This is the cross-entropy summed over all positions: the sign is that of a loss, −log P, and what stands behind a
    sequence's end counts too."""
    return -_factors(logits, tokens).sum(dim=1)
