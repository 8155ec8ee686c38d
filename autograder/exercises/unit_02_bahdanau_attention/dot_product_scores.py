"""Exercise 1: dot-product scores between all decoder and all encoder states."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import exercise
from autograder.bank.families.attention import FUSED
from autograder.exercises.unit_02_bahdanau_attention._shared import score_cases


@exercise(
    points=2,
    section="Three ways to score",
    source="Luong, Pham and Manning 2015, equation 8 (dot)",
    outputs="E",
    formula="E_ti = s_t · h_i, with S [*B, T_y, D_H] and H [*B, T_x, D_H] gives E [*B, T_y, T_x]",
    cases=score_cases(),
    forbidden=FUSED,
)
def dot_product_scores(S: Float[Tensor, "*B T_y D_H"], H: Float[Tensor, "*B T_x D_H"]) -> Float[Tensor, "*B T_y T_x"]:
    return torch.einsum("...td,...xd->...tx", S, H)


def _scores(S, H):
    return S @ H.mT


@dot_product_scores.misconception
def dot_scaled(S, H):
    """The scores are divided by √D_H. That is the scaled dot product of Transformers, in lesson 04; this exercise asks
    for the plain dot product."""
    return _scores(S, H) / math.sqrt(S.shape[-1])


@dot_product_scores.misconception
def dot_averaged(S, H):
    """The products are averaged, so each score is divided by D_H. A dot product is their sum."""
    return _scores(S, H) / S.shape[-1]


@dot_product_scores.misconception
def dot_transposed(S, H):
    """The axes are swapped, [T_x, T_y]. Each row belongs to one decoder state, the one that attends; each column
    belongs to one encoder state."""
    return _scores(S, H).mT


@dot_product_scores.misconception
def dot_softmaxed(S, H):
    """These are attention weights already: each row is positive and sums to 1. The exercise asks for the scores that go
    into the softmax."""
    return _scores(S, H).softmax(dim=-1)


@dot_product_scores.misconception
def dot_as_cosine(S, H):
    """This is the cosine: both states were divided by their lengths. The dot product keeps the lengths."""
    return _scores(F.normalize(S, dim=-1), F.normalize(H, dim=-1))


@dot_product_scores.misconception
def dot_as_distance(S, H):
    """This is a distance between states: it is small where they are alike. The dot product is large where two states
    point the same way."""
    return torch.cdist(S, H)


@dot_product_scores.misconception
def dot_absolute(S, H):
    """The sign is lost: an absolute value is taken somewhere. States that point in opposite directions have a negative
    score."""
    return _scores(S, H).abs()


@dot_product_scores.misconception
def dot_with_the_last_encoder_state(S, H):
    """Every column is the same: all decoder states are compared with one encoder state only. Each h_i has a column of
    its own."""
    return _scores(S, H[..., -1:, :]).expand(*S.shape[:-1], H.shape[-2])


@dot_product_scores.misconception
def dot_with_the_first_decoder_state(S, H):
    """Every row is the same: one decoder state is used for all rows. Each s_t has a row of its own."""
    return _scores(S[..., :1, :], H).expand(*S.shape[:-1], H.shape[-2])


@dot_product_scores.misconception
def dot_of_the_products(S, H):
    """The products are there but not summed: a score is one number, the sum over the D_H products."""
    return S.unsqueeze(-2) * H.unsqueeze(-3)


@dot_product_scores.alternative
def dot_by_matmul(S, H):
    return torch.matmul(S, H.transpose(-2, -1))


@dot_product_scores.alternative
def dot_by_broadcast(S, H):
    return (S[..., :, None, :] * H[..., None, :, :]).sum(-1)


@dot_product_scores.alternative
def dot_state_by_state(S, H):
    return torch.stack([(H @ S[..., t, :, None])[..., 0] for t in range(S.shape[-2])], dim=-2)


@dot_product_scores.alternative
def dot_by_tensordot_and_loop(S, H):
    flat_S, flat_H = S.reshape(-1, *S.shape[-2:]), H.reshape(-1, *H.shape[-2:])
    rows = [torch.tensordot(s, h, dims=([1], [1])) for s, h in zip(flat_S, flat_H)]
    return torch.stack(rows).reshape(*S.shape[:-1], H.shape[-2])
