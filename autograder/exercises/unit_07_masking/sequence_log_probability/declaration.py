"""Exercise 5: the probability of a sequence, factor by factor."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Different lengths, 3 to N − 1 where there are so many, in no order; any token may stand in the padding."""
    B, N, V = (sizes[name] for name in ("B", "N", "V"))
    lengths = (3 + rng.permutation(N - 3)[:B]).astype("int64")
    return {"tokens": rng.integers(0, V, size=(B, N)).astype("int64"), "lengths": lengths}


def _all_full(inputs, rng):
    inputs["lengths"][:] = inputs["tokens"].shape[1]


def _start_alone(inputs, rng):
    inputs["lengths"][0] = 1


def _less_likely(by):
    """The tokens' logits are lowered: by 60, a product of probabilities is too small for single precision; by 150, each one."""

    def edit(inputs, rng):
        rows, places = np.indices(inputs["tokens"][:, 1:].shape)
        inputs["logits"][rows, places, inputs["tokens"][:, 1:]] -= by

    return edit


@exercise(
    points=3,
    section="Autoregressive factorisation",
    source="Bengio et al. 2003",
    outputs="log_p",
    formula="log P = Σ_t log P(x_t | x_<t), t = 1, …, lengths − 1, with P(x_t | x_<t) = softmax(logits[t − 1])[x_t]; x_0 is the"
    " start and given; log_p [B]",
    cases=[
        Case("sequences of different lengths", sizes={"B": 3, "N": 8, "V": 5}),
        Case("sequences that fill all positions", sizes={"B": 4, "N": 7}, edit=_all_full),
        Case("a start and no more", sizes={"B": 4, "N": 7, "V": 6}, edit=_start_alone),
        Case("a vocabulary of 30 tokens", sizes={"B": 2, "N": 9, "V": 30}),
        Case("one sequence", sizes={"B": 1, "N": 6}),
        Case("a sequence of unlikely tokens", sizes={"B": 2, "N": 7, "V": 5}, edit=_less_likely(60)),
        Case("tokens that are very unlikely", sizes={"B": 2, "N": 6, "V": 5}, edit=_less_likely(150)),
    ],
    draws=_drawn,
)
def sequence_log_probability(
    logits: Float[Tensor, "B N V"], tokens: Int[Tensor, "B N"], lengths: Int[Tensor, "B"]
) -> Float[Tensor, "B"]:
    sums = []
    for scores, words, length in zip(logits, tokens, lengths.tolist()):
        sums.append(-F.cross_entropy(scores[: length - 1], words[1:length], reduction="sum"))
    return torch.stack(sums)


def _factors(logits, tokens):
    """log P of each token but the first, [B, N − 1]."""
    return logits[:, :-1].log_softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]


def _counts(factors, lengths, more=0, skip=0):
    """True where a factor belongs to a sequence, [B, N − 1]; factor t is about token t + 1."""
    t = torch.arange(factors.shape[1], device=lengths.device)
    return (t < lengths[:, None] - 1 + more) & (t >= skip)


def _total(factors, lengths, more=0, skip=0):
    return factors.masked_fill(~_counts(factors, lengths, more, skip), 0.0).sum(dim=1)


@sequence_log_probability.misconception
def not_shifted_with_the_start(logits, tokens, lengths):
    """Token t is looked up in the logits of its own position, the start in those of position 0. The logits at position t are
    about the next token: token t belongs to logits[:, t − 1], and the start, which is given, has no factor."""
    here = logits.log_softmax(dim=-1).gather(2, tokens[:, :, None])[:, :, 0]
    return _total(here, lengths, more=1)


@sequence_log_probability.misconception
def not_shifted_with_padding(logits, tokens, lengths):
    """Each token is looked up in the logits of its own position, start and padding included. The logits at position t are about
    the next token: token t belongs to logits[:, t − 1]; the start, which is given, has no factor, and what stands behind a
    sequence's end does not count."""
    return logits.log_softmax(dim=-1).gather(2, tokens[:, :, None])[:, :, 0].sum(dim=1)


@sequence_log_probability.misconception
def shifted_the_wrong_way(logits, tokens, lengths):
    """The shift goes the wrong way: token t is looked up in the logits of the position behind it, t + 1. The logits at position
    t − 1 are those that depend on x_<t and no more."""
    back = logits[:, 1:].log_softmax(dim=-1).gather(2, tokens[:, :-1, None])[:, :, 0]
    return _total(back, lengths)


@sequence_log_probability.misconception
def softmax_over_places_without_the_last(logits, tokens, lengths):
    """The softmax runs over the positions of the sequence, all but the last. At each position the tokens of the vocabulary
    share a probability of 1: dim=-1."""
    return _total(logits[:, :-1].log_softmax(dim=1).gather(2, tokens[:, 1:, None])[:, :, 0], lengths)


@sequence_log_probability.misconception
def logarithm_of_a_softmax(logits, tokens, lengths):
    """Right where tokens are likely. A probability below 1e−38 (in single precision) becomes 0, and its logarithm −∞: take
    log_softmax, which never leaves the logarithms."""
    p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
    return _total(p.log(), lengths)


@sequence_log_probability.misconception
def logarithm_of_a_softmax_times_zero(logits, tokens, lengths):
    """Right where tokens are likely. A probability below 1e−38 (in single precision) becomes 0, its logarithm is −∞, and times
    0, where it stands in the padding, NaN. Take log_softmax, which never leaves the logarithms."""
    p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
    return (p.log() * _counts(p, lengths)).sum(dim=1)


@sequence_log_probability.misconception
def small_number_in_the_logarithm(logits, tokens, lengths):
    """A small number was added inside of the logarithm, or set as a lower bound, so that it is never −∞; but then everything
    unlikely has the same probability. Take log_softmax, which never leaves the logarithms."""
    p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
    return _total((p + 1e-12).log(), lengths)


@sequence_log_probability.misconception
def lower_bound_in_the_logarithm(logits, tokens, lengths):
    """A small number was set inside of the logarithm as a lower bound, so that it is never −∞; but then all that is less
    likely has the same probability. Take log_softmax, which never leaves the logarithms."""
    p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
    return _total(p.clamp(min=1e-30).log(), lengths)


@sequence_log_probability.misconception
def product_of_probabilities(logits, tokens, lengths):
    """The probabilities were multiplied first, and then the logarithm was taken. Their product soon is too small to be written
    down, and the logarithm of 0 is −∞: sum the logarithms."""
    p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
    return p.masked_fill(~_counts(p, lengths), 1.0).prod(dim=1).log()


@sequence_log_probability.misconception
def logarithm_of_the_sum(logits, tokens, lengths):
    """This is the logarithm of a sum of probabilities. Probabilities of one token after the other are multiplied: sum their
    logarithms."""
    return _total(_factors(logits, tokens).exp(), lengths).log()


@sequence_log_probability.misconception
def padding_counted(logits, tokens, lengths):
    """What stands behind a sequence's end counts too. Only the first lengths[b] tokens are part of sequence b; leave out the
    factors of the padding."""
    return _factors(logits, tokens).sum(dim=1)


@sequence_log_probability.misconception
def token_zero_taken_for_padding(logits, tokens, lengths):
    """The lengths are not used: token 0 is taken for padding, and everything else for real tokens. Here token 0 is one like the
    others, and behind a sequence's end any token may stand: only lengths says where a sequence ends."""
    return (_factors(logits, tokens) * (tokens[:, 1:] != 0)).sum(dim=1)


@sequence_log_probability.misconception
def one_factor_too_many(logits, tokens, lengths):
    """One factor of the padding is counted as well. A sequence of length L has L − 1 factors, since its first token is given:
    those of tokens 1 to L − 1."""
    return _total(_factors(logits, tokens), lengths, more=1)


@sequence_log_probability.misconception
def last_factor_missing(logits, tokens, lengths):
    """The last token of each sequence has no factor. A sequence of length L has L − 1 of them: those of tokens 1 to L − 1. The
    last says how likely it is that the sequence ends there."""
    return _total(_factors(logits, tokens), lengths, more=-1)


@sequence_log_probability.misconception
def first_factor_missing(logits, tokens, lengths):
    """The first factor is missing, that of token 1 given the start alone: logits[:, 0] belong to it."""
    return _total(_factors(logits, tokens), lengths, skip=1)


@sequence_log_probability.misconception
def likeliest_tokens(logits, tokens, lengths):
    """These are the probabilities of the likeliest tokens. Asked for is how likely the tokens are that are given."""
    return _total(logits[:, :-1].log_softmax(dim=-1).amax(dim=-1), lengths)


@sequence_log_probability.misconception
def one_number_for_all(logits, tokens, lengths):
    """This is one number for the whole batch. Each sequence has a probability of its own: sum over its tokens alone, [B]."""
    return _total(_factors(logits, tokens), lengths).sum()


@sequence_log_probability.misconception
def factors_not_summed(logits, tokens, lengths):
    """These are the logarithms of the single factors. Their sum over each sequence is asked for, [B]."""
    factors = _factors(logits, tokens)
    return factors.masked_fill(~_counts(factors, lengths), 0.0)


@sequence_log_probability.misconception
def padding_at_minus_infinity(logits, tokens, lengths):
    """The factors of the padding were made impossible: −∞ in place of their logarithms, or the logarithm of 0. So is their sum.
    What does not count has the factor 1, whose logarithm is 0."""
    factors = _factors(logits, tokens)
    return factors.masked_fill(~_counts(factors, lengths), -math.inf).sum(dim=1)


def _with_a_small_number(small):
    def made(logits, tokens, lengths):
        p = logits[:, :-1].softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]
        return _total((p + small).log(), lengths)

    return made


for _exponent in (8, 9, 10):
    _made = _with_a_small_number(10.0**-_exponent)
    _made.__name__, _made.__doc__ = (
        f"one_in_ten_to_the_{_exponent}_in_the_logarithm",
        small_number_in_the_logarithm.__doc__,
    )
    sequence_log_probability.misconception(_made)


@sequence_log_probability.alternative
def by_log_softmax_and_gather(logits, tokens, lengths):
    log_p = torch.log_softmax(logits, dim=-1)[:, :-1].gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    counts = torch.arange(1, tokens.shape[1], device=tokens.device) < lengths.unsqueeze(1)
    return (log_p * counts).sum(-1)


@sequence_log_probability.alternative
def by_cross_entropy_with_ignored_places(logits, tokens, lengths):
    places = torch.arange(tokens.shape[1], device=tokens.device)
    wanted = tokens.masked_fill(places >= lengths[:, None], -100)[:, 1:]
    return -F.cross_entropy(logits[:, :-1].mT, wanted, reduction="none").sum(dim=1)


@sequence_log_probability.alternative
def with_logsumexp(logits, tokens, lengths):
    chosen = logits[:, :-1].gather(2, tokens[:, 1:, None])[..., 0] - logits[:, :-1].logsumexp(dim=-1)
    return _total(chosen, lengths)


@sequence_log_probability.alternative
def token_by_token(logits, tokens, lengths):
    sums = []
    for b, length in enumerate(lengths.tolist()):
        total = logits.new_zeros(())
        for t in range(1, length):
            total = total + logits[b, t - 1].log_softmax(dim=0)[tokens[b, t]]
        sums.append(total)
    return torch.stack(sums)


@sequence_log_probability.alternative
def by_one_hot_products(logits, tokens, lengths):
    chosen = F.one_hot(tokens[:, 1:], logits.shape[-1]).to(logits.dtype)
    factors = (logits[:, :-1].log_softmax(dim=-1) * chosen).sum(dim=-1)
    return torch.where(_counts(factors, lengths), factors, torch.zeros_like(factors)).sum(dim=1)
