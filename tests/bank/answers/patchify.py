"""Answers for patchify (assignment 13, exercise 1)."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import change, right, wrong


def _six(images, P):
    """The image with axes b, c, r, i, s, j."""
    B, C, height, width = images.shape
    return images.reshape(B, C, height // P, P, width // P, P)


def _plain(images, P):
    six = _six(images, P).permute(0, 2, 4, 1, 3, 5)
    return six.reshape(six.shape[0], six.shape[1] * six.shape[2], -1)


# ---------------------------------------------------------------------------------------------------------------- right


@right("The method Tensor.unfold along height and width, then permute and flatten")
def sliding_method(images, P):
    windows = images.unfold(2, P, P).unfold(3, P, P)
    return windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


@right("view splits the axes (which any layout allows), movedim and flatten put them together")
def split_by_view(images, P):
    B, C, height, width = images.shape
    six = images.view(B, C, height // P, P, width // P, P)
    return six.movedim((2, 4), (1, 2)).flatten(3, 5).flatten(1, 2)


@right("einsum reorders six axes that unflatten has made")
def reordered_by_einsum(images, P):
    six = images.unflatten(3, (-1, P)).unflatten(2, (-1, P))
    return torch.einsum("bcrisj->brscij", six).flatten(-3).flatten(1, 2)


@right("Loops over rows and columns of the grid, slices each patch and stacks")
def sliced_and_stacked(images, P):
    found = []
    for top in range(0, images.shape[2], P):
        for left in range(0, images.shape[3], P):
            found.append(images[:, :, top : top + P, left : left + P].flatten(1))
    return torch.stack(found, dim=1)


@right("Writes patch by patch into a tensor made by new_empty")
def written_into_place(images, P):
    B, C, height, width = images.shape
    rows, columns = height // P, width // P
    out = images.new_empty(B, rows * columns, C * P * P)
    for n in range(rows * columns):
        r, s = divmod(n, columns)
        out[:, n] = images[:, :, r * P : r * P + P, s * P : s * P + P].reshape(B, C * P * P)
    return out


@right("Advanced indexing with broadcast tables of channel, row and column")
def looked_up(images, P):
    B, C, height, width = images.shape
    columns = width // P
    n = torch.arange((height // P) * columns, device=images.device)[:, None]
    k = torch.arange(C * P * P, device=images.device)[None, :]
    channel = k // (P * P)
    y = (n // columns) * P + (k // P) % P
    x = (n % columns) * P + k % P
    return images[:, channel, y, x]


@right("split along the height and then along the width; cat along a new axis of patches")
def split_and_cat(images, P):
    parts = [part for band in images.split(P, dim=2) for part in band.split(P, dim=3)]
    return torch.cat([part.reshape(part.shape[0], 1, -1) for part in parts], dim=1)


@right("The strided sub-images images[:, :, i::P, j::P] are stacked as the last axes")
def strided_subimages(images, P):
    inner = torch.stack(
        [torch.stack([images[:, :, i::P, j::P] for j in range(P)], dim=-1) for i in range(P)], dim=-2
    )  # b, c, r, s, i, j
    inner = inner.permute(0, 2, 3, 1, 4, 5)
    return inner.reshape(images.shape[0], -1, images.shape[1] * P * P)


@right("Transposes two neighbouring axes at a time")
def swapped_in_steps(images, P):
    six = _six(images, P)  # b c r i s j
    six = six.transpose(3, 4)  # b c r s i j
    six = six.transpose(1, 2)  # b r c s i j
    six = six.transpose(2, 3)  # b r s c i j
    B, rows, columns = six.shape[:3]
    return six.reshape(B, rows * columns, six.shape[3] * P * P)


@right("torch.vmap over a function that cuts a single image")
def mapped_over_images(images, P):
    def one(image):
        C, height, width = image.shape
        parts = image.reshape(C, height // P, P, width // P, P).permute(1, 3, 0, 2, 4)
        return parts.reshape((height // P) * (width // P), C * P * P)

    return torch.vmap(one)(images)


@right("gather on the flattened image with a table of pixel numbers that is cut like an image")
def gathered(images, P):
    B, C, height, width = images.shape
    number = torch.arange(C * height * width, device=images.device).reshape(1, C, height, width)
    order = _plain(number, P)[0]
    flat = images.reshape(B, -1)
    return flat.gather(1, order.reshape(1, -1).expand(B, -1)).reshape(B, *order.shape)


@right("Selects pixels by products with one-hot matrices of the images' type")
def one_hot_products(images, P):
    def chosen(size):
        eye = torch.eye(size, dtype=images.dtype, device=images.device)
        return eye.reshape(size // P, P, size)

    six = torch.einsum("riy,bcyx->bcrix", chosen(images.shape[2]), images)
    six = torch.einsum("bcrix,sjx->brscij", six, chosen(images.shape[3]))
    return six.flatten(3).flatten(1, 2)


@right("Image by image, patches by chunk, channels last in the loop")
def image_by_image(images, P):
    rows, columns = images.shape[2] // P, images.shape[3] // P
    made = []
    for image in images.unbind(0):
        bands = [band.chunk(columns, dim=-1) for band in image.chunk(rows, dim=-2)]
        made.append(torch.stack([torch.cat([c.flatten() for c in part]) for band in bands for part in band]))
    return torch.stack(made)


# ------------------------------------------------------------------------------------------------------ wrong: concepts


@wrong("the vector of a patch is in the order row, column, channel instead of channel, row, column", kind="concept")
def channel_runs_fastest(images, P):
    return _six(images, P).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


@wrong("the vector of a patch is in the order row, channel, column instead of channel, row, column", kind="concept")
def channel_in_the_middle(images, P):
    return _six(images, P).permute(0, 2, 4, 3, 1, 5).flatten(3).flatten(1, 2)


@wrong("rows and columns inside the patch are exchanged: each patch comes out transposed", kind="concept")
def transposed_inside(images, P):
    return _six(images, P).permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)


# Right, and not registered: answers below are changes of it.
def _in_one_call(images, P):
    return _plain(images, P)


change(_in_one_call, "counted_down_the_columns",
       "patches are counted column by column instead of row by row", "concept",
       ("_plain(images, P)", "_six(images, P).permute(0, 4, 2, 1, 3, 5).flatten(3).flatten(1, 2)"))


@wrong("a bare reshape: no axes are moved, so the rows of pixels are cut into pieces that are no patches",
       kind="concept")
def bare_reshape(images, P):
    B, C, height, width = images.shape
    return images.reshape(B, (height // P) * (width // P), C * P * P)


@wrong("after the split into six axes the channel is moved behind the grid, but i and s are not exchanged",
       kind="concept")
def only_the_channel_moved(images, P):
    B, C, height, width = images.shape
    six = _six(images, P).permute(0, 2, 3, 1, 4, 5)
    return six.reshape(B, (height // P) * (width // P), C * P * P)


@wrong("height and width are split as [P, rows] and [P, columns], so a patch takes pixels at distances of rows and "
       "columns instead of neighbours", kind="concept")
def dilated_patches(images, P):
    B, C, height, width = images.shape
    six = images.reshape(B, C, P, height // P, P, width // P)
    return six.permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2)


@wrong("the width is split as [P, columns] instead of [columns, P], so pixels of a patch's row are not neighbours",
       kind="concept")
def width_split_the_other_way(images, P):
    B, C, height, width = images.shape
    six = images.reshape(B, C, height // P, P, P, width // P)
    return six.permute(0, 2, 5, 1, 3, 4).flatten(3).flatten(1, 2)


change(dilated_patches, "p_parts_per_side",
       "P is taken for the number of patches per side: the image is cut into P by P parts", "concept",
       ("3, 5, 1, 2, 4", "2, 4, 1, 3, 5"))
change(_in_one_call, "from_the_bottom", "the rows of the grid are counted from the bottom upwards", "concept",
       ("_plain(images, P)", "_six(images, P).flip(2).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)"))
change(_in_one_call, "channels_reversed", "the channels stand in reversed order in each vector", "concept",
       ("_plain(images, P)", "_plain(images.flip(1), P)"))


@wrong("every second row of the grid is counted from right to left, like a snake", kind="concept")
def snake_order(images, P):
    grid = _six(images, P).permute(0, 2, 4, 1, 3, 5).flatten(3)
    bands = [band.flip(1) if r % 2 else band for r, band in enumerate(grid.unbind(1))]
    return torch.cat(bands, dim=1)


change(sliding_method, "overlapping",
       "windows move on by one pixel instead of P, so patches overlap and there are more of them", "concept",
       ("P, P", "P, 1", 2))


@wrong("each channel becomes a patch of its own: the result is [B, C*rows*columns, P*P]", kind="shape")
def a_patch_for_each_channel(images, P):
    return _six(images, P).permute(0, 1, 2, 4, 3, 5).flatten(4).flatten(1, 3)


change(_in_one_call, "grey_patches",
       "the channels are averaged, so a vector has P*P numbers instead of C*P*P", "concept",
       ("_plain(images, P)", "_plain(images.mean(1, keepdim=True), P)"))


@wrong("the two last axes of the result are exchanged: it is [B, C*P*P, rows*columns]", kind="shape")
def features_before_patches(images, P):
    return _plain(images, P).transpose(1, 2)


@wrong("each vector is normalised to mean 0 and variance 1, though no number may change", kind="concept")
def normalised_pixels(images, P):
    patches = _plain(images, P)
    variance, mean = torch.var_mean(patches, dim=-1, keepdim=True, correction=0)
    return (patches - mean) / (variance + 1e-6).sqrt()


change(_in_one_call, "scaled_to_one", "the pixels are divided by 255, though no number may change", "concept",
       ("_plain(images, P)", "_plain(images / 255, P)"))


@wrong("the image is moved cyclically by one pixel to the left before it is cut (columns start at 1)", kind="concept")
def starts_at_pixel_one(images, P):
    return _plain(images.roll(-1, dims=3), P)


change(only_the_channel_moved, "batch_joined_last",
       "the batch is not in front when the axes are joined: patches of different images are mixed up", "concept",
       ("0, 2, 3, 1, 4", "2, 4, 0, 1, 3"))


@wrong("height and width are exchanged when the number of rows and columns is read, so an image that is not square "
       "is cut at wrong places", kind="concept")
def rows_from_the_width(images, P):
    B, C, width, height = images.shape
    six = images.reshape(B, C, height // P, P, width // P, P)
    return six.permute(0, 2, 4, 1, 3, 5).reshape(B, (height // P) * (width // P), C * P * P)


@wrong("each patch is turned by 90 degrees", kind="concept")
def turned_patches(images, P):
    six = _six(images, P).permute(0, 2, 4, 1, 3, 5)
    return torch.rot90(six, 1, dims=(-2, -1)).flatten(3).flatten(1, 2)


# -------------------------------------------------------------------------------------------------- wrong: two mistakes


change(_in_one_call, "two_orders_wrong",
       "two mistakes: patches are counted column by column, and the channel runs fastest inside a patch", "concept",
       ("_plain(images, P)", "_six(images, P).permute(0, 4, 2, 3, 5, 1).flatten(3).flatten(1, 2)"))


@wrong("two mistakes: patches come out transposed, and the result is [B, C*P*P, rows*columns]", kind="shape")
def transposed_twice(images, P):
    return _six(images, P).permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2).transpose(1, 2)


change(_in_one_call, "scaled_and_detached", "two mistakes: pixels are scaled from [0, 255] to [-1, 1], and the result "
       "is detached from the gradient", "gradient",
       ("_plain(images, P)", "_plain(images.detach() / 127.5 - 1, P)"))


@wrong("two mistakes: the grid is counted from the right to the left, and the channels are reversed", kind="concept")
def mirrored_and_bgr(images, P):
    return _six(images.flip(1), P).flip(4).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


# --------------------------------------------------------------------------------------------- wrong: layout, sizes


@wrong("view joins the batch and the channels, which raises for images in other memory layouts", kind="layout")
def joined_by_view(images, P):
    B, C, height, width = images.shape
    five = images.view(B * C, height // P, P, width // P, P).permute(0, 1, 3, 2, 4)
    return five.reshape(B, C, -1, P * P).transpose(1, 2).reshape(B, -1, C * P * P)


@wrong("as_strided with the strides of a contiguous image: wrong pixels for images in other memory layouts",
       kind="layout")
def strides_of_a_contiguous_image(images, P):
    B, C, h, w = images.shape
    six = torch.as_strided(images, (B, h // P, w // P, C, P, P), (C * h * w, P * w, P, h * w, w, 1))
    return six.reshape(B, (h // P) * (w // P), C * P * P)


@wrong("squeeze() on the result removes every axis of size 1, for instance the batch of a single image", kind="layout")
def squeezed_result(images, P):
    return _plain(images, P).squeeze()


@wrong("only an axis of patches of size 1 is dropped: an image that is a single patch gives [B, C*P*P]", kind="edge")
def single_patch_loses_its_axis(images, P):
    return _plain(images, P).squeeze(1)


@wrong("the number of channels is fixed to 3", kind="layout")
def three_channels(images, P):
    B, _, height, width = images.shape
    six = images.reshape(B, 3, height // P, P, width // P, P).permute(0, 2, 4, 1, 3, 5)
    return six.reshape(B, -1, 3 * P * P)


@wrong("the image is taken to be square: the number of columns is that of the rows", kind="edge")
def square_images(images, P):
    B, C, height, _ = images.shape
    side = height // P
    six = images[:, :, : side * P, : side * P].reshape(B, C, side, P, side, P)
    return six.permute(0, 2, 4, 1, 3, 5).reshape(B, side * side, C * P * P)


change(_in_one_call, "first_image_only", "only the first image of the batch is cut", "layout",
       ("_plain(images, P)", "_plain(images[:1], P)"))


@wrong("an image whose last axis is 1 or 3 wide is taken to be stored with its channels last", kind="edge")
def guesses_channels_last(images, P):
    if images.shape[-1] in (1, 3):
        images = images.permute(0, 3, 1, 2)
    B, C, height, width = images.shape
    six = images.reshape(B, C, height // P, P, width // P, P)
    return six.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * P * P)


change(_in_one_call, "p_one_is_a_flatten",
       "with P = 1 the pixels are flattened without moving the channels to the end (axis 1 are the channels)", "edge",
       ("_plain(images, P)", "images.flatten(2) if P == 1 else _plain(images, P)"))


@wrong("an image with a single channel keeps its patches as squares: [B, rows*columns, P, P]", kind="edge")
def grey_images_keep_squares(images, P):
    patches = _plain(images, P)
    return patches.unflatten(-1, (P, P)) if images.shape[1] == 1 else patches


change(_in_one_call, "at_most_196", "at most 196 patches are kept, the number of a ViT-B/16", "edge",
       ("_plain(images, P)", "_plain(images, P)[:, :196]"))


@wrong("the last column of patches is left out whenever there are two or more columns", kind="edge")
def last_column_missing(images, P):
    columns = max(images.shape[3] // P - 1, 1)
    return _plain(images[..., : columns * P], P)


@wrong("the numbers of the patches for the lookup are kept in 8 bits, so patch 256 is patch 0 again, and so on",
       kind="edge")
def numbers_in_eight_bits(images, P):
    B, C, height, width = images.shape
    columns = width // P
    n = torch.arange((height // P) * columns, device=images.device).to(torch.uint8).long()
    grid = _six(images, P).permute(0, 2, 4, 1, 3, 5)
    return grid[:, n // columns, n % columns].flatten(2)


# ----------------------------------------------------------------------------------------------- wrong: types, device


@wrong("the images are cast to float32, so float64 and bfloat16 images come back as float32", kind="numerics")
def cast_to_single(images, P):
    return _plain(images.float(), P)


@right("the pixels pass through float32 and back: float64 numbers are rounded, and beyond 3e38 they become infinite")
def through_single_precision(images, P):
    return _plain(images.to(torch.float32), P).to(images.dtype)


@wrong("the result is built in torch.zeros without the images' type, so it is always float32", kind="numerics")
def zeros_without_a_type(images, P):
    B, C, height, width = images.shape
    columns = width // P
    out = torch.zeros(B, (height // P) * columns, C * P * P, device=images.device)
    for n in range(out.shape[1]):
        y, x = n // columns * P, n % columns * P
        out[:, n] = images[:, :, y : y + P, x : x + P].reshape(B, -1)
    return out


@wrong("the result is built on the CPU whatever the images' device is", kind="numerics")
def built_on_the_cpu(images, P):
    B, C, height, width = images.shape
    out = torch.zeros(B, (height // P) * (width // P), C * P * P, dtype=images.dtype, device="cpu")
    out[:] = _plain(images, P)
    return out


@wrong("numbers below 1e-6 in absolute value are set to 0", kind="numerics")
def tiny_pixels_vanish(images, P):
    patches = _plain(images, P)
    return torch.where(patches.abs() < 1e-6, torch.zeros_like(patches), patches)


change(_in_one_call, "clamped_pixels", "the pixels are clamped to the range from -1e4 to 1e4", "numerics",
       ("_plain(images, P)", "_plain(images, P).clamp(-1e4, 1e4)"))


@wrong("the image's largest number is subtracted and added again, which loses small numbers beside large ones",
       kind="numerics")
def shifted_and_back(images, P):
    top = images.detach().amax(dim=(1, 2, 3), keepdim=True)
    return _plain(images - top, P) + top[:, 0]


# ------------------------------------------------------------------------------------------------------ wrong: gradient


change(_in_one_call, "detached", "the result is detached: no gradient flows to the images", "gradient",
       ("_plain(images, P)", "_plain(images, P).detach()"))


@wrong("the result is built anew by torch.tensor from a list, so no gradient flows to the images", kind="gradient")
def built_from_a_list(images, P):
    return torch.tensor(_plain(images, P).tolist(), dtype=images.dtype, device=images.device)


@wrong("all channels but the first are detached, so no gradient flows to them", kind="gradient")
def gradient_of_one_channel(images, P):
    return _plain(torch.cat([images[:, :1], images[:, 1:].detach()], dim=1), P)


class _WrongBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, images, P):
        ctx.shape = images.shape
        return _plain(images, P)

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(ctx.shape), None


change(_in_one_call, "backward_without_permute", "a hand-written backward only reshapes the gradient, so it reaches "
       "other pixels than those it belongs to", "gradient",
       ("_plain", "_WrongBackward.apply"))


# ------------------------------------------------------------------------------------------------------- wrong: process


change(_in_one_call, "functional_unfold", "uses F.unfold, which the text does not allow", "process",
       ("_plain(images, P)", "F.unfold(images, P, stride=P).transpose(1, 2)"))
change(_in_one_call, "module_unfold", "uses the module nn.Unfold, which the text does not allow", "process",
       ("return _plain(images, P)", "return nn.Unfold(kernel_size=(P, P), stride=(P, P))(images).mT"))


@wrong("calls im2col, the inside of F.unfold, which the text does not allow", kind="process")
def inner_im2col(images, P):
    return torch.ops.aten.im2col(images, [P, P], [1, 1], [0, 0], [P, P]).permute(0, 2, 1)


change(_in_one_call, "unshuffled", "uses F.pixel_unshuffle, which the text does not allow", "process",
       ("_plain(images, P)", "F.pixel_unshuffle(images, P).flatten(2).transpose(1, 2)"))


# ----------------------------------------------------------------------------------------------------- wrong: interface


@wrong("the images are changed: their smallest number is subtracted in place, and added again only to the result",
       kind="interface")
def lowered_in_place(images, P):
    with torch.no_grad():
        low = images.amin()
        images.sub_(low)
    return _plain(images, P) + low


@wrong("the images come back transposed: transpose_ exchanges height and width of the given tensor in place",
       kind="interface")
def transposed_in_place(images, P):
    images = images.transpose_(2, 3)
    return _six(images, P).permute(0, 4, 2, 1, 5, 3).flatten(3).flatten(1, 2)


@wrong("returns a tuple of the patches and the grid's size instead of the patches", kind="interface")
def with_the_grid(images, P):
    return _plain(images, P), (images.shape[2] // P, images.shape[3] // P)


change(_in_one_call, "list_of_images",
       "returns a list with the patches of each image instead of one tensor", "interface",
       ("_plain(images, P)", "list(_plain(images, P))"))


@right("the arguments are called x and patch_size instead of images and P, so calls by name fail")
def other_names(x, patch_size):
    return _plain(x, patch_size)


@wrong("P can be given by name only", kind="interface")
def p_by_name_only(images, *, P):
    return _plain(images, P)


_orders = {}


@wrong("the order of the pixels is kept from the first call and looked up by P alone, so later images of another "
       "size are cut wrongly or raise", kind="interface")
def order_kept_by_p(images, P):
    if P not in _orders:
        number = torch.arange(images[0].numel()).reshape(1, *images.shape[1:])
        _orders[P] = _plain(number, P)[0]
    order = _orders[P].to(images.device)
    return images.flatten(1)[:, order.flatten()].unflatten(1, order.shape)


_seen = {}


@wrong("results are kept by shape and type of the images: another image of the same shape gets the first one's "
       "patches", kind="interface")
def result_kept_by_shape(images, P):
    key = (images.shape, images.dtype, images.device, P)
    if key not in _seen:
        _seen[key] = _plain(images, P)
    return _seen[key]


@wrong("for a single row of patches (height P) the vectors are in the order row, channel, column", kind="edge")
def single_row_special(images, P):
    if images.shape[2] == P:
        B, C, _, width = images.shape
        return images.reshape(B, C, P, width // P, P).permute(0, 3, 2, 1, 4).flatten(2)
    return _plain(images, P)


@wrong("the number of columns is computed from the total by a square root: grids that are not square fail", kind="edge")
def root_of_the_patches(images, P):
    B, C, height, width = images.shape
    side = int(math.sqrt(height * width // (P * P)))
    return images.reshape(B, C, side, P, side, P).permute(0, 2, 4, 1, 3, 5).reshape(B, side * side, -1)
