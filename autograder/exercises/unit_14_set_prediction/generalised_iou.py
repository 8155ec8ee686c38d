"""Exercise 2: how much boxes overlap, and how far apart they are where they do not."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_14_set_prediction._shared import centred

TOGETHER, APART = "boxes that overlap", "boxes apart"


def _drawn(inputs, sizes, rng):
    """Boxes of positive area at random: some overlap, some do not."""
    centres, halves = np.split(np.concatenate([centred(rng, (len(inputs[name]),)) for name in "AB"]), 2, axis=-1)
    boxes = np.concatenate([centres - halves / 2, centres + halves / 2], axis=-1)
    return dict(zip("AB", np.split(boxes, [len(inputs["A"])])))


def _together(inputs, rng):
    """Every box reaches over the middle, the first of A from the picture's corner on; the last of B lies within it."""
    for boxes in inputs.values():
        boxes[:, :2] = rng.uniform(0, 0.4, boxes[:, :2].shape)
        boxes[:, 2:] = rng.uniform(0.6, 1, boxes[:, 2:].shape)
    inputs["A"][0, :2] = 0  # so that it overlaps with the others also where it is larger
    inputs["B"][-1, 2:] = 0.5 + (inputs["A"][0, 2:] - 0.5) * 0.4


def _little(inputs, rng):
    """Small boxes, of a thousandth of the picture's side."""
    _together(inputs, rng)
    for boxes in inputs.values():
        boxes[:] = 0.5 + boxes * np.float32(1e-3)


def _apart(inputs, rng):
    """A's boxes in two opposite quarters of the picture, B's in the others; some lie apart in both directions."""
    for swapped, boxes in enumerate(inputs.values()):
        sides = rng.uniform(0.06, 0.25, (len(boxes), 2))
        first = rng.uniform(0.02, 0.46 - sides)
        quarter = np.arange(len(boxes))[:, None] % 2
        first += 0.5 * np.concatenate([quarter, quarter ^ swapped], axis=1)
        boxes[:] = np.concatenate([first, first + sides], axis=1)


def _touching(inputs, rng):
    """Boxes that share an edge, a corner, all of their area, or a part of it with edges on one line."""
    grid = np.float32([[0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0.5, 0.5, 1, 1], [0.25, 0, 0.5, 1], [0, 0, 1, 0.25]])
    for boxes in inputs.values():
        boxes[:] = grid[rng.permutation(5)[: len(boxes)]]


@exercise(
    points={TOGETHER: 2, APART: 1},
    section="Boxes and how much they overlap",
    source="Rezatofighi et al. 2019, algorithm 1",
    outputs="overlaps",
    formula="GIoU = |a ∩ b| / |a ∪ b| − (|c| − |a ∪ b|) / |c|, |a ∪ b| = |a| + |b| − |a ∩ b|, c the smallest box that holds both;"
    " A [N, 4], B [M, 4] as (x0, y0, x1, y1) give overlaps [N, M]",
    cases=[
        Case("boxes that overlap", edit=_together, part=TOGETHER),
        Case("more boxes in B", edit=_together, part=TOGETHER, sizes={"N": 3, "M": 9}),
        Case("boxes apart", edit=_apart, part=APART),
        Case("boxes at random", part=APART, sizes={"N": 6, "M": 8}),
        Case("small boxes", edit=_little, part=TOGETHER, edge=True),
        Case(
            "boxes that touch or are the same",
            edit=_touching,
            part=APART,
            edge=True,
            extreme=True,
            sizes={"N": 5, "M": 4},
        ),
        Case("one pair of boxes apart", edit=_apart, part=APART, edge=True, sizes={"N": 1, "M": 1}),
    ],
    draws=_drawn,
    waived={
        "zero": "a box of zeros has no area",
        "spread": "where each number is of another size, the second corner of a box lies before the first",
    },
)
def generalised_iou(A: Float[Tensor, "N 4"], B: Float[Tensor, "M 4"]) -> Float[Tensor, "N M"]:
    a, b = A.unsqueeze(1), B.unsqueeze(0)
    sides = torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])
    shared = sides.clamp(min=0).prod(dim=-1)
    union = (a[..., 2:] - a[..., :2]).prod(dim=-1) + (b[..., 2:] - b[..., :2]).prod(dim=-1) - shared
    around = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(dim=-1)
    return shared / union - (around - union) / around


def _area(boxes, more=0.0):
    return (boxes[..., 2] - boxes[..., 0] + more) * (boxes[..., 3] - boxes[..., 1] + more)


def _shared(a, b):
    """The box that two have in common, also where there is none: its second corner lies before the first."""
    return torch.cat([torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])], dim=-1)


def _around(a, b):
    return torch.cat([torch.minimum(a[..., :2], b[..., :2]), torch.maximum(a[..., 2:], b[..., 2:])], dim=-1)


def _clamped(boxes):
    return (boxes[..., 2:] - boxes[..., :2]).relu().prod(dim=-1)


def _areas(A, B, shared=_clamped, area=_area):
    """The areas [N, M]: of what is shared, of both boxes together, of the box around them."""
    a, b = A[:, None], B[None]
    common = shared(_shared(a, b))
    return common, area(a) + area(b) - common, area(_around(a, b))


def _giou(shared, union, around):
    return shared / union + union / around - 1


@generalised_iou.misconception
def sides_not_clamped(A, B):
    """The sides of what the boxes share are not clamped at 0. Where boxes lie apart a side comes out negative, and two negative
    sides even make a positive area: for boxes that share nothing."""
    return _giou(*_areas(A, B, shared=_area))


@generalised_iou.misconception
def area_clamped(A, B):
    """Boxes that lie apart in both directions seem to overlap. Two negative sides make a positive area, so clamp each side at
    0, not the area."""
    return _giou(*_areas(A, B, shared=lambda box: _area(box).clamp(min=0)))


@generalised_iou.misconception
def sides_without_signs(A, B):
    """Where boxes lie apart, the gap between them is taken for a side of what they share, without its sign. They share nothing
    there: a side below 0 counts as 0."""
    return _giou(*_areas(A, B, shared=lambda box: _area(box).abs()))


@generalised_iou.misconception
def shared_counted_twice(A, B):
    """The union is the sum of both areas, so what the boxes share is counted twice. Subtract the intersection once."""
    shared, union, around = _areas(A, B)
    return _giou(shared, union + shared, around)


@generalised_iou.misconception
def iou_alone(A, B):
    """This is the IoU, without the second term. IoU is 0 for all boxes that do not overlap, however far apart they are; GIoU
    subtracts the share of the enclosing box that neither of them covers."""
    shared, union, _ = _areas(A, B)
    return shared / union


@generalised_iou.misconception
def empty_share_only_apart(A, B):
    """Boxes that overlap get their IoU, and only the others the second term. It belongs to every pair: where two boxes overlap
    at a corner, the box around them has empty room, too."""
    shared, union, around = _areas(A, B)
    return torch.where(shared > 0, shared / union, union / around - 1)


@generalised_iou.misconception
def divided_by_the_union(A, B):
    """The second term is divided by the union. It is the empty share of the enclosing box, (|c| − |a ∪ b|) / |c|, which is
    never more than 1."""
    shared, union, around = _areas(A, B)
    return shared / union - (around - union) / union


@generalised_iou.misconception
def intersection_for_union(A, B):
    """What is subtracted is the share of the enclosing box that lies outside of the intersection. Only what neither box covers
    counts as empty: |c| less the union."""
    shared, union, around = _areas(A, B)
    return shared / union - (around - shared) / around


@generalised_iou.misconception
def empty_share_added(A, B):
    """The second term is added. It is a penalty: the more empty room the enclosing box has, the further apart the two boxes
    are, and the lower GIoU is."""
    shared, union, around = _areas(A, B)
    return shared / union + (around - union) / around


@generalised_iou.misconception
def larger_box_for_the_enclosing(A, B):
    """The larger of the two boxes stands in the place of the enclosing one. The enclosing box reaches from the smallest x0 and
    y0 of both to the largest x1 and y1."""
    shared, union, _ = _areas(A, B)
    return _giou(shared, union, torch.maximum(_area(A)[:, None], _area(B)))


@generalised_iou.misconception
def centres_and_sides(A, B):
    """The boxes were taken for centres and sides, and converted once more. They are given by their corners, (x0, y0, x1,
    y1)."""
    made = [torch.cat([X[:, :2] - X[:, 2:] / 2, X[:, :2] + X[:, 2:] / 2], dim=1) for X in (A, B)]
    return _giou(*_areas(*made))


@generalised_iou.misconception
def second_corner_for_the_sides(A, B):
    """The area of a box was taken to be the product of its last two numbers. These are the corner (x1, y1); the sides are x1 −
    x0 and y1 − y0."""
    shared, _, around = _areas(A, B)
    return _giou(shared, (A[:, 2] * A[:, 3])[:, None] + B[:, 2] * B[:, 3] - shared, around)


@generalised_iou.misconception
def one_more_pixel(A, B):
    """A 1 is added to each side, as older code does for boxes in whole pixels. Here the coordinates are fractions of the
    picture's sides, and a side is x1 − x0."""
    return _giou(*_areas(A, B, lambda box: _clamped(box + box.new_tensor([0, 0, 1, 1])), lambda box: _area(box, 1)))


@generalised_iou.misconception
def minus_one_for_all_apart(A, B):
    """All boxes that do not overlap get the same number. GIoU goes on falling with the distance: it is the union's share of the
    enclosing box, less 1."""
    shared, union, around = _areas(A, B)
    return torch.where(shared > 0, _giou(shared, union, around), torch.full_like(shared, -1.0))


@generalised_iou.alternative
def by_areas(A, B):
    return _giou(*_areas(A, B))


@generalised_iou.alternative
def coordinates_apart(A, B):
    (ax, ay, au, av), (bx, by, bu, bv) = A[:, :, None].unbind(1), B.T
    zero = A.new_zeros(())
    wide, high = torch.maximum(au.min(bu) - ax.max(bx), zero), torch.maximum(av.min(bv) - ay.max(by), zero)
    union = (au - ax) * (av - ay) + (bu - bx) * (bv - by) - wide * high
    around = (au.max(bu) - ax.min(bx)) * (av.max(bv) - ay.min(by))
    return wide * high / union - (around - union) / around


@generalised_iou.alternative
def box_by_box(A, B):
    rows = [
        torch.where((a[2:] > B[:, :2]) & (B[:, 2:] > a[:2]), _shared(a, B)[:, 2:] - _shared(a, B)[:, :2], 0) for a in A
    ]
    shared, around = torch.stack(rows).prod(dim=-1), torch.stack([_area(_around(a, B)) for a in A])
    union = torch.cat([_area(a[None]) + _area(B)[None] for a in A]) - shared
    return shared / union - 1 + union / around
