"""Exercise 1: from one wide axis to heads."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


@exercise(
    points=1,
    section="Split, batch, merge",
    source="Vaswani et al. 2017, section 3.2.2",
    outputs="heads",
    formula="heads[b, h, n, d] = X[b, n, h·D_H + d]; X [B, N, H*D_H] gives heads [B, H, N, D_H]",
    cases=[
        Case("a batch"),
        Case("a batch of one", sizes={"B": 1}),
        Case("one head", sizes={"H": 1}),
        Case("more heads than vectors", sizes={"H": 7, "N": 3}),
        Case("one vector", sizes={"N": 1}),
    ],
)
def split_heads(X: Float[Tensor, "B N H*D_H"], H: int) -> Float[Tensor, "B H N D_H"]:
    return torch.stack(X.chunk(H, dim=-1), dim=1)


@split_heads.misconception
def reshaped_at_once(X, H):
    """The reshape went to [B, H, N, D_H] at once. It does not move numbers: a head then holds pieces of different vectors. Split
    the last axis first, [B, N, H, D_H], then exchange N and H."""
    B, N, D = X.shape
    return X.reshape(B, H, N, D // H)


@split_heads.misconception
def transposed_then_reshaped(X, H):
    """X was transposed to [B, H*D_H, N] and then reshaped to [B, H, N, D_H]: numbers of different vectors end in one row. Split
    the last axis first, [B, N, H, D_H], then exchange N and H."""
    B, N, D = X.shape
    return X.transpose(1, 2).reshape(B, H, N, D // H)


@split_heads.misconception
def heads_below(X, H):
    """The heads were put one below the other, [B, H*N, D_H]. They get an axis of their own, [B, H, N, D_H]: stack makes one, cat
    does not."""
    return torch.cat(X.chunk(H, dim=-1), dim=1)


@split_heads.misconception
def heads_last(X, H):
    """The width was split as [D_H, H], so that neighbouring features belong to different heads. Head h owns the D_H features
    from h·D_H on: unflatten(-1, (H, D_H))."""
    return X.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)


@split_heads.misconception
def batch_and_heads_joined(X, H):
    """Batch and heads have become one axis, [B*H, N, D_H]. nn.MultiheadAttention does that inside; here they stay apart."""
    return X.unflatten(-1, (H, -1)).transpose(1, 2).flatten(0, 1)


@split_heads.alternative
def by_view_and_permute(X, H):
    return X.view(*X.shape[:2], H, X.shape[-1] // H).permute(0, 2, 1, 3) if X.is_contiguous() else by_unflatten(X, H)


@split_heads.alternative
def by_unflatten(X, H):
    return X.unflatten(-1, (H, X.shape[-1] // H)).transpose(1, 2)


@split_heads.alternative
def by_unfold(X, H):
    width = X.shape[-1] // H
    return X.unfold(2, width, width).movedim(2, 1)


@split_heads.alternative
def head_by_head(X, H):
    width = X.shape[-1] // H
    heads = X.new_empty(len(X), H, X.shape[1], width)
    for h in range(H):
        heads[:, h] = X[:, :, h * width : (h + 1) * width]
    return heads
