"""Test answers for masked_softmax: right ones in unusual styles, and wrong ones."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, left_open, right, wrong

_INF = float("inf")


# -------------------- right answers
@right("Two fills before the softmax, one after it, by torch.where with new_tensor scalars")
def three_wheres(E, mask):
    some = mask.any(dim=-1, keepdim=True)
    scores = torch.where(mask, E, E.new_tensor(-_INF))
    scores = torch.where(some, scores, E.new_tensor(0.0))
    return torch.where(some, torch.softmax(scores, dim=-1), E.new_tensor(0.0))


@right("One fill before the softmax; NaN rows are found by isnan and filled afterwards")
def filled_afterwards(E, mask):
    A = F.softmax(E.masked_fill(mask.logical_not(), -_INF), dim=-1)
    return A.masked_fill(A.isnan(), 0)


@right("nan_to_num after the softmax of a masked_fill (whose backward stops the NaN)")
def nan_to_num_after(E, mask):
    return torch.softmax(E.masked_fill(~mask, -math.inf), -1).nan_to_num(nan=0.0)


@right("By hand: maximum over the allowed keys, exponentials, sum with a safe denominator")
def by_hand(E, mask):
    mask = mask.expand(E.shape)
    low = E.detach().masked_fill(~mask, -_INF).amax(dim=-1, keepdim=True)
    low = low.masked_fill(low == -_INF, 0.0)
    Z = (E.masked_fill(~mask, 0.0) - low).masked_fill(~mask, 0.0)
    P = Z.exp().masked_fill(~mask, 0.0)
    total = P.sum(dim=-1, keepdim=True)
    return P / torch.where(total > 0, total, torch.ones_like(total))


@right("An additional key takes the weight of the rows that allow none, and is cut off")
def with_a_sink(E, mask):
    mask = mask.expand(E.shape)
    nothing = ~mask.any(dim=-1, keepdim=True)
    sink = torch.full_like(E[..., :1], -_INF).masked_fill(nothing, 0.0)
    everything = torch.cat([E.masked_fill(~mask, -_INF), sink], dim=-1)
    return everything.softmax(dim=-1)[..., :-1]


@right("exp of log_softmax; rows without a key work on zeros")
def by_logarithms(E, mask):
    dead = mask.any(-1, True).logical_not()
    held = E.masked_fill(mask.logical_not(), -_INF).masked_fill(dead, 0)
    return held.log_softmax(-1).exp().masked_fill(dead, 0)


@right("Row by row over the flattened axes, with boolean indexing of the allowed scores")
def row_by_row(E, mask):
    allowed = mask.broadcast_to(E.shape).reshape(-1, E.shape[-1])
    rows = []
    for e, may in zip(E.reshape(-1, E.shape[-1]), allowed):
        row = e * 0 if not may.any() else torch.zeros_like(e).masked_scatter(may, e[may].softmax(0))
        rows.append(torch.where(may, row, torch.zeros_like(row)))
    return torch.stack(rows).reshape(E.shape)


@right("Recursion over the front axes, the matrices in the end")
def by_recursion(E, mask):
    mask = mask.expand(E.shape)
    if E.dim() > 2:
        return torch.stack([by_recursion(e, m) for e, m in zip(E.unbind(0), mask.unbind(0))])
    empty = (mask.sum(1) == 0)[:, None]
    return E.masked_fill(~mask & ~empty, -_INF).masked_fill(empty, 0.0).softmax(1) * (~empty)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, E, mask):
        A = torch.softmax(E.masked_fill(~mask, -_INF), dim=-1)
        A = torch.where(mask, A, torch.zeros_like(A))
        ctx.save_for_backward(A)
        return A

    @staticmethod
    def backward(ctx, g):
        (A,) = ctx.saved_tensors
        return A * (g - (g * A).sum(dim=-1, keepdim=True)), None


@right("A torch.autograd.Function with the derivative written out")
def own_derivative(E, mask):
    return _Softmax.apply(E, mask)


@right("Online softmax: one loop over the keys with a running maximum and sum, in double precision inside")
def key_by_key(E, mask):
    mask = mask.expand(E.shape)
    e = E.double().masked_fill(~mask, 0.0)
    top = torch.full_like(e[..., 0], -_INF).detach()
    total = torch.zeros_like(e[..., 0])
    for n in range(E.shape[-1]):
        may = mask[..., n]
        new = torch.where(may, torch.maximum(top, e[..., n].detach()), top)
        ref = new.masked_fill(new == -_INF, 0.0)
        shrink = (top - ref).exp()
        total = total * shrink + (e[..., n] - ref).masked_fill(~may, 0.0).exp() * may
        top = new
    ref = top.masked_fill(top == -_INF, 0.0)[..., None]
    total = total.masked_fill(total == 0, 1.0)[..., None]
    A = (e - ref).masked_fill(~mask, 0.0).exp().masked_fill(~mask, 0.0) / total
    return A.to(E.dtype)


@right("The allowed scores alone: nonzero, scatter_reduce for each row's maximum, index_add for its sum")
def by_scatter(E, mask):
    allowed = mask.expand(E.shape).reshape(-1, E.shape[-1])
    rows, keys = allowed.nonzero(as_tuple=True)
    picked = E.reshape(-1, E.shape[-1])[rows, keys].double()
    top = torch.full((len(allowed),), -_INF, dtype=torch.double, device=E.device)
    top = top.scatter_reduce(0, rows, picked.detach(), "amax")
    power = (picked - top[rows]).exp()
    total = torch.zeros_like(top).index_add(0, rows, power)
    A = torch.zeros(allowed.shape, dtype=torch.double, device=E.device)
    A = A.index_put((rows, keys), power / total[rows])
    return A.to(E.dtype).reshape(E.shape)


@right(
    "Sorts forbidden keys to nowhere: a forbidden key takes the score of the row's lowest allowed one, then "
    "is left out",
)
def lowest_in_their_place(E, mask):
    mask = mask.expand(E.shape)
    filled = E.masked_fill(~mask, _INF).detach().amin(-1, keepdim=True).expand(E.shape)
    filled = filled.masked_fill(filled == _INF, 0.0)
    A = torch.where(mask, E, filled)
    A = (A - A.detach().amax(-1, keepdim=True)).exp() * mask
    return A / (A.sum(-1, keepdim=True) + (~mask.any(-1, keepdim=True)).to(A.dtype))


@right("Softmax with its dtype argument: double inside, back to the type of the scores")
def double_inside(E, mask):
    keep = mask | ~mask.any(dim=-1, keepdim=True)
    A = F.softmax(torch.where(keep, E, torch.full((), -_INF, dtype=E.dtype, device=E.device)), -1, dtype=torch.float64)
    return torch.where(mask, A, torch.zeros((), dtype=A.dtype, device=A.device)).to(E.dtype)


# Right, and not registered: answers below are changes of it.
def _plain(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1)
    return A.masked_fill(nothing, 0.0)


# -------------------- wrong: concept


change(_plain, "inverted", "the mask is inverted: True is read as forbidden", "concept",
       ("~mask.any", "mask.all"), ("~mask, -_INF", "mask, -_INF"))
change(_plain, "over_the_queries", "the softmax runs over the queries (axis -2) in place of the keys", "concept",
       before("nothing =", "mask = mask.expand(E.shape)"), ("dim=-1, keepdim", "dim=-2, keepdim"),
       (".softmax(dim=-1)", ".softmax(dim=-2)"))
change(own_derivative, "not_shared_anew", "the softmax is over all keys and forbidden weights are set to 0 afterwards, "
       "so that the rest does not add up to 1", "concept",
       ("_Softmax.apply(E, mask)", "E.softmax(dim=-1).masked_fill(~mask, 0.0)"))


@wrong("forbidden scores are replaced by 0 before the softmax, so forbidden keys still get weight", kind="concept")
def zero_for_forbidden(E, mask):
    A = torch.softmax(E.masked_fill(~mask, 0.0), dim=-1)
    return A.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


@wrong("the mask is added to the scores as 0 and 1: allowed keys are merely favoured by a factor e", kind="concept")
def merely_favoured(E, mask):
    A = (E + mask.to(E.dtype)).softmax(dim=-1)
    return A.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)


change(_plain, "equal_weights_in_empty_rows",
       "rows without any allowed key get equal weights 1/N_X instead of zeros", "edge",
       ("A = E", "return E"), ("return A.masked_fill(nothing, 0.0)", ""))
change(own_derivative, "nan_in_empty_rows", "rows without any allowed key are left NaN", "edge",
       ("_Softmax.apply(E, mask)", "E.masked_fill(~mask, -_INF).softmax(dim=-1)"))


@wrong("a row without any allowed key is treated as if all keys were allowed", kind="edge")
def everything_where_nothing(E, mask):
    seen = mask | ~mask.any(dim=-1, keepdim=True)
    return E.masked_fill(~seen, -_INF).softmax(dim=-1)


@wrong("a row is set to zeros as soon as one of its keys is forbidden (all instead of any)", kind="concept")
def all_for_any(E, mask):
    mask = mask.expand(E.shape)
    keep = mask.all(dim=-1, keepdim=True)
    return E.masked_fill(~keep, 0.0).softmax(dim=-1).masked_fill(~keep, 0.0)


# Right, and not registered: answers below are changes of it.
def _filled_afterwards(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    return E.masked_fill(~mask, -_INF).softmax(dim=-1).masked_fill(nothing, 0.0)


change(_filled_afterwards, "asked_of_the_columns", "whether a row is empty is asked of the keys' columns (any over the "
       "queries, axis -2): a key that no query may see is zeroed, and a row without a key stays NaN", "concept",
       before("nothing =", "mask = mask.expand(E.shape)"), ("dim=-1, keepdim", "dim=-2, keepdim"))


@wrong("only a mask that forbids everything everywhere is caught: single rows without a key become NaN", kind="edge")
def only_if_all_is_forbidden(E, mask):
    if not mask.any():
        return E * 0.0
    return E.masked_fill(~mask, -_INF).softmax(dim=-1)


change(_plain, "one_row_spoils_the_matrix", "one row without a key sets all rows of its matrix to zeros", "concept",
       before("nothing =", "mask = mask.expand(E.shape)"),
       ("A.masked_fill(nothing, 0.0)", "A.masked_fill(nothing.any(dim=-2, keepdim=True), 0.0)"))
change(_plain, "causal_as_well", "a causal mask is applied in addition to the one that was given", "concept",
       before("nothing =", "mask = mask & torch.ones(E.shape[-2:], dtype=torch.bool, device=E.device).tril()"))


@wrong(
    "the mask is taken for a number of leading keys: as many keys from the first on are allowed as the row "
    "has Trues",
    kind="concept",
)
def counted_prefix(E, mask):
    lengths = mask.expand(E.shape).sum(dim=-1, keepdim=True)
    first = torch.arange(E.shape[-1], device=E.device) < lengths
    A = E.masked_fill(~first, -_INF).masked_fill(lengths == 0, 0.0).softmax(dim=-1)
    return A.masked_fill(lengths == 0, 0.0)


change(_plain, "until_the_first_false", "all keys behind the first forbidden one of a row are forbidden too", "concept",
       before("nothing =", "mask = mask.expand(E.shape).long().cumprod(dim=-1).bool()"))


@wrong("the scores themselves, without exp, are divided by their sum over the allowed keys", kind="concept")
def without_exp(E, mask):
    kept = E.masked_fill(~mask, 0.0)
    total = kept.sum(dim=-1, keepdim=True)
    return kept / torch.where(total == 0, torch.ones_like(total), total)


@wrong("powers of 2 in place of powers of e", kind="concept")
def powers_of_two(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    X = (E * math.log(2)).masked_fill(~mask, -_INF).masked_fill(nothing, 0.0)
    return X.softmax(dim=-1).masked_fill(nothing, 0.0)


change(powers_of_two, "scaled_once_more",
       "the scores are divided by the root of the number of keys before the softmax", "concept",
       ("E * math.log(2)", "E / math.sqrt(E.shape[-1])"))


@wrong("the logarithms of the weights are returned (log_softmax), with 0 at forbidden keys", kind="concept")
def logarithms_returned(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    X = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0)
    return X.log_softmax(dim=-1).masked_fill(~mask, 0.0)


@wrong("the weights are divided by the number of allowed keys once more, and do not add up to 1", kind="concept")
def divided_by_the_count(E, mask):
    mask = mask.expand(E.shape)
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)
    return A / mask.sum(dim=-1, keepdim=True).clamp(min=1)


@wrong("the softmax is taken twice: the weights, masked, go through the masked softmax again", kind="concept")
def twice(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    for _ in range(2):
        E = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1)
    return E.masked_fill(nothing, 0.0)


change(_plain, "transposed_mask", "the mask is transposed before use", "shape",
       before("nothing =", "mask = mask.transpose(-1, -2)"))


@wrong("1 is added to the denominator, as if one more key with score 0 were allowed", kind="concept")
def one_more_in_the_denominator(E, mask):
    mask = mask.expand(E.shape)
    X = E.masked_fill(~mask, -_INF)
    X = torch.cat([X, torch.zeros_like(X[..., :1])], dim=-1)
    return X.softmax(dim=-1)[..., :-1]


@wrong("a row without any allowed key puts weight 1 on its first key", kind="edge")
def first_key_where_nothing(E, mask):
    mask = mask.expand(E.shape)
    nothing = ~mask.any(dim=-1, keepdim=True)
    first = torch.arange(E.shape[-1], device=E.device) == 0
    return E.masked_fill(~(mask | (nothing & first)), -_INF).softmax(dim=-1)


@wrong("the weights of the whole matrix, all queries together, add up to 1", kind="concept")
def over_the_whole_matrix(E, mask):
    mask = mask.expand(E.shape).flatten(-2)
    X = E.flatten(-2)
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = X.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)
    return A.reshape(E.shape)


change(_plain, "turned_sign", "the sign of the scores is turned: low scores get the high weights", "concept",
       ("A = E", "A = (-E)"))
change(_filled_afterwards, "lowest_score_for_forbidden",
       "forbidden scores are replaced by the lowest score of the row, so forbidden keys keep a small weight", "concept",
       before("return", "X = torch.where(mask, E, E.amin(dim=-1, keepdim=True))"), ("E.masked_fill(~mask, -_INF)", "X"))


@wrong("only the best eight allowed keys of a row get weight", kind="concept")
def best_eight(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    X = E.masked_fill(~mask, -_INF)
    if E.shape[-1] > 8:
        least = X.topk(8, dim=-1).values[..., -1:]
        X = X.masked_fill(X < least, -_INF)
    return X.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)


change(_plain, "positive_scores_only", "allowed scores below 0 are cut off at 0 (ReLU) before the softmax", "concept",
       (".masked_fill(~mask, -_INF).masked_fill", ".relu().masked_fill(~mask, -_INF).masked_fill"))
change(_filled_afterwards, "zero_times_infinity",
       "(~mask) * -inf is added to the scores: 0 times infinity makes allowed scores NaN", "concept",
       before("return", "X = E + (~mask).to(E.dtype) * -_INF"),
       ("E.masked_fill(~mask, -_INF)", "X.masked_fill(nothing, 0.0)"))


# -------------------- wrong: two mistakes
change(own_derivative, "inverted_and_not_shared_anew", "the mask is inverted, and the softmax is over all keys without "
       "sharing anew what the mask takes away", "concept",
       ("_Softmax.apply(E, mask)", "E.softmax(dim=-1) * mask.logical_not().to(E.dtype)"))


@wrong("the softmax runs over the queries, and columns without any allowed query keep equal weights", kind="concept")
def queries_and_equal_weights(E, mask):
    mask = mask.expand(E.shape)
    nothing = ~mask.any(dim=-2, keepdim=True)
    return E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-2)


@wrong(
    "the exponentials are taken without subtracting a maximum, and 1e-3 is added to the denominator",
    kind="numerics",
)
def no_maximum_and_eps(E, mask):
    P = E.masked_fill(~mask, -_INF).exp()
    return P / (P.sum(dim=-1, keepdim=True) + 1e-3)


@wrong(
    "forbidden scores become -100 instead of -inf, and rows without any allowed key get equal weights",
    kind="numerics",
)
def minus_hundred_and_equal_weights(E, mask):
    return torch.where(mask, E, torch.full_like(E, -100.0)).softmax(dim=-1)


@wrong(
    "scores are multiplied by the mask (0 for forbidden) before the softmax and the weights after it, without "
    "sharing anew",
    kind="concept",
)
def multiplied_before_and_after(E, mask):
    may = mask.to(E.dtype)
    return (E * may).softmax(dim=-1) * may


@wrong("the sign of the scores is turned, and rows without any allowed key stay NaN", kind="concept")
def turned_sign_and_nan(E, mask):
    return (-E).masked_fill(~mask, -_INF).softmax(dim=-1)


@wrong(
    "a row with any forbidden key is set to zeros, and the others get powers of 2 in place of powers of e",
    kind="concept",
)
def all_for_any_and_powers_of_two(E, mask):
    keep = mask.expand(E.shape).all(dim=-1, keepdim=True)
    return (E.masked_fill(~keep, 0.0) * math.log(2)).softmax(dim=-1).masked_fill(~keep, 0.0)


# -------------------- wrong: numerics
@wrong("the exponentials are taken without subtracting a maximum: large allowed scores overflow", kind="numerics")
def no_maximum(E, mask):
    P = E.masked_fill(~mask, -_INF).exp()
    total = P.sum(dim=-1, keepdim=True)
    return P / total.masked_fill(~mask.any(dim=-1, keepdim=True), 1.0)


@wrong(
    "one maximum for the whole tensor is subtracted: rows of much lower scores underflow to 0/0 or zeros",
    kind="numerics",
)
def one_maximum_for_all(E, mask):
    X = E.masked_fill(~mask, -_INF)
    top = X.max().detach()
    P = (X - top.masked_fill(top == -_INF, 0.0)).exp()
    return P / P.sum(dim=-1, keepdim=True).masked_fill(~mask.any(dim=-1, keepdim=True), 1.0)


@wrong(
    "one maximum for each matrix (over queries and keys) is subtracted: rows of much lower scores underflow",
    kind="numerics",
)
def one_maximum_for_a_matrix(E, mask):
    X = E.masked_fill(~mask, -_INF)
    top = X.amax(dim=(-2, -1), keepdim=True).detach()
    P = (X - top.masked_fill(top == -_INF, 0.0)).exp()
    total = P.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, P / total.clamp(min=torch.finfo(E.dtype).tiny), torch.zeros_like(P))


@wrong(
    "the maximum that is subtracted is that of the row with the forbidden scores: where one of these is large "
    "the allowed ones underflow",
    kind="numerics",
)
def maximum_of_forbidden_too(E, mask):
    P = (E - E.amax(dim=-1, keepdim=True)).exp().masked_fill(~mask, 0.0)
    total = P.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, P / total.masked_fill(total == 0, 1.0), torch.zeros_like(P))


@wrong(
    "the softmax is over all keys, then weights are masked and divided by their sum + 1e-9: where a forbidden "
    "score is large the allowed weights vanish",
    kind="numerics",
)
def shared_anew_with_eps(E, mask):
    A = E.softmax(dim=-1) * mask
    return A / (A.sum(dim=-1, keepdim=True) + 1e-9)


@left_open("1e-6 is added to the denominator, so that the weights add up to less than 1", kind="numerics")
def eps_in_the_denominator(E, mask):
    X = E.masked_fill(~mask, -_INF)
    top = X.amax(dim=-1, keepdim=True).detach()
    P = (X - top.masked_fill(top == -_INF, 0.0)).exp()
    return P / (P.sum(dim=-1, keepdim=True) + 1e-6)


@wrong(
    "for the maximum forbidden scores count as 0: a row of very negative allowed scores underflows",
    kind="numerics",
)
def zero_in_the_maximum(E, mask):
    kept = E.masked_fill(~mask, 0.0)
    P = (kept - kept.amax(dim=-1, keepdim=True)).exp().masked_fill(~mask, 0.0)
    total = P.sum(dim=-1, keepdim=True)
    return P / total.masked_fill(total == 0, 1.0)


change(_filled_afterwards, "minus_ten_thousand", "forbidden scores become -1e4 instead of -inf: where all allowed "
       "scores of a row are lower, the forbidden keys win", "numerics",
       ("-_INF", "-1e4"))
change(_plain, "minus_a_billion_added",
       "-1e9 is added to forbidden scores instead of replacing them: a forbidden 1e30 stays large", "numerics",
       ("E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0)", "(E + (~mask).to(E.dtype) * -1e9)"))
change(_plain, "clamped_scores", "scores are clamped to between -50 and 50 before the softmax", "numerics",
       (".masked_fill(~mask, -_INF).masked_fill", ".clamp(-50, 50).masked_fill(~mask, -_INF).masked_fill"))


@left_open(
    "the weights are exp(E - logsumexp) with the logarithm rounded at the size of the scores: for large "
    "scores in low precision rows do not add up to 1",
    kind="numerics",
)
def minus_logsumexp(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    X = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0)
    return (X - X.logsumexp(dim=-1, keepdim=True)).exp().masked_fill(nothing, 0.0)


@wrong(
    "the denominator is the sum over all keys minus that over the forbidden ones: it cancels where forbidden "
    "scores are larger than allowed ones",
    kind="numerics",
)
def all_minus_forbidden(E, mask):
    mask = mask.expand(E.shape)
    P = (E - E.amax(dim=-1, keepdim=True).detach()).exp()
    total = P.sum(dim=-1, keepdim=True) - P.masked_fill(mask, 0.0).sum(dim=-1, keepdim=True)
    some = mask.any(dim=-1, keepdim=True) & (total > 0)
    return (P / torch.where(some, total, torch.ones_like(total))).masked_fill(~(mask & some), 0.0)


change(_plain, "single_inside",
       "everything is computed in float32, so that double precision results have single precision errors", "numerics",
       (".masked_fill(~mask, -_INF).masked_fill", ".float().masked_fill(~mask, -_INF).masked_fill"),
       ("A.masked_fill(nothing, 0.0)", "A.masked_fill(nothing, 0.0).to(E.dtype)"), verdict="open")
change(_plain, "half_inside", "the scores are turned into float16 inside: allowed scores above 65504 become infinite "
       "and NaN, others are rounded", "numerics",
       (".masked_fill(~mask, -_INF).masked_fill", ".half().masked_fill(~mask, -_INF).masked_fill"),
       ("A.masked_fill(nothing, 0.0)", "A.masked_fill(nothing, 0.0).to(E.dtype)"))
change(_plain, "never_quite_zero",
       "weights are kept at 1e-7 at least, so forbidden keys and rows without a key are not exactly 0", "numerics",
       (".softmax(dim=-1)", ".softmax(dim=-1).masked_fill(nothing, 0.0)"),
       ("A.masked_fill(nothing, 0.0)", "A.clamp(min=1e-7)"))
change(merely_favoured, "lowest_of_single_precision", "forbidden scores get float32's lowest number, which bfloat16 "
       "cannot hold: masked_fill raises for bfloat16 scores", "numerics",
       ("(E + mask.to(E.dtype))", "E.masked_fill(~mask, torch.finfo(torch.float32).min)"))
change(_plain, "small_weights_cut", "weights below 1e-4 are cut to 0, and so is their gradient", "numerics",
       (".softmax(dim=-1)", ".softmax(dim=-1).masked_fill(nothing, 0.0)"),
       ("A.masked_fill(nothing, 0.0)", "torch.where(A < 1e-4, torch.zeros_like(A), A)"))


# -------------------- wrong: gradient
change(_filled_afterwards, "added_infinity", "-inf is added to forbidden scores instead of put there: in rows without "
       "any allowed key the gradient is NaN", "gradient",
       before("return", "bias = torch.zeros(mask.shape, dtype=E.dtype, device=E.device).masked_fill(~mask, -_INF)"),
       ("E.masked_fill(~mask, -_INF)", "(E + bias)"))


@wrong(
    "empty rows are divided 0 by 0 and replaced after: the NaN of that division gets into the gradient of "
    "those rows",
    kind="gradient",
)
def replaced_after_the_division(E, mask):
    may = mask.to(E.dtype).expand(E.shape)
    top = E.detach().masked_fill(~mask, -_INF).amax(dim=-1, keepdim=True)
    top = top.masked_fill(top == -_INF, 0.0)
    P = torch.where(E > top, top, E).sub(top).exp() * may
    A = P / P.sum(dim=-1, keepdim=True)
    return torch.where(mask.any(dim=-1, keepdim=True), A, torch.zeros_like(A))


change(_plain, "zeroed_in_place", "rows without a key are zeroed in place in the softmax's result, which its backward "
       "needs: backward raises", "gradient",
       ("return A.masked_fill(nothing, 0.0)", """
        A.masked_fill_(nothing.expand(A.shape), 0.0)
        return A"""))


@wrong("the denominator is detached: the gradient lacks the part that goes through the sum", kind="gradient")
def detached_denominator(E, mask):
    X = E.masked_fill(~mask, -_INF)
    top = X.amax(dim=-1, keepdim=True).detach()
    P = (X - top.masked_fill(top == -_INF, 0.0)).exp()
    total = P.sum(dim=-1, keepdim=True).detach()
    return P / total.masked_fill(total == 0, 1.0)


@wrong("the result is rebuilt by torch.tensor from Python numbers: no gradient reaches the scores", kind="gradient")
def rebuilt(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)
    return torch.tensor(A.tolist(), dtype=E.dtype, device=E.device)


change(_plain, "straight_through",
       "the values are right but the gradient is that of a softmax without a mask (straight through)", "gradient",
       (".softmax(dim=-1)", ".softmax(dim=-1).masked_fill(nothing, 0.0)"),
       ("return A.masked_fill(nothing, 0.0)", """
        plain = E.softmax(dim=-1)
        return A.detach() + (plain - plain.detach())"""))


@wrong("as soon as one row allows no key, the whole result is detached from the scores", kind="gradient")
def detached_if_any_is_empty(E, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = E.masked_fill(~mask, -_INF).softmax(dim=-1)
    if nothing.any():
        A = A.detach().masked_fill(nothing, 0.0)
    return A


change(_plain, "fresh_zeros", "where no key at all is allowed, fresh zeros without any graph are returned: backward "
       "raises instead of giving 0", "gradient",
       before("nothing =", """
        if not mask.any():
            return torch.zeros_like(E)"""), verdict="open")


# -------------------- wrong: layout, shape, edges
@wrong(
    "the scores are flattened by view, which raises for a transposed or otherwise non-contiguous tensor",
    kind="layout",
)
def flat_view(E, mask):
    X = E.view(-1, E.shape[-1])
    may = mask.expand(E.shape).reshape(-1, E.shape[-1])
    nothing = ~may.any(dim=-1, keepdim=True)
    A = X.masked_fill(~may, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)
    return A.view(E.shape)


@wrong("exactly one batch axis is assumed: scores without one, or with several, raise", kind="layout")
def one_batch_axis(E, mask):
    B, N_Q, N_X = E.shape
    mask = mask.expand(B, N_Q, N_X)
    nothing = ~mask.any(dim=2, keepdim=True)
    A = E.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=2)
    return A.masked_fill(nothing, 0.0)


change(_plain, "squeezed", "the result is squeezed: axes of size 1 disappear", "layout",
       ("A.masked_fill(nothing, 0.0)", "A.masked_fill(nothing, 0.0).squeeze()"))


@wrong(
    "the scores are indexed with the mask, which does not broadcast: a mask with fewer axes, or axes of size "
    "1, raises",
    kind="layout",
)
def indexed_by_the_mask(E, mask):
    X = E.clone()
    X[~mask] = -_INF
    A = X.softmax(dim=-1)
    return torch.where(A.isnan(), torch.zeros_like(A), A)


change(_plain, "axis_at_place_one", "a mask with one axis fewer than the scores gets an axis at place 1, not at the "
       "front: a mask [N_Q, N_X] for scores [B, N_Q, N_X] is taken for one row of each batch entry", "shape",
       before("nothing =", """
        if mask.dim() == E.dim() - 1:
            mask = mask.unsqueeze(1)"""))
change(_plain, "filled_up_with_false", "a mask whose last axis has size 1 is filled up with False behind its one "
       "column instead of being repeated", "shape",
       before("nothing =", "mask = F.pad(mask, (0, E.shape[-1] - mask.shape[-1]), value=False)"))
change(_plain, "single_key_is_one", "with a single key (N_X = 1) the weight is 1 whatever the mask says", "edge",
       before("nothing =", """
        if E.shape[-1] == 1:
            return E.softmax(dim=-1)"""))


@wrong(
    "forbidden places are found as zeros of E times the mask, so an allowed score of exactly 0 is forbidden "
    "too",
    kind="edge",
)
def zero_taken_for_forbidden(E, mask):
    X = E * mask
    X = X.masked_fill(X == 0, -_INF)
    nothing = (X == -_INF).all(dim=-1, keepdim=True)
    return X.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing, 0.0)


# -------------------- wrong: interface
@wrong("the scores that came in are overwritten with -inf at forbidden places (masked_fill_)", kind="interface")
def overwrites_the_scores(E, mask):
    with torch.no_grad():
        E.masked_fill_(~mask, -_INF)
    nothing = ~mask.any(dim=-1, keepdim=True)
    return E.masked_fill(nothing, 0.0).softmax(dim=-1).masked_fill(nothing | ~mask, 0.0)


change(_filled_afterwards, "changes_the_mask",
       "the mask that came in is changed: its rows without a key become True", "interface",
       before("return", "mask |= nothing"))
change(_plain, "always_single", "the result is always float32, whatever type the scores have", "interface",
       (".softmax(dim=-1)", ".softmax(dim=-1, dtype=torch.float32)"))


@wrong("the zeros of empty rows are a tensor on the CPU: scores on another device raise", kind="interface")
def zeros_on_the_cpu(E, mask):
    some = mask.any(dim=-1, keepdim=True)
    zeros = torch.zeros(E.shape, dtype=E.dtype)
    X = torch.where(some, E.masked_fill(~mask, -_INF), zeros)
    return torch.where(some, X.softmax(dim=-1), zeros)


@right("the first argument is called scores, so a call with E= raises")
def other_names(scores, mask):
    nothing = ~mask.any(dim=-1, keepdim=True)
    A = scores.masked_fill(~mask, -_INF).masked_fill(nothing, 0.0).softmax(dim=-1)
    return A.masked_fill(nothing, 0.0)


change(_plain, "a_pair",
       "a pair comes back, the weights and which rows are empty, instead of the weights alone", "interface",
       ("A.masked_fill(nothing, 0.0)", "A.masked_fill(nothing, 0.0), nothing"))
change(_plain, "batch_axis_added", "scores without a batch axis come back with one of size 1", "interface",
       before("nothing =", "X = E[None] if E.dim() == 2 else E"), ("A = E", "A = X"))


_seen = {}


change(_plain, "remembered_mask", "the mask is remembered by its shape: the next mask of the same shape is ignored in "
       "favour of the first", "interface",
       before("nothing =", "mask = _seen.setdefault((tuple(mask.shape), mask.device), mask.clone())"))


@wrong("1 - mask is computed with a boolean mask, which torch refuses: it raises on every call", kind="interface")
def one_minus_boolean(E, mask):
    A = E.masked_fill((1 - mask).bool(), -_INF).softmax(dim=-1)
    return A.nan_to_num(0.0)
