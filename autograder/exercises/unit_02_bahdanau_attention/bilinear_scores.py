"""Exercise 2: bilinear scores, for states of different widths."""

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
    source="Luong, Pham and Manning 2015, equation 8 (general)",
    outputs="E",
    formula="E_ti = s_tᵀ W h_i, with S [*B, T_y, D_S], W [D_S, D_H], H [*B, T_x, D_H] gives E [*B, T_y, T_x]",
    cases=score_cases(scale={"W": 0.6}),
    forbidden=FUSED,
)
def bilinear_scores(
    S: Float[Tensor, "*B T_y D_S"], H: Float[Tensor, "*B T_x D_H"], W: Float[Tensor, "D_S D_H"]
) -> Float[Tensor, "*B T_y T_x"]:
    return torch.einsum("...ts,sh,...xh->...tx", S, W, H)


def _scores(S, H, W):
    return S @ W @ H.mT


@bilinear_scores.misconception
def matrix_turned_round(S, H, W):
    """W is used transposed. It maps a decoder state of width D_S to D_H numbers, S W; or, which gives the same scores,
    an encoder state of width D_H to D_S numbers, H Wᵀ."""
    return S @ W.T @ H.mT


@bilinear_scores.misconception
def bilinear_scaled_by_query(S, H, W):
    """The scores are divided by √D_S. The exercise asks for sᵀ W h as it is; scaling comes in lesson 04."""
    return _scores(S, H, W) / math.sqrt(S.shape[-1])


@bilinear_scores.misconception
def bilinear_scaled_by_data(S, H, W):
    """The scores are divided by √D_H. The exercise asks for sᵀ W h as it is; scaling comes in lesson 04."""
    return _scores(S, H, W) / math.sqrt(H.shape[-1])


@bilinear_scores.misconception
def bilinear_transposed(S, H, W):
    """The axes are swapped, [T_x, T_y]. Each row belongs to one decoder state, the one that attends; each column
    belongs to one encoder state."""
    return _scores(S, H, W).mT


@bilinear_scores.misconception
def bilinear_softmaxed(S, H, W):
    """These are attention weights already: each row is positive and sums to 1. The exercise asks for the scores that go
    into the softmax."""
    return _scores(S, H, W).softmax(dim=-1)


@bilinear_scores.misconception
def bilinear_with_tanh(S, H, W):
    """A tanh is applied on the way. The bilinear score has none: it is linear in s and in h. The additive score of the
    next exercise has one."""
    return torch.tanh(S @ W) @ H.mT


@bilinear_scores.misconception
def tanh_of_the_score(S, H, W):
    """The score itself went through a tanh, so it lies between −1 and 1, and no token could stand out. Leave the score
    as it is."""
    return torch.tanh(_scores(S, H, W))


@bilinear_scores.misconception
def bilinear_as_cosine(S, H, W):
    """The vectors were divided by their lengths before the product. The exercise asks for sᵀ W h with the lengths
    kept."""
    return F.normalize(S @ W, dim=-1) @ F.normalize(H, dim=-1).mT


@bilinear_scores.misconception
def matrix_squared(S, H, W):
    """W is applied twice, once to S and once to H. Apply it once: (S W) Hᵀ."""
    return S @ W @ (H @ W.T @ W).mT


@bilinear_scores.misconception
def bilinear_with_the_last_encoder_state(S, H, W):
    """Every column is the same: all decoder states are compared with one encoder state only. Each h_i has a column of
    its own."""
    return _scores(S, H[..., -1:, :], W).expand(*S.shape[:-1], H.shape[-2])


@bilinear_scores.alternative
def left_to_right(S, H, W):
    return torch.matmul(torch.matmul(S, W), H.transpose(-1, -2))


@bilinear_scores.alternative
def encoder_states_mapped(S, H, W):
    return S @ F.linear(H, W).mT


@bilinear_scores.alternative
def pair_by_pair(S, H, W):
    columns = [((S @ W) * H[..., i : i + 1, :]).sum(-1) for i in range(H.shape[-2])]
    return torch.stack(columns, dim=-1)


@bilinear_scores.alternative
def by_broadcast(S, H, W):
    return ((S[..., :, None, :, None] * W).sum(-2) * H[..., None, :, :]).sum(-1)
