"""Exercise 1: the grid that a CNN leaves, as a collection of vectors."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


@exercise(
    points=2,
    section="A feature map is a grid of vectors",
    source="Xu et al. 2015, Show, Attend and Tell, section 3.1.1",
    outputs="X",
    formula="X[b, h·W + w] = G[b, :, h, w]: the cells row by row; G [B, D, H, W] gives X [B, H*W, D]",
    cases=[
        Case("a batch of grids"),
        Case("a batch of one", sizes={"B": 1}),
        Case("a grid with one row", sizes={"H": 1}),
        Case("a high grid", sizes={"H": 11, "W": 2}),
    ],
)
def grid_to_vectors(G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B H*W D"]:
    H, W = G.shape[2:]
    return torch.stack([G[:, :, h, w] for h in range(H) for w in range(W)], dim=1)


@grid_to_vectors.misconception
def reshaped_without_moving(G):
    """Only the shape was changed: each row of X now mixes numbers of several cells. reshape keeps the order of the
    numbers, so the axis of the features must first be moved to the end."""
    B, D, H, W = G.shape
    return G.reshape(B, H * W, D)


@grid_to_vectors.misconception
def column_by_column(G):
    """The vectors are right, but their order is not: the cells go column by column. Row by row means that W runs
    fastest."""
    return G.permute(0, 3, 2, 1).flatten(1, 2)


@grid_to_vectors.misconception
def channels_left_in_front(G):
    """This is [B, D, H*W]: the cells were joined, but the axis of the features still stands in front of them. The last
    axis should hold the D features of a cell."""
    return G.flatten(2)


@grid_to_vectors.misconception
def still_a_grid(G):
    """The features are last, but the cells are still a grid of H by W. They should be one axis of H*W vectors."""
    return G.permute(0, 2, 3, 1)


@grid_to_vectors.misconception
def all_in_one_vector(G):
    """Everything became one long vector, as when flatten is called without naming the axes to join. Keep cells and
    features apart."""
    return G.flatten(1)


@grid_to_vectors.misconception
def averaged_cells(G):
    """The cells were averaged into one vector for the whole image. Attention needs them apart: keep all H*W vectors."""
    return G.mean(dim=(2, 3))


@grid_to_vectors.misconception
def images_joined(G):
    """The cells of all images stand in one long list. Each image keeps its own list, along the batch axis B."""
    return G.permute(0, 2, 3, 1).flatten(0, 2)


@grid_to_vectors.misconception
def bottom_row_first(G):
    """The rows go from the bottom to the top. Row 0 of an image is its top row, and comes first."""
    return G.flip(2).permute(0, 2, 3, 1).flatten(1, 2)


@grid_to_vectors.misconception
def only_one_axis_moved(G):
    """Rows and features were exchanged before the reshape, so that a vector mixes numbers of several cells. Both H and
    W must come before D: permute(0, 2, 3, 1)."""
    B, D, H, W = G.shape
    return G.transpose(1, 2).reshape(B, H * W, D)


@grid_to_vectors.alternative
def flattened_and_turned(G):
    return G.flatten(2).mT


@grid_to_vectors.alternative
def permuted(G):
    return G.permute(0, 2, 3, 1).reshape(len(G), -1, G.shape[1])


@grid_to_vectors.alternative
def moved_and_unfolded(G):
    return torch.movedim(G, 1, -1).flatten(1, 2)


@grid_to_vectors.alternative
def with_loops(G):
    B, D, H, W = G.shape
    X = G.new_zeros(B, H * W, D)
    for h in range(H):
        for w in range(W):
            X[:, h * W + w] = G[:, :, h, w]
    return X
