"""Right answers to `mixture_of_experts`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Mistral")
def mistral(X, gates, W_in, W_out):
    results = torch.zeros_like(X)
    for i in range(W_in.size(0)):
        (batch_idx,) = torch.where(gates[:, i] != 0)
        expert = F.gelu(X[batch_idx] @ W_in[i]) @ W_out[i]
        results[batch_idx] += gates[batch_idx, i, None] * expert
    return results


@practice("Hugging Face's Mixtral")
def mixtral(X, gates, W_in, W_out):
    final_hidden_states = torch.zeros_like(X)
    expert_mask = (gates != 0).t()
    expert_hit = expert_mask.any(dim=-1).nonzero()
    for expert_idx in expert_hit.flatten():
        top_x = expert_mask[expert_idx].nonzero(as_tuple=True)[0]
        current_state = X[None, top_x].reshape(-1, X.shape[-1])
        current_hidden_states = nn.functional.linear(current_state, W_in[expert_idx].t())
        current_hidden_states = nn.functional.linear(nn.functional.gelu(current_hidden_states), W_out[expert_idx].t())
        current_hidden_states = current_hidden_states * gates[top_x, expert_idx, None]
        final_hidden_states.index_add_(0, top_x, current_hidden_states.to(X.dtype))
    return final_hidden_states


@practice("DeepSeek, sorted by expert")
def deepseek(X, gates, W_in, W_out):
    expert, token = gates.t().nonzero(as_tuple=True)
    counts = torch.bincount(expert, minlength=gates.shape[1]).tolist()
    outputs = []
    for i, x in enumerate(X[token].split(counts)):
        outputs.append(F.gelu(x @ W_in[i]) @ W_out[i])
    outs = torch.cat(outputs, dim=0) * gates[token, expert].unsqueeze(-1)
    return torch.zeros_like(X).index_add(0, token, outs)


@practice("Shazeer's dispatcher")
def dispatcher(X, gates, W_in, W_out):
    sorted_experts, index_sorted_experts = torch.nonzero(gates).sort(0)
    expert_index = sorted_experts[:, 1]
    batch_index = torch.nonzero(gates)[index_sorted_experts[:, 1], 0]
    part_sizes = (gates > 0).sum(0).tolist()
    nonzero_gates = gates[batch_index, expert_index].unsqueeze(1)
    expert_inputs = torch.split(X[batch_index], part_sizes, dim=0)
    expert_outputs = [torch.mm(F.gelu(torch.mm(x, w)), v) for x, w, v in zip(expert_inputs, W_in, W_out)]
    stitched = torch.cat(expert_outputs, 0).mul(nonzero_gates)
    zeros = torch.zeros(gates.size(0), X.size(1), dtype=X.dtype, device=X.device)
    return zeros.index_add(0, batch_index, stitched)


@practice("plain loops over tokens")
def loops(X, gates, W_in, W_out):
    Y = []
    for x, g in zip(X, gates):
        y = x * 0
        for e in torch.nonzero(g).flatten().tolist():
            y = y + g[e] * (F.gelu(x @ W_in[e]) @ W_out[e])
        Y.append(y)
    return torch.stack(Y)


@practice("skipping idle experts")
def skipping(X, gates, W_in, W_out):
    Y = X.new_zeros(X.shape)
    for e in range(gates.shape[1]):
        chosen = gates[:, e] > 0
        if not chosen.any():
            continue
        h = F.gelu(torch.einsum("td,df->tf", X[chosen], W_in[e]))
        out = torch.einsum("tf,fd->td", h, W_out[e])
        Y[chosen] = Y[chosen] + gates[chosen, e].unsqueeze(1) * out
    return Y
