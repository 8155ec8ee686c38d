"""Exercise 5 again: mistakes by which something else comes out: a mean, a loss, a perplexity, another base."""

import math

import torch
import torch.nn.functional as F

from autograder.exercises.unit_07_masking.probability import _factors, _total, sequence_log_probability


@sequence_log_probability.misconception
def averaged(logits, tokens, lengths):
    """The logarithms are averaged over the tokens. That is how a loss is given, so that long and short lines compare; the
    probability of a sequence is a product, its logarithm a sum."""
    factors = _factors(logits, tokens)
    return _total(factors, lengths) / (lengths - 1)


@sequence_log_probability.misconception
def averaged_over_all_places(logits, tokens, lengths):
    """The logarithms are averaged over all places, padding among them. The probability of a sequence is a product, its
    logarithm a sum."""
    factors = _factors(logits, tokens)
    return _total(factors, lengths) / factors.shape[1]


@sequence_log_probability.misconception
def averaged_over_all_tokens(logits, tokens, lengths):
    """The logarithms are divided by the number of tokens, the start among them. The probability of a sequence is a product, its
    logarithm a sum."""
    return _total(_factors(logits, tokens), lengths) / lengths


@sequence_log_probability.misconception
def loss_of_the_batch(logits, tokens, lengths):
    """This is one number for the whole batch, the mean cross-entropy of all places, padding among them. Each line has a
    probability of its own, the sum over its tokens: [B]."""
    return F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:])


@sequence_log_probability.misconception
def negative(logits, tokens, lengths):
    """The sign is that of a loss: this is −log P. A probability is at most 1, so its logarithm is 0 or less."""
    return -_total(_factors(logits, tokens), lengths)


@sequence_log_probability.misconception
def negative_with_padding(logits, tokens, lengths):
    """This is the cross-entropy summed over all places: the sign is that of a loss, −log P, and what stands behind a line's end
    counts too."""
    return -_factors(logits, tokens).sum(dim=1)


@sequence_log_probability.misconception
def mean_loss(logits, tokens, lengths):
    """This is the mean cross-entropy, the loss of training: the sign is reversed, and it is divided by the number of tokens.
    Asked for is log P, the sum of log-probabilities."""
    return -averaged(logits, tokens, lengths)


@sequence_log_probability.misconception
def perplexity(logits, tokens, lengths):
    """This is the perplexity, exp of the mean loss. Asked for is log P, the sum of log-probabilities."""
    return torch.exp(-averaged(logits, tokens, lengths))


@sequence_log_probability.misconception
def base_two(logits, tokens, lengths):
    """The logarithms are to base 2, so this is counted in bits. Asked for are natural ones."""
    return _total(_factors(logits, tokens), lengths) / math.log(2)


def _averaged_with_care(logits, tokens, lengths):
    return _total(_factors(logits, tokens), lengths) / (lengths - 1).clamp(min=1)


@sequence_log_probability.misconception
def averaged_with_care(logits, tokens, lengths):
    """The logarithms are averaged over the tokens. That is how a loss is given, so that long and short lines compare; the
    probability of a sequence is a product, its logarithm a sum."""
    return _averaged_with_care(logits, tokens, lengths)


@sequence_log_probability.misconception
def mean_loss_with_care(logits, tokens, lengths):
    """This is the mean cross-entropy, the loss of training: the sign is reversed, and it is divided by the number of tokens.
    Asked for is log P, the sum of log-probabilities."""
    return -_averaged_with_care(logits, tokens, lengths)


@sequence_log_probability.misconception
def perplexity_with_care(logits, tokens, lengths):
    """This is the perplexity, exp of the mean loss. Asked for is log P, the sum of log-probabilities."""
    return torch.exp(-_averaged_with_care(logits, tokens, lengths))
