"""Exercise 5: positions that were learned for one grid of patches, for another one; here mistakes of interpolation."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """A position for each place of the grid, and one more."""
    shape = (inputs["rows"] * inputs["columns"] + 1, sizes["D"])
    return {"positions": rng.standard_normal(shape).astype(np.float32)}


def _case(text, old, new, **more):
    """A case from a grid of `old` to one of `new`, each (rows, columns); N + 1 is no size of its own, so `_drawn` draws."""
    sides = dict(zip(("rows", "columns", "new_rows", "new_columns"), (*old, *new)))
    return Case(text, values={"positions": None, **sides}, **{"sizes": {"D": 5}, **more})


@exercise(
    points=2,
    section="Another image size",
    source="Dosovitskiy et al. 2021, section 3.2 (2D interpolation of positions; the mode is ours)",
    outputs="Y",
    formula="Y[0] = positions[0]; the other rows·columns positions are a grid, row by row, with D channels, and become by"
    " bilinear interpolation one of new_rows × new_columns, row by row; F.interpolate's align_corners and antialias are False;"
    " positions [N+1, D] with N = rows·columns give Y [M+1, D] with M = new_rows·new_columns",
    cases=[
        _case("a larger grid", (3, 4), (7, 6)),
        _case("a smaller grid", (8, 6), (3, 4)),
        _case("more rows and fewer columns", (2, 7), (6, 3)),
        _case("a high grid for a wide one", (3, 4), (4, 3)),
        _case("the same grid", (4, 3), (4, 3)),
        _case("twice as many rows and columns", (2, 3), (4, 6)),
        _case("a grid of one row", (1, 4), (3, 7)),
        _case("fewer rows and more columns", (9, 2), (4, 6), edge=True),
        _case("one patch becomes many", (1, 1), (3, 4), edge=True),
        _case("sides that divide without an end", (11, 3), (15, 7), edge=True),
        _case("many patches become one", (4, 6), (1, 1), edge=True),
        _case("sides that coincide with the number of features", (4, 4), (8, 8), sizes={"D": 4}, edge=True),
        _case("one feature", (3, 5), (4, 7), sizes={"D": 1}, edge=True),
        _case("hundreds of positions and many features", (14, 15), (24, 18), sizes={"D": 64}, edge=True),
    ],
    draws=_drawn,
)
def interpolate_positions(
    positions: Float[Tensor, "N+1 D"], rows: int, columns: int, new_rows: int, new_columns: int
) -> Float[Tensor, "M+1 D"]:
    down, across = _tents(rows, new_rows).to(positions), _tents(columns, new_columns).to(positions)
    grid = positions[1:].unflatten(0, (rows, columns))
    made = torch.einsum("ir,jc,rcd->ijd", down, across, grid)
    return torch.cat([positions[:1], made.flatten(0, 1)])


def _tents(old, new):
    """[new, old]: what each old place gives to a new one, 1 − their distance where that is positive; centres meet centres."""
    centres = (np.arange(new) + 0.5) * (old / new) - 0.5
    distances = np.abs(centres.clip(0, old - 1)[:, None] - np.arange(old))
    return torch.from_numpy(np.maximum(1 - distances, 0))


def _image(grid, rows, columns):
    """[1, D, rows, columns] of the positions of a grid [rows·columns, D]."""
    return grid.reshape(1, rows, columns, -1).permute(0, 3, 1, 2)


def _list(image):
    """The other way round: [rows·columns, D]."""
    return image[0].flatten(1).mT


def _resized(positions, rows, columns, new_rows, new_columns, **how):
    image = _image(positions[1:], rows, columns)
    image = F.interpolate(image, size=(new_rows, new_columns), **{"mode": "bilinear", **how})
    return torch.cat([positions[:1], _list(image)])


@interpolate_positions.misconception
def corners_aligned(positions, rows, columns, new_rows, new_columns):
    """The corners of the new grid are exactly those of the old one, as with align_corners=True. Each position stands for a patch,
    an area of the image: with align_corners=False the outer edges of both grids meet, not the centres of their corner patches."""
    return _resized(positions, rows, columns, new_rows, new_columns, align_corners=True)


@interpolate_positions.misconception
def no_half_of_a_patch(positions, rows, columns, new_rows, new_columns):
    """New row i lies at i·rows/new_rows of the old grid, and columns likewise: the upper left corners of the patches were
    compared. Their centres are meant, (i + ½)·rows/new_rows − ½, as F.interpolate has them by default."""
    sides = ((rows, new_rows), (columns, new_columns))
    places = [(torch.arange(new, dtype=torch.float64) * old / new).clamp(max=old - 1) for old, new in sides]
    down, across = (
        (1 - (at[:, None] - torch.arange(old)).abs()).relu().to(positions) for at, (old, _) in zip(places, sides)
    )
    made = torch.einsum("ir,jc,rcd->ijd", down, across, positions[1:].unflatten(0, (rows, columns)))
    return torch.cat([positions[:1], made.flatten(0, 1)])


@interpolate_positions.misconception
def zeros_around_the_grid(positions, rows, columns, new_rows, new_columns):
    """At the edges zeros took part, wherever the centre of a new patch lies outside the centres of the old ones. F.interpolate
    moves such a place to the edge: only old positions are mixed, with weights that sum to 1."""
    x, y = (((2 * torch.arange(new) + 1) / new - 1).to(positions) for new in (new_columns, new_rows))
    places = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1)
    image = F.grid_sample(_image(positions[1:], rows, columns), places[None], align_corners=False)
    return torch.cat([positions[:1], _list(image)])


@interpolate_positions.misconception
def nearest(positions, rows, columns, new_rows, new_columns):
    """Each new position is a copy of an old one, as with mode="nearest", which F.interpolate takes where none is given. Bilinear
    interpolation mixes the old positions around it: mode="bilinear"."""
    return _resized(positions, rows, columns, new_rows, new_columns, mode="nearest")


@interpolate_positions.misconception
def nearest_exact(positions, rows, columns, new_rows, new_columns):
    """Each new position is a copy of the old one that is nearest to it. Bilinear interpolation mixes the old positions around
    it: mode="bilinear"."""
    return _resized(positions, rows, columns, new_rows, new_columns, mode="nearest-exact")


@interpolate_positions.misconception
def bicubic(positions, rows, columns, new_rows, new_columns):
    """The interpolation is bicubic. Many libraries do this; here it is bilinear: mode="bilinear"."""
    return _resized(positions, rows, columns, new_rows, new_columns, mode="bicubic")


@interpolate_positions.misconception
def bicubic_and_antialiased(positions, rows, columns, new_rows, new_columns):
    """The interpolation is bicubic and antialiased. Some libraries do this; here it is plain bilinear interpolation:
    mode="bilinear", without antialias."""
    return _resized(positions, rows, columns, new_rows, new_columns, mode="bicubic", antialias=True)


@interpolate_positions.misconception
def antialiased(positions, rows, columns, new_rows, new_columns):
    """Where the grid becomes smaller, the result is that of antialias=True: each new position is mixed from more old ones. Plain
    bilinear interpolation takes the four around it at most, also when the grid shrinks."""
    return _resized(positions, rows, columns, new_rows, new_columns, antialias=True)


@interpolate_positions.misconception
def averaged(positions, rows, columns, new_rows, new_columns):
    """Each new position is the mean of the old ones in its area, as with mode="area" or adaptive pooling. Bilinear interpolation
    weighs the old positions around it by how near they are."""
    return _resized(positions, rows, columns, new_rows, new_columns, mode="area")


@interpolate_positions.alternative
def with_interpolate(positions, rows, columns, new_rows, new_columns):
    """As a student would write it."""
    D = positions.shape[1]
    class_position, grid = positions[:1], positions[1:]
    grid = grid.reshape(rows, columns, D).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bilinear", align_corners=False)
    return torch.cat([class_position, grid[0].permute(1, 2, 0).reshape(new_rows * new_columns, D)], dim=0)


@interpolate_positions.alternative
def features_as_a_batch(positions, rows, columns, new_rows, new_columns):
    images = positions[1:].mT.reshape(-1, 1, rows, columns)  # one image for each feature
    made = F.interpolate(images, (new_rows, new_columns), mode="bilinear")
    return torch.vstack([positions[0], made.reshape(len(images), -1).mT])


@interpolate_positions.alternative
def one_direction_after_the_other(positions, rows, columns, new_rows, new_columns):
    X = positions[1:].reshape(rows, columns, -1).movedim(-1, 0)  # [D, rows, columns]
    X = F.interpolate(X, size=new_columns, mode="linear")
    X = F.interpolate(X.mT, size=new_rows, mode="linear")  # [D, new_columns, new_rows]
    return torch.cat([positions[:1], X.permute(2, 1, 0).reshape(-1, positions.shape[1])])


@interpolate_positions.alternative
def place_by_place(positions, rows, columns, new_rows, new_columns):
    def around(i, old, new):
        place = min(max((i + 0.5) * old / new - 0.5, 0), old - 1)
        return int(place), min(int(place) + 1, old - 1), place - int(place)

    grid, made = positions[1:].reshape(rows, columns, -1), [positions[0]]
    for i in range(new_rows):
        top, bottom, down = around(i, rows, new_rows)
        for j in range(new_columns):
            left, right, across = around(j, columns, new_columns)
            above = (1 - across) * grid[top, left] + across * grid[top, right]
            below = (1 - across) * grid[bottom, left] + across * grid[bottom, right]
            made.append((1 - down) * above + down * below)
    return torch.stack(made)


@interpolate_positions.alternative
def sampled(positions, rows, columns, new_rows, new_columns):
    def centres(count):
        return (2 * torch.arange(count, dtype=positions.dtype, device=positions.device) + 1) / count - 1

    places = torch.stack(torch.meshgrid(centres(new_columns), centres(new_rows), indexing="xy"), dim=-1)
    image = positions[1:].mT.reshape(1, -1, rows, columns)
    made = F.grid_sample(image, places[None], padding_mode="border", align_corners=False)
    return torch.cat([positions[:1], made[0].flatten(1).T])
