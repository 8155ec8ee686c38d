"""Right answers to `average_precision`, as others write them."""

import torch

from autograder.bank.practice import practice


def box_iou(boxes1, boxes2):
    area1 = (boxes1[:, 2] - boxes1[:, 0]) * (boxes1[:, 3] - boxes1[:, 1])
    area2 = (boxes2[:, 2] - boxes2[:, 0]) * (boxes2[:, 3] - boxes2[:, 1])
    lt = torch.max(boxes1[:, None, :2], boxes2[:, :2])  # [N,M,2]
    rb = torch.min(boxes1[:, None, 2:], boxes2[:, 2:])  # [N,M,2]
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (area1[:, None] + area2 - inter)


@practice("pycocotools")
def coco(scores, boxes, targets, threshold):
    dtind = torch.argsort(-scores, stable=True)
    dt, gt = boxes[dtind], targets
    ious = box_iou(dt, gt)
    D, G = len(dt), len(gt)
    gtm, dtm = [-1] * G, [-1] * D
    for dind in range(D):
        iou = min([threshold, 1 - 1e-10])
        m = -1
        for gind in range(G):
            if gtm[gind] >= 0:
                continue
            if ious[dind, gind] < iou:
                continue
            iou = ious[dind, gind]
            m = gind
        if m == -1:
            continue
        dtm[dind] = m
        gtm[m] = dind
    tps = torch.tensor([m >= 0 for m in dtm], device=scores.device)
    fps = ~tps
    tp_sum, fp_sum = tps.cumsum(0).to(scores.dtype), fps.cumsum(0).to(scores.dtype)
    rc, pr = (tp_sum / G).tolist(), (tp_sum / (fp_sum + tp_sum)).tolist()
    for i in range(D - 1, 0, -1):
        if pr[i] > pr[i - 1]:
            pr[i - 1] = pr[i]
    ap, before = 0.0, 0.0
    for r, p in zip(rc, pr):
        ap, before = ap + (r - before) * p, r
    return torch.as_tensor(ap, dtype=scores.dtype, device=scores.device)


@practice("rbgirshick/py-faster-rcnn")
def voc(scores, boxes, targets, threshold):
    sorted_ind = torch.argsort(scores, descending=True)
    BB, BBGT = boxes[sorted_ind], targets
    det = torch.zeros(len(BBGT), dtype=torch.bool, device=BB.device)
    nd = len(BB)
    tp, fp = scores.new_zeros(nd), scores.new_zeros(nd)
    for d in range(nd):
        bb = BB[d]
        iw = (torch.minimum(BBGT[:, 2], bb[2]) - torch.maximum(BBGT[:, 0], bb[0])).clamp(min=0.0)
        ih = (torch.minimum(BBGT[:, 3], bb[3]) - torch.maximum(BBGT[:, 1], bb[1])).clamp(min=0.0)
        inters = iw * ih
        uni = (bb[2] - bb[0]) * (bb[3] - bb[1]) + (BBGT[:, 2] - BBGT[:, 0]) * (BBGT[:, 3] - BBGT[:, 1]) - inters
        overlaps = torch.where(det, -torch.ones_like(inters), inters / uni)
        ovmax, jmax = overlaps.max(0)
        if ovmax >= threshold:
            tp[d] = 1.0
            det[jmax] = True
        else:
            fp[d] = 1.0
    tp, fp = tp.cumsum(0), fp.cumsum(0)
    rec, prec = tp / len(BBGT), tp / (tp + fp)
    zero, one = scores.new_zeros(1), scores.new_ones(1)
    mrec, mpre = torch.cat((zero, rec, one)), torch.cat((zero, prec, zero))
    for i in range(len(mpre) - 1, 0, -1):
        mpre[i - 1] = torch.maximum(mpre[i - 1], mpre[i])
    i = torch.where(mrec[1:] != mrec[:-1])[0]
    return ((mrec[i + 1] - mrec[i]) * mpre[i + 1]).sum()


@practice("d2l")
def dive(scores, boxes, targets, threshold):
    iou = box_iou(boxes, targets)
    available = set(range(len(targets)))
    hits, curve = 0, []
    for rank, i in enumerate(torch.sort(scores, descending=True)[1].tolist(), start=1):
        candidates = [(float(iou[i, j]), j) for j in available if iou[i, j] >= threshold]
        if candidates:
            available.remove(max(candidates)[1])
            hits += 1
            curve.append(hits / rank)
    area, best = 0.0, 0.0
    for precision in reversed(curve):
        best = max(best, precision)
        area += best / len(targets)
    return torch.tensor(area, dtype=scores.dtype, device=scores.device)


@practice("ultralytics")
def ultra(scores, boxes, targets, threshold):
    conf, order = scores.sort(descending=True)
    iou = box_iou(targets, boxes[order])
    correct = torch.zeros(len(order), dtype=torch.bool, device=scores.device)
    for i in range(len(order)):
        column = iou[:, i]
        j = int(column.argmax())
        if column[j] >= threshold:
            correct[i] = True
            iou[j] = 0
    tpc = correct.cumsum(0)
    fpc = (~correct).cumsum(0)
    precision = tpc / (tpc + fpc)
    recall = tpc / len(targets)
    envelope = torch.flip(torch.cummax(torch.flip(precision, (0,)), 0)[0], (0,))
    steps = torch.diff(recall, prepend=recall.new_zeros(1))
    return (steps * envelope).sum().to(scores.dtype)
