"""Right answers to `normal_float`, as others write them."""

import math
from statistics import NormalDist

import numpy as np
import torch

from autograder.bank.practice import practice


@practice("bitsandbytes' create_normal_map")
def create_normal_map(bits):
    norm = torch.distributions.Normal(0.0, 1.0)
    n = 2**bits
    offset = ((1 - 1 / (2 * n)) + (1 - 1 / (2 * (n - 1)))) / 2
    v1 = norm.icdf(torch.linspace(offset, 0.5, n // 2 + 1)[:-1]).tolist()
    v2 = [0] * 1
    v3 = (-norm.icdf(torch.linspace(offset, 0.5, n // 2)[:-1])).tolist()
    values = torch.Tensor(v1 + v2 + v3)
    values = values.sort().values
    values /= values.max()
    return values


@practice("torch.special.ndtri")
def ndtri(bits):
    h = 2 ** (bits - 1)
    o = 0.5 * (1 - 1 / (2 * 2**bits) + 1 - 1 / (2 * (2**bits - 1)))
    positive = torch.special.ndtri(torch.linspace(o, 0.5, h + 1, dtype=torch.float64)[:-1])
    negative = -torch.special.ndtri(torch.linspace(o, 0.5, h, dtype=torch.float64)[:-1])
    code = torch.cat([negative, torch.zeros(1, dtype=torch.float64), positive.flip(0)])
    return (code / positive[0]).float()


@practice("erfinv")
def erfinv(bits):
    n_levels = 2**bits
    half = n_levels // 2
    offset = 1 - (1 / (2 * n_levels) + 1 / (2 * (n_levels - 1))) / 2

    def quantiles(steps):
        p = offset + (0.5 - offset) * torch.arange(steps) / steps
        return math.sqrt(2) * torch.erfinv(2 * p - 1)

    pos, neg = quantiles(half), -quantiles(half - 1)
    levels, _ = torch.sort(torch.cat((pos, torch.tensor([0.0]), neg)))
    return levels / levels.abs().max()


@practice("the standard library's NormalDist")
def normal_dist(bits):
    h = 2 ** (bits - 1)
    o = ((1 - 1 / (2 * 2**bits)) + (1 - 1 / (2 * (2**bits - 1)))) / 2
    inv_cdf = NormalDist().inv_cdf
    numbers = [0.0]
    for i in range(h):
        numbers.append(inv_cdf(o + (0.5 - o) * i / h))
    for i in range(h - 1):
        numbers.append(-inv_cdf(o + (0.5 - o) * i / (h - 1)))
    top = max(numbers)
    return torch.tensor(sorted(x / top for x in numbers))


@practice("numpy-minded, the lower tail")
def lower_tail(bits):
    h = 2 ** (bits - 1)
    tail = (1 / (4 * h) + 1 / (4 * h - 2)) / 2
    neg = torch.special.ndtri(torch.from_numpy(np.linspace(tail, 0.5, h))[:-1])
    pos = torch.special.ndtri(torch.from_numpy(np.linspace(1 - tail, 0.5, h + 1))[:-1])
    book = np.concatenate([neg.numpy() / -neg[0].item(), [0.0], pos.numpy()[::-1] / pos[0].item()])
    return torch.tensor(book, dtype=torch.float32)
