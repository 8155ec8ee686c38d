"""Right answers to `text_masks`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("salesforce/BLIP")
def blip(lengths, N, M, mode):
    device = lengths.device
    seq_ids = torch.arange(N, device=device)
    attention_mask = (seq_ids[None, :] < lengths[:, None]).long()
    batch_size = attention_mask.size(0)
    if mode == "write":
        causal_mask = seq_ids[None, None, :].repeat(batch_size, N, 1) <= seq_ids[None, :, None]
        extended = causal_mask.long() * attention_mask[:, None, :]
    else:
        extended = attention_mask[:, None, :].repeat(1, N, 1)
    image_atts = torch.ones(batch_size, M, dtype=torch.long, device=device)
    if mode == "contrast":
        image_atts = torch.zeros_like(image_atts)
    return extended.bool(), image_atts[:, None, :].repeat(1, N, 1).bool()


@practice("transformers")
def hugging_face(lengths, N, M, mode):
    is_decoder = mode == "write"
    cache_position = torch.arange(N, device=lengths.device)
    padding = cache_position < lengths.unsqueeze(-1)
    own = padding[:, None, :].expand(-1, N, -1)
    if is_decoder:
        own = own & (cache_position <= cache_position.reshape(-1, 1))
    encoder_attention_mask = padding.new_full((lengths.size(0), M), mode != "contrast")
    return own, encoder_attention_mask[:, None, :].expand(-1, N, -1)


@practice("lucidrains")
def lucid(lengths, N, M, mode):
    b, device = lengths.shape[0], lengths.device
    mask = torch.arange(N, device=device).view(1, 1, N) < lengths.reshape(b, 1, 1)
    mask = mask.repeat(1, N, 1)
    if mode == "write":
        causal = torch.ones((N, N), dtype=torch.bool, device=device).triu(1)
        mask = mask.masked_fill(causal, False)
    context = torch.zeros((b, N, M), dtype=torch.bool, device=device)
    return mask, (context if mode == "contrast" else context.logical_not())


@practice("einops", needs="einops")
def einops(lengths, N, M, mode):
    from einops import rearrange, repeat

    place = torch.arange(N, device=lengths.device)
    own = repeat(place < rearrange(lengths, "b -> b 1"), "b k -> b n k", n=N)
    if mode == "write":
        own = own & (rearrange(place, "k -> 1 1 k") <= rearrange(place, "n -> 1 n 1"))
    seen = torch.full_like(lengths, mode != "contrast", dtype=torch.bool)
    return own, repeat(seen, "b -> b n m", n=N, m=M)


@practice("plain loops")
def loops(lengths, N, M, mode):
    own, cross = [], []
    for length in lengths.tolist():
        own.append([[k < length and (mode != "write" or k <= n) for k in range(N)] for n in range(N)])
        cross.append([[mode != "contrast"] * M for _ in range(N)])
    return torch.tensor(own, device=lengths.device), torch.tensor(cross, device=lengths.device)
