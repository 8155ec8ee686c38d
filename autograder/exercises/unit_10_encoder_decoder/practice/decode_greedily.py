"""Right answers to `decode_greedily`, as others write them."""

import torch
from torch import nn

from autograder.bank.practice import practice

PAD, START, STOP = 0, 1, 2


@practice("transformers: unfinished_sequences and past_key_values")
@torch.no_grad()
def hf_greedy_search(decoder, memory, mask, max_length):
    batch_size = memory.shape[0]
    encoder_keys, encoder_values = decoder.read(memory)
    decoder_input_ids = torch.full((batch_size, 1), START, dtype=torch.long, device=memory.device)
    unfinished_sequences = torch.ones(batch_size, dtype=torch.long, device=memory.device)
    past_key_values = None
    while unfinished_sequences.max() > 0 and decoder_input_ids.shape[1] <= max_length:
        logits, past_key_values = decoder.step(
            decoder_input_ids[:, -1], encoder_keys, encoder_values, mask, past_key_values
        )
        next_tokens = torch.argmax(logits, dim=-1)
        next_tokens = next_tokens * unfinished_sequences + PAD * (1 - unfinished_sequences)
        decoder_input_ids = torch.cat([decoder_input_ids, next_tokens[:, None]], dim=-1)
        unfinished_sequences = unfinished_sequences.mul((next_tokens != STOP).long())
    output = decoder_input_ids[:, 1:]
    missing = max_length - output.shape[1]
    return nn.functional.pad(output, (0, missing), value=PAD)


@practice("Annotated Transformer: ys grows, greedy_decode")
def annotated(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    ys = torch.zeros(memory.size(0), 1, device=memory.device).fill_(START).type(torch.long)
    state = None
    for _ in range(max_length):
        prob, state = decoder.step(ys[:, -1], K, V, mask, state)
        _, next_word = torch.max(prob, dim=1)
        done = (ys == STOP).any(dim=1)
        ys = torch.cat([ys, next_word.masked_fill(done, PAD).unsqueeze(1)], dim=1)
        if (ys == STOP).any(dim=1).sum() == ys.size(0):
            break
    out = ys.new_zeros(ys.size(0), max_length)
    out[:, : ys.size(1) - 1] = ys[:, 1:]
    return out


@practice("d2l: predict_seq2seq, dec_state in a list")
def d2l(decoder, memory, mask, max_length):
    enc_outputs = decoder.read(memory)
    dec_state = [*enc_outputs, mask, None]
    dec_X = torch.tensor([START] * len(memory), device=memory.device)
    finished = torch.zeros(len(memory), dtype=torch.bool, device=memory.device)
    outputs = []
    for _ in range(max_length):
        if finished.all():
            outputs.append(torch.full_like(dec_X, PAD))
            continue
        Y, dec_state[-1] = decoder.step(dec_X, *dec_state)
        dec_X = torch.where(finished, PAD, Y.argmax(dim=1))
        finished |= dec_X == STOP
        outputs.append(dec_X)
    return torch.stack(outputs, 1)


@practice("fairseq: an incremental state, finalised sentences leave the batch")
def fairseq(decoder, memory, mask, max_length):
    bsz = memory.size(0)
    encoder_out = {"k": None, "v": None, "padding": ~mask}
    encoder_out["k"], encoder_out["v"] = decoder.read(memory)
    tokens = torch.full((bsz, max_length + 1), PAD, device=memory.device, dtype=torch.long)
    tokens[:, 0] = START
    batch_idxs = torch.arange(bsz, device=memory.device)
    incremental_state = None
    for step in range(max_length):
        lprobs, incremental_state = decoder.step(
            tokens[batch_idxs, step], encoder_out["k"], encoder_out["v"], ~encoder_out["padding"], incremental_state
        )
        tokens[batch_idxs, step + 1] = lprobs.log_softmax(dim=-1).topk(1, dim=-1)[1].squeeze(-1)
        keep = (tokens[batch_idxs, step + 1] != STOP).nonzero().squeeze(-1)
        if keep.numel() == 0:
            break
        batch_idxs = batch_idxs.index_select(0, keep)
        encoder_out = {name: one.index_select(0, keep) for name, one in encoder_out.items()}
        incremental_state = tuple(one.index_select(0, keep) for one in incremental_state)
    return tokens[:, 1:]


@practice("Llama's generate: tokens in a tensor made beforehand, eos_reached")
@torch.inference_mode()
def llama(decoder, memory, mask, max_length):
    k, v = decoder.read(memory)
    tokens = torch.full((memory.shape[0], max_length + 1), PAD, dtype=torch.long, device=memory.device)
    tokens[:, 0] = START
    eos_reached, cache = torch.tensor([False] * memory.shape[0], device=memory.device), None
    for cur_pos in range(1, max_length + 1):
        logits, cache = decoder.step(tokens[:, cur_pos - 1], k, v, mask, cache)
        next_token = torch.where(eos_reached, tokens[:, cur_pos], torch.argmax(logits, dim=-1))
        tokens[:, cur_pos] = next_token
        eos_reached |= next_token == STOP
        if all(eos_reached):
            break
    return tokens[:, 1:].clone()


@practice("nanoGPT: probabilities and topk(1), cut off behind the first [STOP] at the end")
@torch.no_grad()
def nanogpt(decoder, memory, mask, max_length):
    K, V = decoder.read(memory)
    idx = torch.full((memory.size(0), 1), START, dtype=torch.long, device=memory.device)
    past = None
    for _ in range(max_length):
        logits, past = decoder.step(idx[:, -1], K, V, mask, past)
        probs = nn.functional.softmax(logits, dim=-1)
        _, idx_next = torch.topk(probs, k=1, dim=-1)
        idx = torch.cat((idx, idx_next), dim=1)
        if (idx == STOP).any(dim=1).all():
            break
    out = nn.functional.pad(idx[:, 1:], (0, max_length - idx.size(1) + 1), value=PAD)
    is_stop = (out == STOP).int()
    return out.masked_fill(is_stop.cumsum(dim=1) - is_stop > 0, PAD)


@practice("plain Python: one sentence after the other, with the source read once")
def sentence_by_sentence(decoder, memory, mask, max_length):
    keys, values = decoder.read(memory)
    translations = []
    for b in range(len(memory)):
        words, word, cache = [], START, None
        while word != STOP and len(words) < max_length:
            logits, cache = decoder.step(
                torch.tensor([word], device=memory.device),
                keys[b : b + 1],
                values[b : b + 1],
                mask[b : b + 1],
                cache,
            )
            word = int(logits[0].argmax())
            words.append(word)
        translations.append(words + [PAD] * (max_length - len(words)))
    return torch.tensor(translations, device=memory.device)
