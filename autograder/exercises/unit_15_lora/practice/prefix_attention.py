"""Right answers to `prefix_attention`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("minGPT")
def mingpt(Q, K, V, P_K, P_V):
    B, nh, T, hs = Q.size()
    P = P_K.size(1)
    k = torch.cat([P_K.unsqueeze(0).expand(B, -1, -1, -1), K], dim=2)
    v = torch.cat([P_V.unsqueeze(0).expand(B, -1, -1, -1), V], dim=2)
    att = (Q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    bias = torch.tril(torch.ones(T, P + T, device=Q.device), diagonal=P)
    att = att.masked_fill(bias == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ v, att


@practice("Llama's cache")
def llama(Q, K, V, P_K, P_V):
    bsz, n_heads, seqlen, head_dim = Q.shape
    start_pos = P_K.shape[1]
    keys = torch.cat([P_K[None].repeat(bsz, 1, 1, 1), K], dim=2)
    values = torch.cat([P_V[None].repeat(bsz, 1, 1, 1), V], dim=2)
    mask = torch.full((seqlen, seqlen), float("-inf"), device=Q.device)
    mask = torch.triu(mask, diagonal=1)
    mask = torch.hstack([torch.zeros((seqlen, start_pos), device=Q.device), mask]).type_as(Q)
    scores = torch.matmul(Q, keys.transpose(2, 3)) / math.sqrt(head_dim)
    scores = scores + mask
    scores = F.softmax(scores.float(), dim=-1).type_as(Q)
    return torch.matmul(scores, values), scores


@practice("Hugging Face's past_key_values")
def hugging_face(Q, K, V, P_K, P_V):
    past_key = P_K.unsqueeze(0).expand(Q.shape[0], *P_K.shape)
    past_value = P_V.unsqueeze(0).expand(Q.shape[0], *P_V.shape)
    key = torch.cat((past_key, K), dim=-2)
    value = torch.cat((past_value, V), dim=-2)
    attn_weights = torch.matmul(Q, key.transpose(-1, -2))
    attn_weights = attn_weights / torch.full(
        [], value.new_tensor(Q.size(-1)).item() ** 0.5, dtype=attn_weights.dtype, device=attn_weights.device
    )
    query_length, key_length = Q.size(-2), key.size(-2)
    causal = torch.ones((key_length, key_length), dtype=torch.bool, device=Q.device).tril()
    causal_mask = causal[None, None, key_length - query_length : key_length, :key_length]
    mask_value = torch.full([], torch.finfo(attn_weights.dtype).min, dtype=attn_weights.dtype, device=Q.device)
    attn_weights = torch.where(causal_mask, attn_weights, mask_value)
    attn_weights = nn.functional.softmax(attn_weights, dim=-1)
    attn_weights = attn_weights.type(value.dtype)
    return torch.matmul(attn_weights, value), attn_weights


@practice("einops", needs="einops")
def lucidrains(Q, K, V, P_K, P_V):
    from einops import einsum, pack, repeat

    b, device = Q.shape[0], Q.device
    pk, pv = (repeat(t, "h p d -> b h p d", b=b) for t in (P_K, P_V))
    k, _ = pack([pk, K], "b h * d")
    v, _ = pack([pv, V], "b h * d")
    sim = einsum(Q * Q.shape[-1] ** -0.5, k, "b h i d, b h j d -> b h i j")
    i, j = sim.shape[-2:]
    causal_mask = torch.ones((i, j), dtype=torch.bool, device=device).triu(j - i + 1)
    attn = sim.masked_fill(causal_mask, -torch.inf).softmax(dim=-1)
    return einsum(attn, v, "b h i j, b h j d -> b h i d"), attn


@practice("two parts that broadcast")
def two_parts(Q, K, V, P_K, P_V):
    N, P = K.shape[2], P_K.shape[1]
    scale = Q.shape[-1] ** 0.5
    future = torch.arange(N, device=Q.device) > torch.arange(N, device=Q.device)[:, None]
    to_tokens = (Q @ K.mT / scale).masked_fill(future, -math.inf)
    to_prefix = Q @ P_K.mT / scale
    A = torch.cat([to_prefix, to_tokens], dim=-1).softmax(dim=-1)
    return A[..., :P] @ P_V + A[..., P:] @ V, A


@practice("fairseq")
def fairseq(Q, K, V, P_K, P_V):
    bsz, heads, tgt_len, head_dim = Q.shape
    scaling = head_dim**-0.5
    q = (Q * scaling).reshape(bsz * heads, tgt_len, head_dim)
    k = torch.cat([P_K.repeat(bsz, 1, 1), K.reshape(bsz * heads, tgt_len, head_dim)], dim=1)
    v = torch.cat([P_V.repeat(bsz, 1, 1), V.reshape(bsz * heads, tgt_len, -1)], dim=1)
    attn_weights = torch.bmm(q, k.transpose(1, 2))
    src_len = k.size(1)
    attn_mask = torch.triu(attn_weights.new_full((tgt_len, src_len), float("-inf")), 1 + src_len - tgt_len)
    attn_weights += attn_mask.unsqueeze(0)
    attn_probs = F.softmax(attn_weights, dim=-1, dtype=torch.float32).type_as(attn_weights)
    attn = torch.bmm(attn_probs, v)
    return attn.view(bsz, heads, tgt_len, -1), attn_probs.view(bsz, heads, tgt_len, src_len)


@practice("plain loops over tokens")
def loops(Q, K, V, P_K, P_V):
    B, H, N, D_H = Q.shape
    P = P_K.shape[1]
    outputs, weights = [], []
    for n in range(N):
        keys = torch.cat([P_K.expand(B, H, P, D_H), K[:, :, : n + 1]], dim=2)
        values = torch.cat([P_V.expand(B, -1, -1, -1), V[:, :, : n + 1]], dim=2)
        a = torch.softmax((keys @ Q[:, :, n, :, None]).squeeze(-1) / math.sqrt(D_H), dim=-1)
        outputs.append((a[..., None] * values).sum(dim=2))
        weights.append(F.pad(a, (0, N - 1 - n)))
    return torch.stack(outputs, dim=2), torch.stack(weights, dim=2)
