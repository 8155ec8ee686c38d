"""Answers to penalised_scores (assignment 10)."""

import torch
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("Lengths from the padding, a mask, one division")
def lengths_from_padding(log_probabilities, tokens, alpha):
    real = tokens != 0
    L = real.sum(1)
    total = torch.where(real, log_probabilities, 0.0).sum(1)
    return total / (((5 + L) / 6) ** alpha).to(total.dtype)


@right("A loop with break")
def loop_with_break(log_probabilities, tokens, alpha):
    scores = []
    for logs, words in zip(log_probabilities, tokens):
        total, L = logs.new_zeros(()), 0
        for log, word in zip(logs, words):
            total = total + log
            L += 1
            if word == 2:
                break
        scores.append(total * ((5 + L) / 6) ** -alpha)
    return torch.stack(scores)


@right("cumsum and the entry at the last word")
def cumsum_at_the_end(log_probabilities, tokens, alpha):
    K, T = tokens.shape
    place = torch.arange(T, device=tokens.device).expand(K, T)
    end = place.masked_fill(tokens != 2, T - 1).amin(1)
    total = log_probabilities.cumsum(1)[torch.arange(K, device=tokens.device), end]
    return total / (((6 + end) / 6) ** alpha).to(total.dtype)


@right("A running flag: step by step over the positions")
def running_flag(log_probabilities, tokens, alpha):
    alive = torch.ones(len(tokens), dtype=torch.bool, device=tokens.device)
    total = torch.zeros_like(log_probabilities[:, 0])
    L = torch.zeros(len(tokens), device=tokens.device)
    for t in range(tokens.shape[1]):
        total = total + log_probabilities[:, t].masked_fill(~alive, 0)
        L = L + alive
        alive = alive & (tokens[:, t] != 2)
    return total / torch.pow((5 + L) / 6, alpha).to(total.dtype)


@right("In float64 inside, back in the given type")
def double_inside(log_probabilities, tokens, alpha):
    seen = (tokens == 2).cumsum(1)
    behind = (seen - (tokens == 2).long()) > 0
    total = log_probabilities.double().masked_fill(behind, 0).sum(1)
    L = (~behind).sum(1).double()
    return (total / ((5 + L) / 6).pow(alpha)).to(log_probabilities.dtype)


@right("tokens.tolist() and index, with a ValueError for those without an end")
def by_index(log_probabilities, tokens, alpha):
    def length(words):
        try:
            return words.index(2) + 1
        except ValueError:
            return len(words)

    ends = [length(words) for words in tokens.tolist()]
    return torch.stack([row[:L].sum() / ((5 + L) / 6) ** alpha for row, L in zip(log_probabilities, ends)])


@right("nansum over what was set to NaN behind the end")
def by_nansum(log_probabilities, tokens, alpha):
    padded = tokens == 0
    total = log_probabilities.masked_fill(padded, float("nan")).nansum(1)
    L = tokens.shape[1] - torch.count_nonzero(padded, dim=1)
    return total * (6 / (5 + L)).pow(alpha).to(total.dtype)


@right("The penalty in Python, as a list")
def penalties_in_a_list(log_probabilities, tokens, alpha):
    L = tokens.ne(0).sum(1).tolist()
    penalty = log_probabilities.new_tensor([(5 + n) ** alpha / 6**alpha for n in L])
    return log_probabilities.where(tokens != 0, torch.zeros_like(log_probabilities)).sum(1) / penalty


# ---------------------------------------------------------------- wrong: which words


def _real(tokens):
    stop = (tokens == 2).long()
    return stop.cumsum(1) - stop == 0


def _sum(log_probabilities, keep):
    return log_probabilities.masked_fill(~keep, 0).sum(1)


def _penalty(L, alpha, like):
    return (((5 + L) / 6) ** alpha).to(like.dtype)


# Right, and not registered: answers below are changes of it.
def _plain(log_probabilities, tokens, alpha):
    keep = _real(tokens)
    return _sum(log_probabilities, keep) / _penalty(keep.sum(1), alpha, log_probabilities)


change(_plain, "length_without_stop", "L without STOP, the sum with it", "edge",
       before("return", "L = (keep & (tokens != 2)).sum(1)"), ("keep.sum(1)", "L"))
change(_plain, "without_stop", "neither the sum nor L has STOP", "concept",
       ("_real(tokens)", "_real(tokens) & (tokens != 2)"))
change(_plain, "sum_without_stop", "the sum leaves STOP out, L counts it", "concept",
       ("log_probabilities, keep", "log_probabilities, keep & (tokens != 2)"))
change(_plain, "length_with_start", "L counts one word too many (START)", "edge",
       ("keep.sum(1)", "keep.sum(1) + 1"))
change(_plain, "one_too_far", "the first padding is taken, too: sum and L are one position too long", "edge",
       ("_real(tokens)", "_real(tokens).roll(1, 1)"), before("return", "keep[:, 0] = True"))


@wrong("nothing is masked: all T log-probabilities, and L = T", kind="concept")
def no_mask(log_probabilities, tokens, alpha):
    T = tokens.shape[1]
    return log_probabilities.sum(1) / ((5 + T) / 6) ** alpha


@wrong("padding is in the sum, L is right", kind="concept")
def padding_in_the_sum(log_probabilities, tokens, alpha):
    return log_probabilities.sum(1) / _penalty(_real(tokens).sum(1), alpha, log_probabilities)


@wrong("the sum is right, but L = T", kind="concept")
def length_is_t(log_probabilities, tokens, alpha):
    return _sum(log_probabilities, _real(tokens)) / ((5 + tokens.shape[1]) / 6) ** alpha


@wrong("L is the number of hypotheses", kind="concept")
def length_is_k(log_probabilities, tokens, alpha):
    return _sum(log_probabilities, _real(tokens)) / ((5 + len(tokens)) / 6) ** alpha


change(_plain, "longest_for_all", "L is the longest hypothesis's for all", "concept",
       ("keep.sum(1)", "keep.sum(1).max()"))
change(_plain, "mean_length_for_all", "L is the mean length for all", "concept",
       ("keep.sum(1)", "keep.sum(1).float().mean()"))


@wrong("a hypothesis without STOP counts its first word alone (argmax of nothing)", kind="edge")
def argmax_of_nothing(log_probabilities, tokens, alpha):
    L = (tokens == 2).int().argmax(1) + 1
    keep = torch.arange(tokens.shape[1], device=tokens.device) < L[:, None]
    return _sum(log_probabilities, keep) / _penalty(L, alpha, log_probabilities)


@wrong("a hypothesis without STOP gets minus infinity, as it is not finished", kind="edge")
def unfinished_is_out(log_probabilities, tokens, alpha):
    keep = _real(tokens)
    scores = _sum(log_probabilities, keep) / _penalty(keep.sum(1), alpha, log_probabilities)
    return scores.masked_fill(~(tokens == 2).any(1), -torch.inf)


@wrong("a hypothesis without STOP raises an error (index not found)", kind="edge")
def stop_must_be_there(log_probabilities, tokens, alpha):
    ends = [words.index(2) + 1 for words in tokens.tolist()]
    return torch.stack([row[:L].sum() / ((5 + L) / 6) ** alpha for row, L in zip(log_probabilities, ends)])


change(stop_must_be_there, "last_word_dropped", "a hypothesis without STOP is scored without its last word", "edge",
       ("1 for words", "1 if 2 in words else len(words) - 1 for words"))
change(stop_must_be_there, "stop_is_one", "STOP is taken to be 1 (START's number)", "concept",
       (".index(2) + 1", ".index(1) + 1 if 1 in words else len(words)"))
change(_plain, "padding_scored", "the mask is inverted: the padding is scored", "concept",
       (", keep", ", ~keep"))


# ---------------------------------------------------------------- wrong: the penalty


def _right_sum(log_probabilities, tokens):
    keep = _real(tokens)
    return _sum(log_probabilities, keep), keep.sum(1)


# Right, and not registered: answers below are changes of it.
def _summed_rightly(log_probabilities, tokens, alpha):
    total, L = _right_sum(log_probabilities, tokens)
    return total / _penalty(L, alpha, total)


change(_summed_rightly, "length_to_alpha", "divided by L^alpha", "concept",
       ("_penalty(L, alpha, total)", "(L**alpha).to(total.dtype)"))
change(_summed_rightly, "multiplied", "multiplied by the penalty", "concept",
       ("total / _penalty", "total * _penalty"))
change(_summed_rightly, "no_alpha", "no alpha", "concept",
       ("_penalty(L, alpha, total)", "((5 + L) / 6).to(total.dtype)"))
change(_summed_rightly, "always_the_papers", "alpha is always 0.6", "interface",
       ("L, alpha", "L, 0.6"))
change(_summed_rightly, "alpha_times", "alpha as a factor of the penalty", "concept",
       ("_penalty(L, alpha, total)", "(alpha * (5 + L) / 6).to(total.dtype)"))
change(_summed_rightly, "power_of_the_quotient",
       "the whole quotient to the power alpha (NaN for negative sums)", "concept",
       ("return total / _penalty(L, alpha, total)", "return (total / ((5 + L) / 6).to(total.dtype)) ** alpha"))
change(_summed_rightly, "brackets_of_the_numerator", "(5 + L)^alpha / 6", "concept",
       ("_penalty(L, alpha, total)", "((5 + L) ** alpha / 6).to(total.dtype)"))
change(_summed_rightly, "brackets_of_the_denominator", "(5 + L) / 6^alpha", "concept",
       ("_penalty(L, alpha, total)", "((5 + L) / 6**alpha).to(total.dtype)"))
change(_summed_rightly, "brackets_of_the_sum", "5 + L / 6: brackets forgotten", "concept",
       ("_penalty(L, alpha, total)", "((5 + L / 6) ** alpha).to(total.dtype)"))
change(_summed_rightly, "six_forgotten", "(5 + L)^alpha without dividing by 6", "concept",
       ("_penalty(L, alpha, total)", "((5 + L) ** alpha).to(total.dtype)"))
change(_summed_rightly, "five_forgotten", "(L / 6)^alpha", "concept",
       ("_penalty(L, alpha, total)", "((L / 6) ** alpha).to(total.dtype)"))
change(_summed_rightly, "five_and_six_exchanged", "(6 + L) / 5: numbers exchanged", "concept",
       ("_penalty(L, alpha, total)", "(((6 + L) / 5) ** alpha).to(total.dtype)"))
change(_summed_rightly, "floor_division", "whole numbers: (5 + L) // 6", "concept",
       ("_penalty(L, alpha, total)", "(((5 + L) // 6).float() ** alpha).to(total.dtype)"))
change(_summed_rightly, "alpha_squared", "the exponent is alpha squared", "concept",
       ("total / _penalty(L, alpha, total)", "total * _penalty(L, -alpha * alpha, total)"))


@wrong("no penalty at all", kind="concept")
def plain_sum(log_probabilities, tokens, alpha):
    return _right_sum(log_probabilities, tokens)[0]


change(_summed_rightly, "plain_mean", "the mean", "concept",
       ("_penalty(L, alpha, total)", "L"))
change(_summed_rightly, "mean_over_penalty", "the mean, and then the penalty, too", "concept",
       ("_penalty(L, alpha, total)", "L / _penalty(L, alpha, total)"))
change(_summed_rightly, "minus_penalty", "minus the penalty", "concept",
       ("total / _penalty", "total - _penalty"))
change(_summed_rightly, "minus_log_penalty", "the logarithm of the penalty is subtracted", "concept",
       ("total / _penalty(L, alpha, total)", "total - _penalty(L, alpha, total).log()"))
change(_summed_rightly, "word_reward", "a word reward, alpha * L, is added", "concept",
       ("total / _penalty(L, alpha, total)", "total + alpha * L"))


@wrong("the penalty grows with each position: every log-probability is divided by its own", kind="concept")
def penalty_of_each_position(log_probabilities, tokens, alpha):
    place = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
    return _sum(log_probabilities / _penalty(place, alpha, log_probabilities), _real(tokens))


# ---------------------------------------------------------------- wrong: probabilities, form


change(_summed_rightly, "logarithm_again", "the log-probabilities are taken for probabilities: their logarithm (of the "
       "absolute value) is summed", "concept",
       ("_right_sum(log_probabilities, tokens)", "_right_sum(log_probabilities.abs().clamp(min=1e-9).log(), tokens)"))
change(_summed_rightly, "probability", "the product of probabilities, divided by the penalty", "concept",
       ("return total", "return total.exp()"))
change(_plain, "product_of_logs", "the product of the log-probabilities", "concept",
       ("_sum(log_probabilities, keep)", "log_probabilities.masked_fill(~keep, 1).prod(1)"))
change(_summed_rightly, "as_a_cost", "a cost: the sign is turned round", "concept",
       ("total / _penalty(L, alpha, total)", "-total / _penalty(L, alpha, total)"))
change(_summed_rightly, "softmax_at_the_end", "a softmax over the hypotheses at the end", "concept",
       ("return total / _penalty(L, alpha, total)", "return (total / _penalty(L, alpha, total)).softmax(0)"))
change(_summed_rightly, "the_best", "the best score alone", "shape",
       ("return total / _penalty(L, alpha, total)", "return (total / _penalty(L, alpha, total)).max()"))
change(_summed_rightly, "the_best_first", "sorted, the best first", "interface",
       ("return total / _penalty(L, alpha, total)",
        "return (total / _penalty(L, alpha, total)).sort(descending=True).values"))
change(_plain, "wrong_axis", "summed over the hypotheses: axis 0", "shape",
       ("_sum(log_probabilities, keep)", "log_probabilities.masked_fill(~keep, 0).sum(0)"), (".sum(1)", ".sum(0)"))


@wrong("keepdim: [K, 1]", kind="shape")
def kept_axis(log_probabilities, tokens, alpha):
    keep = _real(tokens)
    total = log_probabilities.masked_fill(~keep, 0).sum(1, keepdim=True)
    return total / _penalty(keep.sum(1, keepdim=True), alpha, total)


@wrong("the padding is multiplied by 0, NaN where it is minus infinity", kind="numerics")
def times_the_mask(log_probabilities, tokens, alpha):
    keep = _real(tokens)
    total = (log_probabilities * keep).sum(1)
    return total / _penalty(keep.sum(1), alpha, total)


@wrong("the padding is overwritten in the given tensor", kind="interface")
def in_place(log_probabilities, tokens, alpha):
    keep = _real(tokens)
    with torch.no_grad():
        log_probabilities[~keep] = 0
    return log_probabilities.sum(1) / _penalty(keep.sum(1), alpha, log_probabilities)


@wrong("a list of Python numbers made into a tensor: no gradient", kind="gradient")
def without_gradient(log_probabilities, tokens, alpha):
    total, L = _right_sum(log_probabilities, tokens)
    scores = total / _penalty(L, alpha, total)
    return torch.tensor(scores.tolist(), dtype=log_probabilities.dtype, device=log_probabilities.device)
