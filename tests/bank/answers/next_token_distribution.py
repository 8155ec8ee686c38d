"""Test answers for next_token_distribution (assignment 11): right ones in unusual styles, wrong ones with what is wrong."""

import heapq
import math

import torch
import torch.nn.functional as F

from answers import left_open, right, wrong


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


# ---------------------------------------------------------------------------------------------- wrong: order of steps


@wrong("p is compared with sums of probabilities over the whole vocabulary, not among the k tokens", kind="concept")
def p_over_the_vocabulary(logits, temperature, k, p):
    P, indices = (logits / temperature).softmax(-1).topk(k, dim=-1)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("the temperature comes last: the nucleus is that of temperature 1", kind="concept")
def temperature_last(logits, temperature, k, p):
    values, indices = logits.topk(k, dim=-1)
    out = _before(values.softmax(-1)) >= p
    return _back((values / temperature).masked_fill(out, -math.inf).softmax(-1), indices, logits)


@wrong("logits are multiplied by the temperature", kind="concept")
def multiplied(logits, temperature, k, p):
    P, indices = _top(logits * temperature, 1.0, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("logits are divided by the temperature twice", kind="concept")
def divided_twice(logits, temperature, k, p):
    P, indices = _top(logits / temperature, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


# ------------------------------------------------------------------------------------------------ wrong: the nucleus


@wrong("the token that takes the sum past p is left out; where the first does it alone the row is 0/0", kind="concept")
def crossing_token_left_out(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(P.cumsum(-1) < p, 0), indices, logits)


@wrong("the token that takes the sum past p is left out, except where it is the first", kind="concept")
def crossing_token_only_first(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    stays = P.cumsum(-1) < p
    stays[..., 0] = True
    return _back(P.where(stays, 0), indices, logits)


@wrong("one token too many: the one behind the token that takes the sum past p is kept too", kind="concept")
def one_too_many(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    before = F.pad(_before(P), (1, 0))[..., :-1]
    return _back(P.where(before < p, 0), indices, logits)


@wrong("at least two tokens are always kept (min_tokens_to_keep=2)", kind="edge")
def at_least_two(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    stays = _before(P) < p
    stays[..., :2] = True
    return _back(P.where(stays, 0), indices, logits)


@wrong("p is a lower limit for each token's own probability", kind="concept")
def limit_for_each(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    stays = P >= p
    stays[..., 0] = True
    return _back(P.where(stays, 0), indices, logits)


@wrong("min-p: kept are tokens with at least p times the largest probability", kind="concept")
def min_p(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(P >= p * P[..., :1], 0), indices, logits)


@wrong("the sums are compared with 1 − p and not with p", kind="concept")
def one_minus_p(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < 1 - p, 0), indices, logits)


@wrong("the probabilities are summed in the order of the vocabulary, not from the most likely token on", kind="concept")
def summed_unsorted(logits, temperature, k, p):
    z = logits / temperature
    P = z.masked_fill(z < z.topk(k).values[..., -1:], -math.inf).softmax(-1)
    P = P.where(_before(P) < p, 0)
    return P / P.sum(-1, keepdim=True)


@wrong("top-p is missing", kind="concept")
def without_top_p(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P, indices, logits)


@wrong("the nucleus of the first row is used for every row", kind="shape")
def size_of_the_first_row(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    size = int((_before(P) < p).reshape(-1, k)[0].sum())
    return _back(P.where(torch.arange(k, device=P.device) < size, 0), indices, logits)


# ---------------------------------------------------------------------------------------------------- wrong: top-k


@wrong("top-k is missing", kind="concept")
def without_top_k(logits, temperature, k, p):
    P, indices = _top(logits, temperature, logits.shape[-1])
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("logits have to be larger than the k-th largest, so that k − 1 tokens are left (with k = 1 one)", kind="edge")
def one_fewer(logits, temperature, k, p):
    P, indices = _top(logits, temperature, max(k - 1, 1))
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("k + 1 tokens are kept, except where k = V", kind="edge")
def one_more(logits, temperature, k, p):
    P, indices = _top(logits, temperature, min(k + 1, logits.shape[-1]))
    return _back(P.where(_before(P) < p, 0), indices, logits)


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


@wrong("k is limited to 50", kind="edge")
def at_most_fifty(logits, temperature, k, p):
    P, indices = _top(logits, temperature, min(k, 50))
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("k = V is taken for 'no filter at all': top-p is left out with it", kind="edge")
def k_is_v_means_nothing(logits, temperature, k, p):
    if k == logits.shape[-1]:
        return (logits / temperature).softmax(-1)
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


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


@wrong("the shares of the nucleus are those of temperature 1", kind="concept")
def shares_without_temperature(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    z = logits.gather(-1, indices).masked_fill(_before(P) >= p, -math.inf)
    return _back(z.softmax(-1), indices, logits)


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


@wrong("the k tokens alone come back, [*B, k]", kind="shape")
def k_tokens_only(logits, temperature, k, p):
    P, _ = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return P / P.sum(-1, keepdim=True)


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


@wrong(
    "exponentials without the largest logit subtracted overflow for large logits and low temperatures", kind="numerics"
)
def exponentials(logits, temperature, k, p):
    values, indices = (logits / temperature).topk(k, dim=-1)
    P = values.exp() / values.exp().sum(-1, keepdim=True)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("one largest logit is subtracted for the whole batch: a row far below it gets 0/0", kind="numerics")
def one_maximum_for_all(logits, temperature, k, p):
    values, indices = ((logits - logits.max()) / temperature).topk(k, dim=-1)
    P = values.exp() / values.exp().sum(-1, keepdim=True)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong(
    "the temperature comes as a power of the softmax, P^(1/T): probabilities that underflowed stay 0", kind="numerics"
)
def power_of_the_softmax(logits, temperature, k, p):
    P, indices = _top(logits, 1.0, k)
    P = P ** (1 / temperature)
    P = P / P.sum(-1, keepdim=True)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("probabilities below 10^-3 are cut off to 0", kind="numerics")
def small_ones_cut_off(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(F.threshold(P.where(_before(P) < p, 0), 1e-3, 0.0), indices, logits)


@right("computed in float32 and converted back: float64 loses digits")
def there_and_back_to_float32(logits, temperature, k, p):
    z = logits.float()
    P, indices = _top(z, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, z).to(logits.dtype)


@wrong("the temperature is rounded down to a whole number of at least 1", kind="numerics")
def whole_temperature(logits, temperature, k, p):
    P, indices = _top(logits, max(int(temperature), 1), k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


# --------------------------------------------------------------------------------------------------- wrong: gradients


@wrong("the result is detached", kind="gradient")
def detached(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits).detach()


@wrong("the last sum is detached: the numbers are right, the gradient lacks its part", kind="gradient")
def sum_detached(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return torch.zeros_like(logits).scatter(-1, indices, P / P.sum(-1, keepdim=True).detach())


@wrong(
    "a softmax over the logarithms of the kept probabilities: log 0 has no gradient, and it becomes NaN",
    kind="gradient",
)
def logarithm_of_zero(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = (P * (_before(P) < p)).log().softmax(-1)
    return torch.zeros_like(logits).scatter(-1, indices, P)


# ---------------------------------------------------------------------------------------------------- wrong: interface


@wrong("logits are divided by the temperature in place", kind="interface")
def divided_in_place(logits, temperature, k, p):
    with torch.no_grad():
        logits /= temperature
    P, indices = _top(logits, 1.0, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("logits that top-k leaves out are overwritten with −∞ in the input", kind="interface")
def overwritten(logits, temperature, k, p):
    logits.data[logits < logits.topk(k).values[..., -1:]] = -math.inf
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


@wrong("the probabilities are scattered into zeros of float32, which fails for float64 and bfloat16", kind="interface")
def zeros_without_type(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return torch.zeros(logits.shape, device=logits.device).scatter(-1, indices, P / P.sum(-1, keepdim=True))


@wrong("the zeros are made on the CPU, which fails with logits on another device", kind="interface")
def zeros_on_the_cpu(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    P = P.where(_before(P) < p, 0)
    return torch.zeros(logits.shape, dtype=logits.dtype).scatter(-1, indices, P / P.sum(-1, keepdim=True))


@wrong("a numpy array comes back", kind="interface")
def numpy_array(logits, temperature, k, p):
    P, indices = _top(logits.float(), temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits.float()).detach().cpu().numpy()


@wrong("the result is printed, and nothing comes back", kind="interface")
def printed(logits, temperature, k, p):
    P, indices = _top(logits, temperature, k)
    print(_back(P.where(_before(P) < p, 0), indices, logits))


@wrong("the arguments stand in the order (logits, k, p, temperature)", kind="interface")
def other_order(logits, k, p, temperature):
    P, indices = _top(logits, temperature, k)
    return _back(P.where(_before(P) < p, 0), indices, logits)


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
