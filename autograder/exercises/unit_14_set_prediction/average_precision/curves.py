"""Exercise 7 again: mistakes in the curve and the area under it, and correct answers in other styles."""

import torch

from autograder.exercises.unit_14_set_prediction.average_precision.declaration import (
    _area,
    _envelope,
    _precision,
    _right,
    average_precision,
)


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
def mean_precision(scores, boxes, targets, threshold):
    """This is the mean of the precisions behind each detection, false ones included. Average precision is an area: the precision
    counts only where the recall grows, and there it is the largest at this recall or any higher one."""
    return _precision(_right(scores, boxes, targets, threshold)).mean()


@average_precision.misconception
def trapezoids(scores, boxes, targets, threshold):
    """The area is that of trapezoids between the points of the curve as it is. Take the envelope first: under its steps the area
    is a sum of rectangles."""
    right = _right(scores, boxes, targets, threshold)
    recall, precision = right.cumsum(dim=0) / len(targets), _precision(right)
    recall, precision = torch.cat([0 * recall[:1], recall]), torch.cat([precision[:1], precision])
    return torch.trapezoid(precision, recall)


@average_precision.misconception
def first_step_left_out(scores, boxes, targets, threshold):
    """The step from recall 0 to the recall of the first detection is left out, as differences between neighbours leave it: there
    is one fewer of them. The curve begins at recall 0."""
    right = _right(scores, boxes, targets, threshold)
    return (right * _envelope(_precision(right)))[1:].sum() / len(targets)


@average_precision.misconception
def highest_precision_throughout(scores, boxes, targets, threshold):
    """The highest precision of all stands at every recall. At each it is the highest there or at a higher recall: what was
    reached before does not count."""
    right = _right(scores, boxes, targets, threshold)
    return right.sum() / len(targets) * _precision(right).amax()


@average_precision.misconception
def precision_alone(scores, boxes, targets, threshold):
    """This is the precision of all detections together: which part of them is right. It says nothing of the targets that were
    missed, nor of the order."""
    return _right(scores, boxes, targets, threshold).mean()


@average_precision.misconception
def recall_alone(scores, boxes, targets, threshold):
    """This is the recall of all detections together: which part of the targets was found. False detections cost nothing
    there."""
    return _right(scores, boxes, targets, threshold).sum() / len(targets)


@average_precision.misconception
def in_percent(scores, boxes, targets, threshold):
    """The result is in percent. The area lies between 0 and 1."""
    return 100 * _area(_right(scores, boxes, targets, threshold), len(targets))


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
