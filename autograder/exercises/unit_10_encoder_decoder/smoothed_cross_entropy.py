"""Exercise 3: cross-entropy against targets that leave a little to every token."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.sentences import sentences
from utils.data.translation import PAD

LARGE = 500  # words, of which none counts for much
CLOSE, APART = 1e-5, 0.002  # a mistake makes no difference, or one that shows


def _drawn(inputs, sizes, rng):
    """Sentences and logits on which every mistake shows, or makes no difference at all."""
    plain = inputs["logits"]
    while True:
        targets = _sentences(inputs, sizes, rng)
        given = torch.from_numpy(inputs["logits"]), torch.from_numpy(targets), inputs["smoothing"]
        right = float(smoothed_cross_entropy.reference(*given))
        off = [abs(float(mistake.object(*given)) - right) for mistake in smoothed_cross_entropy.misconceptions]
        if sizes["V"] > LARGE or all(one < CLOSE or not one < APART * (1 + abs(right)) for one in off):
            return {"targets": targets, "logits": inputs["logits"]}
        inputs["logits"] = rng.standard_normal(plain.shape).astype(np.float32) * plain.std()


def _sentences(inputs, sizes, rng) -> np.ndarray:
    """Targets, of which short sentences are hard, while padding is likely everywhere."""
    targets, lengths = sentences(sizes["B"], sizes["T"], sizes["V"], rng)
    logits = inputs["logits"]
    logits[..., PAD] = np.abs(logits[..., PAD]) + logits.std()
    easier = np.linspace(-1.5, 1.5, len(lengths))[lengths.argsort().argsort(), None] * (targets != PAD)
    chosen = np.take_along_axis(logits, targets[..., None], axis=-1) + easier[..., None] * logits.std()
    np.put_along_axis(logits, targets[..., None], chosen.astype(np.float32), axis=-1)
    return targets


def _in_the_hundreds(inputs, rng):
    inputs["logits"] *= 60


def _padded_anywhere(inputs, rng):
    """Padding between tokens, a sentence that is nothing else, and huge logits there."""
    inputs["targets"][:, 1::2] = inputs["targets"][0] = PAD
    inputs["logits"][inputs["targets"] == PAD] *= 1e4


def _case(text, smoothing=0.1, V=11, edit=None, edge=False, **sizes):
    scale, sizes = {"logits": 3.0}, {"V": V, **sizes}
    return Case(text, values={"smoothing": smoothing}, scale=scale, sizes=sizes, edit=edit, edge=edge)


@exercise(
    points=2,
    section="Label smoothing",
    source="Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4; torch.nn.CrossEntropyLoss(label_smoothing)",
    outputs="loss",
    formula="loss = −(1/n) Σ_bt Σ_v q_btv log p_btv over the n positions whose target is not [PAD] (0), with p = softmax(logits)"
    " over the tokens and q = (1 − smoothing) · one-hot(target) + smoothing / V on each of the V tokens; a scalar",
    cases=[
        _case("a padded batch"),
        _case("more smoothing", smoothing=0.3, V=9, B=5, T=7),
        _case("nothing padded", smoothing=0.2, B=1),
        _case("logits in the hundreds", V=8, T=9, edit=_in_the_hundreds),
        _case("no smoothing", smoothing=0.0, edge=True),
        _case("padding between tokens, of huge logits", B=4, T=7, edit=_padded_anywhere, edge=True),
        _case("a large vocabulary", V=1000, T=3, B=2, edge=True),
    ],
    forbidden=("cross_entropy",),
    draws=_drawn,
)
def smoothed_cross_entropy(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"], smoothing: float
) -> Float[Tensor, ""]:
    real = targets != PAD
    rows = logits[real]  # [n, V]
    rows = rows - rows.gather(1, targets[real].unsqueeze(1))  # against the true word's logit, which becomes 0
    return rows.logsumexp(dim=1).mean() - smoothing * rows.mean()


def _parts(logits, targets):
    """−log p of the true token and its mean over all tokens, at each position [B, T], and where tokens are."""
    surprise = -logits.log_softmax(dim=-1)
    true = surprise.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return true, surprise.mean(dim=-1), (targets != PAD).to(logits.dtype)


def _mixed(logits, targets, true=1.0, uniform=0.0):
    """The mean over tokens of both parts, each with its weight."""
    nll, even, real = _parts(logits, targets)
    return ((true * nll + uniform * even) * real).sum() / real.sum()


def _each(logits, targets, smoothing):
    """The right loss at each position [B, T], and where tokens are."""
    nll, even, real = _parts(logits, targets)
    return (1 - smoothing) * nll + smoothing * even, real


@smoothed_cross_entropy.misconception
def others_share_all(logits, targets, smoothing):
    """What is taken from the true token is given to the V − 1 others alone, so it keeps 1 − smoothing. That is another
    convention; here each of the V tokens gets smoothing / V, and the true one 1 − smoothing + smoothing / V."""
    each = smoothing / (logits.shape[-1] - 1)
    return _mixed(logits, targets, 1 - smoothing - each, each * logits.shape[-1])


@smoothed_cross_entropy.misconception
def true_token_without_its_share(logits, targets, smoothing):
    """The true token has 1 − smoothing, and each other one smoothing / V: the targets add up to less than 1. The true token is
    one of the V that get a share, so it has 1 − smoothing + smoothing / V."""
    return _mixed(logits, targets, 1 - smoothing - smoothing / logits.shape[-1], smoothing)


@smoothed_cross_entropy.misconception
def share_of_all_left_out(logits, targets, smoothing):
    """This is 1 − smoothing times the plain cross-entropy: what is taken from the true token is given to nobody. Each of the V
    tokens gets smoothing / V of it."""
    return _mixed(logits, targets, 1 - smoothing)


@smoothed_cross_entropy.misconception
def nothing_for_padding(logits, targets, smoothing):
    """The token [PAD] gets no part of the probability, which the V − 2 tokens left share. Here every token of the vocabulary gets
    smoothing / V, [PAD] and the true token among them."""
    surprise, V = -logits.log_softmax(dim=-1), logits.shape[-1]
    q = F.one_hot(targets, V) * (1 - smoothing) + (1 - F.one_hot(targets, V)) * smoothing / (V - 2)
    q = torch.cat([torch.zeros_like(q[..., :1]), q[..., 1:]], dim=-1).to(surprise.dtype)
    return (q * surprise).sum(dim=-1)[targets != PAD].mean()


@smoothed_cross_entropy.misconception
def padding_counted(logits, targets, smoothing):
    """The mean runs over all B·T positions, so the model learns to write padding. Only the positions count whose target is not
    0, in the sum and in the number that it is divided by."""
    return _each(logits, targets, smoothing)[0].mean()


@smoothed_cross_entropy.misconception
def divided_by_all_positions(logits, targets, smoothing):
    """Padding is left out of the sum, but the sum is divided by all B·T positions. Divide by the number of those whose target
    is not 0, or a batch with more padding looks better."""
    return _mixed(logits, targets, 1 - smoothing, smoothing) * (targets != PAD).sum() / targets.numel()


@smoothed_cross_entropy.misconception
def summed(logits, targets, smoothing):
    """This is the sum over the positions that count. Asked for is their mean: divide by how many there are."""
    return _mixed(logits, targets, 1 - smoothing, smoothing) * (targets != PAD).sum()


@smoothed_cross_entropy.misconception
def divided_by_the_batch(logits, targets, smoothing):
    """The sum over all tokens is divided by the number of sentences. Asked for is the mean over tokens: divide by the number of
    positions whose target is not 0."""
    return _mixed(logits, targets, 1 - smoothing, smoothing) * (targets != PAD).sum() / len(targets)


@smoothed_cross_entropy.misconception
def mean_of_sentence_means(logits, targets, smoothing):
    """Each sentence is averaged by itself, then the sentences are, so a token counts more in a short sentence. Asked for is one
    mean over all tokens of the batch."""
    each, real = _each(logits, targets, smoothing)
    return ((each * real).sum(1) / real.sum(1)).mean()


@smoothed_cross_entropy.misconception
def padding_in_the_uniform_part(logits, targets, smoothing):
    """Padding is left out for the true token alone. The part that all tokens share, smoothing times their mean −log p, counts it:
    leave it out of both."""
    return _mixed(logits, targets, 1 - smoothing) + smoothing * _parts(logits, targets)[1].mean()


@smoothed_cross_entropy.misconception
def true_token_not_lowered(logits, targets, smoothing):
    """The true token keeps its whole 1, and smoothing / V comes on top for each token: the targets add up to 1 + smoothing. What
    the tokens share is taken from the true one, which keeps 1 − smoothing besides its share."""
    return _mixed(logits, targets, 1.0, smoothing)


@smoothed_cross_entropy.misconception
def smoothing_for_the_true_token(logits, targets, smoothing):
    """The two weights have changed places: the one-hot target is taken times smoothing, and 1 − smoothing is spread over all
    tokens. With a small smoothing the true token should keep almost everything."""
    return _mixed(logits, targets, smoothing, 1 - smoothing)


@smoothed_cross_entropy.misconception
def each_token_gets_all(logits, targets, smoothing):
    """Each token gets smoothing, not smoothing / V: −log p is summed over the vocabulary where its mean is due. The targets are
    a distribution, and add up to 1."""
    return _mixed(logits, targets, 1 - smoothing, smoothing * logits.shape[-1])


@smoothed_cross_entropy.misconception
def not_smoothed(logits, targets, smoothing):
    """This is the plain cross-entropy: the loss does not change with smoothing. Each of the V tokens gets smoothing / V of the
    target, and the true one 1 − smoothing besides."""
    return _mixed(logits, targets)


@smoothed_cross_entropy.misconception
def entropy_taken_off(logits, targets, smoothing):
    """This is the Kullback-Leibler divergence, which is smaller than the cross-entropy by the entropy of the smoothed targets.
    That entropy is a constant and does nothing to gradients, but it belongs to the loss that is asked for."""
    V = logits.shape[-1]
    q = torch.tensor([1 - smoothing + smoothing / V, *[smoothing / V] * (V - 1)], dtype=logits.dtype)
    return _mixed(logits, targets, 1 - smoothing, smoothing) - torch.special.entr(q).sum().to(logits.device)


@smoothed_cross_entropy.misconception
def divergence_over_V(logits, targets, smoothing):
    """This is the Kullback-Leibler divergence divided by V, as kl_div gives it with its default reduction, a mean over tokens of
    the vocabulary, too. Sum over these, and add the entropy of the smoothed targets."""
    return entropy_taken_off(logits, targets, smoothing) / logits.shape[-1]


@smoothed_cross_entropy.misconception
def logarithm_of_a_softmax(logits, targets, smoothing):
    """The formula is right, but not for large logits: exp overflows, or a small probability is rounded to 0, whose logarithm is
    −∞; one unlikely token is enough, for each has its part. log_softmax takes the logarithm in one step and stays finite."""
    surprise = -logits.softmax(dim=-1).log()
    true = surprise.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    each = (1 - smoothing) * true + smoothing * surprise.mean(dim=-1)
    return each[targets != PAD].mean()


@smoothed_cross_entropy.alternative
def with_the_whole_distribution(logits, targets, smoothing):
    V = logits.shape[-1]
    q = torch.full_like(logits, smoothing / V).scatter(-1, targets.unsqueeze(-1), 1 - smoothing + smoothing / V)
    each = -(q * torch.log_softmax(logits, dim=-1)).sum(dim=-1)
    return torch.where(targets == PAD, 0.0, each).sum() / (targets != PAD).sum()


@smoothed_cross_entropy.alternative
def with_nll_loss(logits, targets, smoothing):
    log_p = F.log_softmax(logits, dim=-1).flatten(0, 1)
    nll = F.nll_loss(log_p, targets.flatten(), ignore_index=PAD)
    return (1 - smoothing) * nll - smoothing * log_p[targets.flatten() != PAD].mean()


@smoothed_cross_entropy.alternative
def divergence_and_entropy(logits, targets, smoothing):
    keep, V = targets.ne(PAD), logits.shape[-1]
    q = (1 - smoothing) * F.one_hot(targets[keep], V).to(logits.dtype) + smoothing / V
    return F.kl_div(logits[keep].log_softmax(-1), q, reduction="batchmean") + torch.special.entr(q).sum(-1).mean()
