"""Exercise 2: attention in windows, in which each cell of a grid looks at the cells of its own window."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _case(text, M, rows, columns, edge=False, **sizes):
    return Case(text, values={"M": M}, sizes={"rows": rows, "columns": columns, **sizes}, edge=edge)


@exercise(
    points=3,
    section="Windows",
    source="Liu et al. 2021 (Swin Transformer), section 3.2, without shift, bias and heads; lecture slides 004, “local regions”",
    outputs="Y",
    formula="cells (r, c) and (s, t) share a window if ⌊r/M⌋ = ⌊s/M⌋ and ⌊c/M⌋ = ⌊t/M⌋; e = Q[r, c] · K[s, t] / √D; the softmax"
    " runs over the M·M cells of a window; Y[r, c] = Σ A V over them, Y [B, rows, columns, D]",
    cases=[
        _case("windows of two by two", 2, 6, 8, B=3, D=5),
        _case("windows of three by three", 3, 6, 12, B=2, D=4),
        _case("one column of windows", 4, 12, 4, B=2, D=3),
        _case("one picture", 2, 10, 6, B=1, D=3),
        _case("the whole grid is one window", 3, 3, 3, B=2, D=5, edge=True),
        _case("windows of one cell", 1, 3, 4, B=2, D=5, edge=True),
        _case("hundreds of cells", 6, 18, 12, B=2, D=3, edge=True),
    ],
    equivalent={
        "transpose(3, 2).flatten(3, 4) for one in (Q, K, V)]": "two axes are exchanged, whichever is named first",
        "transpose(3, 2).flatten(3, 4).flatten(1, 2)": "two axes are exchanged, whichever is named first",
    },
    forbidden=("multi_head_attention",),
)
def attention_in_windows(
    Q: Float[Tensor, "B rows columns D"],
    K: Float[Tensor, "B rows columns D"],
    V: Float[Tensor, "B rows columns D"],
    M: int,
) -> Float[Tensor, "B rows columns D"]:
    cut = [one.unflatten(2, (-1, M)).unflatten(1, (-1, M)).transpose(2, 3).flatten(3, 4) for one in (Q, K, V)]
    Q, K, V = cut  # [B, rows/M, columns/M, M*M, D]
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return (A @ V).unflatten(3, (M, M)).transpose(2, 3).flatten(3, 4).flatten(1, 2)


def _cut(grid, M):
    """[B, rows, columns, D] in windows, [B, rows/M, columns/M, M*M, D]."""
    return grid.unflatten(2, (-1, M)).unflatten(1, (-1, M)).transpose(2, 3).flatten(3, 4)


def _attended(Q, K, V):
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V


def _places(Q):
    """The row and the column of each cell, counted row by row, on the device of Q."""
    n = torch.arange(Q.shape[1] * Q.shape[2], device=Q.device)
    return n // Q.shape[2], n % Q.shape[2]


def _masked(Q, K, V, seen, weights=None):
    """Attention over the whole grid; `seen` tells which cells may look at which, by (r, c) and (s, t)."""
    r, c = _places(Q)
    allowed = seen(r[:, None], c[:, None], r, c)
    q, k, v = (one.flatten(1, 2) for one in (Q, K, V))
    E = q @ k.mT / math.sqrt(Q.shape[-1])
    A = weights(E, allowed) if weights else E.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return (A @ v).view_as(Q)


@attention_in_windows.misconception
def whole_grid(Q, K, V, M):
    """Each cell attends to all cells of the grid. It attends to those of its own window, M by M of them: that is what makes the
    cost grow with the number of cells, and not with its square."""
    return _masked(Q, K, V, lambda r, c, s, t: r + s >= 0)


@attention_in_windows.misconception
def softmax_over_the_grid(Q, K, V, M):
    """The softmax runs over the whole grid, and the weights outside of the window are then set to 0: what is left sums to less
    than 1. The softmax runs over the M·M cells of the window alone."""
    own = lambda r, c, s, t: (r // M == s // M) & (c // M == t // M)  # noqa: E731
    return _masked(Q, K, V, own, lambda E, allowed: E.softmax(dim=-1) * allowed)


@attention_in_windows.misconception
def hidden_scores_of_zero(Q, K, V, M):
    """Scores outside of the window are 0 in the softmax. exp(0) is 1, so these cells still get weight: leave them out, or give
    them −∞."""
    own = lambda r, c, s, t: (r // M == s // M) & (c // M == t // M)  # noqa: E731
    return _masked(Q, K, V, own, lambda E, allowed: (E * allowed).softmax(dim=-1))


@attention_in_windows.misconception
def stretches_of_cells(Q, K, V, M):
    """A window holds M·M cells that follow each other row by row, as when the shape is changed to [B, windows, M·M, D] at once.
    A window is a square: split rows and columns into (rows/M, M) and (columns/M, M), then move the two axes inside of a window
    beside each other."""
    columns = Q.shape[2]

    def seen(r, c, s, t):
        return (r * columns + c) // M**2 == (s * columns + t) // M**2

    return _masked(Q, K, V, seen)


@attention_in_windows.misconception
def bands_of_rows(Q, K, V, M):
    """A window is M rows high and as wide as the grid. It is M cells wide as well: the columns are cut, too."""
    return _masked(Q, K, V, lambda r, c, s, t: r // M == s // M)


@attention_in_windows.misconception
def bands_of_columns(Q, K, V, M):
    """A window is M columns wide and as high as the grid. It is M cells high as well: the rows are cut, too."""
    return _masked(Q, K, V, lambda r, c, s, t: c // M == t // M)


@attention_in_windows.misconception
def number_for_size(Q, K, V, M):
    """The grid is cut into M by M windows. M is the side of a window in cells; there are rows/M by columns/M windows."""
    high, wide = Q.shape[1] // M, Q.shape[2] // M
    return _masked(Q, K, V, lambda r, c, s, t: (r // high == s // high) & (c // wide == t // wide))


@attention_in_windows.misconception
def spread_over_the_grid(Q, K, V, M):
    """A window's cells lie all over the grid, rows/M apart in height and columns/M in width, as when an axis is split into (M,
    rows/M). They lie side by side: the part inside of a window comes second, (rows/M, M)."""
    high, wide = Q.shape[1] // M, Q.shape[2] // M
    return _masked(Q, K, V, lambda r, c, s, t: (r % high == s % high) & (c % wide == t % wide))


@attention_in_windows.misconception
def between_windows(Q, K, V, M):
    """A cell attends to the cells at the same place of all windows, which lie M apart. It attends to the cells of its own
    window: the products run over the two axes inside of a window, and the axes of the windows are like a batch."""
    return _masked(Q, K, V, lambda r, c, s, t: (r % M == s % M) & (c % M == t % M))


@attention_in_windows.misconception
def one_row_of_a_window(Q, K, V, M):
    """A cell attends only to the M cells of its own row in the window. It attends to all M·M cells of the window: join its two
    axes into one before the products."""
    return _masked(Q, K, V, lambda r, c, s, t: (r == s) & (c // M == t // M))


@attention_in_windows.misconception
def around_each_cell(Q, K, V, M):
    """Each cell has a window of its own around it, so windows overlap. The grid is cut once, from its top left corner, and all
    cells of a piece see the same M·M cells."""
    return _masked(Q, K, V, lambda r, c, s, t: ((r - s).abs() <= M // 2) & ((c - t).abs() <= M // 2))


@attention_in_windows.misconception
def shifted(Q, K, V, M):
    """The grid is moved by half a window before it is cut, as Swin does in every other layer. Here nothing is moved: the first
    window begins at the top left corner."""
    moved = [one.roll((-(M // 2), -(M // 2)), (1, 2)) for one in (Q, K, V)]
    found = attention_in_windows.reference(*moved, M)
    return found.roll((M // 2, M // 2), (1, 2))


@attention_in_windows.misconception
def not_put_back(Q, K, V, M):
    """The results still lie window by window: only their shape was changed to that of the grid. Undo the cut in the opposite
    order: split each window into M by M, move the axes back, then join them."""
    return _attended(*(_cut(one, M) for one in (Q, K, V))).reshape(Q.shape)


@attention_in_windows.misconception
def turned_inside(Q, K, V, M):
    """Within each window rows and columns are exchanged: what the cell in row i and column j of a window has seen lies in row j
    and column i. Move the axes back to where they came from."""
    found = _attended(*(_cut(one, M) for one in (Q, K, V))).unflatten(3, (M, M))  # [B, rows/M, columns/M, M, M, D]
    return found.permute(0, 1, 4, 2, 3, 5).reshape(Q.shape)


@attention_in_windows.misconception
def without_itself(Q, K, V, M):
    """A cell does not attend to itself. It is one of the M·M cells of its window, and the softmax runs over all of them."""
    others = lambda r, c, s, t: (r // M == s // M) & (c // M == t // M) & ((r != s) | (c != t))  # noqa: E731
    weights = lambda E, allowed: E.masked_fill(~allowed, torch.finfo(E.dtype).min).softmax(dim=-1)  # noqa: E731
    return _masked(Q, K, V, others, weights)


@attention_in_windows.misconception
def other_windows(Q, K, V, M):
    """Each cell attends to the cells of all windows but its own: the mask is the wrong way round. The cells that share its window
    are the ones that it sees. {NaN} Where the grid is a single window nothing is left, and the softmax gives NaN."""
    return _masked(Q, K, V, lambda r, c, s, t: (r // M != s // M) | (c // M != t // M))


@attention_in_windows.misconception
def root_of_the_side(Q, K, V, M):
    """The scores are divided by √M. How many cells a window has makes no scalar product larger; it is the width D of queries
    and keys: divide by √D."""
    return attention_in_windows.reference(Q * math.sqrt(Q.shape[-1] / M), K, V, M)


@attention_in_windows.alternative
def with_six_axes(Q, K, V, M):
    Q, K, V = (one.unflatten(2, (-1, M)).unflatten(1, (-1, M)) for one in (Q, K, V))  # [B, rows/M, M, columns/M, M, D]
    E = torch.einsum("bricjd,brkcld->brcijkl", Q, K) / math.sqrt(Q.shape[-1])
    A = E.flatten(-2).softmax(dim=-1).view_as(E)
    return torch.einsum("brcijkl,brkcld->bricjd", A, V).flatten(3, 4).flatten(1, 2)


@attention_in_windows.alternative
def as_in_swin(Q, K, V, M):
    B, rows, columns, D = Q.shape

    def partition(X):
        X = X.reshape(B, rows // M, M, columns // M, M, D)
        return X.permute(0, 1, 3, 2, 4, 5).reshape(-1, M * M, D)

    windows = F.scaled_dot_product_attention(partition(Q), partition(K), partition(V))
    return windows.view(B, rows // M, columns // M, M, M, D).permute(0, 1, 3, 2, 4, 5).reshape(B, rows, columns, D)


@attention_in_windows.alternative
def with_a_mask(Q, K, V, M):
    return _masked(Q, K, V, lambda r, c, s, t: (r // M == s // M) & (c // M == t // M))


@attention_in_windows.alternative
def window_by_window(Q, K, V, M):
    bands = []
    for top in range(0, Q.shape[1], M):
        band = []
        for left in range(0, Q.shape[2], M):
            q, k, v = (one[:, top : top + M, left : left + M].flatten(1, 2) for one in (Q, K, V))
            band.append(_attended(q, k, v).unflatten(1, (M, M)))
        bands.append(torch.cat(band, dim=2))
    return torch.cat(bands, dim=1)
