"""Right answers to `interleaved_mask`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("flex_attention")
def flex(pictures, lengths, last_only):
    last_picture = torch.cummax(pictures, dim=-1).values

    def causal(b, q_idx, kv_idx):
        return q_idx >= kv_idx

    def same_picture(b, q_idx, kv_idx):
        return (pictures[b, q_idx] > 0) & (pictures[b, q_idx] == pictures[b, kv_idx])

    def not_padding(b, q_idx, kv_idx):
        return kv_idx < lengths[b]

    def picture_allowed(b, q_idx, kv_idx):
        is_far = (pictures[b, kv_idx] > 0) & (pictures[b, kv_idx] != last_picture[b, q_idx])
        return ~((pictures[b, q_idx] == 0) & is_far)

    def mask_mod(b, q_idx, kv_idx):
        mask = (causal(b, q_idx, kv_idx) | same_picture(b, q_idx, kv_idx)) & not_padding(b, q_idx, kv_idx)
        if last_only:
            mask = mask & picture_allowed(b, q_idx, kv_idx)
        return mask

    batch_size, seq_len = pictures.shape
    b = torch.arange(batch_size, device=pictures.device)
    idx = torch.arange(seq_len, device=pictures.device)
    return mask_mod(b[:, None, None], idx[None, :, None], idx[None, None, :])


@practice("transformers")
def hugging_face(pictures, lengths, last_only):
    batch_size, sequence_length = pictures.shape
    device = pictures.device
    min_dtype = torch.finfo(torch.float32).min
    causal_mask = torch.full((sequence_length, sequence_length), fill_value=min_dtype, device=device)
    causal_mask = torch.triu(causal_mask, diagonal=1)[None].repeat(batch_size, 1, 1)
    image_group_ids = torch.where(pictures > 0, pictures, -1)
    is_image_block = (image_group_ids[:, :, None] == image_group_ids[:, None, :]) & (image_group_ids != -1)[:, :, None]
    causal_mask = causal_mask.masked_fill(is_image_block, 0.0)
    if last_only:
        latest = image_group_ids.cummax(dim=1).values
        earlier = (image_group_ids != -1)[:, None, :] & (image_group_ids[:, None, :] != latest[:, :, None])
        causal_mask = causal_mask.masked_fill(earlier & (image_group_ids == -1)[:, :, None], min_dtype)
    attention_mask = torch.arange(sequence_length, device=device)[None, :] < lengths[:, None]
    causal_mask = causal_mask.masked_fill(~attention_mask[:, None, :], min_dtype)
    return causal_mask == 0


@practice("lucidrains")
def lucid(pictures, lengths, last_only):
    b, n, device = *pictures.shape, pictures.device
    seq = torch.arange(n, device=device)
    is_text = pictures == 0
    causal_mask = torch.ones((n, n), device=device, dtype=torch.bool).triu(1)
    modality_mask = (pictures.view(b, n, 1) == pictures.view(b, 1, n)) & ~is_text.view(b, 1, n)
    mask = ~causal_mask | modality_mask
    if last_only:
        text_time = pictures.cummax(dim=-1).values
        text_to_media = text_time.view(b, n, 1) == pictures.view(b, 1, n)
        mask = mask & (~is_text.view(b, n, 1) | is_text.view(b, 1, n) | text_to_media)
    return mask & (seq.view(1, 1, n) < lengths.view(b, 1, 1))


@practice("einops", needs="einops")
def einops(pictures, lengths, last_only):
    from einops import rearrange, repeat

    place = torch.arange(pictures.shape[1], device=pictures.device)
    query, key = rearrange(pictures, "b n -> b n 1"), rearrange(pictures, "b m -> b 1 m")
    mask = rearrange(place, "n -> n 1") >= rearrange(place, "m -> 1 m")
    mask = repeat(mask, "n m -> b n m", b=pictures.shape[0]) | ((query == key) & (query > 0))
    if last_only:
        last = rearrange(pictures.cummax(1).values, "b n -> b n 1")
        mask = mask & ((query > 0) | (key == 0) | (key == last))
    return mask & (rearrange(place, "m -> 1 1 m") < rearrange(lengths, "b -> b 1 1"))


@practice("plain loops")
def loops(pictures, lengths, last_only):
    masks = []
    for line, length in zip(pictures.tolist(), lengths.tolist()):
        mask = []
        for n, mine in enumerate(line):
            before = [k for k in line[: n + 1] if k > 0]
            row = []
            for m, other in enumerate(line):
                allowed = m <= n or (mine > 0 and mine == other)
                if last_only and mine == 0 and other > 0:
                    allowed = allowed and other == before[-1]
                row.append(allowed and m < length)
            mask.append(row)
        masks.append(mask)
    return torch.tensor(masks, device=pictures.device)
