"""Exercise 4: attention weights that leave padding out."""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED, SMALL
from autograder.exercises.unit_02_bahdanau_attention._shared import padding_mask


def _drawn(inputs, sizes, rng):
    return {"mask": padding_mask(inputs["mask"].shape, rng)}


def _far_below_zero(inputs, rng):
    inputs["E"] -= 2000


def _levels(inputs, rng):
    """Rows at different levels, of which one is high; a token's score that is just 0; padding that would win if it
    could."""
    E, mask = inputs["E"], np.broadcast_to(inputs["mask"][..., None, :], inputs["E"].shape)
    E += np.linspace(-2000, 900, E.shape[-2], dtype=np.float32)[:, None]
    E[..., 0, :] += 2000
    E[..., 0, 0] = 0
    E[~mask] = 5000


def _positive(inputs, rng):
    np.abs(inputs["E"], out=inputs["E"])
    inputs["E"] += 0.1


def _scattered(inputs, rng):
    """Tokens anywhere, not only in front; each sentence has one, and none has all."""
    inputs["mask"] = rng.random(inputs["mask"].shape) < 0.5
    inputs["mask"][..., 0], inputs["mask"][..., -1] = False, True


def _nothing_padded(inputs, rng):
    inputs["mask"][:] = True


@exercise(
    points=3,
    section="Padding gets no weight",
    source="Bahdanau, Cho and Bengio 2015, equation 6",
    outputs="A",
    zeros="A",
    formula="A_ti = exp(E_ti) / Σ_j exp(E_tj), where j runs over the tokens alone (mask True), and A_ti = 0 at padding; A"
    " [*B, T_y, T_x], mask [*B, T_x]",
    cases=[
        Case("one sentence", expand={"*B": ""}),
        Case("a batch of sentences", expand={"*B": "B"}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}),
        Case("padding in front of words and between them", expand={"*B": "B"}, sizes={"T_x": 9}, edit=_scattered),
        Case("nothing padded", expand={"*B": "B"}, edit=_nothing_padded),
        Case("all scores positive", expand={"*B": "B"}, edit=_positive),
        Case("rows at different levels, the highest scores at padding", expand={"*B": "B"}, edit=_levels, extreme=True),
        Case("all scores far below zero", expand={"*B": "B"}, edit=_far_below_zero, extreme=True),
    ],
    forbidden=FUSED,
    draws=_drawn,
)
def attention_weights(E: Float[Tensor, "*B T_y T_x"], mask: Bool[Tensor, "*B T_x"]) -> Float[Tensor, "*B T_y T_x"]:
    return torch.where(mask.unsqueeze(-2), E, -torch.inf).softmax(dim=-1)


def _masked(E, mask, value=-math.inf):
    return E.masked_fill(~mask.unsqueeze(-2), value)


@attention_weights.misconception
def mask_forgotten(E, mask):
    """The mask has no effect: padding gets weight as tokens do. Padding is no part of the sentence, so its weight is 0,
    and the weights of the tokens sum to 1."""
    return E.softmax(dim=-1)


@attention_weights.misconception
def softmax_twice(E, mask):
    """The softmax is applied twice. The first one gives the weights already; the second one makes them more even and
    gives weight to the padding."""
    return _masked(E, mask).softmax(dim=-1).softmax(dim=-1)


@attention_weights.misconception
def mask_turned_round(E, mask):
    """The tokens are hidden and the padding is not: the mask is inverted. True means that this position may be attended
    to."""
    return _masked(E, ~mask).softmax(dim=-1)


@attention_weights.misconception
def zeroed_after_the_softmax(E, mask):
    """The weights of the padding were set to 0 after the softmax, so the weights of the tokens sum to less than 1. Hide
    the padding before the softmax, with scores of −∞."""
    return E.softmax(dim=-1) * mask.unsqueeze(-2)


@attention_weights.misconception
def scores_zeroed(E, mask):
    """The scores of the padding were set to 0. exp(0) is 1, so padding still gets weight, often more than tokens do. A
    score of −∞ gives weight 0."""
    return _masked(E, mask, 0.0).softmax(dim=-1)


@attention_weights.misconception
def not_low_enough(E, mask):
    """The scores of the padding were set to a number that is low, but not lower than every score can be: where the
    scores of the tokens are lower still, the padding gets the weight. Use −∞."""
    return _masked(E, mask, -1000.0).softmax(dim=-1)


@attention_weights.misconception
def over_the_decoder_states(E, mask):
    """The softmax runs over the T_y decoder states. Each decoder state distributes a weight of 1 over the T_x encoder
    states: the softmax runs over the last axis."""
    return E.masked_fill(~mask.unsqueeze(-2), -1e9).softmax(dim=-2) * mask.unsqueeze(-2)


@attention_weights.misconception
def not_normalised(E, mask):
    """These are exponentials, not yet divided by their sum over the tokens."""
    return E.exp() * mask.unsqueeze(-2)


@attention_weights.misconception
def even_among_words(E, mask):
    """All tokens get the same weight: the scores have no effect."""
    return (mask.unsqueeze(-2) / mask.sum(-1)[..., None, None]).expand(E.shape).to(E.dtype)


@attention_weights.misconception
def logarithms(E, mask):
    """These are the logarithms of the weights: log_softmax instead of softmax."""
    return _masked(E, mask, -1e9).log_softmax(dim=-1)


@attention_weights.misconception
def sigmoid_for_softmax(E, mask):
    """Each weight is a sigmoid of its own score, so the weights do not sum to 1. A total weight of 1 is distributed
    over the tokens: use softmax."""
    return E.sigmoid() * mask.unsqueeze(-2)


@attention_weights.alternative
def with_masked_fill(E, mask):
    return torch.softmax(E.masked_fill(~mask[..., None, :], float("-inf")), dim=-1)


@attention_weights.alternative
def added_minus_infinity(E, mask):
    hidden = torch.zeros_like(E).masked_fill(~mask.unsqueeze(-2), -torch.inf)
    return (E + hidden).softmax(-1)


@attention_weights.alternative
def lowest_of_the_type(E, mask):
    return E.masked_fill(mask.unsqueeze(-2) == 0, torch.finfo(E.dtype).min).softmax(dim=-1)


@attention_weights.alternative
def exponentials_of_words(E, mask):
    words = mask.unsqueeze(-2)
    largest = E.masked_fill(~words, -torch.inf).amax(dim=-1, keepdim=True).detach()
    powers = torch.where(words, (E - largest).clamp(max=0).exp(), torch.zeros_like(E))
    return powers / powers.sum(dim=-1, keepdim=True)


@attention_weights.alternative
def sentence_by_sentence(E, mask):
    flat, words = E.reshape(-1, *E.shape[-2:]), mask.reshape(-1, mask.shape[-1])
    rows = []
    for e, real in zip(flat, words):
        a = torch.zeros_like(e)
        a[:, real] = e[:, real].softmax(dim=-1)
        rows.append(a)
    return torch.stack(rows).reshape(E.shape)
