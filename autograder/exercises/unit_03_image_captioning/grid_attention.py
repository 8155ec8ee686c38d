"""Exercise 3: a decoder state attends to a grid."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED


@exercise(
    points=3,
    section="Attention over the feature map",
    source="Xu et al. 2015, Show, Attend and Tell, section 4.2",
    outputs="c A",
    formula="E[h, w] = tanh(s W + G[:, h, w] U) · v, A = softmax over all H*W cells, c = Σ over cells of A[h, w] · G[:, h, w];"
    " c [B, D], A [B, H, W]",
    cases=[
        Case("a batch of images"),
        Case("a batch of one", sizes={"B": 1}),
        Case("a wide grid", sizes={"H": 2, "W": 9}),
        Case("strong features", scale={"G": 3.0}),
    ],
    forbidden=FUSED,
)
def grid_attention(
    s: Float[Tensor, "B D_S"],
    G: Float[Tensor, "B D H W"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D D_A"],
    v: Float[Tensor, "D_A"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B H W"]]:
    hidden = torch.tanh(torch.einsum("bs,sa->ba", s, W)[:, None, None] + torch.einsum("bdhw,da->bhwa", G, U))
    E = torch.einsum("bhwa,a->bhw", hidden, v)
    A = torch.exp(E - E.amax(dim=(1, 2), keepdim=True))
    A = A / A.sum(dim=(1, 2), keepdim=True)
    return torch.einsum("bhw,bdhw->bd", A, G), A


def _scores(s, G, W, U, v, activation=torch.tanh):
    """Scores [B, H, W]."""
    return activation((s @ W)[:, None, None] + G.permute(0, 2, 3, 1) @ U) @ v


def _mixed(A, G):
    return (A[:, None] * G).sum(dim=(2, 3)), A


def _shares(E):
    return E.flatten(1).softmax(dim=-1).view_as(E)


@grid_attention.misconception
def softmax_over_columns(s, G, W, U, v):
    """The softmax runs along each row of the grid, so the weights of every row sum to 1. There is one sum of 1 for all
    H*W cells together: flatten the cells before the softmax."""
    return _mixed(_scores(s, G, W, U, v).softmax(dim=-1), G)


@grid_attention.misconception
def softmax_over_rows(s, G, W, U, v):
    """The softmax runs down each column of the grid, so the weights of every column sum to 1. There is one sum of 1 for
    all H*W cells together: flatten the cells before the softmax."""
    return _mixed(_scores(s, G, W, U, v).softmax(dim=1), G)


@grid_attention.misconception
def softmax_over_rows_and_columns(s, G, W, U, v):
    """Two softmaxes, one along the rows and one down the columns of the grid, are not a softmax over all cells. Flatten
    the cells first, then apply one softmax."""
    return _mixed(_scores(s, G, W, U, v).softmax(dim=-1).softmax(dim=-2), G)


@grid_attention.misconception
def softmax_over_images(s, G, W, U, v):
    """The softmax runs over the images of the batch. In each image a weight of 1 is distributed over its own cells."""
    return _mixed(_scores(s, G, W, U, v).softmax(dim=0), G)


@grid_attention.misconception
def tanh_left_out(s, G, W, U, v):
    """The tanh is missing. Without it the decoder state adds the same number to every score, the softmax removes it
    again, and every token attends to the same cells."""
    return _mixed(_shares(_scores(s, G, W, U, v, activation=lambda hidden: hidden)), G)


@grid_attention.misconception
def relu_for_tanh(s, G, W, U, v):
    """A ReLU stands where the tanh should be: E = tanh(s W + g U) · v."""
    return _mixed(_shares(_scores(s, G, W, U, v, activation=torch.relu)), G)


@grid_attention.misconception
def state_left_out(s, G, W, U, v):
    """The decoder state has no effect on the weights, so every token attends to the same cells. s W goes into the same
    tanh as g U: a number that is added to all scores alike is removed by the softmax."""
    return _mixed(_shares(_scores(torch.zeros_like(s), G, W, U, v)), G)


@grid_attention.misconception
def scores_for_weights(s, G, W, U, v):
    """A holds the scores: the softmax is missing, or its result was used for c alone."""
    E = _scores(s, G, W, U, v)
    return _mixed(_shares(E), G)[0], E


@grid_attention.misconception
def cells_averaged(s, G, W, U, v):
    """The context vector is the plain mean of all cells: the weights were not used for it. c = Σ A[h, w] · G[:, h,
    w]."""
    return G.mean(dim=(2, 3)), _shares(_scores(s, G, W, U, v))


@grid_attention.misconception
def divided_by_cells(s, G, W, U, v):
    """The context vector is too small by a factor of the number of cells: a mean was taken. The weights already sum to
    1, so take the weighted sum."""
    A = _shares(_scores(s, G, W, U, v))
    return (A[:, None] * G).mean(dim=(2, 3)), A


@grid_attention.misconception
def strongest_cell_alone(s, G, W, U, v):
    """The context vector is the vector of the cell with the largest weight. Soft attention mixes all cells by their
    weights, so that a gradient reaches the scores."""
    A = _shares(_scores(s, G, W, U, v))
    best = A.flatten(1).argmax(dim=-1)
    return G.flatten(2)[torch.arange(len(G)), :, best], A


@grid_attention.misconception
def cells_reshaped_wrongly(s, G, W, U, v):
    """The vectors mix numbers of several cells: the grid was reshaped to [B, H*W, D] without moving the axis of the
    features to the end. flatten(2).mT, or permute(0, 2, 3, 1), moves it."""
    B, D, height, width = G.shape
    X = G.reshape(B, height * width, D)
    A = (torch.tanh((s @ W)[:, None] + X @ U) @ v).softmax(dim=-1)
    return (A[:, None] @ X)[:, 0], A.reshape(B, height, width)


@grid_attention.misconception
def projected_cells_mixed(s, G, W, U, v):
    """The context vector mixes the cells after the projection U, [B, D_A]. U serves the scores alone; the context
    vector mixes the cells' own vectors, [B, D]."""
    A = _shares(_scores(s, G, W, U, v))
    return torch.einsum("bhw,bhwa->ba", A, G.permute(0, 2, 3, 1) @ U), A


@grid_attention.misconception
def weights_left_flat(s, G, W, U, v):
    """The weights are still a list of H*W. Return them as a map, [B, H, W]."""
    c, A = _mixed(_shares(_scores(s, G, W, U, v)), G)
    return c, A.flatten(1)


@grid_attention.alternative
def flattened_first(s, G, W, U, v):
    X = G.flatten(2).mT
    A = (torch.tanh((s @ W).unsqueeze(1) + X @ U) @ v).softmax(dim=1)
    return torch.bmm(A.unsqueeze(1), X).squeeze(1), A.unflatten(1, G.shape[2:])


@grid_attention.alternative
def image_by_image(s, G, W, U, v):
    contexts, maps = [], []
    for state, grid in zip(s, G):
        X = grid.flatten(1).T
        a = torch.softmax(torch.tanh(state @ W + X @ U) @ v, dim=0)
        contexts.append(a @ X)
        maps.append(a.reshape(grid.shape[1:]))
    return torch.stack(contexts), torch.stack(maps)


@grid_attention.alternative
def as_a_convolution(s, G, W, U, v):
    hidden = torch.tanh(torch.conv2d(G, U.T[:, :, None, None]) + (s @ W)[:, :, None, None])
    E = torch.conv2d(hidden, v[None, :, None, None])[:, 0]
    A = torch.exp(E - E.logsumexp(dim=(1, 2), keepdim=True))
    return (A.unsqueeze(1) * G).sum(dim=(-2, -1)), A
