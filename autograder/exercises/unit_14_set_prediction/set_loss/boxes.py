"""Exercise 5 again: mistakes about boxes, and correct losses in other styles."""

import torch
import torch.nn.functional as F

from autograder.exercises.unit_14_set_prediction.set_loss.declaration import (
    NO_OBJECT,
    _classes,
    _corners,
    _loss,
    _overlap,
    set_loss,
)


@set_loss.misconception
def padding_has_boxes(logits, boxes, labels, targets, exists, matched):
    """The boxes of padding count, in the sums and in the number by which they are divided. Only where exists is True is there a
    pair."""
    classes, all = _classes(logits, labels, exists, matched), torch.ones_like(exists)
    return _loss(logits, boxes, labels, targets, all, matched, classes=classes)


@set_loss.misconception
def minus_giou(logits, boxes, labels, targets, exists, matched):
    """The overlap enters as −GIoU. Gradients are the same, but it is 1 − GIoU that is 0 for boxes that agree, as a loss should
    be; −GIoU belongs into the costs of the matching."""
    return _loss(logits, boxes, labels, targets, exists, matched, lacks=0)


@set_loss.misconception
def divided_by_the_pictures(logits, boxes, labels, targets, exists, matched):
    """The terms of the boxes are divided by the number of pictures. Divide by the number of targets that exist in the batch, so
    that a box counts the same in full pictures."""
    return _loss(logits, boxes, labels, targets, exists, matched, n=len(exists))


@set_loss.misconception
def distance_averaged(logits, boxes, labels, targets, exists, matched):
    """The distances are averaged over the four numbers of a box. They are added, as in an L1 norm: the mean is a quarter of
    that."""
    return _loss(logits, boxes, labels, targets, exists, matched, factors=(5 / 4, 2))


@set_loss.misconception
def overlap_of_centres(logits, boxes, labels, targets, exists, matched):
    """The GIoU takes the boxes for corners, (x0, y0, x1, y1). They are (cx, cy, w, h): convert them first. The distance stays
    between centres and sizes."""
    own = {"overlap": lambda A, B: _overlap(A, B, of=lambda box: box)}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def plain_iou(logits, boxes, labels, targets, exists, matched):
    """The overlap is the IoU. It is 0 for all boxes that do not meet, however far apart, so nothing would draw them together:
    take the GIoU."""
    own = {"overlap": lambda A, B: _overlap(A, B, generalised=False)}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def boxes_in_the_order_of_targets(logits, boxes, labels, targets, exists, matched):
    """The classes follow the matching and the boxes do not: the box of query 0 is held against the first target, and so on. The
    box that belongs to targets[b, t] is boxes[b, matched[b, t]]."""
    order = torch.arange(matched.shape[1], device=matched.device).clamp(max=boxes.shape[1] - 1).expand_as(matched)
    classes = _classes(logits, labels, exists, matched)
    return _loss(logits, boxes, labels, targets, exists, order, classes=classes)


@set_loss.misconception
def not_divided(logits, boxes, labels, targets, exists, matched):
    """The terms of the boxes are added up and not divided, so that a batch with many targets counts more. Divide them by the
    number of targets that exist in the batch."""
    return _loss(logits, boxes, labels, targets, exists, matched, n=1)


@set_loss.misconception
def divided_by_all_places(logits, boxes, labels, targets, exists, matched):
    """The terms of the boxes are divided by B·N_T, padding included. Divide by the number of targets that exist in the batch, so
    that it makes no difference how much was padded."""
    return _loss(logits, boxes, labels, targets, exists, matched, n=exists.numel())


@set_loss.misconception
def squared_distances(logits, boxes, labels, targets, exists, matched):
    """The differences between boxes are squared. Here it is the L1 distance: the sum of their absolute values."""
    own = {"distance": lambda A, B: (A - B).square().sum(dim=-1)}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def distance_of_corners(logits, boxes, labels, targets, exists, matched):
    """The distance is taken between corners. It is taken between the boxes as they are given, (cx, cy, w, h); only the GIoU needs
    corners."""
    own = {"distance": lambda A, B: (_corners(A) - _corners(B)).abs().sum(dim=-1)}
    return _loss(logits, boxes, labels, targets, exists, matched, **own)


@set_loss.misconception
def overlaps_of_all_pairs(logits, boxes, labels, targets, exists, matched):
    """The GIoU is that of every matched box with every target, and all of these are summed. A box has one target of its own: take
    the diagonal of such a table."""
    b, t = exists.nonzero(as_tuple=True)
    own, wanted = boxes[b, matched[b, t]], targets[b, t]
    table = 2 * (1 - _overlap(own.unsqueeze(1), wanted)).sum() / max(1, len(t))
    return _loss(logits, boxes, labels, targets, exists, matched, factors=(5, 0)) + table


@set_loss.misconception
def overlap_left_out(logits, boxes, labels, targets, exists, matched):
    """The term of the overlap is missing. The L1 distance alone is small for small boxes even where they do not meet; 1 − GIoU
    asks for the same of small and large ones."""
    return _loss(logits, boxes, labels, targets, exists, matched, factors=(5, 0))


@set_loss.misconception
def distance_left_out(logits, boxes, labels, targets, exists, matched):
    """The L1 distance between the boxes and their targets is missing. Add 5 times its sum over the matched pairs."""
    return _loss(logits, boxes, labels, targets, exists, matched, factors=(0, 2))


@set_loss.misconception
def factors_exchanged(logits, boxes, labels, targets, exists, matched):
    """The factors have changed places: 5 belongs to the L1 distance, 2 to 1 − GIoU."""
    return _loss(logits, boxes, labels, targets, exists, matched, factors=(2, 5))


@set_loss.alternative
def all_places_at_once(logits, boxes, labels, targets, exists, matched):
    return _loss(logits, boxes, labels, targets, exists, matched)


@set_loss.alternative
def picture_by_picture(logits, boxes, labels, targets, exists, matched):
    above, below, of_boxes = 0.0, 0.0, 0.0
    for b, real in enumerate(exists):
        own, wanted = boxes[b, matched[b][real]], targets[b][real]
        hot = torch.zeros_like(logits[b])
        hot[:, -1] = NO_OBJECT
        hot[matched[b][real]] = F.one_hot(labels[b][real], logits.shape[-1]).to(logits.dtype)
        above, below = above - (hot * F.log_softmax(logits[b], dim=1)).sum(), below + hot.sum()
        of_boxes = of_boxes + 5 * F.l1_loss(own, wanted, reduction="sum") + (2 - 2 * _overlap(own, wanted)).sum()
    return above / below + of_boxes / max(int(exists.sum()), 1)


@set_loss.alternative
def with_one_hot(logits, boxes, labels, targets, exists, matched):
    pairs = F.one_hot(matched, logits.shape[1]).to(logits.dtype) * exists.unsqueeze(-1)  # [B, N_T, N_Q]
    named = pairs.mT @ F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    named[..., -1] = NO_OBJECT * (1 - pairs.sum(dim=1))
    found = (pairs @ boxes)[exists]
    terms = 5 * (found - targets[exists]).abs().sum() - 2 * _overlap(found, targets[exists]).sum()
    return -(named * logits.log_softmax(-1)).sum() / named.sum() + 2 * exists.any() + terms / exists.sum().clamp(min=1)
