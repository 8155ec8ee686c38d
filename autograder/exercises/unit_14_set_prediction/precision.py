"""Exercise 7: average precision, by which detectors are compared."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_14_set_prediction.detections import (
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
        _case("more targets than detections", N=6, M=8),
        _case("targets that overlap", edit=neighbours, N=4, M=3),
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
def without_envelope(scores, boxes, targets, threshold):
    """The precision is taken at each new recall as it is. It is the largest precision at this recall or any higher one, which
    makes the curve fall."""
    right = _right(scores, boxes, targets, threshold)
    return (right * _precision(right)).sum() / len(targets)


@average_precision.misconception
def envelope_from_the_front(scores, boxes, targets, threshold):
    """The largest precision is looked for among the detections before. It is the largest at this recall or a higher one: among
    this detection and those behind it."""
    right = _right(scores, boxes, targets, threshold)
    return (right * _precision(right).cummax(dim=0).values).sum() / len(targets)


@average_precision.misconception
def mean_over_detections(scores, boxes, targets, threshold):
    """The precisions are averaged over all detections. The area grows only where the recall does, at each detection that is
    right, by 1/M."""
    return _envelope(_precision(_right(scores, boxes, targets, threshold))).mean()


@average_precision.misconception
def targets_missed_do_not_count(scores, boxes, targets, threshold):
    """The sum is divided by the number of targets that were found, so that a detector loses nothing by those that it misses. The
    recall is a part of all M targets."""
    right = _right(scores, boxes, targets, threshold)
    return _area(right, right.sum().clamp(min=1))


@average_precision.misconception
def eleven_points(scores, boxes, targets, threshold):
    """The precision is averaged over the recalls 0, 0.1, …, 1. Here the area is summed exactly, at each new recall."""
    right = _right(scores, boxes, targets, threshold)
    recall, highest = right.cumsum(dim=0) / len(targets), _precision(right)
    points = [highest[recall >= point / 10 - 1e-3].amax() for point in range(11) if recall[-1] >= point / 10 - 1e-3]
    return sum(points, 0 * recall[-1]) / 11


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


@average_precision.alternative
def from_parts(scores, boxes, targets, threshold):
    return _area(_right(scores, boxes, targets, threshold), len(targets))


@average_precision.alternative
def area_under_a_curve(scores, boxes, targets, threshold):
    """The curve begins at recall 0, and its steps are summed."""
    right = _right(scores, boxes, targets, threshold)
    recall = torch.nn.functional.pad(right.cumsum(0) / len(targets), (1, 0))
    precision = _precision(right)
    for n in range(len(precision) - 2, -1, -1):
        precision[n] = torch.maximum(precision[n], precision[n + 1])
    return (recall.diff() * precision).sum()


@average_precision.alternative
def target_by_target(scores, boxes, targets, threshold):
    """The k-th target that is found adds the best precision of all the lists that find k."""
    found = _right(scores, boxes, targets, threshold).tolist()
    counts = [(int(sum(found[: n + 1])), n + 1) for n in range(len(found))]
    best = [max((count / n for count, n in counts if count >= k), default=0.0) for k in range(1, len(targets) + 1)]
    return scores.new_tensor(sum(best) / len(targets))
