"""Right answers to `masked_cross_entropy`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice

PAD = 0


@practice("Hugging Face: gather and a masked mean")
def gathered(logits, y):
    log_probs = logits.log_softmax(dim=-1)
    token_nll = -log_probs.gather(-1, y.long().unsqueeze(-1)).squeeze(-1)
    padding_mask = y.eq(PAD)
    token_nll = token_nll.masked_fill(padding_mask, 0.0)
    num_active_elements = padding_mask.numel() - padding_mask.long().sum()
    return token_nll.sum() / num_active_elements


@practice("d2l: a 0-1 mask times the loss")
def d2l(logits, y):
    Y_hat = logits.reshape(-1, logits.shape[-1])
    Y = y.reshape(-1).long()
    l = -F.log_softmax(Y_hat, dim=1)[torch.arange(len(Y), device=Y.device), Y]
    mask = (Y != PAD).type(l.dtype)
    return (l * mask).sum() / mask.sum()


@practice("nanoGPT: select the real tokens first")
def selected(logits, y):
    keep = y != PAD
    logprobs = F.log_softmax(logits[keep], dim=-1)  # (N, V)
    return -logprobs[range(logprobs.size(0)), y[keep]].mean()


@practice("fairseq: label_smoothed_nll_loss without the smoothing")
def fairseq(logits, y):
    lprobs = F.log_softmax(logits, dim=-1, dtype=torch.float32)
    lprobs = lprobs.view(-1, lprobs.size(-1))
    target = y.contiguous().view(-1, 1).long()
    nll_loss = -lprobs.gather(dim=-1, index=target)
    pad_mask = target.eq(PAD)
    nll_loss.masked_fill_(pad_mask, 0.0)
    ntokens = target.numel() - int(pad_mask.sum())
    return nll_loss.sum().type_as(logits) / ntokens


@practice("einops: one-hot targets", needs="einops")
def one_hot(logits, y):
    from einops import einsum

    targets = F.one_hot(y.long(), logits.shape[-1]).to(logits)
    log_probs = logits.log_softmax(dim=-1)
    nll = -einsum(log_probs, targets, "b t v, b t v -> b t")
    return nll[y != PAD].mean()


@practice("plain loops over sentences and tokens")
def loops(logits, y):
    losses = []
    for rows, tokens in zip(logits, y.tolist()):
        for row, token in zip(rows, tokens):
            if token != PAD:
                losses.append(-torch.log_softmax(row, dim=0)[token])
    return torch.stack(losses).mean()
