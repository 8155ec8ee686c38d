"""Exercise 1: boxes by their corners."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_14_set_prediction._shared import centred


def _drawn(inputs, sizes, rng):
    return {"boxes": centred(rng, inputs["boxes"].shape[:-1])}


def _over_the_edge(inputs, rng):
    """Boxes of which a part lies outside, on each of the four sides."""
    boxes = inputs["boxes"]
    boxes[..., :2] = rng.choice([-0.02, 0.03, 0.96, 1.04], boxes[..., :2].shape)
    boxes[..., 2:] += 0.2


def _whole_picture(inputs, rng):
    inputs["boxes"][:] = 0.5, 0.5, 1, 1


def _pixels(inputs, rng):
    inputs["boxes"] *= np.float32([640, 480, 640, 480])


@exercise(
    points=1,
    section="Boxes and how much they overlap",
    source="Carion et al. 2020 (DETR), section 3.1; facebookresearch/detr, util/box_ops.py",
    outputs="corners",
    formula="(cx, cy, w, h) → (cx − w/2, cy − h/2, cx + w/2, cy + h/2) along the last axis; [*B, N, 4] gives [*B, N, 4]",
    cases=[
        Case("a batch of pictures", expand={"*B": "B"}),
        Case("the boxes of one picture", expand={"*B": ""}),
        Case("boxes that reach over the picture's edges", expand={"*B": "B"}, edit=_over_the_edge),
        Case("layers, pictures and boxes", expand={"*B": "L B"}),
        Case("a box that is the whole picture", expand={"*B": ""}, edit=_whole_picture, sizes={"N": 1}, edge=True),
        Case("boxes in pixels", expand={"*B": "B"}, edit=_pixels, edge=True),
    ],
    draws=_drawn,
)
def to_corners(boxes: Float[Tensor, "*B N 4"]) -> Float[Tensor, "*B N 4"]:
    centre, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([centre - half, centre + half], dim=-1)


def _parts(boxes):
    return boxes.unbind(dim=-1)


def _joined(*parts):
    return torch.stack(parts, dim=-1)


@to_corners.misconception
def whole_sides(boxes):
    """The corners lie a whole width and height away from the centre, so each box is twice as wide and as high as it should be.
    From the centre to an edge it is half a side."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w, y - h, x + w, y + h)


@to_corners.misconception
def centre_taken_for_a_corner(boxes):
    """The first two numbers were taken for the upper left corner, and the sides were added to them. They are the box's centre:
    half of each side lies on either side of it."""
    x, y, w, h = _parts(boxes)
    return _joined(x, y, x + w, y + h)


@to_corners.misconception
def the_way_back(boxes):
    """This is the way back, from corners to centre and sides. Given are centre and sides; asked for are the corners."""
    x_0, y_0, x_1, y_1 = _parts(boxes)
    return _joined((x_0 + x_1) / 2, (y_0 + y_1) / 2, x_1 - x_0, y_1 - y_0)


@to_corners.misconception
def both_x_first(boxes):
    """The numbers are right, but in another order: x0, x1, y0, y1. A box is two corners, the first one and then the other: x0,
    y0, x1, y1."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w / 2, x + w / 2, y - h / 2, y + h / 2)


@to_corners.misconception
def sides_exchanged(boxes):
    """Width and height have changed places: w belongs to x, h to y. The order of the four numbers is cx, cy, w, h."""
    x, y, w, h = _parts(boxes)
    return _joined(x - h / 2, y - w / 2, x + h / 2, y + w / 2)


@to_corners.misconception
def rows_before_columns(boxes):
    """Each corner is given as (y, x), row before column, as one indexes a matrix. A corner is (x, y): x first, to the right,
    then y, downwards."""
    x, y, w, h = _parts(boxes)
    return _joined(y - h / 2, x - w / 2, y + h / 2, x + w / 2)


@to_corners.misconception
def sides_kept(boxes):
    """The first two numbers are the upper left corner, but the last two are still width and height. They should be the lower
    right corner, (x1, y1)."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w / 2, y - h / 2, w, h)


@to_corners.misconception
def corners_exchanged(boxes):
    """The two corners have changed places: the lower right one comes first. (x0, y0) is the corner with the smaller numbers,
    the upper left one."""
    x, y, w, h = _parts(boxes)
    return _joined(x + w / 2, y + h / 2, x - w / 2, y - h / 2)


@to_corners.misconception
def y_upwards(boxes):
    """y0 is larger than y1, as if y grew upwards. In a picture y grows downwards, from the first row on, so the upper edge is
    at cy − h/2."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w / 2, y + h / 2, x + w / 2, y - h / 2)


@to_corners.misconception
def other_corner_at_the_centre(boxes):
    """The second corner is the box's centre. The box reaches half a side beyond it: x1 = cx + w/2, or a whole side from the
    first corner, x0 + w."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w / 2, y - h / 2, x, y)


@to_corners.misconception
def cut_off_at_the_edge(boxes):
    """Boxes are cut off at the picture's edges: no number is below 0 or above 1. A detector's boxes may reach over the edge,
    and nothing is asked but another way to write them; where numbers are clamped, gradients stop, too."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w / 2, y - h / 2, x + w / 2, y + h / 2).clamp(0, 1)


@to_corners.misconception
def width_for_both_sides(boxes):
    """The width is used for both sides, so every box has become a square. The height h is the last of the four numbers."""
    x, y, w, _ = _parts(boxes)
    return _joined(x - w / 2, y - w / 2, x + w / 2, y + w / 2)


@to_corners.misconception
def centre_halved_too(boxes):
    """The centre is halved along with the sides, (cx ± w)/2. Only the side is: cx ± w/2. In Python, a division comes before a
    sum unless brackets say otherwise."""
    x, y, w, h = _parts(boxes)
    return _joined(x - w, y - h, x + w, y + h) / 2


@to_corners.misconception
def centre_left_out(boxes):
    """The numbers are half the sides alone, as if each box lay around the origin. They have to be counted from the box's
    centre: cx − w/2, and so on."""
    x, y, w, h = _parts(boxes)
    return _joined(-w, -h, w, h) / 2


@to_corners.alternative
def coordinate_by_coordinate(boxes):
    x, y, w, h = boxes.unbind(-1)
    return torch.stack([x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h], dim=-1)


@to_corners.alternative
def as_one_matrix(boxes):
    half = 0.5
    matrix = boxes.new_tensor([[1, 0, 1, 0], [0, 1, 0, 1], [-half, 0, half, 0], [0, -half, 0, half]])
    return boxes @ matrix


@to_corners.alternative
def corner_by_adding_sides(boxes):
    centre, sides = boxes.split(2, dim=-1)
    first = centre - sides / 2
    return torch.cat((first, first + sides), dim=-1)


@to_corners.alternative
def written_into_a_new_tensor(boxes):
    corners = torch.empty_like(boxes)
    corners[..., 0::2] = torch.stack([boxes[..., 0] - boxes[..., 2] / 2, boxes[..., 0] + boxes[..., 2] / 2], dim=-1)
    corners[..., 1::2] = torch.stack([boxes[..., 1] - boxes[..., 3] / 2, boxes[..., 1] + boxes[..., 3] / 2], dim=-1)
    return corners
