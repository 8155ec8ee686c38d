"""Right answers to `top_k_gates`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Mistral")
def mistral(logits, k):
    weights, selected_experts = torch.topk(logits, k)
    weights = F.softmax(weights, dim=-1, dtype=torch.float).to(logits.dtype)
    return torch.zeros_like(logits).scatter(-1, selected_experts, weights)


@practice("Shazeer's noisy top-k, without noise")
def shazeer(logits, k):
    top_logits, top_indices = logits.topk(k, dim=-1)
    top_k_gates = nn.Softmax(dim=-1)(top_logits)
    zeros = torch.zeros_like(logits, requires_grad=False)
    return zeros.scatter(-1, top_indices, top_k_gates)


@practice("nanoGPT's top-k")
def nanogpt(logits, k):
    logits = logits.clone()
    v, _ = torch.topk(logits, min(k, logits.size(-1)))
    logits[logits < v[..., [-1]]] = -float("Inf")
    return F.softmax(logits, dim=-1)


@practice("Hugging Face's Mixtral")
def mixtral(logits, k):
    routing_weights = F.softmax(logits, dim=-1, dtype=torch.float)
    selected_experts = torch.topk(logits, k, dim=-1).indices
    routing_weights = routing_weights.gather(-1, selected_experts)
    routing_weights = routing_weights / routing_weights.sum(dim=-1, keepdim=True)
    routing_weights = routing_weights.to(logits.dtype)
    return torch.zeros_like(logits).scatter_(-1, selected_experts, routing_weights)


@practice("a mask of -inf")
def masked(logits, k):
    chosen = torch.zeros_like(logits, dtype=torch.bool)
    chosen.scatter_(-1, logits.topk(k, dim=-1).indices, True)
    return logits.masked_fill(~chosen, float("-inf")).softmax(dim=-1)


@practice("einops and one-hot", needs="einops")
def lucidrains(logits, k):
    from einops import einsum

    values, indices = logits.topk(k, dim=-1)
    gates = values.softmax(dim=-1)
    one_hot = F.one_hot(indices, logits.shape[-1]).type_as(gates)
    return einsum(gates, one_hot, "... k, ... k e -> ... e")


@practice("plain loops")
def loops(logits, k):
    E = logits.shape[-1]
    rows = []
    for z in logits.reshape(-1, E):
        order = sorted(range(E), key=lambda e: z[e].item(), reverse=True)[:k]
        exps = torch.exp(z[order] - z[order].max())
        g = torch.zeros(E, dtype=z.dtype, device=z.device)
        g[order] = exps / exps.sum()
        rows.append(g)
    return torch.stack(rows).reshape(logits.shape)
