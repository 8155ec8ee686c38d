"""Exercise 9 again: mistakes in how the grid becomes windows, and in the form of the result."""

import torch

from autograder.exercises.unit_13_vision_transformer.shifted_window_mask.declaration import (
    _cut,
    _regions,
    _right,
    shifted_window_mask,
)


@shifted_window_mask.misconception
def windows_by_a_reshape(rows, columns, M, shift):
    """The grid was reshaped to windows of M·M at once, so that a window holds M·M positions that follow each other when the grid
    is read row by row. A window is M rows by M columns: separate both axes, and move the windows' two axes in front of those
    of their positions."""
    regions = _regions(rows, columns, shift).reshape(-1, M * M)
    return regions[:, :, None] == regions[:, None, :]


@shifted_window_mask.misconception
def windows_of_scattered_positions(rows, columns, M, shift):
    """A window holds positions that lie rows/M rows and columns/M columns apart, as if the axes had been separated the other way
    round. Its M rows and its M columns follow each other: an axis of `rows` becomes (rows/M, M), the windows first."""
    cut = _regions(rows, columns, shift).view(M, rows // M, M, columns // M).permute(1, 3, 0, 2).reshape(-1, M * M)
    return cut[:, :, None] == cut[:, None, :]


@shifted_window_mask.misconception
def rows_and_columns_exchanged(rows, columns, M, shift):
    """The mask is that of a grid of `columns` rows and `rows` columns. The rows come first: the grid is [rows, columns]."""
    return _right(columns, rows, M, shift)


@shifted_window_mask.misconception
def windows_column_by_column(rows, columns, M, shift):
    """Each window's mask is right, but the windows are listed column by column. They are counted row by row: the windows of the
    first M rows come first."""
    mask = _right(rows, columns, M, shift)
    return mask.unflatten(0, (rows // M, -1)).transpose(0, 1).flatten(0, 1)


@shifted_window_mask.misconception
def positions_column_by_column(rows, columns, M, shift):
    """The windows are right, but the positions inside them are listed column by column. They are counted row by row, like
    everything in the grid."""
    cut = _cut(_regions(rows, columns, shift), M).unflatten(1, (M, M)).mT.flatten(1)
    return cut[:, :, None] == cut[:, None, :]


@shifted_window_mask.misconception
def to_be_added(rows, columns, M, shift):
    """These are numbers to be added to the scores, 0 and a large negative one. Asked for is a mask of True and False, True where
    a position may attend."""
    return torch.zeros(1).masked_fill(~_right(rows, columns, M, shift), -100.0)


@shifted_window_mask.misconception
def of_the_whole_grid(rows, columns, M, shift):
    """This mask is for all positions of the grid at once. Attention stays within a window: there is one mask of M·M by M·M for
    each."""
    regions = _regions(rows, columns, shift).flatten()
    return regions[:, None] == regions


@shifted_window_mask.misconception
def of_the_last_window(rows, columns, M, shift):
    """This is a single mask, [M*M, M*M]. The windows differ: most have nothing to hide, and those at the grid's end do. There is
    one mask for each, [W, M*M, M*M]."""
    return _right(rows, columns, M, shift)[-1]


@shifted_window_mask.misconception
def windows_as_a_grid(rows, columns, M, shift):
    """The windows have two axes, their row and their column. Count them along one axis, row by row: [W, M*M, M*M]."""
    return _right(rows, columns, M, shift).unflatten(0, (rows // M, -1))
