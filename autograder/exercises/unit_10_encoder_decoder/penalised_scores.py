"""Exercise 7: scores of finished translations, so that short ones do not always win."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.sentences import SMALLEST_WORD, sentences
from utils.data.translation import PAD, STOP

V = 12


def _drawn(inputs, sizes, rng):
    """Logarithms of probabilities, and hypotheses that end at different places, one of them at T."""
    tokens, _ = sentences(sizes["K"], sizes["T"], V, rng)
    return {"log_probabilities": -abs(inputs["log_probabilities"]), "tokens": tokens}


def _cut_off(inputs, rng):
    """The longest hypothesis has come to no end."""
    last = inputs["tokens"][:, -1]
    last[last == STOP] = rng.integers(SMALLEST_WORD, V)


def _nothing_said(inputs, rng):
    """A hypothesis that is [STOP] alone, as beam search likes them without a penalty."""
    inputs["tokens"][0] = PAD
    inputs["tokens"][0, 0] = STOP


def _impossible_padding(inputs, rng):
    inputs["log_probabilities"][inputs["tokens"] == PAD] = -np.inf


def _case(text, alpha=0.6, edit=None, edge=False, **sizes):
    return Case(text, values={"alpha": alpha}, sizes=sizes, edit=edit, edge=edge)


@exercise(
    points=2,
    section="Beam search and the length of a translation",
    source="Wu et al. 2016, equation 14 (without the coverage penalty); Vaswani et al. 2017, section 6.1",
    outputs="scores",
    formula="scores_k = (log p_k1 + … + log p_kL) / ((5 + L) / 6)^alpha, with L the number of tokens of hypothesis k up to its"
    " [STOP] (2), itself included, or T where there is none; scores [K]",
    cases=[
        _case("hypotheses of different lengths", K=4, T=7),
        _case("one that was cut off before its [STOP]", edit=_cut_off, K=5, T=8),
        _case("a stronger penalty", alpha=1.4),
        _case("many hypotheses, one of which says nothing", alpha=0.8, edit=_nothing_said, K=9, T=6),
        _case("alpha = 0", alpha=0.0, K=3, T=5, edge=True),
        _case("padding of log-probability −∞", edit=_impossible_padding, K=4, T=6, edge=True),
    ],
    draws=_drawn,
)
def penalised_scores(
    log_probabilities: Float[Tensor, "K T"], tokens: Int[Tensor, "K T"], alpha: float
) -> Float[Tensor, "K"]:
    scores = []
    for row, words in zip(log_probabilities, tokens.tolist()):
        L = words.index(STOP) + 1 if STOP in words else len(words)
        scores.append(row[:L].sum() / ((5 + L) / 6) ** alpha)
    return torch.stack(scores)


def _lengths(tokens):
    """L of each hypothesis [K]."""
    stops = tokens == STOP
    return torch.where(stops.any(dim=1), stops.long().argmax(dim=1) + 1, tokens.shape[1])


def _before(lengths, tokens):
    """True at the first L places of each row [K, T]."""
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]


def _total(log_probabilities, tokens, lengths=None):
    """The sum over each hypothesis, or over its first places."""
    lengths = _lengths(tokens) if lengths is None else lengths
    return log_probabilities.where(_before(lengths, tokens), 0.0).sum(dim=1)


def _divisor(lengths, alpha, like):
    return (((5 + lengths) / 6) ** alpha).to(like.dtype)


@penalised_scores.misconception
def stop_not_in_the_length(log_probabilities, tokens, alpha):
    """[STOP] is left out of L. It is a token that the decoder has chosen: L counts the tokens up to [STOP] and [STOP] itself."""
    lengths = _lengths(tokens) - (tokens == STOP).any(dim=1).long()
    return _total(log_probabilities, tokens) / _divisor(lengths, alpha, log_probabilities)


@penalised_scores.misconception
def stop_left_out(log_probabilities, tokens, alpha):
    """[STOP] is left out, of the sum and of L, so a hypothesis pays nothing for ending too early. Its log-probability belongs
    to the sum, and L counts it."""
    lengths = _lengths(tokens) - (tokens == STOP).any(dim=1).long()
    return _total(log_probabilities, tokens, lengths) / _divisor(lengths, alpha, log_probabilities)


@penalised_scores.misconception
def padding_summed(log_probabilities, tokens, alpha):
    """The sum goes on behind [STOP]. What stands there is padding, whose log-probabilities mean nothing: the sum ends with
    [STOP]. {NaN} They may well be −∞."""
    return log_probabilities.sum(dim=1) / _divisor(_lengths(tokens), alpha, log_probabilities)


@penalised_scores.misconception
def all_places_for_the_length(log_probabilities, tokens, alpha):
    """L is the same for all hypotheses, the T places of a row. Then the penalty favours nobody: L is each hypothesis's own
    number of tokens, padding left out."""
    lengths = torch.full_like(tokens[:, 0], tokens.shape[1])
    return _total(log_probabilities, tokens) / _divisor(lengths, alpha, log_probabilities)


@penalised_scores.misconception
def nothing_left_out(log_probabilities, tokens, alpha):
    """The sum and L both run over all T places of a row, padding included. A hypothesis ends with its first [STOP], which is
    the number 2; what stands behind it belongs to neither."""
    return log_probabilities.sum(dim=1) / ((5 + tokens.shape[1]) / 6) ** alpha


@penalised_scores.misconception
def length_one_too_long(log_probabilities, tokens, alpha):
    """L is larger by one than the number of tokens in the sum. It counts the tokens up to [STOP] and [STOP] itself; [START], with
    which the decoder was fed, is none of them."""
    return _total(log_probabilities, tokens) / _divisor(_lengths(tokens) + 1, alpha, log_probabilities)


@penalised_scores.misconception
def stop_not_in_the_sum(log_probabilities, tokens, alpha):
    """The log-probability of [STOP] is left out of the sum, though L counts it. To end here is a choice of the decoder, too,
    and has its price: an unlikely [STOP] must cost something."""
    lengths = _lengths(tokens)
    words = lengths - (tokens == STOP).any(dim=1).long()
    return _total(log_probabilities, tokens, words) / _divisor(lengths, alpha, log_probabilities)


@penalised_scores.misconception
def power_of_the_length(log_probabilities, tokens, alpha):
    """The sum is divided by L^alpha, another penalty, which many libraries have. Here it is ((5 + L) / 6)^alpha: it is 1 for a
    single token, and differs less between short hypotheses."""
    divisor = (_lengths(tokens) ** alpha).to(log_probabilities.dtype)
    return _total(log_probabilities, tokens) / divisor


@penalised_scores.misconception
def multiplied(log_probabilities, tokens, alpha):
    """The sum is multiplied by the penalty. Log-probabilities are negative, so this makes long hypotheses worse still: divide,
    and they come nearer to 0."""
    return _total(log_probabilities, tokens) * _divisor(_lengths(tokens), alpha, log_probabilities)


@penalised_scores.misconception(universal=True)
def exponent_left_out(log_probabilities, tokens, alpha):
    """The sum is divided by (5 + L) / 6 whatever alpha is. alpha is the exponent, which says how much length counts: at 0 not
    at all."""
    return _total(log_probabilities, tokens) / _divisor(_lengths(tokens), 1.0, log_probabilities)


@penalised_scores.misconception
def mean_of_the_tokens(log_probabilities, tokens, alpha):
    """This is the mean log-probability of a token, the sum divided by L. The penalty asked for is weaker: divide by ((5 + L) /
    6)^alpha."""
    return _total(log_probabilities, tokens) / _lengths(tokens)


@penalised_scores.misconception
def alpha_as_a_factor(log_probabilities, tokens, alpha):
    """(5 + L) / 6 is multiplied by alpha. alpha is an exponent. {NaN} As a factor it divides by 0 where alpha is 0."""
    return _total(log_probabilities, tokens) / (alpha * _divisor(_lengths(tokens), 1.0, log_probabilities))


@penalised_scores.misconception
def six_outside_the_power(log_probabilities, tokens, alpha):
    """Only 5 + L is raised to the power alpha, and 6 is not. The fraction as a whole is: ((5 + L) / 6)^alpha, which is 1 for a
    single token."""
    return _total(log_probabilities, tokens) / (((5 + _lengths(tokens)) ** alpha) / 6).to(log_probabilities.dtype)


@penalised_scores.misconception
def six_under_the_length_alone(log_probabilities, tokens, alpha):
    """Only L is divided by 6, and 5 is added after that: a pair of brackets is missing. It is the sum 5 + L that is divided."""
    return _total(log_probabilities, tokens) / ((5 + _lengths(tokens) / 6) ** alpha).to(log_probabilities.dtype)


@penalised_scores.misconception
def no_penalty(log_probabilities, tokens, alpha):
    """This is the sum of the log-probabilities by itself, which gets worse with each token: the shortest hypotheses win. Divide
    it by ((5 + L) / 6)^alpha."""
    return _total(log_probabilities, tokens)


@penalised_scores.misconception
def ends_at_once_without_a_stop(log_probabilities, tokens, alpha):
    """A hypothesis without [STOP] is cut after its first token: argmax gives 0 where nothing is found. All T tokens count
    there."""
    lengths = (tokens == STOP).long().argmax(dim=1) + 1
    return _total(log_probabilities, tokens, lengths) / _divisor(lengths, alpha, log_probabilities)


@penalised_scores.misconception
def padding_times_zero(log_probabilities, tokens, alpha):
    """Padding is multiplied by 0. Where its log-probability is −∞ that is NaN, not 0: choose with torch.where or masked_fill,
    and what stands behind [STOP] cannot matter."""
    lengths = _lengths(tokens)
    kept = log_probabilities * _before(lengths, tokens)
    return kept.sum(dim=1) / _divisor(lengths, alpha, log_probabilities)


@penalised_scores.alternative
def by_padding(log_probabilities, tokens, alpha):
    padded = tokens == PAD
    lengths = tokens.shape[1] - padded.sum(dim=1)
    penalty = ((5 + lengths) / 6).pow(alpha)
    return (log_probabilities.masked_fill(padded, 0.0).sum(dim=1) / penalty).to(log_probabilities.dtype)


@penalised_scores.alternative
def by_counting_stops(log_probabilities, tokens, alpha):
    stops = (tokens == STOP).long()
    alive = stops.cumsum(dim=-1) - stops == 0  # no [STOP] before
    total = torch.where(alive, log_probabilities, torch.zeros_like(log_probabilities)).sum(dim=-1)
    return total * (6 / (5 + alive.sum(dim=-1).to(total.dtype))) ** alpha


@penalised_scores.alternative
def from_running_sums(log_probabilities, tokens, alpha):
    last = _lengths(tokens) - 1
    reached = log_probabilities.cumsum(dim=1).gather(1, last[:, None])[:, 0]
    return reached * torch.exp(-alpha * torch.log((last + 6) / 6)).to(reached.dtype)
