"""Test answers for next_token_distribution (assignment 11): right ones in unusual styles, wrong ones with what is wrong."""

import heapq
import math

import torch
import torch.nn.functional as F

from answers import before, change, left_open, right, wrong


def _top(logits, temperature, k):
    """P among the k tokens, in descending order, and where they stood."""
    values, indices = (logits / temperature).topk(k, dim=-1)
    return values.softmax(-1), indices


def _before(P):
    return P.cumsum(-1) - P


def _back(P, indices, logits):
    """To the vocabulary's order, summing to 1 again."""
    return torch.zeros_like(logits).scatter(-1, indices, P / P.sum(-1, keepdim=True))


# -------------------------------------------------------------------------------------------------------------- right


@right("the whole vocabulary sorted, −∞ for what is left out, a second softmax, gather with the inverse permutation")
def inverse_permutation(logits, temperature, k, p):
    z, order = torch.sort(logits / temperature, dim=-1, descending=True)
    z = z.masked_fill(torch.arange(z.shape[-1], device=z.device) >= k, -math.inf)
    P = z.softmax(-1)
    z = z.masked_fill(P.cumsum(-1) - P >= p, -math.inf)
    return z.softmax(-1).gather(-1, order.argsort(-1))


@right("the last value that stays is a threshold for the logits of the whole vocabulary")
def by_threshold(logits, temperature, k, p):
    z = logits / temperature
    values = z.topk(k).values
    last = (values.softmax(-1).cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=k - 1)
    return z.where(z >= values.gather(-1, last), -torch.inf).softmax(dim=-1)


@right("ascending order, as in Transformers: tokens go while they sum to no more than 1 − p, never the last")
def ascending(logits, temperature, k, p):
    scores = logits / temperature
    scores = scores.masked_fill(scores < torch.topk(scores, k)[0][..., -1, None], -float("inf"))
    ordered, indices = torch.sort(scores, descending=False)
    remove = ordered.softmax(dim=-1).cumsum(dim=-1) <= 1 - p
    remove[..., -1:] = False
    return scores.masked_fill(remove.scatter(-1, indices, remove), -float("inf")).softmax(-1)


@right("every pair of tokens is compared: ranks and the sums before a token are sums over a comparison matrix")
def pairwise(logits, temperature, k, p):
    above = logits.unsqueeze(-2) > logits.unsqueeze(-1)
    in_S = above.sum(-1) < k
    P = (logits / temperature).masked_fill(~in_S, -math.inf).softmax(-1)
    before = torch.einsum("...vj,...j->...v", above.to(P.dtype), P)
    kept = torch.where(before < p, P, 0.0)
    return kept / kept.sum(-1, keepdim=True)


@right("row by row and token by token in Python; the numbers that decide are read out, the result is a softmax")
def row_by_row(logits, temperature, k, p):
    rows = logits.reshape(-1, logits.shape[-1])
    results = []
    for row in rows:
        order = sorted(range(len(row)), key=row.tolist().__getitem__, reverse=True)[:k]
        shares = (row[order] / temperature).softmax(0).tolist()
        total, size = 0.0, 0
        while size < k and total < p:
            total += shares[size]
            size += 1
        result = torch.zeros_like(row)
        result[order[:size]] = (row[order[:size]] / temperature).softmax(0)
        results.append(result)
    return torch.stack(results).reshape(logits.shape)


@right("calls itself for each entry of the first axis until one row is left")
def recursive(logits, temperature, k, p):
    if logits.dim() > 1:
        return torch.stack([recursive(part, temperature, k, p) for part in logits])
    best = logits.argsort(descending=True)[:k]
    P = F.softmax(logits[best] / temperature, dim=0)
    size = 1
    while size < k and P[:size].sum() < p:
        size += 1
    return logits.new_zeros(logits.shape).index_put((best[:size],), P[:size] / P[:size].sum())


@right("k rounds of argmax on a detached copy give the ranks")
def rounds_of_argmax(logits, temperature, k, p):
    z, left = logits / temperature, torch.ones_like(logits, dtype=torch.bool)
    order = []
    for _ in range(k):
        best = logits.detach().masked_fill(~left, -math.inf).argmax(-1, keepdim=True)
        left = left.scatter(-1, best, False)
        order.append(best)
    P = z.masked_fill(left, -math.inf).softmax(-1)
    total, kept = torch.zeros_like(logits[..., :1]), torch.zeros_like(left)
    for best in order:
        kept = kept.scatter(-1, best, total < p)
        total = total + P.detach().gather(-1, best)
    return F.normalize(P * kept, p=1.0, dim=-1)


@right("in logarithms: logcumsumexp in double precision against log p, exponentials at the very end")
def in_logarithms(logits, temperature, k, p):
    values, indices = logits.double().topk(k, dim=-1)
    log_P = (values / temperature).log_softmax(-1)
    sums = F.pad(log_P.logcumsumexp(-1), (1, -1), value=-math.inf)
    log_P = log_P.masked_fill(sums >= math.log(p), -math.inf).log_softmax(-1)
    result = torch.full_like(logits, -math.inf, dtype=torch.double).scatter(-1, indices, log_P)
    return result.exp().to(logits.dtype)


@right("numpy chooses the tokens, torch computes the softmax over them")
def chosen_by_numpy(logits, temperature, k, p):
    import numpy as np

    z = logits.detach().cpu().double().numpy()
    order = np.argsort(-z, axis=-1)[..., :k]
    top = np.take_along_axis(z, order, -1)
    P = np.exp((top - top[..., :1]) / temperature)
    P /= P.sum(-1, keepdims=True)
    kept = np.zeros(z.shape, dtype=bool)
    np.put_along_axis(kept, order, np.cumsum(P, -1) - P < p, -1)
    mask = torch.from_numpy(kept).to(logits.device)
    return torch.softmax((logits / temperature).masked_fill(~mask, -math.inf), dim=-1)


@right("kthvalue for top-k, searchsorted for the size of the nucleus, ranks by argsort twice")
def by_searchsorted(logits, temperature, k, p):
    V = logits.shape[-1]
    z = (logits - logits.amax(-1, keepdim=True)) / temperature
    limit = logits.kthvalue(V - k + 1, dim=-1, keepdim=True).values
    P = z.masked_fill(logits < limit, -math.inf).softmax(-1)
    sums = P.detach().sort(-1, descending=True).values.cumsum(-1).contiguous()
    size = torch.searchsorted(sums, torch.full_like(sums[..., :1], p)) + 1
    ranks = logits.argsort(-1, descending=True).argsort(-1)
    kept = P.masked_fill(ranks >= size.clamp(max=k), 0)
    return kept / kept.sum(-1, keepdim=True)


@right("vocabulary in front: everything along axis 0 of a moved layout, moved back at the end")
def vocabulary_first(logits, temperature, k, p):
    z = logits.movedim(-1, 0).div(temperature)
    values, indices = z.topk(k, dim=0)
    P = values.softmax(0)
    before = torch.cat([torch.zeros_like(P[:1]), P.cumsum(0)[:-1]])
    P = P * (before <= p)
    return torch.zeros_like(z).scatter_add(0, indices, P / P.sum(0)).movedim(0, -1)


@right("heapq finds the k largest of each row; one-hot rows carry the probabilities back")
def by_heap(logits, temperature, k, p):
    rows = logits.flatten(0, -2) if logits.dim() > 1 else logits[None]
    best = [heapq.nlargest(k, range(len(row)), key=row.__getitem__) for row in rows.tolist()]
    indices = torch.tensor(best, device=logits.device)
    P = (rows.gather(1, indices) / temperature).softmax(1)
    P = P.masked_fill(P.cumsum(1) - P >= p, 0)
    places = F.one_hot(indices, logits.shape[-1]).to(P.dtype)
    return torch.einsum("rk,rkv->rv", P / P.sum(1, keepdim=True), places).reshape(logits.shape)


# Right, and not registered: answers below are changes of it.
def _plain(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


# ---------------------------------------------------------------------------------------------- wrong: order of steps


change(_plain, "p_over_the_vocabulary",
       "p is compared with sums of probabilities over the whole vocabulary, not among the k tokens", "concept",
       ("_top(logits, temperature, k)", "(logits / temperature).softmax(-1).topk(k, dim=-1)"))


@wrong("the temperature comes last: the nucleus is that of temperature 1", kind="concept")
def temperature_last(logits, temperature, k, p):
    values, indices = logits.topk(k, dim=-1)
    out = _before(values.softmax(-1)) >= p
    return _back((values / temperature).masked_fill(out, -math.inf).softmax(-1), indices, logits)


change(_plain, "multiplied", "logits are multiplied by the temperature", "concept",
       ("_top(logits, temperature, k)", "_top(logits * temperature, 1.0, k)"))
change(_plain, "divided_twice", "logits are divided by the temperature twice", "concept",
       ("_top(logits, temperature, k)", "_top(logits / temperature, temperature, k)"))


# ------------------------------------------------------------------------------------------------ wrong: the nucleus


change(_plain, "crossing_token_left_out",
       "the token that takes the sum past p is left out; where the first does it alone the row is 0/0", "concept",
       ("_before(P)", "P.cumsum(-1)"))


@wrong("the token that takes the sum past p is left out, except where it is the first", kind="concept")
def crossing_token_only_first(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    stays = P.cumsum(-1) < p
    stays[..., 0] = True
    return _back(P.where(stays, 0), indices, logits)


change(_plain, "one_too_many",
       "one token too many: the one behind the token that takes the sum past p is kept too", "concept",
       before("return", "before = F.pad(_before(P), (1, 0))[..., :-1]"), ("_before(P)", "before"))
change(_plain, "at_least_two", "at least two tokens are always kept (min_tokens_to_keep=2)", "edge",
       before("return", """
        stays = _before(P) < p
        stays[..., :2] = True"""),
       ("_before(P) < p", "stays"))
change(crossing_token_only_first, "limit_for_each", "p is a lower limit for each token's own probability", "concept",
       ("P.cumsum(-1) < p", "P >= p"))
change(_plain, "min_p", "min-p: kept are tokens with at least p times the largest probability", "concept",
       ("_before(P) < p", "P >= p * P[..., :1]"))
change(_plain, "one_minus_p", "the sums are compared with 1 − p and not with p", "concept",
       ("_before(P) < p", "_before(P) < 1 - p"))


@wrong("the probabilities are summed in the order of the vocabulary, not from the most likely token on", kind="concept")
def summed_unsorted(logits, temperature, k, p):
    z = logits / temperature
    P = z.masked_fill(z < z.topk(k).values[..., -1:], -math.inf).softmax(-1)
    P = P.where(_before(P) < p, 0)
    return P / P.sum(-1, keepdim=True)


change(_plain, "without_top_p", "top-p is missing", "concept",
       ("P.where(_before(P) < p, 0)", "P"))
change(_plain, "size_of_the_first_row", "the nucleus of the first row is used for every row", "shape",
       before("return", "size = int((_before(P) < p).reshape(-1, k)[0].sum())"),
       ("_before(P) < p", "torch.arange(k, device=P.device) < size"))


# ---------------------------------------------------------------------------------------------------- wrong: top-k


change(_plain, "without_top_k", "top-k is missing", "concept",
       ("_top(logits, temperature, k)", "_top(logits, temperature, logits.shape[-1])"))
change(_plain, "one_fewer",
       "logits have to be larger than the k-th largest, so that k − 1 tokens are left (with k = 1 one)", "edge",
       ("_top(logits, temperature, k)", "_top(logits, temperature, max(k - 1, 1))"))
change(_plain, "one_more", "k + 1 tokens are kept, except where k = V", "edge",
       ("_top(logits, temperature, k)", "_top(logits, temperature, min(k + 1, logits.shape[-1]))"))


@wrong("the k smallest logits are kept", kind="concept")
def k_smallest(logits, temperature, k, p):
    values, indices = (logits / temperature).topk(k, dim=-1, largest=False)
    P, ranks = values.softmax(-1).sort(-1, descending=True)
    return _back(P.where(_before(P) < p, 0), indices.gather(-1, ranks), logits)


@wrong("the k logits that are largest in absolute value are kept", kind="concept")
def k_farthest_from_zero(logits, temperature, k, p):
    indices = logits.abs().topk(k, dim=-1).indices
    P, ranks = (logits.gather(-1, indices) / temperature).softmax(-1).sort(-1, descending=True)
    return _back(P.where(_before(P) < p, 0), indices.gather(-1, ranks), logits)


change(_plain, "at_most_fifty", "k is limited to 50", "edge",
       ("_top(logits, temperature, k)", "_top(logits, temperature, min(k, 50))"))
change(_plain, "k_is_v_means_nothing", "k = V is taken for 'no filter at all': top-p is left out with it", "edge",
       before("P, indices =", """
        if k == logits.shape[-1]:
            return (logits / temperature).softmax(-1)"""))


@wrong("tokens left out by top-k get the logit 0 and not −∞", kind="concept")
def zero_for_left_out(logits, temperature, k, p):
    z = logits / temperature
    z = z.masked_fill(z < z.topk(k).values[..., -1:], 0.0)
    P, indices = z.softmax(-1).sort(-1, descending=True)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("logits that are exactly 0 are taken for left out", kind="edge")
def zeros_are_left_out(logits, temperature, k, p):
    z = logits / temperature
    z = torch.where(z >= z.topk(k).values[..., -1:], z, 0.0)
    z = z.masked_fill(z == 0, torch.finfo(z.dtype).min)
    P, indices = z.softmax(-1).sort(-1, descending=True)
    return _back(P.where(_before(P) < p, 0), indices, logits)


# ----------------------------------------------------------------------------------------------- wrong: the result


@wrong("what is left is not made to sum to 1 again", kind="concept")
def not_again_one(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return torch.zeros_like(logits).scatter(-1, indices, P.where(_before(P) < p, 0))


@wrong("a softmax over the probabilities that are left, not over their logits", kind="concept")
def softmax_of_probabilities(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.masked_fill(_before(P) >= p, -math.inf).softmax(-1)
    return torch.zeros_like(logits).scatter(-1, indices, P)


change(_plain, "shares_without_temperature", "the shares of the nucleus are those of temperature 1", "concept",
       before("return", "z = logits.gather(-1, indices).masked_fill(_before(P) >= p, -math.inf)"),
       ("P.where(_before(P) < p, 0)", "z.softmax(-1)"))


@wrong("tokens left out get a tiny probability, 10^-8 of the rest, and not exactly 0", kind="edge")
def not_exactly_zero(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    result = _back(P.where(_before(P) < p, 0), indices, logits) + 1e-8
    return result / result.sum(-1, keepdim=True)


@wrong("the probabilities come back in descending order, not in that of the vocabulary", kind="concept")
def in_descending_order(logits, temperature, k, p):
    P, _ = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return F.pad(P / P.sum(-1, keepdim=True), (0, logits.shape[-1] - k))


@wrong(
    "gather with the sorting indices in the place of scatter: the permutation is applied instead of undone",
    kind="layout",
)
def gathered_not_scattered(logits, temperature, k, p):
    P, indices = _top(logits, temperature, logits.shape[-1])
    P = P.where(torch.arange(P.shape[-1], device=P.device) < k, 0)
    P = P / P.sum(-1, keepdim=True)
    P = P.where(_before(P) < p, 0)
    return (P / P.sum(-1, keepdim=True)).gather(-1, indices)


change(in_descending_order, "k_tokens_only", "the k tokens alone come back, [*B, k]", "shape",
       ("return F.pad(P / P.sum(-1, keepdim=True), (0, logits.shape[-1] - k))", "return P / P.sum(-1, keepdim=True)"))


@wrong("a token is drawn and comes back as a one-hot row", kind="concept")
def drawn(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    rows = _back(P.where(_before(P) < p, 0), indices, logits)
    tokens = torch.multinomial(rows.reshape(-1, rows.shape[-1]), 1).reshape(rows.shape[:-1])
    return F.one_hot(tokens, rows.shape[-1]).to(rows.dtype)


# ------------------------------------------------------------------------------------------------------ wrong: shapes


@wrong(
    "axis 1 is taken for the vocabulary: a single row, or more than one axis in front, fails or goes wrong",
    kind="shape",
)
def axis_one(logits, temperature, k, p):
    values, indices = (logits / temperature).topk(k, dim=1)
    P = values.softmax(1)
    P = P.where(P.cumsum(1) - P < p, 0)
    return torch.zeros_like(logits).scatter(1, indices, P / P.sum(1, keepdim=True))


@wrong("the softmax over the k tokens runs along the first axis (over the rows of a batch)", kind="shape")
def softmax_over_rows(logits, temperature, k, p):
    values, indices = (logits / temperature).topk(k, dim=-1)
    P = values.softmax(0)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("the batch is taken for one line: k tokens are kept in all, and all rows together sum to 1", kind="shape")
def one_line(logits, temperature, k, p):
    z = logits.flatten()
    P, indices = _top(z, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, z).reshape(logits.shape)


@wrong("the last sum has no keepdim and runs over everything: rows sum to 1 only together", kind="shape")
def sum_of_all_rows(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return torch.zeros_like(logits).scatter(-1, indices, P / P.sum())


@wrong("squeeze() at the end: axes of size 1 disappear", kind="shape")
def squeezed(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits).squeeze()


@wrong(
    "view(-1, V) on logits fails where the axes in front lie in another order in memory (or are expanded)",
    kind="layout",
)
def by_view(logits, temperature, k, p):
    rows = logits.view(-1, logits.shape[-1])
    P, indices = _top(rows, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, rows).view(logits.shape)


# ---------------------------------------------------------------------------------------------------- wrong: numerics


change(softmax_over_rows, "exponentials",
       "exponentials without the largest logit subtracted overflow for large logits and low temperatures", "numerics",
       (".softmax(0)", ".exp() / values.exp().sum(-1, keepdim=True)"))


@wrong("one largest logit is subtracted for the whole batch: a row far below it gets 0/0", kind="numerics")
def one_maximum_for_all(logits, temperature, k, p):
    values, indices = ((logits - logits.max()) / temperature).topk(k, dim=-1)
    P = values.exp() / values.exp().sum(-1, keepdim=True)
    return _back(P.where(_before(P) < p, 0), indices, logits)


change(_plain, "power_of_the_softmax",
       "the temperature comes as a power of the softmax, P^(1/T): probabilities that underflowed stay 0", "numerics",
       ("_top(logits, temperature, k)", "_top(logits, 1.0, k)"),
       before("return", """
        P = P ** (1 / temperature)
        P = P / P.sum(-1, keepdim=True)"""))
change(_plain, "small_ones_cut_off", "probabilities below 10^-3 are cut off to 0", "numerics",
       ("P.where(_before(P) < p, 0)", "F.threshold(P.where(_before(P) < p, 0), 1e-3, 0.0)"))


@right("computed in float32 and converted back: float64 loses digits")
def there_and_back_to_float32(logits, temperature, k, p):
    z = logits.float()
    P, indices = _top(z, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, z).to(logits.dtype)


change(_plain, "whole_temperature", "the temperature is rounded down to a whole number of at least 1", "numerics",
       ("_top(logits, temperature, k)", "_top(logits, max(int(temperature), 1), k)"))


# --------------------------------------------------------------------------------------------------- wrong: gradients


change(squeezed, "detached", "the result is detached", "gradient",
       (".squeeze()", ".detach()"))
change(sum_of_all_rows, "sum_detached",
       "the last sum is detached: the numbers are right, the gradient lacks its part", "gradient",
       ("P.sum()", "P.sum(-1, keepdim=True).detach()"))
change(softmax_of_probabilities, "logarithm_of_zero",
       "a softmax over the logarithms of the kept probabilities: log 0 has no gradient, and it becomes NaN", "gradient",
       ("P.masked_fill(_before(P) >= p, -math.inf)", "(P * (_before(P) < p)).log()"))


# ---------------------------------------------------------------------------------------------------- wrong: interface


change(_plain, "divided_in_place", "logits are divided by the temperature in place", "interface",
       ("P, indices = _top(logits, temperature, k)", """
        with torch.no_grad():
            logits /= temperature
        P, indices = _top(logits, 1.0, k)"""))
change(_plain, "overwritten", "logits that top-k leaves out are overwritten with −∞ in the input", "interface",
       before("P, indices =", "logits.data[logits < logits.topk(k).values[..., -1:]] = -math.inf"))


@wrong("the probabilities are scattered into zeros of float32, which fails for float64 and bfloat16", kind="interface")
def zeros_without_type(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return torch.zeros(logits.shape, device=logits.device).scatter(-1, indices, P / P.sum(-1, keepdim=True))


change(zeros_without_type, "zeros_on_the_cpu",
       "the zeros are made on the CPU, which fails with logits on another device", "interface",
       ("device", "dtype", 2))


@wrong("a numpy array comes back", kind="interface")
def numpy_array(logits, temperature, k, p):
    P, indices = _top(logits.float(), temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits.float()).detach().cpu().numpy()


change(_plain, "printed", "the result is printed, and nothing comes back", "interface",
       ("return _back(P.where(_before(P) < p, 0), indices, logits)",
        "print(_back(P.where(_before(P) < p, 0), indices, logits))"))
change(_plain, "other_order", "the arguments stand in the order (logits, k, p, temperature)", "interface",
       ("temperature, k, p", "k, p, temperature"))


@right("k and p are called top_k and top_p, so that a call by name fails")
def other_names(logits, temperature, top_k, top_p):
    P, indices = _top(logits, temperature, top_k)
    return _back(P.where(_before(P) < top_p, 0), indices, logits)


_buffer = {}


@wrong("one buffer for each shape is kept and never set back to 0: tokens kept in earlier calls stay", kind="interface")
def kept_buffer(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    key = logits.shape, logits.dtype, logits.device
    result = _buffer.get(key, torch.zeros_like(logits)).scatter(-1, indices, P / P.sum(-1, keepdim=True))
    _buffer[key] = result.detach()
    return result


@left_open(
    "top-k and the order are those of the probabilities: logits that differ by less than the softmax resolves tie",
    kind="numerics",
)
def ordered_by_probability(logits, temperature, k, p):
    P, indices = (logits / temperature).softmax(-1).sort(-1, descending=True)
    stays = torch.arange(P.shape[-1], device=P.device) < k
    z = (logits / temperature).gather(-1, indices).masked_fill(~stays, -math.inf)
    P = z.softmax(-1)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("below a temperature of 0.1 it is greedy, although other tokens still have a probability there", kind="edge")
def greedy_when_cold(logits, temperature, k, p):
    if temperature < 0.1:
        return F.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    values, places = (logits / temperature).topk(k, dim=-1)
    P = values.softmax(-1)
    P = P.masked_fill(P.cumsum(-1) - P >= p, 0)
    return torch.zeros_like(logits).scatter(-1, places, P / P.sum(-1, keepdim=True))
