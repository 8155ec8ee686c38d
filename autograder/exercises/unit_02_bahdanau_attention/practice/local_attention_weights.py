"""Right answers to `local_attention_weights`, as others write them."""

import math

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT: masked_fill, -inf")
def nanogpt(E, p, D):
    pos = torch.arange(0, E.size(-1), device=E.device)
    dist = pos - p.unsqueeze(-1)
    att = E.masked_fill(dist.abs() > D, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att * torch.exp(-(dist**2) / (2 * (D / 2) ** 2))


@practice("Luong's formulas: float32 inside, an additive mask")
def luong(E, p, D):
    sigma = D / 2
    s = torch.arange(E.shape[-1], dtype=torch.float32, device=E.device)
    p_t = p.float()[..., None]
    window = (s >= p_t - D) & (s <= p_t + D)
    bias = torch.zeros_like(window, dtype=torch.float32).masked_fill(~window, -math.inf)
    align = torch.softmax(E.float() + bias, dim=-1)
    return (align * torch.exp(-((s - p_t) ** 2) / (2 * sigma**2))).type_as(E)


@practice("einops and torch.where", needs="einops")
def lucidrains(E, p, D):
    from einops import rearrange

    seq = torch.arange(E.shape[-1], device=E.device, dtype=p.dtype)
    rel = seq - rearrange(p, "... i -> ... i 1")
    in_window = (rel >= -D) & (rel <= D)
    sim = torch.where(in_window, E, -torch.inf)
    gaussian = (-2 * (rel / D).square()).exp()
    return sim.softmax(dim=-1) * gaussian


@practice("numpy-minded: the softmax by hand, in place")
def by_hand(E, p, D):
    offset = torch.arange(E.shape[-1]).to(p) - p[..., None]
    inside = offset.abs() <= D
    e = E.masked_fill(~inside, -torch.inf)
    w = (e - e.amax(-1, keepdim=True)).exp()
    w = w / w.sum(-1, keepdim=True)
    sigma = 0.5 * D
    w *= torch.exp(-0.5 * (offset / sigma) ** 2)
    return w


@practice("plain loops: each row's window is sliced out")
def loops(E, p, D):
    T_x = E.shape[-1]
    scores, centres = E.reshape(-1, T_x), p.reshape(-1)
    A = torch.zeros_like(scores)
    for row, (e, centre) in enumerate(zip(scores, centres)):
        lo = max(0, math.ceil(centre.item() - D))
        hi = min(T_x - 1, math.floor(centre.item() + D))
        where = torch.arange(lo, hi + 1, device=E.device)
        gauss = torch.exp(-((where - centre) ** 2) / (2 * (D / 2) ** 2))
        A[row, lo : hi + 1] = torch.softmax(e[lo : hi + 1], dim=0) * gauss
    return A.reshape(E.shape)


@practice("JAX-minded: one row's weights, vmapped over the flattened rows")
def vmapped(E, p, D):
    places = torch.arange(E.shape[-1], device=E.device)

    def row(e, centre):
        away = places - centre
        e = torch.where(torch.abs(away) <= D, e, float("-inf"))
        return torch.softmax(e, dim=0) * torch.exp(-2 * away**2 / D**2)

    return torch.func.vmap(row)(E.flatten(0, -2), p.flatten()).view(E.shape)
