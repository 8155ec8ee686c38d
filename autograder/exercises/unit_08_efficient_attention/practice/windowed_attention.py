"""Right answers to `windowed_attention`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("an index of neighbours")
def plain(Q, K, V, window):
    N, D_Q = Q.shape[1:]
    w = min(window, N - 1)
    near = torch.arange(N, device=Q.device)[:, None] + torch.arange(-w, w + 1, device=Q.device)
    inside = (near >= 0) & (near < N)
    near = near.clamp(0, N - 1)
    E = (K[:, near] @ Q[..., None]).squeeze(-1) / math.sqrt(D_Q)
    A = E.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (A[:, :, None] @ V[:, near]).squeeze(-2)


@practice("unfold, as in convolutions and neighbourhood attention")
def unfold(Q, K, V, window):
    B, N, D = Q.shape
    window = min(window, N)
    kernel = 2 * window + 1
    k = F.pad(K, (0, 0, window, window)).unfold(1, kernel, 1)
    v = F.pad(V, (0, 0, window, window)).unfold(1, kernel, 1)
    valid = F.pad(torch.ones(N, dtype=torch.bool, device=Q.device), (window, window)).unfold(0, kernel, 1)
    attn = torch.einsum("bnd,bndk->bnk", Q * D**-0.5, k)
    attn = attn.masked_fill(valid == 0, float("-inf"))
    attn = F.softmax(attn, dim=-1)
    return torch.einsum("bnk,bndk->bnd", attn, v)


@practice("plain loops over the queries")
def loops(Q, K, V, window):
    N = Q.shape[1]
    outputs = []
    for m in range(N):
        lo, hi = max(0, m - window), min(N, m + window + 1)
        e = torch.einsum("bd,bnd->bn", Q[:, m], K[:, lo:hi]) / math.sqrt(Q.shape[-1])
        a = torch.softmax(e, dim=-1)
        outputs.append(torch.einsum("bn,bnd->bd", a, V[:, lo:hi]))
    return torch.stack(outputs, dim=1)


@practice("a loop over distances")
def distances(Q, K, V, window):
    B, N, D = Q.shape
    w = min(window, N - 1)
    E = Q.new_full((B, N, 2 * w + 1), float("-inf"))
    for d in range(-w, w + 1):
        first, last = max(0, -d), min(N, N - d)
        E[:, first:last, d + w] = (Q[:, first:last] * K[:, first + d : last + d]).sum(-1) / D**0.5
    A = torch.softmax(E, dim=-1)
    Y = torch.zeros(B, N, V.shape[-1], dtype=V.dtype, device=V.device)
    for d in range(-w, w + 1):
        first, last = max(0, -d), min(N, N - d)
        Y[:, first:last] += A[:, first:last, d + w, None] * V[:, first + d : last + d]
    return Y


@practice("einops, in the manner of local-attention: buckets that look back and forward", needs="einops")
def lucidrains(Q, K, V, window):
    from einops import einsum, rearrange

    n, scale = Q.shape[1], Q.shape[-1] ** -0.5
    size = max(1, min(window, n - 1))
    pad = -n % size
    q, k, v = (F.pad(t, (0, 0, 0, pad)) for t in (Q, K, V))
    seq = torch.arange(n + pad, device=Q.device)
    bq = rearrange(q * scale, "b (w n) d -> b w n d", n=size)
    bq_t = rearrange(seq, "(w n) -> w n 1", n=size)

    def look_around(t, value=0.0):
        t = F.pad(t, (0, 0, size, size), value=value)
        t = rearrange(t, "b (w n) d -> b w n d", n=size)
        return torch.cat((t[:, :-2], t[:, 1:-1], t[:, 2:]), dim=2)

    bk, bv = look_around(k), look_around(v)
    bk_t = look_around(rearrange(seq, "n -> 1 n 1"), value=-1)
    bk_t = rearrange(bk_t, "1 w j 1 -> w 1 j")
    sim = einsum(bq, bk, "b w i d, b w j d -> b w i j")
    mask = (bk_t < 0) | (bk_t >= n) | ((bq_t - bk_t).abs() > window)
    sim = sim.masked_fill(mask, -torch.finfo(sim.dtype).max)
    attn = sim.softmax(dim=-1)
    out = einsum(attn, bv, "b w i j, b w j e -> b w i e")
    return rearrange(out, "b w n d -> b (w n) d")[:, :n]


@practice("Longformer: strides over overlapping chunks")
def longformer(Q, K, V, window):
    batch_size, seq_len, head_dim = Q.shape
    w = min(window, seq_len)
    chunk = max(w, 1)
    padding_len = (chunk - seq_len % chunk) % chunk
    total = seq_len + padding_len
    query = F.pad(Q / math.sqrt(head_dim), (0, 0, 0, padding_len)).contiguous()
    key, value = (F.pad(t, (0, 0, w, w + padding_len)).contiguous() for t in (K, V))

    def chunked(t):
        bs, length, dim = t.shape
        return t.as_strided((bs, total // chunk, chunk + 2 * w, dim), (length * dim, chunk * dim, dim, 1))

    rows = torch.arange(total, device=Q.device).view(-1, chunk, 1)
    columns = rows[:, :1] - w + torch.arange(chunk + 2 * w, device=Q.device)
    allowed = ((rows - columns).abs() <= w) & (columns >= 0) & (columns < seq_len)
    scores = torch.einsum("bcxd,bcyd->bcxy", query.unflatten(1, (-1, chunk)), chunked(key))
    scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
    probs = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).type_as(scores)
    context = torch.einsum("bcxy,bcyd->bcxd", probs, chunked(value))
    return context.flatten(1, 2)[:, :seq_len]
