"""Right answers to `next_token_distribution`, as others write them."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Thomas Wolf's top_k_top_p_filtering")
def wolf(logits, temperature, k, p):
    filter_value = -float("Inf")
    logits = logits / temperature
    top_k = min(k, logits.size(-1))
    indices_to_remove = logits < torch.topk(logits, top_k)[0][..., -1, None]
    logits = logits.masked_fill(indices_to_remove, filter_value)
    sorted_logits, sorted_indices = torch.sort(logits, descending=True)
    cumulative_probs = torch.cumsum(F.softmax(sorted_logits, dim=-1), dim=-1)
    sorted_indices_to_remove = cumulative_probs >= p
    sorted_indices_to_remove[..., 1:] = sorted_indices_to_remove[..., :-1].clone()
    sorted_indices_to_remove[..., 0] = 0
    indices_to_remove = sorted_indices_to_remove.scatter(-1, sorted_indices, sorted_indices_to_remove)
    return F.softmax(logits.masked_fill(indices_to_remove, filter_value), dim=-1)


@practice("Hugging Face's logits warpers")
def warpers(logits, temperature, k, p):
    scores = logits / temperature
    scores = scores.masked_fill(scores < torch.topk(scores, k)[0][..., -1, None], -float("inf"))
    sorted_logits, sorted_indices = torch.sort(scores, descending=False)
    cumulative_probs = sorted_logits.softmax(dim=-1).cumsum(dim=-1)
    sorted_indices_to_remove = cumulative_probs <= (1 - p)
    sorted_indices_to_remove[..., -1:] = 0
    indices_to_remove = sorted_indices_to_remove.scatter(-1, sorted_indices, sorted_indices_to_remove)
    scores_processed = scores.masked_fill(indices_to_remove, -float("inf"))
    return nn.functional.softmax(scores_processed, dim=-1)


@practice("Llama's sample_top_p")
def llama(logits, temperature, k, p):
    values, indices = torch.topk(logits, k, dim=-1)
    probs_sort = torch.softmax(values / temperature, dim=-1)
    probs_sum = torch.cumsum(probs_sort, dim=-1)
    mask = probs_sum - probs_sort > p
    probs_sort = probs_sort.masked_fill(mask, 0.0)
    probs_sort.div_(probs_sort.sum(dim=-1, keepdim=True))
    return torch.zeros_like(logits).scatter(-1, indices, probs_sort)


@practice("nanoGPT, then a nucleus")
def nanogpt(logits, temperature, k, p):
    logits = logits / temperature
    v, _ = torch.topk(logits, min(k, logits.size(-1)))
    logits[logits < v[..., [-1]]] = -float("Inf")
    probs = F.softmax(logits, dim=-1)
    probs_sort, probs_idx = probs.sort(dim=-1, descending=True)
    before = probs_sort.cumsum(dim=-1).roll(1, dims=-1)
    before[..., 0] = 0.0
    probs_sort = torch.where(before < p, probs_sort, torch.zeros_like(probs_sort))
    probs = torch.gather(probs_sort, -1, probs_idx.argsort(dim=-1))
    return probs / probs.sum(dim=-1, keepdim=True)


@practice("in float32 and back")
def upcast(logits, temperature, k, p):
    top, index = logits.float().div(temperature).topk(k, dim=-1)
    probs = top.softmax(-1)
    keep = probs.cumsum(-1) - probs < p
    probs = probs * keep
    probs = probs / probs.sum(-1, keepdim=True)
    out = torch.zeros(logits.shape, device=logits.device).scatter(-1, index, probs)
    return out.type_as(logits)


@practice("plain loops over rows")
def loops(logits, temperature, k, p):
    V = logits.shape[-1]
    rows = []
    for z in logits.reshape(-1, V):
        z = z / temperature
        order = sorted(range(V), key=lambda v: -z[v].item())[:k]
        P = torch.softmax(z[order], dim=0)
        total, n = 0.0, 0
        while n < k and total < p:
            total += P[n].item()
            n += 1
        row = torch.zeros(V, dtype=z.dtype, device=z.device)
        row[order[:n]] = P[:n] / P[:n].sum()
        rows.append(row)
    return torch.stack(rows).reshape(logits.shape)


@practice("comparing each token with each")
def pairwise(logits, temperature, k, p):
    z = logits / temperature
    ahead = z.unsqueeze(-2) > z.unsqueeze(-1)
    P = torch.softmax(z.masked_fill(ahead.sum(-1) >= k, -math.inf), dim=-1)
    sum_ahead = (ahead * P.unsqueeze(-2)).sum(-1)
    P = P.masked_fill(sum_ahead >= p, 0)
    return P / P.sum(-1, keepdim=True)
