"""Right answers to `penalised_scores`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("transformers")
def hugging_face(log_probabilities, tokens, alpha):
    class BeamHypotheses:
        def __init__(self, length_penalty):
            self.length_penalty = length_penalty
            self.beams = []

        def add(self, hyp, sum_logprobs):
            generated_len = hyp.shape[-1]
            score = sum_logprobs / (((5 + generated_len) / 6) ** self.length_penalty)
            self.beams.append(score)

    beam_hyps = BeamHypotheses(alpha)
    for hyp, scores in zip(tokens, log_probabilities):
        eos = (hyp == 2).nonzero(as_tuple=True)[0]
        end = int(eos[0]) + 1 if len(eos) > 0 else hyp.shape[-1]
        beam_hyps.add(hyp[:end], scores[:end].sum())
    return torch.stack(beam_hyps.beams)


@practice("tensor2tensor")
def tensor_to_tensor(log_probabilities, tokens, alpha):
    is_eos = torch.eq(tokens, 2).to(torch.int64)
    after_eos = torch.cumsum(is_eos, dim=1) - is_eos
    alive = torch.eq(after_eos, 0)
    i = alive.sum(dim=1).to(torch.float32)
    length_penalty = torch.pow((5.0 + i) / 6.0, alpha)
    log_probs = torch.where(alive, log_probabilities, torch.zeros((), dtype=log_probabilities.dtype)).sum(dim=1)
    return log_probs / length_penalty.to(log_probs.dtype)


@practice("OpenNMT")
def opennmt(log_probabilities, tokens, alpha):
    def length_wu(cur_len, alpha=0.0):
        return ((5 + cur_len) / 6.0) ** alpha

    scores = log_probabilities.new_zeros(tokens.shape[0])
    lengths = torch.zeros(tokens.shape[0], dtype=torch.long, device=tokens.device)
    is_finished = torch.zeros(tokens.shape[0], dtype=torch.bool, device=tokens.device)
    for step in range(tokens.shape[1]):
        scores = torch.where(is_finished, scores, scores + log_probabilities[:, step])
        lengths = lengths + ~is_finished
        is_finished = is_finished | tokens[:, step].eq(2)
    return scores / length_wu(lengths, alpha).to(scores.dtype)


@practice("fairseq")
def fairseq(log_probabilities, tokens, alpha):
    pad, eos = 0, 2
    lprobs = log_probabilities.masked_fill(tokens.eq(pad), 0)
    cum_scores = lprobs.cumsum(dim=1)
    max_len = tokens.size(1) - 1
    step = torch.where(tokens.eq(eos).any(1), tokens.eq(eos).to(torch.int).argmax(1), max_len)
    eos_scores = cum_scores.gather(1, step.unsqueeze(1)).squeeze(1)
    norm = ((step + 1 + 5) / (5 + 1)) ** alpha
    return eos_scores / norm.type_as(eos_scores)


@practice("d2l")
def dive(log_probabilities, tokens, alpha):
    num_hyps, num_steps = tokens.shape
    valid_len = torch.tensor(
        [seq.index(2) + 1 if 2 in seq else num_steps for seq in tokens.tolist()], device=tokens.device
    )
    mask = torch.arange(num_steps, dtype=torch.float32, device=tokens.device)[None, :] < valid_len[:, None]
    X = log_probabilities.clone()
    X[~mask] = 0
    return X.sum(1) * torch.pow((5 + valid_len) / 6, -alpha).type(X.dtype)


@practice("plain loops")
def loops(log_probabilities, tokens, alpha):
    out = []
    for k in range(len(tokens)):
        total, L = 0, 0
        for t in range(tokens.shape[1]):
            total = total + log_probabilities[k, t]
            L += 1
            if tokens[k, t] == 2:
                break
        out.append(total / ((5 + L) / 6) ** alpha)
    return torch.stack(out)
