"""Exercise 2: from heads back to one wide axis."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


@exercise(
    points=1,
    section="Split, batch, merge",
    source="Vaswani et al. 2017, section 3.2.2",
    outputs="X",
    formula="X[b, n, h·D_H + d] = heads[b, h, n, d]; heads [B, H, N, D_H] gives X [B, N, H*D_H]",
    cases=[
        Case("a batch"),
        Case("a batch of one", sizes={"B": 1}),
        Case("one head", sizes={"H": 1}),
        Case("more heads than vectors", sizes={"H": 7, "N": 3}),
    ],
)
def merge_heads(heads: Float[Tensor, "B H N D_H"]) -> Float[Tensor, "B N H*D_H"]:
    return torch.cat(list(heads.unbind(dim=1)), dim=-1)


@merge_heads.misconception
def reshaped_back_at_once(heads):
    """The reshape went to [B, N, H*D_H] at once. It does not move numbers: a row then holds pieces of different vectors of one
    head. Exchange H and N first, [B, N, H, D_H], then join."""
    B, H, N, D_H = heads.shape
    return heads.reshape(B, N, H * D_H)


@merge_heads.misconception
def wrong_axes_joined(heads):
    """Vectors and heads were joined, [B, N*H, D_H]. Once heads stand behind vectors, [B, N, H, D_H], the last two axes are
    joined: flatten(2)."""
    return heads.transpose(1, 2).flatten(1, 2)


@merge_heads.misconception
def vectors_joined_too(heads):
    """N was joined too, [B, N*H*D_H]. Join the last two axes only: flatten(2)."""
    return heads.transpose(1, 2).flatten(1)


@merge_heads.misconception
def heads_averaged(heads):
    """The heads were averaged. They are put side by side, so that nothing of what they found is lost."""
    return heads.mean(dim=1)


@merge_heads.misconception
def heads_summed(heads):
    """The heads were summed. They are put side by side; W_O may mix them later."""
    return heads.sum(dim=1)


@merge_heads.misconception
def features_outside(heads):
    """The features of the heads take turns: feature 0 of each head, then feature 1 of each. Each head's D_H features stay
    together."""
    return heads.permute(0, 2, 3, 1).flatten(2)


@merge_heads.misconception
def vectors_joined(heads):
    """The heads were put one below the other, [B, H*N, D_H]. They belong side by side: N vectors, each H*D_H wide."""
    return heads.flatten(1, 2)


@merge_heads.misconception
def not_joined(heads):
    """Heads and vectors have changed places, but the last two axes are still apart, [B, N, H, D_H]. Join them: flatten(2)."""
    return heads.transpose(1, 2)


@merge_heads.misconception
def first_head_alone(heads):
    """Only one head came back. All H stand side by side."""
    return heads[:, 0]


@merge_heads.misconception
def sequence_transposed(heads):
    """This is [B, H*D_H, N]: the features stand before the vectors. A sequence is [B, N, width]."""
    return heads.permute(0, 1, 3, 2).flatten(1, 2)


@merge_heads.alternative
def by_transpose_and_flatten(heads):
    return heads.transpose(1, 2).flatten(2)


@merge_heads.alternative
def by_reshape(heads):
    B, H, N, D_H = heads.shape
    return heads.permute(0, 2, 1, 3).contiguous().view(B, N, H * D_H)


@merge_heads.alternative
def head_by_head_again(heads):
    B, H, N, D_H = heads.shape
    X = heads.new_zeros(B, N, H * D_H)
    for h in range(H):
        X[..., h * D_H : (h + 1) * D_H] = heads[:, h]
    return X
