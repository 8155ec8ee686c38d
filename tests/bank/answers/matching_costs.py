"""Answers to matching_costs (assignment 14)."""

import torch
import torch.nn.functional as F
from answers import left_open, right, wrong


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


@wrong("minus the log-probability is added", kind="concept")
def log_probability(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - logits.log_softmax(-1)[:, labels]


@wrong("logits in place of probabilities", kind="concept")
def raw_logits(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - logits[:, labels]


@wrong("softmax over the real classes only", kind="concept")
def without_the_last_class(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits[:, :-1], labels)


@wrong("a sigmoid", kind="concept")
def by_sigmoid(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - logits.sigmoid()[:, labels]


@wrong("softmax over the queries", kind="concept")
def softmax_over_queries(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - logits.softmax(0)[:, labels]


@wrong("softmax after the labels' columns are taken", kind="concept")
def softmax_of_the_columns(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - logits[:, labels].softmax(-1)


@wrong("class 0 is taken for no-object", kind="concept")
def labels_plus_one(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels + 1)


@wrong("labels count from 1", kind="concept")
def labels_minus_one(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels - 1)


@wrong("the largest probability of each query", kind="concept")
def largest_probability(logits, boxes, labels, targets):
    p = logits.softmax(-1).max(-1, keepdim=True).values
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - p


@wrong("the probability of no-object", kind="concept")
def probability_of_nothing(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - logits.softmax(-1)[:, -1:]


@wrong("whether the most likely class is right, 0 or 1", kind="concept")
def right_or_wrong(logits, boxes, labels, targets):
    hit = (logits.argmax(-1)[:, None] == labels).to(boxes.dtype)
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - hit


@wrong("1 - p", kind="concept")
def one_minus_p(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) + 1 - _p(logits, labels)


@wrong("2 (1 - GIoU)", kind="concept")
def one_minus_giou(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) + 2 * (1 - giou_of_centres(boxes, targets)) - _p(logits, labels)


@wrong("1 - p and 1 - GIoU", kind="concept")
def both_one_minus(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) + 2 * (1 - giou_of_centres(boxes, targets)) + 1 - _p(logits, labels)


@wrong("+ p", kind="concept")
def plus_p(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) + _p(logits, labels)


@wrong("+ GIoU", kind="concept")
def plus_giou(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) + 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("scores, not costs: all signs the other way", kind="concept")
def scores(logits, boxes, labels, targets):
    return -5 * _l1(boxes, targets) + 2 * giou_of_centres(boxes, targets) + _p(logits, labels)


@wrong("GIoU of centres and sizes", kind="concept")
def not_converted(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * generalised_iou(boxes, targets) - _p(logits, labels)


@wrong("only the predicted boxes are converted", kind="concept")
def targets_not_converted(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * generalised_iou(to_corners(boxes), targets) - _p(logits, labels)


@wrong("L1 of corners", kind="concept")
def everything_in_corners(logits, boxes, labels, targets):
    b, t = to_corners(boxes), to_corners(targets)
    return 5 * _l1(b, t) - 2 * generalised_iou(b, t) - _p(logits, labels)


@wrong("the mean of the four differences", kind="concept")
def mean_l1(logits, boxes, labels, targets):
    l1 = (boxes[:, None] - targets).abs().mean(-1)
    return 5 * l1 - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("the Euclidean distance (cdist's default)", kind="concept")
def euclidean(logits, boxes, labels, targets):
    l2 = (boxes[:, None] - targets).square().sum(-1).sqrt()
    return 5 * l2 - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("squared differences", kind="concept")
def squares(logits, boxes, labels, targets):
    l2 = (boxes[:, None] - targets).square().sum(-1)
    return 5 * l2 - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("no absolute value", kind="concept")
def signed(logits, boxes, labels, targets):
    return 5 * (boxes[:, None] - targets).sum(-1) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("the largest of the four differences", kind="concept")
def largest_difference(logits, boxes, labels, targets):
    l1 = (boxes[:, None] - targets).abs().amax(-1)
    return 5 * l1 - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("only the centres' distance", kind="concept")
def centres_only(logits, boxes, labels, targets):
    return 5 * _l1(boxes[:, :2], targets[:, :2]) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("IoU", kind="concept")
def iou(logits, boxes, labels, targets):
    i, u, _ = pieces(to_corners(boxes), to_corners(targets))
    return 5 * _l1(boxes, targets) - 2 * i / u - _p(logits, labels)


@wrong("weights 2 and 5 exchanged", kind="concept")
def weights_exchanged(logits, boxes, labels, targets):
    return 2 * _l1(boxes, targets) - 5 * giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("no weights", kind="concept")
def no_weights(logits, boxes, labels, targets):
    return _l1(boxes, targets) - giou_of_centres(boxes, targets) - _p(logits, labels)


@wrong("5 for both box terms", kind="concept")
def five_for_both(logits, boxes, labels, targets):
    return 5 * (_l1(boxes, targets) - giou_of_centres(boxes, targets)) - _p(logits, labels)


@wrong("the class term is left out", kind="concept")
def boxes_only(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets)


@wrong("the GIoU term is left out", kind="concept")
def without_giou(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - _p(logits, labels)


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


@wrong("L1 summed over the boxes too", kind="concept")
def l1_over_everything(logits, boxes, labels, targets):
    l1 = (boxes[:, None] - targets).abs().sum()
    return 5 * l1 - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


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


@wrong("5 (1 - L1)", kind="concept")
def distance_as_similarity(logits, boxes, labels, targets):
    return 5 * (1 - _l1(boxes, targets)) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)


@left_open("gradients are kept", kind="gradient")
def with_gradients(logits, boxes, labels, targets):
    return 5 * _l1(boxes, targets) - 2 * giou_of_centres(boxes, targets) - _p(logits, labels)
