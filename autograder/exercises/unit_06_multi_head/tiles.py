"""Exercise 6: attention block by block, without the table of all weights."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank import Case, exercise
from autograder.exercises.unit_04_attention_layer.common import FUSED

LONG = {"N_Q": 40, "N_X": 63, "B": 2, "D_Q": 3, "D_V": 4}  # the table is larger than all that a block needs


def _drifting(inputs, rng):
    """Scores that grow from block to block, so that the maximum keeps changing."""
    N = inputs["K"].shape[-2]
    inputs["Q"][..., 0] = 1.5
    inputs["K"][..., 0] += torch.linspace(0, 6, N).numpy()


def _large(inputs, rng):
    inputs["Q"][..., 0] = 40.0
    inputs["K"][..., 0] += 20.0


def _far_below(inputs, rng):
    inputs["Q"][..., 0] = -40.0
    inputs["K"][..., 0] += 20.0


def _case(text, block, **more):
    return Case(text, values={"block": block}, **more)


@exercise(
    points=4,
    section="In tiles",
    outputs="Y",
    formula="Y = softmax(Q Kᵀ/√D_Q) V [B, N_Q, D_V], block by block over the N_X data vectors: m, l, O as in the step before,"
    " Y = O/l at the end; no tensor as large as the table of N_Q × N_X scores",
    cases=[
        _case("blocks that fit", 8, sizes={**LONG, "N_X": 64}, smaller_than=("N_Q", "N_X")),
        _case(
            "a last block that is shorter", 9, sizes={**LONG, "N_X": 61}, smaller_than=("N_Q", "N_X"), edit=_drifting
        ),
        _case("a few vectors", 3, edit=_drifting),
        _case("one block for all", 50),
        _case("blocks of one vector", 1, sizes={"B": 1}),
        _case("large scores", 4, edit=_large, extreme=True),
        _case("scores far below zero", 4, edit=_far_below, extreme=True),
    ],
    forbidden=FUSED,
)
def tiled_attention(
    Q: Float[Tensor, "B N_Q D_Q"], K: Float[Tensor, "B N_X D_Q"], V: Float[Tensor, "B N_X D_V"], block: int
) -> Float[Tensor, "B N_Q D_V"]:
    return F.scaled_dot_product_attention(Q, K, V)


def _tiled(Q, K, V, block, scale=None, start=-torch.inf, rescale=True, last=True):
    m, l = Q.new_full(Q.shape[:-1], start), Q.new_zeros(Q.shape[:-1])
    O = Q.new_zeros(*Q.shape[:-1], V.shape[-1])
    for begin in range(0, K.shape[-2] if last else K.shape[-2] // block * block, block):
        E = Q @ K[..., begin : begin + block, :].mT * (Q.shape[-1] ** -0.5 if scale is None else scale)
        m_new = torch.maximum(m, E.amax(dim=-1))
        f = torch.exp(m - m_new) if rescale else torch.ones_like(m)
        P = torch.exp(E - m_new[..., None])
        l, O, m = f * l + P.sum(dim=-1), f[..., None] * O + P @ V[..., begin : begin + block, :], m_new
    return O, l


def _divided(O, l):
    return O / l[..., None]


@tiled_attention.misconception
def last_block_dropped(Q, K, V, block):
    """The last block is left out when it is shorter than the others. range(0, N_X, block) begins it, and a slice ends by itself
    where the vectors end."""
    O, l = _tiled(Q, K, V, block, last=False) if K.shape[-2] >= block else _tiled(Q, K, V, block)
    return _divided(O, l)


@tiled_attention.misconception
def not_rescaled(Q, K, V, block):
    """The sums of earlier blocks were not rescaled when a larger score came. Multiply l and O by exp(m − m_new)."""
    return _divided(*_tiled(Q, K, V, block, rescale=False))


@tiled_attention.misconception
def softmax_in_each_block(Q, K, V, block):
    """Each block went through a softmax of its own, and the results were averaged. Then each block counts alike, however
    small its scores are. The blocks share one softmax: keep exponentials and their sum, divide at the end."""
    found = [
        (Q @ K[..., b : b + block, :].mT * Q.shape[-1] ** -0.5).softmax(dim=-1) @ V[..., b : b + block, :]
        for b in range(0, K.shape[-2], block)
    ]
    return torch.stack(found).mean(dim=0)


@tiled_attention.misconception
def softmax_in_each_block_summed(Q, K, V, block):
    """Each block went through a softmax of its own, and the results were summed, so that all weights together are as many
    as there are blocks. The blocks share one softmax: keep exponentials and their sum, divide at the end."""
    found = [
        (Q @ K[..., b : b + block, :].mT * Q.shape[-1] ** -0.5).softmax(dim=-1) @ V[..., b : b + block, :]
        for b in range(0, K.shape[-2], block)
    ]
    return torch.stack(found).sum(dim=0)


@tiled_attention.misconception
def not_divided(Q, K, V, block):
    """The division at the end is missing: Y = O / l. Until then the weights are exponentials that do not sum to 1."""
    return _tiled(Q, K, V, block)[0]


@tiled_attention.misconception
def divided_by_the_last_block(Q, K, V, block):
    """O was divided by the sum of the last block alone. l must run along through all blocks."""
    O, _ = _tiled(Q, K, V, block)
    begin = (K.shape[-2] - 1) // block * block
    E = Q @ K.mT[..., begin:] * Q.shape[-1] ** -0.5
    top = (Q @ K.mT * Q.shape[-1] ** -0.5).amax(dim=-1, keepdim=True)
    return O / torch.exp(E - top).sum(dim=-1, keepdim=True)


@tiled_attention.misconception
def not_scaled(Q, K, V, block):
    """The scores are not divided by √D_Q, as scaled dot-product attention does."""
    return _divided(*_tiled(Q, K, V, block, scale=1.0))


@tiled_attention.misconception
def scaled_by_the_block(Q, K, V, block):
    """The scores are divided by the root of the block's size. The scale belongs to the width of the vectors, √D_Q."""
    return _divided(*_tiled(Q, K, V, block, scale=block**-0.5))


@tiled_attention.misconception
def maximum_from_zero(Q, K, V, block):
    """The running maximum begins at 0. Where all scores are far below, all exponentials become 0, and 0/0 is NaN. Begin at
    −inf."""
    return _divided(*_tiled(Q, K, V, block, start=0.0))


@tiled_attention.misconception
def without_a_maximum(Q, K, V, block):
    """exp is taken of the scores as they are: large ones overflow. Subtract the running maximum."""
    m, O = 0.0, 0.0
    for b in range(0, K.shape[-2], block):
        P = torch.exp(Q @ K[..., b : b + block, :].mT * Q.shape[-1] ** -0.5)
        m, O = m + P.sum(dim=-1), O + P @ V[..., b : b + block, :]
    return O / m[..., None]


@tiled_attention.misconception
def first_block_alone(Q, K, V, block):
    """Only one block was looked at. All of them take part in the softmax."""
    return (Q @ K[..., :block, :].mT * Q.shape[-1] ** -0.5).softmax(dim=-1) @ V[..., :block, :]


@tiled_attention.misconception
def own_block_alone(Q, K, V, block):
    """Each block of queries looked at the block of data vectors at its own place. That is a window; every query looks at all data
    vectors, some at a time."""
    rows = []
    for n in range(Q.shape[-2]):
        b = min(n // block * block, (K.shape[-2] - 1) // block * block)
        A = (Q[:, n : n + 1] @ K[:, b : b + block].mT * Q.shape[-1] ** -0.5).softmax(dim=-1)
        rows.append(A @ V[:, b : b + block])
    return torch.cat(rows, dim=1)


@tiled_attention.alternative
def by_the_recurrence(Q, K, V, block):
    return _divided(*_tiled(Q, K, V, block))


@tiled_attention.alternative
def merged_by_log_sums(Q, K, V, block):
    Y, log = 0.0, torch.full_like(Q[..., :1], -torch.inf)
    for k, v in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = torch.bmm(Q, k.transpose(1, 2)) / math.sqrt(Q.shape[-1])
        part, here = E.softmax(dim=-1) @ v, E.logsumexp(dim=-1, keepdim=True)
        both = torch.logaddexp(log, here)
        Y, log = Y * (log - both).exp() + part * (here - both).exp(), both
    return Y


@tiled_attention.alternative
def maxima_in_a_first_pass(Q, K, V, block):
    m = torch.stack([(Q @ k.mT).amax(dim=-1) for k in K.split(block, dim=1)]).amax(dim=0) / math.sqrt(Q.shape[-1])
    top, total, scale = torch.zeros_like(Q[..., :1]) * V[:, :1, :1], 0.0, 1 / math.sqrt(Q.shape[-1])
    for k, v in zip(K.split(block, dim=1), V.split(block, dim=1)):
        P = (Q @ k.mT * scale - m[..., None]).exp()
        top, total = top + P @ v, total + P.sum(dim=-1, keepdim=True)
    return top / total


@tiled_attention.alternative
def queries_in_blocks_too(Q, K, V, block):
    return torch.cat([_divided(*_tiled(q, K, V, block)) for q in Q.split(max(block, 7), dim=1)], dim=1)
