"""Right answers to `greedy_decode`, as others write them."""

import torch

from autograder.bank.practice import practice

PAD, START, STOP = 0, 1, 2


@practice("Hugging Face: unfinished_sequences")
@torch.no_grad()
def hf_greedy(decoder, s, max_length):
    batch_size = s.shape[0]
    input_ids = torch.full((batch_size, 1), START, dtype=torch.long, device=s.device)
    unfinished_sequences = torch.ones(batch_size, dtype=torch.long, device=s.device)
    while True:
        next_token_logits, s = decoder(input_ids[:, -1], s)
        next_tokens = torch.argmax(next_token_logits, dim=-1)
        # finished sentences should have their next token be a padding token
        next_tokens = next_tokens * unfinished_sequences + PAD * (1 - unfinished_sequences)
        input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
        unfinished_sequences = unfinished_sequences.mul((next_tokens != STOP).long())
        if unfinished_sequences.max() == 0 or input_ids.shape[1] - 1 >= max_length:
            break
    return input_ids[:, 1:]


@practice("Llama's generate: tokens in a tensor made beforehand, eos_reached")
@torch.inference_mode()
def llama(decoder, s, max_length):
    bsz = s.size(0)
    tokens = torch.full((bsz, max_length + 1), PAD, dtype=torch.long, device=s.device)
    tokens[:, 0] = START
    eos_reached = torch.tensor([False] * bsz, device=s.device)
    total_len = 1
    for cur_pos in range(1, max_length + 1):
        logits, s = decoder(tokens[:, cur_pos - 1], s)
        next_token = torch.argmax(logits, dim=-1)
        next_token = torch.where(eos_reached, tokens[:, cur_pos], next_token)
        tokens[:, cur_pos] = next_token
        eos_reached |= next_token == STOP
        total_len = cur_pos + 1
        if all(eos_reached):
            break
    return tokens[:, 1:total_len]


@practice("d2l: a list of steps, torch.where")
def d2l(decoder, s, max_length):
    dec_X = torch.tensor([START] * len(s), device=s.device)
    done = torch.zeros(len(s), dtype=torch.bool, device=s.device)
    outputs = []
    for _ in range(max_length):
        Y, s = decoder(dec_X, s)
        dec_X = torch.where(done, PAD, Y.argmax(1))
        outputs.append(dec_X)
        done = done | (dec_X == STOP)
        if done.all():
            break
    return torch.stack(outputs, 1)


@practice("nanoGPT: topk(1), masked_fill")
@torch.no_grad()
def nanogpt(decoder, s, max_length):
    idx = torch.full((s.size(0), 1), START, dtype=torch.long, device=s.device)
    for _ in range(max_length):
        ended = (idx == STOP).any(dim=1)
        if ended.all():
            break
        logits, s = decoder(idx[:, -1], s)
        _, idx_next = torch.topk(logits, k=1, dim=-1)
        idx_next = idx_next.masked_fill(ended[:, None], PAD)
        idx = torch.cat((idx, idx_next), dim=1)
    return idx[:, 1:]


@practice("numpy-minded: write on, and erase behind the first [STOP] at the end")
def cumulative(decoder, s, max_length):
    y = torch.full(s.shape[:1], START, dtype=torch.long, device=s.device)
    raw, ended = [], torch.zeros_like(y, dtype=torch.bool)
    while len(raw) < max_length and not ended.all():
        logits, s = decoder(y, s)
        y = logits.max(dim=-1).indices
        raw.append(y)
        ended = ended.logical_or(y.eq(STOP))
    out = torch.stack(raw, dim=1)
    stops = (out == STOP).long()
    behind = stops.cumsum(dim=1) - stops > 0
    out[behind] = PAD
    return out


@practice("plain Python lists, a sentence each")
def lists(decoder, s, max_length):
    sentences = [[] for _ in range(s.shape[0])]
    last = [START] * s.shape[0]
    for _ in range(max_length):
        logits, s = decoder(torch.tensor(last, device=s.device), s)
        best = logits.argmax(dim=-1).tolist()
        for i, words in enumerate(sentences):
            last[i] = PAD if STOP in words else best[i]
            words.append(last[i])
        if all(STOP in words for words in sentences):
            break
    return torch.tensor(sentences, dtype=torch.long, device=s.device)
