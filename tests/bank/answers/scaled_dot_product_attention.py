"""Answers to the exercise scaled_dot_product_attention of assignment 04."""
import math

import torch
import torch.nn.functional as F

from answers import before, change, right, wrong


def _scores(Q, X):
    return Q @ X.mT / math.sqrt(Q.shape[-1])


def _both(A, X):
    return A @ X, A


# ---------------------------------------------------------------------------------------------------------------- right


@right("Einsum with an ellipsis, softmax from exp and sums")
def by_einsum(Q, X):
    E = torch.einsum("...id,...jd->...ij", Q, X) * Q.shape[-1] ** -0.5
    P = torch.exp(E - E.amax(dim=-1, keepdim=True))
    A = P / P.sum(dim=-1, keepdim=True)
    return torch.einsum("...ij,...jd->...id", A, X), A


@right("Loops over the queries, one at a time")
def query_by_query(Q, X):
    outputs, weights = [], []
    for q in Q.unbind(-2):
        a = torch.softmax((q[..., None, :] * X).sum(-1) / math.sqrt(q.shape[-1]), dim=-1)
        weights.append(a)
        outputs.append((a[..., None] * X).sum(-2))
    return torch.stack(outputs, -2), torch.stack(weights, -2)


@right("Both sides are divided by the fourth root of the width, for the scores only")
def fourth_roots(Q, X):
    root = Q.size(-1) ** 0.25
    A = F.softmax((Q / root).matmul((X / root).transpose(-2, -1)), dim=-1)
    return A.matmul(X), A


@right("All batch axes joined into one, bmm, and taken apart again")
def one_batch_axis(Q, X):
    front, (n, d), m = Q.shape[:-2], Q.shape[-2:], X.shape[-2]
    data = X.reshape(math.prod(front), m, d)
    A = torch.bmm(Q.reshape(math.prod(front), n, d), data.transpose(1, 2)).div(math.sqrt(d)).softmax(2)
    return torch.bmm(A, data).reshape(*front, n, d), A.reshape(*front, n, m)


@right("Transposed all through: data vectors down, queries across, softmax over the axis before the last")
def transposed_all_through(Q, X):
    A = torch.softmax(X @ (Q.mT / math.sqrt(Q.shape[-1])), dim=-2)
    return (X.mT @ A).mT, A.mT


@right("Weights as exp(E - logsumexp(E))")
def by_logsumexp(Q, X):
    E = torch.matmul(Q * (1 / math.sqrt(Q.shape[-1])), X.mT)
    A = torch.exp(E - torch.logsumexp(E, -1, keepdim=True))
    return A @ X, A


@right("Scores against data of which the mean is subtracted: that moves each row of scores by one number")
def centred_data(Q, X):
    A = (Q @ (X - X.mean(-2, keepdim=True)).mT / math.sqrt(X.shape[-1])).softmax(-1)
    return A @ X, A


@right("Streams over the data vectors with a running maximum, sum and output")
def streaming(Q, X):
    scale = Q.shape[-1] ** -0.5
    E = torch.stack([(Q * x[..., None, :]).sum(-1) * scale for x in X.unbind(-2)], -1)
    top, total, mixed = E[..., :1], torch.ones_like(E[..., :1]), X[..., :1, :].expand(*E.shape[:-1], X.shape[-1])
    for j in range(1, X.shape[-2]):
        new = torch.maximum(top, E[..., j : j + 1])
        shrink, weight = torch.exp(top - new), torch.exp(E[..., j : j + 1] - new)
        total, mixed, top = total * shrink + weight, mixed * shrink + weight * X[..., j : j + 1, :], new
    return mixed / total, torch.exp(E - top) / total


@right("Recursion over the batch axes down to two matrices")
def by_recursion(Q, X):
    if Q.dim() > 2:
        pairs = [by_recursion(q, x) for q, x in zip(Q, X)]
        return torch.stack([y for y, _ in pairs]), torch.stack([a for _, a in pairs])
    A = torch.addmm(Q.new_zeros(Q.shape[0], X.shape[0]), Q, X.t(), alpha=1 / math.sqrt(Q.shape[1])).softmax(1)
    return torch.mm(A, X), A


@right("All products of features at once, summed over the last axis; log_softmax and exp")
def all_products(Q, X):
    E = (Q.unsqueeze(-2) * X.unsqueeze(-3)).sum(-1) / Q.shape[-1] ** 0.5
    A = F.log_softmax(E, dim=-1).exp()
    return (A.unsqueeze(-1) * X.unsqueeze(-3)).sum(-2), A


@right("Computes in at least single precision and gives back the inputs' dtype; a maximum without gradient")
def at_least_single(Q, X):
    wide = torch.promote_types(Q.dtype, torch.float32)
    K = X.to(wide)
    E = torch.matmul(Q.to(wide), K.mT) / math.sqrt(X.size(-1))
    P = (E - E.max(dim=-1, keepdim=True).values.detach()).exp()
    A = P / P.sum(-1, keepdim=True)
    return (A @ K).to(Q.dtype), A.to(Q.dtype)


@right("In chunks of three queries, joined by cat; the softmax as a module")
def chunks_of_queries(Q, X):
    layer = torch.nn.Softmax(dim=-1)
    A = torch.cat([layer(part @ X.mT / math.sqrt(X.shape[-1])) for part in Q.split(3, dim=-2)], dim=-2)
    return torch.cat([a @ X for a in A.split(2, dim=-2)], dim=-2), A


# Right, and not registered: answers below are changes of it.
def _plain(Q, X):
    return _both(_scores(Q, X).softmax(-1), X)


# -------------------------------------------------------------------------------------------------------------- concept


change(_plain, "divided_by_the_width", "the scores are divided by D_Q, not by its root", "concept",
       ("_scores(Q, X)", "(Q @ X.mT / Q.shape[-1])"))
change(_plain, "not_scaled", "the scores are not scaled at all", "concept",
       ("_scores(Q, X)", "(Q @ X.mT)"))
change(_plain, "multiplied_by_the_root", "the scores are multiplied by the root of D_Q instead of divided", "concept",
       ("_scores(Q, X)", "(Q @ X.mT * math.sqrt(Q.shape[-1]))"))


@wrong("the scores are divided by the root of the number of data vectors, not of the width", kind="concept")
def root_of_the_data(Q, X):
    return _both((Q @ X.mT / math.sqrt(X.shape[-2])).softmax(-1), X)


@wrong("the scores are divided by the root of the number of queries, not of the width", kind="concept")
def root_of_the_queries(Q, X):
    return _both((Q @ X.mT / math.sqrt(Q.shape[-2])).softmax(-1), X)


@wrong("only Q is scaled, and by the fourth root of the width: half of the scale is missing", kind="concept")
def half_of_the_scale(Q, X):
    return _both((Q / Q.shape[-1] ** 0.25 @ X.mT).softmax(-1), X)


@wrong("the root of the width is rounded down to a whole number: wrong unless D_Q is a square number", kind="concept")
def whole_root(Q, X):
    return _both((Q @ X.mT / math.isqrt(Q.shape[-1])).softmax(-1), X)


change(_plain, "always_eight", "the scores are always divided by 8, the root of 64, whatever the width", "concept",
       ("_scores(Q, X)", "(Q @ X.mT / 8)"))


@wrong("the root of the width divides the weights after the softmax, not the scores before it", kind="concept")
def scaled_after_the_softmax(Q, X):
    return _both((Q @ X.mT).softmax(-1) / math.sqrt(Q.shape[-1]), X)


change(_plain, "scaled_data_are_mixed", "the data are divided by the root of the width once for both products, so that "
       "the outputs too are divided", "concept",
       before("return", "X = X / math.sqrt(X.shape[-1])"), ("_scores(Q, X)", "(Q @ X.mT)"))


@wrong("the scores are divided by their own standard deviation in each row, not by the root of the width",
       kind="concept")
def divided_by_their_deviation(Q, X):
    E = Q @ X.mT
    return _both((E / E.std(-1, keepdim=True, unbiased=False).clamp(min=1e-3)).softmax(-1), X)


change(_plain, "softmax_over_queries",
       "the softmax runs over the queries (the axis before the last), so columns sum to 1 and not rows", "concept",
       (".softmax(-1)", ".softmax(-2)"))


@wrong("one softmax over the whole matrix of scores: all queries together sum to 1", kind="concept")
def softmax_over_the_matrix(Q, X):
    E = _scores(Q, X)
    return _both(E.flatten(-2).softmax(-1).reshape(E.shape), X)


change(_plain, "two_softmaxes", "the softmax is taken twice, one after the other", "concept",
       ("_scores(Q, X).softmax(-1)", "_scores(Q, X).softmax(-1).softmax(-1)"))


@wrong("each score goes through a sigmoid of its own and there is no softmax: rows do not sum to 1", kind="concept")
def sigmoid_for_softmax(Q, X):
    return _both(_scores(Q, X).sigmoid(), X)


@wrong("powers of 2 take the place of powers of e in the softmax", kind="concept")
def base_two(Q, X):
    E = _scores(Q, X)
    P = torch.exp2(E - E.amax(-1, keepdim=True))
    return _both(P / P.sum(-1, keepdim=True), X)


@wrong("the scores are the negative distances of query and data vector over the root of the width, not dot products",
       kind="concept")
def negative_distances(Q, X):
    E = -(Q.unsqueeze(-2) - X.unsqueeze(-3)).square().sum(-1) / (2 * math.sqrt(Q.shape[-1]))
    return _both(E.softmax(-1), X)


change(_plain, "cosines", "the scores are cosines: queries and data vectors are scaled to length 1 first", "concept",
       ("_scores(Q, X)", "_scores(F.normalize(Q, dim=-1), F.normalize(X, dim=-1))"))


@wrong("the mean of the queries is subtracted from them before they are compared with the data", kind="concept")
def centred_queries(Q, X):
    return _both(_scores(Q - Q.mean(-2, keepdim=True), X).softmax(-1), X)


# Right, and not registered: answers below are changes of it.
def _mixed_at_the_end(Q, X):
    A = _scores(Q, X).softmax(-1)
    return A @ X, A


change(_mixed_at_the_end, "residual", "the queries are added to the outputs, as in a residual connection", "concept",
       ("A @ X", "Q + A @ X"))
change(_mixed_at_the_end, "normalised_outputs", "the outputs go through a layer normalisation", "concept",
       ("A @ X", "F.layer_norm(A @ X, X.shape[-1:])"))


@wrong("a causal mask: query i sees only data vectors 0 to i", kind="concept")
def causal(Q, X):
    E = _scores(Q, X)
    return _both(E.masked_fill(torch.ones_like(E).triu(1).bool(), -math.inf).softmax(-1), X)


@wrong("scores that are exactly 0 are taken for padding and get no weight", kind="concept")
def zero_scores_are_padding(Q, X):
    E = _scores(Q, X)
    hidden = (E == 0) & ~(E == 0).all(-1, keepdim=True)
    return _both(E.masked_fill(hidden, -math.inf).softmax(-1), X)


@wrong("the scores go through a relu before the softmax, so all negative ones count as 0", kind="concept")
def relu_of_the_scores(Q, X):
    return _both(_scores(Q, X).relu().softmax(-1), X)


@wrong("two mistakes: the scores are not scaled, and the softmax runs over the queries", kind="concept")
def unscaled_over_queries(Q, X):
    return _both((Q @ X.mT).softmax(-2), X)


change(_mixed_at_the_end, "width_and_residual", "two mistakes: the scores are divided by D_Q without the root, and the "
       "queries are added to the outputs", "concept",
       ("_scores(Q, X)", "(Q @ X.mT / Q.shape[-1])"), ("A @ X", "A @ X + Q"))
change(_mixed_at_the_end, "negated_and_swapped",
       "two mistakes: the scores are negated, and the weights come first and the outputs second", "concept",
       ("_scores(Q, X)", "(-_scores(Q, X))"), ("A @ X, A", "A, A @ X"))


@wrong("the weights are moved on by one data vector (torch.roll) before they mix and are given back", kind="concept")
def shifted_by_one(Q, X):
    return _both(_scores(Q, X).softmax(-1).roll(1, -1), X)


@wrong("all queries of a batch look at the data of all batch entries: the scores' softmax joins the first batch axis",
       kind="concept")
def data_of_the_whole_batch(Q, X):
    E = _scores(Q, X)
    if E.dim() == 2:
        return _both(E.softmax(-1), X)
    A = (E - E.logsumexp(dim=(0, -1), keepdim=True)).exp()
    return A @ X, A


# ---------------------------------------------------------------------------------------------------------------- shape


@wrong("X is transposed only if the shapes do not fit as they are: wrong where N_X equals D_Q", kind="edge")
def transposes_if_needed(Q, X):
    fits = X if X.shape[-2] == Q.shape[-1] else X.mT
    return _both((Q @ fits / math.sqrt(Q.shape[-1])).softmax(-1), X)


@wrong("if queries and data have the same shape they are taken for one sequence, and nobody looks at itself",
       kind="edge")
def self_is_hidden(Q, X):
    E = _scores(Q, X)
    if Q.shape == X.shape and Q.shape[-2] > 1:
        E = E.masked_fill(torch.eye(E.shape[-1], dtype=torch.bool, device=E.device), -math.inf)
    return _both(E.softmax(-1), X)


# Right, and not registered: answers below are changes of it.
def _unpacked(Q, X):
    Y, A = _both(_scores(Q, X).softmax(-1), X)
    return Y, A


change(_unpacked, "single_query_without_axis", "with one single query its axis is dropped from both results", "edge",
       ("return Y, A", "return (Y[..., 0, :], A[..., 0, :]) if Q.shape[-2] == 1 else (Y, A)"))


@wrong("the scale is the root of D_Q - 1: other weights everywhere, and division by 0 for D_Q = 1", kind="edge")
def width_less_one(Q, X):
    return _both((Q @ X.mT / torch.tensor(Q.shape[-1] - 1.0, dtype=Q.dtype, device=Q.device).sqrt()).softmax(-1), X)


@wrong("only the first 32 data vectors are looked at, those behind get weight 0", kind="edge")
def first_thirty_two(Q, X):
    A = _scores(Q, X)[..., :32].softmax(-1)
    return _both(F.pad(A, (0, max(0, X.shape[-2] - 32))), X)


change(_unpacked, "transposed_weights", "the returned weights are transposed, [*B, N_X, N_Q]", "shape",
       ("return Y, A", "return Y, A.mT"))
change(_mixed_at_the_end, "mixes_the_queries",
       "the queries are mixed and not the data: Y = A^T Q, of shape [*B, N_X, D_Q]", "shape",
       ("A @ X", "A.mT @ Q"))


@wrong("the scores are returned in the place of the weights", kind="concept")
def scores_returned(Q, X):
    E = _scores(Q, X)
    return E.softmax(-1) @ X, E


# --------------------------------------------------------------------------------------------------------------- layout


change(_plain, "transpose_one_and_two", "X.transpose(1, 2) takes exactly one batch axis for granted: raises without, "
       "and with two or more swaps the wrong axes", "layout",
       ("_scores(Q, X)", "(Q @ X.transpose(1, 2) / math.sqrt(Q.shape[-1]))"))
change(_mixed_at_the_end, "bare_bmm", "torch.bmm on the inputs as they are works with exactly one batch axis and "
       "raises with none or several", "layout",
       ("_scores(Q, X)", "(torch.bmm(Q, X.mT) / math.sqrt(Q.shape[-1]))"), ("A @ X", "torch.bmm(A, X)"))


@wrong("X.T on a matrix, and on a batch transposed from axis 1: right for none or one batch axis, raises or mixes for"
       " several", kind="layout")
def up_to_one_batch_axis(Q, X):
    turned = X.t() if X.dim() == 2 else X.transpose(1, -1)
    return _both((Q @ turned / math.sqrt(Q.shape[-1])).softmax(-1), X)


change(_plain, "softmax_over_axis_two", "the softmax runs over axis 2, which is the last only with one batch axis: "
       "raises without, wrong with more", "layout",
       (".softmax(-1)", ".softmax(2)"))
change(_plain, "width_from_axis_one", "the width is read from axis 1 of Q, which is the width only without batch axes; "
       "else the scale is another", "layout",
       ("_scores(Q, X)", "(Q @ X.mT / math.sqrt(Q.shape[1]))"))
change(_plain, "batch_axes_stay_joined", "several batch axes are joined into one and never taken apart again, and "
       "without any one of size 1 is added", "layout",
       before("return", "Q, X = Q.reshape(-1, *Q.shape[-2:]), X.reshape(-1, *X.shape[-2:])"))


@wrong("Q.view and X.view to one batch axis raise on permuted or sliced batches that cannot be viewed so",
       kind="layout")
def views(Q, X):
    q, x = Q.view(-1, *Q.shape[-2:]), X.view(-1, *X.shape[-2:])
    A = (q @ x.mT / math.sqrt(Q.shape[-1])).softmax(-1)
    return (A @ x).view(Q.shape), A.view(*Q.shape[:-1], X.shape[-2])


@wrong("X transposed is read by as_strided with the strides of a contiguous tensor: other numbers for any other"
       " layout", kind="layout")
def strides_taken_for_granted(Q, X):
    n, d = X.shape[-2:]
    B = math.prod(X.shape[:-2])
    turned = torch.as_strided(X, (B, d, n), (n * d, 1, d), X.storage_offset()).reshape(*X.shape[:-2], d, n)
    return _both((Q @ turned / math.sqrt(d)).softmax(-1), X)


@wrong("X is turned by a reshape to [*B, D_Q, N_X], which does not swap the axes but shuffles the numbers",
       kind="shape")
def reshape_for_transpose(Q, X):
    turned = X.reshape(*X.shape[:-2], X.shape[-1], X.shape[-2])
    return _both((Q @ turned / math.sqrt(Q.shape[-1])).softmax(-1), X)


change(_unpacked, "squeezed_outputs",
       "squeeze() without an axis on the outputs: every axis of size 1 is lost", "layout",
       ("return Y", "return Y.squeeze()"))
change(_unpacked, "squeezed_weights",
       "squeeze() without an axis on the weights: every axis of size 1 is lost", "layout",
       ("return Y, A", "return Y, A.squeeze()"))


# ------------------------------------------------------------------------------------------------------------- numerics


change(_plain, "exp_without_maximum",
       "exp of the scores without subtracting a maximum: nan for scores above 88 in single precision", "numerics",
       before("return", "P = _scores(Q, X).exp()"), ("_scores(Q, X).softmax(-1)", "P / P.sum(-1, keepdim=True)"))


@wrong("one maximum for the whole tensor of scores: rows whose scores all lie far below it become 0 / 0",
       kind="numerics")
def one_maximum_for_all(Q, X):
    E = _scores(Q, X)
    P = (E - E.max()).exp()
    return _both(P / P.sum(-1, keepdim=True), X)


change(one_maximum_for_all, "maximum_of_each_matrix", "one maximum for the queries of a batch entry together: a query "
       "whose scores all lie far below those of another becomes 0 / 0", "numerics",
       ("E.max()", "E.amax((-2, -1), keepdim=True)"))
change(one_maximum_for_all, "maximum_over_queries",
       "the maximum is taken over the queries, a number for each data vector, so that the weights change", "numerics",
       ("E.max()", "E.amax(-2, keepdim=True)"))
change(one_maximum_for_all, "mean_for_maximum",
       "the mean of each row is subtracted in the place of its maximum: exp still overflows for far scores", "numerics",
       ("E.max()", "E.mean(-1, keepdim=True)"))


@wrong("1e-5 is added to the sum of exponentials, so that rows sum to a little less than 1", kind="numerics")
def eps_in_the_sum(Q, X):
    E = _scores(Q, X)
    P = (E - E.amax(-1, keepdim=True)).exp()
    return _both(P / (P.sum(-1, keepdim=True) + 1e-5), X)


@wrong("overflow is hidden by nan_to_num: exp without a maximum, and rows that overflow get zeros", kind="numerics")
def overflow_hidden(Q, X):
    P = _scores(Q, X).exp()
    return _both((P / P.sum(-1, keepdim=True)).nan_to_num(0.0), X)


change(_plain, "cut_at_eighty",
       "the scores are cut at 80 from above, so that larger ones become ties without gradient", "numerics",
       before("return", "P = _scores(Q, X).clamp(max=80)"), ("_scores(Q, X)", "(P - P.amax(-1, keepdim=True))"))
change(_plain, "shifted_scores_kept", "shifted scores are kept above -10, so weights that should be below exp(-10) "
       "times the largest are too large and have no gradient", "numerics",
       before("return", "E = _scores(Q, X)"), ("_scores(Q, X)", "(E - E.amax(-1, keepdim=True)).clamp(min=-10)"))
change(_mixed_at_the_end, "small_weights_are_zero",
       "weights below 1e-4 are set to 0, without gradient, and the rest is not renormalised", "numerics",
       ("return A @ X, A", "return _both(torch.where(A < 1e-4, torch.zeros_like(A), A), X)"))
change(_plain, "half_precision_product", "the product of queries and data is taken in float16, which overflows above "
       "65504 and keeps three digits", "numerics",
       before("return", "E = (Q.half() @ X.half().mT).to(Q.dtype) / math.sqrt(Q.shape[-1])"), ("_scores(Q, X)", "E"))
change(_plain, "single_precision_scores",
       "the scores are computed in single precision and cast back, so that double has some six digits", "numerics",
       ("_scores(Q, X)", "_scores(Q.float(), X.float()).to(Q.dtype)"), verdict="open")


@wrong("the weights are exp(log(softmax)): where one underflows to 0 all gradients become nan", kind="gradient")
def exp_of_log_of_softmax(Q, X):
    return _both(_scores(Q, X).softmax(-1).log().exp(), X)


@wrong("runs over blocks of 16 data vectors with a running maximum, but does not shrink the earlier blocks when the"
       " maximum grows: wrong from 17 data vectors on", kind="numerics")
def blocks_not_rescaled(Q, X):
    top, parts = None, []
    for block in _scores(Q, X).split(16, dim=-1):
        highest = block.amax(-1, keepdim=True)
        top = highest if top is None else torch.maximum(top, highest)
        parts.append((block - top).exp())
    P = torch.cat(parts, -1)
    return _both(P / P.sum(-1, keepdim=True), X)


# ------------------------------------------------------------------------------------------------------------- gradient


change(_mixed_at_the_end, "weights_detached_in_the_mix", "the weights are detached before they mix the data, so Y "
       "gives no gradient to Q and to X only through the mixing", "gradient",
       ("return A", "return A.detach()"))
change(_unpacked, "weights_given_back_detached",
       "the weights given back are detached, so that no gradient flows from A", "gradient",
       ("return Y, A", "return Y, A.detach()"), verdict="open")


@wrong("the data are detached in the scores, so that X gets a gradient through the mixing only", kind="gradient")
def data_detached_in_the_scores(Q, X):
    return _both(_scores(Q, X.detach()).softmax(-1), X)


change(_mixed_at_the_end, "data_detached_in_the_mix", "the data are taken by X.data where they are mixed, so that X "
       "gets a gradient through the scores only", "gradient",
       ("A @ X", "A @ X.data"))


@wrong("the scores are computed under no_grad, so that neither result gives a gradient to Q", kind="gradient")
def scores_without_grad(Q, X):
    with torch.no_grad():
        E = _scores(Q, X)
    return _both(E.softmax(-1), X)


class _DiagonalSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, E):
        A = E.softmax(-1)
        ctx.save_for_backward(A)
        return A

    @staticmethod
    def backward(ctx, grad):
        (A,) = ctx.saved_tensors
        return grad * A * (1 - A)


change(_plain, "diagonal_backward", "a softmax with a backward of its own that keeps only the Jacobian's diagonal: "
       "values right, gradients wrong", "gradient",
       ("_scores(Q, X).softmax(-1)", "_DiagonalSoftmax.apply(_scores(Q, X))"))


# ------------------------------------------------------------------------------------------------ process and interface


@wrong("the outputs come from torch's scaled_dot_product_attention, which the text forbids", kind="process")
def torch_does_it(Q, X):
    return F.scaled_dot_product_attention(Q, X, X), _scores(Q, X).softmax(-1)


@wrong("uses nn.MultiheadAttention with identity matrices, which the text forbids", kind="process")
def multihead_does_it(Q, X):
    d, front = Q.shape[-1], Q.shape[:-2]
    layer = torch.nn.MultiheadAttention(d, 1, bias=False, batch_first=True, dtype=Q.dtype, device=Q.device)
    one = torch.eye(d, dtype=Q.dtype, device=Q.device)
    layer.in_proj_weight = torch.nn.Parameter(torch.cat([one, one, one]), requires_grad=False)
    layer.out_proj.weight = torch.nn.Parameter(one, requires_grad=False)
    q, x = Q.reshape(-1, *Q.shape[-2:]), X.reshape(-1, *X.shape[-2:])
    Y, A = layer(q, x, x)
    return Y.reshape(Q.shape), A.reshape(*front, Q.shape[-2], X.shape[-2])


change(_plain, "scales_q_in_place",
       "Q is divided by the root of the width in place, which changes the caller's tensor", "interface",
       before("return", "Q /= math.sqrt(Q.shape[-1])"), ("_scores(Q, X)", "(Q @ X.mT)"))


@wrong("X is transposed in place (transpose_) and left so: the caller's tensor has another shape", kind="interface")
def transposes_x_in_place(Q, X):
    data = X.clone()
    return _both((Q @ X.transpose_(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1), data)


_turned = {}


@wrong("X transposed is kept from call to call by its shape, so that later data of the same shape are scored as the"
       " first, without a gradient from the scores", kind="interface")
def remembers_the_data(Q, X):
    key = (X.shape, X.dtype, X.device)
    if key not in _turned:
        turned = X.mT
        _turned[key] = turned.detach().clone()
    else:
        turned = _turned[key]
    return _both((Q @ turned / math.sqrt(Q.shape[-1])).softmax(-1), X)


change(_unpacked, "weights_first", "the weights come first and the outputs second", "interface",
       ("return Y, A", "return A, Y"))
change(_plain, "outputs_alone", "only the outputs are given back, without the weights", "interface",
       ("return _both(_scores(Q, X).softmax(-1), X)", "return _scores(Q, X).softmax(-1) @ X"))
change(_mixed_at_the_end, "three_results", "the scores are given back as a third result", "interface",
       before("A =", "E = _scores(Q, X)"), ("_scores(Q, X)", "E"), ("A @ X, A", "A @ X, A, E"))


@wrong("the data come first in the signature, so that by position queries and data are exchanged", kind="interface")
def data_first(X, Q):
    return _both(_scores(Q, X).softmax(-1), X)


@right("the second argument is named K, so that X= by keyword raises")
def named_k(Q, K):
    return _both(_scores(Q, K).softmax(-1), K)


@wrong("the arguments are keyword-only, so that a call by position raises", kind="interface")
def keywords_only(*, Q, X):
    return _both(_scores(Q, X).softmax(-1), X)


@wrong("the outputs are collected in torch.zeros without dtype, so that double and bfloat16 come back as float32",
       kind="interface")
def zeros_without_dtype(Q, X):
    A = _scores(Q, X).softmax(-1)
    Y = torch.zeros(Q.shape, device=Q.device)
    for j in range(X.shape[-2]):
        Y += A[..., j, None] * X[..., j, None, :]
    return Y, A


change(_unpacked, "weights_in_single",
       "the weights are returned in single precision whatever the inputs' dtype", "interface",
       ("return Y, A", "return Y, A.float()"))


@wrong("the outputs are collected in torch.zeros made on the CPU, so that it raises for inputs on a GPU",
       kind="interface")
def zeros_on_the_cpu(Q, X):
    A = _scores(Q, X).softmax(-1)
    Y = torch.zeros(Q.shape, dtype=Q.dtype)
    for j in range(X.shape[-2]):
        Y = Y + A[..., j, None] * X[..., j, None, :]
    return Y, A


@wrong("a tenth of the weights is dropped at random and the rest scaled up, as by dropout in training",
       kind="interface")
def dropout_on_the_weights(Q, X):
    A = _scores(Q, X).softmax(-1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        keep = (torch.rand(A.shape) > 0.1).to(A)
    return _both(A * keep / 0.9, X)
