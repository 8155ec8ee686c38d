"""Right answers to `perplexity`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
def nanogpt(logits, tokens, lengths):
    B, T, V = logits.shape
    targets = tokens[:, 1:].clone()
    pos = torch.arange(1, T, device=tokens.device)
    targets[pos >= lengths[:, None]] = -1
    logits = logits[:, :-1, :].contiguous()
    loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1)
    return loss, torch.exp(loss)


@practice("Hugging Face")
def hugging_face(logits, tokens, lengths):
    labels = tokens.clone()
    labels = labels.masked_fill(torch.arange(labels.size(1), device=labels.device) >= lengths.unsqueeze(1), -100)
    shift_logits = logits.float()[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous()
    loss_fct = nn.CrossEntropyLoss()
    loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))
    perplexity = torch.exp(loss)
    return loss.to(logits.dtype), perplexity.to(logits.dtype)


@practice("fairseq")
def fairseq(logits, tokens, lengths):
    lprobs = F.log_softmax(logits, dim=-1, dtype=torch.float32)[:, :-1]
    target = tokens[:, 1:].unsqueeze(-1)
    nll_loss = -lprobs.gather(dim=-1, index=target)
    pad_mask = (torch.arange(1, tokens.size(1), device=tokens.device)[None, :] >= lengths[:, None]).unsqueeze(-1)
    nll_loss = nll_loss.masked_fill(pad_mask, 0.0)
    ntokens = (~pad_mask).sum()
    loss = (nll_loss.sum() / ntokens).type_as(logits)
    return loss, loss.detach().exp()


@practice("d2l, masked cross-entropy")
def d2l(logits, tokens, lengths):
    unweighted = F.cross_entropy(logits[:, :-1].permute(0, 2, 1), tokens[:, 1:], reduction="none")
    weights = torch.arange(1, tokens.shape[1], device=tokens.device)[None, :] < lengths[:, None]
    loss = (unweighted * weights).sum() / weights.sum()
    return loss, torch.exp(loss)


@practice("boolean selection")
def selection(logits, tokens, lengths):
    N = tokens.shape[1]
    keep = torch.arange(N - 1, device=tokens.device).expand(len(tokens), -1) < (lengths - 1).unsqueeze(1)
    loss = F.cross_entropy(logits[:, :-1][keep], tokens[:, 1:][keep])
    return loss, loss.exp()


@practice("plain loops over texts")
def loops(logits, tokens, lengths):
    total, M = 0.0, 0
    for b, length in enumerate(lengths.tolist()):
        if length < 2:
            continue
        logp = logits[b, : length - 1].log_softmax(-1)
        total = total - logp[torch.arange(length - 1, device=logits.device), tokens[b, 1:length]].sum()
        M += length - 1
    loss = total / M
    return loss, torch.exp(loss)


@practice("einops and logsumexp", needs="einops")
def lucidrains(logits, tokens, lengths):
    from einops import rearrange, repeat

    b, n, _ = logits.shape
    inp, target = logits[:, :-1], tokens[:, 1:]
    seq = repeat(torch.arange(n - 1, device=logits.device), "n -> b n", b=b)
    mask = seq < rearrange(lengths - 1, "b -> b 1")
    picked = rearrange(inp.gather(-1, rearrange(target, "b n -> b n 1")), "b n 1 -> b n")
    nll = inp.logsumexp(dim=-1) - picked
    loss = nll[mask].mean()
    return loss, loss.exp()
