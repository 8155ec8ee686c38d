"""Exercise 3: what it costs to give a query a target."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_14_set_prediction._shared import centred
from autograder.exercises.unit_14_set_prediction.generalised_iou import generalised_iou
from autograder.exercises.unit_14_set_prediction.to_corners import to_corners


def _drawn(inputs, sizes, rng):
    """Boxes of positive area, of which some overlap, and classes of which none is the last, no-object."""
    known = {name: centred(rng, (len(inputs[name]),)) for name in ("boxes", "targets")}
    classes = inputs["logits"].shape[1] - 1
    return known | {"labels": rng.integers(0, classes, len(inputs["labels"]))}


def _close(inputs, rng):
    """Every target has a query whose box is nearly its own, and that is sure of its class."""
    for t, query in enumerate(rng.permutation(len(inputs["boxes"]))[: len(inputs["targets"])]):
        inputs["boxes"][query] = inputs["targets"][t] * rng.uniform(0.95, 1.05, 4)
        inputs["logits"][query, inputs["labels"][t]] += 4


def _one_class(inputs, rng):
    """All targets are of one class: only their boxes tell them apart."""
    inputs["labels"][:] = 1


def _nothing_there(inputs, rng):
    """All queries are nearly sure that there is nothing."""
    inputs["logits"][:, -1] += 3


def _case(text, edit=None, **more):
    return Case(text, edit=edit, scale={"logits": 1.5}, **more)


@exercise(
    points=2,
    section="Matching a set with a set",
    source="Carion et al. 2020 (DETR), section 3.1 and appendix A.2; facebookresearch/detr, models/matcher.py",
    outputs="costs",
    formula="costs[q, t] = 5 · Σ |boxes[q] − targets[t]| − 2 · GIoU(boxes[q], targets[t]) − p[q, labels[t]], p = softmax(logits)"
    " over all C + 1 classes, both boxes by their corners in GIoU; costs [N_Q, N_T]",
    cases=[
        _case("queries and targets"),
        _case("queries that have found the targets", _close, sizes={"N_Q": 7, "N_T": 4}),
        _case("queries that see nothing", _nothing_there),
        _case("targets of one class", _one_class),
        _case("one target", sizes={"N_T": 1}, edge=True),
        _case("one class beside no-object", sizes={"C+1": 2}, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
    waived={"zero": "a box of zeros has no area"},
)
def matching_costs(
    logits: Float[Tensor, "N_Q C+1"],
    boxes: Float[Tensor, "N_Q 4"],
    labels: Int[Tensor, "N_T"],
    targets: Float[Tensor, "N_T 4"],
) -> Float[Tensor, "N_Q N_T"]:
    likely = logits.softmax(dim=1)[:, labels]
    distance = (boxes.unsqueeze(1) - targets).abs().sum(dim=-1)
    overlap = generalised_iou.reference(to_corners.reference(boxes), to_corners.reference(targets))
    return 5 * distance - 2 * overlap - likely


def _classes(logits, labels):
    return logits.softmax(dim=-1)[:, labels]


def _distances(one, other):
    return (one[:, None] - other).abs().sum(dim=-1)


def _overlaps(boxes, targets):
    return generalised_iou.reference(to_corners.reference(boxes), to_corners.reference(targets))


def _costs(
    logits, boxes, labels, targets, *, weights=(5, -2, -1), classes=_classes, distances=_distances, overlaps=_overlaps
):
    """The costs, of which a term may be another: its weight, or what it is made of."""
    parts = distances(boxes, targets), overlaps(boxes, targets), classes(logits, labels)
    return sum(weight * part for weight, part in zip(weights, parts))


def _iou(boxes, targets):
    a, b = to_corners.reference(boxes)[:, None], to_corners.reference(targets)
    shared = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).relu().prod(dim=-1)
    return shared / (boxes[:, None, 2:].prod(dim=-1) + targets[:, 2:].prod(dim=-1) - shared)


@matching_costs.misconception
def logarithm_of_the_probability(*given):
    """The class counts by the logarithm of its probability, as in the loss. DETR takes the probability itself, which lies
    between 0 and 1 and is of the size of the other terms; a logarithm may outweigh any box."""
    return _costs(*given, classes=lambda logits, labels: logits.log_softmax(dim=-1)[:, labels])


@matching_costs.misconception
def logits_as_they_are(*given):
    """The class counts by its logit. Logits of two queries cannot be compared, since a softmax looks at differences within a
    row alone; take the probability."""
    return _costs(*given, classes=lambda logits, labels: logits[:, labels])


@matching_costs.misconception
def without_no_object(*given):
    """The softmax leaves out the last class, no-object. It runs over all C + 1 classes: a query that is sure to see nothing
    should not seem sure of one of the others."""
    return _costs(*given, classes=lambda logits, labels: logits[:, :-1].softmax(dim=-1)[:, labels])


@matching_costs.misconception
def no_object_first(*given):
    """Class k was looked up in column k + 1, as if no-object were the first class. It is the last one: the probability of class
    k stands in column k."""
    return _costs(*given, classes=lambda logits, labels: logits.softmax(dim=-1)[:, labels + 1])


@matching_costs.misconception
def most_likely_class(*given):
    """What counts is the probability of the class that each query finds most likely. It should be the probability of the
    target's own class, labels[t]."""
    return _costs(*given, classes=lambda logits, labels: logits.softmax(dim=-1).amax(dim=-1, keepdim=True))


@matching_costs.misconception
def likely_classes_cost_more(*given):
    """The probability is added, so that queries which find the target's class likely cost more. They should cost less: subtract
    it."""
    return _costs(*given, weights=(5, -2, 1))


@matching_costs.misconception
def overlap_costs_more(*given):
    """GIoU is added, so that boxes which overlap cost more. The more they overlap, the less they should cost: subtract it."""
    return _costs(*given, weights=(5, 2, -1))


@matching_costs.misconception
def overlap_of_centres(*given):
    """GIoU was given centres and sides as they are. It reads four numbers as two corners: convert both sets of boxes with
    `to_corners` first."""
    return _costs(*given, overlaps=generalised_iou.reference)


@matching_costs.misconception
def distance_of_corners(*given):
    """The distance is one of corners. It is taken of centres and sides, as they are given; only GIoU needs the corners."""
    corners = to_corners.reference
    return _costs(*given, distances=lambda boxes, targets: _distances(corners(boxes), corners(targets)))


@matching_costs.misconception
def mean_distance(*given):
    """The four differences of a box's numbers are averaged, so that the distance counts a quarter. L1 is their sum."""
    return _costs(*given, weights=(5 / 4, -2, -1))


@matching_costs.misconception
def straight_distance(*given):
    """The distance is the root of the sum of squares. L1 is asked for, the sum of the four absolute differences."""
    return _costs(*given, distances=torch.cdist)


@matching_costs.misconception
def plain_iou(*given):
    """IoU stands in the place of GIoU. IoU is 0 for every pair that does not overlap, so it could not tell a near query from a
    far one."""
    return _costs(*given, overlaps=_iou)


@matching_costs.misconception
def terms_without_weights(*given):
    """The three terms are added without their weights. The distance counts 5 times, GIoU twice, the probability once."""
    return _costs(*given, weights=(1, -1, -1))


@matching_costs.misconception
def weights_exchanged(*given):
    """The weights of the two box terms have changed places: the distance counts 5 times, GIoU twice."""
    return _costs(*given, weights=(2, -5, -1))


@matching_costs.misconception
def classes_left_out(*given):
    """The class makes no difference. A query whose box lies right but that sees something else there should cost more than one
    that finds the target's class likely."""
    return _costs(*given, weights=(5, -2, 0))


@matching_costs.misconception
def overlap_left_out(*given):
    """The term with GIoU is missing. Differences of coordinates grow with a box's size, GIoU does not: without it, large boxes
    count for more than small ones."""
    return _costs(*given, weights=(5, 0, -1))


@matching_costs.misconception
def distance_left_out(*given):
    """The distance of the boxes is missing, 5 times the sum of the four absolute differences."""
    return _costs(*given, weights=(0, -2, -1))


@matching_costs.misconception
def differences_with_signs(*given):
    """The four differences are added with their signs, so a box too far to the left and too wide by as much would count as
    right. Take their absolute values first."""
    return _costs(*given, distances=lambda boxes, targets: (boxes[:, None] - targets).sum(dim=-1))


@matching_costs.alternative
def term_by_term(*given):
    return _costs(*given)


@matching_costs.alternative
def with_a_product(logits, boxes, labels, targets):
    hot = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    parts = torch.stack([_distances(boxes, targets), _overlaps(boxes, targets), logits.softmax(dim=1) @ hot.T], dim=-1)
    return parts @ parts.new_tensor([5, -2, -1])


@matching_costs.alternative
def target_by_target(logits, boxes, labels, targets):
    columns = []
    for label, target in zip(labels, targets):
        likely = (logits[:, label] - logits.logsumexp(dim=1)).exp()
        columns.append(5 * F.l1_loss(boxes, target.expand_as(boxes), reduction="none").sum(dim=1) - likely)
    return torch.stack(columns, dim=1) - 2 * _overlaps(boxes, targets)
