"""Right answers to `generate_with_cache`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("nanoGPT with a cache")
@torch.no_grad()
def nanogpt(decoder, prompt, steps):
    idx = prompt
    cache_k = cache_v = None
    generated, chosen_from = [], []
    past = 0
    for _ in range(steps):
        t = idx.size(1)
        pos = torch.arange(past, past + t, dtype=torch.long, device=idx.device)
        mask = torch.ones(t, past + t, dtype=torch.bool, device=idx.device).tril(past)
        logits, k, v = decoder(idx, pos, mask, cache_k, cache_v)
        cache_k = k if cache_k is None else torch.cat((cache_k, k), dim=2)
        cache_v = v if cache_v is None else torch.cat((cache_v, v), dim=2)
        past += t
        logits = logits[:, -1, :]
        idx = torch.argmax(logits, dim=-1, keepdim=True)
        generated.append(idx)
        chosen_from.append(logits)
    return torch.cat(generated, dim=1), torch.stack(chosen_from, dim=1)


@practice("Meta's Llama code: a preallocated cache")
@torch.inference_mode()
def llama(decoder, prompt, steps):
    bsz, prompt_len = prompt.shape
    total_len = prompt_len + steps
    tokens = torch.full((bsz, total_len), -1, dtype=torch.long, device=prompt.device)
    tokens[:, :prompt_len] = prompt
    cache_k = cache_v = None
    all_logits = []
    prev_pos = 0
    for cur_pos in range(prompt_len, total_len):
        seqlen = cur_pos - prev_pos
        mask = torch.full((seqlen, seqlen), float("-inf"), device=tokens.device)
        mask = torch.triu(mask, diagonal=1)
        mask = torch.hstack([torch.zeros((seqlen, prev_pos), device=tokens.device), mask]) == 0
        keys = None if cache_k is None else cache_k[:, :, :prev_pos]
        values = None if cache_v is None else cache_v[:, :, :prev_pos]
        positions = torch.arange(prev_pos, cur_pos, device=tokens.device)
        logits, xk, xv = decoder(tokens[:, prev_pos:cur_pos], positions, mask, keys, values)
        if cache_k is None:
            cache_k = xk.new_zeros(bsz, xk.shape[1], total_len, xk.shape[3])
            cache_v = xv.new_zeros(bsz, xv.shape[1], total_len, xv.shape[3])
        cache_k[:, :, prev_pos:cur_pos] = xk
        cache_v[:, :, prev_pos:cur_pos] = xv
        next_token = torch.argmax(logits[:, -1], dim=-1)
        tokens[:, cur_pos] = next_token.reshape(-1)
        all_logits.append(logits[:, -1])
        prev_pos = cur_pos
    return tokens[:, prompt_len:], torch.stack(all_logits, dim=1)


class _DynamicCache:
    def __init__(self):
        self.key_cache, self.value_cache = None, None

    def get_seq_length(self):
        return 0 if self.key_cache is None else self.key_cache.shape[-2]

    def update(self, key_states, value_states):
        if self.key_cache is None:
            self.key_cache, self.value_cache = key_states, value_states
        else:
            self.key_cache = torch.cat([self.key_cache, key_states], dim=-2)
            self.value_cache = torch.cat([self.value_cache, value_states], dim=-2)


@practice("Hugging Face transformers: greedy search with a DynamicCache")
def hf(decoder, prompt, steps):
    input_ids = prompt
    past_key_values = _DynamicCache()
    raw_logits = ()
    while input_ids.shape[-1] < prompt.shape[-1] + steps:
        past_length = past_key_values.get_seq_length()
        model_inputs = input_ids[:, past_length:]
        cache_position = torch.arange(past_length, input_ids.shape[1], device=input_ids.device)
        causal_mask = torch.arange(input_ids.shape[1], device=input_ids.device) <= cache_position.reshape(-1, 1)
        logits, k, v = decoder(
            model_inputs, cache_position, causal_mask, past_key_values.key_cache, past_key_values.value_cache
        )
        past_key_values.update(k, v)
        next_token_logits = logits[:, -1, :].clone()
        raw_logits += (next_token_logits,)
        next_tokens = torch.argmax(next_token_logits, dim=-1)
        input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
    return input_ids[:, prompt.shape[-1] :], torch.stack(raw_logits, dim=1)


def _decode_one_token(decoder, cur_token, input_pos, cache):
    mask = torch.ones(1, input_pos + 1, dtype=torch.bool, device=cur_token.device)
    pos = torch.tensor([input_pos], device=cur_token.device)
    logits, k, v = decoder(cur_token.view(-1, 1), pos, mask, torch.cat(cache["k"], 2), torch.cat(cache["v"], 2))
    cache["k"].append(k)
    cache["v"].append(v)
    return logits[:, -1]


@practice("gpt-fast: prefill, then one token at a time")
def gptfast(decoder, prompt, steps):
    T = prompt.size(1)
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool, device=prompt.device))
    logits, k, v = decoder(prompt, torch.arange(0, T, device=prompt.device), mask, None, None)
    cache = {"k": [k], "v": [v]}
    new_logits = [logits[:, -1]]
    new_tokens = [new_logits[-1].argmax(-1)]
    for i in range(steps - 1):
        new_logits.append(_decode_one_token(decoder, new_tokens[-1], T + i, cache))
        new_tokens.append(new_logits[-1].argmax(-1))
    return torch.stack(new_tokens, dim=1), torch.stack(new_logits, dim=1)


@practice("fairseq: an incremental state, results in tensors made beforehand")
def fairseq(decoder, prompt, steps):
    incremental_state = {}
    out_tokens = prompt.new_zeros(prompt.size(0), steps)
    scores = None
    prev_output_tokens, start = prompt, 0
    for step in range(steps):
        end = start + prev_output_tokens.size(1)
        positions = torch.arange(end, device=prompt.device)
        future_mask = torch.triu(torch.full((end, end), float("-inf"), device=prompt.device), 1)
        lprobs, k, v = decoder(
            prev_output_tokens,
            positions[start:],
            future_mask[start:] == 0,
            incremental_state.get("prev_key"),
            incremental_state.get("prev_value"),
        )
        for name, state in (("prev_key", k), ("prev_value", v)):
            before = incremental_state.get(name)
            incremental_state[name] = state if before is None else torch.cat([before, state], dim=2)
        lprobs = lprobs[:, -1, :]
        if scores is None:
            scores = lprobs.new_empty(prompt.size(0), steps, lprobs.size(-1))
        scores[:, step] = lprobs
        out_tokens[:, step] = lprobs.topk(1, dim=-1)[1].squeeze(-1)
        prev_output_tokens, start = out_tokens[:, step : step + 1], end
    return out_tokens, scores
