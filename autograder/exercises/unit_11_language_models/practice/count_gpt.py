"""Right answers to `count_gpt`, as others write them."""

import torch
from torch import nn

from autograder.bank.practice import practice


@practice("formulas")
def formulas(V, N, D, L, D_F, tied):
    block = 4 * D * D + 4 * D + 2 * D * D_F + D_F + D + 4 * D
    parameters = V * D + N * D + L * block + 2 * D
    if not tied:
        parameters = parameters + V * D
    operations = L * (8 * N * D * D + 4 * N * N * D + 4 * N * D * D_F) + 2 * N * D * V
    return parameters, operations


@practice("nanoGPT's transformer_sizing")
def nanogpt(V, N, D, L, D_F, tied):
    out, flops = {}, {}
    out["emebedding/position"] = D * N
    out["embedding/token"] = D * V
    out["embedding"] = out["emebedding/position"] + out["embedding/token"]
    out["attention/ln"] = D + D
    out["attention/kqv"] = D * 3 * D + 3 * D
    out["attention/proj"] = D**2 + D
    out["attention"] = out["attention/ln"] + out["attention/kqv"] + out["attention/proj"]
    out["mlp/ln"] = D + D
    out["mlp/ffw"] = D * D_F + D_F
    out["mlp/proj"] = D_F * D + D
    out["mlp"] = out["mlp/ln"] + out["mlp/ffw"] + out["mlp/proj"]
    out["block"] = out["attention"] + out["mlp"]
    out["transformer"] = L * out["block"]
    out["ln_f"] = 2 * D
    out["dense"] = 0 if tied else D * V
    out["total"] = out["embedding"] + out["transformer"] + out["ln_f"] + out["dense"]

    flops["attention/kqv"] = 2 * N * (D * 3 * D)
    flops["attention/scores"] = 2 * N * N * D
    flops["attention/reduce"] = 2 * N * N * D
    flops["attention/proj"] = 2 * N * (D * D)
    flops["mlp/ffw1"] = 2 * N * (D * D_F)
    flops["mlp/ffw2"] = 2 * N * (D_F * D)
    flops["dense"] = 2 * N * (D * V)
    forward = sum(v for name, v in flops.items() if name != "dense") * L + flops["dense"]
    return out["total"], forward


@practice("plain Python integers")
def plain(V, N, D, L, D_F, tied):
    parameters, operations = [], []
    for v, n, d, layers, f in zip(*(t.tolist() for t in (V, N, D, L, D_F))):
        linear = [(d, d)] * 4 + [(d, f), (f, d)]
        block = sum(i * o + o for i, o in linear) + 2 * (2 * d)
        parameters.append(v * d * (1 if tied else 2) + n * d + layers * block + 2 * d)
        products = [(n, i, o) for i, o in linear] + [(n, d, n), (n, n, d)]
        operations.append(layers * sum(2 * a * b * c for a, b, c in products) + 2 * n * d * v)
    return (
        torch.tensor(parameters, dtype=torch.int64, device=D.device),
        torch.tensor(operations, dtype=torch.int64, device=D.device),
    )


@practice("a model on the meta device")
def meta(V, N, D, L, D_F, tied):
    parameters, operations = [], []
    for v, n, d, layers, f in torch.stack([V, N, D, L, D_F], dim=1).tolist():
        with torch.device("meta"):
            tables = [nn.Embedding(v, d), nn.Embedding(n, d)]
            block = nn.TransformerEncoderLayer(d, 1, f)
            rest = [nn.LayerNorm(d)] + ([] if tied else [nn.Linear(d, v, bias=False)])
        num_params = sum(p.numel() for m in tables + rest for p in m.parameters())
        num_params += layers * sum(p.numel() for p in block.parameters())
        matrices = sum(p.numel() for p in block.parameters() if p.dim() == 2)
        parameters.append(num_params)
        operations.append(2 * n * layers * matrices + 4 * layers * n * n * d + 2 * n * d * v)
    return torch.tensor(parameters, device=V.device), torch.tensor(operations, device=V.device)


@practice("helpers for a layer and for a product")
def helpers(V, N, D, L, D_F, tied):
    def linear(n, m):
        return n * m + m

    def product(n, k, m):
        return 2 * n * k * m

    parameters = V * D + N * D + L * (4 * linear(D, D) + linear(D, D_F) + linear(D_F, D) + 2 * 2 * D) + 2 * D
    parameters += V * D * int(not tied)
    per_block = 4 * product(N, D, D) + product(N, D, N) + product(N, N, D) + product(N, D, D_F) + product(N, D_F, D)
    return parameters, L * per_block + product(N, D, V)
