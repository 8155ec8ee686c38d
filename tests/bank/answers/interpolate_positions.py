"""Answers for interpolate_positions (assignment 13, exercise 5)."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import change, left_open, right, wrong


def _axis(old, new, dtype=torch.float64, device=None):
    """The two nearest old places of each new place, and the weight of the second."""
    y = (torch.arange(new, dtype=torch.float64, device=device) + 0.5) * old / new - 0.5
    y = y.clamp(0, old - 1)
    low = y.floor().long()
    high = (low + 1).clamp(max=old - 1)
    return low, high, (y - low).to(dtype)


def _matrix(old, new, like):
    """The weights of all old places for each new place, [new, old]."""
    low, high, t = _axis(old, new, like.dtype, like.device)
    weights = torch.zeros(new, old, dtype=like.dtype, device=like.device)
    places = torch.arange(new, device=like.device)
    weights.index_put_((places, low), 1 - t, accumulate=True)
    weights.index_put_((places, high), t, accumulate=True)
    return weights


def _resize(positions, rows, columns, new_rows, new_columns, **settings):
    """The grid's positions by F.interpolate, [M, D]."""
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    settings = {"mode": "bilinear", "align_corners": False, **settings}
    grid = F.interpolate(grid, size=(new_rows, new_columns), **settings)
    return grid[0].permute(1, 2, 0).reshape(new_rows * new_columns, -1)


# -------------------- right


@right("F.interpolate on the transposed sequence, taken apart by unflatten")
def by_unflatten(positions, rows, columns, new_rows, new_columns):
    first, rest = positions.tensor_split([1])
    image = rest.T.unflatten(1, (rows, columns)).unsqueeze(0)
    image = F.interpolate(image, (new_rows, new_columns), mode="bilinear")
    return torch.cat((first, image.squeeze(0).flatten(1).T))


@right("nn.Upsample, with the features as a batch of images that have one channel")
def by_upsample_features_as_batch(positions, rows, columns, new_rows, new_columns):
    resize = nn.Upsample(size=(new_rows, new_columns), mode="bilinear", align_corners=False)
    images = positions[1:].t().reshape(-1, 1, rows, columns)
    return torch.vstack([positions[0], resize(images).reshape(-1, new_rows * new_columns).t()])


@right("two matrices of weights, one for each direction, and an einsum")
def by_two_matrices(positions, rows, columns, new_rows, new_columns):
    down = _matrix(rows, new_rows, positions)
    across = _matrix(columns, new_columns, positions)
    grid = positions[1:].reshape(rows, columns, positions.shape[1])
    grid = torch.einsum("ir,js,rsd->ijd", down, across, grid)
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@right("a single matrix [M+1, N+1], a Kronecker product with a 1 in the corner for the class token")
def by_kronecker(positions, rows, columns, new_rows, new_columns):
    whole = torch.kron(_matrix(rows, new_rows, positions), _matrix(columns, new_columns, positions))
    one = torch.ones(1, 1, dtype=positions.dtype, device=positions.device)
    return torch.block_diag(one, whole) @ positions


@right("loops over all new places in plain Python")
def by_loops(positions, rows, columns, new_rows, new_columns):
    def nearest(i, old, new):
        y = min(max((i + 0.5) * old / new - 0.5, 0.0), old - 1.0)
        low = int(y)
        return low, min(low + 1, old - 1), y - low

    out = [positions[0]]
    for i in range(new_rows):
        r, below, v = nearest(i, rows, new_rows)
        for j in range(new_columns):
            s, beside, h = nearest(j, columns, new_columns)
            upper = positions[1 + r * columns + s] * (1 - h) + positions[1 + r * columns + beside] * h
            lower = positions[1 + below * columns + s] * (1 - h) + positions[1 + below * columns + beside] * h
            out.append(upper * (1 - v) + lower * v)
    return torch.stack(out)


@right("index_select, first all rows and then all columns")
def by_index_select(positions, rows, columns, new_rows, new_columns):
    def along(grid, axis, old, new):
        low, high, t = _axis(old, new, grid.dtype, grid.device)
        t = t.view(-1, 1, 1) if axis == 0 else t.view(1, -1, 1)
        return grid.index_select(axis, low) * (1 - t) + grid.index_select(axis, high) * t

    grid = positions[1:].reshape(rows, columns, -1)
    grid = along(along(grid, 1, columns, new_columns), 0, rows, new_rows)
    return torch.cat([positions[:1], grid.reshape(new_rows * new_columns, -1)], dim=0)


@right("hat functions: the weight max(0, 1 − distance) of every old row and column")
def by_hat_functions(positions, rows, columns, new_rows, new_columns):
    def weights(old, new):
        new_places = torch.arange(new, dtype=torch.float64, device=positions.device)
        old_places = torch.arange(old, dtype=torch.float64, device=positions.device)
        centres = ((2 * new_places + 1) * old / (2 * new) - 0.5).clamp(0, old - 1)
        return (1 - (centres[:, None] - old_places).abs()).clamp_min(0).to(positions.dtype)

    grid = positions[1:].unflatten(0, (rows, columns))
    grid = torch.tensordot(weights(rows, new_rows), grid, dims=1)
    grid = torch.tensordot(weights(columns, new_columns), grid, dims=([1], [1])).transpose(0, 1)
    return torch.cat([positions[:1], grid.flatten(end_dim=1)])


@right("the borders are repeated once with replicate padding, so that no centre needs to be clamped")
def by_replicate_padding(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)
    grid = torch.cat([grid[:, :1], grid, grid[:, -1:]], dim=1)
    grid = torch.cat([grid[:, :, :1], grid, grid[:, :, -1:]], dim=2)

    def places(old, new):
        y = (torch.arange(new, dtype=torch.float64, device=positions.device) + 0.5) * old / new + 0.5
        low = y.floor().long().clamp(max=old)
        return low, (y - low).to(positions.dtype)

    r, v = places(rows, new_rows)
    s, h = places(columns, new_columns)
    v = v[:, None]
    top = grid[:, r][:, :, s] * (1 - h) + grid[:, r][:, :, s + 1] * h
    bottom = grid[:, r + 1][:, :, s] * (1 - h) + grid[:, r + 1][:, :, s + 1] * h
    return torch.cat([positions[:1], (top * (1 - v) + bottom * v).flatten(1).T])


@right("a new tensor is filled: the class token's row, then the grid")
def by_filling(positions, rows, columns, new_rows, new_columns):
    out = positions.new_empty(new_rows * new_columns + 1, positions.size(-1))
    out[0] = positions[0]
    out[1:] = _resize(positions, rows, columns, new_rows, new_columns)
    return out


@right("one-dimensional linear interpolation twice, over the rows and over the columns")
def by_linear_twice(positions, rows, columns, new_rows, new_columns):
    D = positions.shape[-1]
    grid = positions[1:].reshape(rows, columns, D).permute(1, 2, 0)
    grid = F.interpolate(grid, size=new_rows, mode="linear", align_corners=False)
    grid = grid.permute(2, 1, 0)
    grid = F.interpolate(grid, size=new_columns, mode="linear", align_corners=False)
    return torch.cat([positions[:1], grid.permute(0, 2, 1).reshape(-1, D)])


@right("equal grids and single patches are returned early, everything else is interpolated")
def by_early_return(positions, rows, columns, new_rows, new_columns):
    if (rows, columns) == (new_rows, new_columns):
        return positions.clone()
    if rows == columns == 1:
        return torch.cat([positions[:1], positions[1:].expand(new_rows * new_columns, -1)])
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@right("grid_sample with the border repeated; bfloat16 is computed in float32 and rounded at the end")
def by_grid_sample(positions, rows, columns, new_rows, new_columns):
    kind = torch.float64 if positions.dtype == torch.float64 else torch.float32
    grid = positions[1:].to(kind).reshape(rows, columns, -1).permute(2, 0, 1)[None]
    v = (2 * torch.arange(new_rows, dtype=kind, device=positions.device) + 1) / new_rows - 1
    h = (2 * torch.arange(new_columns, dtype=kind, device=positions.device) + 1) / new_columns - 1
    where = torch.stack([h.expand(new_rows, -1), v[:, None].expand(-1, new_columns)], dim=-1)[None]
    out = F.grid_sample(grid, where, mode="bilinear", padding_mode="border", align_corners=False)
    return torch.cat([positions[:1], out[0].flatten(1).T.to(positions.dtype)])


# -------------------- wrong: misunderstandings


@wrong("the corners of the two grids are aligned (align_corners=True) instead of their outer borders", kind="concept")
def corners_aligned(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns, align_corners=True)
    return torch.cat([positions[:1], grid])


@wrong("interpolates bicubically instead of bilinearly", kind="concept")
def bicubic(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns, mode="bicubic")
    return torch.cat([positions[:1], grid])


@wrong("each new place takes the nearest old position: mode is left at its default, nearest", kind="concept")
def nearest_place(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, new_columns))
    return torch.cat([positions[:1], grid[0].flatten(1).T])


@wrong("antialias=True: on smaller grids more than four old positions are averaged", kind="concept")
def antialiased(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns, antialias=True)
    return torch.cat([positions[:1], grid])


@wrong("each new place is the mean of the old places that it covers (mode area)", kind="concept")
def mean_of_area(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns, mode="area", align_corners=None)
    return torch.cat([positions[:1], grid])


@wrong("the class token's position is missing from the result, which is [M, D]", kind="shape")
def without_class_token(positions, rows, columns, new_rows, new_columns):
    return _resize(positions, rows, columns, new_rows, new_columns)


@wrong("the class token's position stands at the end of the result instead of at its front", kind="concept")
def class_token_last(positions, rows, columns, new_rows, new_columns):
    return torch.cat([_resize(positions, rows, columns, new_rows, new_columns), positions[:1]])


@wrong("takes the last row for the class token's position and the first N rows for the grid", kind="concept")
def class_token_read_from_the_end(positions, rows, columns, new_rows, new_columns):
    moved = positions.roll(1, 0)
    return torch.cat([moved[:1], _resize(moved, rows, columns, new_rows, new_columns)])


@wrong("the class token's position is replaced by zeros", kind="concept")
def class_token_zero(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns)
    return torch.cat([torch.zeros_like(positions[:1]), grid])


@wrong("the sequence of patches is interpolated as one line of N places, not as a grid", kind="concept")
def one_long_line(positions, rows, columns, new_rows, new_columns):
    line = F.interpolate(positions[1:].T[None], size=new_rows * new_columns, mode="linear")
    return torch.cat([positions[:1], line[0].T])


@wrong("the features are not brought to the front: the grid is reshaped to [D, rows, columns]", kind="concept")
def reshaped_to_channels(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], grid[0].permute(1, 2, 0).flatten(0, 1)])


@wrong("on the way back [D, new_rows, new_columns] is reshaped to [M, D] without moving the features", kind="concept")
def reshaped_back(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], grid.reshape(new_rows * new_columns, -1)])


@wrong("the old grid is read as columns rows of rows patches", kind="concept")
def old_grid_turned(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, columns, rows, new_rows, new_columns)])


@wrong("the new grid is made with new_columns rows and new_rows columns", kind="concept")
def new_grid_turned(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_columns, new_rows)])


@wrong("the new positions are listed column by column instead of row by row", kind="concept")
def column_by_column(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], grid[0].transpose(1, 2).flatten(1).T])


def _by_rule(positions, rows, columns, new_rows, new_columns, rule):
    """Bilinear, with a rule(i, old, new) -> low, high, weight of the second."""

    def axis(old, new):
        found = [rule(i, old, new) for i in range(new)]
        t = torch.tensor([f[2] for f in found], dtype=torch.float64, device=positions.device)
        return [f[0] for f in found], [f[1] for f in found], t.to(positions.dtype)

    grid = positions[1:].reshape(rows, columns, -1)
    low, high, t = axis(rows, new_rows)
    t = t[:, None, None]
    grid = grid[low] * (1 - t) + grid[high] * t
    low, high, t = axis(columns, new_columns)
    t = t[None, :, None]
    grid = grid[:, low] * (1 - t) + grid[:, high] * t
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@wrong("the centres are at i · rows / new_rows: both halves of the formula are left out", kind="concept")
def without_halves(positions, rows, columns, new_rows, new_columns):
    def rule(i, old, new):
        y = min(i * old / new, old - 1)
        return int(y), min(int(y) + 1, old - 1), y - int(y)

    return _by_rule(positions, rows, columns, new_rows, new_columns, rule)


change(without_halves, "second_half_forgotten",
       "the centres are at (i + ½) · rows / new_rows: the ½ is not subtracted again", "concept",
       ("i * old", "(i + 0.5) * old"))
change(without_halves, "ratio_inverted",
       "the ratio of the grids is turned round: (i + ½) · new_rows / rows − ½", "concept",
       ("i * old / new", "max((i + 0.5) * new / old - 0.5, 0)"))


@wrong("a centre before the first or beyond the last row is not moved onto it: it is extrapolated", kind="concept")
def extrapolates(positions, rows, columns, new_rows, new_columns):
    def rule(i, old, new):
        y = (i + 0.5) * old / new - 0.5
        low = min(max(math.floor(y), 0), max(old - 2, 0))
        return low, min(low + 1, old - 1), y - low

    return _by_rule(positions, rows, columns, new_rows, new_columns, rule)


@wrong("beyond a border the opposite border is the neighbour (indices −1 and rows wrap around)", kind="edge")
def wraps_around(positions, rows, columns, new_rows, new_columns):
    def rule(i, old, new):
        y = (i + 0.5) * old / new - 0.5
        low = math.floor(y)
        return low % old, (low + 1) % old, y - low

    return _by_rule(positions, rows, columns, new_rows, new_columns, rule)


change(by_grid_sample, "zeros_outside",
       "beyond the border there are zeros: positions at the edge of a larger grid are too small", "edge",
       ('mode="bilinear", padding_mode="border"', 'padding_mode="zeros"'))


@wrong("the two weights are exchanged: the nearer row or column has the smaller weight", kind="concept")
def weights_exchanged(positions, rows, columns, new_rows, new_columns):
    def rule(i, old, new):
        y = min(max((i + 0.5) * old / new - 0.5, 0), old - 1)
        return min(int(y) + 1, old - 1), int(y), y - int(y)

    return _by_rule(positions, rows, columns, new_rows, new_columns, rule)


@wrong("the weights of row and column are averaged instead of multiplied", kind="concept")
def weights_averaged(positions, rows, columns, new_rows, new_columns):
    r, below, v = _axis(rows, new_rows, positions.dtype, positions.device)
    s, beside, h = _axis(columns, new_columns, positions.dtype, positions.device)
    grid = positions[1:].reshape(rows, columns, -1)
    v, h = v[:, None, None], h[None, :, None]
    total = 0
    for row, weight in ((r, 1 - v), (below, v)):
        for column, other in ((s, 1 - h), (beside, h)):
            total = total + grid[row][:, column] * (weight + other) / 4
    return torch.cat([positions[:1], total.flatten(0, 1)])


@wrong("only the rows are interpolated; of the columns each new place takes the nearest", kind="concept")
def rows_only(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, columns), mode="bilinear")
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="nearest-exact")
    return torch.cat([positions[:1], grid[0].flatten(1).T])


@wrong("smaller grids are made by adaptive average pooling; only growing directions are bilinear", kind="concept")
def pools_when_smaller(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.adaptive_avg_pool2d(grid, (min(rows, new_rows), min(columns, new_columns)))
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], grid[0].flatten(1).T])


@wrong("the new positions are multiplied by the root of N / M", kind="concept")
def rescaled_by_size(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns)
    return torch.cat([positions[:1], grid * math.sqrt(rows * columns / (new_rows * new_columns))])


@wrong("the class token's position is added to the position of every patch as well", kind="concept")
def class_token_added_to_all(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns) + positions[:1]])


# -------------------- wrong: two mistakes


@wrong("aligns the corners of the grids, and puts the class token's position last", kind="concept")
def corners_and_class_last(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns, align_corners=True)
    return torch.cat([grid, positions[:1]])


@wrong("takes the nearest old position, and drops the class token's position", kind="concept")
def nearest_without_class_token(positions, rows, columns, new_rows, new_columns):
    return _resize(positions, rows, columns, new_rows, new_columns, mode="nearest", align_corners=None)


@wrong("rows and columns are exchanged in the old grid and in the new grid", kind="concept")
def both_grids_turned(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, columns, rows, new_columns, new_rows)])


@wrong("interpolates bicubically, and computes in float32 whatever the type of positions", kind="concept")
def bicubic_in_single(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions.float(), rows, columns, new_rows, new_columns, mode="bicubic")
    return torch.cat([positions[:1], grid.to(positions.dtype)])


@wrong("the halves of the centres are left out, and no gradient flows to the patches' positions", kind="concept")
def without_halves_or_gradient(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], without_halves(positions, rows, columns, new_rows, new_columns)[1:].detach()])


# -------------------- wrong: shapes and special cases


@wrong("takes the old grid for a square of √N by √N and ignores rows and columns", kind="shape")
def old_grid_square(positions, rows, columns, new_rows, new_columns):
    side = int((positions.shape[0] - 1) ** 0.5)
    return torch.cat([positions[:1], _resize(positions, side, side, new_rows, new_columns)])


@wrong("the new grid is always a square of new_rows by new_rows", kind="shape")
def new_grid_square(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_rows)])


@wrong("the columns are scaled by the ratio of the rows, new_rows / rows; only the size is right", kind="shape")
def one_ratio_for_both(positions, rows, columns, new_rows, new_columns):
    def axis(old, new):
        y = (torch.arange(new, dtype=torch.float64, device=positions.device) + 0.5) * rows / new_rows - 0.5
        y = y.clamp(0, old - 1)
        low = y.floor().long()
        return low, (low + 1).clamp(max=old - 1), (y - low).to(positions.dtype)

    grid = positions[1:].reshape(rows, columns, -1)
    low, high, t = axis(rows, new_rows)
    grid = grid[low] * (1 - t)[:, None, None] + grid[high] * t[:, None, None]
    low, high, t = axis(columns, new_columns)
    grid = grid[:, low] * (1 - t)[:, None] + grid[:, high] * t[:, None]
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@wrong("returns the positions untouched whenever M equals N, also for a grid of another shape such as 2×3 to 3×2",
       kind="edge")
def same_number_same_grid(positions, rows, columns, new_rows, new_columns):
    if new_rows * new_columns == rows * columns:
        return positions.clone()
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("the size is given by scale factors, and rounding down may lose a row (11 rows to 15: 14)", kind="edge")
def size_by_scale_factor(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, scale_factor=(new_rows / rows, new_columns / columns), mode="bilinear")
    return torch.cat([positions[:1], grid[0].flatten(1).T])


@wrong("scale factors with 0.1 added against rounding: the centres use them too and are slightly shifted",
       kind="numerics")
def scale_factor_plus_a_tenth(positions, rows, columns, new_rows, new_columns):
    factors = ((new_rows + 0.1) / rows, (new_columns + 0.1) / columns)
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, scale_factor=factors, mode="bilinear", recompute_scale_factor=False)
    return torch.cat([positions[:1], grid[0].flatten(1).T])


@wrong("a whole multiple of the old grid in both directions is made by repeating positions", kind="edge")
def repeats_whole_multiples(positions, rows, columns, new_rows, new_columns):
    if new_rows % rows == 0 and new_columns % columns == 0:
        grid = positions[1:].reshape(rows, columns, -1)
        grid = grid.repeat_interleave(new_rows // rows, 0).repeat_interleave(new_columns // columns, 1)
        return torch.cat([positions[:1], grid.flatten(0, 1)])
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("where both sides of the old grid are multiples of the new ones, every k-th position is picked", kind="edge")
def picks_every_kth(positions, rows, columns, new_rows, new_columns):
    if rows % new_rows == 0 and columns % new_columns == 0:
        grid = positions[1:].reshape(rows, columns, -1)[:: rows // new_rows, :: columns // new_columns]
        return torch.cat([positions[:1], grid.flatten(0, 1)])
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("an old grid that is one row high or one column wide is taken for a single patch: all get copies of the first",
       kind="edge")
def a_line_is_a_single_patch(positions, rows, columns, new_rows, new_columns):
    if rows == 1 or columns == 1:
        return torch.cat([positions[:1], positions[1:2].expand(new_rows * new_columns, -1)])
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


change(weights_exchanged, "last_row_never_used",
       "the lower neighbour is never the last row or column: it is cut at index rows − 2", "edge",
       ("min(int(y) + 1, old - 1), int(y)", "int(y), max(min(int(y) + 1, old - 2), 0)"))


@wrong("squeeze() without an axis also removes D, new_rows or new_columns if they are 1: permute fails", kind="layout")
def squeezed(positions, rows, columns, new_rows, new_columns):
    grid = positions[1:].reshape(rows, columns, -1).permute(2, 0, 1).unsqueeze(0)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear").squeeze()
    return torch.cat([positions[:1], grid.permute(1, 2, 0).reshape(new_rows * new_columns, -1)])


@wrong("view instead of reshape: positions in another memory layout, such as a transposed view, raise an error",
       kind="layout")
def viewed(positions, rows, columns, new_rows, new_columns):
    N, D = positions.shape
    grid = positions.view(N * D)[D:].view(rows, columns, D).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], grid[0].flatten(1).T])


@wrong("as_strided with the strides of a contiguous tensor: transposed or sliced positions are read from wrong places",
       kind="layout")
def strides_assumed(positions, rows, columns, new_rows, new_columns):
    D = positions.shape[1]
    start = positions.storage_offset() + D
    grid = positions.as_strided((1, D, rows, columns), (0, 1, columns * D, D), start)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], grid[0].flatten(1).T])


# -------------------- wrong: numbers and types


@right("computes in float32: float64 positions lose digits and become infinite above 3.4e38")
def in_single_precision(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions.to(torch.float32), rows, columns, new_rows, new_columns)
    return torch.cat([positions[:1], grid.to(positions.dtype)])


@wrong("the result is always float32, also for bfloat16 and float64 positions", kind="interface")
def result_is_single(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)]).float()


@right("the centres are computed in float32: in float64 the weights are off from the eighth digit")
def centres_in_single(positions, rows, columns, new_rows, new_columns):
    def axis(old, new):
        y = ((torch.arange(new, device=positions.device) + 0.5) * (old / new) - 0.5).clamp(0, old - 1)
        low = y.floor().long()
        return low, (low + 1).clamp(max=old - 1), (y - low).to(positions.dtype)

    grid = positions[1:].reshape(rows, columns, -1)
    low, high, t = axis(rows, new_rows)
    grid = grid[low] * (1 - t)[:, None, None] + grid[high] * t[:, None, None]
    low, high, t = axis(columns, new_columns)
    grid = grid[:, low] * (1 - t)[:, None] + grid[:, high] * t[:, None]
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@wrong("the difference of two neighbours is formed, a + t·(b − a): with t = 1 a small b beside a large a is lost",
       kind="numerics")
def by_differences(positions, rows, columns, new_rows, new_columns):
    def along(grid, old, new):
        y = (torch.arange(new, dtype=torch.float64, device=grid.device) + 0.5) * old / new - 0.5
        y = y.clamp(0, old - 1)
        low = y.floor().long().clamp(max=max(old - 2, 0))
        a, b = grid[low], grid[(low + 1).clamp(max=old - 1)]
        return a + (y - low).to(grid.dtype)[:, None, None] * (b - a)

    grid = along(positions[1:].reshape(rows, columns, -1), rows, new_rows).transpose(0, 1)
    return torch.cat([positions[:1], along(grid, columns, new_columns).transpose(0, 1).flatten(0, 1)])


@wrong("whole-number weights, divided at the end: sums of large positions overflow", kind="numerics")
def divides_at_the_end(positions, rows, columns, new_rows, new_columns):
    down = (_matrix(rows, new_rows, positions.double()) * 2 * new_rows).to(positions.dtype)
    across = (_matrix(columns, new_columns, positions.double()) * 2 * new_columns).to(positions.dtype)
    grid = positions[1:].reshape(rows, columns, -1)
    grid = torch.einsum("ir,js,rsd->ijd", down, across, grid) / (4 * new_rows * new_columns)
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@wrong("the weights are divided by their sum + 1e-6, so that they no longer add up to 1", kind="numerics")
def weights_with_eps(positions, rows, columns, new_rows, new_columns):
    down = _matrix(rows, new_rows, positions)
    across = _matrix(columns, new_columns, positions)
    down = down / (down.sum(1, keepdim=True) + 1e-6)
    across = across / (across.sum(1, keepdim=True) + 1e-6)
    grid = torch.einsum("ir,js,rsd->ijd", down, across, positions[1:].reshape(rows, columns, -1))
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@wrong("the weights are rounded to multiples of 1/32", kind="numerics")
def weights_in_32nds(positions, rows, columns, new_rows, new_columns):
    def rule(i, old, new):
        y = min(max((i + 0.5) * old / new - 0.5, 0), old - 1)
        return int(y), min(int(y) + 1, old - 1), round((y - int(y)) * 32) / 32

    return _by_rule(positions, rows, columns, new_rows, new_columns, rule)


change(in_single_precision, "small_ones_cut_off", "results smaller than 1e-6 in size are set to 0", "numerics",
       ("positions.to(torch.float32)", "positions"),
       ("grid.to(positions.dtype)", "torch.where(grid.abs() < 1e-6, torch.zeros_like(grid), grid)"))


@wrong("results are limited to the range −10⁴ to 10⁴", kind="numerics")
def large_ones_clamped(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns).clamp(-1e4, 1e4)])


@wrong("the grid's mean is subtracted before and added after: small positions beside huge ones are lost",
       kind="numerics")
def centred_first(positions, rows, columns, new_rows, new_columns):
    mean = positions[1:].mean(0, keepdim=True)
    grid = _resize(torch.cat([positions[:1], positions[1:] - mean]), rows, columns, new_rows, new_columns)
    return torch.cat([positions[:1], grid + mean])


@left_open("the centres are computed in the type of positions: in bfloat16, with hundreds of rows, they are off by a row; F.grid_sample, a right way, asks for this type",
       kind="numerics")
def centres_in_bfloat16(positions, rows, columns, new_rows, new_columns):
    def axis(old, new):
        y = (torch.arange(new, device=positions.device).to(positions.dtype) + 0.5) * old / new - 0.5
        y = y.clamp(0, old - 1)
        low = y.floor().long().clamp(max=old - 1)
        return low, (low + 1).clamp(max=old - 1), y - y.floor()

    grid = positions[1:].reshape(rows, columns, -1)
    low, high, t = axis(rows, new_rows)
    grid = grid[low] * (1 - t)[:, None, None] + grid[high] * t[:, None, None]
    low, high, t = axis(columns, new_columns)
    grid = grid[:, low] * (1 - t)[:, None] + grid[:, high] * t[:, None]
    return torch.cat([positions[:1], grid.flatten(0, 1)])


# -------------------- wrong: gradients and manners


@wrong("computed under torch.no_grad: no gradient flows to positions", kind="gradient")
def under_no_grad(positions, rows, columns, new_rows, new_columns):
    with torch.no_grad():
        return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("the class token's position is detached: it gets no gradient", kind="gradient")
def class_token_detached(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1].detach(), _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("the patches' positions are read by .data: they get no gradient, only the class token's does", kind="gradient")
def patches_by_data(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions.data, rows, columns, new_rows, new_columns)])


@wrong("the result is a new leaf, an nn.Parameter, which is not connected to positions", kind="gradient")
def new_parameter(positions, rows, columns, new_rows, new_columns):
    return nn.Parameter(torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)]))


@wrong("the result is built by torch.tensor from a list of numbers, which cuts the gradient and leaves the device",
       kind="gradient")
def from_a_list(positions, rows, columns, new_rows, new_columns):
    grid = _resize(positions, rows, columns, new_rows, new_columns)
    return torch.tensor([positions[0].tolist(), *grid.tolist()], dtype=positions.dtype)


@wrong("the class token's position is subtracted from positions in place, so the input is changed", kind="interface")
def changes_the_input(positions, rows, columns, new_rows, new_columns):
    first = positions[:1].clone()
    positions[1:] -= first
    return torch.cat([first, _resize(positions, rows, columns, new_rows, new_columns) + first])


_KEPT = {}


@wrong("the matrices of weights are kept between calls by size alone: another type later gets those of the first type",
       kind="interface")
def weights_kept(positions, rows, columns, new_rows, new_columns):
    for old, new in ((rows, new_rows), (columns, new_columns)):
        if (old, new) not in _KEPT:
            _KEPT[old, new] = _matrix(old, new, positions)
    grid = positions[1:].reshape(rows, columns, -1)
    grid = torch.einsum("ir,js,rsd->ijd", _KEPT[rows, new_rows], _KEPT[columns, new_columns], grid)
    return torch.cat([positions[:1], grid.flatten(0, 1)])


_RESULTS = {}


@wrong("whole results are kept by the sizes: a second call with other positions returns those of the first call",
       kind="interface")
def results_kept(positions, rows, columns, new_rows, new_columns):
    key = (positions.shape, positions.dtype, rows, columns, new_rows, new_columns)
    if key not in _RESULTS:
        _RESULTS[key] = torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])
    return _RESULTS[key]


change(by_filling, "filled_without_type", "the result is filled into torch.empty without a type or device: float64 "
       "positions come back as float32", "interface",
       ("positions.new_empty", "torch.empty"), (".size(-1)", ".shape[1]"),
       ("out[0] = positions[0]", "out[:1] = positions[:1]"))


@wrong("the weights are made on the CPU whatever the device of positions", kind="interface")
def weights_on_the_cpu(positions, rows, columns, new_rows, new_columns):
    like = torch.empty(0, dtype=positions.dtype, device="cpu")
    down, across = _matrix(rows, new_rows, like), _matrix(columns, new_columns, like)
    grid = torch.einsum("ir,js,rsd->ijd", down, across, positions[1:].reshape(rows, columns, -1))
    return torch.cat([positions[:1], grid.flatten(0, 1)])


@right("the arguments have other names (pos, h, w, new_h, new_w): calls by name fail")
def other_names(pos, h, w, new_h, new_w):
    return torch.cat([pos[:1], _resize(pos, h, w, new_h, new_w)])


@wrong("the arguments stand in another order, the new grid before the old one: calls by position give wrong results",
       kind="interface")
def other_order(positions, new_rows, new_columns, rows, columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("the sizes can only be given by name", kind="interface")
def only_by_name(positions, *, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])


@wrong("a batch axis is left in the result: [1, M+1, D]", kind="shape")
def batch_axis_left(positions, rows, columns, new_rows, new_columns):
    return torch.cat([positions[:1], _resize(positions, rows, columns, new_rows, new_columns)])[None]


@wrong("returns the class token's position and the grid's positions as a pair", kind="interface")
def as_a_pair(positions, rows, columns, new_rows, new_columns):
    return positions[:1], _resize(positions, rows, columns, new_rows, new_columns)
