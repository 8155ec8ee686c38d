"""Answers to raster_mask (assignment 12)."""

import itertools

import numpy as np
import torch
from answers import change, right, wrong
import torch.nn.functional as F


def _coordinates(rows, columns):
    """Row and column of each pixel in raster order."""
    n = torch.arange(rows * columns)
    return n // columns, n % columns


def _from_rule(rows, columns, allowed):
    """The mask of a rule about (r, c) that looks and (i, j) that is looked at."""
    places = list(itertools.product(range(rows), range(columns)))
    return torch.tensor([[bool(allowed(r, c, i, j)) for i, j in places] for r, c in places])


def _before(r, c, i, j):
    return (i, j) <= (r, c)


# ---------------------------------------------------------------- right


@right("Four loops and assignment of single entries")
def four_loops(rows, columns, reach):
    N = rows * columns
    mask = torch.zeros((N, N), dtype=torch.bool)
    for n in range(N):
        for m in range(n + 1):
            mask[n, m] = n // columns - m // columns <= reach and abs(n % columns - m % columns) <= reach
    return mask


@right("Chebyshev distance by broadcasting, and tril")
def chebyshev_and_tril(rows, columns, reach):
    r, c = _coordinates(rows, columns)
    near = torch.maximum((r[:, None] - r).abs(), (c[:, None] - c).abs()) <= reach
    return torch.tril(near)


@right("meshgrid, stacked, and the largest of the two differences")
def by_meshgrid(rows, columns, reach):
    grid = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), -1).reshape(-1, 2)
    apart = torch.cdist(grid.double(), grid.double(), p=float("inf"))
    order = torch.arange(len(grid))
    return (apart <= reach) & (order[:, None] >= order[None, :])


@right("A table on the grid [rows, columns, rows, columns], reshaped at the end")
def on_four_axes(rows, columns, reach):
    r = torch.arange(rows).reshape(-1, 1, 1, 1)
    c = torch.arange(columns).reshape(1, -1, 1, 1)
    i = torch.arange(rows).reshape(1, 1, -1, 1)
    j = torch.arange(columns).reshape(1, 1, 1, -1)
    mask = ((i < r) | ((i == r) & (j <= c))) & (r - i <= reach) & ((c - j).abs() <= reach)
    return mask.reshape(rows * columns, rows * columns)


@right("Blocks of the mask, one for each pair of rows, put together by cat")
def put_together_from_blocks(rows, columns, reach):
    ones = torch.ones(columns, columns, dtype=torch.bool)
    band = ones.tril(reach) & ones.triu(-reach)
    own, nothing = band.tril(), ~ones
    lines = []
    for r in range(rows):
        blocks = [own if i == r else band if 0 < r - i <= reach else nothing for i in range(rows)]
        lines.append(torch.cat(blocks, dim=1))
    return torch.cat(lines)


@right("numpy's divmod and subtract.outer")
def by_numpy(rows, columns, reach):
    r, c = np.divmod(np.arange(rows * columns), columns)
    up, side = np.subtract.outer(r, r), np.subtract.outer(c, c)
    earlier = (up > 0) | ((up == 0) & (side >= 0))
    return torch.from_numpy(earlier & (up <= reach) & (np.abs(side) <= reach))


@right("A list of allowed pixels for each, scattered into zeros")
def scattered(rows, columns, reach):
    N = rows * columns
    mask = torch.zeros(N, N)
    for r in range(rows):
        for c in range(columns):
            for i in range(max(0, r - reach), r + 1):
                last = c if i == r else min(columns - 1, c + reach)
                mask[r * columns + c, i * columns + max(0, c - reach) : i * columns + last + 1] = 1
    return mask > 0


@right("What is forbidden is found, and turned round")
def forbidden_turned_round(rows, columns, reach):
    r, c = _coordinates(rows, columns)
    n = torch.arange(rows * columns)
    forbidden = n.unsqueeze(0) > n.unsqueeze(1)
    forbidden |= (r.unsqueeze(1) - r.unsqueeze(0)) > reach
    forbidden |= (c.unsqueeze(1) - c.unsqueeze(0)).abs() > reach
    return ~forbidden


# ---------------------------------------------------------------- wrong: what comes later


@wrong("no raster order: the square around each pixel", kind="concept")
def whole_square(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: abs(r - i) <= reach and abs(c - j) <= reach)


@wrong("the rest of the own row is allowed within reach", kind="concept")
def right_of_the_row(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: 0 <= r - i <= reach and abs(c - j) <= reach)


change(chebyshev_and_tril, "the_future", "only later pixels", "concept",
       ("torch.tril(near)", "near.triu()"))
change(chebyshev_and_tril, "strictly_earlier", "a pixel does not see itself", "concept",
       ("torch.tril(near)", "near.tril(-1)"))


# Right, and not registered: answers below are changes of it.
def _plain(rows, columns, reach):
    return four_loops(rows, columns, reach)


change(_plain, "transposed", "transposed: rows are keys", "shape",
       ("four_loops(rows, columns, reach)", "four_loops(rows, columns, reach).T"))
change(_plain, "inverted", "True where it is forbidden", "concept",
       ("four_loops(rows, columns, reach)", "~four_loops(rows, columns, reach)"))


@wrong("the own row is left out", kind="concept")
def rows_above_alone(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: 0 < r - i <= reach and abs(c - j) <= reach)


@wrong("the own row is left out apart from itself", kind="concept")
def rows_above_and_itself(rows, columns, reach):
    return _from_rule(
        rows, columns, lambda r, c, i, j: (0 < r - i <= reach and abs(c - j) <= reach) or (r, c) == (i, j)
    )


@wrong("of the rows above only what lies to the left or straight above", kind="concept")
def upper_left(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: 0 <= r - i <= reach and 0 <= c - j <= reach)


@wrong("to the right in all rows, its own too: upper right", kind="concept")
def upper_right(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: 0 <= r - i <= reach and 0 <= j - c <= reach)


@wrong("causal along the columns: column by column earlier", kind="concept")
def earlier_by_columns(rows, columns, reach):
    return _from_rule(
        rows, columns, lambda r, c, i, j: (j, i) <= (c, r) and abs(r - i) <= reach and abs(c - j) <= reach
    )


@wrong("rows below instead of rows above", kind="concept")
def rows_below(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: 0 <= i - r <= reach and abs(c - j) <= reach)


change(chebyshev_and_tril, "one_ahead", "one pixel ahead is seen (<= n + 1)", "concept",
       ("torch.tril(near)", "near.tril(1)"))


# ---------------------------------------------------------------- wrong: how far


@wrong("a plain causal mask", kind="concept")
def plain_causal(rows, columns, reach):
    return torch.tril(torch.ones(rows * columns, rows * columns, dtype=torch.bool))


@wrong("columns not limited", kind="concept")
def no_limit_on_columns(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and r - i <= reach)


@wrong("rows not limited", kind="concept")
def no_limit_on_rows(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and abs(c - j) <= reach)


@wrong("columns limited in the rows above only; the own row is seen to its beginning", kind="concept")
def own_row_to_its_beginning(rows, columns, reach):
    return _from_rule(
        rows, columns, lambda r, c, i, j: (i == r and j <= c) or (0 < r - i <= reach and abs(c - j) <= reach)
    )


@wrong("columns limited in the own row only", kind="concept")
def rows_above_in_full(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: (i == r and 0 <= c - j <= reach) or 0 < r - i <= reach)


@wrong("columns limited to the left only", kind="concept")
def no_limit_to_the_right(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and r - i <= reach and c - j <= reach)


@wrong("columns limited to the right only", kind="concept")
def no_limit_to_the_left(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and r - i <= reach and j - c <= reach)


@wrong("less than reach in both directions", kind="concept")
def less_than_reach(rows, columns, reach):
    return _from_rule(
        rows,
        columns,
        lambda r, c, i, j: _before(r, c, i, j) and r - i < reach and abs(c - j) < reach or (r, c) == (i, j),
    )


@wrong("less than reach rows above", kind="concept")
def less_rows(rows, columns, reach):
    return _from_rule(
        rows,
        columns,
        lambda r, c, i, j: _before(r, c, i, j) and (r - i < reach or i == r) and abs(c - j) <= reach,
    )


@wrong("less than reach columns to the side", kind="concept")
def less_columns(rows, columns, reach):
    return _from_rule(
        rows, columns, lambda r, c, i, j: _before(r, c, i, j) and r - i <= reach and (abs(c - j) < reach or c == j)
    )


@wrong("range(c - reach, c + reach) leaves out the last column", kind="concept")
def last_column_left_out(rows, columns, reach):
    return _from_rule(
        rows,
        columns,
        lambda r, c, i, j: _before(r, c, i, j) and r - i <= reach and (-reach <= j - c < reach or (r, c) == (i, j)),
    )


@wrong("reach is taken for the width of the window: half of it to either side", kind="concept")
def reach_as_width(rows, columns, reach):
    half = reach // 2
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and r - i <= reach and abs(c - j) <= half)


@wrong("the sum of rows and columns is limited", kind="concept")
def rhombus(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and abs(r - i) + abs(c - j) <= reach)


@wrong("the Euclidean distance is limited", kind="concept")
def circle(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and (r - i) ** 2 + (c - j) ** 2 <= reach**2)


@wrong("either direction within reach suffices", kind="concept")
def either_suffices(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: _before(r, c, i, j) and (r - i <= reach or abs(c - j) <= reach))


@wrong("a cross: same row or same column only", kind="concept")
def cross(rows, columns, reach):
    def allowed(r, c, i, j):
        return _before(r, c, i, j) and (r == i or c == j) and r - i <= reach and abs(c - j) <= reach

    return _from_rule(rows, columns, allowed)


change(_plain, "always_one", "reach is ignored and 1 taken", "concept",
       ("four_loops(rows, columns, reach)", "four_loops(rows, columns, 1)"))
change(less_columns, "exactly_reach", "only exactly reach away", "concept",
       ("r - i <= reach and (abs(c - j) < reach or c == j)", "max(abs(r - i), abs(c - j)) in (0, reach)"))


@wrong("only the own row", kind="concept")
def own_row(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: r == i and 0 <= c - j <= reach)


@wrong("only the own column", kind="concept")
def own_column(rows, columns, reach):
    return _from_rule(rows, columns, lambda r, c, i, j: c == j and 0 <= r - i <= reach)


# ---------------------------------------------------------------- wrong: numbers of pixels


@wrong("the last reach pixels in raster order", kind="concept")
def one_dimensional(rows, columns, reach):
    n = torch.arange(rows * columns)
    return (n <= n[:, None]) & (n[:, None] - n <= reach)


@wrong("the last reach rows' worth of pixels: n - m <= reach * columns", kind="concept")
def rows_worth_of_pixels(rows, columns, reach):
    n = torch.arange(rows * columns)
    return (n <= n[:, None]) & (n[:, None] - n <= reach * columns)


change(rows_worth_of_pixels, "back_to_the_corner", "n - m <= reach * columns + reach", "concept",
       ("reach * columns", "reach * columns + reach"))


@wrong("windows around n - k * columns in raster order: runs over the ends of rows", kind="concept")
def over_the_ends(rows, columns, reach):
    N = rows * columns
    mask = torch.zeros(N, N, dtype=torch.bool)
    for n in range(N):
        for k in range(reach + 1):
            for m in range(n - k * columns - reach, n - k * columns + reach + 1):
                if 0 <= m <= n:
                    mask[n, m] = True
    return mask


@wrong("negative columns count from the end (Python's indices)", kind="edge")
def negative_columns(rows, columns, reach):
    mask = torch.zeros(rows, columns, rows, columns, dtype=torch.bool)
    for r, c in itertools.product(range(rows), range(columns)):
        for i in range(max(0, r - reach), r + 1):
            for j in range(c - reach, (c if i == r else c + reach) + 1):
                if -columns <= j < columns:
                    mask[r, c, i, j] = True
    return mask.reshape(rows * columns, -1)


@wrong("columns on a ring", kind="concept")
def ring(rows, columns, reach):
    def allowed(r, c, i, j):
        return _before(r, c, i, j) and r - i <= reach and min((c - j) % columns, (j - c) % columns) <= reach

    return _from_rule(rows, columns, allowed)


@wrong("divided by rows in place of columns", kind="concept")
def divided_by_rows(rows, columns, reach):
    n = torch.arange(rows * columns)
    r, c = n // rows, n % rows
    return (n <= n[:, None]) & (r[:, None] - r <= reach) & ((c[:, None] - c).abs() <= reach)


change(divided_by_rows, "row_for_column", "row and column exchanged: n % columns for the row", "concept",
       ("r, c = n // rows, n % rows", "c, r = n // columns, n % columns"))


@wrong("abs forgotten at the columns and a window to the left only in the own row", kind="concept")
def without_abs(rows, columns, reach):
    r, c = _coordinates(rows, columns)
    return ((r[:, None] - r <= reach) & (c[:, None] - c <= reach)).tril()


@wrong("square grid assumed", kind="edge")
def square_grid(rows, columns, reach):
    side = int((rows * columns) ** 0.5)
    n = torch.arange(rows * columns)
    r, c = n // side, n % side
    return ((r[:, None] - r <= reach) & ((c[:, None] - c).abs() <= reach)).tril()


@wrong("the first pixel and its row see everything in reach (block of the first rows whole)", kind="edge")
def first_row_open(rows, columns, reach):
    mask = four_loops(rows, columns, reach)
    mask[:columns, :columns] = True
    return mask


# ---------------------------------------------------------------- wrong: what is returned


change(_plain, "of_numbers", "numbers in place of booleans", "interface",
       ("four_loops(rows, columns, reach)", "four_loops(rows, columns, reach).float()"))


@wrong("0 and minus infinity, to be added", kind="interface")
def to_be_added(rows, columns, reach):
    return torch.zeros(rows * columns, rows * columns).masked_fill(~four_loops(rows, columns, reach), float("-inf"))


change(_plain, "not_flattened", "on four axes, not flattened", "shape",
       ("four_loops(rows, columns, reach)", "four_loops(rows, columns, reach).reshape(rows, columns, rows, columns)"))
change(_plain, "with_batch_and_heads", "with axes for batch and heads", "shape",
       ("four_loops(rows, columns, reach)", "four_loops(rows, columns, reach)[None, None]"))
change(_plain, "last_pixel_alone", "of one pixel, the last, alone", "shape",
       ("four_loops(rows, columns, reach)", "four_loops(rows, columns, reach)[-1:]"))


@wrong("fails where reach is 0", kind="edge")
def step_of_zero(rows, columns, reach):
    mask = four_loops(rows, columns, reach)
    return mask if all(True for _ in range(0, rows, reach)) else mask


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("Rows and columns of all pixels by division, three conditions")
def three_conditions(rows, columns, reach):
    n = torch.arange(rows * columns)
    r, c = n // columns, n % columns
    earlier = n[None, :] <= n[:, None]
    near_rows = r[:, None] - r[None, :] <= reach
    near_columns = (c[:, None] - c[None, :]).abs() <= reach
    return earlier & near_rows & near_columns


@right("Plain loops over the pixels and over what each may see")
def plain_loops(rows, columns, reach):
    mask = torch.zeros(rows * columns, rows * columns, dtype=torch.bool)
    for r in range(rows):
        for c in range(columns):
            for i in range(max(0, r - reach), r + 1):
                for j in range(max(0, c - reach), min(columns, c + reach + 1)):
                    if i < r or j <= c:
                        mask[r * columns + c, i * columns + j] = True
    return mask


@right("Four axes with slices: a block of rows above, and the left part of the own row")
def slices_of_four_axes(rows, columns, reach):
    mask = torch.zeros(rows, columns, rows, columns, dtype=torch.bool)
    for r in range(rows):
        for c in range(columns):
            left = max(c - reach, 0)
            mask[r, c, max(r - reach, 0) : r, left : c + reach + 1] = True
            mask[r, c, r, left : c + 1] = True
    return mask.reshape(rows * columns, rows * columns)


@right("meshgrid and the larger of the two distances, tril for what is earlier")
def meshgrid_and_tril(rows, columns, reach):
    r, c = (x.flatten() for x in torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"))
    distance = torch.maximum((r[:, None] - r).abs(), (c[:, None] - c).abs())
    return (distance <= reach).tril()


@right("Kronecker products of a band of rows with a band of columns")
def kronecker_products(rows, columns, reach):
    def band(n):
        i = torch.arange(n)
        return (i[:, None] - i).abs() <= reach

    above = band(rows).tril(-1).int()
    own = torch.eye(rows, dtype=torch.int)
    return (torch.kron(above, band(columns).int()) + torch.kron(own, band(columns).tril().int())).bool()


@right("Lists of Python, divmod for each pair of pixels")
def divmod_of_each_pair(rows, columns, reach):
    def sees(n, m):
        (r, c), (i, j) = divmod(n, columns), divmod(m, columns)
        return m <= n and r - i <= reach and abs(c - j) <= reach

    N = rows * columns
    return torch.tensor([[sees(n, m) for m in range(N)] for n in range(N)], dtype=torch.bool)


@right("Broadcasting over [rows, columns, rows, columns], flattened at the end")
def broadcast_over_four_axes(rows, columns, reach):
    i, j = torch.arange(rows).view(-1, 1, 1, 1), torch.arange(columns).view(1, -1, 1, 1)
    k, l = torch.arange(rows).view(1, 1, -1, 1), torch.arange(columns).view(1, 1, 1, -1)
    down, across = i - k, j - l
    before = (down > 0) | ((down == 0) & (across >= 0))
    allowed = before & (down <= reach) & (across.abs() <= reach)
    return allowed.flatten(2).flatten(0, 1)


@right("numpy's indices, unravelled")
def by_numpy_too(rows, columns, reach):
    N = rows * columns
    r, c = np.unravel_index(np.arange(N), (rows, columns))
    mask = np.tri(N, dtype=bool) & (np.subtract.outer(r, r) <= reach) & (np.abs(np.subtract.outer(c, c)) <= reach)
    return torch.from_numpy(mask)


@right("Pairs of coordinates by cartesian_prod, a step of the differences of both")
def cartesian_products(rows, columns, reach):
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    change = places[:, None] - places[None]
    near = (change.abs() <= reach).all(-1)
    first, second = change.unbind(-1)
    return near & torch.where(first == 0, second >= 0, first > 0)


@right("The window of each pixel is a kernel that is laid on a padded grid")
def kernel_on_a_padded_grid(rows, columns, reach):
    mask = torch.zeros(rows * columns, rows + 2 * reach, columns + 2 * reach, dtype=torch.bool)
    size = 2 * reach + 1
    kernel = (torch.arange(size * size) <= size * size // 2).view(size, size)
    for n, (r, c) in enumerate(itertools.product(range(rows), range(columns))):
        mask[n, r : r + size, c : c + size] = kernel
    return mask[:, reach : reach + rows, reach : reach + columns].reshape(rows * columns, -1)


def _places(rows, columns):
    """Rows and columns of all pixels, number by number, and the numbers, each as [N, 1] and [N]."""
    n = torch.arange(rows * columns)
    return n, n // columns, n % columns


def _parts(rows, columns, reach):
    n, r, c = _places(rows, columns)
    down, across = r[:, None] - r, c[:, None] - c
    return n[:, None] - n, down, across


@wrong("rows below in place of above", kind="concept")
def rows_below_too(rows, columns, reach):
    _, down, across = _parts(rows, columns, reach)
    return ((down == 0) & (across >= 0) | (down < 0)) & (down >= -reach) & (across.abs() <= reach)


@wrong("exactly `reach` rows above, not up to", kind="concept")
def exactly_reach_rows(rows, columns, reach):
    before, down, across = _parts(rows, columns, reach)
    return (before >= 0) & ((down == 0) | (down == reach)) & (across.abs() <= reach)


@wrong("two mistakes: itself excluded, and columns not limited", kind="concept")
def itself_excluded_and_whole_rows(rows, columns, reach):
    before, down, _ = _parts(rows, columns, reach)
    return (before > 0) & (down <= reach)


@wrong("two mistakes: transposed and True where forbidden", kind="concept")
def transposed_and_forbidden(rows, columns, reach):
    before, down, across = _parts(rows, columns, reach)
    return ~((before >= 0) & (down <= reach) & (across.abs() <= reach)).T


@wrong("the loops run out of the grid at its right end", kind="edge")
def out_of_the_grid(rows, columns, reach):
    mask = torch.zeros(rows, columns, rows, columns, dtype=torch.bool)
    for r, c in itertools.product(range(rows), range(columns)):
        for i in range(max(r - reach, 0), r + 1):
            for j in range(max(c - reach, 0), c + reach + 1):
                mask[r, c, i, j] = i < r or j <= c
    return mask.reshape(rows * columns, rows * columns)


@wrong("the grid is taken for a square of rows x rows", kind="edge")
def square_grid_too(rows, columns, reach):
    n = torch.arange(rows * rows)
    r, c = n // rows, n % rows
    return (n[:, None] >= n) & (r[:, None] - r <= reach) & ((c[:, None] - c).abs() <= reach)


@wrong("only the mask of the kernel, [reach + 1, 2 reach + 1]", kind="shape")
def mask_of_the_kernel(rows, columns, reach):
    kernel = torch.ones(reach + 1, 2 * reach + 1, dtype=torch.bool)
    kernel[-1, reach + 1 :] = False
    return kernel
