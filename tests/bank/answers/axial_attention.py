"""Answers to axial_attention (assignment 12)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong


def _coordinates(x):
    n = torch.arange(x.shape[1] * x.shape[2], device=x.device)
    return n // x.shape[2], n % x.shape[2]


def _cross(x):
    r, c = _coordinates(x)
    return (r[:, None] == r) | (c[:, None] == c)


def _full(Q, K, V, allowed, hidden=-math.inf, dim=-1):
    scores = Q.flatten(1, 2) @ K.flatten(1, 2).mT / Q.shape[-1] ** 0.5
    return (scores.masked_fill(~allowed, hidden).softmax(dim) @ V.flatten(1, 2)).reshape(V.shape)


def _scores(Q, K):
    """Along the row [B, rows, columns, columns], and along the column [B, rows, columns, rows]."""
    root = Q.shape[-1] ** 0.5
    return torch.einsum("brcd,brtd->brct", Q, K) / root, torch.einsum("brcd,bscd->brcs", Q, K) / root


def _sums(row, column, V):
    return torch.einsum("brct,brtd->brcd", row, V) + torch.einsum("brcs,bscd->brcd", column, V)


def _rows(Q, K, V):
    return F.scaled_dot_product_attention(Q, K, V)


def _columns(Q, K, V):
    return _rows(Q.transpose(1, 2), K.transpose(1, 2), V.transpose(1, 2)).transpose(1, 2)


# ---------------------------------------------------------------- right


@right("a mask over the whole grid")
def masked(Q, K, V):
    return _full(Q, K, V, _cross(Q))


@right("fused attention with a mask")
def fused(Q, K, V):
    q, k, v = (x.flatten(1, 2) for x in (Q, K, V))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=_cross(Q)).view_as(V)


@right("the own cell hidden in the column")
def hidden_in_the_column(Q, K, V):
    row, column = _scores(Q, K)
    own = torch.eye(Q.shape[1], dtype=torch.bool, device=Q.device)[:, None]
    A = torch.cat([row, column.masked_fill(own, -math.inf)], -1).softmax(-1)
    return _sums(*A.split([Q.shape[2], Q.shape[1]], -1), V)


@right("the own cell hidden in the row")
def hidden_in_the_row(Q, K, V):
    row, column = _scores(Q, K)
    own = torch.eye(Q.shape[2], dtype=torch.bool, device=Q.device)
    A = torch.cat([column, row.masked_fill(own, torch.finfo(row.dtype).min)], -1).softmax(-1)
    return _sums(A[..., Q.shape[1] :], A[..., : Q.shape[1]], V)


@right("half of the own cell's weight twice: log 2 is taken away in both")
def half_and_half(Q, K, V):
    row, column = _scores(Q, K)
    row = row - math.log(2) * torch.eye(Q.shape[2]).to(row)
    column = column - math.log(2) * torch.eye(Q.shape[1]).to(column)[:, None]
    A = torch.cat([row, column], -1).softmax(-1)
    return _sums(*A.split([Q.shape[2], Q.shape[1]], -1), V)


@right("exponentials and sums, the largest score taken away, the own cell subtracted once")
def by_sums(Q, K, V):
    row, column = _scores(Q, K)
    most = torch.maximum(row.amax(-1, keepdim=True), column.amax(-1, keepdim=True))
    row, column = (row - most).exp(), (column - most).exp()
    column = column * (1 - torch.eye(Q.shape[1]).to(column))[:, None]
    return _sums(row, column, V) / (row.sum(-1, keepdim=True) + column.sum(-1, keepdim=True))


@right("cell by cell")
def cell_by_cell(Q, K, V):
    B, rows, columns, D = Q.shape
    found = []
    for r in range(rows):
        for c in range(columns):
            places = [(r, t) for t in range(columns)] + [(s, c) for s in range(rows) if s != r]
            s, t = (torch.tensor(x, device=Q.device) for x in zip(*places))
            A = torch.softmax(K[:, s, t] @ Q[:, r, c, :, None] / D**0.5, 1)
            found.append((A * V[:, s, t]).sum(1))
    return torch.stack(found, 1).reshape(B, rows, columns, D)


@right("keys and values gathered by an index of rows + columns - 1 places a cell")
def gathered(Q, K, V):
    where = _cross(Q).nonzero()[:, 1].view(Q.shape[1] * Q.shape[2], -1)
    q, k, v = Q.flatten(1, 2), K.flatten(1, 2)[:, where], V.flatten(1, 2)[:, where]
    A = (torch.einsum("bnd,bnmd->bnm", q, k) / math.sqrt(Q.shape[-1])).softmax(-1)
    return torch.einsum("bnm,bnmd->bnd", A, v).view(V.shape)


@right("rows and columns exchanged there and back")
def turned_there_and_back(Q, K, V):
    return masked(*(x.transpose(1, 2) for x in (Q, K, V))).transpose(1, 2)


# ---------------------------------------------------------------- wrong


@wrong("itself twice", kind="concept")
def itself_twice(Q, K, V):
    A = torch.cat(_scores(Q, K), -1).softmax(-1)
    return _sums(*A.split([Q.shape[2], Q.shape[1]], -1), V)


# Right, and not registered: answers below are changes of it.
def _plain(Q, K, V):
    return masked(Q, K, V)


change(_plain, "added", "row softmax plus column softmax", "concept",
       ("masked(Q, K, V)", "_rows(Q, K, V) + _columns(Q, K, V)"))
change(_plain, "averaged", "the mean of row softmax and column softmax", "concept",
       ("masked(Q, K, V)", "0.5 * (_rows(Q, K, V) + _columns(Q, K, V))"))
change(_plain, "added_minus_itself", "row softmax plus column softmax, minus the value itself", "concept",
       ("return masked(Q, K, V)", "return _rows(Q, K, V) + _columns(Q, K, V) - V"))
change(_plain, "rows_then_columns", "rows, then columns of what came out, with its values alone new", "concept",
       ("masked(Q, K, V)", "_columns(Q, K, _rows(Q, K, V))"))
change(_plain, "columns_then_rows", "columns, then rows", "concept",
       ("masked(Q, K, V)", "_rows(Q, K, _columns(Q, K, V))"))


@wrong("rows, then columns with what came out as queries, keys and values", kind="concept")
def rows_then_all_of_it(Q, K, V):
    Y = _rows(Q, K, V)
    return _columns(Y, Y, Y)


change(_plain, "only_rows", "only rows", "concept",
       ("masked(Q, K, V)", "_rows(Q, K, V)"))
change(_plain, "only_columns", "only columns", "concept",
       ("masked(Q, K, V)", "_columns(Q, K, V)"))
change(masked, "everything", "all cells", "concept",
       ("_cross(Q)", "torch.ones_like(_cross(Q))"))


@wrong("itself left out with minus infinity", kind="concept")
def without_itself(Q, K, V):
    r, c = _coordinates(Q)
    return _full(Q, K, V, (r[:, None] == r) != (c[:, None] == c))


change(without_itself, "without_itself_finite", "itself left out with a large negative number", "concept",
       ("!= (c[:, None] == c)", "!= (c[:, None] == c), hidden=-1e9"))
change(without_itself, "both", "and for or: each cell sees itself alone", "concept",
       ("!= (c[:, None] == c)", "& (c[:, None] == c)"))
change(masked, "inverted", "the mask inverted", "concept",
       ("_cross(Q)", "~_cross(Q), hidden=-1e9"))


@wrong("softmax over the grid, then the mask", kind="concept")
def masked_afterwards(Q, K, V):
    A = (Q.flatten(1, 2) @ K.flatten(1, 2).mT / Q.shape[-1] ** 0.5).softmax(-1) * _cross(Q)
    return (A @ V.flatten(1, 2)).reshape(V.shape)


change(masked, "masked_with_zero", "scores times the mask", "concept",
       ("_cross(Q)", "_cross(Q), hidden=0.0"))
change(masked, "over_queries", "softmax over the queries", "concept",
       ("_cross(Q)", "_cross(Q), dim=1"))
change(masked, "over_the_batch", "softmax over the batch", "concept",
       ("_cross(Q)", "_cross(Q), hidden=-1e9, dim=0"))
change(masked, "no_root", "no root", "concept",
       ("Q, K, V, _cross(Q)", "Q * Q.shape[-1] ** 0.5, K, V, _cross(Q)"))
change(masked, "by_d", "divided by D", "concept",
       ("Q, K, V, _cross(Q)", "Q / Q.shape[-1] ** 0.5, K, V, _cross(Q)"))


@wrong("root of the number of cells seen", kind="concept")
def root_of_cells(Q, K, V):
    factor = Q.shape[-1] / (Q.shape[1] + Q.shape[2] - 1)
    return _full(Q * factor**0.5, K, V, _cross(Q))


change(hidden_in_the_column, "root_in_the_row_only", "the root only in the row", "concept",
       ("column.masked_fill", "(column * Q.shape[-1] ** 0.5).masked_fill"))


@wrong("no softmax", kind="concept")
def no_softmax(Q, K, V):
    A = Q.flatten(1, 2) @ K.flatten(1, 2).mT / Q.shape[-1] ** 0.5 * _cross(Q)
    return (A @ V.flatten(1, 2)).reshape(V.shape)


change(masked, "causal", "the row up to the cell and the column up to the cell", "concept",
       before("return", "n = torch.arange(Q.shape[1] * Q.shape[2], device=Q.device)"),
       ("_cross(Q)", "_cross(Q) & (n <= n[:, None])"))


@wrong("the diagonals too", kind="concept")
def as_a_queen(Q, K, V):
    r, c = _coordinates(Q)
    down, across = (r[:, None] - r).abs(), (c[:, None] - c).abs()
    return _full(Q, K, V, _cross(Q) | (down == across))


change(without_itself, "as_a_bishop", "the diagonals in place of row and column", "concept",
       ("(r[:, None] == r) != (c[:, None] == c)", "(r[:, None] - r).abs() == (c[:, None] - c).abs()"))
change(without_itself, "four_neighbours", "the four neighbours and itself", "concept",
       ("(r[:, None] == r) != (c[:, None] == c)", "(r[:, None] - r).abs() + (c[:, None] - c).abs() <= 1"))


@wrong("three rows and three columns", kind="concept")
def broad_cross(Q, K, V):
    r, c = _coordinates(Q)
    return _full(Q, K, V, ((r[:, None] - r).abs() <= 1) | ((c[:, None] - c).abs() <= 1))


@wrong("rows found by dividing by the number of rows", kind="layout")
def divided_by_rows(Q, K, V):
    n = torch.arange(Q.shape[1] * Q.shape[2], device=Q.device)
    r, c = n // Q.shape[1], n % Q.shape[1]
    return _full(Q, K, V, (r[:, None] == r) | (c[:, None] == c))


change(without_itself, "first_row_and_column", "the first row and column of the grid for all cells", "concept",
       ("(r[:, None] == r) != (c[:, None] == c)", "((r == 0) | (c == 0)).expand(len(r), -1)"))


@wrong("cells of the own row in all pictures, and of the column in the own", kind="concept")
def rows_of_all_pictures(Q, K, V):
    row = torch.einsum("brcd,ardt->brcat", Q, K.transpose(2, 3)).flatten(3) / Q.shape[-1] ** 0.5
    column = _scores(Q, K)[1].masked_fill(torch.eye(Q.shape[1], dtype=torch.bool, device=Q.device)[:, None], -math.inf)
    A = torch.cat([row, column], -1).softmax(-1)
    first, second = A.split([row.shape[-1], Q.shape[1]], -1)
    values = V.transpose(0, 1).flatten(1, 2)  # [rows, B·columns, D]
    return torch.einsum("brct,rtd->brcd", first, values) + torch.einsum("brcs,bscd->brcd", second, V)


change(masked, "values_are_keys", "values are the keys", "concept",
       ("V, _cross(Q)", "K, _cross(Q)"))
change(masked, "exchanged", "queries and keys exchanged", "concept",
       ("Q, K, V, _cross(Q)", "K, Q, V, _cross(Q)"))
change(hidden_in_the_column, "column_by_queries", "the column's keys are its queries", "concept",
       ("_scores(Q, K)", "_scores(Q, K)[0], _scores(Q, Q)[1]"))
change(hidden_in_the_column, "column_transposed", "the column's table the wrong way round: its keys ask", "concept",
       before("own =", "column = column.permute(0, 3, 2, 1)"))
change(hidden_in_the_column, "row_values_only", "one softmax, but the column's values are left out", "concept",
       ("return _sums(*A.split([Q.shape[2], Q.shape[1]], -1), V)",
        'return torch.einsum("brct,brtd->brcd", A[..., : Q.shape[2]], V)'))
change(hidden_in_the_column, "split_at_rows",
       "one softmax, the two parts exchanged: split at rows instead of columns", "concept",
       ("*A.split([Q.shape[2], Q.shape[1]], -1)", "A[..., : Q.shape[1]], A[..., Q.shape[1] :]"))


@wrong("the own cell is hidden in the row by an eye of the wrong size", kind="edge")
def eye_of_rows(Q, K, V):
    row, column = _scores(Q, K)
    own = torch.eye(Q.shape[1], dtype=torch.bool, device=Q.device)
    A = torch.cat([row.masked_fill(own, -math.inf), column], -1).softmax(-1)
    return _sums(*A.split([Q.shape[2], Q.shape[1]], -1), V)


@wrong("scores added: the mean of the row's keys and of the column's keys at the same number", kind="shape")
def scores_added(Q, K, V):
    row, column = _scores(Q, K)
    A = (row + column).softmax(-1)
    return torch.einsum("brct,brtd->brcd", A, V)


change(masked, "with_residual", "the own value twice: the mask's softmax, and V added as a residual", "concept",
       ("_full(Q, K, V, _cross(Q))", "V + _full(Q, K, V, _cross(Q))"))


@wrong("the mean of row and column without any scores", kind="concept")
def plain_mean(Q, K, V):
    A = _cross(Q).to(V.dtype)
    return (A / A.sum(-1, keepdim=True) @ V.flatten(1, 2)).reshape(V.shape)


change(_plain, "column_order", "the result in column order", "layout",
       ("masked(Q, K, V)", "masked(Q, K, V).transpose(1, 2).reshape(V.shape)"))
change(_plain, "sequence", "left as a sequence", "shape",
       ("masked(Q, K, V)", "masked(Q, K, V).flatten(1, 2)"))
change(_plain, "turned", "rows and columns of the result exchanged", "shape",
       ("masked(Q, K, V)", "masked(Q, K, V).transpose(1, 2)"))


@wrong("no largest score taken away", kind="numerics")
def plain_exp(Q, K, V):
    A = (Q.flatten(1, 2) @ K.flatten(1, 2).mT / Q.shape[-1] ** 0.5).exp() * _cross(Q)
    return (A / A.sum(-1, keepdim=True) @ V.flatten(1, 2)).reshape(V.shape)


change(masked, "minus_hundred", "hidden scores are -100 only", "numerics",
       ("_cross(Q)", "_cross(Q), hidden=-100.0"))
change(_plain, "on_the_cpu", "mask made on the CPU, result on the CPU", "interface",
       ("masked(Q, K, V)", "masked(Q.cpu(), K.cpu(), V.cpu())"))
change(_plain, "detached", "weights detached", "gradient",
       ("masked(Q, K, V)", "masked(Q.detach(), K.detach(), V)"))


@wrong("Q is scaled in place", kind="interface")
def in_place(Q, K, V):
    Q /= Q.shape[-1] ** 0.5
    scores = (Q.flatten(1, 2) @ K.flatten(1, 2).mT).masked_fill(~_cross(Q), -math.inf)
    return (scores.softmax(-1) @ V.flatten(1, 2)).reshape(V.shape)


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("All against all, with a mask: same row or same column")
def mask_on_the_whole_grid(Q, K, V):
    rows, columns, D = Q.shape[1:]
    n = torch.arange(rows * columns, device=Q.device)
    r, c = n // columns, n % columns
    allowed = (r[:, None] == r) | (c[:, None] == c)
    q, k, v = Q.flatten(1, 2), K.flatten(1, 2), V.flatten(1, 2)
    scores = (q @ k.transpose(1, 2) / math.sqrt(D)).masked_fill(~allowed, float("-inf"))
    return (scores.softmax(-1) @ v).view(Q.shape)


@right("scaled_dot_product_attention with a mask of two eyes by Kronecker products")
def fused_with_kronecker(Q, K, V):
    rows, columns = Q.shape[1:3]
    ones, eye = torch.ones, torch.eye
    mask = torch.kron(eye(rows), ones(columns, columns)) + torch.kron(ones(rows, rows), eye(columns))
    q, k, v = (x.flatten(1, 2) for x in (Q, K, V))
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=(mask > 0).to(Q.device))
    return mixed.unflatten(1, (rows, columns))


@right("CCNet's way: columns and rows moved into the batch, -inf for the cell itself in its column, one softmax")
def criss_cross(Q, K, V):
    B, H, W, D = Q.shape
    q_h, k_h, v_h = (x.permute(0, 2, 1, 3).reshape(B * W, H, D) for x in (Q, K, V))
    q_w, k_w, v_w = (x.reshape(B * H, W, D) for x in (Q, K, V))
    itself = torch.eye(H, dtype=torch.bool, device=Q.device)
    e_h = torch.bmm(q_h, k_h.mT).masked_fill(itself, -math.inf).view(B, W, H, H).transpose(1, 2)
    e_w = torch.bmm(q_w, k_w.mT).view(B, H, W, W)
    weights = torch.softmax(torch.cat([e_h, e_w], 3) / D**0.5, dim=3)
    a_h = weights[..., :H].transpose(1, 2).reshape(B * W, H, H)
    a_w = weights[..., H:].reshape(B * H, W, W)
    out_h = torch.bmm(a_h, v_h).view(B, W, H, D).transpose(1, 2)
    return out_h + torch.bmm(a_w, v_w).view(B, H, W, D)


@right("einsum along both axes; the column without the cell itself")
def einsum_along_both(Q, K, V):
    B, rows, columns, D = Q.shape
    along = torch.einsum("brcd,brxd->brcx", Q, K)
    down = torch.einsum("brcd,bycd->brcy", Q, K)
    here = torch.arange(rows, device=Q.device)
    down = torch.where((here[:, None] == here)[:, None, :], -torch.inf, down)
    weights = (torch.cat((along, down), dim=-1) / math.sqrt(D)).softmax(-1)
    w_along, w_down = weights.split([columns, rows], dim=-1)
    return torch.einsum("brcx,brxd->brcd", w_along, V) + torch.einsum("brcy,bycd->brcd", w_down, V)


@right("Plain loops: the row, and the column above and below the cell")
def cell_by_cell_too(Q, K, V):
    B, rows, columns, D = Q.shape

    def seen(x, r, c):
        return torch.cat([x[:, r], x[:, :r, c], x[:, r + 1 :, c]], dim=1)

    result = torch.zeros_like(V)
    for r in range(rows):
        for c in range(columns):
            scores = seen(K, r, c) @ Q[:, r, c, :, None] / D**0.5
            result[:, r, c] = (scores.softmax(1) * seen(V, r, c)).sum(1)
    return result


@right("The numbers of the rows + columns - 1 cells are listed, keys and values are looked up")
def listed_and_looked_up(Q, K, V):
    B, rows, columns, D = Q.shape
    lists = []
    for n in range(rows * columns):
        r, c = divmod(n, columns)
        lists.append([r * columns + j for j in range(columns)] + [i * columns + c for i in range(rows) if i != r])
    near = torch.tensor(lists, device=Q.device)
    k, v = K.reshape(B, -1, D)[:, near], V.reshape(B, -1, D)[:, near]
    scores = (Q.reshape(B, -1, 1, D) * k).sum(-1) / math.sqrt(D)
    return (scores.softmax(-1).unsqueeze(-2) @ v).view(B, rows, columns, D)


@right("Exponentials by hand, of the column only the other cells")
def exponentials_by_hand(Q, K, V):
    rows, columns, D = Q.shape[1:]
    along = Q @ K.mT / D**0.5
    down = ((Q.transpose(1, 2) @ K.transpose(1, 2).mT) / D**0.5).transpose(1, 2)
    largest = torch.maximum(along.amax(-1, keepdim=True), down.amax(-1, keepdim=True))
    others = ~torch.eye(rows, dtype=torch.bool, device=Q.device)
    along, down = (along - largest).exp(), (down - largest).exp() * others[:, None]
    total = along.sum(-1, keepdim=True) + down.sum(-1, keepdim=True)
    return (along @ V + (down.transpose(1, 2) @ V.transpose(1, 2)).transpose(1, 2)) / total


@right("Two additive masks, 0 and -inf, combined by their maximum")
def additive_masks(Q, K, V):
    B, rows, columns, D = Q.shape

    def same(n):
        return torch.full((n, n), -math.inf, dtype=Q.dtype, device=Q.device).fill_diagonal_(0)

    added = torch.maximum(same(rows)[:, None, :, None], same(columns)[None, :, None, :])
    scores = torch.einsum("bijd,bkld->bijkl", Q / math.sqrt(D), K) + added
    weights = scores.flatten(3).softmax(3).view(scores.shape)
    return torch.einsum("bijkl,bkld->bijd", weights, V)


def _along(Q, K):
    """Scores with the own row, [B, rows, columns, columns]."""
    return Q @ K.mT / math.sqrt(Q.shape[-1])


def _down(Q, K):
    """Scores with the own column, [B, rows, columns, rows]."""
    return torch.einsum("brcd,bycd->brcy", Q, K) / math.sqrt(Q.shape[-1])


def _sum_down(weights, V):
    return torch.einsum("brcy,bycd->brcd", weights, V)


def _itself(n):
    """[n, 1, n], True where a cell meets itself in its column."""
    return torch.eye(n, dtype=torch.bool)[:, None]


def _both(along, down, V):
    weights = torch.cat([along, down], -1).softmax(-1)
    columns = V.shape[2]
    return weights[..., :columns] @ V + _sum_down(weights[..., columns:], V)


def _masked(Q, K, V, allowed):
    q, k, v = Q.flatten(1, 2), K.flatten(1, 2), V.flatten(1, 2)
    scores = (q @ k.mT / math.sqrt(Q.shape[-1])).masked_fill(~allowed, -1e9)
    return (scores.softmax(-1) @ v).view(Q.shape)


def _places(Q):
    n = torch.arange(Q.shape[1] * Q.shape[2])
    return n // Q.shape[2], n % Q.shape[2]


@wrong("two softmaxes, the column without the cell itself (NaN kept away)", kind="concept")
def two_softmaxes_itself_once(Q, K, V):
    down = _down(Q, K).masked_fill(_itself(Q.shape[1]), -1e9)
    return (_along(Q, K).softmax(-1) @ V + _sum_down(down.softmax(-1), V)) / 2


@wrong("the score of the cell itself in its column is set to 0, not to -inf", kind="concept")
def itself_zero_in_the_column(Q, K, V):
    return _both(_along(Q, K), _down(Q, K).masked_fill(_itself(Q.shape[1]), 0), V)


@wrong("the 3 x 3 cells around", kind="concept")
def cells_around(Q, K, V):
    r, c = _places(Q)
    return _masked(Q, K, V, ((r[:, None] - r).abs() <= 1) & ((c[:, None] - c).abs() <= 1))


@wrong("the weights of the column are cut off first and applied along the row, the others down", kind="concept")
def weights_exchanged(Q, K, V):
    columns = Q.shape[2]
    down = _down(Q, K).masked_fill(_itself(Q.shape[1]), -math.inf)
    weights = torch.cat([down, _along(Q, K)], -1).softmax(-1)
    return weights[..., :columns] @ V + _sum_down(weights[..., columns:], V)


@wrong("the column's diagonal is laid on the wrong axes: cell (r, c) crosses out row c of its column", kind="concept")
def diagonal_on_the_wrong_axes(Q, K, V):
    B, rows, columns, D = Q.shape
    wrong_cells = torch.arange(columns)[:, None] == torch.arange(rows)
    return _both(_along(Q, K), _down(Q, K).masked_fill(wrong_cells, -1e9), V)


@wrong("the columns are brought back by a view, not by a transpose", kind="concept")
def viewed_not_transposed(Q, K, V):
    B, rows, columns, D = Q.shape
    q, k = Q.transpose(1, 2), K.transpose(1, 2)
    down = (q @ k.mT / math.sqrt(D)).masked_fill(torch.eye(rows, dtype=torch.bool), -1e9)
    return _both(_along(Q, K), down.reshape(B, rows, columns, rows), V)


@wrong("the columns' result is reshaped, not transposed back", kind="concept")
def result_reshaped(Q, K, V):
    B, rows, columns, D = Q.shape
    down = _down(Q, K).masked_fill(_itself(rows), -math.inf)
    weights = torch.cat([_along(Q, K), down], -1).softmax(-1)
    down = weights[..., columns:].transpose(1, 2) @ V.transpose(1, 2)
    return weights[..., :columns] @ V + down.reshape(Q.shape)


@wrong("columns are made by a reshape to [B, columns, rows, D]", kind="concept")
def columns_by_reshape(Q, K, V):
    B, rows, columns, D = Q.shape
    k, v = K.reshape(B, columns, rows, D), V.reshape(B, columns, rows, D)
    down = torch.einsum("brcd,bcyd->brcy", Q, k) / math.sqrt(D)
    weights = torch.cat([_along(Q, K), down.masked_fill(_itself(rows), -math.inf)], -1).softmax(-1)
    return weights[..., :columns] @ V + torch.einsum("brcy,bcyd->brcd", weights[..., columns:], v)


@wrong("the scores of row and column are added for each cell of the grid, softmax over the grid", kind="concept")
def scores_added_too(Q, K, V):
    B, rows, columns, D = Q.shape
    scores = _down(Q, K)[..., :, None] + _along(Q, K)[..., None, :]
    weights = scores.flatten(3).softmax(-1)
    return torch.einsum("brcn,bnd->brcd", weights, V.flatten(1, 2))


@wrong("criss-cross applied twice, so that every cell is reached", kind="concept")
def criss_cross_twice(Q, K, V):
    down = _down(Q, K).masked_fill(_itself(Q.shape[1]), -math.inf)
    return _both(_along(Q, K), down, _both(_along(Q, K), down, V))


@wrong("Q is added as a residual", kind="concept")
def residual_added(Q, K, V):
    return Q + _both(_along(Q, K), _down(Q, K).masked_fill(_itself(Q.shape[1]), -math.inf), V)


@wrong("the rows of all pictures are one batch of keys: pictures are mixed", kind="concept")
def pictures_mixed(Q, K, V):
    K, V = K.roll(1, 0), V.roll(1, 0)
    return _both(_along(Q, K), _down(Q, K).masked_fill(_itself(Q.shape[1]), -math.inf), V)


@wrong("two mistakes: itself twice, and not scaled", kind="concept")
def twice_and_not_scaled(Q, K, V):
    Q = Q * math.sqrt(Q.shape[-1])
    return _both(_along(Q, K), _down(Q, K), V)


@wrong("the grid is taken for a square: the diagonal has the length of the columns", kind="edge")
def square_grid(Q, K, V):
    return _both(_along(Q, K), _down(Q, K).masked_fill(_itself(Q.shape[2]), -math.inf), V)


@wrong("two softmaxes where the column without the cell is empty: NaN with one row", kind="edge")
def nan_with_one_row(Q, K, V):
    along, down = _along(Q, K), _down(Q, K).masked_fill(_itself(Q.shape[1]), -math.inf)
    a, d = along.logsumexp(-1, keepdim=True), down.logsumexp(-1, keepdim=True)
    share = torch.sigmoid(a - d)
    return share * (along.softmax(-1) @ V) + (1 - share) * _sum_down(down.softmax(-1), V)


@wrong("squeezed: with one picture, one row or one column an axis is lost", kind="edge")
def squeezed(Q, K, V):
    return _both(_along(Q, K), _down(Q, K).masked_fill(_itself(Q.shape[1]), -math.inf), V).squeeze()


@wrong("row and column results side by side, [B, rows, columns, 2 D]", kind="shape")
def side_by_side(Q, K, V):
    return torch.cat([_along(Q, K).softmax(-1) @ V, _sum_down(_down(Q, K).softmax(-1), V)], -1)
