"""Answers to negative_probabilities (assignment 16)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("−∞ at the right captions, softmax, and 0 for the NaN of rows without a negative")
def nan_to_zero(S, right):
    return S.masked_fill(right, -math.inf).softmax(-1).nan_to_num(0.0)


@right("The smallest number of the type at the right captions, softmax, and multiplication by the mask")
def smallest_number(S, right):
    negative = torch.logical_not(right)
    return torch.where(negative, S, torch.finfo(S.dtype).min).softmax(dim=1) * negative


@right("An additional column takes all the weight of a row without negatives, and is cut off again")
def additional_column(S, right):
    sink = torch.zeros_like(S[:, :1]).masked_fill(~right.all(dim=1, keepdim=True), -math.inf)
    return torch.cat([S.masked_fill(right, -math.inf), sink], dim=1).softmax(dim=1)[:, :-1]


@right("Row by row: the negatives alone are collected, their softmax is put back")
def row_by_row(S, right):
    rows = []
    for scores, own in zip(S, right):
        places = (~own).nonzero().squeeze(1)
        rows.append(torch.zeros_like(scores).scatter(0, places, scores[places].softmax(0)))
    return torch.stack(rows)


@right("Exponentials by hand, the largest negative subtracted, an empty sum replaced by 1")
def by_hand(S, right):
    largest = S.detach().masked_fill(right, -math.inf).amax(-1, keepdim=True)
    largest = largest.masked_fill(largest == -math.inf, 0)
    powers = torch.where(right, -math.inf, S - largest).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)


@right("A list of the negatives' rows and columns; sums by index_add")
def list_of_negatives(S, right):
    rows, columns = torch.nonzero(~right, as_tuple=True)
    scores = S[rows, columns]
    largest = torch.full_like(S[:, 0], -math.inf).scatter_reduce(0, rows, scores.detach(), "amax")
    powers = torch.exp(scores - largest[rows])
    total = torch.zeros_like(S[:, 0]).index_add(0, rows, powers)
    return torch.zeros_like(S).index_put((rows, columns), powers / total[rows])


class _Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, S, right):
        P = S.masked_fill(right, -math.inf).softmax(1).masked_fill(right, 0)
        ctx.save_for_backward(P)
        return P

    @staticmethod
    def backward(ctx, slope):
        (P,) = ctx.saved_tensors
        return P * (slope - (P * slope).sum(1, keepdim=True)), None


@right("A function of autograd, its gradient written down")
def own_gradient(S, right):
    return _Masked.apply(S, right)


@right("Only rows that have a negative are computed, by log_softmax; the others stay 0")
def full_rows_only(S, right):
    useful = (~right).any(1)
    scores = S[useful].masked_fill(right[useful], -math.inf)
    P = torch.zeros_like(S)
    P[useful] = torch.exp(scores.log_softmax(1))
    return P


@right("The transpose, softmax over its dim 0, back again")
def transposed_and_back(S, right):
    return S.T.masked_fill(right.T, -math.inf).softmax(0).masked_fill(right.T, 0).T


# ---------------------------------------------------------------- wrong: concepts


@wrong("only the diagonal is left out; other right captions are drawn as negatives", kind="concept")
def diagonal_only(S, right):
    eye = torch.eye(len(S), dtype=torch.bool, device=S.device)
    return S.masked_fill(eye, -math.inf).softmax(1).nan_to_num(0.0)


@wrong("only right captions off the diagonal are left out; the own caption may be drawn", kind="concept")
def off_diagonal_only(S, right):
    eye = torch.eye(len(S), dtype=torch.bool, device=S.device)
    return S.masked_fill(right & ~eye, -math.inf).softmax(1)


@wrong("S is multiplied by the mask before the softmax: right captions get e⁰", kind="concept")
def mask_times_scores(S, right):
    return (S * ~right).softmax(1)


@wrong("right captions are set to 0 after the softmax, and rows do not sum to 1 any more", kind="concept")
def not_renormalized(S, right):
    return S.softmax(1).masked_fill(right, 0)


# Right, and not registered: answers below are changes of it.
def _plain(S, right):
    return S.masked_fill(right, -math.inf).softmax(1).nan_to_num(0.0)


change(_plain, "inverted", "the mask is inverted: right captions are drawn", "concept",
       ("right, -math.inf", "~right, -math.inf"), (".softmax(1).nan_to_num(0.0)", ".softmax(1)"))


@wrong("the most similar negative gets 1, the others 0", kind="concept")
def hardest_only(S, right):
    best = S.masked_fill(right, -math.inf).argmax(1)
    return (F.one_hot(best, len(S)).to(S.dtype) + 0 * S).masked_fill(right, 0)


@wrong("all negatives are equally probable", kind="concept")
def uniform(S, right):
    negative = (~right).to(S.dtype) + 0 * S
    return negative.masked_fill(right, 0) / (~right).sum(1, keepdim=True).clamp(min=1)


@wrong("proportional to S itself (negative ones cut to 0), not to e^S", kind="concept")
def proportional_to_scores(S, right):
    weights = S.masked_fill(right, 0).relu()
    return weights / weights.sum(1, keepdim=True).clamp_min(1e-12)


change(_plain, "easiest_first", "the sign is turned: dissimilar texts are drawn most often", "concept",
       ("return S", "return (-S)"))


@wrong("as in BLIP, 1e-4 is added to all probabilities before right ones are set to 0", kind="concept")
def with_a_floor(S, right):
    weights = (S.softmax(1) + 1e-4).masked_fill(right, 0)
    return weights / weights.sum(1, keepdim=True).clamp_min(1e-12)


change(_plain, "with_a_temperature", "S is divided by a temperature of 0.07 that nobody asked for", "concept",
       ("return S", "return (S / 0.07)"))


@wrong("texts more similar than the own one are left out too (semi-hard negatives)", kind="concept")
def semi_hard(S, right):
    out = right | (S > S.diagonal()[:, None])
    return S.masked_fill(out, -math.inf).softmax(1).masked_fill(out, 0)


@wrong("a text that is right for another picture than its own is left out for all pictures", kind="concept")
def whole_columns(S, right):
    eye = torch.eye(len(S), dtype=torch.bool, device=S.device)
    out = right | (right & ~eye).any(0)
    return S.masked_fill(out, -math.inf).softmax(1).masked_fill(out, 0)


change(_plain, "softmax_twice", "the softmax is taken twice", "concept",
       (".masked_fill", ".softmax(1).masked_fill"))
change(nan_to_zero, "logarithms", "the logarithms of the probabilities come back (0 where right)", "concept",
       (".softmax(-1).nan_to_num(0.0)", ".log_softmax(1).masked_fill(right, 0)"))


# ---------------------------------------------------------------- wrong: axes and shapes


change(nan_to_zero, "over_the_pictures", "the softmax runs over the pictures (columns sum to 1)", "shape",
       ("-1", "0"))
change(_plain, "transposed", "the result is transposed: rows are texts", "shape",
       (".nan_to_num(0.0)", ".nan_to_num(0.0).T"))
change(nan_to_zero, "whole_matrix", "one softmax over the whole matrix: all entries together sum to 1", "shape",
       (".softmax(-1).nan_to_num(0.0)", ".flatten().softmax(0).nan_to_num(0.0).reshape(S.shape)"))


@wrong("rows and columns are both normalized: the mean of the two softmaxes", kind="shape")
def mean_of_both(S, right):
    z = S.masked_fill(right, -math.inf)
    return (z.softmax(0).nan_to_num(0.0) + z.softmax(1).nan_to_num(0.0)) / 2


@wrong("the diagonal is cut out: [N, N − 1] comes back", kind="shape")
def diagonal_cut_out(S, right):
    P = S.masked_fill(right, -math.inf).softmax(1).nan_to_num(0.0)
    eye = torch.eye(len(S), dtype=torch.bool, device=S.device)
    return P[~eye].reshape(len(S), len(S) - 1)


@wrong("view(-1) on S fails for a transposed layout", kind="layout")
def by_view(S, right):
    z = S.view(-1).masked_fill(right.reshape(-1), -math.inf).view(S.shape)
    return z.softmax(1).nan_to_num(0.0)


change(_plain, "squeezed", "squeeze() on the result: with N = 1 a number without axes comes back", "edge",
       (".nan_to_num(0.0)", ".nan_to_num(0.0).squeeze()"))


# ---------------------------------------------------------------- wrong: rows without a negative


change(nan_to_zero, "nan_rows", "rows without a negative are NaN", "edge",
       (".softmax(-1).nan_to_num(0.0)", ".softmax(1)"))


@wrong("right ones get the smallest number in place of −∞: a row without a negative is uniform, not 0", kind="edge")
def uniform_where_empty(S, right):
    return S.masked_fill(right, torch.finfo(S.dtype).min).softmax(1)


@wrong("a row without a negative draws among all other texts evenly", kind="edge")
def others_where_empty(S, right):
    P = S.masked_fill(right, -math.inf).softmax(1).nan_to_num(0.0)
    N = len(S)
    even = (1 - torch.eye(N, dtype=S.dtype, device=S.device)) / max(N - 1, 1)
    return torch.where(right.all(1, keepdim=True), even, P)


@wrong("a row without a negative draws the own text with probability 1", kind="edge")
def own_where_empty(S, right):
    P = S.masked_fill(right, -math.inf).softmax(1).nan_to_num(0.0)
    return torch.where(right.all(1, keepdim=True), torch.eye(len(S), dtype=S.dtype, device=S.device), P)


@wrong("if one row has no negative, the whole matrix is 0", kind="edge")
def all_empty_at_once(S, right):
    if right.all(1).any():
        return 0 * S
    return S.masked_fill(right, -math.inf).softmax(1)


# ---------------------------------------------------------------- wrong: numerics


@wrong(
    "−100 at the right captions: with similarities of that size they are not excluded, and they are never exactly 0",
    kind="numerics",
)
def minus_hundred(S, right):
    return S.masked_fill(right, -100.0).softmax(1) * (~right).any(1, keepdim=True)


change(_plain, "minus_ten_thousand", "−1e4 at the right captions: with negatives below −1e4 these lose their weight to "
       "the right ones, and all is 0", "numerics",
       ("-math.inf", "-1e4"), (".nan_to_num(0.0)", ".masked_fill(right, 0)"))
change(not_renormalized, "subtracted", "1e4 is subtracted at the right captions: where one's similarity is larger by "
       "more, it still takes the weight", "numerics",
       ("S.softmax", "(S - 1e4 * right.to(S.dtype)).softmax"))


@wrong("exponentials without subtracting the largest overflow", kind="numerics")
def plain_exponentials(S, right):
    powers = S.masked_fill(right, -math.inf).exp()
    total = powers.sum(1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)


@wrong(
    "the largest similarity of all, the right ones included, is subtracted: where the own one is far larger, all is 0",
    kind="numerics",
)
def largest_of_all(S, right):
    powers = (S - S.amax(1, keepdim=True).detach()).exp().masked_fill(right, 0)
    return powers / powers.sum(1, keepdim=True).clamp_min(torch.finfo(S.dtype).tiny)


@wrong(
    "the softmax of all is cut and divided by its sum + 1e-6, which is no longer 1 for unlikely negatives",
    kind="numerics",
)
def epsilon_in_the_sum(S, right):
    P = S.softmax(1).masked_fill(right, 0)
    return P / (P.sum(1, keepdim=True) + 1e-6)


change(_plain, "cut_to_fifty", "similarities are cut to [−50, 50]", "numerics",
       (".masked_fill", ".clamp(-50, 50).masked_fill"))


@wrong("one largest number for the whole matrix is subtracted: rows far below it become 0", kind="numerics")
def one_largest_number(S, right):
    z = S.masked_fill(right, -math.inf)
    powers = (z - S.detach().amax()).exp()
    total = powers.sum(1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)


@wrong("the smallest float32 is put in at right captions: bfloat16 cannot hold it and it fails", kind="numerics")
def smallest_float(S, right):
    return S.masked_fill(right, torch.finfo(torch.float32).min).softmax(1) * ~right


@wrong("probabilities below 1e-3 are set to 0", kind="numerics")
def small_ones_dropped(S, right):
    P = S.masked_fill(right, -math.inf).softmax(1).nan_to_num(0.0)
    return P.masked_fill(P < 1e-3, 0)


# ---------------------------------------------------------------- wrong: gradients


@wrong("computed under no_grad: no gradient reaches S", kind="gradient")
@torch.no_grad()
def no_gradient(S, right):
    return S.masked_fill(right, -math.inf).softmax(1).nan_to_num(0.0)


@wrong("the sum below the fraction is detached: values are right, the gradient is not", kind="gradient")
def sum_detached(S, right):
    z = S.masked_fill(right, torch.finfo(S.dtype).min)
    powers = (z - z.detach().amax(1, keepdim=True)).exp()
    return (powers / powers.detach().sum(1, keepdim=True)).masked_fill(right, 0)


change(_plain, "infinity_added",
       "−∞ is added, not filled in: values are right, but a row without a negative has a gradient of NaN", "gradient",
       before("return", "barrier = torch.zeros_like(S).masked_fill(right, -math.inf)"),
       ("S.masked_fill(right, -math.inf)", "(S + barrier)"))


@wrong(
    "the exponential is taken at right captions too and discarded after: where it overflows, the gradient is NaN",
    kind="gradient",
)
def discarded_after(S, right):
    largest = S.detach().masked_fill(right, torch.finfo(S.dtype).min).amax(1, keepdim=True)
    powers = torch.where(right, 0.0, (S - largest).exp())
    return powers / powers.sum(1, keepdim=True).clamp_min(torch.finfo(S.dtype).tiny)


# ---------------------------------------------------------------- wrong: interface


change(_plain, "scores_overwritten", "S is overwritten with −∞ at the right captions", "interface",
       before("return", """
        with torch.no_grad():
            S.masked_fill_(right, -math.inf)"""))
change(_plain, "mask_overwritten", "right is turned into its opposite in place", "interface",
       before("return", "negative = right.logical_not_()"), ("right, -math.inf", "~negative, -math.inf"))
change(_plain, "always_float", "computed in float32, and float32 comes back for float64 and bfloat16", "interface",
       (".masked_fill", ".float().masked_fill"))


@wrong("the result is filled into zeros on the CPU, which does not follow the input's device", kind="interface")
def result_on_the_cpu(S, right):
    P = torch.zeros(S.shape, dtype=S.dtype)
    for n in range(len(S)):
        if not right[n].all():
            P[n] = S[n].masked_fill(right[n], -math.inf).softmax(0)
    return P


@wrong("one negative is drawn for each picture, and its number comes back", kind="interface")
def drawn(S, right):
    P = S.masked_fill(right, torch.finfo(S.dtype).min).softmax(1)
    return torch.multinomial(P, 1).squeeze(1)
