"""Right answers to `padding_mask`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("d2l: sequence_mask")
def d2l(lengths, N):
    mask = torch.arange((N), dtype=torch.float32, device=lengths.device)[None, :] < lengths[:, None]
    return mask.unsqueeze(1)


@practice("fairseq and ESPnet: lengths to a padding mask")
def fairseq(lengths, N):
    bsz, max_lens = lengths.size(0), N
    mask = torch.arange(max_lens).to(lengths.device).view(1, max_lens)
    mask = mask.expand(bsz, -1) >= lengths.view(bsz, 1).expand(-1, max_lens)
    return ~mask[:, None, :]


@practice("Hugging Face transformers: an attention mask of ones and zeros")
def hf(lengths, N):
    attention_mask = torch.zeros((lengths.shape[0], N), dtype=torch.long, device=lengths.device)
    for i, length in enumerate(lengths):
        attention_mask[i, :length] = 1
    return attention_mask[:, None, :].to(torch.bool)


@practice("einops", needs="einops")
def lucidrains(lengths, N):
    from einops import rearrange

    seq = torch.arange(N, device=lengths.device)
    return rearrange(seq, "n -> 1 1 n") < rearrange(lengths, "b -> b 1 1")


@practice("a list of rows")
def rows(lengths, N):
    made = [[n < length for n in range(N)] for length in lengths.tolist()]
    return torch.tensor(made, dtype=torch.bool, device=lengths.device).reshape(len(made), 1, N)


@practice("rows of a triangle")
def triangle(lengths, N):
    table = torch.ones(N + 1, N, dtype=torch.bool, device=lengths.device).tril(-1)
    return table[lengths.long()].unsqueeze(-2)
