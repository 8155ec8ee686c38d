"""Right answers to `masked_softmax`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("nanoGPT")
def nanogpt(E, mask):
    att = E.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att.masked_fill(mask == 0, 0.0)


@practice("Hugging Face transformers")
def hf(E, mask):
    attn_weights = torch.where(mask, E, torch.full([], torch.finfo(E.dtype).min, dtype=E.dtype, device=E.device))
    attn_weights = nn.functional.softmax(attn_weights, dim=-1)
    return attn_weights * mask


@practice("einops and x-transformers")
def lucidrains(E, mask):
    mask_value = -torch.finfo(torch.float32).max
    dtype = E.dtype
    attn = E.float().masked_fill(~mask, mask_value)
    attn = attn.softmax(dim=-1).type(dtype)
    return attn.masked_fill(~mask, 0.0)


@practice("a blocked row opened, then closed, as torchtext and Opacus do")
def opened(E, mask):
    mask = mask.expand_as(E)
    blocked = ~mask.any(dim=-1, keepdim=True)
    bias = torch.zeros_like(E).masked_fill_(~(mask | blocked), float("-inf"))
    A = torch.softmax(E + bias, dim=-1)
    return torch.where(blocked, torch.zeros_like(A), A)


@practice("JAX and numpy: exponentials written out")
def numpy(E, mask):
    E = torch.where(mask, E, -torch.inf)
    E_max = E.detach().amax(dim=-1, keepdim=True)
    E_max = torch.where(torch.isfinite(E_max), E_max, torch.zeros_like(E_max))
    unnormalized = torch.exp(E - E_max)
    total = unnormalized.sum(dim=-1, keepdim=True)
    return unnormalized / torch.where(total == 0, torch.ones_like(total), total)


@practice("AllenNLP, memory-efficient")
def allennlp(E, mask):
    while mask.dim() < E.dim():
        mask = mask.unsqueeze(0)
    masked_vector = E.masked_fill(~mask, torch.finfo(E.dtype).min)
    result = torch.exp(torch.log_softmax(masked_vector, dim=-1)) * mask
    return result / (result.sum(dim=-1, keepdim=True) + 1e-13)


@practice("plain loops")
def loops(E, mask):
    rows, allowed = E.reshape(-1, E.shape[-1]), mask.expand(E.shape).reshape(-1, E.shape[-1])
    A = rows * 0
    for r in range(len(rows)):
        if allowed[r].any():
            A[r, allowed[r]] = torch.softmax(rows[r][allowed[r]], dim=0)
    return A.reshape(E.shape)
