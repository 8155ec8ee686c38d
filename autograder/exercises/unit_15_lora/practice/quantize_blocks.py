"""Right answers to `quantize_blocks`, as others write them."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("QLoRA, distances to all codes")
def qlora(W, code, block):
    flat = W.flatten()
    pad = -len(flat) % block
    blocks = F.pad(flat, (0, pad)).view(-1, block)
    absmax = blocks.abs().max(dim=1).values
    scale = torch.where(absmax == 0, torch.ones_like(absmax), absmax)
    normed = blocks / scale[:, None]
    idx = (normed.unsqueeze(-1) - code).abs().argmin(dim=-1).to(torch.uint8)
    idx = idx.view(-1, 2)
    return (idx[:, 0] << 4) | idx[:, 1], absmax


@practice("bitsandbytes' CPU reference, bucketised")
def bitsandbytes(W, code, block):
    n = W.numel()
    blocks = (n + block - 1) // block
    A = torch.zeros(blocks * block, dtype=W.dtype, device=W.device)
    A[:n] = W.reshape(-1)
    A = A.view(blocks, block)
    absmax = A.abs().amax(dim=1)
    scaled = A / absmax.masked_fill(absmax == 0, 1.0).unsqueeze(1)
    boundaries = (code[1:] + code[:-1]) / 2
    q = torch.bucketize(scaled, boundaries.to(W.dtype)).reshape(-1).to(torch.uint8)
    packed = q[::2] << 4 | q[1::2]
    return packed, absmax


@practice("torchao's NF4, in chunks of code books")
def torchao(W, code, block):
    inpt = W.reshape(-1)
    if inpt.numel() % block != 0:
        extra = block - inpt.numel() % block
        inpt = torch.cat([inpt, inpt.new_zeros(extra)])
    blocks = inpt.reshape(-1, block)
    scaler = blocks.abs().max(dim=1, keepdim=True)[0]
    flat = (blocks / scaler).nan_to_num(nan=0.0).flatten()
    best = torch.zeros(flat.shape, dtype=torch.long, device=W.device)
    distance = (flat - code[0]).abs()
    for c in range(1, 16):
        d = (flat - code[c]).abs()
        best = torch.where(d < distance, c, best)
        distance = torch.minimum(d, distance)
    combined = best[0::2] * 16 + best[1::2]
    return combined.to(torch.uint8), scaler.squeeze(1)


@practice("plain loops")
def loops(W, code, block):
    numbers, book = W.flatten().tolist(), code.tolist()
    while len(numbers) % block:
        numbers.append(0.0)
    codes, scales = [], []
    for start in range(0, len(numbers), block):
        part = numbers[start : start + block]
        scale = max(abs(w) for w in part)
        scales.append(scale)
        for w in part:
            x = w / scale if scale > 0 else 0.0
            codes.append(min(range(16), key=lambda c: abs(book[c] - x)))
    packed = [16 * codes[i] + codes[i + 1] for i in range(0, len(codes), 2)]
    return (
        torch.tensor(packed, dtype=torch.uint8, device=W.device),
        torch.tensor(scales, dtype=W.dtype, device=W.device),
    )


@practice("einops", needs="einops")
def lucidrains(W, code, block):
    from einops import rearrange, reduce

    flat = rearrange(W, "o i -> (o i)")
    whole = flat.new_zeros(math.ceil(len(flat) / block) * block)
    whole[: len(flat)] = flat
    x = rearrange(whole, "(s n) -> s n", n=block)
    absmax = reduce(x.abs(), "s n -> s", "max")
    divisor = rearrange(absmax + (absmax == 0).to(absmax), "s -> s 1")
    distance = (rearrange(code, "c -> c 1 1") - x / divisor).abs()
    pairs = rearrange(distance.argmin(dim=0), "s (p two) -> (s p) two", two=2)
    return (pairs * torch.tensor([16, 1], device=W.device)).sum(-1).to(torch.uint8), absmax


@practice("numpy-minded")
def numpy_minded(W, code, block):
    w = W.detach().cpu().numpy().ravel()
    w = np.pad(w, (0, -w.size % block)).reshape(-1, block)
    absmax = np.abs(w).max(axis=1)
    x = np.divide(w, absmax[:, None], out=np.zeros_like(w), where=absmax[:, None] > 0)
    book = code.detach().cpu().numpy()
    c = np.searchsorted((book[1:] + book[:-1]) / 2, x.ravel()).astype(np.uint8)
    packed = c[0::2] * np.uint8(16) + c[1::2]
    return torch.from_numpy(packed).to(W.device), torch.from_numpy(absmax).to(W.device)
