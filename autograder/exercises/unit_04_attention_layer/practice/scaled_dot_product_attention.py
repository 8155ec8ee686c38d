"""Right answers to `scaled_dot_product_attention`, as others write them."""

import math

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("the Annotated Transformer")
def annotated(Q, X):
    d_k = Q.size(-1)
    scores = torch.matmul(Q, X.transpose(-2, -1)) / math.sqrt(d_k)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, X), p_attn


@practice("nanoGPT: times 1/sqrt")
def nanogpt(Q, X):
    att = (Q @ X.transpose(-2, -1)) * (1.0 / math.sqrt(X.size(-1)))
    att = F.softmax(att, dim=-1)
    y = att @ X
    return y, att


@practice("Meta's Llama: softmax in float32")
def llama(Q, X):
    xq, keys = Q, X
    scores = torch.matmul(xq, keys.transpose(-2, -1)) / math.sqrt(xq.shape[-1])
    scores = F.softmax(scores.float(), dim=-1).type_as(xq)
    output = torch.matmul(scores, X)
    return output, scores


@practice("einops: the queries scaled first", needs="einops")
def lucidrains(Q, X):
    from einops import einsum

    q = Q * Q.shape[-1] ** -0.5
    sim = einsum(q, X, "... i d, ... j d -> ... i j")
    attn = sim.softmax(dim=-1)
    return einsum(attn, X, "... i j, ... j d -> ... i d"), attn


@practice("Megatron-LM and fairseq: baddbmm on flattened batch axes, beta=0")
def baddbmm(Q, X):
    *batch, tgt_len, head_dim = Q.shape
    src_len = X.shape[-2]
    q, k = Q.reshape(-1, tgt_len, head_dim), X.reshape(-1, src_len, head_dim)
    matmul_result = torch.empty(q.size(0), tgt_len, src_len, dtype=q.dtype, device=q.device)
    attn_scores = torch.baddbmm(matmul_result, q, k.transpose(1, 2), beta=0.0, alpha=head_dim**-0.5)
    attn_probs = F.softmax(attn_scores, dim=-1)
    context = torch.bmm(attn_probs, k)
    return context.view(*batch, tgt_len, head_dim), attn_probs.view(*batch, tgt_len, src_len)


@practice("plain loops: a query at a time, broadcast products")
def loops(Q, X):
    outputs, weights = [], []
    for i in range(Q.shape[-2]):
        e = (X * Q[..., i : i + 1, :]).sum(dim=-1) / Q.shape[-1] ** 0.5
        a = e.softmax(dim=-1)
        outputs.append((a[..., None] * X).sum(dim=-2))
        weights.append(a)
    return torch.stack(outputs, dim=-2), torch.stack(weights, dim=-2)
