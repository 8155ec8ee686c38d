"""Right answers to `causal_mask`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("nanoGPT: rows of the square triangle")
def nanogpt(N_Q, N_X, offset):
    bias = torch.tril(torch.ones(N_X, N_X)).view(1, 1, N_X, N_X)
    return bias[0, 0, offset : offset + N_Q, :N_X] == 1


@practice("the Annotated Transformer")
def annotated(N_Q, N_X, offset):
    attn_shape = (N_Q, N_X)
    subsequent_mask = torch.triu(torch.ones(attn_shape), diagonal=1 + offset).type(torch.uint8)
    return subsequent_mask == 0


@practice("Meta's Llama code")
def llama(N_Q, N_X, offset):
    mask = torch.full((N_Q, N_X - offset), float("-inf"))
    mask = torch.triu(mask, diagonal=1)
    mask = torch.hstack([torch.zeros((N_Q, offset)), mask])
    return mask == 0


@practice("Hugging Face transformers")
def hf(N_Q, N_X, offset):
    cache_position = torch.arange(offset, offset + N_Q)
    return torch.arange(N_X) <= cache_position.reshape(-1, 1)


@practice("torch: tril with a diagonal")
def tril(N_Q, N_X, offset):
    return torch.ones(N_Q, N_X, dtype=torch.bool).tril(diagonal=offset)


@practice("einops and x-transformers", needs="einops")
def lucidrains(N_Q, N_X, offset):
    from einops import rearrange

    i, j = torch.arange(N_Q) + offset, torch.arange(N_X)
    return rearrange(i, "i -> i 1") >= rearrange(j, "j -> 1 j")


@practice("plain loops")
def loops(N_Q, N_X, offset):
    mask = torch.zeros(N_Q, N_X, dtype=torch.bool)
    for m in range(N_Q):
        mask[m, : offset + m + 1] = True
    return mask
