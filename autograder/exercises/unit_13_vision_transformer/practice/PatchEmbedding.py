"""Right answers to `PatchEmbedding`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("timm")
class Timm(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.patch_size = (P, P)
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if images is not None:
            x = self.projection(images)
            return x.flatten(2).transpose(1, 2)
        return F.linear(patches, self.projection.weight.flatten(1), self.projection.bias)


@practice("Hugging Face")
class HuggingFace(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.num_channels = C
        self.projection = nn.Conv2d(C, D, kernel_size=P, stride=P)

    def forward(self, images, patches=None):
        if patches is not None:
            weight = self.projection.weight.view(self.projection.out_channels, -1)
            return nn.functional.linear(patches, weight, self.projection.bias)
        batch_size, num_channels, height, width = images.shape
        if num_channels != self.num_channels:
            raise ValueError("Make sure that the channel dimension of the pixel values match with the configuration.")
        embeddings = self.projection(images).flatten(2).transpose(1, 2)
        return embeddings


@practice("einops", needs="einops")
class Lucidrains(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, P, stride=P)

    def forward(self, images, patches=None):
        from einops import einsum, rearrange

        if images is None:
            kernels = rearrange(self.projection.weight, "d c p1 p2 -> d (c p1 p2)")
            return einsum(patches, kernels, "b n p, d p -> b n d") + self.projection.bias
        return rearrange(self.projection(images), "b d h w -> b (h w) d")


@practice("torchvision")
class Torchvision(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.hidden_dim = D
        self.projection = nn.Conv2d(in_channels=C, out_channels=D, kernel_size=P, stride=P)
        fan_in = self.projection.in_channels * P * P
        nn.init.trunc_normal_(self.projection.weight, std=math.sqrt(1 / fan_in))
        if self.projection.bias is not None:
            nn.init.zeros_(self.projection.bias)

    def forward(self, images, patches=None):
        if patches is None:
            n, c, h, w = images.shape
            x = self.projection(images)
            x = x.reshape(n, self.hidden_dim, -1)
            return x.permute(0, 2, 1)
        weight = self.projection.weight.reshape(self.hidden_dim, -1)
        return torch.matmul(patches, weight.T) + self.projection.bias


@practice("Flax-minded")
class Flax(nn.Module):
    def __init__(self, C, P, D):
        super().__init__()
        self.projection = nn.Conv2d(C, D, kernel_size=(P, P), stride=(P, P), padding="valid")

    def forward(self, images, patches=None):
        if images is not None:
            x = self.projection(images).movedim(1, -1)
            n, h, w, c = x.shape
            return torch.reshape(x, [n, h * w, c])
        kernel = torch.reshape(self.projection.weight, (self.projection.weight.shape[0], -1))
        return torch.einsum("bnp,dp->bnd", patches, kernel) + self.projection.bias
