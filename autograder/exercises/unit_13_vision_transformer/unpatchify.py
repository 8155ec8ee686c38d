"""Exercise 2: from patches back to images."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _one_of_zeros(inputs, rng):
    inputs["patches"][0] = 0


def _drawn(inputs, sizes, rng):
    return {"rows": sizes["rows"], "P": sizes["P"]}


@exercise(
    points=2,
    section="Patches as tokens",
    source="He et al. 2022, Masked Autoencoders Are Scalable Vision Learners, section 3, reconstruction target",
    outputs="images",
    formula="images[b, c, r·P + i, s·P + j] = patches[b, r·columns + s, (c·P + i)·P + j]: the patches row by row, in each of them"
    " channel, row, column; patches [B, rows*columns, C*P*P] gives images [B, C, rows*P, columns*P]",
    cases=[
        Case("a batch of images", sizes={"C": 2, "P": 3}),
        Case("one channel, larger patches", sizes={"C": 1, "P": 4, "rows": 3, "columns": 2, "B": 5}),
        Case("a batch of one", sizes={"B": 1, "P": 3, "rows": 2, "columns": 5, "C": 4}),
        Case("a patch is one pixel", sizes={"P": 1, "C": 3}),
        Case("one row of patches", sizes={"rows": 1, "P": 3, "columns": 4, "B": 2, "C": 5}),
        Case("one column of patches", sizes={"columns": 1, "P": 3, "rows": 4, "B": 2, "C": 5}),
        Case("one patch is the whole image", sizes={"rows": 1, "columns": 1, "P": 6}, edge=True),
        Case("hundreds of patches", sizes={"rows": 14, "columns": 19, "P": 2, "C": 3, "B": 4}, edge=True),
        Case("many channels", sizes={"C": 64, "P": 3, "rows": 2, "columns": 4, "B": 5}, edge=True),
        Case("as many patches as numbers in each", sizes={"rows": 3, "columns": 4, "P": 2, "C": 3, "B": 5}, edge=True),
        Case("an image that is 0 all through", sizes={"C": 2, "P": 3}, edit=_one_of_zeros, edge=True),
        Case("sizes that coincide", sizes={"rows": 2, "columns": 2, "P": 2, "C": 4, "B": 4}, edge=True),
    ],
    forbidden=("col2im", "pixel_shuffle"),
    draws=_drawn,
)
def unpatchify(
    patches: Float[Tensor, "B rows*columns C*P*P"], rows: int, P: int
) -> Float[Tensor, "B C rows*P columns*P"]:
    columns = patches.shape[1] // rows
    return F.fold(patches.mT, (rows * P, columns * P), P, stride=P)


def _split(patches, rows, P):
    """[B, rows, columns, C, P, P]."""
    return patches.unflatten(2, (-1, P, P)).unflatten(1, (rows, -1))


def _put_together(grid):
    """The image of [B, rows, columns, C, P, P]."""
    return grid.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


@unpatchify.misconception
def reshaped_at_once(patches, rows, P):
    """Only the shape was changed: a row of pixels here is filled with the numbers of one patch, and the next patch goes on behind
    them. reshape keeps the order of the numbers. Split both axes first, [B, rows, columns, C, P, P], then bring rows and P, and
    columns and P, side by side."""
    B, N, width = patches.shape
    return patches.reshape(B, width // P**2, rows * P, N // rows * P)


@unpatchify.misconception
def channels_moved_alone(patches, rows, P):
    """The channels were moved to the front, but patches still follow each other as blocks of numbers: rows and columns of the
    grid stand before both axes of a patch. The axes of an image are C, rows, P, columns, P in this order."""
    grid = _split(patches, rows, P)
    return grid.permute(0, 3, 1, 2, 4, 5).reshape(len(grid), -1, rows * P, grid.shape[2] * P)


@unpatchify.misconception
def channels_before_the_grid(patches, rows, P):
    """The numbers of an image were split as if all of one channel came first, [B, C, rows, columns, P, P]: patches of other
    places become the channels. Each patch holds all its channels, so the split is [B, rows, columns, C, P, P]."""
    B, N, width = patches.shape
    return patches.reshape(B, -1, rows, N // rows, P, P).transpose(3, 4).flatten(4).flatten(2, 3)


@unpatchify.misconception
def pixels_before_the_grid(patches, rows, P):
    """Inside of the height, the row of a pixel stands before the row of the grid, and so for the width: the pixels of a patch are
    spread over all of the image. Neighbours in a patch are neighbours in the image, so P runs fastest: (rows, P) and (columns,
    P)."""
    return _split(patches, rows, P).permute(0, 3, 4, 1, 5, 2).flatten(4).flatten(2, 3)


@unpatchify.misconception
def channel_fastest(patches, rows, P):
    """The numbers of a patch were read in the order row, column, channel. They have the order channel, row, column: first all of
    channel 0."""
    return _put_together(patches.unflatten(2, (P, P, -1)).movedim(4, 2).unflatten(1, (rows, -1)))


@unpatchify.misconception
def turned_inside(patches, rows, P):
    """The patches are in their places, but each is transposed: its rows stand where its columns should. The first P stands for
    the rows of a patch and goes with the height."""
    return _put_together(_split(patches, rows, P).mT)


@unpatchify.misconception
def filled_column_by_column(patches, rows, P):
    """The grid is filled column by column. The patches are listed row by row: patch r·columns + s belongs to row r and column
    s."""
    return _put_together(patches.unflatten(2, (-1, P, P)).unflatten(1, (-1, rows)).transpose(1, 2))


@unpatchify.misconception
def rows_taken_for_columns(patches, rows, P):
    """Rows and columns of the grid are exchanged: `rows` patches stand side by side. `rows` is how many stand above each other,
    and the image is rows*P high."""
    return _put_together(_split(patches, patches.shape[1] // rows, P))


@unpatchify.misconception
def height_and_width_exchanged(patches, rows, P):
    """Each image is transposed, height and width exchanged: [B, C, columns*P, rows*P]. The height comes first, as in the images
    that the patches were cut from."""
    return _put_together(_split(patches, rows, P)).mT


@unpatchify.misconception
def taken_for_a_square(patches, rows, P):
    """The grid was taken for a square, with `rows` columns. It need not be one: there are as many columns as the number of
    patches divided by rows."""
    B, _, width = patches.shape
    grid = patches.reshape(B, rows, rows, width // P**2, P, P)
    return grid.permute(0, 3, 1, 4, 2, 5).reshape(B, width // P**2, rows * P, rows * P)


@unpatchify.misconception
def channels_last(patches, rows, P):
    """The channels are the last axis, [B, rows*P, columns*P, C], as for drawing. Images in torch have them before height and
    width: [B, C, rows*P, columns*P]."""
    return _put_together(_split(patches, rows, P)).permute(0, 2, 3, 1)


@unpatchify.misconception
def still_split(patches, rows, P):
    """The axes are in the right order, but there are still six: [B, C, rows, P, columns, P]. Join rows and P to the height,
    columns and P to the width."""
    return _split(patches, rows, P).permute(0, 3, 1, 4, 2, 5)


@unpatchify.misconception
def still_a_grid_of_images(patches, rows, P):
    """These are small images in a grid, [B, rows, columns, C, P, P]. They have to be put together: the grid's rows go with the
    rows of a patch, its columns with the columns."""
    return _split(patches, rows, P)


@unpatchify.misconception
def corners_a_pixel_apart(patches, rows, P):
    """The patches cover each other: the corner of patch (r, s) was set to pixel (r, s). It belongs to pixel (r·P, s·P)."""
    images = torch.zeros_like(_put_together(_split(patches, rows, P)))
    for n, small in enumerate(patches.unflatten(2, (-1, P, P)).unbind(1)):
        r, s = divmod(n, patches.shape[1] // rows)
        images[:, :, r : r + P, s : s + P] = small
    return images


@unpatchify.misconception
def patches_below_each_other(patches, rows, P):
    """All patches stand below each other, in an image that is P pixels wide. Only a new row of the grid goes below; the patches
    of one row stand side by side."""
    return torch.cat(patches.unflatten(2, (-1, P, P)).unbind(1), dim=2)


@unpatchify.alternative
def as_a_student(patches, rows, P):
    B, N, width = patches.shape
    columns, C = N // rows, width // (P * P)
    grid = patches.reshape(B, rows, columns, C, P, P)
    grid = grid.permute(0, 3, 1, 4, 2, 5)  # [B, C, rows, P, columns, P]
    return grid.reshape(B, C, rows * P, columns * P)


@unpatchify.alternative
def with_cat(patches, rows, P):
    small = patches.unflatten(2, (-1, P, P)).unbind(1)
    columns = len(small) // rows
    strips = [torch.cat(small[r * columns : (r + 1) * columns], dim=-1) for r in range(rows)]
    return torch.cat(strips, dim=-2)


@unpatchify.alternative
def written_into_an_empty_image(patches, rows, P):
    B, N, width = patches.shape
    columns = N // rows
    images = patches.new_zeros(B, width // P**2, rows * P, columns * P)
    for n in range(N):
        y, x = n // columns * P, n % columns * P
        images[:, :, y : y + P, x : x + P] = patches[:, n].reshape(B, -1, P, P)
    return images


@unpatchify.alternative
def with_einsum(patches, rows, P):
    grid = patches.unflatten(1, (rows, -1)).unflatten(3, (-1, P, P))
    return torch.einsum("brscij->bcrisj", grid).flatten(2, 3).flatten(3, 4)
