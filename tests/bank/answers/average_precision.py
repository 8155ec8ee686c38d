"""Answers to average_precision (assignment 14)."""

import torch
from answers import before, change, right, wrong

# what several answers share


def iou_table(a, b):
    tl = torch.maximum(a[:, None, :2], b[None, :, :2])
    br = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (br - tl).clamp(min=0).prod(-1)
    return inter / ((a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1)[None] - inter)


def matched(scores, ious, threshold, order=None):
    """True positives in order of falling scores, by COCO's rule."""
    order = torch.argsort(scores, descending=True) if order is None else order
    used, tp = torch.zeros(ious.shape[1], dtype=torch.bool, device=ious.device), []
    for i in order:
        row = ious[i].masked_fill(used, -1.0)
        j = row.argmax()
        ok = bool(row[j] >= threshold)
        if ok:
            used[j] = True
        tp.append(ok)
    return torch.tensor(tp, dtype=scores.dtype, device=scores.device)


def curve(tp, M):
    n = torch.arange(1, len(tp) + 1, dtype=tp.dtype, device=tp.device)
    return tp.cumsum(0) / n, tp.cumsum(0) / M


def envelope(precision):
    return torch.stack([precision[i:].max() for i in range(len(precision))])


def area(tp, M):
    precision, recall = curve(tp, M)
    steps = torch.diff(recall, prepend=recall.new_zeros(1))
    return (steps * envelope(precision)).sum()


# ---------------------------------------------------------------- right


@right("Helpers for matching, curve and area")
def by_steps(scores, boxes, targets, threshold):
    return area(matched(scores, iou_table(boxes, targets), threshold), len(targets))


@right("A set of free targets and Python numbers")
def sets(scores, boxes, targets, threshold):
    ious = iou_table(boxes, targets).tolist()
    free, hits, precisions = set(range(len(targets))), 0, []
    ranked = sorted(range(len(scores)), key=lambda i: -float(scores[i]))
    for rank, i in enumerate(ranked, 1):
        best = max(free, key=lambda j: ious[i][j], default=None)
        if best is not None and ious[i][best] >= threshold:
            free.discard(best)
            hits += 1
            precisions.append(hits / rank)
    total = sum(max(precisions[k:]) for k in range(len(precisions)))
    return torch.tensor(total / len(targets), dtype=scores.dtype, device=scores.device)


@right("Columns of taken targets are overwritten in a copy")
def overwritten(scores, boxes, targets, threshold):
    ious = iou_table(boxes, targets)[scores.argsort(descending=True)]
    tp = scores.new_zeros(len(scores))
    for i in range(len(ious)):
        best, j = ious[i].max(0)
        if best >= threshold:
            tp[i] = 1
            ious[:, j] = -1
    return area(tp, len(targets))


@right("cummax from behind")
def cummax(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold)
    precision, _ = curve(tp, len(targets))
    best = precision.flip(0).cummax(0)[0].flip(0)
    return best[tp > 0].sum() / len(targets)


@right("Points at both ends, as in the VOC code")
def with_sentinels(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold)
    precision, recall = curve(tp, len(targets))
    zero = recall.new_zeros(1)
    mrec, mpre = torch.cat([zero, recall, zero + 1]), torch.cat([zero, precision, zero])
    for i in range(len(mpre) - 2, -1, -1):
        mpre[i] = max(mpre[i], mpre[i + 1])
    return ((mrec[1:] - mrec[:-1]) * mpre[1:]).sum()


@right("Backwards over the ranking")
def backwards(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold).tolist()
    hits, best, total = sum(tp), 0.0, 0.0
    for rank in range(len(tp), 0, -1):
        best = max(best, hits / rank)
        if tp[rank - 1]:
            total += best
            hits -= 1
    return scores.new_tensor(total / len(targets))


@right("Loops with intersections by hand")
def by_hand(scores, boxes, targets, threshold):
    taken, tp = [], []
    for i in scores.sort(descending=True).indices.tolist():
        x0, y0, x1, y1 = boxes[i].tolist()
        best, which = -1.0, -1
        for j, (a, b, c, d) in enumerate(targets.tolist()):
            if j in taken:
                continue
            w, h = max(0.0, min(x1, c) - max(x0, a)), max(0.0, min(y1, d) - max(y0, b))
            overlap = w * h / ((x1 - x0) * (y1 - y0) + (c - a) * (d - b) - w * h)
            if overlap > best:
                best, which = overlap, j
        tp.append(best >= threshold)
        if best >= threshold:
            taken.append(which)
    return area(torch.tensor(tp, device=scores.device).to(scores.dtype), len(targets))


@right("For each recall the best precision")
def recall_by_recall(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold)
    precision, _ = curve(tp, len(targets))
    hits = tp.cumsum(0)
    total = scores.new_zeros(())
    for k in range(1, int(hits[-1]) + 1):
        total = total + precision[hits >= k].max()
    return total / len(targets)


@right("Trapezoids under the envelope, which is level where the recall grows")
def trapezoids_of_the_envelope(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    best = envelope(precision)
    return torch.trapezoid(torch.cat([best[:1], best]), torch.cat([recall.new_zeros(1), recall]))


@right("The envelope one place before, where it is the same wherever the recall grows")
def precision_before(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    best = envelope(precision)
    return (torch.diff(recall, prepend=recall.new_zeros(1)) * torch.cat([best.new_ones(1), best[:-1]])).sum()


# ---------------------------------------------------------------- wrong


@wrong("a target may be found twice", "concept")
def twice(scores, boxes, targets, threshold):
    best = iou_table(boxes, targets).max(1).values[scores.argsort(descending=True)]
    return area((best >= threshold).to(scores.dtype), len(targets))


@wrong("a target may be found twice, recall clamped at 1", "concept")
def twice_clamped(scores, boxes, targets, threshold):
    best = iou_table(boxes, targets).max(1).values[scores.argsort(descending=True)]
    precision, recall = curve((best >= threshold).to(scores.dtype), len(targets))
    steps = torch.diff(recall.clamp(max=1), prepend=recall.new_zeros(1))
    return (steps * envelope(precision)).sum()


@wrong("VOC's rule: the best of all targets, false if taken", "concept")
def voc(scores, boxes, targets, threshold):
    ious, used, tp = iou_table(boxes, targets), set(), []
    for i in scores.argsort(descending=True).tolist():
        j = int(ious[i].argmax())
        tp.append(bool(ious[i, j] >= threshold) and j not in used)
        if tp[-1]:
            used.add(j)
    return area(torch.tensor(tp, device=scores.device).to(scores.dtype), len(targets))


@wrong("first target that is above the threshold", "concept")
def first_above(scores, boxes, targets, threshold):
    ious, used, tp = iou_table(boxes, targets), set(), []
    for i in scores.argsort(descending=True).tolist():
        fits = [j for j in range(len(targets)) if j not in used and ious[i, j] >= threshold]
        tp.append(bool(fits))
        used.update(fits[:1])
    return area(torch.tensor(tp, device=scores.device).to(scores.dtype), len(targets))


change(first_above, "last_above", "last target that is above the threshold", "concept",
       ("fits[:1]", "fits[-1:]"))
change(first_above, "takes_all", "all targets above the threshold are taken", "concept",
       ("fits[:1]", "fits"))


@wrong("the best target is taken even below the threshold", "concept")
def takes_below(scores, boxes, targets, threshold):
    ious, used, tp = iou_table(boxes, targets), set(), []
    for i in scores.argsort(descending=True).tolist():
        left = [j for j in range(len(targets)) if j not in used]
        j = max(left, key=lambda j: ious[i, j], default=None)
        tp.append(j is not None and bool(ious[i, j] >= threshold))
        used.add(j)
    return area(torch.tensor(tp, device=scores.device).to(scores.dtype), len(targets))


@wrong("each target takes its best detection, whatever the scores", "concept")
def targets_choose(scores, boxes, targets, threshold):
    ious = iou_table(boxes, targets)
    best, which = ious.max(0)
    tp = torch.zeros_like(scores)
    tp[which[best >= threshold]] = 1
    return area(tp[scores.argsort(descending=True)], len(targets))


change(by_steps, "unsorted", "not sorted", "concept",
       before("return", "order = torch.arange(len(scores), device=scores.device)"),
       ("iou_table(boxes, targets), threshold", "iou_table(boxes, targets), threshold, order"))
change(by_steps, "ascending", "ascending", "concept",
       ("iou_table(boxes, targets), threshold", "iou_table(boxes, targets), threshold, scores.argsort()"))


@wrong("matched in the given order, sorted only for the curve", "concept")
def sorted_late(scores, boxes, targets, threshold):
    order = torch.arange(len(scores), device=scores.device)
    tp = matched(scores, iou_table(boxes, targets), threshold, order)
    return area(tp[scores.argsort(descending=True)], len(targets))


@wrong("sorted twice", "concept")
def sorted_twice(scores, boxes, targets, threshold):
    order = scores.argsort(descending=True)
    tp = matched(scores, iou_table(boxes, targets), threshold, order)
    return area(tp[order], len(targets))


change(by_steps, "by_ranks", "ranks instead of an order: argsort of argsort", "concept",
       before("return", "order = scores.argsort(descending=True).argsort()"),
       ("iou_table(boxes, targets), threshold", "iou_table(boxes, targets), threshold, order"))


@wrong("sorted by IoU", "concept")
def by_overlap(scores, boxes, targets, threshold):
    ious = iou_table(boxes, targets)
    return area(matched(scores, ious, threshold, ious.max(1).values.argsort(descending=True)), len(targets))


@wrong("boxes sorted, scores not: sorted by the order of the scores once more in the matching", "concept")
def boxes_sorted(scores, boxes, targets, threshold):
    order = scores.argsort(descending=True)
    return area(matched(scores, iou_table(boxes[order], targets), threshold), len(targets))


change(precision_before, "raw", "no envelope", "concept",
       ("best = envelope(precision)", ""), ("torch.cat([best.new_ones(1), best[:-1]])", "precision"))
change(trapezoids_of_the_envelope, "trapezoids", "trapezoids without an envelope", "concept",
       ("best = envelope(precision)", ""), ("best[:1], best", "precision[:1], precision"))


@wrong("trapz that begins at the first detection", "concept")
def trapezoids_from_the_first(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    return torch.trapezoid(envelope(precision), recall)


change(precision_before, "front_envelope", "envelope from the front", "concept",
       ("best = envelope(precision)", ""), ("torch.cat([best.new_ones(1), best[:-1]])", "precision.cummax(0).values"))


@wrong("the largest precision of all", "concept")
def largest(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    return precision.max() * recall[-1]


change(precision_before, "next_only", "envelope of each and the next only", "concept",
       ("envelope(precision)", "torch.maximum(precision, torch.cat([precision[1:], precision[-1:]]))"),
       ("torch.cat([best.new_ones(1), best[:-1]])", "best"))


@wrong("mean precision over all detections", "concept")
def mean_precision(scores, boxes, targets, threshold):
    return curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))[0].mean()


@wrong("mean of the envelope", "concept")
def mean_envelope(scores, boxes, targets, threshold):
    return envelope(curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))[0]).mean()


@wrong("precision at the end", "concept")
def final_precision(scores, boxes, targets, threshold):
    return matched(scores, iou_table(boxes, targets), threshold).mean()


@wrong("recall at the end", "concept")
def final_recall(scores, boxes, targets, threshold):
    return matched(scores, iou_table(boxes, targets), threshold).sum() / len(targets)


@wrong("F1", "concept")
def f1(scores, boxes, targets, threshold):
    hits = matched(scores, iou_table(boxes, targets), threshold).sum()
    return 2 * hits / (len(scores) + len(targets))


@wrong("divided by the number found", "concept")
def by_found(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold)
    return area(tp, len(targets)) * len(targets) / tp.sum().clamp(min=1)


@wrong("divided by the number found, NaN where there is none", "edge")
def by_found_nan(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold)
    return (tp * envelope(curve(tp, 1)[0])).sum() / tp.sum()


change(by_steps, "by_detections", "divided by the number of detections", "concept",
       ("len(targets)", "len(scores)"))
change(by_steps, "by_the_smaller", "divided by the smaller of N and M", "concept",
       ("len(targets)", "min(len(scores), len(targets))"))
change(by_steps, "not_divided", "summed, not divided", "concept",
       ("len(targets)", "1"))


@wrong("eleven points", "concept")
def eleven(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    total = 0 * recall[0]
    for r in torch.linspace(0, 1, 11).tolist():
        over = precision[recall >= r - 1e-6]
        total = total + (over.max() if len(over) else 0) / 11
    return total


change(eleven, "hundred_and_one", "101 points, as COCO's code", "concept",
       ("11", "101", 2))


@wrong("precision from 0: divided by the place counted from 0", "edge")
def places_from_zero(scores, boxes, targets, threshold):
    tp = matched(scores, iou_table(boxes, targets), threshold)
    precision = tp.cumsum(0) / torch.arange(len(tp), dtype=tp.dtype, device=tp.device).clamp(min=1)
    _, recall = curve(tp, len(targets))
    return (torch.diff(recall, prepend=recall.new_zeros(1)) * envelope(precision)).sum()


@wrong("the first step of the recall is left out", "edge")
def first_step_missing(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    return (recall.diff() * envelope(precision)[1:]).sum()


@wrong("no clamp", "concept")
def unclamped(scores, boxes, targets, threshold):
    inter = (
        torch.minimum(boxes[:, None, 2:], targets[:, 2:]) - torch.maximum(boxes[:, None, :2], targets[:, :2])
    ).prod(-1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(-1)[:, None] + (targets[:, 2:] - targets[:, :2]).prod(-1)
    return area(matched(scores, inter / (areas - inter), threshold), len(targets))


change(by_steps, "sum_for_union", "union without subtraction", "concept",
       before("return", "ious = iou_table(boxes, targets)"), ("iou_table(boxes, targets)", "ious / (1 + ious)"))


@wrong("intersection over the target", "concept")
def over_the_target(scores, boxes, targets, threshold):
    inter = (
        torch.minimum(boxes[:, None, 2:], targets[:, 2:]) - torch.maximum(boxes[:, None, :2], targets[:, :2])
    ).clamp(min=0)
    return area(matched(scores, inter.prod(-1) / (targets[:, 2:] - targets[:, :2]).prod(-1), threshold), len(targets))


@wrong("boxes taken for centre format", "concept")
def as_centres(scores, boxes, targets, threshold):
    a, b = (torch.cat([x[:, :2] - x[:, 2:] / 2, x[:, :2] + x[:, 2:] / 2], 1) for x in (boxes, targets))
    return area(matched(scores, iou_table(a, b), threshold), len(targets))


change(by_steps, "half", "the threshold is always 0.5", "concept",
       ("iou_table(boxes, targets), threshold", "iou_table(boxes, targets), 0.5"))


@wrong("scores below the threshold are thrown away", "concept")
def threshold_of_scores(scores, boxes, targets, threshold):
    kept = scores >= threshold
    if not kept.any():
        return scores.new_zeros(())
    return area(matched(scores[kept], iou_table(boxes[kept], targets), 0.5), len(targets))


change(by_steps, "below", "IoU has to be below the threshold", "concept",
       ("iou_table(boxes, targets)", "1 - iou_table(boxes, targets)"))


@wrong("a target matched by its row: the table transposed", "concept")
def table_transposed(scores, boxes, targets, threshold):
    ious = iou_table(targets, boxes)
    used, tp = set(), []
    for i in scores.argsort(descending=True).tolist():
        row = [(float(ious[i % len(targets), j]), j) for j in range(len(boxes)) if j not in used]
        best, j = max(row)
        tp.append(best >= threshold)
        if tp[-1]:
            used.add(j)
    return area(torch.tensor(tp, device=scores.device).to(scores.dtype), len(targets))


@wrong("a Python number", "interface")
def a_float(scores, boxes, targets, threshold):
    return float(by_steps(scores, boxes, targets, threshold))


change(by_steps, "the_curve", "precision and recall are returned", "interface",
       ("area", "curve"))


@wrong("shape [1]", "shape")
def shape_one(scores, boxes, targets, threshold):
    return by_steps(scores, boxes, targets, threshold)[None]


@wrong("the area at each detection", "shape")
def cumulated(scores, boxes, targets, threshold):
    precision, recall = curve(matched(scores, iou_table(boxes, targets), threshold), len(targets))
    return (torch.diff(recall, prepend=recall.new_zeros(1)) * envelope(precision)).cumsum(0)


@wrong("scores are sorted in place", "process")
def in_place(scores, boxes, targets, threshold):
    result = by_steps(scores, boxes, targets, threshold)
    scores.copy_(scores.sort(descending=True).values)
    return result


@wrong("percent", "concept")
def percent(scores, boxes, targets, threshold):
    return 100 * by_steps(scores, boxes, targets, threshold)
