"""Answers to attention_in_windows (assignment 12)."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from answers import right, wrong


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


@wrong("reshaped to stretches of M cells: a window one row high", kind="layout")
def stretches_of_m(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, H, W // M, M, D) for x in (Q, K, V))
    return _attend(q, k, v).reshape(B, H, W, D)


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


@wrong("all cells nearer than M", kind="concept")
def nearer_than_m(Q, K, V, M):
    r, c = _coordinates(Q)
    return _full(Q, K, V, ((r[:, None] - r).abs() < M) & ((c[:, None] - c).abs() < M))


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


@wrong("itself left out by minus infinity, so that windows of one cell are NaN", kind="concept")
def without_itself_nan(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    own = torch.eye(M * M, dtype=torch.bool, device=Q.device)
    A = (q @ k.mT / Q.shape[-1] ** 0.5).masked_fill(own, -math.inf).softmax(-1)
    return _reverse(A @ v, M, *Q.shape[1:3])


@wrong("no root", kind="concept")
def no_root(Q, K, V, M):
    return as_swin(Q * Q.shape[-1] ** 0.5, K, V, M)


@wrong("root of M, the axis behind", kind="concept")
def root_of_m(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse((q @ k.mT / M**0.5).softmax(-1) @ v, M, *Q.shape[1:3])


@wrong("root of the number of cells in a window", kind="concept")
def root_of_cells(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse((q @ k.mT / math.sqrt(q.shape[1])).softmax(-1) @ v, M, *Q.shape[1:3])


@wrong("divided by D", kind="concept")
def divided_by_d(Q, K, V, M):
    return as_swin(Q / Q.shape[-1] ** 0.5, K, V, M)


@wrong("softmax over the queries", kind="concept")
def over_queries(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse((q @ k.mT / Q.shape[-1] ** 0.5).softmax(1) @ v, M, *Q.shape[1:3])


@wrong("softmax over windows and batch", kind="concept")
def over_windows(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse((q @ k.mT / Q.shape[-1] ** 0.5).softmax(0) @ v, M, *Q.shape[1:3])


@wrong("no softmax", kind="concept")
def no_softmax(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse(q @ k.mT / Q.shape[-1] ** 0.5 @ v, M, *Q.shape[1:3])


@wrong("softmax over one of the two axes of a window only", kind="concept")
def over_one_axis(Q, K, V, M):
    B, H, W, D = Q.shape
    q, k, v = (x.reshape(B, H // M, M, W // M, M, D) for x in (Q, K, V))
    e = torch.einsum("bhiwjd,bhkwld->bhwijkl", q, k) / D**0.5
    return torch.einsum("bhwijkl,bhkwld->bhiwjd", e.softmax(-1), v).reshape(B, H, W, D)


@wrong("values are the keys", kind="concept")
def values_are_keys(Q, K, V, M):
    return as_swin(Q, K, K, M)


@wrong("queries and keys exchanged", kind="concept")
def exchanged(Q, K, V, M):
    return as_swin(K, Q, V, M)


@wrong("the mean of the window for all of its cells", kind="concept")
def window_means(Q, K, V, M):
    y = _partition(V, M).mean(1, keepdim=True).expand(-1, M * M, -1)
    return _reverse(y, M, *Q.shape[1:3])


@wrong("values are not cut", kind="concept")
def values_of_stretches(Q, K, V, M):
    q, k = _partition(Q, M), _partition(K, M)
    v = V.reshape(q.shape)
    return _reverse(_attend(q, k, v), M, *Q.shape[1:3])


@wrong("one query a window: the mean of its queries", kind="concept")
def one_query_a_window(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    return _reverse(_attend(q.mean(1, keepdim=True).expand_as(q), k, v), M, *Q.shape[1:3])


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


@wrong("a window of two, whatever M is", kind="interface")
def always_two(Q, K, V, M):
    return as_swin(Q, K, V, 2)


@wrong("a window of seven, whatever M is", kind="interface")
def always_seven(Q, K, V, M):
    return as_swin(Q, K, V, 7)


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


@wrong("rows and columns exchanged in the result", kind="shape")
def turned(Q, K, V, M):
    return as_swin(Q, K, V, M).transpose(1, 2)


@wrong("the last band of rows is not filled", kind="edge")
def last_band_missing(Q, K, V, M):
    Y = torch.zeros_like(V)
    for r in range(0, Q.shape[1] - M, M):
        for c in range(0, Q.shape[2], M):
            here = (slice(None), slice(r, r + M), slice(c, c + M))
            Y[here] = _attend(Q[here].flatten(1, 2), K[here].flatten(1, 2), V[here].flatten(1, 2)).unflatten(1, (M, M))
    return Y


@wrong("steps of 1 in place of M: windows overwrite each other", kind="concept")
def steps_of_one(Q, K, V, M):
    Y = torch.zeros_like(V)
    for r in range(Q.shape[1] - M + 1):
        for c in range(Q.shape[2] - M + 1):
            here = (slice(None), slice(r, r + M), slice(c, c + M))
            Y[here] = _attend(Q[here].flatten(1, 2), K[here].flatten(1, 2), V[here].flatten(1, 2)).unflatten(1, (M, M))
    return Y


@wrong("exp without taking away the largest score", kind="numerics")
def plain_exp(Q, K, V, M):
    q, k, v = (_partition(x, M) for x in (Q, K, V))
    e = (q @ k.mT / Q.shape[-1] ** 0.5).exp()
    return _reverse(e / e.sum(-1, keepdim=True) @ v, M, *Q.shape[1:3])


@wrong("through numpy, without gradients", kind="gradient")
def through_numpy(Q, K, V, M):
    y = as_swin(Q, K, V, M).detach().cpu().float().numpy()
    return torch.from_numpy(np.ascontiguousarray(y)).to(Q)


@wrong("writes into V", kind="interface")
def into_v(Q, K, V, M):
    V.copy_(as_swin(Q, K, V, M))
    return V


@wrong("the result in float32 always", kind="numerics")
def always_float32(Q, K, V, M):
    return as_swin(Q.float(), K.float(), V.float(), M)
