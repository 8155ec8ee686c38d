"""Exercise 6: the doubly stochastic penalty."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    B, T, cells = inputs["A"].shape
    A = np.exp(inputs["A"])
    lengths = rng.integers(T // 2 + 1, T, size=B) if T > 2 else np.full(B, T)  # more tokens than padding
    return {"A": A / A.sum(axis=-1, keepdims=True), "real": np.arange(T) < lengths[:, None]}


def _all_real(inputs, rng):
    inputs["real"][:] = True


@exercise(
    points=3,
    section="Doubly stochastic attention",
    source="Xu et al. 2015, Show, Attend and Tell, equation 14",
    outputs="penalty",
    formula="for each caption Σ over cells i of (1 − Σ over its tokens t of A[t, i])², averaged over the batch; a scalar",
    cases=[
        Case("captions of several lengths"),
        Case("captions without padding", edit=_all_real),
        Case("a batch of one", sizes={"B": 1, "L": 15}),
        Case("many cells", sizes={"L": 40}),
    ],
    draws=_drawn,
)
def doubly_stochastic_penalty(A: Float[Tensor, "B T L"], real: Bool[Tensor, "B T"]) -> Float[Tensor, ""]:
    found = []
    for weights, words in zip(A, real):
        looked = weights[words].sum(dim=0)  # [L]
        found.append(((1 - looked) ** 2).sum())
    return torch.stack(found).mean()


def _looked(A, real):
    return (A * real.unsqueeze(-1)).sum(dim=1)


@doubly_stochastic_penalty.misconception
def padding_counted(A, real):
    """The weights of padding count, too. Only real tokens count: leave out the weights where `real` is False, before
    the sum over t."""
    return (1 - A.sum(dim=1)).square().sum(dim=-1).mean()


@doubly_stochastic_penalty.misconception
def real_turned_round(A, real):
    """The weights of the padding count and those of the tokens do not: the mask `real` is inverted. True means a
    token."""
    return (1 - _looked(A, ~real)).square().sum(dim=-1).mean()


@doubly_stochastic_penalty.misconception
def summed_over_cells(A, real):
    """The inner sum runs over the cells. It is 1 for every token, so nothing is left to learn. Inside, sum over the
    tokens t; outside, over the cells i."""
    return ((1 - A.sum(dim=-1)) * real).square().sum(dim=-1).mean() + 0 * A.sum()


@doubly_stochastic_penalty.misconception
def not_squared(A, real):
    """The square is missing, so too much and too little cancel each other."""
    return (1 - _looked(A, real)).sum(dim=-1).mean()


@doubly_stochastic_penalty.misconception
def absolute_for_squared(A, real):
    """The distance from 1 is taken without its square. With (1 − Σ)² a cell that is far from 1 counts more."""
    return (1 - _looked(A, real)).abs().sum(dim=-1).mean()


@doubly_stochastic_penalty.misconception
def averaged_over_cells(A, real):
    """The cells were averaged. The formula sums over the cells, and averages over the captions only."""
    return (1 - _looked(A, real)).square().mean()


@doubly_stochastic_penalty.misconception
def summed_over_captions(A, real):
    """The captions were added up, so the penalty grows with the batch. Average over the batch."""
    return (1 - _looked(A, real)).square().sum()


@doubly_stochastic_penalty.misconception
def squared_before_the_sum(A, real):
    """Each weight was compared with 1 and squared by itself. First add up what a cell receives from all tokens, then
    compare this sum with 1, and square."""
    return ((1 - A).square() * real.unsqueeze(-1)).sum(dim=(1, 2)).mean()


@doubly_stochastic_penalty.misconception
def averaged_over_words(A, real):
    """What a cell receives was averaged over the tokens, where the formula sums: over the whole caption it should come
    to 1."""
    mean = _looked(A, real) / real.sum(dim=1, keepdim=True)
    return (1 - mean).square().sum(dim=-1).mean()


@doubly_stochastic_penalty.misconception
def root_at_the_end(A, real):
    """A square root was taken of each caption's sum. The penalty is the sum of the squares itself."""
    return (1 - _looked(A, real)).square().sum(dim=-1).sqrt().mean()


@doubly_stochastic_penalty.misconception
def squared_after_the_sum(A, real):
    """The differences were added up over the cells, and the sum was squared, so too much and too little cancel each
    other. Square the difference of each cell first."""
    return (1 - _looked(A, real)).sum(dim=-1).square().mean()


@doubly_stochastic_penalty.misconception
def captions_averaged_first(A, real):
    """The captions were averaged before the square. Each caption has its own penalty; average the penalties."""
    return (1 - _looked(A, real).mean(dim=0)).square().sum()


@doubly_stochastic_penalty.misconception
def one_left_out(A, real):
    """The 1 is missing: this penalty asks for small sums. Each cell should receive a weight of about 1 over the whole
    caption: (1 − Σ)²."""
    return _looked(A, real).square().sum(dim=-1).mean()


@doubly_stochastic_penalty.misconception
def one_for_each_caption(A, real):
    """This is a penalty for each caption, [B]. Average over the batch, so that one number is left."""
    return (1 - _looked(A, real)).square().sum(dim=-1)


@doubly_stochastic_penalty.alternative
def with_einsum(A, real):
    looked = torch.einsum("btl,bt->bl", A, real.to(A.dtype))
    return torch.einsum("bl,bl->", 1 - looked, 1 - looked) / len(A)


@doubly_stochastic_penalty.alternative
def with_masked_fill(A, real):
    return ((A.masked_fill(~real[..., None], 0).sum(1) - 1) ** 2).sum(1).mean(0)


@doubly_stochastic_penalty.alternative
def with_a_matrix_product(A, real):
    looked = (real[:, None].to(A.dtype) @ A)[:, 0]
    return torch.linalg.vector_norm(1 - looked, dim=-1).square().mean()
