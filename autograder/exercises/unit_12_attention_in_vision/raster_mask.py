"""Exercise 6: which pixels a pixel may attend to, where a picture is written in raster order and looked at nearby."""

import torch
from jaxtyping import Bool
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _case(text, rows, columns, reach, **more):
    return Case(text, values={"rows": rows, "columns": columns, "reach": reach}, **more)


@exercise(
    points=1,
    section="Pictures written pixel by pixel",
    source="Parmar et al. 2018 (Image Transformer), section 3.3, two-dimensional local attention",
    outputs="mask",
    formula="mask[n, m] = (m ≤ n) and (row of n − row of m ≤ reach) and (|column of n − column of m| ≤ reach), where pixel n lies"
    " in row n // columns and column n % columns; mask [rows·columns, rows·columns], torch.bool, True where pixel n may attend to"
    " pixel m",
    cases=[
        _case("a wide grid", 4, 6, 1),
        _case("a high grid", 6, 4, 2),
        _case("as many rows as columns", 5, 5, 2),
        _case("a reach beyond all columns but not all rows", 6, 3, 4),
        _case("one row", 1, 7, 2, edge=True),
        _case("one column", 7, 1, 2, edge=True),
        _case("a reach of 0", 3, 4, 0, edge=True),
    ],
    differentiable=False,
)
def raster_mask(rows: int, columns: int, reach: int) -> Bool[Tensor, "rows*columns rows*columns"]:
    pixels = [(r, c) for r in range(rows) for c in range(columns)]
    return torch.tensor(
        [[(i, j) <= (r, c) and r - i <= reach and abs(c - j) <= reach for i, j in pixels] for r, c in pixels]
    )


def _places(rows, columns):
    """Numbers, rows and columns of all pixels in raster order."""
    n = torch.arange(rows * columns)
    return n, n // columns, n % columns


def _mask(rows, columns, reach, *, earlier=True, above=True, beside=True):
    """The mask from its three conditions, each of which may be left out or replaced by another table."""
    n, row, column = _places(rows, columns)
    earlier = n <= n[:, None] if earlier is True else earlier
    above = row[:, None] - row <= reach if above is True else above
    beside = (column[:, None] - column).abs() <= reach if beside is True else beside
    return earlier & above & beside & torch.ones(len(n), len(n), dtype=torch.bool)


@raster_mask.misconception
def later_pixels_in_reach(rows, columns, reach):
    """Pixels that come later are seen: the mask asks for nearness alone. Later pixels have not been written yet; only m ≤ n may
    be attended to."""
    n, row, _ = _places(rows, columns)
    return _mask(rows, columns, reach, earlier=(n >= 0)[:, None], above=(row[:, None] - row).abs() <= reach)


@raster_mask.misconception
def later_pixels_of_the_row(rows, columns, reach):
    """Pixels of the same row that lie to the right are seen. They come later in raster order and have not been written yet: in
    its own row a pixel sees itself and what lies to the left."""
    _, row, _ = _places(rows, columns)
    return _mask(rows, columns, reach, earlier=row <= row[:, None])


@raster_mask.misconception
def rows_without_an_end(rows, columns, reach):
    """The columns are not limited: of each row within reach all earlier pixels are seen. Reach goes for both directions: at most
    `reach` columns to the left or right."""
    return _mask(rows, columns, reach, beside=torch.ones(rows * columns, dtype=torch.bool))


@raster_mask.misconception
def all_rows_above(rows, columns, reach):
    """The rows are not limited: all rows above are seen. Reach goes for both directions: at most `reach` rows above."""
    return _mask(rows, columns, reach, above=torch.ones(rows * columns, dtype=torch.bool))


@raster_mask.misconception
def all_earlier_pixels(rows, columns, reach):
    """All earlier pixels are seen, near or far, as in a causal mask. Only those at most `reach` rows above and at most `reach`
    columns to the left or right are allowed."""
    return torch.ones(rows * columns, rows * columns).tril().bool()


@raster_mask.misconception
def not_itself(rows, columns, reach):
    """A pixel does not see itself. It may: m = n is allowed, and without it the first pixel would have nothing to attend to."""
    n, _, _ = _places(rows, columns)
    return _mask(rows, columns, reach, earlier=n < n[:, None])


@raster_mask.misconception
def nothing_to_the_right(rows, columns, reach):
    """Nothing to the right is seen, not even in the rows above. These rows are finished: up to `reach` columns to the right they
    may be attended to as well."""
    _, _, column = _places(rows, columns)
    return _mask(rows, columns, reach) & (column <= column[:, None])


@raster_mask.misconception
def far_to_the_right(rows, columns, reach):
    """To the right the columns are not limited: in the rows above, pixels far to the right are seen. At most `reach` columns to
    either side are allowed, so it is the absolute difference of the columns that counts."""
    _, _, column = _places(rows, columns)
    return _mask(rows, columns, reach, beside=column[:, None] - column <= reach)


@raster_mask.misconception
def by_differences_of_numbers(rows, columns, reach):
    """Nearness is read off the differences of the pixels' numbers, so the window runs over the end of a row into the next or the
    one before. Take row and column of each pixel, n // columns and n % columns, and compare these."""
    n, _, _ = _places(rows, columns)
    behind = n[:, None] - n
    steps = range(reach + 1)
    near = [(behind - step * columns).abs() <= reach for step in steps]
    return _mask(rows, columns, reach, above=torch.stack(near).any(0), beside=n >= 0)


@raster_mask.misconception
def last_few_in_raster_order(rows, columns, reach):
    """A pixel sees the `reach` pixels before it in raster order. Nearby in the picture are also pixels of the rows above, and at
    the beginning of a row those that were written just before lie at the other border."""
    n, row, _ = _places(rows, columns)
    return _mask(rows, columns, reach, above=n[:, None] - n <= reach, beside=n >= 0)


@raster_mask.misconception
def its_own_row_only(rows, columns, reach):
    """A pixel sees its own row alone. The rows above within reach are allowed, too."""
    _, row, _ = _places(rows, columns)
    return _mask(rows, columns, reach, above=row == row[:, None])


@raster_mask.misconception
def taxi_distance(rows, columns, reach):
    """Rows and columns are counted together: their sum is at most `reach`, which makes a rhombus. Each of them may be up to
    `reach`, which makes a rectangle."""
    _, row, column = _places(rows, columns)
    apart = (row[:, None] - row).abs() + (column[:, None] - column).abs()
    return _mask(rows, columns, reach, above=apart <= reach)


@raster_mask.misconception
def column_by_column(rows, columns, reach):
    """Rows and columns have changed places, as if the pixels were numbered column by column. In raster order pixel n lies in row
    n // columns and in column n % columns."""
    return raster_mask.reference(columns, rows, reach)


@raster_mask.misconception
def transposed(rows, columns, reach):
    """The mask is transposed: each pixel sees those that come after it. mask[n, m] says whether pixel n may attend to pixel m, so
    the allowed part lies on the diagonal and to the lower left of it."""
    return raster_mask.reference(rows, columns, reach).T


@raster_mask.alternative
def from_three_conditions(rows, columns, reach):
    return _mask(rows, columns, reach)


@raster_mask.alternative
def on_the_grid(rows, columns, reach):
    """A table of four axes, filled window by window, then flattened."""
    mask = torch.zeros(rows, columns, rows, columns, dtype=torch.bool)
    for r in range(rows):
        for c in range(columns):
            left = max(0, c - reach)
            mask[r, c, max(0, r - reach) : r, left : c + reach + 1] = True
            mask[r, c, r, left : c + 1] = True
    return mask.flatten(2).flatten(0, 1)


@raster_mask.alternative
def cut_from_a_triangle(rows, columns, reach):
    """The causal triangle, and bands of rows and columns by a Kronecker product."""

    def band(size):
        return torch.ones(size, size).tril(reach).triu(-reach)

    return torch.kron(band(rows), band(columns)).tril().bool()
