"""Right answers to `decode_with_attention`, as others write them."""

import torch
from torch.nn import functional as F

from autograder.bank.practice import practice

START = 1


@practice("PyTorch's seq2seq tutorial: teacher forcing")
def tutorial(step, y, s, H, mask):
    batch_size = H.size(0)
    decoder_input = torch.empty(batch_size, dtype=torch.long, device=y.device).fill_(START)
    decoder_hidden = s
    decoder_outputs, attentions = [], []
    for i in range(y.size(1)):
        decoder_output, decoder_hidden, attn_weights = step(decoder_input, decoder_hidden, H, mask)
        decoder_outputs.append(decoder_output.unsqueeze(1))
        attentions.append(attn_weights.unsqueeze(1))
        decoder_input = y[:, i]  # teacher forcing
    return torch.cat(decoder_outputs, dim=1), torch.cat(attentions, dim=1)


@practice("Hugging Face: shift_tokens_right")
def shifted(step, y, s, H, mask):
    decoder_input_ids = y.new_zeros(y.shape)
    decoder_input_ids[:, 1:] = y[:, :-1].clone()
    decoder_input_ids[:, 0] = START
    all_logits, all_attentions = (), ()
    for input_ids in decoder_input_ids.unbind(1):
        logits, s, attn = step(input_ids, s, H, mask)
        all_logits += (logits,)
        all_attentions += (attn,)
    return torch.stack(all_logits, dim=1), torch.stack(all_attentions, dim=1)


@practice("d2l: time first, then swapaxes")
def d2l(step, y, s, H, mask):
    bos = torch.tensor([START] * y.shape[0], device=y.device).reshape(-1, 1)
    dec_input = torch.cat([bos, y[:, :-1]], 1)
    outputs, weights = [], []
    for x in dec_input.permute(1, 0):
        out, s, a = step(x, s, H, mask)
        outputs.append(out)
        weights.append(a)
    return torch.stack(outputs).swapaxes(0, 1), torch.stack(weights).swapaxes(0, 1)


@practice("fairseq: attention scores written into a tensor of zeros")
def fairseq(step, y, s, H, mask):
    bsz, seqlen = y.size()
    srclen = H.size(1)
    prev_output_tokens = F.pad(y, (1, 0), value=START)[:, :seqlen]
    attn_scores = H.new_zeros(seqlen, bsz, srclen)
    outs = []
    hidden = s
    for j in range(seqlen):
        out, hidden, attn_scores[j] = step(prev_output_tokens[:, j], hidden, H, mask)
        outs.append(out)
    x = torch.cat(outs, dim=0).view(seqlen, bsz, -1).transpose(1, 0)
    return x, attn_scores.transpose(0, 1)


def _states(step, y, s, H, mask):
    previous = torch.full_like(y[:, 0], START)
    for correct in y.T:
        logits, s, a = step(previous, s, H, mask)
        yield logits, a
        previous = correct


@practice("a generator and zip")
def generator(step, y, s, H, mask):
    logits, A = zip(*_states(step, y, s, H, mask))
    return torch.stack(logits, 1), torch.stack(A, 1)


@practice("recursion over the tokens")
def recursive(step, y, s, H, mask):
    def rest(previous, state, t):
        if t == y.shape[1]:
            return [], []
        logits, state, a = step(previous, state, H, mask)
        more_logits, more_weights = rest(y[:, t], state, t + 1)
        return [logits, *more_logits], [a, *more_weights]

    logits, A = rest(torch.full((len(y),), START, device=y.device), s, 0)
    return torch.stack(logits, dim=1), torch.stack(A, dim=1)
