"""Exercise 5 again: mistakes in how the positions become a grid and the grid positions, and with the class token's."""

import torch
import torch.nn.functional as F

from autograder.exercises.unit_13_vision_transformer.interpolate_positions.declaration import (
    _image,
    _list,
    _resized,
    interpolate_positions,
)


@interpolate_positions.misconception
def class_token_left_out(positions, rows, columns, new_rows, new_columns):
    """The patches' positions are right, but that of the class token is missing. It is kept as it is, in front of the others: Y
    has M + 1 rows."""
    return _resized(positions, rows, columns, new_rows, new_columns)[1:]


@interpolate_positions.misconception
def class_token_last(positions, rows, columns, new_rows, new_columns):
    """The class token's position stands behind the others. It comes first, as it did before."""
    return _resized(positions, rows, columns, new_rows, new_columns).roll(-1, dims=0)


@interpolate_positions.misconception
def last_taken_for_the_class_token(positions, rows, columns, new_rows, new_columns):
    """The last position was kept, and the first one was taken for a place of the grid. The class token is token 0: positions[0]
    is its position, and the grid is positions[1:]."""
    return _resized(positions.roll(1, dims=0), rows, columns, new_rows, new_columns).roll(-1, dims=0)


@interpolate_positions.misconception
def class_token_in_the_grid(positions, rows, columns, new_rows, new_columns):
    """The grid begins with the class token's position, and lacks the last patch's: positions[:-1] was laid out. The grid is
    positions[1:]."""
    return torch.cat([positions[:1], _resized(positions.roll(1, dims=0), rows, columns, new_rows, new_columns)[1:]])


@interpolate_positions.misconception
def one_sequence_with_the_class_token(positions, rows, columns, new_rows, new_columns):
    """All positions, the class token's among them, were interpolated as one sequence. The class token belongs to no place in
    the image: its position is kept. The others are a grid, and interpolated in two directions."""
    made = F.interpolate(positions.mT[None], size=new_rows * new_columns + 1, mode="linear")
    return made[0].mT


@interpolate_positions.misconception
def one_sequence(positions, rows, columns, new_rows, new_columns):
    """The positions of the patches were interpolated as one sequence, along which the end of a row is next to the beginning of
    the following one. They are a grid: lay them out as rows and columns, and interpolate in both directions."""
    made = F.interpolate(positions[1:].mT[None], size=new_rows * new_columns, mode="linear")
    return torch.cat([positions[:1], made[0].mT])


@interpolate_positions.misconception
def unchanged(positions, rows, columns, new_rows, new_columns):
    """These are the old positions, as they were given. The new grid needs new_rows·new_columns of them, besides the class
    token's."""
    return positions.clone()


@interpolate_positions.misconception
def cut_out(positions, rows, columns, new_rows, new_columns):
    """The positions were not interpolated: the upper left part of the old grid was cut out, or filled up with zeros. The new grid
    stands for the same image, divided into more patches or fewer."""
    image = _image(positions[1:], rows, columns)
    return torch.cat([positions[:1], _list(F.pad(image, (0, new_columns - columns, 0, new_rows - rows)))])


@interpolate_positions.misconception
def old_grid_turned(positions, rows, columns, new_rows, new_columns):
    """The old positions were laid out as `columns` rows of `rows` each. They were counted row by row, and each of the `rows` rows
    has `columns` of them: the shape is rows × columns."""
    return _resized(positions, columns, rows, new_rows, new_columns)


@interpolate_positions.misconception
def new_grid_turned(positions, rows, columns, new_rows, new_columns):
    """The new grid has `new_columns` rows and `new_rows` columns. F.interpolate takes sizes in the order of the axes: with
    [1, D, rows, columns] goes size=(new_rows, new_columns)."""
    return _resized(positions, rows, columns, new_columns, new_rows)


@interpolate_positions.misconception
def both_grids_turned(positions, rows, columns, new_rows, new_columns):
    """Both grids, the old and the new one, were counted column by column. Patches are counted row by row: the old grid has `rows`
    rows of `columns` positions each, the new one new_rows rows of new_columns."""
    return _resized(positions, columns, rows, new_columns, new_rows)


@interpolate_positions.misconception
def transposed(positions, rows, columns, new_rows, new_columns):
    """The image was transposed on the way: what is side by side in the old grid is one below the other in the new one. Keep the
    order of the axes, so that [1, D, rows, columns] becomes [1, D, new_rows, new_columns]."""
    image = _image(positions[1:], rows, columns).mT
    return torch.cat([positions[:1], _list(F.interpolate(image, size=(new_rows, new_columns), mode="bilinear"))])


@interpolate_positions.misconception
def old_grid_column_by_column(positions, rows, columns, new_rows, new_columns):
    """The old positions were laid out column by column, so that neighbours in the image are none in the grid. Patches are counted
    row by row: the columns run fastest, as they do in reshape(rows, columns, D)."""
    image = _image(positions[1:], columns, rows).mT
    return torch.cat([positions[:1], _list(F.interpolate(image, size=(new_rows, new_columns), mode="bilinear"))])


@interpolate_positions.misconception
def new_grid_column_by_column(positions, rows, columns, new_rows, new_columns):
    """The new positions are right, but listed column by column. Patches are counted row by row: the columns run fastest."""
    image = F.interpolate(_image(positions[1:], rows, columns), size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], _list(image.mT)])


@interpolate_positions.misconception
def reshaped_without_moving(positions, rows, columns, new_rows, new_columns):
    """The positions were reshaped to [1, D, rows, columns] at once, so that each channel holds numbers of several features. The
    features are the last axis of a position: reshape to [rows, columns, D], and then move D to the front."""
    image = positions[1:].reshape(1, -1, rows, columns)
    image = F.interpolate(image, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], _list(image)])


@interpolate_positions.misconception
def not_moved_back(positions, rows, columns, new_rows, new_columns):
    """The grid is interpolated, but was then reshaped from [1, D, new_rows, new_columns] at once, so that a vector holds numbers
    of several positions. Move the features to the end before you join rows and columns."""
    image = F.interpolate(_image(positions[1:], rows, columns), size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], image.reshape(-1, positions.shape[1])])


@interpolate_positions.misconception
def reshaped_twice(positions, rows, columns, new_rows, new_columns):
    """The positions were reshaped to [1, D, rows, columns] and back at once, with no axis moved: the channels that are
    interpolated hold numbers of several features. Move D in front of rows and columns before, and behind them afterwards."""
    image = positions[1:].reshape(1, -1, rows, columns)
    image = F.interpolate(image, size=(new_rows, new_columns), mode="bilinear")
    return torch.cat([positions[:1], image.reshape(-1, positions.shape[1])])
