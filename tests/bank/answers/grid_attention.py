"""Answers to the exercise grid_attention of assignment 03."""
import math

import torch
import torch.nn.functional as F

from answers import before, change, right, wrong


def _cells(G):
    return G.flatten(2).mT


def _scores(s, G, W, U, v):
    return torch.tanh((s @ W)[:, None] + _cells(G) @ U) @ v


def _mix(A, G):
    return (A[:, None] @ _cells(G))[:, 0]


def _both(A, G):
    return _mix(A, G), A.unflatten(-1, G.shape[2:])


# ---------------------------------------------------------------------------------------------------------------- right


@right("Stays in the grid: projections by 1x1 convolutions, softmax over both axes flattened")
def by_convolutions(s, G, W, U, v):
    asked = (s @ W)[:, :, None, None]
    seen = F.conv2d(G, U.t()[:, :, None, None])
    e = F.conv2d(torch.tanh(asked + seen), v[None, :, None, None])
    a = e.flatten(1).softmax(dim=1).reshape(G.shape[0], *G.shape[2:])
    return (a[:, None] * G).sum(dim=(2, 3)), a


@right("Loops over the images, one at a time")
def image_by_image(s, G, W, U, v):
    contexts, maps = [], []
    for state, grid in zip(s, G):
        vectors = grid.reshape(grid.shape[0], -1).t()
        a = torch.softmax(torch.tanh(state @ W + vectors @ U) @ v, dim=0)
        contexts.append(a @ vectors)
        maps.append(a.reshape(grid.shape[1:]))
    return torch.stack(contexts), torch.stack(maps)


@right("Einsums over the grid's own axes, softmax by a maximum over both axes")
def by_einsum(s, G, W, U, v):
    h = torch.tanh(torch.einsum("bs,sa->ba", s, W)[:, None, None] + torch.einsum("bdhw,da->bhwa", G, U))
    e = torch.einsum("bhwa,a->bhw", h, v)
    p = torch.exp(e - e.amax(dim=(1, 2), keepdim=True))
    a = p / p.sum(dim=(1, 2), keepdim=True)
    return torch.einsum("bhw,bdhw->bd", a, G), a


@right("Softmax as exp of score minus logsumexp over rows and columns together")
def by_logsumexp(s, G, W, U, v):
    grid = G.movedim(1, -1)
    e = torch.tanh((s @ W).unsqueeze(1).unsqueeze(1) + grid @ U) @ v
    a = (e - e.logsumexp(dim=(-2, -1), keepdim=True)).exp()
    return (grid * a.unsqueeze(-1)).sum(dim=(1, 2)), a


@right("Loops over rows and columns and stacks the scores of the cells")
def cell_by_cell(s, G, W, U, v):
    rows, columns = G.shape[-2], G.shape[-1]
    asked = s @ W
    e = torch.stack([torch.tanh(asked + G[:, :, h, w] @ U) @ v for h in range(rows) for w in range(columns)], dim=1)
    a = F.softmax(e, dim=1)
    c = sum(a[:, h * columns + w, None] * G[:, :, h, w] for h in range(rows) for w in range(columns))
    return c, a.reshape(-1, rows, columns)


@right("State and cell side by side, times W and U one above the other")
def one_matrix_for_both(s, G, W, U, v):
    X = G.flatten(2).transpose(1, 2)
    both = torch.cat([s[:, None].expand(-1, X.shape[1], -1), X], dim=-1)
    a = torch.softmax((both @ torch.cat([W, U])).tanh() @ v, dim=-1)
    return torch.bmm(a.unsqueeze(1), X).squeeze(1), a.unflatten(1, (G.shape[2], G.shape[3]))


@right("A softmax in each row, times a softmax over the rows' logsumexps")
def rows_then_columns(s, G, W, U, v):
    e = _scores(s, G, W, U, v).reshape(len(G), *G.shape[2:])
    within = e.softmax(dim=-1)
    among = e.logsumexp(dim=-1, keepdim=True).softmax(dim=-2)
    a = within * among
    return torch.einsum("bdhw,bhw->bd", G, a), a


@right("Runs down the rows once, with a running maximum, sum and mixture")
def streaming_rows(s, G, W, U, v):
    asked = (s @ W)[:, None]
    top = total = mixed = None
    scores = []
    for row in G.unbind(2):
        X = row.transpose(1, 2)
        e = torch.tanh(asked + X @ U) @ v
        scores.append(e)
        highest = e.amax(1, keepdim=True) if top is None else torch.maximum(top, e.amax(1, keepdim=True))
        p = (e - highest).exp()
        part, weighted = p.sum(1, keepdim=True), (p[..., None] * X).sum(1)
        if top is not None:
            shrink = (top - highest).exp()
            part, weighted = part + shrink * total, weighted + shrink * mixed
        top, total, mixed = highest, part, weighted
    return mixed / total, (torch.stack(scores, 1) - top[..., None]).exp() / total[..., None]


@right("One image's look under torch.vmap")
def by_vmap(s, G, W, U, v):
    def look(state, grid):
        e = torch.tanh((state @ W)[:, None, None] + torch.tensordot(U, grid, dims=([0], [0])))
        a = torch.softmax(torch.tensordot(v, e, dims=1).flatten(), 0).view(e.shape[1:])
        return (grid * a).sum((1, 2)), a

    return torch.vmap(look)(s, G)


@right("F.linear in place of products, cells column by column inside and put back at the end")
def column_by_column_inside(s, G, W, U, v):
    X = G.permute(0, 3, 2, 1).reshape(G.shape[0], -1, G.shape[1])
    e = F.linear(torch.tanh(F.linear(s, W.t()).unsqueeze(1) + F.linear(X, U.t())), v.unsqueeze(0)).squeeze(-1)
    a = e.softmax(-1)
    return torch.matmul(X.mT, a.unsqueeze(-1)).squeeze(-1), a.reshape(G.shape[0], G.shape[3], G.shape[2]).mT


@right("Computes in at least single precision and gives back the grid's dtype")
def at_least_single(s, G, W, U, v):
    wide = torch.promote_types(G.dtype, torch.float32)
    X = G.to(wide).flatten(2).mT
    e = torch.tanh((s.to(wide) @ W.to(wide))[:, None] + X @ U.to(wide)) @ v.to(wide)
    shifted = e - e.detach().amax(dim=1, keepdim=True)
    a = shifted.exp() / shifted.exp().sum(dim=1, keepdim=True)
    return (a[:, :, None] * X).sum(1).to(G.dtype), a.unflatten(1, G.shape[2:]).to(G.dtype)


@right("Cells stacked channel by channel, weights as exp of log_softmax")
def exp_of_log_softmax(s, G, W, U, v):
    B, D, rows, columns = G.shape
    X = torch.stack([G[:, d].reshape(B, rows * columns) for d in range(D)], dim=2)
    a = F.log_softmax((torch.tanh(s.matmul(W).view(B, 1, -1) + X.matmul(U)) * v).sum(2), dim=1).exp()
    return (X * a[:, :, None]).sum(1), a.reshape(B, rows, columns)


# -------------------------------------------------------------------------------------------------------------- concept


@wrong("the softmax runs over the columns of each row, so each row of the map sums to 1 and not the whole map",
       kind="concept")
def softmax_in_each_row(s, G, W, U, v):
    a = _scores(s, G, W, U, v).unflatten(-1, G.shape[2:]).softmax(dim=-1)
    return (G * a[:, None]).sum((2, 3)), a


change(softmax_in_each_row, "softmax_in_each_column", "the softmax runs over the rows of each column, so each column "
       "of the map sums to 1 and not the whole map", "concept",
       ("dim=-1", "dim=-2"))


@wrong("the weights are a softmax over the columns followed by a second softmax over the rows of its result, not one"
       " softmax over all cells; they are divided by the number of columns to sum to 1", kind="concept")
def one_softmax_after_the_other(s, G, W, U, v):
    a = _scores(s, G, W, U, v).unflatten(-1, G.shape[2:]).softmax(dim=-1).softmax(dim=-2) / G.shape[3]
    return (G * a[:, None]).sum((2, 3)), a


@wrong("the softmax runs over the batch axis, so that the images share the weight of each cell", kind="concept")
def softmax_over_the_batch(s, G, W, U, v):
    return _both(_scores(s, G, W, U, v).softmax(dim=0), G)


@wrong("the softmax runs over all cells of all images of the batch together", kind="concept")
def softmax_over_everything(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    return _both(e.flatten().softmax(0).reshape(e.shape), G)


# Right, and not registered: answers below are changes of it.
def _plain(s, G, W, U, v):
    return _both(_scores(s, G, W, U, v).softmax(-1), G)


change(_plain, "without_tanh", "the tanh is missing: the scores are (s W + g U) v", "concept",
       ("_scores(s, G, W, U, v)", "((s @ W)[:, None] + _cells(G) @ U).matmul(v)"))
change(_plain, "sigmoid_for_tanh", "a sigmoid stands where the tanh should be", "concept",
       ("_scores(s, G, W, U, v)", "torch.sigmoid((s @ W)[:, None] + _cells(G) @ U).matmul(v)"))
change(_plain, "tanh_of_each_part", "the tanh is taken of s W and of g U one by one and the two are added, instead of "
       "the tanh of the sum", "concept",
       ("_scores(s, G, W, U, v)", "(torch.tanh(s @ W)[:, None] + torch.tanh(_cells(G) @ U)).matmul(v)"))
change(_plain, "v_inside_the_tanh", "v is inside the tanh: the scores are tanh((s W + g U) v)", "concept",
       ("_scores(s, G, W, U, v)", "torch.tanh(((s @ W)[:, None] + _cells(G) @ U) @ v)"))
change(_plain, "product_for_sum", "s W and g U are multiplied inside the tanh, not added", "concept",
       ("_scores(s, G, W, U, v)", "torch.tanh((s @ W)[:, None] * (_cells(G) @ U)).matmul(v)"))
change(_plain, "difference_for_sum", "the cells' projection is subtracted: tanh(s W - g U) v", "concept",
       ("_scores(s, G, W, U, v)", "torch.tanh((s @ W)[:, None] - _cells(G) @ U).matmul(v)"))
change(_plain, "blind_to_the_state", "the state takes no part in the scores, which are tanh(g U) v", "concept",
       before("return", "e = torch.tanh(_cells(G) @ U) @ v + 0 * (s @ W).sum(-1, keepdim=True)"),
       ("_scores(s, G, W, U, v)", "e"))


@wrong("the scores are divided by the root of D_A before the softmax; additive scores are not scaled", kind="concept")
def scaled_scores(s, G, W, U, v):
    return _both((_scores(s, G, W, U, v) / math.sqrt(v.shape[0])).softmax(-1), G)


@wrong("the scores are negated before the softmax, so that the best cell gets the least weight", kind="concept")
def negated_scores(s, G, W, U, v):
    return _both((-_scores(s, G, W, U, v)).softmax(-1), G)


@wrong("the context is the weighted mean over cells divided once more by the number of cells", kind="concept")
def context_divided_again(s, G, W, U, v):
    a = _scores(s, G, W, U, v).softmax(-1).unflatten(-1, G.shape[2:])
    return (G * a[:, None]).mean((2, 3)), a


# Right, and not registered: answers below are changes of it.
def _unpacked(s, G, W, U, v):
    c, a = _both(_scores(s, G, W, U, v).softmax(-1), G)
    return c, a


change(_unpacked, "tanh_of_the_context", "the context goes through a tanh before it is given back", "concept",
       ("return c", "return c.tanh()"))
change(_unpacked, "mean_added", "the plain mean of the cells is added to the context", "concept",
       ("return c", "return c + G.mean((2, 3))"))
change(_plain, "unit_cells", "cells are scaled to length 1 before they are scored", "concept",
       ("_scores(s, G, W, U, v)", "_scores(s, G / G.square().sum(1, keepdim=True).add(1e-12).sqrt(), W, U, v)"))


@wrong("the second result holds the scores, not the weights", kind="concept")
def scores_for_weights(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    return _mix(e.softmax(-1), G), e.unflatten(-1, G.shape[2:])


@wrong("the weights are renormalised over the best eight cells only, all others get none: wrong from nine cells on",
       kind="concept")
def best_eight_cells(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    if e.shape[-1] > 8:
        e = e.masked_fill(e < e.topk(8, dim=-1).values[:, -1:], -math.inf)
    return _both(e.softmax(-1), G)


@wrong("two mistakes: the tanh is missing, and the softmax runs in each row of the grid", kind="concept")
def no_tanh_and_row_softmax(s, G, W, U, v):
    e = ((s @ W)[:, None] + _cells(G) @ U) @ v
    a = e.unflatten(-1, G.shape[2:]).softmax(-1)
    return (G * a[:, None]).sum((2, 3)), a


@wrong("two mistakes: the scores are divided by the root of D_A, and the context is averaged over cells instead of"
       " summed", kind="concept")
def scaled_and_averaged(s, G, W, U, v):
    a = (_scores(s, G, W, U, v) / math.sqrt(v.shape[0])).softmax(-1)
    return (a[..., None] * _cells(G)).mean(1), a.unflatten(-1, G.shape[2:])


change(_unpacked, "relu_and_swapped_results",
       "two mistakes: a relu in the place of the tanh, and the two results in the opposite order", "concept",
       ("_scores(s, G, W, U, v)", "F.relu((s @ W)[:, None] + _cells(G) @ U).matmul(v)"), ("return c, a", "return a, c"))
change(_unpacked, "negated_and_transposed", "two mistakes: the scores are negated, and the map of weights comes back "
       "with rows and columns exchanged", "concept",
       ("_scores(s, G, W, U, v)", "(-_scores(s, G, W, U, v))"), ("return c, a", "return c, a.mT"))


# ---------------------------------------------------------------------------------------------------------------- shape


@wrong("the grid is reshaped to [B, H*W, D] without moving the channels to the end first, so that the 'cells' are"
       " pieces of channels", kind="shape")
def reshape_without_moving(s, G, W, U, v):
    X = G.reshape(G.shape[0], -1, G.shape[1])
    a = (torch.tanh((s @ W)[:, None] + X @ U) @ v).softmax(-1)
    return (a[..., None] * X).sum(1), a.unflatten(-1, G.shape[2:])


@wrong("cells are taken column by column, but the weights are unflattened as if they came row by row, so the map does"
       " not show the weights at their cells", kind="shape")
def column_order(s, G, W, U, v):
    c, a = _both(_scores(s, G.mT, W, U, v).softmax(-1), G.mT)
    return c, a.reshape(G.shape[0], *G.shape[2:])


change(_unpacked, "transposed_map", "the map of weights comes back as [B, W, H], rows and columns exchanged", "shape",
       ("return c, a", "return c, a.transpose(1, 2)"))


@wrong("the weights come back flat, [B, H*W], not as a map", kind="shape")
def flat_weights(s, G, W, U, v):
    a = _scores(s, G, W, U, v).softmax(-1)
    return _mix(a, G), a


change(flat_weights, "mixes_projected_cells",
       "the context is mixed from the projected cells g U and has width D_A, not from the cells themselves", "shape",
       ("return _mix(a, G), a", "return (a[:, None] @ (_cells(G) @ U))[:, 0], a.unflatten(-1, G.shape[2:])"))
change(_unpacked, "map_with_a_channel",
       "the map of weights keeps an axis of size 1 for the channels: [B, 1, H, W]", "shape",
       ("return c, a", "return c, a[:, None]"))


@wrong("the map is taken to be square, with the root of H*W rows and columns: fails on grids with H different from W",
       kind="shape")
def square_maps(s, G, W, U, v):
    a = _scores(s, G, W, U, v).softmax(-1)
    side = math.isqrt(a.shape[-1])
    return _mix(a, G), a.reshape(-1, side, side)


# ------------------------------------------------------------------------------------------------------------- numerics


@wrong("exp of the scores without subtracting the maximum: inf / inf is nan for scores above 88 in single precision",
       kind="numerics")
def exp_without_maximum(s, G, W, U, v):
    p = _scores(s, G, W, U, v).exp()
    return _both(p / p.sum(-1, keepdim=True), G)


@wrong("one maximum for the whole batch is subtracted: an image whose scores all lie far below another's gets 0 / 0",
       kind="numerics")
def one_maximum_for_the_batch(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    p = (e - e.max()).exp()
    return _both(p / p.sum(-1, keepdim=True), G)


@wrong("each row of the grid has its own maximum subtracted before one normalisation over all cells, which changes the"
       " weights of rows against each other", kind="numerics")
def maximum_of_each_row(s, G, W, U, v):
    e = _scores(s, G, W, U, v).unflatten(-1, G.shape[2:])
    p = (e - e.amax(-1, keepdim=True)).exp()
    a = p / p.sum((1, 2), keepdim=True)
    return (G * a[:, None]).sum((2, 3)), a


change(one_maximum_for_the_batch, "minimum_for_maximum", "the smallest score is subtracted in the place of the "
       "largest, so exp overflows where scores are some hundreds apart", "numerics",
       ("e.max()", "e.amin(-1, keepdim=True)"))


@wrong("1e-4 is added to the denominator of the softmax, so the weights sum to less than 1", kind="numerics")
def eps_in_the_denominator(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    p = (e - e.amax(-1, keepdim=True)).exp()
    return _both(p / (p.sum(-1, keepdim=True) + 1e-4), G)


change(_plain, "clamped_scores", "scores are clamped to [-50, 50] before the softmax: larger ones become ties, and "
       "lose their gradient", "numerics",
       (".softmax(-1)", ".clamp(-50, 50).softmax(-1)"))
change(_plain, "raised_weights", "weights below 1e-3 are raised to 1e-3, so they no longer sum to 1 and the raised "
       "ones have no gradient", "numerics",
       (".softmax(-1)", ".softmax(-1).clamp(min=1e-3)"))


@wrong("tanh is written as (exp(2x) - 1) / (exp(2x) + 1), which is inf / inf = nan for large x", kind="numerics")
def tanh_that_overflows(s, G, W, U, v):
    p = (2 * ((s @ W)[:, None] + _cells(G) @ U)).exp()
    return _both(((p - 1) / (p + 1) @ v).softmax(-1), G)


change(_plain, "tanh_without_a_gradient", "tanh is written as 1 - 2 / (exp(2x) + 1): the values are right, but where "
       "exp overflows the gradient is 0 * inf = nan", "gradient",
       before("return", "h = 1 - 2 / ((2 * ((s @ W)[:, None] + _cells(G) @ U)).exp() + 1)"),
       ("_scores(s, G, W, U, v)", "(h @ v)"))


@wrong("the weights are exp(log(softmax)): where a weight underflows to 0 the gradient becomes nan", kind="gradient")
def exp_of_log_of_softmax(s, G, W, U, v):
    return _both(_scores(s, G, W, U, v).softmax(-1).log().exp(), G)


change(_plain, "half_precision_scores", "the scores are computed in bfloat16 and cast back, so that float32 and "
       "float64 keep some three digits", "numerics",
       before("return", "e = _scores(*(t.to(torch.bfloat16) for t in (s, G, W, U, v)))"),
       ("_scores(s, G, W, U, v)", "e.to(G.dtype)"))
change(_plain, "rounded_weights",
       "weights are rounded to three decimals, so that they do not sum to 1 exactly and have no gradient", "numerics",
       (".softmax(-1)", ".softmax(-1).round(decimals=3)"))


@wrong("if some score of the batch exceeds 80 the weights become one-hot, without gradient, not a softmax",
       kind="numerics")
def one_hot_for_large_scores(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    a = e.softmax(-1)
    if e.max() > 80:
        a = F.one_hot(e.argmax(-1), e.shape[-1]).to(a) + 0 * a
    return _both(a, G)


@wrong("runs over blocks of 16 cells with a running maximum, but does not shrink what was summed before when the"
       " maximum grows: wrong from 17 cells on", kind="numerics")
def blocks_not_rescaled(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    top, parts = None, []
    for block in e.split(16, dim=-1):
        highest = block.amax(-1, keepdim=True)
        top = highest if top is None else torch.maximum(top, highest)
        parts.append((block - top).exp())
    p = torch.cat(parts, -1)
    return _both(p / p.sum(-1, keepdim=True), G)


# --------------------------------------------------------------------------------------------------------------- layout


@wrong("G.view(B, D, -1) raises on a grid whose rows and columns cannot be joined without copying, such as a permuted"
       " one", kind="layout")
def view_of_the_grid(s, G, W, U, v):
    X = G.view(G.shape[0], G.shape[1], -1).mT
    a = (torch.tanh((s @ W)[:, None] + X @ U) @ v).softmax(-1)
    return (a[:, None] @ X)[:, 0], a.unflatten(-1, G.shape[2:])


@wrong("the cells are read with strides of a contiguous grid (as_strided), so that permuted, expanded or sliced grids"
       " give other numbers", kind="layout")
def strides_of_a_contiguous_grid(s, G, W, U, v):
    B, D, L = G.shape[0], G.shape[1], G.shape[2] * G.shape[3]
    X = torch.as_strided(G, (B, L, D), (D * L, 1, L), G.storage_offset())
    a = (torch.tanh((s @ W)[:, None] + X @ U) @ v).softmax(-1)
    return (a[:, None] @ X)[:, 0], a.unflatten(-1, G.shape[2:])


@wrong("squeeze() without an axis on the context: with B = 1 or D = 1 an axis is lost", kind="layout")
def squeezed_context(s, G, W, U, v):
    a = _scores(s, G, W, U, v).softmax(-1)
    return (a[:, None] @ _cells(G)).squeeze(), a.unflatten(-1, G.shape[2:])


change(_unpacked, "squeezed_map",
       "squeeze() without an axis on the map: with B = 1, H = 1 or W = 1 an axis is lost", "layout",
       ("return c, a", "return c, a.squeeze()"))
change(_plain, "guesses_the_channels", "if the last axis of the grid is as long as U has rows, it is taken for the "
       "channels: wrong where W equals D", "edge",
       before("return", """
        if G.shape[-1] == U.shape[0]:
            G = G.permute(0, 3, 1, 2)"""))


@wrong("a square W is taken to be stored as [D_A, D_S] and transposed: wrong where D_S equals D_A", kind="edge")
def transposes_square_matrices(s, G, W, U, v):
    return _both(_scores(s, G, W.t() if W.shape[0] == W.shape[1] else W, U, v).softmax(-1), G)


@wrong("s W gets no axis for the cells and is broadcast against the cells' axis when B equals H*W (and expanded"
       " properly otherwise): wrong where B equals the number of cells", kind="edge")
def broadcast_by_luck(s, G, W, U, v):
    asked, X = s @ W, _cells(G)
    if asked.shape[0] != X.shape[1]:
        asked = asked[:, None]
    return _both((torch.tanh(asked + X @ U) @ v).softmax(-1), G)


@wrong("with a single row (H = 1) the weights are set to 1 / W, without a look", kind="edge")
def one_row_is_uniform(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    return _both((0 * e if G.shape[2] == 1 else e).softmax(-1), G)


@wrong("only the first 36 cells are looked at and all others get weight 0: wrong on grids of more than 36 cells",
       kind="edge")
def thirty_six_cells(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    return _both(F.pad(e[:, :36].softmax(-1), (0, max(0, e.shape[1] - 36))), G)


# ------------------------------------------------------------------------------------------------------------- gradient


change(flat_weights, "detached_for_the_context", "the weights are detached before the context is mixed, so the context "
       "gives no gradient to s, W, U and v", "gradient",
       ("_mix(a, G), a", "_mix(a.detach(), G), a.unflatten(-1, G.shape[2:])"))
change(_unpacked, "detached_weights_given_back",
       "the weights given back are detached: no gradient flows from them to any input", "gradient",
       ("return c, a", "return c, a.detach()"))
change(_plain, "cells_detached_in_the_scores",
       "the cells are detached inside the scores, so that G gets a gradient through the mixing only", "gradient",
       ("_scores(s, G, W, U, v)", "_scores(s, G.detach(), W, U, v)"))
change(_plain, "data_of_the_state", "s.data is used, so that the state gets no gradient", "gradient",
       ("_scores(s, G, W, U, v)", "_scores(s.data, G, W, U, v)"))


@wrong("each score is taken out with item() and the scores are rebuilt by torch.tensor, so that s, W, U and v get no"
       " gradient, nor anything from the weights", kind="gradient")
def scores_rebuilt(s, G, W, U, v):
    rows = [[e.item() for e in row] for row in _scores(s, G, W, U, v)]
    return _both(torch.tensor(rows, dtype=G.dtype, device=G.device).softmax(-1), G)


# ------------------------------------------------------------------------------------------------------------ interface


@wrong("the grid is changed: its cells are multiplied by their weights in place", kind="interface")
def weighs_the_grid_in_place(s, G, W, U, v):
    a = _scores(s, G, W, U, v).softmax(-1).unflatten(-1, G.shape[2:])
    return G.mul_(a[:, None]).sum((2, 3)), a


@wrong("unsqueeze_ changes the caller's v from [D_A] to [D_A, 1]", kind="interface")
def reshapes_v_in_place(s, G, W, U, v):
    e = torch.tanh((s @ W)[:, None] + _cells(G) @ U) @ v.unsqueeze_(-1)
    return _both(e.squeeze(-1).softmax(-1), G)


_projected = {}


@wrong("the projected cells are kept from call to call by the grid's shape, so that a second grid of the same shape is"
       " scored by the first one's cells, and its grid and U get no gradient from the scores", kind="interface")
def remembers_projected_cells(s, G, W, U, v):
    key = (G.shape, U.shape, G.dtype, G.device)
    if key not in _projected:
        seen = _cells(G) @ U
        _projected[key] = seen.detach().clone()
    else:
        seen = _projected[key]
    return _both((torch.tanh((s @ W)[:, None] + seen) @ v).softmax(-1), G)


@wrong("the context is summed in torch.zeros without dtype, so that for double or bfloat16 inputs it comes back in"
       " single precision", kind="interface")
def zeros_without_dtype(s, G, W, U, v):
    a, X = _scores(s, G, W, U, v).softmax(-1), _cells(G)
    c = torch.zeros(G.shape[0], G.shape[1], device=G.device)
    for i in range(X.shape[1]):
        c += a[:, i, None] * X[:, i]
    return c, a.unflatten(-1, G.shape[2:])


change(_plain, "always_single", "everything is cast to single precision and given back so: float64 and bfloat16 inputs "
       "give float32 results", "interface",
       before("return", "s, G, W, U, v = (t.float() for t in (s, G, W, U, v))"))


@wrong("the zeros to which cells are added are made on the CPU whatever the inputs' device, so it raises on a GPU",
       kind="interface")
def zeros_on_the_cpu(s, G, W, U, v):
    a, X = _scores(s, G, W, U, v).softmax(-1), _cells(G)
    c = torch.zeros(G.shape[0], G.shape[1], dtype=G.dtype)
    for i in range(X.shape[1]):
        c = c + a[:, i, None] * X[:, i]
    return c, a.unflatten(-1, G.shape[2:])


@right("the arguments are named state and grid, so s= and G= by keyword raise")
def other_names(state, grid, W, U, v):
    return _both(_scores(state, grid, W, U, v).softmax(-1), grid)


@wrong("U stands before W in the signature, so that by position the two are exchanged", kind="interface")
def u_before_w(s, G, U, W, v):
    return _both(_scores(s, G, W, U, v).softmax(-1), G)


@wrong("the number of columns is unpacked into W, which overwrites the matrix W: s @ W raises", kind="interface")
def overwrites_w(s, G, W, U, v):
    B, D, H, W = G.shape
    X = G.reshape(B, D, H * W).mT
    a = (torch.tanh((s @ W)[:, None] + X @ U) @ v).softmax(-1)
    return (a[:, None] @ X)[:, 0], a.reshape(B, H, W)


change(_plain, "context_alone", "only the context is given back, without the weights", "interface",
       ("_both", "_mix"))
change(_unpacked, "weights_first", "the weights come first and the context second", "interface",
       ("return c, a", "return a, c"))


@wrong("a tenth of the weights is dropped at random and the rest scaled up, as by dropout in training",
       kind="interface")
def dropout_on_the_weights(s, G, W, U, v):
    a = _scores(s, G, W, U, v).softmax(-1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        keep = (torch.rand(a.shape) > 0.1).to(a)
    return _both(a * keep / 0.9, G)


change(_plain, "mean_state_of_the_batch", "an image's state is replaced by the mean of all states of the batch, so "
       "that images influence each other", "concept",
       ("_scores(s, G, W, U, v)", "_scores(s.mean(0, keepdim=True).expand_as(s), G, W, U, v)"))
change(_plain, "weights_of_the_neighbour", "the weights are moved on by one cell against the cells that were scored "
       "(torch.roll), in map and mixture", "concept",
       (".softmax(-1)", ".softmax(-1).roll(1, dims=-1)"))


@wrong("the last cell is left out of the softmax and gets weight 0, unless it is the only one", kind="concept")
def last_cell_left_out(s, G, W, U, v):
    e = _scores(s, G, W, U, v)
    if e.shape[1] == 1:
        return _both(e.softmax(-1), G)
    return _both(F.pad(e[:, :-1].softmax(-1), (0, 1)), G)


change(_plain, "single_precision_softmax", "the softmax is taken in single precision and cast back, so that in double "
       "only some six digits are right", "numerics",
       (".softmax(-1)", ".float().softmax(-1).to(G.dtype)"), verdict="open")


class _DiagonalSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, e):
        a = e.softmax(-1)
        ctx.save_for_backward(a)
        return a

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad * a * (1 - a)


change(_plain, "diagonal_backward", "a softmax with a backward of its own that keeps only the diagonal of the "
       "Jacobian, a (1 - a): values right, gradients to s, W, U, v and through the scores wrong", "gradient",
       ("_scores(s, G, W, U, v).softmax(-1)", "_DiagonalSoftmax.apply(_scores(s, G, W, U, v))"))
