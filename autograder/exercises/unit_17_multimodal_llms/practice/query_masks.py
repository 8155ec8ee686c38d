"""Right answers to `query_masks`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("salesforce/LAVIS")
def lavis(lengths, Q, N, loss):
    device, batch_size = lengths.device, lengths.size(0)
    query_atts = torch.ones((batch_size, Q), dtype=torch.long, device=device)
    text_atts = (torch.arange(N, device=device)[None, :] < lengths[:, None]).long()
    attention_mask = torch.cat([query_atts, text_atts], dim=1)
    if loss == "writing":
        seq_ids = torch.arange(N, device=device)
        causal_mask = (seq_ids[None, None, :].repeat(batch_size, N, 1) <= seq_ids[None, :, None]).long()
        prefix = torch.zeros((batch_size, Q, N), device=device, dtype=causal_mask.dtype)
        causal_mask = torch.cat([prefix, causal_mask], dim=1)
        ones = torch.ones((batch_size, causal_mask.shape[1], Q), device=device, dtype=causal_mask.dtype)
        causal_mask = torch.cat([ones, causal_mask], dim=-1)
        return (causal_mask * attention_mask[:, None, :]).bool()
    extended = attention_mask[:, None, :].repeat(1, Q + N, 1)
    if loss == "contrast":
        extended[:, :Q, Q:] = 0
        extended[:, Q:, :Q] = 0
    return extended > 0


@practice("transformers")
def hugging_face(lengths, Q, N, loss):
    total = Q + N
    cache_position = torch.arange(total, device=lengths.device)
    token_type_ids = (cache_position >= Q).long()
    padding_mask = cache_position[None, :] < lengths[:, None] + Q
    q_idx, kv_idx = cache_position[:, None], cache_position[None, :]
    same_modality = token_type_ids[q_idx] == token_type_ids[kv_idx]
    if loss == "contrast":
        overlay = same_modality
    elif loss == "writing":
        overlay = (q_idx >= kv_idx) | (kv_idx < Q)
    else:
        overlay = torch.ones_like(same_modality)
    return overlay[None, :, :] & padding_mask[:, None, :].expand(-1, total, -1)


@practice("big_vision")
def big_vision(lengths, Q, N, loss):
    steps = {"matching": (0, 0, 0), "writing": (0, 1, 1), "contrast": (0, 1, 0)}[loss]
    mask_ar = torch.tensor([steps[0]] * Q + [steps[1]] + [steps[2]] * (N - 1), device=lengths.device)
    cumsum = torch.cumsum(mask_ar, dim=0)
    attn_mask = cumsum[None, None, :] <= cumsum[None, :, None]
    if loss == "contrast":
        attn_mask = attn_mask & attn_mask.mT
    input_mask = torch.arange(Q + N, device=lengths.device) < (lengths + Q).unsqueeze(1)
    return torch.logical_and(attn_mask, input_mask[:, None, :])


@practice("lucidrains")
def lucid(lengths, Q, N, loss):
    b, device = lengths.shape[0], lengths.device
    text_mask = torch.arange(N, device=device).view(1, 1, N) < lengths.reshape(b, 1, 1)
    mask = torch.nn.functional.pad(text_mask, (Q, 0), value=True).repeat(1, Q + N, 1)
    if loss == "writing":
        causal = torch.ones((Q + N, Q + N), dtype=torch.bool, device=device).triu(1)
        causal[:Q, :Q] = False
        mask = mask.masked_fill(causal, False)
    elif loss == "contrast":
        mask[:, :Q, Q:] = False
        mask[:, Q:, :Q] = False
    return mask


@practice("einops", needs="einops")
def einops(lengths, Q, N, loss):
    from einops import rearrange, repeat

    place = torch.arange(N, device=lengths.device)
    text = repeat(place < rearrange(lengths, "b -> b 1"), "b k -> b n k", n=N)
    upper = repeat(text[:, 0], "b k -> b q k", q=Q) & (loss == "matching")
    if loss == "writing":
        text = text & (rearrange(place, "k -> 1 1 k") <= rearrange(place, "n -> 1 n 1"))
    yes = torch.ones_like(lengths, dtype=torch.bool)
    left = repeat(yes & (loss != "contrast"), "b -> b n q", n=N, q=Q)
    corner = repeat(yes, "b -> b r q", r=Q, q=Q)
    return torch.cat([torch.cat([corner, upper], dim=-1), torch.cat([left, text], dim=-1)], dim=-2)


@practice("plain loops")
def loops(lengths, Q, N, loss):
    out = torch.zeros(len(lengths), Q + N, Q + N, dtype=torch.bool, device=lengths.device)
    for b, length in enumerate(lengths.tolist()):
        for q in range(Q):
            out[b, q, :Q] = True
            if loss == "matching":
                out[b, q, Q : Q + length] = True
        for n in range(N):
            if loss != "contrast":
                out[b, Q + n, :Q] = True
            end = min(n + 1, length) if loss == "writing" else length
            out[b, Q + n, Q : Q + end] = True
    return out
