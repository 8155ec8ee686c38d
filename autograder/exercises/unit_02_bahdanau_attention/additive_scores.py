"""Exercise 3: additive scores, a small network with one hidden layer."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import exercise
from autograder.bank.families.attention import FUSED
from autograder.exercises.unit_02_bahdanau_attention._shared import score_cases


@exercise(
    points=3,
    section="Three ways to score",
    source="Bahdanau, Cho and Bengio 2015, appendix A.1.2",
    outputs="E",
    formula="E_ti = tanh(s_t W + h_i U) · v, with W [D_S, D_A], U [D_H, D_A], v [D_A]; the sum inside is [*B, T_y, T_x, D_A],"
    " E is [*B, T_y, T_x]",
    cases=score_cases(scale={"W": 0.4, "U": 0.4}),
    forbidden=FUSED,
)
def additive_scores(
    S: Float[Tensor, "*B T_y D_S"],
    H: Float[Tensor, "*B T_x D_H"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D_H D_A"],
    v: Float[Tensor, "D_A"],
) -> Float[Tensor, "*B T_y T_x"]:
    rows = [torch.tanh((S[..., t : t + 1, :] @ W) + H @ U) @ v for t in range(S.shape[-2])]
    return torch.stack(rows, dim=-2)


def _hidden(S, H, W, U):
    """The sum inside the tanh, [*B, T_y, T_x, D_A]."""
    return (S @ W).unsqueeze(-2) + (H @ U).unsqueeze(-3)


@additive_scores.misconception
def without_tanh(S, H, W, U, v):
    """The tanh is missing. Without it the score is a part that depends on s plus a part that depends on h, and a
    softmax over the encoder states removes the first part: every decoder state would attend to the same tokens."""
    return _hidden(S, H, W, U) @ v


@additive_scores.misconception
def tanh_at_the_end(S, H, W, U, v):
    """The tanh is applied to the score, after v. It belongs to the hidden layer: first tanh, then the product with
    v."""
    return torch.tanh(_hidden(S, H, W, U) @ v)


@additive_scores.misconception
def additive_sigmoid(S, H, W, U, v):
    """The hidden layer went through a sigmoid. The additive score uses tanh."""
    return torch.sigmoid(_hidden(S, H, W, U)) @ v


@additive_scores.misconception
def additive_relu(S, H, W, U, v):
    """The hidden layer went through a ReLU. The additive score uses tanh."""
    return torch.relu(_hidden(S, H, W, U)) @ v


@additive_scores.misconception
def summed_without_v(S, H, W, U, v):
    """v is left out: the numbers of the hidden layer are simply added up. v says how much each of them counts."""
    return torch.tanh(_hidden(S, H, W, U)).sum(dim=-1)


@additive_scores.misconception
def tanh_on_each_side(S, H, W, U, v):
    """tanh is applied to s W and to h U separately, and then the results are added. Add first: only then does each
    number of the hidden layer depend on s and h together."""
    return (torch.tanh(S @ W).unsqueeze(-2) + torch.tanh(H @ U).unsqueeze(-3)) @ v


@additive_scores.misconception
def multiplied_for_added(S, H, W, U, v):
    """s W and h U are multiplied. In the additive score they are added, and then tanh is applied."""
    return torch.tanh((S @ W).unsqueeze(-2) * (H @ U).unsqueeze(-3)) @ v


@additive_scores.misconception
def additive_scaled(S, H, W, U, v):
    """The scores are divided by √D_A. The additive score is not scaled: tanh already bounds each number of the hidden
    layer."""
    return torch.tanh(_hidden(S, H, W, U)) @ v / math.sqrt(len(v))


@additive_scores.misconception
def additive_transposed(S, H, W, U, v):
    """The axes are swapped, [T_x, T_y]. Each row belongs to one decoder state, the one that attends; each column
    belongs to one encoder state."""
    return (torch.tanh(_hidden(S, H, W, U)) @ v).mT


@additive_scores.misconception
def additive_softmaxed(S, H, W, U, v):
    """These are attention weights already: each row is positive and sums to 1. The exercise asks for the scores that go
    into the softmax."""
    return (torch.tanh(_hidden(S, H, W, U)) @ v).softmax(dim=-1)


@additive_scores.misconception
def decoder_state_left_out(S, H, W, U, v):
    """The decoder states have no effect: every row is the same. The hidden layer is computed from s W plus h U."""
    return torch.tanh(_hidden(0 * S, H, W, U)) @ v


@additive_scores.misconception
def encoder_state_left_out(S, H, W, U, v):
    """The encoder states have no effect: every column is the same. The hidden layer is computed from s W plus h U."""
    return torch.tanh(_hidden(S, 0 * H, W, U)) @ v


@additive_scores.misconception
def paired_by_place(S, H, W, U, v):
    """s_t is compared with h_t alone, position by position, or the two do not line up at all. Each decoder state meets
    every encoder state: give s W and h U a new axis of size 1 each, at different positions, and add."""
    return torch.tanh(S @ W + H @ U) @ v


@additive_scores.alternative
def broadcast(S, H, W, U, v):
    return torch.tanh((S @ W)[..., :, None, :] + (H @ U)[..., None, :, :]) @ v


@additive_scores.alternative
def concatenated(S, H, W, U, v):
    shape = (*S.shape[:-1], H.shape[-2])
    pairs = torch.cat(
        [S.unsqueeze(-2).expand(*shape, S.shape[-1]), H.unsqueeze(-3).expand(*shape, H.shape[-1])], dim=-1
    )
    return (torch.tanh(pairs @ torch.cat([W, U])) * v).sum(dim=-1)


@additive_scores.alternative
def word_by_word(S, H, W, U, v):
    columns = [torch.tanh(S @ W + H[..., i : i + 1, :] @ U) @ v for i in range(H.shape[-2])]
    return torch.stack(columns, dim=-1)


@additive_scores.alternative
def with_einsum(S, H, W, U, v):
    hidden = torch.einsum("...ts,sa->...ta", S, W).unsqueeze(-2) + torch.einsum("...xh,ha->...xa", H, U).unsqueeze(-3)
    return torch.einsum("...txa,a->...tx", hidden.tanh(), v)
