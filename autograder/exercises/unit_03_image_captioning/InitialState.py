"""Exercise 4: the decoder's first state, from the mean of the grid."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


@exercise(
    points=2,
    section="One token at a time",
    source="Xu et al. 2015, Show, Attend and Tell, section 3.1.2",
    outputs="s_0",
    formula="s_0 = tanh(linear(mean over all cells of G[:, h, w])); G [B, D, H, W] gives s_0 [B, D_S]",
    cases=[
        Case("a batch of images"),
        Case("a batch of one", sizes={"B": 1}),
        Case("a wide grid", sizes={"H": 2, "W": 9}),
        Case("strong features", scale={"G": 3.0}),
    ],
)
class InitialState(nn.Module):
    def __init__(self, D: int, D_S: int):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B D_S"]:
        H, W = G.shape[2:]
        mean = sum(G[:, :, h, w] for h in range(H) for w in range(W)) / (H * W)
        return torch.tanh(mean @ self.linear.weight.T + self.linear.bias)


@InitialState.misconception
def summed_cells(self, G):
    """The cells were added up, not averaged: with more cells the numbers would grow, and the tanh would saturate. Take
    the mean."""
    return torch.tanh(self.linear(G.sum(dim=(2, 3))))


@InitialState.misconception
def largest_of_each_channel(self, G):
    """The largest number of each feature was taken (max pooling). The first state is computed from the mean of the
    cells."""
    return torch.tanh(self.linear(G.amax(dim=(2, 3))))


@InitialState.misconception
def no_tanh_at_the_start(self, G):
    """The tanh is missing: the numbers of the GRU's states lie between −1 and 1, and so should those of the first
    one."""
    return self.linear(G.mean(dim=(2, 3)))


@InitialState.misconception
def sigmoid_at_the_start(self, G):
    """A sigmoid stands where the tanh should be: the numbers of a state lie between −1 and 1, not between 0 and 1."""
    return torch.sigmoid(self.linear(G.mean(dim=(2, 3))))


@InitialState.misconception
def averaged_last(self, G):
    """Each cell went through the layer and tanh, and the results were averaged. The mean comes first:
    tanh(linear(mean))."""
    return torch.tanh(self.linear(G.permute(0, 2, 3, 1))).mean(dim=(1, 2))


@InitialState.misconception
def tanh_before_the_layer(self, G):
    """The tanh was applied to the mean, before the layer. It comes last: tanh(linear(mean))."""
    return self.linear(torch.tanh(G.mean(dim=(2, 3))))


@InitialState.misconception
def cells_cut_from_the_wrong_list(self, G):
    """The mean mixes numbers of several features: the grid was reshaped to [B, H*W, D] without moving the axis of the
    features to the end."""
    return torch.tanh(self.linear(G.reshape(len(G), -1, G.shape[1]).mean(dim=1)))


@InitialState.misconception
def first_cell_alone(self, G):
    """Only the cell in the upper left corner was used. The first state is computed from the mean of all cells."""
    return torch.tanh(self.linear(G[:, :, 0, 0]))


@InitialState.misconception
def one_axis_averaged(self, G):
    """The mean was taken over one axis of the grid only, so that there is a state for each row, [B, H, D_S]. Average
    over both axes, H and W."""
    return torch.tanh(self.linear(G.mean(dim=3).mT))


@InitialState.misconception
def zeros_to_begin(self, G):
    """The state is what a feature map of zeros would give: the image has no effect. The first state is computed from
    the mean of the cells."""
    return torch.tanh(self.linear(torch.zeros_like(G[:, :, 0, 0])))


@InitialState.misconception
def images_averaged_together(self, G):
    """The mean runs over the batch, too: all images get the same first state. Average over H and W alone."""
    return torch.tanh(self.linear(G.mean(dim=(0, 2, 3)))).expand(len(G), -1)


@InitialState.alternative
def pooled_by_torch(self, G):
    return torch.tanh(self.linear(torch.nn.functional.adaptive_avg_pool2d(G, 1).flatten(1)))


@InitialState.alternative
def mean_after_the_layer(self, G):
    return self.linear(G.flatten(2).mT).mean(dim=1).tanh()


@InitialState.alternative
def mean_of_flattened(self, G):
    return torch.tanh(self.linear(G.flatten(start_dim=-2).mean(dim=-1)))
