"""Exercise 7: average precision, by which detectors are compared; here its mistakes of matching and of order."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_14_set_prediction.average_precision.detections import (
    draw_detections,
    neighbours,
    nothing_right,
)


def _case(text, threshold=0.5, edit=None, edge=False, **sizes):
    return Case(text, values={"threshold": threshold}, sizes=sizes, edit=edit, edge=edge)


@exercise(
    points=2,
    section="How good is a detector?",
    source="Everingham et al. 2010 (Pascal VOC), section 4.2, over all recalls; matched as by COCO (Lin et al. 2014)",
    outputs="AP",
    formula="by falling score, each detection takes the target left with which its IoU is largest, where that is at least"
    " threshold: it is right; precision_n = right among the first n / n, recall_n = right among the first n / M; AP = Σ"
    " (recall_n − recall_{n−1}) · max over m ≥ n of precision_m; scores [N], boxes [N, 4], targets [M, 4] as corners; a scalar",
    cases=[
        _case("a few detections"),
        _case("several detections for a target", N=11, M=4),
        _case("a threshold of 0.75", threshold=0.75, N=14, M=5),
        _case("more targets than detections", N=7, M=9),
        _case("targets that overlap", edit=neighbours, N=6, M=5),
        _case("one target", edge=True, N=5, M=1),
        _case("no detection is right", edit=nothing_right, edge=True, N=4, M=3),
    ],
    draws=draw_detections,
    differentiable=False,
    equivalent={"if best > threshold:": "whether an IoU is exactly the threshold hangs on how it was rounded"},
    waived={
        "zero": "a box has an area: between two boxes without one there is no IoU",
        "spread": "a box whose corners are scaled one by one is none",
    },
)
def average_precision(
    scores: Float[Tensor, "N"], boxes: Float[Tensor, "N 4"], targets: Float[Tensor, "M 4"], threshold: float
) -> Float[Tensor, ""]:
    overlaps = _iou(boxes, targets)
    hits = torch.zeros_like(scores)
    for place, n in enumerate(scores.argsort(descending=True)):
        best, m = overlaps[n].max(dim=0)
        if best >= threshold:
            hits[place] = 1
            overlaps[:, m] = 0
    precision = hits.cumsum(dim=0) / torch.arange(1, len(scores) + 1, device=scores.device)
    highest = precision.flip(0).cummax(dim=0).values.flip(0)
    return (hits * highest).sum() / len(targets)


def _iou(A, B, least=0.0, once=True):
    """The IoU of each box of A with each of B, [N, M]."""
    sides = torch.minimum(A[:, None, 2:], B[:, 2:]) - torch.maximum(A[:, None, :2], B[:, :2])
    shared = (sides if least is None else sides.clamp(min=least)).prod(dim=-1)
    area, other = ((one[:, 2:] - one[:, :2]).prod(dim=-1) for one in (A, B))
    return shared / (area[:, None] + other - shared * once)


def _right(scores, boxes, targets, threshold, *, order=None, iou=_iou, choose=None):
    """Whether each detection is right, [N], from the first on; `choose` gives, for its IoUs and the targets that are left, the
    target, whether it is right, and whether it takes it."""
    overlaps, left, found = iou(boxes, targets), [True] * len(targets), []
    for n in (scores.argsort(descending=True) if order is None else order).tolist():
        m, right, takes = (choose or _of_those_left)(overlaps[n].tolist(), left, threshold)
        left = [one and not (takes and k == m) for k, one in enumerate(left)]
        found.append(right)
    return torch.tensor(found, dtype=scores.dtype, device=scores.device)


def _of_those_left(overlaps, left, threshold):
    m = max(range(len(left)), key=lambda m: overlaps[m] if left[m] else -1)
    right = left[m] and overlaps[m] >= threshold
    return m, right, right


def _precision(right):
    return right.cumsum(dim=0) / torch.arange(1, len(right) + 1, dtype=right.dtype, device=right.device)


def _envelope(precision):
    return precision.flip(0).cummax(dim=0).values.flip(0)


def _area(right, M):
    return (right * _envelope(_precision(right))).sum() / M


@average_precision.misconception
def found_twice(scores, boxes, targets, threshold):
    """A target can be found several times: each detection that overlaps it enough counts as right. The first takes it, and those
    that come after are false, or a detector could repeat itself for nothing."""

    def choose(overlaps, left, threshold):
        m = int(np.argmax(overlaps))
        return m, overlaps[m] >= threshold, False

    return _area(_right(scores, boxes, targets, threshold, choose=choose), len(targets))


@average_precision.misconception
def best_of_all_targets(scores, boxes, targets, threshold):
    """Each detection is held against the target with the largest IoU of all, and is false where that one is taken, as Pascal VOC
    has it. Here it takes the best of the targets that are left, as COCO has it."""

    def choose(overlaps, left, threshold):
        m = int(np.argmax(overlaps))
        right = left[m] and overlaps[m] >= threshold
        return m, right, right

    return _area(_right(scores, boxes, targets, threshold, choose=choose), len(targets))


@average_precision.misconception
def first_that_fits(scores, boxes, targets, threshold):
    """A detection takes the first target left whose IoU is large enough. It takes the one with the largest IoU: the other may
    belong to a detection that comes later."""

    def choose(overlaps, left, threshold):
        fits = [m for m, one in enumerate(overlaps) if left[m] and one >= threshold]
        return (fits[0], True, True) if fits else (0, False, False)

    return _area(_right(scores, boxes, targets, threshold, choose=choose), len(targets))


@average_precision.misconception
def false_ones_take(scores, boxes, targets, threshold):
    """A detection takes its best target also where the IoU is below the threshold, and nobody can find that target any more. What
    is false takes nothing."""

    def choose(overlaps, left, threshold):
        m, right, _ = _of_those_left(overlaps, left, threshold)
        return m, right, True

    return _area(_right(scores, boxes, targets, threshold, choose=choose), len(targets))


@average_precision.misconception
def as_they_come(scores, boxes, targets, threshold):
    """The detections are taken in the order in which they are given. The order is that of falling scores: the surest comes
    first."""
    order = torch.arange(len(scores), device=scores.device)
    return _area(_right(scores, boxes, targets, threshold, order=order), len(targets))


@average_precision.misconception
def least_sure_first(scores, boxes, targets, threshold):
    """The detections are sorted by rising scores, so that the least sure comes first. argsort sorts upwards unless it is told
    descending=True."""
    return _area(_right(scores, boxes, targets, threshold, order=scores.argsort()), len(targets))


@average_precision.misconception
def sides_below_zero(scores, boxes, targets, threshold):
    """The sides of the shared part are not kept from falling below 0: of two boxes that lie apart in both directions both are
    negative, and their product counts as an area. Clamp them at 0."""
    right = _right(scores, boxes, targets, threshold, iou=lambda A, B: _iou(A, B, least=None))
    return _area(right, len(targets))


@average_precision.misconception
def shared_part_twice(scores, boxes, targets, threshold):
    """The union is the sum of the two areas, in which the shared part counts twice. Subtract it once."""
    right = _right(scores, boxes, targets, threshold, iou=lambda A, B: _iou(A, B, once=False))
    return _area(right, len(targets))


@average_precision.misconception
def all_that_fit_are_taken(scores, boxes, targets, threshold):
    """A detection takes all targets whose IoU is large enough. It finds one object, the one with the largest IoU; the others are
    left to be found."""
    overlaps, left, found = _iou(boxes, targets), [True] * len(targets), []
    for n in scores.argsort(descending=True).tolist():
        fits = [m for m, one in enumerate(overlaps[n].tolist()) if left[m] and one >= threshold]
        left = [one and m not in fits for m, one in enumerate(left)]
        found.append(bool(fits))
    return _area(torch.tensor(found, dtype=scores.dtype, device=scores.device), len(targets))


@average_precision.misconception
def order_of_the_ranks(scores, boxes, targets, threshold):
    """The ranks of the detections are used as if they were their order. argsort gives the places of the detections from the
    surest on; argsort of this gives each detection's rank."""
    order = scores.argsort(descending=True).argsort()
    return _area(_right(scores, boxes, targets, threshold, order=order), len(targets))


@average_precision.misconception
def best_overlap_first(scores, boxes, targets, threshold):
    """The detections are taken in the order of their IoU. The detector does not know that: the order is that of its scores."""
    order = _iou(boxes, targets).amax(dim=1).argsort(descending=True)
    return _area(_right(scores, boxes, targets, threshold, order=order), len(targets))


@average_precision.misconception
def over_the_targets_area(scores, boxes, targets, threshold):
    """The shared part is divided by the area of the target alone, so that a box as large as the picture finds everything. Divide
    by the union of both."""

    def iou(A, B):
        sides = torch.minimum(A[:, None, 2:], B[:, 2:]) - torch.maximum(A[:, None, :2], B[:, :2])
        return sides.clamp(min=0).prod(dim=-1) / (B[:, 2:] - B[:, :2]).prod(dim=-1)

    return _area(_right(scores, boxes, targets, threshold, iou=iou), len(targets))
