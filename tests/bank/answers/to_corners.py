"""Answers to to_corners (assignment 14)."""

import numpy as np
import torch
from answers import change, right, wrong

# ---------------------------------------------------------------- right


@right("Four columns with keepdim slices, joined by cat")
def columns_joined(boxes):
    cx, cy, w, h = boxes[..., 0:1], boxes[..., 1:2], boxes[..., 2:3], boxes[..., 3:4]
    return torch.cat([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], dim=-1)


@right("chunk in two, minus and plus half of the second")
def in_two_chunks(boxes):
    centre, size = torch.chunk(boxes, 2, dim=-1)
    return torch.cat((centre - size * 0.5, centre + size * 0.5), -1)


@right("A copy whose columns are filled")
def filled_copy(boxes):
    out = boxes.clone()
    out[..., 0] = boxes[..., 0] - boxes[..., 2] / 2
    out[..., 1] = boxes[..., 1] - boxes[..., 3] / 2
    out[..., 2] = boxes[..., 0] + boxes[..., 2] / 2
    out[..., 3] = boxes[..., 1] + boxes[..., 3] / 2
    return out


@right("Reshaped to [.., 2, 2] and combined with signs")
def with_signs(boxes):
    pairs = boxes.reshape(*boxes.shape[:-1], 2, 2)
    signs = torch.tensor([[-0.5], [0.5]], dtype=boxes.dtype, device=boxes.device)
    return (pairs[..., :1, :] + signs * pairs[..., 1:, :]).flatten(-2)


@right("einsum with a 4 by 4 matrix")
def by_einsum(boxes):
    M = torch.eye(4, dtype=boxes.dtype, device=boxes.device)
    M[2:, :2] = torch.eye(2, dtype=boxes.dtype, device=boxes.device)
    M[:2, 2:] = -0.5 * torch.eye(2, dtype=boxes.dtype, device=boxes.device)
    M[2:, 2:] = 0.5 * torch.eye(2, dtype=boxes.dtype, device=boxes.device)
    return torch.einsum("ij,...j->...i", M, boxes)


@right("Repeat the centre, add the halves with a sign")
def centre_twice(boxes):
    centre = boxes[..., :2].repeat(*[1] * (boxes.ndim - 1), 2)
    half = boxes[..., 2:].div(2)
    return centre + torch.cat([half.neg(), half], dim=-1)


@right("The first corner, then the first corner plus the size")
def corner_plus_size(boxes):
    xy = boxes[..., :2] - boxes[..., 2:] / 2
    return torch.cat([xy, boxes[..., 2:] + xy], dim=-1)


@right("transpose to put the coordinates first")
def coordinates_first(boxes):
    cx, cy, w, h = boxes.movedim(-1, 0)
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]).movedim(0, -1)


@right("Box by box")
def box_by_box(boxes):
    rows = [torch.cat([b[:2] - b[2:] / 2, b[:2] + b[2:] / 2]) for b in boxes.reshape(-1, 4)]
    return torch.stack(rows).view(boxes.shape)


# ---------------------------------------------------------------- wrong


def _xywh(boxes):
    return boxes[..., 0], boxes[..., 1], boxes[..., 2], boxes[..., 3]


# Right, and not registered: answers below are changes of it.
def _plain(boxes):
    c, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([c - half, c + half], -1)


change(_plain, "whole_sizes", "the whole width and height are subtracted and added", "concept",
       ("c, half", "c, s"), ("boxes[..., 2:] / 2", "boxes[..., 2:]"), ("c - half, c + half", "c - s, c + s"))


@wrong("centre and size are read as corner and size", kind="concept")
def corner_and_size(boxes):
    return torch.cat([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], -1)


change(_plain, "other_way", "the conversion goes the other way, corners to centre", "concept",
       ("c, half", "a, b"), ("boxes[..., 2:] / 2", "boxes[..., 2:]"), ("c - half, c + half", "(a + b) / 2, b - a"))


@wrong("order x0, x1, y0, y1", kind="concept")
def xxyy(boxes):
    x, y, w, h = _xywh(boxes)
    return torch.stack([x - w / 2, x + w / 2, y - h / 2, y + h / 2], -1)


@wrong("height for the x, width for the y", kind="concept")
def sizes_swapped(boxes):
    x, y, h, w = _xywh(boxes)
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1)


change(xxyy, "yxyx", "order y0, x0, y1, x1", "concept",
       ("x - w / 2, x + w / 2, y - h / 2, y + h / 2", "y - h / 2, x - w / 2, y + h / 2, x + w / 2"))


@wrong("only the corner is moved; width and height stay (COCO's format)", kind="concept")
def coco(boxes):
    return torch.cat([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., 2:]], -1)


@wrong("plus and minus exchanged", kind="concept")
def plus_first(boxes):
    half = boxes[..., 2:] / 2
    return torch.cat([boxes[..., :2] + half, boxes[..., :2] - half], -1)


change(xxyy, "y_up", "y grows upwards: the first corner is the lower left", "concept",
       ("x + w / 2, y - h / 2, y + h / 2", "y + h / 2, x + w / 2, y - h / 2"))


@wrong("x1 from x0, which was already moved: x0 + w/2", kind="concept")
def half_from_the_moved_corner(boxes):
    out = boxes.clone()
    out[..., :2] -= out[..., 2:] / 2
    out[..., 2:] = out[..., :2] + out[..., 2:] / 2
    return out


change(_plain, "clamped", "clamped to the picture", "concept",
       ("return torch.cat([c - half, c + half], -1)",
        "return torch.cat([c - half, c + half], -1).clamp(min=0, max=1)"))
change(_plain, "clamped_below", "clamped below at 0 only", "concept",
       ("return torch.cat([c - half, c + half], -1)", "return torch.cat([c - half, c + half], -1).clamp(min=0)"))
change(_plain, "first_corner_clamped", "only the upper corner is clamped at 0", "concept",
       ("c - half", "(c - half).relu()"))
change(_plain, "quarters", "a quarter of the size", "concept",
       ("c, half", "c, s"), ("boxes[..., 2:] / 2", "boxes[..., 2:]"), ("c - half, c + half", "c - s / 4, c + s / 4"))
change(xxyy, "height_not_halved", "one plus one half in x, a whole in y", "concept",
       ("x + w / 2, y - h / 2, y + h / 2", "y - h, x + w / 2, y + h"))
change(_plain, "squares", "the width is used for both directions", "concept",
       ("boxes[..., 2:]", "boxes[..., 2:3]"))
change(_plain, "squares_of_the_height", "the height is used for both directions", "concept",
       ("boxes[..., 2:]", "boxes[..., 3:]"))
change(_plain, "precedence", "precedence: (centre - size) / 2", "concept",
       ("c, half", "c, s"), ("boxes[..., 2:] / 2", "boxes[..., 2:]"),
       ("c - half, c + half", "(c - s) / 2, (c + s) / 2"))


@wrong("the input comes back", kind="process")
def nothing_done(boxes):
    return boxes


change(plus_first, "around_zero", "the centre is lost: half sizes around 0", "concept",
       ("boxes[..., :2] + half, boxes[..., :2] - half", "-half, half"))


@wrong("the first corner is right, the second is its size added twice", kind="concept")
def second_too_far(boxes):
    first = boxes[..., :2] - boxes[..., 2:] / 2
    return torch.cat([first, boxes[..., :2] + boxes[..., 2:]], -1)


change(_plain, "floor_division", "integer division by two", "numerics",
       ("/ 2", "// 2"))
change(_plain, "minus_one", "whole pixels: the lower right corner is one less", "concept",
       ("c + half", "c + half - 1"))
change(_plain, "rounded", "rounded to whole numbers", "numerics",
       ("return torch.cat([c - half, c + half], -1)", "return torch.cat([c - half, c + half], -1).round()"))
change(_plain, "two_by_two", "stacked on a new axis, [.., 2, 2]", "shape",
       (".cat([c - half, c + half], -1)", ".stack([c - half, c + half], -2)"))
change(xxyy, "coordinates_in_front", "the coordinates come first in the shape, [4, ..]", "shape",
       ("[x - w / 2, x + w / 2, y - h / 2, y + h / 2], -1", "[x - w / 2, y - h / 2, x + w / 2, y + h / 2]"))
change(_plain, "joined_along_the_boxes", "the corners are joined along the axis of boxes", "shape",
       ("[c - half, c + half], -1", "[c - half, c + half], -2"))
change(_plain, "two_results", "a tuple of the two corners", "interface",
       ("return torch.cat([c - half, c + half], -1)", "return c - half, c + half"))


@wrong("indexing with [:, 0], which is right for two axes only", kind="shape")
def two_axes_only(boxes):
    x, y, w, h = boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3]
    return torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], dim=1)


@wrong("indexing with [:, :, 0], which is right for three axes only", kind="shape")
def three_axes_only(boxes):
    c, half = boxes[:, :, :2], boxes[:, :, 2:] / 2
    return torch.cat([c - half, c + half], dim=2)


@wrong("changes its input", kind="process")
def in_place(boxes):
    half = boxes[..., 2:] / 2
    low, high = boxes[..., :2] - half, boxes[..., :2] + half
    boxes[..., :2], boxes[..., 2:] = low, high
    return boxes


@wrong("by numpy, so no gradient comes through", kind="gradient")
def by_numpy(boxes):
    b = boxes.detach().cpu().numpy()
    out = np.concatenate([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], axis=-1)
    return torch.from_numpy(out)


change(_plain, "detached", "detached", "gradient",
       ("boxes[..., :2], boxes[..., 2:] / 2", "boxes.detach()[..., :2], boxes.detach()[..., 2:] / 2"))


@wrong("no gradient, under no_grad", kind="gradient")
def under_no_grad(boxes):
    with torch.no_grad():
        c, half = boxes[..., :2], boxes[..., 2:] / 2
        return torch.cat([c - half, c + half], -1)


@wrong("in float32 whatever comes in", kind="numerics")
def always_single(boxes):
    b = boxes.float()
    return torch.cat([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1)


@wrong("in half precision on the way", kind="numerics")
def by_half(boxes):
    b = boxes.half()
    return torch.cat([b[..., :2] - b[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2], -1).to(boxes.dtype)


@wrong("a matrix of float32 in the product", kind="numerics")
def single_matrix(boxes):
    M = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]])
    return boxes @ M


change(single_matrix, "matrix_transposed", "the matrix is used transposed", "concept",
       ("torch.tensor", "boxes.new_tensor"), ("boxes @ M", "boxes @ M.T"))
change(_plain, "sorted_numbers", "sorted coordinates, so that x0 <= y0 <= ...", "concept",
       ("return torch.cat([c - half, c + half], -1)", "return torch.cat([c - half, c + half], -1).sort(-1).values"))


@wrong("view(-1, 4), the batch axes are gone", kind="shape")
def flattened(boxes):
    b = boxes.reshape(-1, 4)
    return torch.cat([b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2], 1)


change(_plain, "sizes_first", "read as (w, h, cx, cy)", "concept",
       ("c, half = boxes[..., :2], boxes[..., 2:] / 2", "half, c = boxes[..., :2] / 2, boxes[..., 2:]"))
change(sizes_swapped, "interleaved", "read as (cx, w, cy, h)", "concept",
       ("y, h, w", "w, y, h"))
change(xxyy, "other_diagonal", "four corners' x and y mixed: upper right and lower left", "concept",
       ("x - w / 2, x + w / 2, y - h / 2", "x + w / 2, y - h / 2, x - w / 2"))
change(corner_and_size, "centre_and_second_corner",
       "the size is added only: the first corner is the centre minus nothing, the second half a size away", "concept",
       ("boxes[..., 2:]", "boxes[..., 2:] / 2"))
change(by_half, "by_double", "a view of numbers computed in double precision, cast back", "numerics",
       (".half()", ".double()"), verdict="open")
