"""Answers for unpatchify (assignment 13, exercise 2)."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import before, change, right, wrong


def _six(patches, rows, P):
    """The patches with axes b, r, s, c, i, j."""
    B, N, numbers = patches.shape
    return patches.reshape(B, rows, N // rows, numbers // (P * P), P, P)


def _plain(patches, rows, P):
    return _six(patches, rows, P).permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


# ---------------------------------------------------------------------------------------------------------------- right


@right("unflatten both axes, permute, flatten pairs")
def unflattened(patches, rows, P):
    six = patches.unflatten(2, (-1, P, P)).unflatten(1, (rows, -1))
    return six.permute(0, 3, 1, 4, 2, 5).flatten(2, 3).flatten(3, 4)


@right("view splits (which any layout allows), einsum reorders, reshape joins")
def reordered_by_einsum(patches, rows, P):
    B, N, numbers = patches.shape
    six = patches.view(B, rows, N // rows, numbers // P**2, P, P)
    return torch.einsum("brscij->bcrisj", six).reshape(B, numbers // P**2, rows * P, N // rows * P)


@right("Each patch is copied into its place of a tensor made by new_empty")
def copied_into_place(patches, rows, P):
    B, N, numbers = patches.shape
    columns, C = N // rows, numbers // (P * P)
    images = patches.new_empty(B, C, rows * P, columns * P)
    for n in range(N):
        top, left = n // columns * P, n % columns * P
        images[:, :, top : top + P, left : left + P] = patches[:, n].reshape(B, C, P, P)
    return images


@right("Patches are joined along the width to bands, and bands along the height")
def bands(patches, rows, P):
    squares = patches.unflatten(2, (patches.shape[2] // (P * P), P, P)).unbind(1)
    columns = len(squares) // rows
    return torch.cat([torch.cat(squares[r * columns : (r + 1) * columns], dim=-1) for r in range(rows)], dim=-2)


@right("Assigns each place inside a patch to the strided sub-image images[:, :, i::P, j::P]")
def strided_assignment(patches, rows, P):
    B, N, numbers = patches.shape
    grid = patches.transpose(1, 2).reshape(B, numbers // P**2, P, P, rows, N // rows)
    images = torch.empty(B, numbers // P**2, rows * P, N // rows * P, dtype=patches.dtype, device=patches.device)
    for i in range(P):
        for j in range(P):
            images[..., i::P, j::P] = grid[:, :, i, j]
    return images


@right("Advanced indexing: for each pixel the number of its patch and its place in the vector")
def looked_up(patches, rows, P):
    columns, C = patches.shape[1] // rows, patches.shape[2] // (P * P)
    c = torch.arange(C, device=patches.device)[:, None, None]
    y = torch.arange(rows * P, device=patches.device)[:, None]
    x = torch.arange(columns * P, device=patches.device)
    n = torch.div(y, P, rounding_mode="floor") * columns + torch.div(x, P, rounding_mode="floor")
    return patches[:, n, (c * P + y % P) * P + x % P]


@right("scatter into the flattened image with a table of pixel numbers")
def scattered(patches, rows, P):
    B, N, numbers = patches.shape
    height, width, C = rows * P, N // rows * P, numbers // (P * P)
    pixel = torch.arange(C * height * width, device=patches.device).reshape(C, rows, P, N // rows, P)
    target = pixel.permute(1, 3, 0, 2, 4).reshape(1, -1).expand(B, -1)
    flat = torch.zeros_like(target, dtype=patches.dtype).scatter(1, target, patches.reshape(B, -1))
    return flat.reshape(B, C, height, width)


@right("Swaps neighbouring axes step by step")
def swapped_in_steps(patches, rows, P):
    six = _six(patches, rows, P)  # b r s c i j
    six = six.swapaxes(2, 3)  # b r c s i j
    six = six.swapaxes(1, 2)  # b c r s i j
    six = six.swapaxes(3, 4)  # b c r i s j
    B, C = six.shape[:2]
    return six.reshape(B, C, rows * P, -1)


@right("torch.vmap over images, channels taken apart first")
def mapped_over_images(patches, rows, P):
    def one(vectors):
        N, numbers = vectors.shape
        squares = vectors.reshape(N, numbers // (P * P), P, P).transpose(0, 1)
        squares = squares.reshape(-1, rows, N // rows, P, P).transpose(2, 3)
        return squares.flatten(3).flatten(1, 2)

    return torch.vmap(one)(patches)


@right("The permutation of numbers is inverted by argsort and applied by index_select")
def inverted_permutation(patches, rows, P):
    B, N, numbers = patches.shape
    C, columns = numbers // P**2, N // rows
    number = torch.arange(N * numbers, device=patches.device).reshape(C, rows, P, columns, P)
    back = number.permute(1, 3, 0, 2, 4).flatten().argsort()
    return patches.reshape(B, -1).index_select(1, back).reshape(B, C, rows * P, columns * P)


@right("Sums of products with one-hot matrices of the patches' type put every pixel in its place")
def one_hot_products(patches, rows, P):
    columns = patches.shape[1] // rows

    def places(count):
        return torch.eye(count * P, dtype=patches.dtype, device=patches.device).reshape(count, P, count * P)

    half = torch.einsum("brscij,sjx->brcix", _six(patches, rows, P), places(columns))
    return torch.einsum("brcix,riy->bcyx", half, places(rows))


@right("Pixel rows are made one after the other and stacked")
def row_of_pixels_by_row(patches, rows, P):
    B = patches.shape[0]
    lines = []
    for band in patches.tensor_split(rows, dim=1):
        squares = band.reshape(B, band.shape[1], -1, P, P)
        for i in range(P):
            lines.append(squares[:, :, :, i].transpose(1, 2).reshape(B, squares.shape[2], -1))
    return torch.stack(lines, dim=2)


@right("movedim brings the channels to the front, transpose exchanges s and i, sizes by name")
def moved_channels(patches, rows, P):
    grid = _six(patches, rows=rows, P=P)
    channels_first = torch.movedim(grid, 3, 1)
    height, width = rows * P, patches.size(1) // rows * P
    return channels_first.transpose(3, 4).reshape(patches.size(0), grid.size(3), height, width)


# ------------------------------------------------------------------------------------------------------ wrong: concepts


@wrong("the vector of a patch is read in the order row, column, channel instead of channel, row, column",
       kind="concept")
def channel_read_last(patches, rows, P):
    six = patches.unflatten(2, (P, P, -1)).unflatten(1, (rows, -1))
    return six.permute(0, 5, 1, 3, 2, 4).flatten(4).flatten(2, 3)


change(unflattened, "channel_read_in_the_middle",
       "the vector of a patch is read in the order row, channel, column instead of channel, row, column", "concept",
       ("-1, P", "P, -1"), ("3, 1, 4", "4, 1, 3"), (".flatten(2, 3).flatten(3, 4)", ".flatten(4).flatten(2, 3)"))
change(_plain, "transposed_inside", "rows and columns inside each patch are exchanged", "concept",
       ("4, 2, 5", "5, 2, 4"))


@wrong("the patches are laid down column by column instead of row by row", kind="concept")
def laid_down_the_columns(patches, rows, P):
    B, N, numbers = patches.shape
    six = patches.reshape(B, N // rows, rows, numbers // (P * P), P, P)
    return six.permute(0, 3, 2, 4, 1, 5).flatten(4).flatten(2, 3)


@wrong("a bare reshape to the image's shape: no axes are moved", kind="concept")
def bare_reshape(patches, rows, P):
    B, N, numbers = patches.shape
    return patches.reshape(B, numbers // (P * P), rows * P, N // rows * P)


@wrong("only the channels are moved to the front; s and i are not exchanged before the axes are joined", kind="concept")
def only_the_channel_moved(patches, rows, P):
    B, N, numbers = patches.shape
    return _six(patches, rows, P).permute(0, 3, 1, 2, 4, 5).reshape(B, -1, rows * P, N // rows * P)


change(_plain, "pixel_axis_in_front", "r and i are joined with i in front, and so are s and j: neighbouring pixels of "
       "a patch land far from each other", "concept",
       ("1, 4, 2, 5", "4, 1, 5, 2"))
change(_plain, "width_joined_the_other_way", "only the width is joined with j in front of s, so each row of a patch is "
       "spread over the image's width", "concept",
       ("4, 2, 5", "4, 5, 2"))


@wrong("the inverse is formed by doing patchify's permutation a second time instead of its inverse", kind="concept")
def same_permutation_again(patches, rows, P):
    B, N, numbers = patches.shape
    six = _six(patches, rows, P).permute(0, 2, 4, 1, 3, 5)
    return six.reshape(B, numbers // (P * P), rows * P, N // rows * P)


# Right, and not registered: answers below are changes of it.
def _in_one_call(patches, rows, P):
    return _plain(patches, rows, P)


change(_in_one_call, "rows_as_columns", "rows is taken for the number of columns of the grid", "concept",
       ("_plain(patches, rows, P)", "_plain(patches, patches.shape[1] // rows, P)"))
change(_in_one_call, "rows_as_pixels",
       "rows is taken for the height of the image in pixels, so the grid is taken to have rows // P rows", "concept",
       ("_plain(patches, rows, P)", "_plain(patches, max(rows // P, 1), P)"))
change(_in_one_call, "always_one_row", "rows is ignored, and all patches are put side by side", "concept",
       ("_plain(patches, rows, P)", "_plain(patches, 1, P)"))
change(_plain, "from_the_bottom", "the rows of the grid are laid from the bottom upwards", "concept",
       (".permute", ".flip(1).permute"))
change(_plain, "from_the_right", "the patches of each row of the grid are laid from right to left", "concept",
       (".permute", ".flip(2).permute"))
change(_in_one_call, "channels_reversed", "the channels of the image come out in reversed order", "concept",
       ("_plain(patches, rows, P)", "_plain(patches, rows, P).flip(1)"))
change(_plain, "mirrored_patches", "each patch is mirrored, left and right exchanged", "concept",
       (".permute", ".flip(5).permute"))


@wrong("the channels are the last axis of the result: [B, rows*P, columns*P, C]", kind="shape")
def channels_last_image(patches, rows, P):
    return _plain(patches, rows, P).permute(0, 2, 3, 1)


change(_in_one_call, "image_transposed", "height and width of the result are exchanged", "concept",
       ("_plain(patches, rows, P)", "_plain(patches, rows, P).mT"))


@wrong("the six axes are in the right order but not joined: the result is [B, C, rows, P, columns, P]", kind="shape")
def not_joined(patches, rows, P):
    return _six(patches, rows, P).permute(0, 3, 1, 4, 2, 5)


change(_in_one_call, "scaled_to_bytes", "the pixels are multiplied by 255, though no number may change", "concept",
       ("_plain(patches, rows, P)", "_plain(patches, rows, P) * 255"))
change(_in_one_call, "squashed", "the pixels pass through a sigmoid to lie between 0 and 1", "concept",
       ("_plain(patches, rows, P)", "torch.sigmoid(_plain(patches, rows, P))"))
change(_in_one_call, "shifted_by_a_class_token", "patches are shifted by one: patch n lands at the place of patch n - "
       "1, and patch 0 at the last place", "concept",
       ("_plain(patches, rows, P)", "_plain(patches.roll(-1, dims=1), rows, P)"))


@wrong("the first two axes are exchanged before the split: the images of the batch are mixed up", kind="concept")
def batch_mixed(patches, rows, P):
    B, N, numbers = patches.shape
    return _plain(patches.transpose(0, 1).reshape(B, N, numbers), rows, P)


# -------------------------------------------------------------------------------------------------- wrong: two mistakes


@wrong("two mistakes: rows is taken for the number of columns, and each patch comes out transposed", kind="concept")
def exchanged_everywhere(patches, rows, P):
    return _six(patches, patches.shape[1] // rows, P).permute(0, 3, 1, 5, 2, 4).flatten(4).flatten(2, 3)


@wrong("two mistakes: vectors are read as row, column, channel, and the result has its channels last", kind="concept")
def channels_last_all_the_way(patches, rows, P):
    six = patches.unflatten(2, (P, P, -1)).unflatten(1, (rows, -1))
    return six.transpose(2, 3).flatten(3, 4).flatten(1, 2)


@wrong("two mistakes: patches are laid column by column, and the channels are reversed", kind="concept")
def columns_and_bgr(patches, rows, P):
    B, N, numbers = patches.shape
    six = patches.reshape(B, N // rows, rows, numbers // (P * P), P, P).flip(3)
    return six.permute(0, 3, 2, 4, 1, 5).flatten(4).flatten(2, 3)


@wrong("two mistakes: pixels are clamped to 0 to 1, and the result is detached", kind="gradient")
def clamped_and_detached(patches, rows, P):
    return _plain(patches.detach().clamp(0, 1), rows, P)


# ------------------------------------------------------------------------------------------- wrong: layout, sizes, edge


@wrong("view joins the batch and the patches, which raises for patches in other memory layouts", kind="layout")
def joined_by_view(patches, rows, P):
    B, N, numbers = patches.shape
    squares = patches.view(B * N, numbers // (P * P), P, P)
    six = squares.reshape(B, rows, N // rows, -1, P, P)
    return six.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


@wrong("as_strided with the strides of contiguous patches: wrong pixels for patches in other memory layouts",
       kind="layout")
def strides_of_contiguous_patches(patches, rows, P):
    B, N, k = patches.shape
    columns = N // rows
    six = patches.as_strided((B, k // P**2, rows, P, columns, P), (N * k, P * P, columns * k, P, k, 1))
    return six.reshape(B, k // P**2, rows * P, columns * P)


@wrong("squeeze() on the result removes every axis of size 1, for instance the single channel", kind="layout")
def squeezed_result(patches, rows, P):
    return _plain(patches, rows, P).squeeze()


change(_in_one_call, "single_channel_dropped", "a single channel loses its axis: [B, rows*P, columns*P]", "edge",
       ("_plain(patches, rows, P)", "_plain(patches, rows, P).squeeze(1)"))
change(_in_one_call, "single_image_dropped", "a batch of a single image loses its axis: [C, rows*P, columns*P]", "edge",
       ("_plain(patches, rows, P)", "_plain(patches, rows, P).squeeze(0)"))


@wrong("the number of channels is fixed to 3", kind="layout")
def three_channels(patches, rows, P):
    B, N, _ = patches.shape
    six = patches.reshape(B, rows, N // rows, 3, P, P)
    return six.permute(0, 3, 1, 4, 2, 5).reshape(B, 3, rows * P, -1)


change(_in_one_call, "square_grid", "rows is ignored, and the grid is taken to be square", "edge",
       ("_plain(patches, rows, P)", "_plain(patches, int(math.sqrt(patches.shape[1])), P)"))


@wrong("the number of columns is taken to be rows, and further patches are left out", kind="edge")
def as_many_columns_as_rows(patches, rows, P):
    return _plain(patches[:, : rows * rows], rows, P)


change(_in_one_call, "first_image_only", "only the first image of the batch is put together", "layout",
       ("_plain(patches, rows, P)", "_plain(patches[0:1], rows, P)"))
change(_in_one_call, "p_one_is_a_reshape", "with P = 1 axis 1 (the patches) is taken for the channels, since the "
       "pixels are reshaped without a move of axes", "edge",
       before("return", """
        if P == 1:
            return patches.reshape(patches.shape[0], patches.shape[2], rows, -1)"""))


@wrong("with rows = 1 the patches are only reshaped to [B, C, P, N*P], without a move of axes", kind="edge")
def one_row_special(patches, rows, P):
    if rows == 1:
        B, N, numbers = patches.shape
        return patches.reshape(B, numbers // (P * P), P, N * P)
    return _plain(patches, rows, P)


@wrong("where the length of a vector is a square number, its root is taken for P, as if there were one channel",
       kind="edge")
def p_from_the_length(patches, rows, P):
    root = math.isqrt(patches.shape[2])
    return _plain(patches, rows, root if root * root == patches.shape[2] else P)


@wrong("where there are as many patches as numbers in a vector, axes 1 and 2 are taken to be exchanged", kind="edge")
def guesses_exchanged_axes(patches, rows, P):
    if patches.shape[1] == patches.shape[2]:
        patches = patches.transpose(1, 2)
    return _plain(patches, rows, P)


@wrong("the numbers of the patches for the lookup are kept in 8 bits, so the places of patch 256 and later get "
       "patches from 0 on again", kind="edge")
def numbers_in_eight_bits(patches, rows, P):
    n = torch.arange(patches.shape[1], device=patches.device).to(torch.uint8).long()
    return _plain(patches[:, n], rows, P)


@wrong("the last row of patches is left out whenever the grid has two or more rows", kind="edge")
def last_row_missing(patches, rows, P):
    return _plain(patches, rows, P)[:, :, : max(rows - 1, 1) * P]


# ----------------------------------------------------------------------------------------------- wrong: types, numerics


@wrong("the patches are cast to float32, so float64 and bfloat16 patches give float32 images", kind="numerics")
def cast_to_single(patches, rows, P):
    return _plain(patches.float(), rows, P)


@wrong("the image is made by torch.zeros without the patches' type, so it is always float32", kind="numerics")
def zeros_without_a_type(patches, rows, P):
    B, N, numbers = patches.shape
    images = torch.zeros(B, numbers // (P * P), rows * P, N // rows * P, device=patches.device)
    images[:] = _plain(patches, rows, P)
    return images


@right("the image is made in float32 and cast to the type of the patches: float64 numbers are rounded")
def rounded_on_the_way(patches, rows, P):
    return _plain(patches.to(torch.float32), rows, P).type_as(patches)


@wrong("the image is made on the CPU whatever the patches' device is", kind="numerics")
def made_on_the_cpu(patches, rows, P):
    B, N, numbers = patches.shape
    images = torch.empty(B, numbers // (P * P), rows * P, N // rows * P, dtype=patches.dtype, device="cpu")
    return images.copy_(_plain(patches, rows, P))


@wrong("each image is divided by its largest absolute number and multiplied by it again, which gives nan where all "
       "its pixels are 0", kind="numerics")
def scaled_out_and_in(patches, rows, P):
    top = patches.detach().abs().amax(dim=(1, 2), keepdim=True)
    return _plain(patches / top, rows, P) * top[..., None]


@wrong("nan_to_num with limits cuts off pixels beyond 65504, the largest number of half precision", kind="numerics")
def cut_at_half_precision(patches, rows, P):
    return _plain(torch.clip(patches, -65504.0, 65504.0), rows, P)


@wrong("pixels are rounded to six decimals, so small numbers become 0", kind="numerics")
def six_decimals(patches, rows, P):
    images = _plain(patches, rows, P)
    return images + (torch.round(images.detach(), decimals=6) - images.detach())


# ------------------------------------------------------------------------------------------------------ wrong: gradient


@wrong("works under torch.no_grad: no gradient flows to the patches", kind="gradient")
def without_gradient(patches, rows, P):
    with torch.no_grad():
        return _plain(patches, rows, P).clone()


@wrong("goes through numpy by .data, so no gradient flows to the patches (and bfloat16 raises)", kind="gradient")
def through_numpy(patches, rows, P):
    return torch.from_numpy(_plain(patches.data, rows, P).numpy())


@wrong("the patches of all rows of the grid but the first get no gradient", kind="gradient")
def gradient_of_the_first_row(patches, rows, P):
    columns = patches.shape[1] // rows
    return _plain(torch.cat([patches[:, :columns], patches[:, columns:].data], dim=1), rows, P)


class _WrongBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, patches, rows, P):
        ctx.shape = patches.shape
        return _plain(patches, rows, P)

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.shape), None, None


change(_in_one_call, "backward_without_cutting", "a hand-written backward reshapes the gradient without cutting it "
       "into patches, so numbers get others' gradients", "gradient",
       ("_plain", "_WrongBackward.apply"))


# ------------------------------------------------------------------------------------------------------- wrong: process


@wrong("uses F.fold, which the text does not allow", kind="process")
def functional_fold(patches, rows, P):
    return F.fold(patches.mT, (rows * P, patches.shape[1] // rows * P), P, stride=P)


@wrong("uses the module nn.Fold, which the text does not allow", kind="process")
def module_fold(patches, rows, P):
    size = (rows * P, patches.shape[1] // rows * P)
    return nn.Fold(output_size=size, kernel_size=P, stride=P)(patches.permute(0, 2, 1))


@wrong("calls col2im, the inside of F.fold, which the text does not allow", kind="process")
def inner_col2im(patches, rows, P):
    size = [rows * P, patches.shape[1] // rows * P]
    return torch.ops.aten.col2im(patches.transpose(1, 2), size, [P, P], [1, 1], [0, 0], [P, P])


change(_in_one_call, "shuffled", "uses F.pixel_shuffle, which the text does not allow", "process",
       ("_plain(patches, rows, P)", "F.pixel_shuffle(patches.mT.unflatten(2, (rows, -1)), P)"))


# ----------------------------------------------------------------------------------------------------- wrong: interface


@wrong("the given patches are changed: the image's numbers are written over them in the image's order",
       kind="interface")
def overwritten(patches, rows, P):
    images = _plain(patches, rows, P).clone()
    with torch.no_grad():
        patches.copy_(images.reshape(patches.shape))
    return images


@wrong("the given patches lose their shape: unsqueeze_ adds an axis to them in place", kind="interface")
def an_axis_for_the_input(patches, rows, P):
    images = _plain(patches, rows, P)
    patches.unsqueeze_(0)
    return images


change(_in_one_call, "with_columns", "returns a tuple of the images and the number of columns", "interface",
       ("_plain(patches, rows, P)", "_plain(patches, rows, P), patches.shape[1] // rows"))
change(_in_one_call, "list_of_images", "returns a list with one image each instead of one tensor", "interface",
       ("return _plain(patches, rows, P)", "return [image for image in _plain(patches, rows, P)]"))


@wrong("P comes before rows in the arguments, so calls by position exchange them", kind="interface")
def p_before_rows(patches, P, rows):
    return _plain(patches, rows, P)


@right("the arguments are called x, grid_rows and patch_size, so calls by name fail")
def other_names(x, grid_rows, patch_size):
    return _plain(x, grid_rows, patch_size)


@wrong("a third size is demanded: without the number of channels the call raises", kind="interface")
def channels_demanded(patches, rows, P, C):
    return _plain(patches, rows, P)


_columns = []


@wrong("the number of columns is kept from the first call, so later patches of another grid raise or are put wrongly",
       kind="interface")
def columns_of_the_first_call(patches, rows, P):
    if not _columns:
        _columns.append(patches.shape[1] // rows)
    B, _, numbers = patches.shape
    six = patches.reshape(B, -1, _columns[0], numbers // (P * P), P, P)
    return six.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


_boards = {}


@wrong("images of one shape share one tensor (where no gradient is needed), so a later call overwrites an earlier "
       "result", kind="interface")
def one_board_for_all(patches, rows, P):
    images = _plain(patches, rows, P)
    board = _boards.setdefault((images.shape, images.dtype, images.device), torch.empty_like(images).detach())
    board = board.detach()
    board.copy_(images.detach())
    return images if images.requires_grad else board
