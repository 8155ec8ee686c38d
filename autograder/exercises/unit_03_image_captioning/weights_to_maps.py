"""Exercise 2: weights over cells, back as maps."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    A = np.exp(inputs["A"])
    return {"A": A / A.sum(axis=-1, keepdims=True), "height": sizes["H"]}


@exercise(
    points=1,
    section="A feature map is a grid of vectors",
    source="Xu et al. 2015, Show, Attend and Tell, figure 2",
    outputs="maps",
    formula="maps[…, h, w] = A[…, h·W + w] with W = H*W / height; A [*B, H*W] gives maps [*B, H, W]",
    cases=[
        Case("the weights of one look", expand={"*B": ""}),
        Case("weights for each word of a caption", expand={"*B": "T"}),
        Case("a batch of captions", expand={"*B": "B T"}),
        Case("a wide grid", expand={"*B": "B"}, sizes={"H": 2, "W": 9}),
        Case("a single row", expand={"*B": "B"}, sizes={"H": 1, "W": 6}),
    ],
    draws=_drawn,
)
def weights_to_maps(A: Float[Tensor, "*B H*W"], height: int) -> Float[Tensor, "*B H W"]:
    return torch.stack(A.chunk(height, dim=-1), dim=-2)


@weights_to_maps.misconception
def filled_column_by_column(A, height):
    """The map is filled column by column. The cells were listed row by row: cell h·W + w belongs to row h and column
    w."""
    return A.unflatten(-1, (-1, height)).mT


@weights_to_maps.misconception
def height_taken_for_width(A, height):
    """Height and width are exchanged: `height` is the number of rows, so the second-to-last axis has that size."""
    return A.unflatten(-1, (-1, height))


@weights_to_maps.misconception
def upside_down(A, height):
    """The map is upside down. The first W weights belong to the top row, which is row 0, as in an image."""
    return A.unflatten(-1, (height, -1)).flip(-2)


@weights_to_maps.misconception
def stretched_to_one(A, height):
    """Each map was scaled so that its largest weight is 1. That helps for drawing; here the weights stay as they are,
    with sum 1."""
    return (A / A.amax(dim=-1, keepdim=True)).unflatten(-1, (height, -1))


@weights_to_maps.misconception
def softmax_again(A, height):
    """A softmax was applied to numbers that are attention weights already. Only the shape should change."""
    return A.softmax(dim=-1).unflatten(-1, (height, -1))


@weights_to_maps.misconception
def taken_for_a_square(A, height):
    """The grid was taken for a square. It need not be one: W is the number of weights divided by height."""
    side = round(A.shape[-1] ** 0.5)
    return A[..., : side * side].unflatten(-1, (side, side))


@weights_to_maps.misconception
def leading_axes_joined(A, height):
    """The axes in front (batch, tokens) were joined into one. They stay as they are: only the last axis is divided."""
    return A.reshape(-1, height, A.shape[-1] // height)


@weights_to_maps.misconception
def channel_added(A, height):
    """There is an extra axis of size 1, as drawing or upsampling would need it. The map is [*B, H, W]."""
    return A.unflatten(-1, (height, -1)).unsqueeze(-3)


@weights_to_maps.misconception
def relative_to_even(A, height):
    """The weights were multiplied by the number of cells, so that equal weights become 1. Here the weights stay as they
    are, with sum 1."""
    return (A * A.shape[-1]).unflatten(-1, (height, -1))


@weights_to_maps.alternative
def viewed(A, height):
    return A.reshape(*A.shape[:-1], height, A.shape[-1] // height)


@weights_to_maps.alternative
def unflattened(A, height):
    return A.unflatten(-1, (height, -1))


@weights_to_maps.alternative
def row_by_row(A, height):
    width = A.shape[-1] // height
    return torch.stack([A[..., h * width : (h + 1) * width] for h in range(height)], dim=-2)
