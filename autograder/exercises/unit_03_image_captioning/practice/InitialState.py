"""Right answers to `InitialState`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("timm: global average pooling")
class PooledState(nn.Module):
    def __init__(self, D, D_S):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G):
        x = F.adaptive_avg_pool2d(G, 1).flatten(1)
        return torch.tanh(self.linear(x))


@practice("Show, Attend and Tell in PyTorch (sgrvinod): the mean of the flattened cells")
class FlatMeanState(nn.Module):
    def __init__(self, D, D_S):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G):
        encoder_out = G.permute(0, 2, 3, 1).flatten(1, 2)
        mean_encoder_out = encoder_out.mean(dim=1)
        return self.linear(mean_encoder_out).tanh()


@practice("einops", needs="einops")
class ReducedState(nn.Module):
    def __init__(self, D, D_S):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G):
        from einops import reduce

        return self.linear(reduce(G, "b d h w -> b d", "mean")).tanh()


@practice("torch: the mean over two axes")
class MeanState(nn.Module):
    def __init__(self, D, D_S):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G):
        return torch.tanh(self.linear(G.mean(dim=(-2, -1))))


@practice("numpy-minded: a sum, divided by the number of cells, in place")
class SummedState(nn.Module):
    def __init__(self, D, D_S):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G):
        B, D, H, W = G.shape
        g_bar = G.reshape(B, D, -1).sum(-1).div_(H * W)
        return self.linear(g_bar).tanh_()


@practice("older vision code: F.avg_pool2d over the whole grid, then view")
class AvgPoolState(nn.Module):
    def __init__(self, D, D_S):
        super().__init__()
        self.linear = nn.Linear(D, D_S)

    def forward(self, G):
        x = F.avg_pool2d(G, kernel_size=G.size()[2:])
        x = x.view(x.size(0), -1)
        return torch.tanh(self.linear(x))
