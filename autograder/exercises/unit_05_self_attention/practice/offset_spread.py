"""Right answers to `offset_spread`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("a plain first answer")
def plain(E):
    N = E.shape[-1]
    spreads = []
    for k in range(1 - N, N):
        d = E.diagonal(k, dim1=-2, dim2=-1)
        spreads.append(d.amax(dim=-1) - d.amin(dim=-1))
    return torch.stack(spreads, dim=-1).amax(dim=-1)


@practice("a running maximum")
def running(E):
    N = E.size(-1)
    worst = torch.zeros(E.shape[:-2], dtype=E.dtype, device=E.device)
    for offset in range(-(N - 1), N):
        diag = torch.diagonal(E, offset, -2, -1)
        spread = diag.max(-1).values - diag.min(-1).values
        worst = torch.maximum(worst, spread)
    return worst


@practice("scatter_reduce, as in PyTorch Geometric")
def scatter(E):
    N = E.shape[-1]
    pos = torch.arange(N, device=E.device)
    index = (pos[None, :] - pos[:, None] + N - 1).flatten().expand(*E.shape[:-2], N * N)
    src = E.flatten(-2)
    size = (*E.shape[:-2], 2 * N - 1)
    largest = src.new_zeros(size).scatter_reduce(-1, index, src, "amax", include_self=False)
    smallest = src.new_zeros(size).scatter_reduce(-1, index, src, "amin", include_self=False)
    return (largest - smallest).amax(-1)


@practice("the skewing trick of Transformer-XL and Music Transformer")
def skew(E):
    N = E.shape[-1]

    def skewed(fill):
        padded = F.pad(E.flip(-1), (0, N), value=fill)  # offsets fall from left to right
        flat = padded.flatten(-2)[..., : N * (2 * N - 1)]
        return flat.unflatten(-1, (N, 2 * N - 1))

    highest = skewed(float("-inf")).amax(dim=-2)
    lowest = skewed(float("inf")).amin(dim=-2)
    return (highest - lowest).amax(dim=-1)


@practice("a mask for each offset, in numpy's manner")
def masks(E):
    m, n = torch.meshgrid(*[torch.arange(E.shape[-1], device=E.device)] * 2, indexing="ij")
    offset = n - m
    result = None
    for k in offset.unique():
        scores = E[..., offset == k]
        spread = scores.max(dim=-1)[0] - scores.min(dim=-1)[0]
        result = spread if result is None else torch.max(result, spread)
    return result


@practice("plain loops")
def loops(E):
    N = E.shape[-1]
    flat = E.reshape(-1, N, N)
    out = []
    for matrix in flat:
        by_offset = {}
        for m, row in enumerate(matrix.tolist()):
            for n, score in enumerate(row):
                by_offset.setdefault(n - m, []).append(score)
        out.append(max(max(scores) - min(scores) for scores in by_offset.values()))
    return torch.tensor(out, dtype=E.dtype, device=E.device).reshape(E.shape[:-2])
