"""Right answers to `count_block`, as others write them."""

import torch
from torch import nn

from autograder.bank.practice import practice


@practice("formulas")
def formulas(D, D_F, N, gated):
    if gated:
        parameters = 4 * D**2 + 3 * D * D_F + 2 * D
        operations = N * (8 * D**2 + 6 * D * D_F) + 4 * N**2 * D
    else:
        parameters = 4 * D**2 + 2 * D * D_F + 9 * D + D_F
        operations = N * (8 * D**2 + 4 * D * D_F) + 4 * N**2 * D
    return parameters, operations


@practice("nanoGPT's transformer_sizing")
def nanogpt(D, D_F, N, gated):
    bias = not gated
    block_size = N

    params, flops = {}, {}
    params["attention/ln"] = D + int(bias) * D
    params["attention/kqv"] = D * 3 * D + int(bias) * 3 * D
    params["attention/proj"] = D * D + int(bias) * D
    params["mlp/ln"] = D + int(bias) * D
    if gated:
        params["mlp/gate"] = D * D_F
    params["mlp/ffw"] = D * D_F + int(bias) * D_F
    params["mlp/proj"] = D_F * D + int(bias) * D

    flops["attention/kqv"] = 2 * block_size * (D * 3 * D)
    flops["attention/scores"] = 2 * block_size * block_size * D
    flops["attention/reduce"] = 2 * block_size * block_size * D
    flops["attention/proj"] = 2 * block_size * (D * D)
    if gated:
        flops["mlp/gate"] = 2 * block_size * (D * D_F)
    flops["mlp/ffw1"] = 2 * block_size * (D * D_F)
    flops["mlp/ffw2"] = 2 * block_size * (D_F * D)
    return sum(params.values()), sum(flops.values())


@practice("plain Python integers")
def plain(D, D_F, N, gated):
    parameters, operations = [], []
    for d, f, n in zip(D.tolist(), D_F.tolist(), N.tolist()):
        matrices = [(d, 3 * d), (d, d), (d, f), (f, d)]
        if gated:
            matrices.append((d, f))
        p = sum(a * b for a, b in matrices)
        p += 2 * d if gated else 4 * d + sum(b for _, b in matrices)
        parameters.append(p)
        operations.append(sum(2 * n * a * b for a, b in matrices) + 2 * (2 * n * n * d))
    return torch.tensor(parameters, device=D.device), torch.tensor(operations, device=D.device)


@practice("a block on the meta device")
def meta(D, D_F, N, gated):
    def block(d, f):
        linear = [nn.Linear(d, 3 * d, bias=not gated), nn.Linear(d, d, bias=not gated)]
        if gated:
            linear += [nn.Linear(d, f, bias=False), nn.Linear(d, f, bias=False), nn.Linear(f, d, bias=False)]
            norms = [nn.RMSNorm(d), nn.RMSNorm(d)]
        else:
            linear += [nn.Linear(d, f), nn.Linear(f, d)]
            norms = [nn.LayerNorm(d), nn.LayerNorm(d)]
        return nn.ModuleList(linear + norms)

    params, flops = torch.empty_like(D), torch.empty_like(D)
    for s in range(D.numel()):
        d, f, n = int(D[s]), int(D_F[s]), int(N[s])
        with torch.device("meta"):
            layers = block(d, f)
        params[s] = sum(p.numel() for p in layers.parameters())
        flops[s] = sum(2 * n * m.weight.numel() for m in layers if isinstance(m, nn.Linear)) + 4 * n * n * d
    return params, flops


@practice("a helper for each product")
def helper(D, D_F, N, gated):
    def matmul_flops(n, k, m):
        return 2 * n * k * m

    n_up = 2 if gated else 1
    weights = D * (3 * D) + D * D + n_up * D * D_F + D_F * D
    extras = 2 * D if gated else (3 * D + D + D_F + D) + 2 * (D + D)
    flops = (
        matmul_flops(N, D, 3 * D)
        + matmul_flops(N, D, N)
        + matmul_flops(N, N, D)
        + matmul_flops(N, D, D)
        + n_up * matmul_flops(N, D, D_F)
        + matmul_flops(N, D_F, D)
    )
    return weights + extras, flops
