"""Right answers to `attention_in_windows`, as others write them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.bank.practice import practice


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)


def window_reverse(windows, window_size, H, W):
    B = int(windows.shape[0] / (H * W / window_size / window_size))
    x = windows.view(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


@practice("microsoft/Swin-Transformer")
def swin(Q, K, V, M):
    B, H, W, C = Q.shape
    q, k, v = (window_partition(x.contiguous(), M).view(-1, M * M, C) for x in (Q, K, V))
    scale = C**-0.5
    q = q * scale
    attn = q @ k.transpose(-2, -1)
    attn = nn.Softmax(dim=-1)(attn)
    x = attn @ v
    return window_reverse(x.view(-1, M, M, C), M, H, W)


@practice("timm")
def timm(Q, K, V, M):
    B, H, W, C = Q.shape

    def partition(x):
        return x.reshape(B, H // M, M, W // M, M, C).permute(0, 1, 3, 2, 4, 5).reshape(-1, 1, M * M, C)

    x = F.scaled_dot_product_attention(partition(Q), partition(K), partition(V), dropout_p=0.0)
    x = x.reshape(-1, H // M, W // M, M, M, C)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, H, W, C)


@practice("lucidrains", needs="einops")
def lucid(Q, K, V, M):
    from einops import rearrange

    h = Q.shape[1] // M
    q, k, v = (rearrange(t, "b (h p1) (w p2) d -> b (h w) (p1 p2) d", p1=M, p2=M) for t in (Q, K, V))
    sim = torch.einsum("b n i d, b n j d -> b n i j", q, k) * Q.shape[-1] ** -0.5
    out = torch.einsum("b n i j, b n j d -> b n i d", sim.softmax(dim=-1), v)
    return rearrange(out, "b (h w) (p1 p2) d -> b (h p1) (w p2) d", h=h, p1=M, p2=M)


def attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9 if scores.dtype != torch.float16 else -6e4)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


@practice("Annotated Transformer")
def annotated(Q, K, V, M):
    nbatches, rows, columns, d_model = Q.shape

    def cut(x):
        return torch.stack([piece for band in x.split(M, dim=1) for piece in band.split(M, dim=2)], dim=1).flatten(2, 3)

    x, _ = attention(cut(Q), cut(K), cut(V))
    x = x.view(nbatches, rows // M, columns // M, M, M, d_model)
    return x.transpose(2, 3).contiguous().view(nbatches, rows, columns, d_model)


@practice("d2l")
def d2l(queries, keys, values, window):
    batch, h, w, d = queries.shape

    def unfold(X):
        X = F.unfold(X.permute(0, 3, 1, 2), kernel_size=window, stride=window)  # (batch, d * window**2, windows)
        return X.reshape(batch, d, window**2, -1).permute(0, 3, 2, 1)

    q, k, v = unfold(queries), unfold(keys), unfold(values)
    scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(d)
    Y = torch.matmul(F.softmax(scores, dim=-1), v)
    Y = Y.permute(0, 3, 2, 1).reshape(batch, d * window**2, -1)
    return F.fold(Y, (h, w), kernel_size=window, stride=window).permute(0, 2, 3, 1)


@practice("plain loops")
def loops(Q, K, V, M):
    B, rows, columns, D = Q.shape
    cells = []
    for r in range(rows):
        for c in range(columns):
            top, left = r // M * M, c // M * M
            keys = K[:, top : top + M, left : left + M].reshape(B, -1, D)
            values = V[:, top : top + M, left : left + M].reshape(B, -1, D)
            weights = torch.softmax((keys * Q[:, r, c, None]).sum(dim=-1) / D**0.5, dim=1)
            cells.append((weights[..., None] * values).sum(dim=1))
    return torch.stack(cells, dim=1).reshape(B, rows, columns, D)
