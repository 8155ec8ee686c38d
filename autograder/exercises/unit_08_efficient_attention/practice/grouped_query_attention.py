"""Right answers to `grouped_query_attention`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Meta's Llama code, without repeat_kv")
def llama(Q, K, V):
    bsz, n_local_heads, seqlen, head_dim = Q.shape
    n_local_kv_heads = K.shape[1]
    n_rep = n_local_heads // n_local_kv_heads
    xq = Q.reshape(bsz, n_local_kv_heads, n_rep * seqlen, head_dim)
    scores = torch.matmul(xq, K.transpose(2, 3)) / math.sqrt(head_dim)
    scores = F.softmax(scores.float(), dim=-1).type_as(xq)
    output = torch.matmul(scores, V)
    output = output.view(bsz, n_local_heads, seqlen, head_dim)
    return output, scores.view(bsz, n_local_heads, seqlen, -1)


@practice("the paper's einsum")
def einsum(Q, K, V):
    B, H, N_Q, D_H = Q.shape
    G = K.shape[1]
    q = Q.unflatten(1, (G, H // G))
    logits = torch.einsum("bgrqd,bgnd->bgrqn", q, K) * D_H**-0.5
    weights = logits.softmax(-1)
    out = torch.einsum("bgrqn,bgnd->bgrqd", weights, V)
    return out.flatten(1, 2), weights.flatten(1, 2)


@practice("einops, in the manner of grouped-query-attention-pytorch", needs="einops")
def lucidrains(Q, K, V):
    from einops import einsum, rearrange

    scale = Q.size(-1) ** 0.5
    query = rearrange(Q / scale, "b (h g) n d -> b h g n d", h=K.size(1))
    similarity = einsum(query, K, "b h g n d, b h s d -> b h g n s")
    attention = F.softmax(similarity, dim=-1)
    out = einsum(attention, V, "b h g n s, b h s d -> b h g n d")
    return rearrange(out, "b h g n d -> b (h g) n d"), rearrange(attention, "b h g n s -> b (h g) n s")


@practice("a loop over heads, each with a view of its group")
def loops(Q, K, V):
    H, G = Q.shape[1], K.shape[1]
    R = H // G
    Y, A = [], []
    for h in range(H):
        g = h // R
        a = torch.softmax(Q[:, h] @ K[:, g].mT / math.sqrt(Q.shape[-1]), dim=-1)
        Y.append(a @ V[:, g])
        A.append(a)
    return torch.stack(Y, dim=1), torch.stack(A, dim=1)


@practice("Megatron: baddbmm over batch times groups")
def megatron(Q, K, V):
    b, np, sq, hn = Q.size()
    ng, sk = K.size(1), K.size(2)
    query = Q.reshape(b * ng, np // ng * sq, hn)
    key = K.reshape(b * ng, sk, hn)
    value = V.reshape(b * ng, sk, hn)
    buffer = torch.empty(b * ng, np // ng * sq, sk, dtype=Q.dtype, device=Q.device)
    attention_scores = torch.baddbmm(buffer, query, key.transpose(1, 2), beta=0.0, alpha=1.0 / math.sqrt(hn))
    attention_probs = nn.Softmax(dim=-1)(attention_scores)
    context = torch.bmm(attention_probs, value)
    return context.view(b, np, sq, hn), attention_probs.view(b, np, sq, sk)


@practice("nanoGPT: a loop over groups")
def nanogpt(Q, K, V):
    B, nh, T, hs = Q.size()
    n_kv = K.size(1)
    y = torch.zeros_like(Q)
    att = Q.new_zeros(B, nh, T, K.size(2))
    for g, (q, k, v) in enumerate(zip(Q.chunk(n_kv, dim=1), K.unbind(1), V.unbind(1))):
        own = slice(g * nh // n_kv, (g + 1) * nh // n_kv)
        a = F.softmax((q.flatten(1, 2) @ k.transpose(-2, -1)) * (1.0 / math.sqrt(hs)), dim=-1)
        att[:, own] = a.view(B, -1, T, k.size(1))
        y[:, own] = (a @ v).view(B, -1, T, hs)
    return y, att
