"""Exercise 4: cross-entropy over tokens, not over padding."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.sentences import sentences
from utils.data.translation import PAD, STOP

WORDS = {"V": 11, "T": 7}
WIDE = {"logits": 3.0}
LARGE = 1000


def _drawn(inputs, sizes, rng):
    """Short sentences are harder, [STOP] is hard and [PAD] easy, so that every way to weigh them gives another mean.

    Of unlucky numbers a mistake's loss could still be nearly right; then others are drawn.
    """
    plain = inputs["logits"]
    while True:
        inputs["logits"] = plain.copy()
        y = _words(inputs, sizes, rng)
        if sizes["V"] > LARGE:
            return {"y": y}  # in which no single token counts for much
        losses = [torch.from_numpy(inputs["logits"]), torch.from_numpy(y)]
        right = float(masked_cross_entropy.reference(*losses))
        off = [abs(float(mistake.object(*losses)) - right) for mistake in masked_cross_entropy.misconceptions]
        if all(one < 1e-5 or not one < 0.01 * (1 + abs(right)) for one in off):
            return {"y": y}
        plain = rng.standard_normal(plain.shape).astype(np.float32) * plain.std()


def _words(inputs, sizes, rng) -> np.ndarray:
    y, lengths = sentences(sizes["B"], sizes["T"], sizes["V"], rng)
    logits = inputs["logits"]
    logits[..., PAD] = np.abs(logits[..., PAD]) + logits.std()  # [PAD] is likely everywhere
    easier = np.linspace(-1.5, 1.5, len(y))[lengths.argsort().argsort(), None]
    easier = np.where(y == PAD, 2.5, np.where(y == STOP, -2.0, easier)) * inputs["logits"].std()
    chosen = np.take_along_axis(inputs["logits"], y[..., None], axis=-1) + easier[..., None]
    np.put_along_axis(inputs["logits"], y[..., None], chosen.astype(np.float32), axis=-1)
    return y


def _large(inputs, rng):
    inputs["logits"] *= 60


def _padded_anywhere(inputs, rng):
    """Padding in front of tokens and between them, and a sentence that is nothing else."""
    inputs["y"][:, 1::2] = PAD
    inputs["y"][:3, 0] = PAD
    inputs["y"][0] = PAD


def _last_words(inputs, rng):
    inputs["y"][0] = inputs["logits"].shape[-1] - 1


def _cut(inputs, rng):
    """The one sentence's second half is padding."""
    inputs["y"][:, 3:] = PAD


@exercise(
    points=3,
    section="Many sentences at once: padding",
    source="Sutskever, Vinyals and Le 2014; torch.nn.functional.cross_entropy with ignore_index",
    outputs="loss",
    formula="loss = −(1/n) Σ log p(y_bt), over the n positions where y is not [PAD] (0); p = softmax(logits, dim=-1); a scalar",
    cases=[
        Case("a padded batch", sizes=WORDS, scale=WIDE),
        Case("a larger batch", sizes={**WORDS, "B": 8}, scale=WIDE),
        Case("nothing padded", sizes={**WORDS, "B": 1}, scale=WIDE),
        Case("one sentence with padding", sizes={**WORDS, "B": 1}, scale=WIDE, edit=_cut),
        Case("padding in front of words and between them", sizes=WORDS, scale=WIDE, edit=_padded_anywhere),
        Case("one word a sentence", sizes={"V": 11, "T": 1, "B": 5}, scale=WIDE, edit=_padded_anywhere),
        Case("as many places as words in the vocabulary", sizes={"V": 8, "T": "V"}, scale=WIDE),
        Case("hundreds of words", sizes={"V": 5, "T": 300, "B": 3}, edge=True),
        Case("a large vocabulary", sizes={"V": 40000, "T": 3, "B": 2}, edit=_last_words, edge=True),
        Case("longer sentences", sizes={"V": 13, "T": 9}, scale=WIDE),
        Case("logits in the hundreds", sizes={"V": 9, "T": 12}, edit=_large),
    ],
    forbidden=("cross_entropy", "nll_loss"),
    draws=_drawn,
)
def masked_cross_entropy(logits: Float[Tensor, "B T V"], y: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=PAD)


def _each(logits, y):
    """−log p at each position [B, T], and where real tokens are."""
    return -logits.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1), (y != PAD).to(logits.dtype)


@masked_cross_entropy.misconception
def padding_counted(logits, y):
    """Padding counts like the other tokens: the mean runs over all B·T positions. The model would be trained to write
    [PAD]. Leave out the positions where y is 0, from the sum and from the count."""
    return _each(logits, y)[0].mean()


@masked_cross_entropy.misconception
def divided_by_all_places(logits, y):
    """The padding is left out of the sum but not of the count: the sum is divided by B·T. Divide by the number of
    positions where y is not 0, so that a batch with more padding does not look better."""
    nll, real = _each(logits, y)
    return (nll * real).mean()


@masked_cross_entropy.misconception
def summed(logits, y):
    """This is the sum over the tokens that count. The exercise asks for the mean: divide by the number of tokens that are not
    padding."""
    nll, real = _each(logits, y)
    return (nll * real).sum()


@masked_cross_entropy.misconception
def divided_by_the_batch(logits, y):
    """The sum is divided by the number of sentences. The exercise asks for the mean over tokens: divide by the number
    of positions that are not padding."""
    nll, real = _each(logits, y)
    return (nll * real).sum() / len(y)


@masked_cross_entropy.misconception
def mean_of_sentence_means(logits, y):
    """This is the mean of the sentences' means, so a token in a short sentence counts more. Every token counts the
    same: one sum over the batch, divided by the number of all its tokens."""
    nll, real = _each(logits, y)
    return ((nll * real).sum(1) / real.sum(1)).mean()


@masked_cross_entropy.misconception
def sign_forgotten(logits, y):
    """The minus sign is missing: this is the mean log-probability, which is negative. A loss should become small as the
    model improves, so take minus the mean."""
    nll, real = _each(logits, y)
    return -(nll * real).sum() / real.sum()


@masked_cross_entropy.misconception
def probability_for_its_logarithm(logits, y):
    """The logarithm is missing: this is minus the mean probability of the correct tokens. Cross-entropy is minus the
    mean of log p."""
    nll, real = _each(logits, y)
    return -((-nll).exp() * real).sum() / real.sum()


@masked_cross_entropy.misconception
def logits_taken_for_log_probabilities(logits, y):
    """The logits are used as if they were log-probabilities, without any softmax. Apply log_softmax over the vocabulary
    first."""
    real = (y != PAD).to(logits.dtype)
    return -(logits.gather(-1, y.unsqueeze(-1)).squeeze(-1) * real).sum() / real.sum()


@masked_cross_entropy.misconception
def softmax_over_time(logits, y):
    """The softmax runs over the T positions of a sentence. At each position the tokens of the vocabulary share the
    probability: the softmax runs over the last axis."""
    nll = -logits.log_softmax(1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
    real = (y != PAD).to(logits.dtype)
    return (nll * real).sum() / real.sum()


@masked_cross_entropy.misconception
def softmax_twice(logits, y):
    """The softmax is applied twice: the logits were turned into probabilities, and these were treated as logits
    again."""
    nll, real = _each(logits.softmax(-1), y)
    return (nll * real).sum() / real.sum()


@masked_cross_entropy.misconception
def mask_the_wrong_way_round(logits, y):
    """Padding counts and the other tokens do not: the mask is inverted (where nothing is padded, the result is 0/0).
    Real tokens are where y is not 0."""
    nll, real = _each(logits, y)
    return (nll * (1 - real)).sum() / (1 - real).sum()


@masked_cross_entropy.misconception
def stop_left_out(logits, y):
    """[STOP] is left out together with the padding. [STOP] counts like any other token: the model must learn where to
    end."""
    nll, _ = _each(logits, y)
    real = (y > 2).to(logits.dtype)
    return (nll * real).sum() / real.sum()


@masked_cross_entropy.misconception
def in_bits(logits, y):
    """The logarithm has base 2, so the loss is in bits. The exercise asks for the natural logarithm."""
    nll, real = _each(logits, y)
    return (nll * real).sum() / real.sum() / math.log(2)


@masked_cross_entropy.misconception
def logarithm_of_a_softmax(logits, y):
    """The formula is right, but not for large logits: exp overflows, or a small probability is rounded to 0 and its
    logarithm is −∞. log_softmax computes the logarithm of the softmax in one step and stays finite."""
    p = logits.softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
    real = y != PAD
    return -p[real].log().mean()


@masked_cross_entropy.misconception
def logits_zeroed_at_padding(logits, y):
    """The logits were set to 0 at padded positions, which does not make the loss 0 there: each of these positions
    counts log V. Leave out −log p itself, and divide by the number of real tokens alone."""
    return _each(logits * (y != PAD)[..., None], y)[0].mean()


@masked_cross_entropy.misconception
def perplexity(logits, y):
    """This is the perplexity, the exponential of the loss. Leave out exp."""
    nll, real = _each(logits, y)
    return ((nll * real).sum() / real.sum()).exp()


@masked_cross_entropy.misconception
def shifted_once_more(logits, y):
    """Each token is compared with the logits of the position before. The decoder has shifted its input already:
    logits[b, t] predict y[b, t]."""
    nll, real = _each(logits[:, :-1], y[:, 1:])
    return (nll * real).sum() / real.sum()


@masked_cross_entropy.misconception
def padding_taken_from_the_vocabulary(logits, y):
    """[PAD] was taken out of the vocabulary, so the other tokens share its probability. Padding is left out as
    positions of y; the softmax runs over all V tokens."""
    nll, real = _each(torch.cat([torch.full_like(logits[..., :1], -1e9), logits[..., 1:]], dim=-1), y)
    return (nll * real).sum() / real.sum()


@masked_cross_entropy.alternative
def chosen_by_a_mask(logits, y):
    real = y != 0
    rows = logits[real].log_softmax(dim=-1)
    return -rows[torch.arange(len(rows), device=rows.device), y[real]].mean()


@masked_cross_entropy.alternative
def with_logsumexp(logits, y):
    chosen = torch.take_along_dim(logits, y[..., None], dim=-1)[..., 0]
    nll = torch.logsumexp(logits, dim=-1) - chosen
    return torch.where(y != 0, nll, torch.zeros_like(nll)).sum() / (y != 0).sum()


@masked_cross_entropy.alternative
def with_one_hot(logits, y):
    hot = F.one_hot(y, logits.shape[-1]).to(logits.dtype)
    nll = -(hot * torch.log_softmax(logits, dim=2)).sum(dim=2)
    return (nll * (y > 0)).sum() / (y > 0).sum()


@masked_cross_entropy.alternative
def with_loops(logits, y):
    terms = [
        row[word] - row.logsumexp(0) for sentence, words in zip(logits, y) for row, word in zip(sentence, words) if word
    ]
    return -torch.stack(terms).mean()
