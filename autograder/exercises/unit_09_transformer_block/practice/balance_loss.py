"""Right answers to `balance_loss`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Hugging Face's Switch Transformers")
def switch(logits, k):
    num_experts = logits.shape[-1]
    router_probs = torch.softmax(logits, dim=-1)
    _, expert_indices = torch.topk(logits, k, dim=-1)
    expert_mask = F.one_hot(expert_indices, num_experts).to(router_probs.dtype)
    tokens_per_expert = expert_mask.sum(dim=1).mean(dim=0) / k
    router_prob_per_expert = torch.mean(router_probs, dim=0)
    return torch.sum(tokens_per_expert * router_prob_per_expert) * num_experts


@practice("Hugging Face's Mixtral")
def mixtral(logits, k):
    num_experts = logits.size(1)
    routing_weights = torch.nn.functional.softmax(logits, dim=-1)
    _, selected_experts = torch.topk(logits, k, dim=-1)
    expert_mask = torch.nn.functional.one_hot(selected_experts, num_experts)
    tokens_per_expert = torch.mean(expert_mask.float(), dim=0)
    router_prob_per_expert = torch.mean(routing_weights, dim=0)
    overall_loss = torch.sum(tokens_per_expert * router_prob_per_expert.unsqueeze(0)) / k
    return (overall_loss * num_experts).to(logits.dtype)


@practice("Megatron")
def megatron(logits, k):
    num_tokens, num_experts = logits.shape
    probs = torch.softmax(logits, dim=-1, dtype=torch.float32)
    indices = logits.topk(k, dim=1).indices
    tokens_per_expert = torch.bincount(indices.flatten(), minlength=num_experts)
    aggregated_probs_per_expert = probs.sum(dim=0)
    loss = torch.sum(aggregated_probs_per_expert * tokens_per_expert) * (num_experts / (num_tokens * num_tokens * k))
    return loss.type_as(logits)


@practice("Mesh TensorFlow")
def mesh(logits, k):
    T, E = logits.shape
    raw_gates = logits.softmax(-1)
    with torch.no_grad():
        mask = torch.zeros_like(logits).scatter_(1, logits.topk(k, dim=1)[1], 1.0)
        density_1 = mask.mean(dim=0) / k
    density_1_proxy = raw_gates.mean(dim=0)
    return (density_1 * density_1_proxy).mean() * float(E * E)


@practice("einsum")
def einsum(logits, k):
    T, E = logits.shape
    hits = (logits >= logits.topk(k).values[:, -1:]).to(logits.dtype)
    return E / (T * T * k) * torch.einsum("te,se->", hits, torch.softmax(logits, 1))


@practice("plain loops")
def loops(logits, k):
    T, E = logits.shape
    counts = [0] * E
    for row in torch.topk(logits, k, dim=-1).indices.tolist():
        for e in row:
            counts[e] += 1
    P = F.softmax(logits, dim=-1).mean(0)
    loss = 0.0
    for e in range(E):
        loss = loss + counts[e] / (T * k) * P[e]
    return E * loss


@practice("a dot product")
def dot(logits, k):
    T, E = logits.shape
    f = F.one_hot(logits.topk(k, dim=-1).indices, E).sum((0, 1)) / (T * k)
    P = logits.softmax(dim=-1).mean(dim=0)
    return E * f.to(P) @ P
