"""Exercise 9, a stretch: which positions of a shifted window may attend to each other."""

import torch
from jaxtyping import Bool
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _case(text, rows, columns, M, shift, **more):
    return Case(text, values={"rows": rows, "columns": columns, "M": M, "shift": shift}, **more)


@exercise(
    points=0,
    section="Swin: attention in windows",
    source="Liu et al. 2021 (Swin Transformer), section 3.2 and figure 4",
    outputs="mask",
    formula="mask[w, m, n] tells whether positions m and n of window w were wrapped around alike: vertically if i ≥ rows − shift,"
    " and horizontally if j ≥ columns − shift, for row i and column j of the moved grid; mask [W, M*M, M*M], torch.bool, with"
    " W = (rows/M)·(columns/M); windows, and positions in a window, are counted row by row",
    cases=[
        _case("a wide grid", 6, 12, 3, 1),
        _case("a high grid, moved by most of a window", 12, 8, 4, 3),
        _case("windows moved by half their side", 8, 12, 4, 2),
        _case("the same windows, moved further", 8, 12, 4, 3),
        _case("one row of windows", 3, 9, 3, 2),
        _case("one window", 5, 5, 5, 2),
        _case("one column of windows", 12, 4, 4, 1, edge=True),
        _case("nothing moved", 4, 6, 2, 0, edge=True),
        _case("windows of one position", 3, 5, 1, 0, edge=True),
        _case("the grid of a first stage", 56, 28, 7, 3, edge=True),
        _case("hundreds of rows", 268, 4, 4, 3, edge=True),
        _case("large windows", 12, 12, 12, 5, edge=True),
    ],
    differentiable=False,
)
def shifted_window_mask(rows: int, columns: int, M: int, shift: int) -> Bool[Tensor, "W M*M M*M"]:
    mask = []
    for top in range(0, rows, M):
        for left in range(0, columns, M):
            places = [(i, j) for i in range(top, top + M) for j in range(left, left + M)]
            wrapped = [(i + shift >= rows, j + shift >= columns) for i, j in places]
            mask.append([[one == other for other in wrapped] for one in wrapped])
    return torch.tensor(mask)


def _grid(rows, columns):
    """The moved grid's rows and columns as two tables, [rows, columns]."""
    return torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")


def _cut(table, M):
    """[rows, columns] in windows, [W, M*M]."""
    return table.unflatten(1, (-1, M)).unflatten(0, (-1, M)).transpose(1, 2).flatten(2).flatten(0, 1)


def _equal(regions, M):
    """[W, M*M, M*M], True where two positions of a window have the same number."""
    cut = _cut(regions, M)
    return cut[:, :, None] == cut[:, None, :]


def _wrapped(rows, columns, shift):
    i, j = _grid(rows, columns)
    return i >= rows - shift, j >= columns - shift


def _regions(rows, columns, shift):
    down, across = _wrapped(rows, columns, shift)
    return 2 * down + across


def _right(rows, columns, M, shift):
    return _equal(_regions(rows, columns, shift), M)


@shifted_window_mask.alternative
def by_numbered_regions(rows, columns, M, shift):
    """As a student would write it, and as the authors of Swin do."""
    region = torch.zeros(rows, columns, dtype=torch.long)
    region[rows - shift :] += 1
    region[:, columns - shift :] += 2
    windows = region.view(rows // M, M, columns // M, M).permute(0, 2, 1, 3).reshape(-1, M * M)
    return windows.unsqueeze(1) == windows.unsqueeze(2)


@shifted_window_mask.alternative
def from_where_they_were(rows, columns, M, shift):
    i = torch.arange(rows).roll(-shift)[:, None].expand(rows, columns)  # each position's row before the move
    j = torch.arange(columns).roll(-shift).expand(rows, columns)
    region = torch.stack([i < shift, j < shift]).reshape(2, rows // M, M, columns // M, M)
    region = region.transpose(2, 3).reshape(2, -1, M * M)
    return (region[..., :, None] == region[..., None, :]).all(dim=0)


@shifted_window_mask.alternative
def as_the_authors_do(rows, columns, M, shift):
    """With nine regions, some of which never meet in a window."""
    image, count = torch.zeros(1, rows, columns, 1), 0
    for down in (slice(0, -M), slice(-M, -shift), slice(-shift, None)):
        for across in (slice(0, -M), slice(-M, -shift), slice(-shift, None)):
            image[:, down, across, :] = count
            count += 1
    windows = image.view(1, rows // M, M, columns // M, M, 1).permute(0, 1, 3, 2, 4, 5).reshape(-1, M * M)
    return ~(windows[:, None] - windows[:, :, None]).bool()


@shifted_window_mask.alternative
def of_two_directions(rows, columns, M, shift):
    def along(length):
        wrapped = (torch.arange(length) >= length - shift).view(-1, M)
        return wrapped[:, :, None] == wrapped[:, None, :]  # [windows, M, M]

    both = along(rows)[:, None, :, None, :, None] & along(columns)[None, :, None, :, None, :]
    return both.reshape(-1, M * M, M * M)


@shifted_window_mask.alternative
def corner_by_corner(rows, columns, M, shift):
    mask = torch.ones(rows // M, columns // M, M, M, M, M, dtype=torch.bool)
    rest = M - shift
    mask[-1, :, :rest, :, rest:] = mask[-1, :, rest:, :, :rest] = False
    mask[:, -1, :, :rest, :, rest:] = mask[:, -1, :, rest:, :, :rest] = False
    return mask.flatten(4).flatten(2, 3).flatten(0, 1)
