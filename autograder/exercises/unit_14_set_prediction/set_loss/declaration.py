"""Exercise 5: the loss of DETR, for queries that have been matched with targets; here its mistakes about classes."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

NO_OBJECT = 0.1  # the weight of queries that were given no target


def _drawn(inputs, sizes, rng):
    """Pictures with some targets in front and padding behind; padding names a label and a query that has another target."""
    B, N_Q, N_T, C = sizes["B"], sizes["N_Q"], sizes["N_T"], sizes["C+1"] - 1
    inputs["logits"] *= 2
    inputs["logits"][..., -1] += 3  # which is what most queries say
    boxes, targets = (
        np.concatenate([rng.uniform(0.2, 0.8, (B, N, 2)), rng.uniform(0.1, 0.5, (B, N, 2))], axis=-1).astype(np.float32)
        for N in (N_Q, N_T)
    )
    matched, exists = np.zeros((B, N_T), dtype=int), np.zeros((B, N_T), dtype=bool)
    for b in range(B):
        count = min(N_Q, max(1, N_T - 1 - b))
        exists[b, :count] = True
        matched[b, :count] = rng.permutation(N_Q)[:count]
        matched[b, count:] = rng.choice([matched[b, 0], *rng.permutation(N_Q)[:2]], size=N_T - count)
        matched[b, -1:] = matched[b, 0]
        near = matched[b, :count:2]  # every other target is nearly found
        boxes[b, near] = targets[b, :count:2] + rng.uniform(0.01, 0.08, size=(len(near), 4))
    labels = rng.integers(C, size=(B, N_T))
    return {"boxes": boxes, "targets": targets, "labels": labels, "exists": exists, "matched": matched}


def _anywhere(inputs, rng):
    """Targets stand behind padding and between it."""
    for name in ("exists", "labels", "targets", "matched"):
        inputs[name][:] = inputs[name][:, ::-1].copy()


@exercise(
    points=3,
    section="The loss of a set",
    source="Carion et al. 2020 (DETR), section 3.1 and appendix A.2; facebookresearch/detr, models/detr.py, SetCriterion",
    outputs="loss",
    formula="loss = Σ w_c (−log p(c)) / Σ w_c, over all B·N_Q queries, + (5 Σ |box − target| + 2 Σ (1 − GIoU)) / max(1, number of"
    " targets that exist), over the matched pairs; c is the label of a query's target, else no-object (index C), w_c is 0.1 for"
    " no-object, else 1; p = softmax(logits, dim=-1); query matched[b, t] has target t where exists[b, t]; a scalar",
    cases=[
        Case("pictures with fewer targets than places"),
        Case("padding in front, more places than queries", edit=_anywhere, sizes={"B": 2, "N_Q": 4, "N_T": 7}),
        Case("a picture without targets", edit=lambda inputs, rng: inputs["exists"][-1].fill(False)),
        Case("no targets at all", edit=lambda inputs, rng: inputs["exists"].fill(False), edge=True),
    ],
    draws=_drawn,
    equivalent={
        "_overlap(targets[b, t], boxes[b, q])).sum()": "an overlap has no first and second",
        "or 2)": "the sum over no targets is 0",
    },
    waived={"zero": "a box has an area: between two boxes without one there is no IoU"},
)
def set_loss(
    logits: Float[Tensor, "B N_Q C+1"],
    boxes: Float[Tensor, "B N_Q 4"],
    labels: Int[Tensor, "B N_T"],
    targets: Float[Tensor, "B N_T 4"],
    exists: Bool[Tensor, "B N_T"],
    matched: Int[Tensor, "B N_T"],
) -> Float[Tensor, ""]:
    b, t = exists.nonzero(as_tuple=True)
    q = matched[b, t]
    nothing = logits.shape[-1] - 1
    classes = torch.full(logits.shape[:2], nothing, device=logits.device)
    classes[b, q] = labels[b, t]
    weight = torch.where(torch.arange(nothing + 1, device=logits.device) == nothing, NO_OBJECT, 1.0).to(logits.dtype)
    of_classes = F.cross_entropy(logits.flatten(0, 1), classes.flatten(), weight)
    of_boxes = 5 * (boxes[b, q] - targets[b, t]).abs().sum() + 2 * (1 - _overlap(boxes[b, q], targets[b, t])).sum()
    return of_classes + of_boxes / (len(t) or 1)


def _corners(box):
    return torch.cat([box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2], dim=-1)


def _overlap(A, B, *, of=_corners, generalised=True):
    """IoU or GIoU of boxes with their partners, of any shape [*B, 4]."""
    A, B = of(A), of(B)
    shared = (torch.minimum(A[..., 2:], B[..., 2:]) - torch.maximum(A[..., :2], B[..., :2])).clamp(min=0).prod(-1)
    union = (A[..., 2:] - A[..., :2]).prod(-1) + (B[..., 2:] - B[..., :2]).prod(-1) - shared
    around = (torch.maximum(A[..., 2:], B[..., 2:]) - torch.minimum(A[..., :2], B[..., :2])).prod(-1)
    return shared / union - (around - union) / around * generalised


def _classes(logits, labels, exists, matched):
    """The class that each query should name, [B, N_Q]; padding is written to a place of its own behind all queries.

    One object after the other, since a GPU may write to one place in any order.
    """
    room = torch.full((logits.shape[0], logits.shape[1] + 1), logits.shape[-1] - 1, device=logits.device)
    places = matched.where(exists, logits.shape[1])
    for place, label in zip(places.split(1, dim=1), labels.split(1, dim=1)):
        room = room.scatter(1, place, label)
    return room[:, :-1]


def _loss(logits, boxes, labels, targets, exists, matched, *, classes=None, mean=None, rest=NO_OBJECT, **wrong):
    """The loss; what is wrong may be the classes, the weights and the mean of the first part, or something of the second."""
    classes = _classes(logits, labels, exists, matched) if classes is None else classes
    nll = -logits.log_softmax(dim=-1).gather(-1, classes.unsqueeze(-1)).squeeze(-1)
    real = classes != logits.shape[-1] - 1
    weight = torch.where(real, 1.0, rest).to(nll.dtype)
    of_classes = mean(nll, weight, real) if mean else (nll * weight).sum() / weight.sum()
    return of_classes + _of_boxes(boxes, targets, exists, matched, **wrong)


def _distance(A, B):
    return (A - B).abs().sum(dim=-1)


def _of_boxes(boxes, targets, real, matched, *, distance=_distance, overlap=_overlap, lacks=1, factors=(5, 2), n=None):
    own = boxes.gather(1, matched.unsqueeze(-1).expand(*matched.shape, 4))
    each = factors[0] * distance(own, targets) + factors[1] * (lacks - overlap(own, targets))
    return (each * real).sum() / (real.sum().clamp(min=1) if n is None else n)


@set_loss.misconception
def no_object_weighs_as_much(logits, boxes, labels, targets, exists, matched):
    """Queries without a target weigh as much as those with one. There are many more of them, and they would drown the others:
    the weight of no-object is 0.1."""
    return _loss(logits, boxes, labels, targets, exists, matched, rest=1.0)


@set_loss.misconception
def plain_mean(logits, boxes, labels, targets, exists, matched):
    """The weighted cross-entropies are divided by the number of queries. It is a weighted mean: divide by the sum of the weights,
    as F.cross_entropy does where it is given `weight`."""
    return _loss(logits, boxes, labels, targets, exists, matched, mean=lambda nll, weight, real: (nll * weight).mean())


@set_loss.misconception
def mean_of_picture_means(logits, boxes, labels, targets, exists, matched):
    """Each picture has a weighted mean of its own, and these are averaged. Here one weighted mean runs over the queries of all
    pictures, so that each query with a target counts the same."""
    own = {"mean": lambda nll, weight, real: ((nll * weight).sum(dim=1) / weight.sum(dim=1)).mean()}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def matched_queries_alone(logits, boxes, labels, targets, exists, matched):
    """The cross-entropy runs over the queries that have a target alone. The others have to learn to say no-object: without that a
    model leaves its second boxes for one object in place."""
    own = {"mean": lambda nll, weight, real: (nll * real).sum() / real.sum().clamp(min=1)}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def no_object_in_front(logits, boxes, labels, targets, exists, matched):
    """no-object is taken to be class 0, and the labels to begin at 1. Here no-object is the last index, C, and labels are the
    indices of their classes."""
    moved = torch.cat([logits[..., 1:], logits[..., :1]], dim=-1)
    return _loss(moved, boxes, labels, targets, exists, matched)


@set_loss.misconception
def matching_unused(logits, boxes, labels, targets, exists, matched):
    """matched is not used: query 0 is held against the first target, query 1 against the second, and so on. The query that
    answers for target t, with its class and its box, is matched[b, t]."""
    order = torch.arange(matched.shape[1], device=matched.device).clamp(max=logits.shape[1] - 1).expand_as(matched)
    return _loss(logits, boxes, labels, targets, exists, order)


@set_loss.misconception
def padding_has_classes(logits, boxes, labels, targets, exists, matched):
    """Padding sets classes as well: the query that matched names there should say the label of a target that does not exist.
    Only where exists is True is there a pair."""
    classes = _classes(logits, labels, torch.ones_like(exists), matched)
    return _loss(logits, boxes, labels, targets, exists, matched, classes=classes)


@set_loss.misconception
def padding_erases_classes(logits, boxes, labels, targets, exists, matched):
    """Padding writes no-object to the query that matched names there, also where this query has a target: its label is lost.
    What matched holds where exists is False means nothing."""
    said = labels.where(exists, logits.shape[-1] - 1)
    classes = _classes(logits, said, torch.ones_like(exists), matched)
    return _loss(logits, boxes, labels, targets, exists, matched, classes=classes)


@set_loss.misconception
def summed_over_queries(logits, boxes, labels, targets, exists, matched):
    """The cross-entropies are added up, and divided by nothing. They are averaged with their weights: divide by the sum of the
    weights, as F.cross_entropy does where it is given `weight`."""
    return _loss(logits, boxes, labels, targets, exists, matched, mean=lambda nll, weight, real: (nll * weight).sum())


@set_loss.misconception
def divided_by_the_targets(logits, boxes, labels, targets, exists, matched):
    """The weighted cross-entropies are divided by the number of targets, as the terms of the boxes are. Theirs is a weighted
    mean: divide by the sum of the weights of all queries."""
    own = {"mean": lambda nll, weight, real: (nll * weight).sum() / exists.sum().clamp(min=1)}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def weights_exchanged(logits, boxes, labels, targets, exists, matched):
    """The weights are the wrong way round: 0.1 for the queries that have a target, and 1 for no-object. It is no-object that has
    to weigh less, since most queries have no target."""

    def mean(nll, weight, real):
        weight = torch.where(real, NO_OBJECT, 1.0).to(nll.dtype)
        return (nll * weight).sum() / weight.sum()

    return _loss(logits, boxes, labels, targets, exists, matched, mean=mean)


@set_loss.misconception
def unmatched_say_the_first_class(logits, boxes, labels, targets, exists, matched):
    """Queries without a target should say class 0, as a tensor of zeros has it. They should say no-object, the last index, C."""
    nothing = logits.shape[-1] - 1
    classes = _classes(logits, labels, exists, matched)
    logp = logits.log_softmax(dim=-1)
    nll = -logp.gather(-1, (classes % nothing).unsqueeze(-1)).squeeze(-1)
    weight = torch.where(classes % nothing == nothing, NO_OBJECT, 1.0).to(nll.dtype)
    return (nll * weight).sum() / weight.sum() + _of_boxes(boxes, targets, exists, matched)


@set_loss.misconception
def classes_left_out(logits, boxes, labels, targets, exists, matched):
    """The loss has no term for the classes: nothing makes a query say what it has found, or that it has found nothing. Add the
    weighted mean of the cross-entropies."""
    return _of_boxes(boxes, targets, exists, matched)
