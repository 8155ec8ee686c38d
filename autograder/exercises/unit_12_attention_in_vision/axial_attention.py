"""Exercise 9, a stretch: axial attention, in which each cell of a grid looks along its row and along its column at once."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _far_below_zero(inputs, rng):
    """All scores are about −1000, so that a hidden score of −100 would win."""
    inputs["Q"][:] = -30 * abs(inputs["Q"])
    inputs["K"][:] = 30 * abs(inputs["K"])


def _case(text, edge=False, edit=None, **sizes):
    return Case(text, sizes=sizes, edge=edge, edit=edit, extreme=edit is not None)


@exercise(
    points=0,
    section="Going further",
    source="Huang et al. 2019 (CCNet), section 3.2; Ho et al. 2019 (axial attention)",
    outputs="Y",
    formula="cell (r, c) attends to the cells (r, t) of its row and (s, c) of its column, rows + columns − 1 of them with itself"
    " counted once; e = Q · K / √D, one softmax over them all; Y[r, c] = Σ A V over them, Y [B, rows, columns, D]",
    cases=[
        _case("a batch of grids"),
        _case("more rows than columns", B=2, rows=6, columns=3, D=4),
        _case("more columns than rows", B=3, rows=2, columns=7, D=5),
        _case("one picture", B=1, rows=4, columns=5, D=3),
        _case("scores far below 0", edge=True, edit=_far_below_zero, B=2, rows=3, columns=4, D=5),
    ],
    forbidden=("multi_head_attention",),
)
def axial_attention(
    Q: Float[Tensor, "B rows columns D"], K: Float[Tensor, "B rows columns D"], V: Float[Tensor, "B rows columns D"]
) -> Float[Tensor, "B rows columns D"]:
    rows, columns, D = Q.shape[1:]
    own = torch.eye(rows, dtype=torch.bool, device=Q.device).unsqueeze(1)  # [rows, 1, rows]
    along_row = torch.einsum("brcd,brtd->brct", Q, K)
    along_column = torch.einsum("brcd,bscd->brcs", Q, K).masked_fill(own, -math.inf)  # itself is in its row already
    A = (torch.cat([along_row, along_column], dim=-1) / math.sqrt(D)).softmax(dim=-1)
    in_row, in_column = A.split([columns, rows], dim=-1)
    return torch.einsum("brct,brtd->brcd", in_row, V) + torch.einsum("brcs,bscd->brcd", in_column, V)


def _masked(Q, K, V, seen, weights=None):
    """Attention over the whole grid; `seen` tells which cells may look at which, by (r, c) and (s, t)."""
    n = torch.arange(Q.shape[1] * Q.shape[2], device=Q.device)
    r, c = n // Q.shape[2], n % Q.shape[2]
    allowed = seen(r[:, None], c[:, None], r, c)
    q, k, v = (one.flatten(1, 2) for one in (Q, K, V))
    E = q @ k.mT / math.sqrt(Q.shape[-1])
    A = weights(E, allowed) if weights else E.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return (A @ v).view_as(Q)


def _cross(r, c, s, t):
    return (r == s) | (c == t)


def _along_rows(Q, K, V):
    """Attention in which each row is by itself."""
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V


def _along_columns(Q, K, V):
    return _along_rows(*(one.transpose(1, 2) for one in (Q, K, V))).transpose(1, 2)


@axial_attention.misconception
def itself_twice(Q, K, V):
    """Each cell counts itself twice, once in its row and once in its column. There are rows + columns − 1 cells to attend to:
    take it out of one of the two before the softmax."""

    def twice(E, allowed):
        own = torch.eye(E.shape[-1], dtype=E.dtype, device=E.device)
        return (E + math.log(2) * own).masked_fill(~allowed, -math.inf).softmax(dim=-1)

    return _masked(Q, K, V, _cross, twice)


@axial_attention.misconception
def two_softmaxes_added(Q, K, V):
    """The row has a softmax and the column has one, and the two results are added: the weights of a cell sum to 2. There is one
    softmax over the row and the column together, in which they compete."""
    return _along_rows(Q, K, V) + _along_columns(Q, K, V)


@axial_attention.misconception(universal=True)
def mean_of_two_softmaxes(Q, K, V):
    """The row has a softmax and the column has one, and the mean of the two results is taken: each gets half of the weight
    whatever its scores are. There is one softmax over the row and the column together, in which they compete."""
    return (_along_rows(Q, K, V) + _along_columns(Q, K, V)) / 2


@axial_attention.misconception
def rows_and_then_columns(Q, K, V):
    """Attention runs along the rows first, and then along the columns over what it gave, so that a cell receives something of
    all cells. Ho et al. stack two layers like that; here a cell attends once, to its row and its column together."""
    return _along_columns(Q, K, _along_rows(Q, K, V))


@axial_attention.misconception
def columns_and_then_rows(Q, K, V):
    """Attention runs along the columns first, and then along the rows over what it gave, so that a cell receives something of
    all cells. Ho et al. stack two layers like that; here a cell attends once, to its row and its column together."""
    return _along_rows(Q, K, _along_columns(Q, K, V))


@axial_attention.misconception
def only_its_row(Q, K, V):
    """Each cell attends to its row alone. The cells of its column belong to the same softmax."""
    return _along_rows(Q, K, V)


@axial_attention.misconception
def only_its_column(Q, K, V):
    """Each cell attends to its column alone. The cells of its row belong to the same softmax."""
    return _along_columns(Q, K, V)


@axial_attention.misconception
def without_itself(Q, K, V):
    """Each cell attends to the others of its row and its column, and not to itself. It counts once: hide it in the row or in
    the column, and not in both. {NaN} A grid of a single cell leaves nothing to attend to, hence NaN."""
    return _masked(Q, K, V, lambda r, c, s, t: (r == s) ^ (c == t))


@axial_attention.misconception
def all_cells(Q, K, V):
    """Each cell attends to all cells of the grid. It attends to those in its row or its column: rows + columns − 1 of them."""
    return _masked(Q, K, V, lambda r, c, s, t: r + s >= 0)


@axial_attention.misconception
def softmax_over_the_grid(Q, K, V):
    """The softmax runs over the whole grid, and the weights of the cells that are neither in the row nor in the column are then
    set to 0: what is left sums to less than 1. These cells take no part in the softmax."""
    return _masked(Q, K, V, _cross, lambda E, allowed: E.softmax(dim=-1) * allowed)


@axial_attention.misconception
def hidden_scores_of_zero(Q, K, V):
    """Cells that are neither in the row nor in the column have a score of 0 in the softmax. exp(0) is 1, so they still get
    weight: leave them out, or give them −∞."""
    return _masked(Q, K, V, _cross, lambda E, allowed: (E * allowed).softmax(dim=-1))


@axial_attention.misconception
def softmax_over_the_queries(Q, K, V):
    """The softmax runs over the cells that ask, so that what each cell gives away sums to 1. It runs over the cells that a cell
    looks at, those of its row and its column."""
    return _masked(Q, K, V, _cross, lambda E, allowed: E.masked_fill(~allowed, -math.inf).softmax(dim=-2))


@axial_attention.misconception
def neither_row_nor_column(Q, K, V):
    """Each cell attends to the cells that lie neither in its row nor in its column: the mask is the wrong way round. Its row and
    its column are what it sees. {NaN} In a grid of one row or one column nothing is left, and the softmax gives NaN."""
    return _masked(Q, K, V, lambda r, c, s, t: (r != s) & (c != t))


@axial_attention.misconception
def only_neighbours(Q, K, V):
    """Each cell attends to itself and to the cells that touch it in its row and its column. It attends to all of its row and
    all of its column, however far away."""
    return _masked(Q, K, V, lambda r, c, s, t: (r - s).abs() + (c - t).abs() <= 1)


@axial_attention.alternative
def with_a_mask(Q, K, V):
    return _masked(Q, K, V, _cross)


@axial_attention.alternative
def fused(Q, K, V):
    rows, columns = Q.shape[1:3]
    same_row = (
        torch.eye(rows, dtype=torch.bool, device=Q.device).repeat_interleave(columns, 0).repeat_interleave(columns, 1)
    )
    same_column = torch.eye(columns, dtype=torch.bool, device=Q.device).repeat(rows, rows)
    q, k, v = (one.flatten(1, 2) for one in (Q, K, V))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=same_row | same_column).unflatten(1, (rows, columns))


@axial_attention.alternative
def cell_by_cell(Q, K, V):
    rows, columns = Q.shape[1:3]

    def cross(X, r, c):
        return torch.cat([X[:, r], X[:, :r, c], X[:, r + 1 :, c]], dim=1)  # [B, rows + columns − 1, D]

    def at(r, c):
        E = cross(K, r, c) @ Q[:, r, c].unsqueeze(-1) / math.sqrt(Q.shape[-1])
        return (E.softmax(dim=1) * cross(V, r, c)).sum(dim=1)

    return torch.stack([torch.stack([at(r, c) for c in range(columns)], dim=1) for r in range(rows)], dim=1)


@axial_attention.alternative
def as_in_ccnet(Q, K, V):
    """Rows and columns as batches; the column's own cell is hidden."""
    B, rows, columns, D = Q.shape
    q, k, v = (one.transpose(1, 2) for one in (Q, K, V))  # [B, columns, rows, D]
    hidden = torch.zeros(rows, rows, dtype=Q.dtype, device=Q.device).fill_diagonal_(-math.inf)
    down = ((q @ k.mT) * D**-0.5 + hidden).transpose(1, 2)  # [B, rows, columns, rows]
    A = torch.cat([down, (Q @ K.mT) * D**-0.5], dim=3).softmax(dim=3)
    return (A[..., :rows].transpose(1, 2) @ v).transpose(1, 2) + A[..., rows:] @ V
