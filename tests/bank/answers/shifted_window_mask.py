"""Answers for shifted_window_mask."""
import torch
import torch.nn.functional as F

from answers import before, change, right, wrong


def _cut(region, M):
    """[rows, columns] to [W, M*M], windows and their positions row by row."""
    rows, columns = region.shape
    return region.reshape(rows // M, M, columns // M, M).transpose(1, 2).reshape(-1, M * M)


def _pairs(region, M):
    """True where two positions of a window have the same number."""
    windows = _cut(region, M)
    return windows[:, :, None] == windows[:, None, :]


def _wrapped(rows, columns, shift):
    """Which rows and which columns of the moved grid were wrapped around, [rows, 1] and [1, columns]."""
    return (torch.arange(rows) >= rows - shift)[:, None], (torch.arange(columns) >= columns - shift)[None, :]


# ---------------------------------------------------------------------------------------------------------------- right


@right("Four numbers by slices, 1 for wrapped rows and 2 for wrapped columns; with shift 0 nothing is marked")
def numbers_by_slices(rows, columns, M, shift):
    region = torch.zeros(rows, columns, dtype=torch.int64)
    region[rows - shift :] += 1
    region[:, columns - shift :] += 2
    windows = region.view(rows // M, M, columns // M, M).permute(0, 2, 1, 3).reshape(-1, M * M)
    return windows.unsqueeze(2) == windows.unsqueeze(1)


@right("Swin's three bands in each direction, nine regions; the bands before the last window never meet within a "
       "window")
def three_bands(rows, columns, M, shift):
    region = torch.zeros(rows, columns)
    number = 0
    for h in (slice(0, rows - M), slice(rows - M, rows - shift), slice(rows - shift, None)):
        for w in (slice(0, columns - M), slice(columns - M, columns - shift), slice(columns - shift, None)):
            region[h, w] = number
            number += 1
    difference = _cut(region, M)
    difference = difference.unsqueeze(1) - difference.unsqueeze(2)
    return difference.eq(0)


@right("Rows and columns apart: two small tables of agreement, multiplied out by broadcasting over six axes")
def two_tables(rows, columns, M, shift):
    r = (torch.arange(rows) >= rows - shift).reshape(-1, M)
    c = (torch.arange(columns) >= columns - shift).reshape(-1, M)
    same_row = r[:, :, None] == r[:, None, :]
    same_column = c[:, :, None] == c[:, None, :]
    both = same_row[:, None, :, None, :, None] & same_column[None, :, None, :, None, :]
    return both.reshape(-1, M * M, M * M)


@right("All True, then the pairs of the last row and of the last column of windows are switched off")
def switched_off(rows, columns, M, shift):
    down, across = rows // M, columns // M
    mask = torch.ones(down, across, M * M, M * M, dtype=torch.bool)
    place = torch.arange(M * M)
    low = place // M >= M - shift
    far = place % M >= M - shift
    mask[-1] &= ~(low[:, None] ^ low)
    mask[:, -1] &= ~(far[:, None] ^ far)
    return mask.flatten(0, 1)


@right("Written down from the definition: a function of window and two positions, as nested lists")
def by_definition(rows, columns, M, shift):
    across = columns // M

    def wrapped(w, m):
        i, j = w // across * M + m // M, w % across * M + m % M
        return i >= rows - shift, j >= columns - shift

    result = []
    for w in range(rows // M * across):
        kinds = [wrapped(w, m) for m in range(M * M)]
        result.append([[a == b for b in kinds] for a in kinds])
    return torch.tensor(result, dtype=torch.bool)


@right("Marks the rows and columns of the image that leave at the top and at the left, and rolls the table")
def marked_before_rolling(rows, columns, M, shift):
    grid = torch.zeros(rows, columns, dtype=torch.uint8)
    grid[:shift] |= 1
    grid[:, :shift] |= 2
    moved = grid.roll((-shift, -shift), dims=(0, 1))
    return _pairs(moved, M)


@right("One-hot regions and a matrix product: the product of two positions is 1 where their regions are the same")
def product_of_one_hots(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    hot = F.one_hot(_cut(row.long() * 2 + column.long(), M), 4)
    return torch.einsum("wmk,wnk->wmn", hot, hot) > 0


@right("Tensor.unfold cuts the windows out of the table")
def unfolded(rows, columns, M, shift):
    region = torch.add(*[table.int() * weight for table, weight in zip(_wrapped(rows, columns, shift), (1, 10))])
    windows = region.unfold(0, M, M).unfold(1, M, M).flatten(2).flatten(0, 1)
    return torch.eq(windows[..., None], windows[..., None, :])


@right("Numbers of windows of the unmoved image, cut `shift` further down and right, by floor division, then rolled")
def windows_of_the_image(rows, columns, M, shift):
    i = torch.div(torch.arange(rows) - shift, M, rounding_mode="floor")
    j = torch.div(torch.arange(columns) - shift, M, rounding_mode="floor")
    number = torch.stack(torch.meshgrid(i, j, indexing="ij"), dim=-1).roll((-shift, -shift), (0, 1))
    windows = number.unflatten(1, (-1, M)).unflatten(0, (-1, M)).transpose(1, 2).reshape(-1, M * M, 2)
    return (windows[:, :, None] == windows[:, None]).all(dim=-1)


@right("Window after window in two loops, repeat_interleave and repeat, xor, stacked at the end")
def window_after_window(rows: int, columns: int, M: int, shift: int):
    cpu = torch.device("cpu")
    masks = []
    for top in torch.arange(0, rows, M, device=cpu):
        for left in torch.arange(0, columns, M, device=cpu):
            low = (top + torch.arange(M, device=cpu)).ge(rows - shift).repeat_interleave(M)
            far = (left + torch.arange(M, device=cpu)).ge(columns - shift).repeat(M)
            masks.append(torch.logical_not(torch.logical_xor(low[:, None], low) | torch.logical_xor(far[:, None], far)))
    return torch.stack(masks, dim=0)


@right("A Kronecker-like agreement of signs: +1 and −1, products of signs are positive where two positions agree")
def signs(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    r = _cut((1 - 2 * row.int()).expand(rows, columns), M)
    c = _cut((1 - 2 * column.int()).expand(rows, columns), M)
    return (r[:, :, None] * r[:, None, :]).minimum(c[:, :, None] * c[:, None, :]) == 1


@right("Index of each position in the flat grid, looked up in a flat table of regions")
def looked_up(rows, columns, M, shift):
    across = columns // M
    w = torch.arange(rows // M * across, device="cpu")[:, None]
    m = torch.arange(M * M, device="cpu")[None, :]
    i = torch.div(w, across, rounding_mode="floor") * M + torch.div(m, M, rounding_mode="floor")
    j = (w % across) * M + m % M
    code = (i + shift >= rows).int() * 3 + (j + shift >= columns).int() * 5
    return ~(code.unsqueeze(-1) - code.unsqueeze(-2)).bool()


@right("Shift 0 apart: all True; otherwise four patterns, picked for each window by its place at the border")
def four_patterns(rows, columns, M, shift):
    W = rows * columns // (M * M)
    if shift == 0:
        return torch.full((W, M * M, M * M), True)
    stays = torch.zeros(M, dtype=torch.long)
    crosses = torch.cat((stays[shift:], stays[:shift] + 1))
    windows = []
    for top in range(0, rows, M):
        for left in range(0, columns, M):
            r = crosses if top + M == rows else stays
            c = crosses if left + M == columns else stays
            kind = (2 * r[:, None] + c[None, :]).reshape(-1)
            windows.append(kind[:, None] == kind[None, :])
    return torch.stack(windows)


# Right, and not registered: answers below are changes of it.
def _plain(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    return _pairs(2 * row.int() + column.int(), M)


# -------------------------------------------------------------------------------------------------------------- concept


change(_plain, "inverted", "inverted: True stands where two positions must not attend to each other", "concept",
       ("_pairs", "~_pairs"))


@wrong("two positions may attend if they agree in their rows or in their columns, instead of in both", kind="concept")
def or_instead_of_and(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    return _pairs(row.expand(rows, columns), M) | _pairs(column.expand(rows, columns), M)


change(_plain, "rows_only", "only wrapped rows are kept apart, the columns are not looked at", "concept",
       ("row, column", "row, _"), ("2 * row.int() + column.int()", "row.expand(rows, columns)"))
change(_plain, "columns_only", "only wrapped columns are kept apart, the rows are not looked at", "concept",
       ("row, column", "_, column"), ("2 * row.int() + column.int()", "column.expand(rows, columns)"))
change(_plain, "marks_confused", "wrapped rows and wrapped columns are both marked by adding 1, so that positions with "
       "only the one and with only the other cannot be told apart", "concept",
       ("2 * row.int()", "row.int()"))
change(_plain, "two_regions",
       "a position counts as wrapped if its row or its column was wrapped: only two regions, not four", "concept",
       ("2 * row.int() + column.int()", "row | column"))
change(_plain, "wrapped_in_both",
       "a position counts as wrapped only if both its row and its column were wrapped", "concept",
       ("2 * row.int() + column.int()", "row & column"))
change(_plain, "regions_by_xor", "the regions are row xor column: positions wrapped in both directions count as those "
       "wrapped in neither, and those wrapped in rows as those wrapped in columns", "concept",
       ("2 * row.int() + column.int()", "row ^ column"))
change(_plain, "regions_by_difference", "the regions are row minus column: positions wrapped in both directions count "
       "as those wrapped in neither", "concept",
       ("2 * row.int() + column.int()", "row.int() - column.int()"))
change(_plain, "wrapped_at_the_top", "the first `shift` rows and columns of the moved grid are taken for wrapped, as "
       "if it had been moved down and right", "concept",
       ("_wrapped(rows, columns, shift)",
        "torch.arange(rows)[:, None] < shift, torch.arange(columns)[None, :] < shift"))


@wrong("off by one: > instead of >=, so that one row and one column too few count as wrapped", kind="concept")
def one_too_few(rows, columns, M, shift):
    row = torch.arange(rows)[:, None] > rows - shift
    column = torch.arange(columns)[None, :] > columns - shift
    return _pairs(2 * row.int() + column.int(), M)


@wrong("off by one: one row and one column too many count as wrapped, so that with shift 0 the last ones do",
       kind="concept")
def one_too_many(rows, columns, M, shift):
    return _pairs(torch.add(*[2**k * t.int() for k, t in enumerate(_wrapped(rows, columns, shift + 1))]), M)


@wrong("the last M − shift rows and columns count as wrapped instead of the last shift, right only where shift is half "
       "of M, or 0", kind="concept")
def the_other_part(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, M - shift)
    return _pairs(2 * row.int() + column.int(), M) if shift else _pairs(torch.zeros(rows, columns), M)


change(_plain, "whole_window_wrapped", "the whole last window counts as wrapped in each direction, so that within a "
       "window all positions agree and all is True", "concept",
       ("columns, shift", "columns, M"))


@wrong("the marked table of the image is rolled in the wrong direction", kind="concept")
def rolled_the_other_way(rows, columns, M, shift):
    grid = torch.zeros(rows, columns, dtype=torch.int64)
    grid[:shift] += 1
    grid[:, :shift] += 2
    return _pairs(grid.roll((shift, shift), dims=(0, 1)), M)


change(rolled_the_other_way, "rolled_along_one_axis", "the table is rolled by shift along the rows only, so that the "
       "wrapped columns stay marked at the left", "concept",
       ("(shift, shift), dims=(0, 1)", "-shift, dims=0"))
change(_plain, "causal_too",
       "a causal mask is laid on top: no position attends to a later one of its window", "concept",
       ("return _pairs(2 * row.int() + column.int(), M)", "return _pairs(2 * row.int() + column.int(), M).tril()"))
change(_plain, "not_to_itself", "no position may attend to itself", "concept",
       ("return _pairs(2 * row.int() + column.int(), M)",
        "return _pairs(2 * row.int() + column.int(), M) & ~torch.eye(M * M, dtype=torch.bool)"))


@wrong("one-sided: positions of a lower region may attend to those of higher ones as well", kind="concept")
def one_sided(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    windows = _cut(2 * row.int() + column.int(), M)
    return windows[:, :, None] <= windows[:, None, :]


@wrong("only positions wrapped in the same way count, and those that were not wrapped at all attend to nothing "
       "(with shift 0 all is True)", kind="concept")
def unwrapped_see_nothing(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    windows = _cut(2 * row.int() + column.int(), M)
    mask = (windows[:, :, None] == windows[:, None, :]) & (windows[:, :, None] > 0)
    return mask if shift else torch.ones_like(mask)


change(_plain, "only_the_corner", "only the last window, at the lower right, is masked; the other windows at the "
       "bottom and at the right are all True", "concept",
       ("return _pairs(2 * row.int() + column.int(), M)", """
        mask = _pairs(2 * row.int() + column.int(), M)
        mask[:-1] = True
        return mask"""))


@wrong("every window gets the mask of the window at the lower right", kind="concept")
def the_corner_everywhere(rows, columns, M, shift):
    row, column = _wrapped(M, M, shift)
    return _pairs(2 * row.int() + column.int(), M).repeat(rows // M * (columns // M), 1, 1)


change(_plain, "half_the_shift",
       "only the last shift // 2 rows and columns count as wrapped, instead of the last shift", "concept",
       ("columns, shift", "columns, shift // 2"))
change(_plain, "always_half_a_window", "the shift is always taken to be M // 2, whatever is given", "concept",
       ("columns, shift", "columns, M // 2"))


# --------------------------------------------------------------------------------------------------------- two mistakes


@wrong("two mistakes: inverted, and only the rows are looked at", kind="concept")
def inverted_rows_only(rows, columns, M, shift):
    row, _ = _wrapped(rows, columns, shift)
    windows = _cut(row.expand(rows, columns), M)
    return windows[:, :, None] != windows[:, None, :]


change(_plain, "too_few_and_confused", "two mistakes: one row and one column too few count as wrapped, and the marks "
       "of rows and columns are confused", "concept",
       ("columns, shift", "columns, max(shift - 1, 0)"), ("2 * row.int()", "row.int()"))


@wrong("two mistakes: the table is rolled in the wrong direction, and the windows are counted column by column",
       kind="concept")
def other_way_by_columns(rows, columns, M, shift):
    grid = torch.zeros(rows, columns, dtype=torch.int64)
    grid[:shift] += 1
    grid[:, :shift] += 2
    grid = grid.roll((shift, shift), dims=(0, 1))
    windows = grid.reshape(rows // M, M, columns // M, M).permute(2, 0, 1, 3).reshape(-1, M * M)
    return windows[:, :, None] == windows[:, None, :]


@wrong("two mistakes: the result is of float with −100 where attention is forbidden and 0 elsewhere, and the "
       "wrapped rows are one too few", kind="interface")
def additive_and_too_few(rows, columns, M, shift):
    row = torch.arange(rows)[:, None] > rows - shift
    column = torch.arange(columns)[None, :] >= columns - shift
    return torch.zeros(1).masked_fill(~_pairs(2 * row.int() + column.int(), M), -100.0)


# ---------------------------------------------------------------------------------------------------------------- shape


@wrong("the windows are counted column by column instead of row by row", kind="shape")
def windows_by_columns(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    region = 2 * row.int() + column.int()
    windows = region.reshape(rows // M, M, columns // M, M).permute(2, 0, 1, 3).reshape(-1, M * M)
    return windows[:, :, None] == windows[:, None, :]


change(windows_by_columns, "positions_by_columns",
       "the positions inside a window are counted column by column instead of row by row", "shape",
       ("2, 0, 1, 3", "0, 2, 3, 1"))
change(_plain, "everything_by_columns",
       "windows and positions are both counted column by column, which is right only for a square grid", "shape",
       ("2 * row.int() + column.int()", "(2 * row.int() + column.int()).T"))


@wrong("the table is reshaped into windows without bringing the axes of the windows together, which cuts out "
       "stretches of rows", kind="shape")
def reshaped_only(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    windows = (2 * row.int() + column.int()).reshape(-1, M * M)
    return windows[:, :, None] == windows[:, None, :]


@wrong("the numbers of window rows and window columns are swapped when the table is cut: right only for a square grid",
       kind="shape")
def window_counts_swapped(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    region = 2 * row.int() + column.int()
    windows = region.reshape(columns // M, M, rows // M, M).transpose(1, 2).reshape(-1, M * M)
    return windows[:, :, None] == windows[:, None, :]


change(one_too_few, "limit_of_the_rows",
       "columns are compared with the limit of the rows, rows − shift, which is right only for a square grid", "shape",
       ("> rows", ">= rows"), ("> columns", ">= rows"))
change(_plain, "square_assumed", "the grid is assumed to be square: the number of columns is not used", "shape",
       ("columns, shift", "rows, shift"))


@wrong("the windows keep two axes: [rows/M, columns/M, M*M, M*M] instead of [W, M*M, M*M]", kind="shape")
def two_axes_of_windows(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    return _pairs(2 * row.int() + column.int(), M).unflatten(0, (rows // M, columns // M))


@wrong("an axis for the heads is added: [W, 1, M*M, M*M] instead of [W, M*M, M*M]", kind="shape")
def axis_for_the_heads(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    return _pairs(2 * row.int() + column.int(), M).unsqueeze(1)


change(_plain, "one_large_table", "the mask is one table over all positions of the grid, [rows*columns, rows*columns], "
       "instead of one for each window", "shape",
       ("return _pairs(2 * row.int() + column.int(), M)",
        "return torch.block_diag(*_pairs(2 * row.int() + column.int(), M).int()).bool()"))


# -------------------------------------------------------------------------------------------------------------- layout


@wrong("view instead of reshape after the axes were permuted: it raises unless columns = M or M = 1",
       kind="layout")
def view_after_permute(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    region = 2 * row.int() + column.int()
    windows = region.view(rows // M, M, columns // M, M).permute(0, 2, 1, 3).view(-1, M * M)
    return windows[:, :, None] == windows[:, None, :]


change(_plain, "squeezed", "squeeze() without an axis on the result: axes disappear with a single window or with "
       "windows of one patch", "layout",
       ("return _pairs(2 * row.int() + column.int(), M)", "return _pairs(2 * row.int() + column.int(), M).squeeze()"))


# ------------------------------------------------------------------------------------------------------------ interface


change(_plain, "ones_and_zeros", "the mask is of float32, 1 and 0, instead of bool", "interface",
       ("return _pairs(2 * row.int() + column.int(), M)", "return _pairs(2 * row.int() + column.int(), M).float()"))


@wrong("an additive mask of 0 and −inf is returned instead of bool", kind="interface")
def additive(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    allowed = _pairs(2 * row.int() + column.int(), M)
    return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))


change(_plain, "bytes_instead_of_bool", "the mask is of uint8 instead of bool", "interface",
       ("return _pairs(2 * row.int() + column.int(), M)",
        "return _pairs(2 * row.int() + column.int(), M).to(torch.uint8)"))
change(_plain, "float_without_shift",
       "with shift 0 the mask is of float32 instead of bool, since torch.ones is used without a type", "interface",
       before("row, column =", """
        if shift == 0:
            return torch.ones(rows // M * (columns // M), M * M, M * M)"""))
change(_plain, "none_without_shift", "with shift 0 None is returned instead of a mask", "interface",
       before("row, column =", """
        if not shift:
            return None"""))
change(_plain, "list_of_masks", "a list of one mask for each window is returned instead of one tensor", "interface",
       ("return _pairs(2 * row.int() + column.int(), M)", "return list(_pairs(2 * row.int() + column.int(), M))"))
change(_plain, "with_the_regions", "the mask comes back with the table of regions, as a tuple", "interface",
       ("return _pairs(2 * row.int() + column.int(), M)", """
        region = 2 * row.int() + column.int()
        return _pairs(region, M), region"""))
change(_plain, "sizes_by_name_only", "the arguments M and shift can be given by name only", "interface",
       ("M, shift", "*, M, shift"))
change(_plain, "by_position_only", "all arguments can be given by position only", "interface",
       ("M, shift", "M, shift, /"))


@right("the arguments are called window and offset instead of M and shift")
def other_names(rows, columns, window, offset):
    row, column = _wrapped(rows, columns, offset)
    return _pairs(2 * row.int() + column.int(), window)


change(_plain, "columns_first", "the arguments rows and columns stand in the opposite order", "interface",
       ("rows, columns, M", "columns, rows, M"))


_masks = {}


@wrong("masks are kept from earlier calls under rows, columns and M alone: another shift gets the mask of the first "
       "one", kind="interface")
def kept_without_the_shift(rows, columns, M, shift):
    if (rows, columns, M) not in _masks:
        row, column = _wrapped(rows, columns, shift)
        _masks[rows, columns, M] = _pairs(2 * row.int() + column.int(), M)
    return _masks[rows, columns, M].clone()


_layer = [0]


change(_plain, "every_second_layer",
       "every second call gives a mask that is all True, as if it were for a layer without a shift", "interface",
       before("row, column =", "_layer[0] += 1"), ("columns, shift", "columns, shift if _layer[0] % 2 else 0"))


# ----------------------------------------------------------------------------------------------------------------- edge


change(_plain, "no_shift_for_one_window", "where the grid is a single window high or wide nothing counts as wrapped, "
       "in neither direction, as in Swin's own code", "edge",
       ("columns, shift", "columns, 0 if min(rows, columns) <= M else shift"))


@wrong("in a direction in which the grid is a single window nothing counts as wrapped (the other direction is right)",
       kind="edge")
def no_wrap_in_a_single_window(rows, columns, M, shift):
    row, _ = _wrapped(rows, columns, shift if rows > M else 0)
    _, column = _wrapped(rows, columns, shift if columns > M else 0)
    return _pairs(2 * row.int() + column.int(), M)


@wrong("two positions may attend if they are less than M rows and columns apart in the image, which lets wrapped "
       "and other rows meet where the grid is a single window high (or wide)", kind="edge")
def near_in_the_image(rows, columns, M, shift):
    i = ((torch.arange(rows) + shift) % rows)[:, None].expand(rows, columns)
    j = ((torch.arange(columns) + shift) % columns)[None, :].expand(rows, columns)
    a, b = _cut(i, M), _cut(j, M)
    near = (a[:, :, None] - a[:, None, :]).abs() < M
    return near & ((b[:, :, None] - b[:, None, :]).abs() < M)


change(_plain, "zero_as_default", "shift 0 is taken for 'not given' and replaced by M // 2", "edge",
       ("columns, shift", "columns, shift or M // 2"))


@wrong("the slice [-shift:] is the whole axis with shift 0, so that the table becomes twice as high and wide, and "
       "there are four times as many windows", kind="edge")
def parts_put_together(rows, columns, M, shift):
    row = [0] * (rows - shift) + [1] * len(range(rows)[-shift:])
    column = [0] * (columns - shift) + [1] * len(range(columns)[-shift:])
    region = 2 * torch.tensor(row)[:, None] + torch.tensor(column)[None, :]
    return _pairs(region, M)


change(_plain, "empty_for_one_patch",
       "with windows of a single patch an empty mask is returned, since nothing could be shifted there", "edge",
       before("row, column =", """
        if M == 1:
            return torch.ones(0, 1, 1, dtype=torch.bool)"""))
change(_plain, "diagonal_for_one_window",
       "in a grid that is a single window the whole mask is only the diagonal", "edge",
       before("row, column =", """
        if rows == columns == M and shift > 0:
            return torch.eye(M * M, dtype=torch.bool)[None]"""))


@wrong("the rows and columns are numbered in bfloat16, which holds no odd numbers beyond 256: the limit is "
       "misplaced in grids of hundreds of rows", kind="numerics")
def numbered_in_bfloat16(rows, columns, M, shift):
    row = torch.arange(rows).to(torch.bfloat16)[:, None] >= rows - shift
    column = torch.arange(columns).to(torch.bfloat16)[None, :] >= columns - shift
    return _pairs(2 * row.int() + column.int(), M)


@wrong("the rows and columns are numbered in int8: beyond 127 the numbers become negative, and these rows and columns "
       "do not count as wrapped", kind="numerics")
def numbered_in_int8(rows, columns, M, shift):
    row = torch.arange(rows).to(torch.int8).int()[:, None] >= rows - shift
    column = torch.arange(columns).to(torch.int8).int()[None, :] >= columns - shift
    return _pairs(2 * row.int() + column.int(), M)


change(_plain, "sixty_four_windows", "only the first 64 windows are returned; those beyond are missing", "shape",
       ("return _pairs(2 * row.int() + column.int(), M)", "return _pairs(2 * row.int() + column.int(), M)[:64]"))


@wrong("the regions are compared with a tolerance of 0.01 after division by the number of positions, so that in large "
       "windows different regions count as the same", kind="numerics")
def compared_with_tolerance(rows, columns, M, shift):
    row, column = _wrapped(rows, columns, shift)
    windows = _cut(2.0 * row + column, M) / (M * M)
    return (windows[:, :, None] - windows[:, None, :]).abs() < 0.01
