"""Exercise 5 again: mistakes in how the mean is taken, and how the perplexity comes from it."""

import math

from autograder.exercises.unit_11_language_models.perplexity.declaration import (
    _both,
    _mean,
    _predicted,
    _surprisal,
    _total,
    perplexity,
)


def _loss(logits, tokens, lengths):
    return _mean(_surprisal(logits, tokens), _predicted(tokens, lengths))


def _sum(logits, tokens, lengths):
    return _total(_surprisal(logits, tokens), _predicted(tokens, lengths))


def _line_sums(logits, tokens, lengths):
    return _surprisal(logits, tokens).masked_fill(~_predicted(tokens, lengths), 0.0).sum(dim=1)


@perplexity.misconception
def summed(logits, tokens, lengths):
    """The loss is the sum over the predicted tokens, so it grows with every token of the batch. Asked for is the mean: divide by
    the number of predicted tokens."""
    return _both(_sum(logits, tokens, lengths))


@perplexity.misconception
def sum_beside_the_perplexity(logits, tokens, lengths):
    """The perplexity is right; the loss is the sum over the predicted tokens, so it grows with every token of the batch. Return
    their mean, whose exponential the perplexity is."""
    return _sum(logits, tokens, lengths), _loss(logits, tokens, lengths).exp()


@perplexity.misconception
def divided_by_all_positions(logits, tokens, lengths):
    """The padding is left out of the sum but not of the count: the sum is divided by B·(N − 1). Divide by the number of
    predicted tokens, so that a batch with more padding does not look better."""
    return _both(_sum(logits, tokens, lengths) / tokens[:, 1:].numel())


@perplexity.misconception
def divided_by_every_position(logits, tokens, lengths):
    """The sum over the predicted tokens is divided by B·N, the number of all positions. Divide by the number of predicted tokens:
    neither padding nor the first token of a text belongs to them."""
    return _both(_sum(logits, tokens, lengths) / tokens.numel())


@perplexity.misconception
def divided_by_all_real_tokens(logits, tokens, lengths):
    """The sum is divided by the sum of the lengths. The first token of each text is not predicted, so a text of length L has
    L − 1 terms: it counts neither in the sum nor in the number."""
    return _both(_sum(logits, tokens, lengths) / lengths.sum())


@perplexity.misconception
def divided_by_the_batch(logits, tokens, lengths):
    """The sum is divided by the number of texts, so longer texts have a larger loss. Asked for is the mean over tokens: divide by
    the number of predicted tokens."""
    return _both(_sum(logits, tokens, lengths) / len(lengths))


def _for_lines(made):
    """Registers a mistake that begins with a loss for each text; of a text of length 1 it is 0/0, or 0, or left out."""

    def undefined(sums, steps):
        return sums / steps

    def zero(sums, steps):
        return sums / steps.clamp(min=1)

    def left_out(sums, steps):
        return sums[steps > 0] / steps[steps > 0]

    for name, way in (("", undefined), ("_with_care", zero), ("_without_single_tokens", left_out)):

        def mistake(logits, tokens, lengths, way=way):
            each = way(_line_sums(logits, tokens, lengths), lengths - 1)
            return made(each, _loss(logits, tokens, lengths))

        mistake.__name__, mistake.__doc__ = made.__name__ + name, made.__doc__
        perplexity.misconception(mistake)
    return made


@_for_lines
def mean_of_text_means(each, loss):
    """The loss is the mean of the texts' means, so a token in a short text counts more than one in a long text. Every predicted
    token counts the same: one sum over the batch, divided by the number of predicted tokens."""
    return _both(each.mean())


@_for_lines
def mean_of_text_perplexities(each, loss):
    """The loss is right; the perplexity is a mean of the texts' own perplexities. It is exp of the one loss of the whole batch,
    since a mean of exponentials is another number."""
    return loss, each.exp().mean()


@perplexity.misconception
def mean_of_token_perplexities(logits, tokens, lengths):
    """The loss is right; the perplexity is the mean of 1/p over the tokens, since exp was taken before the mean. First the mean
    of −log p, then exp: otherwise a single unlikely token outweighs all others."""
    counts = _predicted(tokens, lengths)
    return _loss(logits, tokens, lengths), _mean(_surprisal(logits, tokens).exp(), counts)


@perplexity.misconception
def exponential_of_the_sum(logits, tokens, lengths):
    """The loss is right; the perplexity is exp of the sum over all tokens, the inverse of the probability of all texts together.
    It is exp of the mean, so that it does not depend on how many tokens there are."""
    return _loss(logits, tokens, lengths), _sum(logits, tokens, lengths).exp()


@perplexity.misconception
def two_to_the_loss(logits, tokens, lengths):
    """The loss is right, with natural logarithms; the perplexity is 2 to the power of it. The base must be that of the
    logarithms: exp(loss), or else 2 to the power of a loss in bits."""
    loss = _loss(logits, tokens, lengths)
    return loss, 2**loss


@perplexity.misconception
def exponential_of_bits(logits, tokens, lengths):
    """The loss is in bits, with logarithms of base 2, and the perplexity is e to the power of it. Take natural logarithms, so
    that exp undoes them."""
    return _both(_loss(logits, tokens, lengths) / math.log(2))


@perplexity.misconception
def sign_forgotten(logits, tokens, lengths):
    """The minus sign is missing: the loss is the mean log-probability, and the perplexity its exponential, at most 1. The
    loss is minus this mean; the perplexity is then at least 1."""
    return _both(-_loss(logits, tokens, lengths))


@perplexity.misconception
def exponential_of_minus_the_loss(logits, tokens, lengths):
    """The loss is right; the perplexity is exp(−loss), the geometric mean of the tokens' probabilities. The perplexity is the
    inverse of that, exp(loss), and never less than 1."""
    loss = _loss(logits, tokens, lengths)
    return loss, (-loss).exp()


@perplexity.misconception
def undefined_with_single_tokens(logits, tokens, lengths):
    """A text of a single token makes the whole result NaN: the mean of nothing is 0/0, and NaN times 0 is still NaN. Such a
    text predicts nothing, so it adds nothing to the sum and nothing to the count."""
    steps = lengths - 1
    means = _line_sums(logits, tokens, lengths) / steps
    return _both((means * steps).sum() / steps.sum())
