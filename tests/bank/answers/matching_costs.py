"""Answers to matching_costs (assignment 14)."""

import torch
import torch.nn.functional as F
from answers import before, change, left_open, right, wrong


def to_corners(X):
    return torch.cat([X[..., :2] - X[..., 2:] / 2, X[..., :2] + X[..., 2:] / 2], -1)


def pieces(A, B):
    """intersection, union, hull of boxes given by corners"""
    a, b = A[:, None], B[None]
    inter = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    area = lambda X: (X[..., 2] - X[..., 0]) * (X[..., 3] - X[..., 1])  # noqa: E731
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).prod(-1)
    return inter, area(a) + area(b) - inter, hull


def generalised_iou(A, B):
    i, u, c = pieces(A, B)
    return i / u - (c - u) / c


def giou_of_centres(boxes, targets):
    return generalised_iou(to_corners(boxes), to_corners(targets))


# ---------------------------------------------------------------- right


@right("The three terms by broadcasting")
def three_terms(logits, boxes, labels, targets):
    p = torch.softmax(logits, dim=-1)[:, labels]
    l1 = (boxes[:, None] - targets[None]).abs().sum(-1)
    return 5 * l1 - 2 * giou_of_centres(boxes, targets) - p


@right("index_select and a norm with p=1")
def by_index_select(logits, boxes, labels, targets):
    p = logits.softmax(1).index_select(1, labels)
    l1 = torch.linalg.vector_norm(boxes.unsqueeze(1) - targets.unsqueeze(0), ord=1, dim=-1)
    return l1.mul(5) - giou_of_centres(boxes, targets).mul(2) - p


@right("exp of log_softmax, gathered")
def by_gather(logits, boxes, labels, targets):
    index = labels.unsqueeze(0).repeat(len(logits), 1)
    p = F.log_softmax(logits, dim=-1).exp().gather(1, index)
    l1 = sum((boxes[:, None, k] - targets[None, :, k]).abs() for k in range(4))
    return -(p + 2 * giou_of_centres(boxes, targets) - 5 * l1)


@right("Query by query")
def query_by_query(logits, boxes, labels, targets):
    rows = []
    for logit, box in zip(logits, boxes):
        p = logit.softmax(0)[labels]
        l1 = (box - targets).abs().sum(1)
        rows.append(5 * l1 - 2 * giou_of_centres(box[None], targets)[0] - p)
    return torch.stack(rows)


@right("Target by target, stacked along the second axis")
def target_by_target(logits, boxes, labels, targets):
    p = logits.softmax(-1)
    columns = [
        5 * (boxes - t).abs().sum(1) - 2 * giou_of_centres(boxes, t[None])[:, 0] - p[:, int(k)]
        for k, t in zip(labels, targets)
    ]
    return torch.stack(columns, dim=1)


@right("A one-hot product for the classes")
def one_hot_product(logits, boxes, labels, targets):
    chosen = torch.zeros(len(labels), logits.shape[1], dtype=logits.dtype, device=logits.device)
    chosen[torch.arange(len(labels), device=logits.device), labels] = 1
    p = logits.softmax(-1) @ chosen.T
    return 5 * (boxes[:, None] - targets).abs().sum(-1) - 2 * giou_of_centres(boxes, targets) - p


@right("Under no_grad, in single precision or better")
@torch.no_grad()
def without_gradients(logits, boxes, labels, targets):
    kind = boxes.dtype
    logits, boxes, targets = (X.to(torch.promote_types(X.dtype, torch.float32)) for X in (logits, boxes, targets))
    out = 5 * torch.cdist(boxes, targets, p=1)
    out -= 2 * giou_of_centres(boxes, targets)
    out -= logits.softmax(-1)[:, labels]
    return out.to(kind)


@right("Costs of all classes first, then the labels' columns; the weights in a list")
def with_a_list_of_weights(logits, boxes, labels, targets):
    terms = [
        (
            5.0,
            F.l1_loss(
                boxes[:, None].expand(-1, len(targets), -1), targets[None].expand(len(boxes), -1, -1), reduction="none"
            ).sum(2),
        ),
        (2.0, -giou_of_centres(boxes, targets)),
        (1.0, (-logits.softmax(-1)).T[labels].T),
    ]
    return sum(w * t for w, t in terms)


# ---------------------------------------------------------------- wrong


def _p(logits, labels):
    return logits.softmax(-1)[:, labels]


def _l1(boxes, targets):
    return (boxes[:, None] - targets).abs().sum(-1)


# Right, and not registered: answers below are changes of it.
def _plain(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


change(_plain, "log_probability", "minus the log-probability is added", "concept",
       ("_p(logits, labels)", "logits.log_softmax(-1)[:, labels]"))
change(_plain, "raw_logits", "logits in place of probabilities", "concept",
       ("_p(logits, labels)", "logits[:, labels]"))
change(_plain, "without_the_last_class", "softmax over the real classes only", "concept",
       ("logits, labels", "logits[:, :-1], labels"))
change(_plain, "by_sigmoid", "a sigmoid", "concept",
       ("_p(logits, labels)", "logits.sigmoid()[:, labels]"))
change(_plain, "softmax_over_queries", "softmax over the queries", "concept",
       ("_p(logits, labels)", "logits.softmax(0)[:, labels]"))
change(_plain, "softmax_of_the_columns", "softmax after the labels' columns are taken", "concept",
       ("_p(logits, labels)", "logits[:, labels].softmax(-1)"))
change(_plain, "labels_plus_one", "class 0 is taken for no-object", "concept",
       ("logits, labels", "logits, labels + 1"))
change(_plain, "labels_minus_one", "labels count from 1", "concept",
       ("logits, labels", "logits, labels - 1"))
change(_plain, "largest_probability", "the largest probability of each query", "concept",
       before("return", "p = logits.softmax(-1).max(-1, keepdim=True).values"), ("_p(logits, labels)", "p"))
change(_plain, "probability_of_nothing", "the probability of no-object", "concept",
       ("_p(logits, labels)", "logits.softmax(-1)[:, -1:]"))
change(_plain, "right_or_wrong", "whether the most likely class is right, 0 or 1", "concept",
       before("return", "hit = (logits.argmax(-1)[:, None] == labels).to(boxes.dtype)"), ("_p(logits, labels)", "hit"))
change(_plain, "one_minus_p", "1 - p", "concept",
       ("2 * giou_of_centres(boxes, targets)", "2 * giou_of_centres(boxes, targets) + 1"))
change(_plain, "one_minus_giou", "2 (1 - GIoU)", "concept",
       ("- 2 * giou_of_centres(boxes, targets)", "+ 2 * (1 - giou_of_centres(boxes, targets))"))
change(_plain, "both_one_minus", "1 - p and 1 - GIoU", "concept",
       ("- 2 * giou_of_centres(boxes, targets)", "+ 2 * (1 - giou_of_centres(boxes, targets)) + 1"))
change(_plain, "plus_p", "+ p", "concept",
       ("- _p", "+ _p"))
change(_plain, "plus_giou", "+ GIoU", "concept",
       ("- 2 *", "+ 2 *"))


@wrong("scores, not costs: all signs the other way", kind="concept")
def scores(logits, boxes, labels, targets):
    return -5 * _l1(boxes, targets) + 2 * giou_of_centres(boxes, targets) + _p(logits, labels)


change(_plain, "not_converted", "GIoU of centres and sizes", "concept",
       ("giou_of_centres", "generalised_iou"))
change(_plain, "targets_not_converted", "only the predicted boxes are converted", "concept",
       ("giou_of_centres(boxes, targets)", "generalised_iou(to_corners(boxes), targets)"))


@wrong("L1 of corners", kind="concept")
def everything_in_corners(logits, boxes, labels, targets):
    b, t = to_corners(boxes), to_corners(targets)
    return 5 * _l1(b, t) - 2 * generalised_iou(b, t) - _p(logits, labels)


change(_plain, "mean_l1", "the mean of the four differences", "concept",
       before("return", "l1 = (boxes[:, None] - targets).abs().mean(-1)"), ("_l1(boxes, targets)", "l1"))
change(_plain, "euclidean", "the Euclidean distance (cdist's default)", "concept",
       before("return", "l2 = (boxes[:, None] - targets).square().sum(-1).sqrt()"), ("_l1(boxes, targets)", "l2"))
change(_plain, "squares", "squared differences", "concept",
       before("return", "l2 = (boxes[:, None] - targets).square().sum(-1)"), ("_l1(boxes, targets)", "l2"))
change(_plain, "signed", "no absolute value", "concept",
       ("_l1(boxes, targets)", "(boxes[:, None] - targets).sum(-1)"))
change(_plain, "largest_difference", "the largest of the four differences", "concept",
       before("return", "l1 = (boxes[:, None] - targets).abs().amax(-1)"), ("_l1(boxes, targets)", "l1"))
change(_plain, "centres_only", "only the centres' distance", "concept",
       ("_l1(boxes, targets)", "_l1(boxes[:, :2], targets[:, :2])"))
change(_plain, "iou", "IoU", "concept",
       before("return", "i, u, _ = pieces(to_corners(boxes), to_corners(targets))"),
       ("giou_of_centres(boxes, targets)", "i / u"))
change(_plain, "weights_exchanged", "weights 2 and 5 exchanged", "concept",
       ("5 * _l1(boxes, targets) - 2", "2 * _l1(boxes, targets) - 5"))
change(_plain, "no_weights", "no weights", "concept",
       ("5 * _l1(boxes, targets) - 2 *", "_l1(boxes, targets) -"))


@wrong("5 for both box terms", kind="concept")
def five_for_both(logits, boxes, labels, targets):
    return 5 * (_l1(boxes, targets) - giou_of_centres(boxes, targets)) - _p(logits, labels)


change(_plain, "boxes_only", "the class term is left out", "concept",
       ("2 * giou_of_centres(boxes, targets) - _p(logits, labels)", "2 * giou_of_centres(boxes, targets)"))
change(_plain, "without_giou", "the GIoU term is left out", "concept",
       ("2 * giou_of_centres(boxes, targets) - _p", "_p"))


@wrong("the L1 term is left out", kind="concept")
def without_l1(logits, boxes, labels, targets):
    return -2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("the class term only", kind="concept")
def class_only(logits, boxes, labels, targets):
    return -_p(logits, labels)


@wrong("targets along the first axis", kind="shape")
def transposed(logits, boxes, labels, targets):
    return (5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)).T


@wrong("query i against target i alone", kind="shape")
def pairs_only(logits, boxes, labels, targets):
    n = min(len(boxes), len(targets))
    p = logits.softmax(-1)[torch.arange(n), labels[:n]]
    g = giou_of_centres(boxes[:n], targets[:n]).diagonal()
    return 5 * (boxes[:n] - targets[:n]).abs().sum(-1) - 2 * g - p


@wrong("summed over the targets", kind="shape")
def summed(logits, boxes, labels, targets):
    return (5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)).sum(1)


change(_plain, "l1_over_everything", "L1 summed over the boxes too", "concept",
       before("return", "l1 = (boxes[:, None] - targets).abs().sum()"), ("_l1(boxes, targets)", "l1"))


@wrong("three matrices in a tuple", kind="interface")
def three_results(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets), -2 * giou_of_centres(boxes, targets), -_p(logits, labels)


@wrong("the assignment instead of the costs", kind="concept")
def assigned(logits, boxes, labels, targets):
    return (5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)).argmin(0)


@wrong("exp without a shift: overflows", kind="numerics")
def naive_softmax(logits, boxes, labels, targets):
    e = logits.exp()
    p = (e / e.sum(-1, keepdim=True))[:, labels]
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - p


@wrong("a tensor of zeros in float32 is filled", kind="numerics")
def filled_in_single(logits, boxes, labels, targets):
    out = torch.zeros(len(boxes), len(targets))
    out += 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)
    return out


@wrong("costs are normalised to 0 to 1", kind="concept")
def normalised(logits, boxes, labels, targets):
    c = 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)
    return (c - c.min()) / (c.max() - c.min())


@wrong("the boxes are converted in place", kind="process")
def in_place(logits, boxes, labels, targets):
    l1 = _l1(boxes, targets)
    for X in (boxes, targets):
        X[:] = to_corners(X)
    return 5 * l1 - 2 * generalised_iou(boxes, targets) - _p(logits, labels)


@wrong("the distance over the sizes of the target", kind="concept")
def relative_distance(logits, boxes, labels, targets):
    l1 = (boxes[:, None] - targets).abs() / targets.repeat(1, 1)[:, [2, 3, 2, 3]]
    return 5 * l1.sum(-1) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


change(_plain, "distance_as_similarity", "5 (1 - L1)", "concept",
       ("_l1(boxes, targets)", "(1 - _l1(boxes, targets))"))


@left_open("gradients are kept", kind="gradient")
def with_gradients(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)
