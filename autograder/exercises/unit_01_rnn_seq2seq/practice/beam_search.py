"""Right answers to `beam_search`, as others write them."""

import heapq
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice

START, STOP = 1, 2


@practice("plain Python: tuples in a list, sorted")
def tuples(decoder, s, beam_size, max_length):
    beam = [([], s.new_zeros(()), s.unsqueeze(0))]
    for _ in range(max_length):
        candidates = []
        for tokens, score, state in beam:
            if tokens and tokens[-1] == STOP:
                candidates.append((tokens, score, state))
                continue
            last = torch.tensor([tokens[-1] if tokens else START], device=s.device)
            logits, new_state = decoder(last, state)
            log_p = logits.log_softmax(dim=-1)[0]
            for token in range(len(log_p)):
                candidates.append((tokens + [token], score + log_p[token], new_state))
        beam = sorted(candidates, key=lambda candidate: candidate[1].item(), reverse=True)[:beam_size]
        if all(tokens[-1] == STOP for tokens, _, _ in beam):
            break
    tokens, score, _ = beam[0]
    return torch.tensor(tokens, device=s.device), score


@dataclass
class Hypothesis:
    """What pointer-generator's decoder keeps of a sentence."""

    tokens: list
    log_prob: torch.Tensor
    state: torch.Tensor

    def extend(self, token, log_prob, state):
        return Hypothesis(self.tokens + [token], self.log_prob + log_prob, state)

    @property
    def latest_token(self):
        return self.tokens[-1]

    @property
    def done(self):
        return self.latest_token == STOP


@practice("pointer-generator: a class Hypothesis, live ones asked as one batch")
@torch.no_grad()
def hypotheses(decoder, s, beam_size, max_length):
    hyps = [Hypothesis([START], s.new_tensor(0.0), s)]
    steps = 0
    while steps < max_length and not all(h.done for h in hyps):
        live = [h for h in hyps if not h.done]
        latest_tokens = torch.tensor([h.latest_token for h in live], device=s.device)
        logits, states = decoder(latest_tokens, torch.stack([h.state for h in live]))
        log_probs = F.log_softmax(logits, dim=1)
        topk_log_probs, topk_ids = log_probs.topk(min(beam_size, log_probs.size(1)), dim=1)
        all_hyps = [h for h in hyps if h.done]
        for h, row, ids, state in zip(live, topk_log_probs, topk_ids, states):
            all_hyps += [h.extend(i.item(), p, state) for p, i in zip(row, ids)]
        hyps = sorted(all_hyps, key=lambda h: h.log_prob, reverse=True)[:beam_size]
        steps += 1
    best = max(hyps, key=lambda h: h.log_prob)
    return torch.tensor(best.tokens[1:], dtype=torch.long, device=s.device), best.log_prob


@practice("fairseq: one topk over beam times vocabulary, states reordered")
def fairseq(decoder, s, beam_size, max_length):
    device = s.device
    tokens = torch.full((1, 1), START, dtype=torch.long, device=device)
    scores = s.new_zeros(1)
    state = s[None]
    finalized = []  # (tokens, score) of the hypotheses in the beam that have ended
    for _ in range(max_length):
        logits, state = decoder(tokens[:, -1], state)
        lprobs = logits.log_softmax(-1)
        vocab = lprobs.size(-1)
        cand_scores = (scores[:, None] + lprobs).view(-1)
        if finalized:
            cand_scores = torch.cat([cand_scores, torch.stack([score for _, score in finalized])])
        live = len(tokens) * vocab
        cand_scores, cand_indices = torch.topk(cand_scores, k=min(beam_size, len(cand_scores)))
        ended, beams, words, kept = [], [], [], []
        for score, index in zip(cand_scores, cand_indices.tolist()):
            if index >= live:
                ended.append((finalized[index - live][0], score))
                continue
            bbsz_idx, word = divmod(index, vocab)
            if word == STOP:
                ended.append((torch.cat([tokens[bbsz_idx], tokens.new_tensor([STOP])]), score))
            else:
                beams.append(bbsz_idx)
                words.append(word)
                kept.append(score)
        finalized = ended
        if not beams:
            tokens = tokens[:0]
            break
        active = torch.tensor(beams, device=device)
        tokens = torch.cat([tokens.index_select(0, active), torch.tensor(words, device=device)[:, None]], dim=1)
        scores = torch.stack(kept)
        state = state.index_select(0, active)
    best = finalized + [(row, score) for row, score in zip(tokens, scores)]
    row, score = max(best, key=lambda hypo: float(hypo[1]))
    return row[1:], score


@practice("heapq.nlargest over a generator")
def heaps(decoder, s, beam_size, max_length):
    def expand(item):
        score, toks, state = item
        if toks[-1:] == (STOP,):
            yield item
            return
        prev = s.new_full((1,), toks[-1] if toks else START, dtype=torch.long)
        logits, nxt = decoder(prev, state)
        yield from ((score + lp, (*toks, i), nxt) for i, lp in enumerate(logits.squeeze(0).log_softmax(0)))

    beam = [(torch.zeros((), dtype=s.dtype, device=s.device), (), s.view(1, -1))]
    for _ in range(max_length):
        beam = heapq.nlargest(beam_size, (c for item in beam for c in expand(item)), key=lambda c: c[0])
        if all(toks[-1] == STOP for _, toks, _ in beam):
            break
    score, toks, _ = beam[0]
    return torch.tensor(toks, dtype=torch.long, device=s.device), score


@practice("Hugging Face: ended beams go on with [PAD] for nothing")
@torch.no_grad()
def hf_beam(decoder, s, beam_size, max_length):
    input_ids = torch.full((1, 1), START, dtype=torch.long, device=s.device)
    beam_scores = torch.zeros(1, dtype=s.dtype, device=s.device)
    past = s.reshape(1, -1)
    is_done = torch.zeros(1, dtype=torch.bool, device=s.device)
    for _ in range(max_length):
        next_token_logits, past = decoder(input_ids[:, -1], past)
        next_token_scores = F.log_softmax(next_token_logits, dim=-1) + beam_scores[:, None]
        vocab_size = next_token_scores.shape[-1]
        # an ended beam has a single continuation, [PAD], which costs nothing
        valid = torch.ones_like(next_token_scores, dtype=torch.bool)
        valid[is_done, 1:] = False
        next_token_scores[is_done, 0] = beam_scores[is_done]
        flat = valid.flatten().nonzero().squeeze(-1)
        num_beams = min(beam_size, flat.numel())
        beam_scores, chosen = torch.topk(next_token_scores.flatten()[flat], num_beams, largest=True, sorted=True)
        chosen = flat[chosen]
        beam_idx = torch.div(chosen, vocab_size, rounding_mode="floor")
        next_tokens = chosen % vocab_size
        input_ids = torch.cat([input_ids[beam_idx], next_tokens.unsqueeze(-1)], dim=-1)
        past, is_done = past[beam_idx], is_done[beam_idx] | (next_tokens == STOP)
        if is_done.all():
            break
    best = input_ids[0, 1:]
    ends = (best == STOP).nonzero()
    if len(ends):
        best = best[: int(ends[0]) + 1]
    return best, beam_scores[0]
