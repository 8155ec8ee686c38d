"""Right answers to `attention_weights`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT and the Annotated Transformer: masked_fill, -inf")
def nanogpt(E, mask):
    E = E.masked_fill(mask.unsqueeze(-2) == 0, float("-inf"))
    return F.softmax(E, dim=-1)


@practice("Meta's Llama: an additive mask, softmax in float32")
def llama(E, mask):
    bias = torch.full(mask.shape, float("-inf"), device=E.device)
    bias = bias.masked_fill(mask, 0.0)[..., None, :]
    scores = E.float() + bias
    return F.softmax(scores, dim=-1).type_as(E)


@practice("Hugging Face: the least number of the type, and zeros behind the softmax")
def hf(E, mask):
    mask = mask[..., None, :]
    # shifted by the best real score, no real score lies near the least number
    best = torch.where(mask, E, torch.finfo(E.dtype).min).amax(dim=-1, keepdim=True)
    attn_weights = torch.where(mask, E - best, torch.finfo(E.dtype).min)
    attn_weights = nn.functional.softmax(attn_weights, dim=-1)
    return attn_weights * mask.to(attn_weights.dtype)


@practice("einops and torch.where", needs="einops")
def lucidrains(E, mask):
    from einops import rearrange

    mask = rearrange(mask, "... j -> ... 1 j")
    sim = torch.where(mask, E, torch.tensor(-torch.inf, dtype=E.dtype, device=E.device))
    return sim.softmax(dim=-1)


@practice("numpy-minded: the softmax by hand, in place on a copy")
def by_hand(E, mask):
    pad = ~mask[..., None, :]
    e = E.masked_fill(pad, -torch.inf)
    e = e - e.detach().amax(dim=-1, keepdim=True)
    a = e.exp()
    return a / a.sum(-1, keepdim=True)


@practice("a loop over the sentences: only their own tokens")
def loops(E, mask):
    flat = E.reshape(-1, *E.shape[-2:])
    rows = mask.reshape(-1, mask.shape[-1])
    weights = torch.zeros_like(flat)
    for b in range(len(flat)):
        weights[b][:, rows[b]] = flat[b][:, rows[b]].softmax(dim=-1)
    return weights.reshape(E.shape)
