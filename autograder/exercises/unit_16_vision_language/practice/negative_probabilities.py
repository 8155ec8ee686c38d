"""Right answers to `negative_probabilities`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("salesforce's BLIP, without its floor: the masked scores' softmax, filled with 0 at the mask")
def blip(S, right):
    sim_i2t = S.masked_fill(right, torch.finfo(S.dtype).min)
    weights_i2t = F.softmax(sim_i2t, dim=1)
    return weights_i2t.masked_fill(right, 0)


@practice("Hugging Face's attention masks: −∞ filled in, rows that are masked throughout unmasked again")
def transformers(S, right):
    fully_masked = right.all(dim=-1, keepdim=True)
    mask = right & ~fully_masked
    weights = torch.softmax(S.masked_fill(mask, float("-inf")), dim=-1)
    return weights.masked_fill(fully_masked, 0.0)


@practice("einops", needs="einops")
def lucidrains(S, right):
    from einops import reduce, repeat

    negative = ~right
    peak = reduce(S.detach().masked_fill(right, -torch.finfo(S.dtype).max), "i t -> i 1", "max")
    powers = (S - peak).masked_fill(right, float("-inf")).exp()
    total = reduce(powers, "i t -> i 1", "sum")
    empty = repeat(~negative.any(dim=1), "i -> i 1")
    return powers / total.masked_fill(empty, 1)


@practice("log-sum-exp over the negatives, exponential of the difference")
def logsumexp(S, right):
    neg = S.masked_fill(right, torch.finfo(S.dtype).min)
    log_p = torch.log_softmax(neg, dim=-1)
    return torch.where(right, torch.zeros_like(S), log_p.exp())


@practice("plain loops")
def loops(S, right):
    rows = []
    for n in range(S.shape[0]):
        negatives = [j for j in range(S.shape[1]) if not right[n, j]]
        row = [S.new_zeros(())] * S.shape[1]
        if negatives:
            weights = torch.stack([S[n, j] for j in negatives]).softmax(dim=0)
            for j, weight in zip(negatives, weights):
                row[j] = weight
        rows.append(torch.stack(row))
    return torch.stack(rows)
