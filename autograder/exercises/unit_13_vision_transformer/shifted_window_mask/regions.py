"""Exercise 9 again: mistakes in who was wrapped around, and in what follows from it."""

import torch

from autograder.exercises.unit_13_vision_transformer.shifted_window_mask.declaration import (
    _cut,
    _equal,
    _grid,
    _regions,
    _right,
    _wrapped,
    shifted_window_mask,
)


@shifted_window_mask.misconception
def nothing_hidden(rows, columns, M, shift):
    """Everything is True. The grid's last windows hold positions that were wrapped around, beside others that come from the
    opposite edge of the image: these must not attend to each other."""
    return torch.ones_like(_right(rows, columns, M, shift))


@shifted_window_mask.misconception
def wrapped_without_direction(rows, columns, M, shift):
    """It makes no difference whether a position was wrapped around vertically, horizontally or both ways. In the corner window
    these come from different corners of the image, so that there are four regions: compare the two directions one by one."""
    down, across = _wrapped(rows, columns, shift)
    return _equal(down | across, M)


@shifted_window_mask.misconception
def wrapped_counted(rows, columns, M, shift):
    """Positions were compared by the number of directions in which they were wrapped around, so that one wrapped vertically may
    attend to one wrapped horizontally. These come from different corners of the image: compare the directions one by one."""
    down, across = _wrapped(rows, columns, shift)
    return _equal(down.int() + across, M)


@shifted_window_mask.misconception
def corner_like_the_columns(rows, columns, M, shift):
    """Positions that were wrapped around in both directions count as if they were wrapped horizontally alone, as when one number
    is written over another. They are a region of their own: the corner window has four regions."""
    down, across = _wrapped(rows, columns, shift)
    return _equal(torch.where(across, 2, down.int()), M)


@shifted_window_mask.misconception
def corner_like_the_rows(rows, columns, M, shift):
    """Positions that were wrapped around in both directions count as if they were wrapped vertically alone, as when one number is
    written over another. They are a region of their own: the corner window has four regions."""
    down, across = _wrapped(rows, columns, shift)
    return _equal(torch.where(down, 2, across.int()), M)


@shifted_window_mask.misconception
def one_direction_is_enough(rows, columns, M, shift):
    """Two positions attend to each other if they agree in one direction, vertical or horizontal. They were neighbours only if
    they agree in both."""
    down, across = _wrapped(rows, columns, shift)
    return _equal(down.int(), M) | _equal(across.int(), M)


@shifted_window_mask.misconception
def vertically_alone(rows, columns, M, shift):
    """Only rows count as wrapped around. The grid is moved to the left as well: the last `shift` columns were wrapped around
    too."""
    return _equal(_wrapped(rows, columns, shift)[0].int(), M)


@shifted_window_mask.misconception
def horizontally_alone(rows, columns, M, shift):
    """Only columns count as wrapped around. The grid is moved up as well: the last `shift` rows were wrapped around too."""
    return _equal(_wrapped(rows, columns, shift)[1].int(), M)


@shifted_window_mask.misconception
def wrapped_attend_to_nothing(rows, columns, M, shift):
    """A position that was wrapped around attends to nothing, not even to itself. Those that were wrapped around in the same way
    were neighbours before, and may attend to each other."""
    inside = _cut(_regions(rows, columns, shift) == 0, M)
    return inside[:, :, None] & inside[:, None, :]


@shifted_window_mask.misconception
def moved_down_and_right(rows, columns, M, shift):
    """The first `shift` rows and columns count as wrapped around. That is so when the grid is moved down and to the right; it is
    moved up and to the left, and what leaves it there comes in again as the last rows and columns."""
    i, j = _grid(rows, columns)
    return _equal(2 * (i < shift) + (j < shift), M)


@shifted_window_mask.misconception
def cut_on_the_other_side(rows, columns, M, shift):
    """The cut is on the wrong side: the last M − shift rows and columns count as wrapped around. The grid was moved by `shift`,
    so `shift` of them were."""
    return _equal(_regions(rows, columns, (M - shift) % M), M)


@shifted_window_mask.misconception
def moved_twice(rows, columns, M, shift):
    """The rows and columns that count as wrapped around lie `shift` too far up and to the left, as if their table had been moved
    once more. In the moved grid they are the last ones."""
    return _equal(_regions(rows, columns, shift).roll((-shift, -shift), (0, 1)), M)


@shifted_window_mask.misconception(universal=True)
def moved_by_half_a_window(rows, columns, M, shift):
    """The mask is that of a grid moved by M // 2, whatever `shift` is. Swin moves by this much, but here it is given: the last
    `shift` rows and columns were wrapped around."""
    return _right(rows, columns, M, M // 2)


@shifted_window_mask.misconception
def only_the_corner_cut(rows, columns, M, shift):
    """Only the corner window hides anything. The other windows of the last row and of the last column hold positions that were
    wrapped around as well, in one direction."""
    mask = _right(rows, columns, M, shift)
    return torch.cat([torch.ones_like(mask[:-1]), mask[-1:]])


@shifted_window_mask.misconception
def all_windows_cut(rows, columns, M, shift):
    """Every window is cut like the one in the corner. Only at the grid's end were rows and columns wrapped around: all windows
    but those of the last row and the last column are True throughout."""
    i, j = _grid(rows, columns)
    return _equal(2 * (i % M >= M - shift) + (j % M >= M - shift), M)


@shifted_window_mask.misconception
def same_window_before(rows, columns, M, shift):
    """Positions may attend to each other only if they shared a window before the grid was moved, too. Then the shift connects
    nothing: two windows that were neighbours should meet in the moved one. Hide only what was wrapped around."""
    i, j = _grid(rows, columns)
    return _equal((i + shift) % rows // M * columns + (j + shift) % columns // M, M)


@shifted_window_mask.misconception
def by_distance(rows, columns, M, shift):
    """Where the grid is one window high, your mask lets rows that were wrapped around attend to those that were not, or likewise
    columns where it is one window wide. The rule is the same for a single window: compare who was wrapped around."""
    i, j = (_cut(table, M) for table in _grid(rows, columns))
    i, j = (i + shift) % rows, (j + shift) % columns
    near = [(one[:, :, None] - one[:, None, :]).abs() < M for one in (i, j)]
    return near[0] & near[1]
