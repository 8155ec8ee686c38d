"""Exercise 5 again: mistakes in which tokens count, and by which logits they are predicted."""

import torch

from autograder.exercises.unit_11_language_models.perplexity.declaration import (
    _both,
    _mean,
    _predicted,
    _surprisal,
    perplexity,
)


def _here(logits, tokens):
    """−log p of each token by the logits of its own position, [B, N]."""
    return -logits.log_softmax(dim=-1).gather(2, tokens[:, :, None])[:, :, 0]


def _here_before(logits, tokens):
    return -logits[:, 1:].log_softmax(dim=-1).gather(2, tokens[:, :-1, None])[:, :, 0]


def _real(tokens, lengths):
    """True where a token is real, [B, N]."""
    return tokens.new_ones(tokens.shape).cumsum(dim=1) <= lengths[:, None]


@perplexity.misconception
def not_shifted(logits, tokens, lengths):
    """Each token is looked up in the logits of its own position, which are computed from that token. The logits at position
    n predict token n + 1: shift one against the other. The first token is predicted by nothing and does not count."""
    return _both(_mean(_here(logits, tokens), _real(tokens, lengths)))


@perplexity.misconception
def not_shifted_without_the_first(logits, tokens, lengths):
    """The first token is left out, but the others are still looked up in the logits of their own positions. The logits at
    position n predict token n + 1: those at position 0 are the first that count."""
    return _both(_mean(_here(logits, tokens)[:, 1:], _predicted(tokens, lengths)))


@perplexity.misconception
def shifted_the_wrong_way(logits, tokens, lengths):
    """The shift goes the wrong way: token n is looked up in the logits of the position behind it, n + 1. It is predicted by
    the logits at position n − 1, which have not seen it."""
    return _both(_mean(_here_before(logits, tokens), _predicted(tokens, lengths)))


@perplexity.misconception
def padding_counted(logits, tokens, lengths):
    """What stands behind a text's end counts like real tokens. Only the first lengths[b] tokens of line b are real: leave the
    others out, from the sum and from the count."""
    return _both(_surprisal(logits, tokens).mean())


@perplexity.misconception
def padding_and_no_shift(logits, tokens, lengths):
    """Each token is looked up in the logits of its own position, and padding counts like real tokens. The logits at position n
    predict token n + 1, and only the first lengths[b] tokens of line b are real."""
    return _both(_here(logits, tokens).mean())


@perplexity.misconception
def token_zero_taken_for_padding(logits, tokens, lengths):
    """The lengths are not used: token 0 is taken for padding, and everything else for real tokens. Here token 0 is one like the
    others, and behind a text's end any token may stand: only lengths says where a text ends."""
    return _both(_mean(_surprisal(logits, tokens), tokens[:, 1:] != 0))


@perplexity.misconception
def token_zero_left_out(logits, tokens, lengths):
    """Wherever token 0 should be predicted it is left out, inside of a text too. Here token 0 is one like the others: only
    lengths says which tokens count."""
    return _both(_mean(_surprisal(logits, tokens), _predicted(tokens, lengths) & (tokens[:, 1:] != 0)))


@perplexity.misconception
def one_token_too_many(logits, tokens, lengths):
    """The last token of a text is made to predict something as well: the padding behind it, or, after a roll, the first token
    of the line. A text of length L has L − 1 predicted tokens, 1 to L − 1."""
    return _both(_mean(_surprisal(logits, tokens), _predicted(tokens, lengths, more=1)))


@perplexity.misconception
def one_token_too_many_after_a_roll(logits, tokens, lengths):
    """The last token of a text is made to predict something as well: the padding behind it, or, after a roll, the first token
    of the line. A text of length L has L − 1 predicted tokens, 1 to L − 1."""
    nll = -logits.log_softmax(dim=-1).gather(2, tokens.roll(-1, dims=1)[:, :, None])[:, :, 0]
    return _both(_mean(nll, _real(tokens, lengths)))


@perplexity.misconception
def shifted_across_texts(logits, tokens, lengths):
    """The tokens were shifted after the lines had been joined to a single row, so the first token of a line is predicted by the
    last position of the line before. Shift along the axis N, [:, 1:] against [:, :-1], and join after that."""
    rows = logits.flatten(0, 1)[:-1].log_softmax(dim=-1)
    nll = -rows.gather(1, tokens.flatten()[1:, None])[:, 0]
    return _both(_mean(nll, _real(tokens, lengths).flatten()[1:]))


@perplexity.misconception
def last_token_missing(logits, tokens, lengths):
    """The last token of each text does not count. A text of length L has L − 1 predicted tokens, 1 to L − 1: only the first is
    not predicted."""
    return _both(_mean(_surprisal(logits, tokens), _predicted(tokens, lengths, more=-1)))


@perplexity.misconception
def first_prediction_missing(logits, tokens, lengths):
    """The first prediction is missing, that of token 1 by logits[:, 0]. A text of length L has L − 1 predicted tokens, 1 to
    L − 1."""
    return _both(_mean(_surprisal(logits, tokens), _predicted(tokens, lengths, skip=1)))


@perplexity.misconception
def mask_the_wrong_way_round(logits, tokens, lengths):
    """Padding counts and real tokens do not: the mask is inverted (where nothing is padded, the result is 0/0). Token n of
    line b counts where n is at least 1 and less than lengths[b]."""
    return _both(_mean(_surprisal(logits, tokens), ~_predicted(tokens, lengths)))


@perplexity.misconception
def logits_zeroed_in_the_padding(logits, tokens, lengths):
    """The logits were set to 0 where the text has ended, which does not make the loss 0 there: each of these positions
    counts log V. Leave out −log p itself, and divide by the number of predicted tokens alone."""
    zeroed = logits.clone()
    zeroed[:, :-1] = logits[:, :-1].masked_fill(~_predicted(tokens, lengths)[..., None], 0.0)
    return _both(_surprisal(zeroed, tokens).mean())


@perplexity.misconception
def padding_at_infinity(logits, tokens, lengths):
    """The padding was made impossible: where a text has ended, −log p is ∞, and so is the mean. What does not count is left
    out of the sum: 0 in the place of −log p, and no part of the number of tokens."""
    counts = _predicted(tokens, lengths)
    return _both(_surprisal(logits, tokens).masked_fill(~counts, torch.inf).sum() / counts.sum())
