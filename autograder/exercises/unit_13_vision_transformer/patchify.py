"""Exercise 1: images as sequences of patches."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    return {"P": sizes["P"]}


@exercise(
    points=2,
    section="Patches as tokens",
    source="Dosovitskiy et al. 2021, section 3.1",
    outputs="patches",
    formula="patches[b, r·columns + s, (c·P + i)·P + j] = images[b, c, r·P + i, s·P + j]: the patches row by row, in each of them"
    " channel, row, column; images [B, C, rows*P, columns*P] gives patches [B, rows*columns, C*P*P]",
    cases=[
        Case("a batch of images", sizes={"C": 2, "P": 3}),
        Case("one channel, larger patches", sizes={"C": 1, "P": 4, "rows": 3, "columns": 2, "B": 5}),
        Case("a batch of one", sizes={"B": 1, "P": 3, "rows": 2, "columns": 5}),
        Case("a patch is one pixel", sizes={"P": 1, "C": 3}),
        Case("one row of patches", sizes={"rows": 1, "P": 3, "columns": 4, "B": 2, "C": 5}),
        Case("one column of patches", sizes={"columns": 1, "P": 3, "rows": 4, "B": 2, "C": 5}),
        Case("one patch is the whole image", sizes={"rows": 1, "columns": 1, "P": 6}, edge=True),
        Case("hundreds of patches", sizes={"rows": 19, "columns": 14, "P": 2, "C": 3, "B": 4}, edge=True),
        Case("many channels", sizes={"C": 64, "P": 3, "rows": 2, "columns": 4, "B": 5}, edge=True),
        Case("sizes that coincide", sizes={"rows": 2, "columns": 2, "P": 2, "C": 4, "B": 4}, edge=True),
    ],
    forbidden=("im2col", "pixel_unshuffle"),
    draws=_drawn,
)
def patchify(images: Float[Tensor, "B C rows*P columns*P"], P: int) -> Float[Tensor, "B rows*columns C*P*P"]:
    return F.unfold(images, P, stride=P).mT


def _cut(images, P):
    """[B, C, rows, P, columns, P]; each of the four last axes is about one thing."""
    return images.unflatten(3, (-1, P)).unflatten(2, (-1, P))


def _ordered(images, P, order):
    """Patches whose axes came in another order: r and s of the grid, c, i and j inside of a patch."""
    axes = ["bcrisj".index(axis) for axis in "b" + order]
    return _cut(images, P).permute(axes).flatten(3).flatten(1, 2)


@patchify.misconception
def reshaped_at_once(images, P):
    """Only the shape was changed: a row of the result holds P·P·C numbers that follow each other in the image, and these run
    along rows of pixels across several patches. reshape keeps the order of the numbers. Split height and width first, [B, C,
    rows, P, columns, P], then move the axes of the grid to the front."""
    B, C, H, W = images.shape
    return images.reshape(B, (H // P) * (W // P), C * P * P)


@patchify.misconception
def channels_last_then_reshaped(images, P):
    """Apart from the channels, which stand last, the numbers are still in the order of the image: each row of the result mixes
    pixels of several patches. Split height and width, [B, C, rows, P, columns, P], and move both axes of the grid to the front,
    before they are joined."""
    B, C, H, W = images.shape
    return images.permute(0, 2, 3, 1).reshape(B, (H // P) * (W // P), C * P * P)


@patchify.misconception
def grid_behind_the_channels(images, P):
    """The axes of the grid stand behind the channels, [B, C, rows, columns, P, P], when the shape is changed to the one asked
    for: a row of the result holds several patches of one channel. The grid comes right behind the batch, then channel, row and
    column of a pixel in its patch."""
    B, C, H, W = images.shape
    return _cut(images, P).transpose(3, 4).reshape(B, (H // P) * (W // P), C * P * P)


@patchify.misconception
def channel_fastest(images, P):
    """The patches are the right ones, but the numbers in them have the order row, column, channel: the channels of a pixel stand
    side by side. Asked for is channel, row, column, as the weight of nn.Conv2d has them: first all of channel 0."""
    return _ordered(images, P, "rsijc")


@patchify.misconception
def turned_inside(images, P):
    """Each patch is transposed: its numbers run down its columns of pixels, channel by channel. Asked for is channel, row,
    column, with the columns running fastest."""
    return _ordered(images, P, "rscji")


@patchify.misconception
def column_by_column(images, P):
    """The patches are right, but they are counted column by column. Asked for is row by row from the top left: s, the column of
    the grid, runs fastest."""
    return _ordered(images, P, "srcij")


@patchify.misconception
def turned_altogether(images, P):
    """Height and width are exchanged throughout: the patches are counted column by column, and the numbers in each run down its
    columns of pixels. Both times the column runs fastest: row by row over the grid, and row by row in a patch."""
    return _ordered(images, P, "srcji")


@patchify.misconception
def every_other_pixel(images, P):
    """A patch here holds pixels from all over the image, `rows` pixels apart in height and `columns` in width, as when an axis is
    split into (P, rows). The pixels of a patch lie side by side, so the part inside of a patch comes second: (rows, P)."""
    B, C, H, W = images.shape
    spread = images.reshape(B, C, P, H // P, P, W // P)
    return spread.permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2)


@patchify.misconception
def number_for_size(images, P):
    """The image was cut into P·P patches, P along each side, as chunk(P) does. P is the side of a patch in pixels: split(P) cuts
    pieces of that size."""
    B, C, H, W = images.shape
    return images.reshape(B, C, P, H // P, P, W // P).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


@patchify.misconception
def overlapping(images, P):
    """The patches overlap: one begins at every pixel. They lie side by side, so the next one begins P pixels further on."""
    return images.unfold(2, P, 1).unfold(3, P, 1).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


@patchify.misconception
def still_a_grid(images, P):
    """The patches are still a grid, [B, rows, columns, C*P*P]. A Transformer reads a sequence: join the two axes of the grid into
    one."""
    return _ordered(images, P, "rscij").unflatten(1, (images.shape[2] // P, -1))


@patchify.misconception
def patches_not_flattened(images, P):
    """Each patch is still a small image, [B, rows*columns, C, P, P]. A token is a vector: join its last three axes."""
    return _ordered(images, P, "rscij").unflatten(2, (-1, P, P))


@patchify.misconception
def a_token_for_each_channel(images, P):
    """Each channel of a patch became a row of its own, [B, C*rows*columns, P*P]. The channels of a patch belong to one token,
    C*P*P numbers wide."""
    return _cut(images, P).permute(0, 1, 2, 4, 3, 5).flatten(4).flatten(1, 3)


@patchify.misconception
def last_row_and_column_left_out(images, P):
    """The last row and the last column of patches are missing. A range stops before its end: with range(0, H, P) the last patch
    begins at H − P, with range(0, H − P, P) one patch earlier."""
    whole = _ordered(images, P, "rscij").unflatten(1, (images.shape[2] // P, -1))
    return whole[:, :-1, :-1].flatten(1, 2)


@patchify.misconception
def features_in_front(images, P):
    """This is [B, C*P*P, rows*columns], with each patch in a column. A token is a row: exchange the last two axes."""
    return _ordered(images, P, "rscij").mT


@patchify.misconception
def taken_for_a_square(images, P):
    """The image was taken for a square, with as many patches side by side as above each other. It need not be one: columns is the
    width divided by P, rows the height."""
    B, C, H, W = images.shape
    n = H // P
    return images.reshape(B, C, n, P, n, P).permute(0, 2, 4, 1, 3, 5).reshape(B, n * n, C * P * P)


@patchify.alternative
def as_a_student(images, P):
    B, C, H, W = images.shape
    rows, columns = H // P, W // P
    patches = images.reshape(B, C, rows, P, columns, P)
    patches = patches.permute(0, 2, 4, 1, 3, 5)  # [B, rows, columns, C, P, P]
    return patches.reshape(B, rows * columns, C * P * P)


@patchify.alternative
def with_slices(images, P):
    H, W = images.shape[2:]
    corners = [(y, x) for y in range(0, H, P) for x in range(0, W, P)]
    return torch.stack([images[:, :, y : y + P, x : x + P].flatten(1) for y, x in corners], dim=1)


@patchify.alternative
def with_tensor_unfold(images, P):
    cut = images.unfold(2, P, P).unfold(3, P, P)  # [B, C, rows, columns, P, P]
    return cut.flatten(2, 3).transpose(1, 2).flatten(2)


@patchify.alternative
def with_an_index(images, P):
    H, W = images.shape[2:]
    place = torch.arange(H * W, device=images.device).view(H // P, P, W // P, P)
    place = place.transpose(1, 2).reshape(-1, P * P)  # where in an image the pixels of each patch are
    return images.flatten(2)[:, :, place].transpose(1, 2).flatten(2)
