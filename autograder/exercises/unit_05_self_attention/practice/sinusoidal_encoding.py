"""Right answers to `sinusoidal_encoding`, as others write them."""

import math

import torch

from autograder.bank.practice import practice


@practice("the Annotated Transformer")
def annotated(positions, D, base=10000.0):
    pe = torch.zeros(len(positions), D, device=positions.device)
    position = positions.unsqueeze(1)
    div_term = torch.exp(torch.arange(0, D, 2, device=positions.device) * -(math.log(base) / D))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


@practice("d2l")
def d2l(positions, D, base=10000.0):
    X = positions.to(torch.float32).reshape(-1, 1) / torch.pow(
        base, torch.arange(0, D, 2, dtype=torch.float32, device=positions.device) / D
    )
    P = torch.zeros((positions.shape[0], D), device=positions.device)
    P[:, 0::2] = torch.sin(X)
    P[:, 1::2] = torch.cos(X)
    return P


@practice("Meta's Llama code")
def llama(positions, D, base=10000.0):
    freqs = 1.0 / (base ** (torch.arange(0, D, 2, device=positions.device)[: (D // 2)].float() / D))
    freqs = torch.outer(positions.float(), freqs)
    freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
    return torch.view_as_real(freqs_cis)[..., [1, 0]].flatten(-2)


@practice("fairseq and Tensor2Tensor")
def fairseq(positions, D, base=10000.0):
    half_dim = D // 2
    emb = math.log(base) / half_dim
    emb = torch.exp(torch.arange(half_dim, dtype=torch.float, device=positions.device) * -emb)
    emb = positions.float().unsqueeze(1) * emb.unsqueeze(0)
    emb = torch.stack([torch.sin(emb), torch.cos(emb)], dim=2).view(positions.size(0), -1)
    return emb


@practice("einops", needs="einops")
def lucidrains(positions, D, base=10000.0):
    from einops import einsum, rearrange

    inv_freq = base ** -(torch.arange(0, D, 2, device=positions.device).float() / D)
    sinu = einsum(positions.type_as(inv_freq), inv_freq, "i, j -> i j")
    return rearrange([sinu.sin(), sinu.cos()], "two n d -> n (d two)")


@practice("plain loops")
def loops(positions, D, base=10000.0):
    table = []
    for pos in positions.tolist():
        row = []
        for i in range(D // 2):
            angle = pos / base ** (2 * i / D)
            row += [math.sin(angle), math.cos(angle)]
        table.append(row)
    return torch.tensor(table, dtype=torch.float32, device=positions.device)


@practice("the Keras tutorial: all columns, then the parity")
def keras(positions, D, base=10000.0):
    i = torch.arange(D, device=positions.device)[None, :]
    angle_rates = 1 / torch.pow(base, (2 * (i // 2)).float() / D)
    angle_rads = positions[:, None] * angle_rates
    return torch.where(i % 2 == 0, angle_rads.sin(), angle_rads.cos())
