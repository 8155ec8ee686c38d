"""Right answers to `doubly_stochastic_penalty`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Show, Attend and Tell in PyTorch (sgrvinod), with its mean over the cells undone")
def sgrvinod(A, real):
    alphas = A * real.unsqueeze(2)
    return ((1.0 - alphas.sum(dim=1)) ** 2).mean() * A.size(2)


@practice("the authors' Theano code")
def theano(A, real):
    mask = real.to(A.dtype)
    alphas = A * mask[:, :, None]
    return ((1.0 - alphas.sum(1)) ** 2).sum(1).mean()


@practice("Hugging Face: masked_fill, F.mse_loss")
def hf(A, real):
    attentions = A.masked_fill(~real.unsqueeze(-1), 0.0)
    coverage = attentions.sum(dim=1)
    return F.mse_loss(coverage, torch.ones_like(coverage), reduction="sum") / coverage.shape[0]


@practice("einops", needs="einops")
def lucidrains(A, real):
    from einops import einsum, reduce

    coverage = einsum(A, real.to(A), "b t l, b t -> b l")
    return reduce((1 - coverage).square(), "b l -> b", "sum").mean()


@practice("a matrix product with the mask, a squared norm")
def matmuls(A, real):
    missing = 1 - torch.bmm(real.type_as(A)[:, None, :], A)[:, 0]
    return torch.linalg.vecdot(missing, missing).mean()


@practice("plain loops over captions and their tokens")
def loops(A, real):
    penalties = []
    for weights, tokens in zip(A, real):
        total = weights[tokens].sum(dim=0)
        penalties.append(((1 - total) ** 2).sum())
    return sum(penalties) / len(penalties)
