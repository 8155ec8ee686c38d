"""Right answers to `sequence_log_probability`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Hugging Face transformers: labels and cross-entropy")
def hf(logits, tokens, lengths):
    labels = tokens.clone()
    position_ids = torch.arange(tokens.shape[1], device=tokens.device)
    labels[position_ids[None, :] >= lengths[:, None]] = -100
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous().long()
    loss_fct = nn.CrossEntropyLoss(reduction="none", ignore_index=-100)
    loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
    return -loss.view(shift_labels.shape).sum(dim=-1)


@practice("TRL: the log-probabilities of DPO")
def trl(logits, tokens, lengths):
    labels = tokens[:, 1:].clone()
    logits = logits[:, :-1, :]
    loss_mask = torch.arange(1, tokens.size(1), device=tokens.device) < lengths.unsqueeze(1)
    labels[~loss_mask] = 0
    per_token_logps = torch.gather(logits.log_softmax(-1), dim=2, index=labels.unsqueeze(2)).squeeze(2)
    return (per_token_logps * loss_mask).sum(-1)


@practice("TRL: selected logits less their logsumexp")
def selective(logits, tokens, lengths):
    dtype = logits.dtype
    logits = logits[:, :-1].float() if dtype == torch.bfloat16 else logits[:, :-1]
    completion_mask = torch.arange(1, tokens.shape[1], device=tokens.device)[None] < lengths[:, None]
    index = tokens[:, 1:].masked_fill(~completion_mask, 0)
    selected_logits = torch.gather(logits, dim=-1, index=index.unsqueeze(-1)).squeeze(-1)
    logsumexp_values = torch.stack([torch.logsumexp(lg, dim=-1) for lg in logits])
    per_token_logps = selected_logits - logsumexp_values
    return torch.where(completion_mask, per_token_logps, 0.0).sum(dim=1).to(dtype)


@practice("lm-evaluation-harness: one sequence after another")
def harness(logits, tokens, lengths):
    res = []
    for row, toks, length in zip(logits, tokens, lengths.tolist()):
        logprobs = F.log_softmax(row[: length - 1], dim=-1)
        cont_toks = toks[1:length].unsqueeze(-1)
        res.append(logprobs.gather(1, cont_toks.long()).squeeze(-1).sum())
    return torch.stack(res)


@practice("d2l and UvA: a cross-entropy over [B, V, N]")
def uva(logits, tokens, lengths):
    B, N, V = logits.shape
    targets = tokens[:, 1:]
    valid = torch.arange(1, N, device=tokens.device).expand(B, -1) < lengths.view(-1, 1)
    targets = torch.where(valid, targets, torch.zeros_like(targets))
    nll = F.cross_entropy(logits[:, :-1].permute(0, 2, 1).float(), targets, reduction="none")
    return -(nll.masked_fill(~valid, 0.0)).sum(dim=1).type_as(logits)


@practice("the formula: a product over one-hot vectors")
def one_hot(logits, tokens, lengths):
    V = logits.shape[-1]
    log_p = logits.log_softmax(dim=-1)
    t = torch.arange(tokens.shape[1], device=tokens.device)
    counts = (t > 0) & (t < lengths[:, None])
    chosen = F.one_hot(tokens.clamp(0, V - 1).long(), V)
    chosen = chosen * counts[..., None]
    return torch.einsum("bnv,bnv->b", log_p[:, :-1], chosen[:, 1:].to(log_p.dtype))
