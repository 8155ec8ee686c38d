"""Right answers to `picture_prefix`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("salesforce/LAVIS")
def lavis(picture, words, tokens, prompts, lengths):
    inputs_opt, inputs_embeds = picture, words
    atts_opt = torch.ones(inputs_opt.size()[:-1], dtype=torch.long, device=tokens.device)
    positions = torch.arange(tokens.size(1), device=tokens.device).unsqueeze(0)
    attention_mask = (positions < lengths.unsqueeze(1)).long()
    targets = tokens.masked_fill(attention_mask == 0, -100)
    targets = targets.masked_fill(positions < prompts.unsqueeze(1), -100)
    empty_targets = torch.ones(atts_opt.size(), dtype=targets.dtype, device=tokens.device).fill_(-100)
    targets = torch.cat([empty_targets, targets], dim=1)
    return torch.cat([inputs_opt, inputs_embeds], dim=1), targets


IGNORE_INDEX = -100


@practice("LLaVA")
def llava(picture, words, tokens, prompts, lengths):
    new_input_embeds, new_labels = [], []
    for batch_idx, cur_image_features in enumerate(picture):
        cur_labels = tokens[batch_idx].clone()
        cur_labels[: int(prompts[batch_idx])] = IGNORE_INDEX
        cur_labels[int(lengths[batch_idx]) :] = IGNORE_INDEX
        image_labels = torch.full(
            (cur_image_features.shape[0],), IGNORE_INDEX, device=cur_labels.device, dtype=cur_labels.dtype
        )
        new_input_embeds.append(torch.cat([cur_image_features, words[batch_idx]]))
        new_labels.append(torch.cat([image_labels, cur_labels]))
    return torch.stack(new_input_embeds, dim=0), torch.stack(new_labels, dim=0)


@practice("transformers")
def hugging_face(picture, words, tokens, prompts, lengths):
    batch_size, num_image_tokens, _ = picture.shape
    sequence_length = num_image_tokens + words.shape[1]
    cache_position = torch.arange(sequence_length, device=tokens.device).expand(batch_size, -1)
    special_image_mask = cache_position < num_image_tokens
    labels = tokens.new_zeros((batch_size, sequence_length))
    labels[:, num_image_tokens:] = tokens
    prompt_mask = cache_position < num_image_tokens + prompts[:, None]
    pad_mask = cache_position >= num_image_tokens + lengths[:, None]
    labels = labels.masked_fill(special_image_mask | prompt_mask | pad_mask, -100)
    return torch.cat((picture.to(words.dtype), words), dim=1), labels


@practice("lucidrains")
def lucid(picture, words, tokens, prompts, lengths, ignore_index=-100):
    m, n, device = picture.shape[-2], tokens.shape[-1], tokens.device
    seq = torch.arange(n, device=device)
    mask = (seq[None, :] >= prompts[:, None]) & (seq[None, :] < lengths[:, None])
    labels = torch.where(mask, tokens, torch.full_like(tokens, ignore_index))
    labels = torch.nn.functional.pad(labels, (m, 0), value=ignore_index)
    return torch.cat((picture, words), dim=-2), labels


@practice("einops", needs="einops")
def einops(picture, words, tokens, prompts, lengths):
    from einops import pack, rearrange, repeat

    place = repeat(torch.arange(tokens.shape[1], device=tokens.device), "n -> b n", b=len(tokens))
    learned = (place >= rearrange(prompts, "b -> b 1")) & (place < rearrange(lengths, "b -> b 1"))
    nothing = torch.full_like(tokens, -100)
    blank = repeat(nothing[:, 0], "b -> b m", m=picture.shape[1])
    inputs, _ = pack([picture, words], "b * d")
    labels, _ = pack([blank, torch.where(learned, tokens, nothing)], "b *")
    return inputs, labels


@practice("plain loops")
def loops(picture, words, tokens, prompts, lengths):
    labels = []
    for b, row in enumerate(tokens.tolist()):
        start, end = int(prompts[b]), int(lengths[b])
        labels.append([-100] * picture.shape[1] + [t if start <= n < end else -100 for n, t in enumerate(row)])
    return torch.cat([picture, words], 1), torch.tensor(labels, dtype=tokens.dtype, device=tokens.device)
