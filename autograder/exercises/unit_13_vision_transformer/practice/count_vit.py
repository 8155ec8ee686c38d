"""Right answers to `count_vit`, as others write them."""

import math

import torch
from torch import nn

from autograder.bank.practice import practice


@practice("one formula")
def formula(size, P, C, D, L, D_F, classes):
    N = (size // P) ** 2
    block = 4 * D**2 + 2 * D * D_F + 9 * D + D_F
    return C * P**2 * D + D + D + (N + 1) * D + L * block + 2 * D + D * classes + classes


@practice("a helper for linear layers")
def helper(size, P, C, D, L, D_F, classes):
    def linear(n_in, n_out):
        return n_in * n_out + n_out

    side = torch.div(size, P, rounding_mode="floor")
    embedding = linear(C * P * P, D)
    class_token = D
    table = (side * side + 1) * D
    layer_norm = 2 * D
    block = 4 * linear(D, D) + linear(D, D_F) + linear(D_F, D) + 2 * layer_norm
    return embedding + class_token + table + L * block + layer_norm + linear(D, classes)


@practice("plain Python integers")
def plain(size, P, C, D, L, D_F, classes):
    counts = []
    for s, p, c, d, n_layers, f, k in zip(*[t.tolist() for t in (size, P, C, D, L, D_F, classes)]):
        n = (s // p) ** 2
        params = {
            "patch_embed": c * p * p * d + d,
            "cls_token": d,
            "pos_embed": (n + 1) * d,
            "qkv": n_layers * (d * 3 * d + 3 * d),
            "proj": n_layers * (d * d + d),
            "norms": n_layers * 2 * 2 * d,
            "mlp": n_layers * (d * f + f + f * d + d),
            "norm": 2 * d,
            "head": d * k + k,
        }
        counts.append(sum(params.values()))
    return torch.tensor(counts, dtype=torch.int64, device=size.device)


@practice("a model on the meta device")
def meta(size, P, C, D, L, D_F, classes):
    total = torch.zeros_like(size)
    for s in range(len(size)):
        p, c, d, f, k = (int(t[s]) for t in (P, C, D, D_F, classes))
        num_patches = (int(size[s]) // p) ** 2
        with torch.device("meta"):
            patch_embed = nn.Conv2d(c, d, kernel_size=p, stride=p)
            cls_token = nn.Parameter(torch.zeros(1, 1, d))
            pos_embed = nn.Parameter(torch.zeros(1, num_patches + 1, d))
            block = nn.TransformerEncoderLayer(d, 1, f)
            norm, head = nn.LayerNorm(d), nn.Linear(d, k)
        per_block = sum(p.numel() for p in block.parameters())
        around = sum(p.numel() for m in (patch_embed, norm, head) for p in m.parameters())
        total[s] = around + cls_token.numel() + pos_embed.numel() + int(L[s]) * per_block
    return total


@practice("numpy-minded, by shapes")
def shapes(size, P, C, D, L, D_F, classes):
    one = torch.ones_like(D)
    N = (size // P).square()
    outside = [(D, C, P, P), (D,), (D,), (N + one, D), (D,), (D,), (classes, D), (classes,)]
    inside = [(D, D), (D,)] * 4 + [(D_F, D), (D_F,), (D, D_F), (D,)] + [(D,)] * 4
    n_outside = sum(math.prod(s) for s in outside)
    n_inside = sum(math.prod(s) for s in inside)
    return n_outside + L * n_inside
