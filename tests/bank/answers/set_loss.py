"""Answers to set_loss (assignment 14)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# what several answers share, as students would have it from the exercises before


def to_corners(b):
    cx, cy, w, h = b.unbind(-1)
    return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], dim=-1)


def paired_giou(a, b):
    """GIoU of corner boxes, row by row."""
    inter = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    area = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1)
    union = area - inter
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).prod(-1)
    return inter / union - (hull - union) / hull


def pairwise_giou(a, b):
    return paired_giou(a[:, None], b[None])


def class_targets(logits, labels, exists, matched):
    wanted = torch.full(logits.shape[:2], logits.shape[-1] - 1, dtype=torch.long, device=logits.device)
    b, t = torch.where(exists)
    wanted[b, matched[b, t]] = labels[b, t]
    return wanted


def class_weights(logits, w=0.1):
    weight = torch.ones(logits.shape[-1], dtype=logits.dtype, device=logits.device)
    weight[-1] = w
    return weight


def class_loss(logits, labels, exists, matched, w=0.1):
    wanted = class_targets(logits, labels, exists, matched)
    return F.cross_entropy(logits.transpose(1, 2), wanted, weight=class_weights(logits, w))


def pairs(boxes, targets, exists, matched):
    b, t = torch.where(exists)
    return boxes[b, matched[b, t]], targets[b, t]


def box_loss(boxes, targets, exists, matched, l1=5, giou=2):
    p, t = pairs(boxes, targets, exists, matched)
    n = max(1, len(p))
    return l1 * (p - t).abs().sum() / n + giou * (1 - paired_giou(to_corners(p), to_corners(t))).sum() / n


# ---------------------------------------------------------------- right


@right("Helpers for each part")
def by_parts(logits, boxes, labels, targets, exists, matched):
    return class_loss(logits, labels, exists, matched) + box_loss(boxes, targets, exists, matched)


@right("gather over all places, masked at the end")
def gathered(logits, boxes, labels, targets, exists, matched):
    picked = torch.gather(boxes, 1, matched[:, :, None].repeat(1, 1, 4))
    l1 = torch.where(exists, (picked - targets).abs().sum(-1), 0.0).sum()
    giou = torch.where(exists, 1 - paired_giou(to_corners(picked), to_corners(targets)), 0.0).sum()
    n = exists.sum().clamp(min=1)
    return class_loss(logits, labels, exists, matched) + (5 * l1 + 2 * giou) / n


@right("cross-entropy by hand with a mask of matched queries")
def by_hand(logits, boxes, labels, targets, exists, matched):
    logp = logits - logits.logsumexp(-1, keepdim=True)
    wanted = class_targets(logits, labels, exists, matched)
    taken = wanted < logits.shape[-1] - 1
    w = taken * 0.9 + 0.1
    w = w.to(logits.dtype)
    ce = -(w * logp.gather(2, wanted[..., None])[..., 0]).sum() / w.sum()
    return ce + box_loss(boxes, targets, exists, matched)


@right("diagonal of the pairwise GIoU, picture by picture")
def diagonal(logits, boxes, labels, targets, exists, matched):
    total = logits.new_zeros(())
    for b in range(len(boxes)):
        p, t = boxes[b][matched[b][exists[b]]], targets[b][exists[b]]
        total = total + 5 * F.l1_loss(p, t, reduction="sum")
        total = total + 2 * (1 - pairwise_giou(to_corners(p), to_corners(t)).diagonal()).sum()
    return class_loss(logits, labels, exists, matched) + total / max(1, exists.sum().item())


@right("Loops over everything")
def loops(logits, boxes, labels, targets, exists, matched):
    B, Q, C1 = logits.shape
    num = den = 0.0
    total, n = 0.0, 0
    for b in range(B):
        for q in range(Q):
            c, w = C1 - 1, 0.1
            for t in range(labels.shape[1]):
                if exists[b, t] and matched[b, t] == q:
                    c, w = labels[b, t], 1.0
                    d = boxes[b, q] - targets[b, t]
                    g = paired_giou(to_corners(boxes[b, q]), to_corners(targets[b, t]))
                    total = total + 5 * d.abs().sum() + 2 - 2 * g
                    n += 1
            num = num - w * F.log_softmax(logits[b, q], -1)[c]
            den = den + w
    return num / den + total / max(n, 1)


@right("One-hot assignment matrix and matrix products")
def assignment_matrix(logits, boxes, labels, targets, exists, matched):
    A = F.one_hot(matched, boxes.shape[1]).to(boxes.dtype) * exists[..., None].to(boxes.dtype)
    mine = A.transpose(1, 2) @ targets  # [B, Q, 4]
    busy = A.sum(1)
    cls = torch.where(
        busy > 0, (A.transpose(1, 2) @ labels[..., None].to(boxes.dtype))[..., 0].round().long(), logits.shape[-1] - 1
    )
    ce = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), cls.reshape(-1), class_weights(logits))
    p, t = boxes[busy > 0], mine[busy > 0]
    n = max(int(exists.sum()), 1)
    return ce + (5 * (p - t).abs().sum() + 2 * (1 - paired_giou(to_corners(p), to_corners(t))).sum()) / n


@right("Flat indices b * N_Q + q")
def flat(logits, boxes, labels, targets, exists, matched):
    B, Q, C1 = logits.shape
    index = (matched + Q * torch.arange(B, device=matched.device)[:, None])[exists]
    wanted = torch.full((B * Q,), C1 - 1, dtype=labels.dtype, device=labels.device).index_put((index,), labels[exists])
    ce = F.cross_entropy(logits.reshape(B * Q, C1), wanted, class_weights(logits))
    p, t = boxes.reshape(-1, 4)[index], targets[exists]
    n = exists.sum().clamp(min=1).to(ce.dtype)
    return ce + 5 * (p - t).abs().sum() / n + 2 * (1 - paired_giou(to_corners(p), to_corners(t))).sum() / n


@right("GIoU written as IoU + union/hull - 1, with nll_loss")
def nll(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    ce = F.nll_loss(logits.log_softmax(-1).flatten(0, 1), wanted.flatten(), class_weights(logits))
    p, t = map(to_corners, pairs(boxes, targets, exists, matched))
    inter = (torch.min(p[:, 2:], t[:, 2:]) - torch.max(p[:, :2], t[:, :2])).relu().prod(1)
    union = (p[:, 2:] - p[:, :2]).prod(1) + (t[:, 2:] - t[:, :2]).prod(1) - inter
    hull = (torch.max(p[:, 2:], t[:, 2:]) - torch.min(p[:, :2], t[:, :2])).prod(1)
    p, t = pairs(boxes, targets, exists, matched)
    n = max(1, len(p))
    return ce + 5 / n * (p - t).abs().sum() + 2 / n * (2 - inter / union - union / hull).sum()


# ---------------------------------------------------------------- wrong


@wrong("No class weights at all", "concept")
def unweighted(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    return F.cross_entropy(logits.transpose(1, 2), wanted) + box_loss(boxes, targets, exists, matched)


@wrong("weight 0.1 on class 0 instead of on no-object", "concept")
def weight_on_the_first(logits, boxes, labels, targets, exists, matched):
    weight = torch.ones(logits.shape[-1], dtype=logits.dtype, device=logits.device)
    weight[0] = 0.1
    wanted = class_targets(logits, labels, exists, matched)
    return F.cross_entropy(logits.transpose(1, 2), wanted, weight=weight) + box_loss(boxes, targets, exists, matched)


@wrong("0.1 on all classes but no-object", "concept")
def weights_inverted(logits, boxes, labels, targets, exists, matched):
    weight = torch.full((logits.shape[-1],), 0.1, dtype=logits.dtype, device=logits.device)
    weight[-1] = 1
    wanted = class_targets(logits, labels, exists, matched)
    return F.cross_entropy(logits.transpose(1, 2), wanted, weight=weight) + box_loss(boxes, targets, exists, matched)


@wrong("no-object is ignored altogether: ignore_index", "concept")
def ignores_no_object(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    ce = F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=logits.shape[-1] - 1)
    return torch.nan_to_num(ce) + box_loss(boxes, targets, exists, matched)


@wrong("weighted cross-entropies, then the plain mean", "concept")
def weighted_then_mean(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    ce = F.cross_entropy(logits.transpose(1, 2), wanted, weight=class_weights(logits), reduction="none").mean()
    return ce + box_loss(boxes, targets, exists, matched)


@wrong("summed cross-entropies", "concept")
def summed_classes(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    ce = F.cross_entropy(logits.transpose(1, 2), wanted, weight=class_weights(logits), reduction="sum")
    return ce + box_loss(boxes, targets, exists, matched)


change(summed_classes, "classes_by_targets", "summed cross-entropies over the number of targets", "concept",
       ("return ce", "return ce / exists.sum().clamp(min=1)"))


@wrong("pictures one by one, their losses averaged", "concept")
def picture_means(logits, boxes, labels, targets, exists, matched):
    each = [
        class_loss(logits[b : b + 1], labels[b : b + 1], exists[b : b + 1], matched[b : b + 1])
        for b in range(len(logits))
    ]
    return torch.stack(each).mean() + box_loss(boxes, targets, exists, matched)


@wrong("the whole loss one picture at a time, then averaged", "concept")
def all_by_pictures(logits, boxes, labels, targets, exists, matched):
    total = 0
    for b in range(len(logits)):
        one = slice(b, b + 1)
        total = total + class_loss(logits[one], labels[one], exists[one], matched[one])
        total = total + box_loss(boxes[one], targets[one], exists[one], matched[one])
    return total / len(logits)


change(all_by_pictures, "pictures_added", "the whole loss one picture at a time, then added", "concept",
       ("total / len(logits)", "total"))


@wrong("box terms averaged per picture, then over pictures", "concept")
def boxes_by_pictures(logits, boxes, labels, targets, exists, matched):
    each = [
        box_loss(boxes[b : b + 1], targets[b : b + 1], exists[b : b + 1], matched[b : b + 1]) for b in range(len(boxes))
    ]
    return class_loss(logits, labels, exists, matched) + sum(each) / len(boxes)


@wrong("only matched queries get a class loss", "concept")
def matched_only(logits, boxes, labels, targets, exists, matched):
    b, t = torch.where(exists)
    ce = F.cross_entropy(logits[b, matched[b, t]], labels[b, t], reduction="sum") / max(1, len(b))
    return ce + box_loss(boxes, targets, exists, matched)


@wrong("scatter of all places, padding included, into the class targets", "concept")
def scatters_padding(logits, boxes, labels, targets, exists, matched):
    wanted = torch.full(logits.shape[:2], logits.shape[-1] - 1, device=logits.device).scatter(1, matched, labels)
    ce = F.cross_entropy(logits.transpose(1, 2), wanted, weight=class_weights(logits))
    return ce + box_loss(boxes, targets, exists, matched)


@wrong("padding overwrites the classes with no-object", "concept")
def padding_overwrites(logits, boxes, labels, targets, exists, matched):
    C = logits.shape[-1] - 1
    wanted = torch.full(logits.shape[:2], C, device=logits.device)
    wanted.scatter_(1, matched, torch.where(exists, labels, C))
    ce = F.cross_entropy(logits.transpose(1, 2), wanted, weight=class_weights(logits))
    return ce + box_loss(boxes, targets, exists, matched)


change(by_parts, "without_exists", "exists is never looked at", "concept",
       before("return", "every = torch.ones_like(exists)"), ("labels, exists", "labels, every"),
       ("boxes, targets, exists", "boxes, targets, every"))


@wrong("box terms of padding counted, divided by the real number", "concept")
def padding_in_the_sum(logits, boxes, labels, targets, exists, matched):
    every = torch.ones_like(exists)
    boxed = box_loss(boxes, targets, every, matched) * every.sum() / exists.sum().clamp(min=1)
    return class_loss(logits, labels, exists, matched) + boxed


change(by_parts, "exists_inverted", "exists read the wrong way round", "concept",
       ("labels, exists", "labels, ~exists"), ("boxes, targets, exists", "boxes, targets, ~exists"))


@wrong("the first N_T queries are taken for the matched ones", "concept")
def in_order(logits, boxes, labels, targets, exists, matched):
    order = torch.arange(matched.shape[1], device=matched.device).clamp(max=boxes.shape[1] - 1).expand_as(matched)
    return class_loss(logits, labels, exists, order) + box_loss(boxes, targets, exists, order)


change(in_order, "boxes_in_order", "box pairs in order, classes by the matching", "concept",
       ("labels, exists, order", "labels, exists, matched"))


@wrong("matched read in the other direction: query t is given target matched[t]", "concept")
def other_direction(logits, boxes, labels, targets, exists, matched):
    T, Q = labels.shape[1], logits.shape[1]
    order = torch.arange(T, device=matched.device).clamp(max=Q - 1).expand_as(matched)
    there = matched.clamp(max=T - 1)
    turned = torch.gather(labels, 1, there)
    swapped = torch.gather(targets, 1, there[..., None].expand(-1, -1, 4))
    return class_loss(logits, turned, exists, order) + box_loss(boxes, swapped, exists, order)


change(by_parts, "l1_mean", "L1 as a mean over the four numbers", "concept",
       ("boxes, targets, exists, matched", "boxes, targets, exists, matched, l1=1.25"))


@wrong("F.l1_loss with its default mean over all numbers, zero where there is none", "concept")
def l1_default(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    l1 = F.l1_loss(p, t) if len(p) else 0.0
    giou = (1 - paired_giou(to_corners(p), to_corners(t))).sum() / max(1, len(p))
    return class_loss(logits, labels, exists, matched) + 5 * l1 + 2 * giou


@wrong("squared distances", "concept")
def squared(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    n = max(1, len(p))
    giou = (1 - paired_giou(to_corners(p), to_corners(t))).sum()
    return class_loss(logits, labels, exists, matched) + (5 * (p - t).pow(2).sum() + 2 * giou) / n


change(squared, "euclidean", "Euclidean distances", "concept",
       (".pow(2).sum()", ".norm(dim=-1).sum()"))


@wrong("smooth L1", "concept")
def smooth(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    n = max(1, len(p))
    giou = (1 - paired_giou(to_corners(p), to_corners(t))).sum()
    l1 = F.smooth_l1_loss(p, t, reduction="sum")
    return class_loss(logits, labels, exists, matched) + (5 * l1 + 2 * giou) / n


@wrong("L1 between corners", "concept")
def l1_of_corners(logits, boxes, labels, targets, exists, matched):
    p, t = map(to_corners, pairs(boxes, targets, exists, matched))
    n = max(1, len(p))
    terms = 5 * (p - t).abs().sum() + 2 * (1 - paired_giou(p, t)).sum()
    return class_loss(logits, labels, exists, matched) + terms / n


@wrong("no absolute value", "concept")
def signed(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    n = max(1, len(p))
    terms = 5 * (p - t).sum() + 2 * (1 - paired_giou(to_corners(p), to_corners(t))).sum()
    return class_loss(logits, labels, exists, matched) + terms / n


change(by_parts, "exchanged", "weights of L1 and GIoU exchanged", "concept",
       ("boxes, targets, exists, matched", "boxes, targets, exists, matched, l1=2, giou=5"))
change(by_parts, "no_factors", "no factors 5 and 2", "concept",
       ("boxes, targets, exists, matched", "boxes, targets, exists, matched, l1=1, giou=1"))


@wrong("-GIoU instead of 1 - GIoU, as in the costs", "concept")
def as_in_costs(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    n = max(1, len(p))
    terms = 5 * (p - t).abs().sum() - 2 * paired_giou(to_corners(p), to_corners(t)).sum()
    return class_loss(logits, labels, exists, matched) + terms / n


change(as_in_costs, "plus_giou", "+GIoU: the overlap is made small", "concept",
       (".sum() - 2", ".sum() + 2"))
change(as_in_costs, "giou_of_centres", "GIoU of the boxes in centre format", "concept",
       (".sum() - 2 * paired_giou(to_corners(p), to_corners(t)).sum()", ".sum() + 2 * (1 - paired_giou(p, t)).sum()"))


@wrong("IoU", "concept")
def only_iou(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    a, b = to_corners(p), to_corners(t)
    inter = (torch.min(a[:, 2:], b[:, 2:]) - torch.max(a[:, :2], b[:, :2])).clamp(min=0).prod(-1)
    iou = inter / (p[:, 2:].prod(-1) + t[:, 2:].prod(-1) - inter)
    return class_loss(logits, labels, exists, matched) + (5 * (p - t).abs().sum() + 2 * (1 - iou).sum()) / max(
        1, len(p)
    )


change(by_parts, "no_giou", "the GIoU part is forgotten", "concept",
       ("boxes, targets, exists, matched", "boxes, targets, exists, matched, giou=0"))
change(by_parts, "no_l1", "the L1 part is forgotten", "concept",
       ("boxes, targets, exists, matched", "boxes, targets, exists, matched, l1=0"))
change(by_parts, "no_classes", "the class part is forgotten", "concept",
       ("class_loss(logits, labels, exists, matched) + box_loss", "box_loss"))
change(signed, "all_pairs", "all pairs of boxes instead of the diagonal", "concept",
       ("(p - t).sum()", "(p - t).abs().sum()"), ("paired_giou", "pairwise_giou"))
change(by_parts, "by_batch", "box terms divided by the batch size", "concept",
       before("return", "n = exists.sum()"),
       ("box_loss(boxes, targets, exists, matched)", "box_loss(boxes, targets, exists, matched) * n / len(boxes)"))
change(by_parts, "by_places", "box terms divided by all places", "concept",
       before("return", "n = exists.sum()"),
       ("box_loss(boxes, targets, exists, matched)", "box_loss(boxes, targets, exists, matched) * n / exists.numel()"))


@wrong("box terms divided by the number of queries", "concept")
def by_queries(logits, boxes, labels, targets, exists, matched):
    n = exists.sum()
    return (
        class_loss(logits, labels, exists, matched)
        + box_loss(boxes, targets, exists, matched) * n / boxes[..., 0].numel()
    )


change(by_parts, "not_divided", "box terms summed", "concept",
       ("box_loss(boxes, targets, exists, matched)", "box_loss(boxes, targets, exists, matched) * exists.sum()"))


@wrong("0/0 where the batch has no target", "edge")
def zero_by_zero(logits, boxes, labels, targets, exists, matched):
    p, t = pairs(boxes, targets, exists, matched)
    terms = 5 * (p - t).abs().sum() + 2 * (1 - paired_giou(to_corners(p), to_corners(t))).sum()
    return class_loss(logits, labels, exists, matched) + terms / exists.sum()


@wrong("classes shifted: no-object is 0", "concept")
def background_first(logits, boxes, labels, targets, exists, matched):
    wanted = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
    b, t = torch.where(exists)
    wanted[b, matched[b, t]] = labels[b, t] + 1
    weight = torch.ones(logits.shape[-1], dtype=logits.dtype, device=logits.device)
    weight[0] = 0.1
    return F.cross_entropy(logits.transpose(1, 2), wanted, weight) + box_loss(boxes, targets, exists, matched)


@wrong("unmatched queries are told class 0, with no-object's weight on the last", "concept")
def unmatched_are_zero(logits, boxes, labels, targets, exists, matched):
    wanted = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
    b, t = torch.where(exists)
    wanted[b, matched[b, t]] = labels[b, t]
    ce = F.cross_entropy(logits.transpose(1, 2), wanted, class_weights(logits))
    return ce + box_loss(boxes, targets, exists, matched)


change(by_parts, "softmax_twice", "probabilities handed to cross_entropy", "concept",
       ("logits, labels", "logits.softmax(-1), labels"))


@wrong("minus the probability instead of minus its log, as in the costs", "concept")
def probabilities(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    ce = F.nll_loss(logits.softmax(-1).flatten(0, 1), wanted.flatten(), class_weights(logits))
    return ce + box_loss(boxes, targets, exists, matched)


@wrong("softmax over the queries", "concept")
def softmax_over_queries(logits, boxes, labels, targets, exists, matched):
    wanted = class_targets(logits, labels, exists, matched)
    logp = logits.log_softmax(1).flatten(0, 1)
    return F.nll_loss(logp, wanted.flatten(), class_weights(logits)) + box_loss(boxes, targets, exists, matched)


change(probabilities, "log_of_softmax", "log of a softmax that is 0 for large logits", "numerics",
       (".flatten(0, 1)", ".log().flatten(0, 1)"))
change(by_parts, "in_bits", "log2", "concept",
       ("class_loss(logits, labels, exists, matched)", "class_loss(logits, labels, exists, matched) / math.log(2)"))
change(by_parts, "detached", "the boxes detached", "gradient",
       ("boxes, targets", "boxes.detach(), targets"))


@wrong("a Python number", "gradient")
def number(logits, boxes, labels, targets, exists, matched):
    return (class_loss(logits, labels, exists, matched) + box_loss(boxes, targets, exists, matched)).item()


@wrong("a loss of shape [1]", "shape")
def shape_one(logits, boxes, labels, targets, exists, matched):
    return (class_loss(logits, labels, exists, matched) + box_loss(boxes, targets, exists, matched)).reshape(1)


@wrong("both parts in a tuple", "shape")
def a_tuple(logits, boxes, labels, targets, exists, matched):
    return class_loss(logits, labels, exists, matched), box_loss(boxes, targets, exists, matched)


@wrong("a loss for each picture", "shape")
def each_picture(logits, boxes, labels, targets, exists, matched):
    found = []
    for b in range(len(logits)):
        one = slice(b, b + 1)
        found.append(
            class_loss(logits[one], labels[one], exists[one], matched[one])
            + box_loss(boxes[one], targets[one], exists[one], matched[one])
        )
    return torch.stack(found)


@wrong("labels of padding are overwritten in the input", "process")
def overwrites(logits, boxes, labels, targets, exists, matched):
    result = class_loss(logits, labels, exists, matched) + box_loss(boxes, targets, exists, matched)
    labels[~exists] = logits.shape[-1] - 1
    return result


@wrong("takes the targets for the first n places: exists as a length", "concept")
def as_a_length(logits, boxes, labels, targets, exists, matched):
    n = exists.sum(1, keepdim=True)
    first = torch.arange(exists.shape[1], device=exists.device) < n
    return class_loss(logits, labels, first, matched) + box_loss(boxes, targets, first, matched)


@wrong("the weight is on the CPU", "process")
def weight_on_cpu(logits, boxes, labels, targets, exists, matched):
    weight = torch.ones(logits.shape[-1], dtype=logits.dtype)
    weight[-1] = 0.1
    wanted = class_targets(logits, labels, exists, matched)
    return F.cross_entropy(logits.transpose(1, 2), wanted, weight) + box_loss(boxes, targets, exists, matched)


change(weight_on_cpu, "weight_in_float32", "weights of float32 whatever the logits are", "process",
       ("dtype", "device", 2))
