"""Exercise 1: a block of the decoder, whose second sublayer reads the source."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.masks import random_mask


def _drawn(inputs, sizes, rng):
    """Sources of different lengths with padding behind them; where there is room, the first has some and the last has none."""
    lengths = rng.integers(1, sizes["N"] + 1, size=sizes["B"])
    lengths[-1], lengths[0] = sizes["N"], max(1, sizes["N"] - 2)
    return {"mask": np.arange(sizes["N"]) < lengths[:, None]}


def _anywhere(inputs, rng):
    inputs["mask"][:] = random_mask(inputs["mask"].shape, rng)


def _case(text, edit=None, edge=False, **sizes):
    return Case(text, sizes={"D": 12, "H": 3, **sizes}, edit=edit, edge=edge)


@exercise(
    points=4,
    section="The decoder block",
    source="Vaswani et al. 2017, section 3.1, with the norms in front of the sublayers: Xiong et al. 2020, table 1",
    outputs="X_new",
    formula="X_1 = X + self-attention(norm_1(X)) by W_QKV and W_O, where position t attends to 0, …, t; X_2 = X_1 +"
    " cross-attention(norm_2(X_1), memory) by W_Q, W_KV and W_C, where the mask is True; X_new = X_2 + MLP(norm_3(X_2)); H heads"
    " with softmax(Q Kᵀ/√(D/H)) V; MLP(X) = W_out(ReLU(W_in(X))); X, X_1, X_2, X_new [B, T, D], memory [B, N, D], mask [B, N]",
    cases=[
        _case("sources of different lengths"),
        _case("padding between tokens", edit=_anywhere),
        _case("as many sequences as heads", B="H"),
        _case("translations as long as their sources", N="T"),
        _case("one head", D=7, H=1),
        _case("as many sequences as tokens written, padding between tokens", edit=_anywhere, edge=True, B="T"),
        _case("as many hidden units as features, four heads", edge=True, D=8, H=4, D_F="D"),
    ],
    forbidden=("multi_head_attention", "transformer_decoder_layer", "transformer_encoder_layer"),
    draws=_drawn,
)
class DecoderBlock(nn.Module):
    def __init__(self, D: int, H: int, D_F: int):
        super().__init__()
        self.H = H
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.W_Q, self.W_KV, self.W_C = nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.W_in, self.W_out = nn.Linear(D, D_F), nn.Linear(D_F, D)

    def forward(
        self, X: Float[Tensor, "B T D"], memory: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"]
    ) -> Float[Tensor, "B T D"]:
        places = torch.arange(X.shape[1], device=X.device)
        Q, K, V = self.W_QKV(self.norm_1(X)).unflatten(-1, (3, self.H, -1)).unbind(dim=2)  # [B, T, H, D/H] each
        X = X + self.W_O(_attended(Q, K, V, places <= places.unsqueeze(1)))
        Q = self.W_Q(self.norm_2(X)).unflatten(-1, (self.H, -1))
        K, V = self.W_KV(memory).unflatten(-1, (2, self.H, -1)).unbind(dim=2)  # [B, N, H, D/H] each
        X = X + self.W_C(_attended(Q, K, V, mask[:, None, None]))
        return X + self.W_out(self.W_in(self.norm_3(X)).clamp(min=0))


def _attended(Q, K, V, allowed):
    """What each position finds, of all heads side by side; `allowed` fits [B, H, T, N]."""
    E = torch.where(allowed, torch.einsum("bthd,bnhd->bhtn", Q, K) / math.sqrt(Q.shape[-1]), -math.inf)
    powers = (E - E.amax(dim=-1, keepdim=True)).exp()
    return torch.einsum("bhtn,bnhd->bthd", powers / powers.sum(dim=-1, keepdim=True), V).flatten(2)


def _split(self, X):
    return X.unflatten(-1, (self.H, -1)).transpose(1, 2)


def _merge(found):
    return found.transpose(1, 2).flatten(2)


def _hidden(E, allowed):
    return E.masked_fill(~allowed, -math.inf).softmax(dim=-1)


def _attend(self, vectors, allowed, weights=_hidden, split=_split, merge=_merge, divisor=None):
    Q, K, V = (split(self, one) for one in vectors)
    return merge(weights(Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor), allowed) @ V)


def _own(self, X, triangle=torch.tril, **wrong):
    causal = triangle(torch.ones(X.shape[1], X.shape[1], device=X.device)) > 0
    return self.W_O(_attend(self, self.W_QKV(X).chunk(3, dim=-1), causal, **wrong))


def _cross(self, X, memory, mask, keys=0, **wrong):
    parts = self.W_KV(memory).chunk(2, dim=-1)
    return self.W_C(_attend(self, (self.W_Q(X), parts[keys], parts[1 - keys]), mask[:, None, None], **wrong))


def _mlp(self, X):
    return self.W_out(self.W_in(X).relu())


def _block(self, X, memory, mask, *, own=(), cross=(), both=(), second=None, mlp=_mlp, third=None):
    """The block, with mistakes in one attention or both; `second` gives what is added to X_1, `third` the result."""
    X_1 = X + _own(self, self.norm_1(X), **dict(own), **dict(both))
    second = second or (lambda X_1, X: _cross(self, self.norm_2(X_1), memory, mask, **dict(cross), **dict(both)))
    X_2 = X_1 + second(X_1, X)
    return third(X_2, X) if third else X_2 + mlp(self, self.norm_3(X_2))


@DecoderBlock.misconception
def later_tokens_seen(self, X, memory, mask):
    """Each position of the translation attends to all positions of it, later ones included. While it translates, the decoder has
    not written these yet: position t attends to 0, …, t."""
    return _block(self, X, memory, mask, own={"triangle": lambda all: all})


@DecoderBlock.misconception
def cross_attention_causal(self, X, memory, mask):
    """The cross-attention is causal as well: position t of the translation sees the first t + 1 tokens of the source alone. The
    source is there as a whole before the first token is written, and each position may attend to all of its tokens."""

    def weights(E, allowed):
        return _hidden(E, allowed & torch.ones_like(E, dtype=torch.bool).tril())

    return _block(self, X, memory, mask, cross={"weights": weights})


@DecoderBlock.misconception
def padding_behind_the_softmax(self, X, memory, mask):
    """The weights at the source's padding were set to 0 after the softmax, so that those of the tokens sum to less than 1. Hide
    the scores before it: −∞ where the mask is False."""
    return _block(self, X, memory, mask, cross={"weights": lambda E, mask: E.softmax(dim=-1) * mask})


@DecoderBlock.misconception
def memory_normed_again(self, X, memory, mask):
    """The memory goes through norm_2 as well. This norm belongs to what asks, X_1; the memory has been normed by the last norm of
    the encoder, and is read as it is."""
    return _block(self, X, memory, mask, second=lambda X, _: _cross(self, self.norm_2(X), self.norm_2(memory), mask))


@DecoderBlock.misconception
def cross_attention_beside(self, X, memory, mask):
    """The cross-attention asks with the X that came into the block. It comes after the self-attention, and asks with the X_1 to
    which that was added: what to look for in the source depends on what has been written."""
    return _block(self, X, memory, mask, second=lambda _, X: _cross(self, self.norm_2(X), memory, mask))


@DecoderBlock.misconception
def source_before_the_translation(self, X, memory, mask):
    """The two attentions have changed places. First the translation looks at itself (norm_1, W_QKV, W_O), then at the source
    (norm_2, W_Q, W_KV, W_C)."""
    X = X + _cross(self, self.norm_2(X), memory, mask)
    X = X + _own(self, self.norm_1(X))
    return X + _mlp(self, self.norm_3(X))


@DecoderBlock.misconception
def no_residual_around_cross_attention(self, X, memory, mask):
    """The residual connection around the cross-attention is missing: what it finds in the source takes the place of X_1, and
    should be added to it."""
    return _block(self, X, memory, mask, second=lambda X, _: _cross(self, self.norm_2(X), memory, mask) - X)


@DecoderBlock.misconception
def sum_with_the_normed(self, X, memory, mask):
    """Each sublayer's result is added to the normed X. It is added to X as it was before the norm, so that the residual stream
    runs through the block without any: X + self-attention(norm_1(X)), and so on."""
    X = self.norm_1(X)
    X = self.norm_2(X + _own(self, X))
    X = self.norm_3(X + _cross(self, X, memory, mask))
    return X + _mlp(self, X)


@DecoderBlock.misconception
def post_norm(self, X, memory, mask):
    """The block is post-norm: each norm comes after a sum. Here it is pre-norm, each norm stands in front of its sublayer, inside
    the sum: X + self-attention(norm_1(X)), and so on."""
    X = self.norm_1(X + _own(self, X))
    X = self.norm_2(X + _cross(self, X, memory, mask))
    return self.norm_3(X + _mlp(self, X))


@DecoderBlock.misconception
def gelu(self, X, memory, mask):
    """GELU stands between the two layers of the MLP, as in the block of lesson 9. Here it is ReLU, as in the paper."""
    return _block(self, X, memory, mask, mlp=lambda self, X: self.W_out(F.gelu(self.W_in(X))))


@DecoderBlock.misconception
def scaled_by_the_whole_width(self, X, memory, mask):
    """The scores are divided by √D, the root of the width of all heads together. The dot product of a head runs over its own D/H
    features: divide by √(D/H)."""
    return _block(self, X, memory, mask, both={"divisor": math.sqrt(X.shape[-1])})


def _split_at_once(self, X):
    return X.reshape(len(X), self.H, X.shape[1], -1)


def _merge_at_once(found):
    return found.reshape(len(found), found.shape[2], -1)


@DecoderBlock.misconception
def split_by_a_reshape(self, X, memory, mask):
    """Heads were split off and merged by a reshape alone, to [B, H, T, D/H] and back. It does not move numbers, so that a head
    holds pieces of different vectors: split the last axis, exchange positions and H, and go the same way back."""
    return _block(self, X, memory, mask, both={"split": _split_at_once, "merge": _merge_at_once})


@DecoderBlock.alternative
def as_a_student_writes_it(self, X, memory, mask):
    return _block(self, X, memory, mask)


@DecoderBlock.alternative
def fused(self, X, memory, mask):
    Q, K, V = (_split(self, one) for one in self.W_QKV(self.norm_1(X)).chunk(3, dim=-1))
    X = self.W_O(_merge(F.scaled_dot_product_attention(Q, K, V, is_causal=True))) + X
    K, V = (_split(self, one) for one in self.W_KV(memory).chunk(2, dim=-1))
    Q, words = _split(self, self.W_Q(self.norm_2(X))), mask[:, None, None, :]
    X = self.W_C(_merge(F.scaled_dot_product_attention(Q, K, V, attn_mask=words))) + X
    return self.W_out(F.relu(self.W_in(self.norm_3(X)))) + X


@DecoderBlock.alternative
def with_numbers_for_masks(self, X, memory, mask):
    """Heads are read off one by one; −∞ is added where attention is forbidden."""

    def attention(Q, K, V, added):
        heads = zip(*(one.chunk(self.H, dim=-1) for one in (Q, K, V)))
        return torch.cat([(q @ k.mT * q.shape[-1] ** -0.5 + added).softmax(-1) @ v for q, k, v in heads], dim=-1)

    later = torch.full((X.shape[1],) * 2, -math.inf, dtype=X.dtype, device=X.device).triu(1)
    padding = torch.zeros_like(mask, dtype=X.dtype).masked_fill(~mask, -math.inf).unsqueeze(1)
    X = X + self.W_O(attention(*self.W_QKV(self.norm_1(X)).tensor_split(3, dim=-1), later))
    X = X + self.W_C(attention(self.W_Q(self.norm_2(X)), *self.W_KV(memory).tensor_split(2, dim=-1), padding))
    return X + _mlp(self, self.norm_3(X))
