"""Answers to attention_in_windows (assignment 12)."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from answers import before, change, right, wrong


def _attend(q, k, v):
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) @ v


def _partition(x, M):
    """[B * windows, M*M, D]"""
    B, H, W, D = x.shape
    return x.reshape(B, H // M, M, W // M, M, D).permute(0, 1, 3, 2, 4, 5).reshape(-1, M * M, D)


def _reverse(y, M, H, W):
    return y.reshape(-1, H // M, W // M, M, M, y.shape[-1]).permute(0, 1, 3, 2, 4, 5).reshape(-1, H, W, y.shape[-1])


def _coordinates(x):
    rows, columns = x.shape[1:3]
    n = torch.arange(rows * columns, device=x.device)
    return n // columns, n % columns


def _full(Q, K, V, allowed):
    """Over the whole grid with a mask."""
    scores = Q.flatten(1, 2) @ K.flatten(1, 2).mT / Q.shape[-1] ** 0.5
    scores = scores.masked_fill(~allowed, float("-inf"))
    return (scores.softmax(-1) @ V.flatten(1, 2)).reshape(V.shape)


def _window_number(x, M):
    r, c = _coordinates(x)
    return (r // M) * x.shape[2] + c // M


# ---------------------------------------------------------------- right


@right("view, permute, view, as in Swin")
def as_swin(Q, K, V, M):
    return _reverse(_attend(_partition(Q, M), _partition(K, M), _partition(V, M)), M, Q.shape[1], Q.shape[2])


@right("fused attention with axes of windows in front")
def fused(Q, K, V, M):
    q, k, v = (x.unflatten(1, (-1, M)).unflatten(3, (-1, M)).transpose(2, 3).flatten(3, 4) for x in (Q, K, V))
    y = F.scaled_dot_product_attention(q, k, v)
    return y.unflatten(3, (M, M)).transpose(2, 3).flatten(3, 4).flatten(1, 2)


@right("a mask over the whole grid, from the windows' numbers")
def masked(Q, K, V, M):
    number = _window_number(Q, M)
    return _full(Q, K, V, number[:, None] == number)


@right("split twice, attend, cat twice")
def split_and_cat(Q, K, V, M):
    bands = []
    for q_band, k_band, v_band in zip(Q.split(M, 1), K.split(M, 1), V.split(M, 1)):
        pieces = []
        for q, k, v in zip(q_band.split(M, 2), k_band.split(M, 2), v_band.split(M, 2)):
            y = _attend(*(x.reshape(len(x), M * M, -1) for x in (q, k, v)))
            pieces.append(y.reshape(v.shape))
        bands.append(torch.cat(pieces, 2))
    return torch.cat(bands, 1)


@right("slices written into a new tensor")
def into_a_new_tensor(Q, K, V, M):
    Y = torch.zeros_like(V)
    for r in range(0, Q.shape[1], M):
        for c in range(0, Q.shape[2], M):
            here = (slice(None), slice(r, r + M), slice(c, c + M))
            Y[here] = _attend(Q[here].flatten(1, 2), K[here].flatten(1, 2), V[here].flatten(1, 2)).unflatten(1, (M, M))
    return Y


@right("Tensor.unfold for the cut, einsum for the rest")
def with_unfold(Q, K, V, M):
    q, k, v = (x.unfold(1, M, M).unfold(2, M, M).flatten(4) for x in (Q, K, V))  # [B, R, C, D, M*M]
    A = torch.einsum("brcdi,brcdj->brcij", q, k).div(Q.shape[-1] ** 0.5).softmax(-1)
    y = torch.einsum("brcij,brcdj->brcid", A, v).unflatten(3, (M, M))
    return y.permute(0, 1, 3, 2, 4, 5).reshape(V.shape)


@right("an index that sorts the cells by window, and its inverse")
def sorted_by_window(Q, K, V, M):
    order = _window_number(Q, M).argsort(stable=True)
    q, k, v = (x.flatten(1, 2)[:, order].unflatten(1, (-1, M * M)) for x in (Q, K, V))
    return _attend(q, k, v).flatten(1, 2)[:, order.argsort()].reshape(V.shape)


@right("softmax by hand over two axes")
def two_axes(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, H // M, M, W // M, M, D) for x in (Q * D**-0.5, K, V))
    e = torch.einsum("bhiwjd,bhkwld->bhwijkl", q, k)
    e = (e - e.amax((-1, -2), keepdim=True)).exp()
    e = e / e.sum((-1, -2), keepdim=True)
    return torch.einsum("bhwijkl,bhkwld->bhiwjd", e, v).reshape(B, H, W, D)


@right("columns of windows before rows, and both back")
def columns_first(Q, K, V, M):
    q, k, v = (x.transpose(1, 2) for x in (Q, K, V))
    y = _attend(_partition(q, M), _partition(k, M), _partition(v, M))
    return _reverse(y, M, Q.shape[2], Q.shape[1]).transpose(1, 2)


@right("view, which may split the axes of any input")
def view_only(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.view(B, H // M, M, W // M, M, D).permute(0, 1, 3, 2, 4, 5).flatten(3, 4) for x in (Q, K, V))
    y = _attend(q, k, v).view(B, H // M, W // M, M, M, D).permute(0, 1, 3, 2, 4, 5)
    return y.contiguous().view(B, H, W, D)


# ---------------------------------------------------------------- wrong


@wrong("all cells attend to all", kind="concept")
def everything(Q, K, V, M):
    return _attend(Q.flatten(1, 2), K.flatten(1, 2), V.flatten(1, 2)).reshape(V.shape)


@wrong("reshaped to stretches of M*M cells", kind="layout")
def stretches(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, -1, M * M, D) for x in (Q, K, V))
    return _attend(q, k, v).reshape(B, H, W, D)


change(stretches, "stretches_of_m", "reshaped to stretches of M cells: a window one row high", "layout",
       ("-1, M * M", "H, W // M, M"))


@wrong("M cells of one column in a window", kind="layout")
def m_cells_of_a_column(Q, K, V, M):
    r, c = _coordinates(Q)
    return _full(Q, K, V, (c[:, None] == c) & (r[:, None] // M == r // M))


@wrong("cut rightly, put back by a reshape", kind="layout")
def reshaped_back(Q, K, V, M):
    return _attend(_partition(Q, M), _partition(K, M), _partition(V, M)).reshape(V.shape)


@wrong("put back with the last two axes of the window exchanged", kind="layout")
def transposed_in_windows(Q, K, V, M):
    B, H, W, D = Q.shape
    y = _attend(_partition(Q, M), _partition(K, M), _partition(V, M))
    return y.reshape(B, H // M, W // M, M, M, D).permute(0, 1, 4, 2, 3, 5).reshape(B, H, W, D)


@wrong("windows counted by columns when they are put back", kind="layout")
def windows_in_another_order(Q, K, V, M):
    B, H, W, D = Q.shape
    y = _attend(_partition(Q, M), _partition(K, M), _partition(V, M))
    return y.reshape(B, W // M, H // M, M, M, D).permute(0, 2, 3, 1, 4, 5).reshape(B, H, W, D)


@wrong("cut with permute(0, 2, 4, 1, 3, 5): the axes inside and outside exchanged", kind="layout")
def inside_out(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, H // M, M, W // M, M, D).permute(0, 2, 4, 1, 3, 5).flatten(3, 4) for x in (Q, K, V))
    y = _attend(q, k, v).reshape(B, M, M, H // M, W // M, D)
    return y.permute(0, 3, 1, 4, 2, 5).reshape(B, H, W, D)


@wrong("axes split into (M, rows // M)", kind="layout")
def split_the_other_way(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, M, H // M, M, W // M, D).permute(0, 2, 4, 1, 3, 5).flatten(3, 4) for x in (Q, K, V))
    y = _attend(q, k, v).reshape(B, H // M, W // M, M, M, D)
    return y.permute(0, 3, 1, 4, 2, 5).reshape(B, H, W, D)


@wrong("M windows along each side", kind="concept")
def m_windows(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, M, H // M, M, W // M, D).transpose(2, 3).flatten(3, 4) for x in (Q, K, V))
    return _attend(q, k, v).reshape(B, M, M, H // M, W // M, D).transpose(2, 3).reshape(B, H, W, D)


@wrong("chunk(M) for split(M)", kind="interface")
def chunks(Q, K, V, M):
    bands = []
    for band in zip(*(x.chunk(M, 1) for x in (Q, K, V))):
        pieces = zip(*(x.chunk(M, 2) for x in band))
        bands.append(
            torch.cat([_attend(*(p.flatten(1, 2) for p in piece)).reshape(piece[0].shape) for piece in pieces], 2)
        )
    return torch.cat(bands, 1)


@wrong("bands of M rows", kind="concept")
def bands(Q, K, V, M):
    r, _ = _coordinates(Q)
    return _full(Q, K, V, r[:, None] // M == r // M)


@wrong("bands of M columns", kind="concept")
def upright_bands(Q, K, V, M):
    _, c = _coordinates(Q)
    return _full(Q, K, V, c[:, None] // M == c // M)


@wrong("same band of rows or same band of columns", kind="concept")
def one_or_the_other(Q, K, V, M):
    r, c = _coordinates(Q)
    return _full(Q, K, V, (r[:, None] // M == r // M) | (c[:, None] // M == c // M))


@wrong("a window of 2M+1 cells around each cell", kind="concept")
def around_by_m(Q, K, V, M):
    r, c = _coordinates(Q)
    return _full(Q, K, V, ((r[:, None] - r).abs() <= M) & ((c[:, None] - c).abs() <= M))


change(around_by_m, "nearer_than_m", "all cells nearer than M", "concept",
       ("<= M", "< M", 2))


@wrong("a sliding window centred at each cell", kind="concept")
def sliding(Q, K, V, M):
    r, c = _coordinates(Q)
    down, across = r - r[:, None] + M // 2, c - c[:, None] + M // 2
    return _full(Q, K, V, (down >= 0) & (down < M) & (across >= 0) & (across < M))


@wrong("within a distance of half the side", kind="concept")
def half_the_side(Q, K, V, M):
    r, c = _coordinates(Q)
    return _full(Q, K, V, ((r[:, None] - r).abs() <= M // 2) & ((c[:, None] - c).abs() <= M // 2))


@wrong("shifted by half a window before the cut, as in Swin's second layer, without its mask", kind="concept")
def shifted_windows(Q, K, V, M):
    q, k, v = (torch.roll(x, (-(M // 2), -(M // 2)), (1, 2)) for x in (Q, K, V))
    y = as_swin(q, k, v, M)
    return torch.roll(y, (M // 2, M // 2), (1, 2))


@wrong("shifted, and not moved back", kind="concept")
def shifted_and_left(Q, K, V, M):
    q, k, v = (torch.roll(x, (-(M // 2), -(M // 2)), (1, 2)) for x in (Q, K, V))
    return as_swin(q, k, v, M)


@wrong("softmax over the grid, then the mask", kind="concept")
def softmax_then_mask(Q, K, V, M):
    number = _window_number(Q, M)
    q, k, v = (x.flatten(1, 2) for x in (Q, K, V))
    A = (q @ k.mT / Q.shape[-1] ** 0.5).softmax(-1) * (number[:, None] == number)
    return (A @ v).reshape(V.shape)


@wrong("scores times the mask, then the softmax", kind="concept")
def masked_with_zero(Q, K, V, M):
    number = _window_number(Q, M)
    q, k, v = (x.flatten(1, 2) for x in (Q, K, V))
    A = (q @ k.mT / Q.shape[-1] ** 0.5 * (number[:, None] == number)).softmax(-1)
    return (A @ v).reshape(V.shape)


@wrong("the mask the wrong way round: all but the own window", kind="concept")
def all_but_the_own(Q, K, V, M):
    number = _window_number(Q, M)
    hidden = number[:, None] == number
    q, k, v = (x.flatten(1, 2) for x in (Q, K, V))
    A = (q @ k.mT / Q.shape[-1] ** 0.5).masked_fill(hidden, -1e9).softmax(-1)
    return (A @ v).reshape(V.shape)


@wrong("itself left out", kind="concept")
def without_itself(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    own = torch.eye(M * M, dtype=torch.bool, device=Q.device)
    A = (q @ k.mT / Q.shape[-1] ** 0.5).masked_fill(own, -1e9).softmax(-1)
    return _reverse(A @ v, M, *Q.shape[1:3])


change(without_itself, "without_itself_nan",
       "itself left out by minus infinity, so that windows of one cell are NaN", "concept",
       ("own, -1e9", "own, -math.inf"))


# Right, and not registered: answers below are changes of it.
def _plain(Q, K, V, M):
    return as_swin(Q, K, V, M)


change(_plain, "no_root", "no root", "concept",
       ("as_swin(Q, K, V, M)", "as_swin(Q * Q.shape[-1] ** 0.5, K, V, M)"))


@wrong("root of M, the axis behind", kind="concept")
def root_of_m(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse((q @ k.mT / M**0.5).softmax(-1) @ v, M, *Q.shape[1:3])


# Right, and not registered: answers below are changes of it.
def _written_out(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse((q @ k.mT / Q.shape[-1] ** 0.5).softmax(-1) @ v, M, *Q.shape[1:3])


change(_written_out, "root_of_cells", "root of the number of cells in a window", "concept",
       ("Q.shape[-1] ** 0.5", "math.sqrt(q.shape[1])"))
change(_plain, "divided_by_d", "divided by D", "concept",
       ("as_swin(Q, K, V, M)", "as_swin(Q / Q.shape[-1] ** 0.5, K, V, M)"))
change(_written_out, "over_queries", "softmax over the queries", "concept",
       (".softmax(-1)", ".softmax(1)"))
change(_written_out, "over_windows", "softmax over windows and batch", "concept",
       (".softmax(-1)", ".softmax(0)"))
change(_written_out, "no_softmax", "no softmax", "concept",
       ("(q @ k.mT / Q.shape[-1] ** 0.5).softmax(-1)", "q @ k.mT / Q.shape[-1] ** 0.5"))


@wrong("softmax over one of the two axes of a window only", kind="concept")
def over_one_axis(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, H // M, M, W // M, M, D) for x in (Q, K, V))
    e = torch.einsum("bhiwjd,bhkwld->bhwijkl", q, k) / D**0.5
    return torch.einsum("bhwijkl,bhkwld->bhiwjd", e.softmax(-1), v).reshape(B, H, W, D)


change(_plain, "values_are_keys", "values are the keys", "concept",
       ("as_swin(Q, K, V, M)", "as_swin(Q, K, K, M)"))
change(_plain, "exchanged", "queries and keys exchanged", "concept",
       ("as_swin(Q, K, V, M)", "as_swin(K, Q, V, M)"))


@wrong("the mean of the window for all of its cells", kind="concept")
def window_means(Q, K, V, M):
    y = _partition(V, M).mean(1, keepdim=True).expand(-1, M * M, -1)
    return _reverse(y, M, *Q.shape[1:3])


@wrong("values are not cut", kind="concept")
def values_of_stretches(Q, K, V, M):
    q, k = _partition(Q, M), _partition(K, M)
    v = V.reshape(q.shape)
    return _reverse(_attend(q, k, v), M, *Q.shape[1:3])


change(_written_out, "one_query_a_window", "one query a window: the mean of its queries", "concept",
       ("(q @ k.mT / Q.shape[-1] ** 0.5).softmax(-1) @ v", "_attend(q.mean(1, keepdim=True).expand_as(q), k, v)"))


@wrong("causal within a window", kind="concept")
def causal(Q, K, V, M):
    y = F.scaled_dot_product_attention(*(_partition(x, M) for x in (Q, K, V)), is_causal=True)
    return _reverse(y, M, *Q.shape[1:3])


@wrong("windows of all pictures at the same place attend to each other", kind="concept")
def pictures_mixed(Q, K, V, M):
    B, H, W, D = Q.shape

    def cut(x):
        return x.reshape(B, H // M, M, W // M, M, D).permute(1, 3, 0, 2, 4, 5).flatten(2, 4)

    y = _attend(cut(Q), cut(K), cut(V)).reshape(H // M, W // M, B, M, M, D)
    return y.permute(2, 0, 3, 1, 4, 5).reshape(B, H, W, D)


change(_plain, "always_two", "a window of two, whatever M is", "interface",
       ("as_swin(Q, K, V, M)", "as_swin(Q, K, V, 2)"))
change(_plain, "always_seven", "a window of seven, whatever M is", "interface",
       ("as_swin(Q, K, V, M)", "as_swin(Q, K, V, 7)"))


@wrong("grid taken for a square", kind="edge")
def square(Q, K, V, M):
    B, H, W, D = Q.shape
    n = H // M
    q, k, v = (x.reshape(B, n, M, n, M, D).transpose(2, 3).flatten(3, 4) for x in (Q, K, V))
    return _attend(q, k, v).reshape(B, n, n, M, M, D).transpose(2, 3).reshape(B, H, W, D)


@wrong("left as windows", kind="shape")
def left_as_windows(Q, K, V, M):
    return _attend(_partition(Q, M), _partition(K, M), _partition(V, M))


@wrong("left as [B, rows/M, columns/M, M, M, D]", kind="shape")
def six_axes(Q, K, V, M):
    B, H, W, D = Q.shape
    return _attend(_partition(Q, M), _partition(K, M), _partition(V, M)).reshape(B, H // M, W // M, M, M, D)


change(_plain, "turned", "rows and columns exchanged in the result", "shape",
       ("as_swin(Q, K, V, M)", "as_swin(Q, K, V, M).transpose(1, 2)"))
change(into_a_new_tensor, "last_band_missing", "the last band of rows is not filled", "edge",
       ("Q.shape[1]", "Q.shape[1] - M"))
change(into_a_new_tensor, "steps_of_one", "steps of 1 in place of M: windows overwrite each other", "concept",
       ("0, Q.shape[1], M", "Q.shape[1] - M + 1"), ("0, Q.shape[2], M", "Q.shape[2] - M + 1"))
change(_written_out, "plain_exp", "exp without taking away the largest score", "numerics",
       before("return", "e = (q @ k.mT / Q.shape[-1] ** 0.5).exp()"),
       ("(q @ k.mT / Q.shape[-1] ** 0.5).softmax(-1)", "e / e.sum(-1, keepdim=True)"))


@wrong("through numpy, without gradients", kind="gradient")
def through_numpy(Q, K, V, M):
    y = as_swin(Q, K, V, M).detach().cpu().float().numpy()
    return torch.from_numpy(np.ascontiguousarray(y)).to(Q)


@wrong("writes into V", kind="interface")
def into_v(Q, K, V, M):
    V.copy_(as_swin(Q, K, V, M))
    return V


change(_plain, "always_float32", "the result in float32 always", "numerics",
       ("as_swin(Q, K, V, M)", "as_swin(Q.float(), K.float(), V.float(), M)"))


# ---------------------------------------------------------------- of a second author, who knew the text alone


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size * window_size, C)


def window_reverse(windows, window_size, H, W):
    B = windows.shape[0] // ((H // window_size) * (W // window_size))
    x = windows.view(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


@right("With window_partition and window_reverse as in Swin, windows in the batch axis")
def partition_and_reverse(Q, K, V, M):
    _, H, W, D = Q.shape
    q, k, v = (window_partition(x.contiguous(), M) for x in (Q, K, V))
    attention = (q * D**-0.5) @ k.transpose(-2, -1)
    return window_reverse(attention.softmax(dim=-1) @ v, M, H, W)


@right("unflatten, movedim and scaled_dot_product_attention; windows keep two axes of their own")
def fused_on_unflattened(Q, K, V, M):
    def cut(x):
        return x.unflatten(2, (-1, M)).unflatten(1, (-1, M)).transpose(2, 3).flatten(3, 4)

    mixed = F.scaled_dot_product_attention(cut(Q), cut(K), cut(V))
    return mixed.unflatten(3, (M, M)).transpose(2, 3).flatten(1, 2).flatten(2, 3)


@right("Loops over the windows, written into an empty tensor")
def window_by_window(Q, K, V, M):
    B, rows, columns, D = Q.shape
    result = torch.empty_like(Q)
    for i in range(0, rows, M):
        for j in range(0, columns, M):
            q, k, v = (x[:, i : i + M, j : j + M].reshape(B, M * M, D) for x in (Q, K, V))
            weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(D), dim=2)
            result[:, i : i + M, j : j + M] = torch.bmm(weights, v).view(B, M, M, D)
    return result


@right("All cells against all cells, with a mask from the numbers of the windows")
def mask_on_the_whole_grid(Q, K, V, M):
    rows, columns = Q.shape[1:3]
    r, c = torch.arange(rows, device=Q.device) // M, torch.arange(columns, device=Q.device) // M
    number = (r[:, None] * (columns // M) + c).flatten()
    allowed = number[:, None] == number
    q, k, v = Q.flatten(1, 2), K.flatten(1, 2), V.flatten(1, 2)
    scores = (q @ k.mT / Q.shape[-1] ** 0.5).masked_fill(~allowed, float("-inf"))
    return (scores.softmax(-1) @ v).view(Q.shape)


@right("F.unfold cuts and F.fold puts back: windows do not overlap, so nothing is added up")
def unfold_and_fold(Q, K, V, M):
    D = Q.shape[-1]

    def cut(x):
        x = F.unfold(x.permute(0, 3, 1, 2), kernel_size=M, stride=M)
        return x.unflatten(1, (D, M * M)).permute(0, 3, 2, 1)

    mixed = (cut(Q) @ cut(K).mT / math.sqrt(D)).softmax(-1) @ cut(V)
    mixed = mixed.permute(0, 3, 2, 1).flatten(1, 2)
    return F.fold(mixed, output_size=Q.shape[1:3], kernel_size=M, stride=M).permute(0, 2, 3, 1)


@right("einsum with six axes: window row a, row m in it, window column b, column n in it")
def einsum_with_six_axes(Q, K, V, M):
    B, rows, columns, D = Q.shape
    q, k, v = (x.reshape(B, rows // M, M, columns // M, M, D) for x in (Q, K, V))
    scores = torch.einsum("zambnd,zapbqd->zabmnpq", q, k) / D**0.5
    weights = scores.flatten(-2).softmax(-1).view_as(scores)
    return torch.einsum("zabmnpq,zapbqd->zambnd", weights, v).reshape(B, rows, columns, D)


@right("Cell by cell: the slice of its window is looked up")
def cell_by_cell(Q, K, V, M):
    B, rows, columns, D = Q.shape
    lines = []
    for r in range(rows):
        line = []
        for c in range(columns):
            top, left = r - r % M, c - c % M
            k = K[:, top : top + M, left : left + M].flatten(1, 2)
            v = V[:, top : top + M, left : left + M].flatten(1, 2)
            weights = ((k * Q[:, r, c].unsqueeze(1)).sum(-1) / math.sqrt(D)).softmax(-1)
            line.append((weights.unsqueeze(-1) * v).sum(1))
        lines.append(torch.stack(line, 1))
    return torch.stack(lines, 1)


@right("Tensor.unfold along both axes of the grid makes the windows")
def tensor_unfold(Q, K, V, M):
    B, rows, columns, D = Q.shape

    def cut(x):
        return x.unfold(1, M, M).unfold(2, M, M).reshape(B, -1, D, M * M)

    q, k, v = cut(Q), cut(K), cut(V)
    weights = ((q.mT @ k) * D**-0.5).softmax(-1)
    mixed = v @ weights.mT
    mixed = mixed.reshape(B, rows // M, columns // M, D, M, M)
    return mixed.permute(0, 1, 4, 2, 5, 3).reshape(B, rows, columns, D)


@right("Cells are sorted by the number of their window, and back with the inverse of that order")
def sorted_by_window_too(Q, K, V, M):
    B, rows, columns, D = Q.shape
    cell = torch.arange(rows * columns, device=Q.device)
    number = (cell // columns // M) * columns + cell % columns // M
    order = torch.argsort(number, stable=True)
    q, k, v = (x.reshape(B, rows * columns, D)[:, order].unflatten(1, (-1, M * M)) for x in (Q, K, V))
    mixed = F.softmax(q @ k.mT / D**0.5, dim=-1) @ v
    return mixed.flatten(1, 2)[:, torch.argsort(order)].view(B, rows, columns, D)


@right("split into bands of rows and these into windows, which are glued together with cat")
def split_and_cat_too(Q, K, V, M):
    def inside(q, k, v):
        shape = q.shape
        q, k, v = q.flatten(1, 2), k.flatten(1, 2), v.flatten(1, 2)
        return F.scaled_dot_product_attention(q, k, v).reshape(shape)

    bands = zip(Q.split(M, 1), K.split(M, 1), V.split(M, 1))
    return torch.cat([torch.cat([inside(*x) for x in zip(*(y.split(M, 2) for y in band))], 2) for band in bands], 1)


def _cut(x, M):
    """[B, rows, columns, D] -> [B, rows/M, columns/M, M*M, D]"""
    return x.unflatten(2, (-1, M)).unflatten(1, (-1, M)).transpose(2, 3).flatten(3, 4)


def _glue(x, M):
    """[B, rows/M, columns/M, M*M, D] -> [B, rows, columns, D]"""
    return x.unflatten(3, (M, M)).transpose(2, 3).flatten(1, 2).flatten(2, 3)


def _attend_too(q, k, v):
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


@wrong("windows are the sequence: attention goes from window to window with D * M * M features", kind="concept")
def windows_as_words(Q, K, V, M):
    q, k, v = (_cut(x, M).flatten(3).flatten(1, 2) for x in (Q, K, V))
    mixed = _attend_too(q, k, v)
    return _glue(mixed.unflatten(2, (M * M, -1)).unflatten(1, (Q.shape[1] // M, -1)), M)


@wrong("windows are numbered with the number of rows, so that several share a number", kind="concept")
def numbers_collide(Q, K, V, M):
    rows, columns = Q.shape[1:3]
    number = (torch.arange(rows)[:, None] // M * (rows // M) + torch.arange(columns) // M).flatten()
    mask = number[:, None] == number
    q, k, v = Q.flatten(1, 2), K.flatten(1, 2), V.flatten(1, 2)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).reshape(Q.shape)


@wrong("the number of a window is the sum of its row and its column", kind="concept")
def numbers_are_sums(Q, K, V, M):
    number = (torch.arange(Q.shape[1])[:, None] // M + torch.arange(Q.shape[2]) // M).flatten()
    mask = number[:, None] == number
    q, k, v = Q.flatten(1, 2), K.flatten(1, 2), V.flatten(1, 2)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).reshape(Q.shape)


@wrong("softmax over the windows (an axis too far to the left)", kind="concept")
def softmax_over_windows(Q, K, V, M):
    q, k, v = (_cut(x, M).flatten(1, 2) for x in (Q, K, V))
    mixed = (q @ k.mT / math.sqrt(Q.shape[-1])).softmax(1) @ v
    return _glue(mixed.unflatten(1, (Q.shape[1] // M, -1)), M)


@wrong("attention between the features of a window, D x D", kind="concept")
def between_features(Q, K, V, M):
    q, k, v = _cut(Q, M).mT, _cut(K, M).mT, _cut(V, M).mT
    return _glue((q @ k.mT / math.sqrt(Q.shape[-1])).softmax(-1).matmul(v).mT, M)


@wrong("all cells of a window get the window's mean result", kind="concept")
def mean_of_the_window(Q, K, V, M):
    mixed = _attend_too(_cut(Q, M), _cut(K, M), _cut(V, M))
    return _glue(mixed.mean(3, keepdim=True).expand_as(mixed), M)


@wrong("the values are cut column by column, keys row by row", kind="concept")
def values_column_by_column(Q, K, V, M):
    v = V.unflatten(2, (-1, M)).unflatten(1, (-1, M)).permute(0, 1, 3, 4, 2, 5).flatten(3, 4)
    return _glue(_attend_too(_cut(Q, M), _cut(K, M), v), M)


@wrong("only queries are cut: each window looks at the whole grid, keys by window and values in raster order", kind="concept")
def values_in_raster_order(Q, K, V, M):
    q = _cut(Q, M).flatten(1, 3)
    k = _cut(K, M).flatten(1, 3)
    mixed = _attend_too(q, k, V.flatten(1, 2))
    return _glue(mixed.reshape(_cut(Q, M).shape), M)


@wrong("all windows look at the keys and values of the first window", kind="concept")
def first_window_for_all(Q, K, V, M):
    return _glue(_attend_too(_cut(Q, M), _cut(K, M)[:, :1, :1], _cut(V, M)[:, :1, :1]), M)


@wrong("the windows of all pictures come first, and the batch is unfolded behind them", kind="concept")
def batch_behind_the_windows(Q, K, V, M):
    B, rows, columns, D = Q.shape
    mixed = _attend_too(_cut(Q, M), _cut(K, M), _cut(V, M)).reshape(rows // M, columns // M, B, M, M, D)
    return mixed.permute(2, 0, 3, 1, 4, 5).reshape(B, rows, columns, D)


@wrong("F.unfold's channels are read with the cells outside and the features inside", kind="concept")
def unfolded_features_inside(Q, K, V, M):
    def cut(x):
        return F.unfold(x.permute(0, 3, 1, 2), M, stride=M).mT.unflatten(2, (M * M, -1))

    mixed = _attend_too(cut(Q), cut(K), cut(V)).flatten(2).mT
    return F.fold(mixed, Q.shape[1:3], M, stride=M).permute(0, 2, 3, 1)


change(_plain, "residual_added", "Q is added as a residual", "concept",
       ("as_swin(Q, K, V, M)", "Q + _glue(_attend_too(_cut(Q, M), _cut(K, M), _cut(V, M)), M)"))


@wrong("two mistakes: not scaled, and glued by a reshape alone", kind="concept")
def not_scaled_and_not_permuted(Q, K, V, M):
    q, k, v = _cut(Q, M), _cut(K, M), _cut(V, M)
    return ((q @ k.mT).softmax(-1) @ v).reshape(Q.shape)


@wrong("the grid is taken for a square: columns are counted with rows", kind="edge")
def square_grid(Q, K, V, M):
    B, rows, _, D = Q.shape
    n = rows // M
    q, k, v = (x.reshape(B, n, M, n, M, D).transpose(2, 3).reshape(-1, M * M, D) for x in (Q, K, V))
    return _attend_too(q, k, v).view(B, n, n, M, M, D).transpose(2, 3).reshape(Q.shape)


@wrong("glued for one picture only: B is taken for 1", kind="edge")
def one_picture(Q, K, V, M):
    rows, columns = Q.shape[1:3]
    mixed = _attend_too(window_partition(Q, M), window_partition(K, M), window_partition(V, M))
    mixed = mixed.view(1, rows // M, columns // M, M, M, -1)
    return mixed.permute(0, 1, 3, 2, 4, 5).reshape(1, rows, columns, -1)


@wrong("the last band of windows is left out: range(0, rows - M, M)", kind="edge")
def last_windows_left_out(Q, K, V, M):
    result = torch.zeros_like(V)
    for i in range(0, Q.shape[1] - M, M):
        for j in range(0, Q.shape[2] - M, M):
            q, k, v = (x[:, i : i + M, j : j + M].flatten(1, 2) for x in (Q, K, V))
            result[:, i : i + M, j : j + M] = _attend_too(q, k, v).unflatten(1, (M, M))
    return result


@wrong("cells are returned in a line, [B, rows * columns, D]", kind="shape")
def cells_in_a_line(Q, K, V, M):
    return _glue(_attend_too(_cut(Q, M), _cut(K, M), _cut(V, M)), M).flatten(1, 2)


@wrong("the result is written into Q", kind="interface")
def written_into_q(Q, K, V, M):
    with torch.no_grad():
        Q[:] = _glue(_attend_too(_cut(Q, M), _cut(K, M), _cut(V, M)), M)
    return Q
