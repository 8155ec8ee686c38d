"""Right answers to `few_shot_prompts`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("plain loops")
def loops(x, y, query, examples, pad):
    B, K = x.shape
    tokens = torch.full((B, 2 * K + 1), pad, dtype=torch.int64, device=x.device)
    mask = torch.zeros(B, 2 * K + 1, dtype=torch.bool, device=x.device)
    predicts = torch.zeros_like(mask)
    for b in range(B):
        start = 2 * (K - int(examples[b]))
        for k in range(int(examples[b])):
            tokens[b, start + 2 * k] = x[b, k]
            tokens[b, start + 2 * k + 1] = y[b, k]
            predicts[b, start + 2 * k] = True
        tokens[b, -1] = query[b]
        predicts[b, -1] = True
        mask[b, start:] = True
    return tokens, mask, predicts


@practice("a tokenizer's padding, with lists")
def tokenizer(x, y, query, examples, pad):
    batch = []
    for xs, ys, q, e in zip(x.tolist(), y.tolist(), query.tolist(), examples.tolist()):
        ids = [t for pair in zip(xs[:e], ys[:e]) for t in pair] + [q]
        labels = [True, False] * e + [True]
        batch.append((ids, labels))
    max_length = 2 * x.size(1) + 1
    input_ids, attention_mask, answers = [], [], []
    for ids, labels in batch:
        difference = max_length - len(ids)
        input_ids.append([pad] * difference + ids)
        attention_mask.append([0] * difference + [1] * len(ids))
        answers.append([False] * difference + labels)
    return (
        torch.tensor(input_ids, device=x.device),
        torch.tensor(attention_mask, device=x.device).bool(),
        torch.tensor(answers, device=x.device),
    )


@practice("gather")
def gather(x, y, query, examples, pad):
    B, K = x.shape
    full = torch.cat([torch.stack([x, y], dim=-1).flatten(1), query[:, None]], dim=1)
    begin = 2 * (K - examples)[:, None]
    pos = torch.arange(2 * K + 1, device=x.device)[None]
    mask = pos >= begin
    shifted = full.gather(1, (pos - begin).clamp(min=0))
    tokens = torch.where(mask, shifted, torch.full_like(shifted, pad))
    tokens[:, -1] = query
    predicts = mask & (pos % 2 == 0)
    return tokens, mask, predicts


@practice("pad_sequence on reversed prompts")
def pad_sequence(x, y, query, examples, pad):
    K = x.shape[1]
    prompts = []
    for b, e in enumerate(examples.tolist()):
        shots = torch.stack((x[b, :e], y[b, :e]), dim=1).reshape(-1)
        prompts.append(torch.cat((shots, query[b : b + 1])).flip(0))
    prompts.append(x.new_zeros(2 * K + 1))
    tokens = nn.utils.rnn.pad_sequence(prompts, batch_first=True, padding_value=pad)[:-1].flip(1)
    lengths = 2 * examples + 1
    mask = torch.arange(2 * K + 1, device=x.device).flip(0)[None, :] < lengths[:, None]
    predicts = mask.clone()
    predicts[:, 1::2] = False
    return tokens, mask, predicts


@practice("F.pad, row by row")
def f_pad(x, y, query, examples, pad):
    rows, masks, predicts = [], [], []
    for b in range(len(query)):
        e = examples[b].item()
        row = torch.empty(2 * e + 1, dtype=torch.long, device=x.device)
        row[0:-1:2], row[1::2], row[-1] = x[b, :e], y[b, :e], query[b]
        left = 2 * (x.size(1) - e)
        rows.append(F.pad(row, (left, 0), value=pad))
        masks.append(F.pad(torch.ones_like(row, dtype=torch.bool), (left, 0)))
        ask = torch.arange(2 * e + 1, device=x.device) % 2 == 0
        predicts.append(F.pad(ask, (left, 0), value=False))
    return torch.stack(rows), torch.stack(masks), torch.stack(predicts)


@practice("einops", needs="einops")
def lucidrains(x, y, query, examples, pad):
    from einops import pack, rearrange

    b, k = x.shape
    pairs = rearrange([x, y], "two b k -> b k two")
    rolled = torch.stack([row.roll(k - e, 0) for row, e in zip(pairs, examples.tolist())])
    seq, _ = pack([rearrange(rolled, "b k two -> b (k two)"), query], "b *")
    i = torch.arange(2 * k + 1, device=x.device)
    mask = i >= rearrange(2 * (k - examples), "b -> b 1")
    return seq.masked_fill(~mask, pad), mask, mask & (i % 2 == 0)
