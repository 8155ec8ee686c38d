"""Answers to generalised_iou (assignment 14)."""

import torch
from answers import left_open, right, wrong

# ---------------------------------------------------------------- right


@right("Sides by relu, areas by products of slices")
def by_relu(A, B):
    w = torch.relu(torch.min(A[:, None, 2], B[None, :, 2]) - torch.max(A[:, None, 0], B[None, :, 0]))
    h = torch.relu(torch.min(A[:, None, 3], B[None, :, 3]) - torch.max(A[:, None, 1], B[None, :, 1]))
    inter = w * h
    union = (
        ((A[:, 2] - A[:, 0]) * (A[:, 3] - A[:, 1]))[:, None] + ((B[:, 2] - B[:, 0]) * (B[:, 3] - B[:, 1]))[None] - inter
    )
    W = torch.max(A[:, None, 2], B[None, :, 2]) - torch.min(A[:, None, 0], B[None, :, 0])
    H = torch.max(A[:, None, 3], B[None, :, 3]) - torch.min(A[:, None, 1], B[None, :, 1])
    return inter / union - (W * H - union) / (W * H)


@right("Enclosing sides as the sum of the sides less the shared side, which may be negative")
def sides_by_subtraction(A, B):
    a, b = A[:, 2:] - A[:, :2], B[:, 2:] - B[:, :2]
    overlap = torch.minimum(A[:, None, 2:], B[:, 2:]) - torch.maximum(A[:, None, :2], B[:, :2])
    hull = torch.maximum(A[:, None, 2:], B[:, 2:]) - torch.minimum(A[:, None, :2], B[:, :2])
    inter = torch.where(overlap > 0, overlap, torch.zeros_like(overlap)).prod(-1)
    union = a.prod(-1)[:, None] + b.prod(-1) - inter
    return inter / union + union / hull.prod(-1) - 1


@right("Expanded to [N, M, 4] and stacked")
def expanded(A, B):
    a, b = A[:, None].expand(len(A), len(B), 4), B[None].expand(len(A), len(B), 4)
    both = torch.stack([a, b])
    low, high = both[..., :2], both[..., 2:]
    inner = (high.amin(0) - low.amax(0)).clamp(min=0)
    outer = high.amax(0) - low.amin(0)
    sizes = (high - low).prod(-1)
    I, C = inner[..., 0] * inner[..., 1], outer[..., 0] * outer[..., 1]  # noqa: E741
    U = sizes[0] + sizes[1] - I
    return I / U - (C - U) / C


@right("Columns: for each box of B all boxes of A, stacked along the last axis")
def column_by_column(A, B):
    columns = []
    for b in B:
        w = (A[:, 2].minimum(b[2]) - A[:, 0].maximum(b[0])).clamp(min=0)
        h = (A[:, 3].minimum(b[3]) - A[:, 1].maximum(b[1])).clamp(min=0)
        u = (A[:, 2] - A[:, 0]) * (A[:, 3] - A[:, 1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h
        c = (A[:, 2].maximum(b[2]) - A[:, 0].minimum(b[0])) * (A[:, 3].maximum(b[3]) - A[:, 1].minimum(b[1]))
        columns.append(w * h / u - (c - u) / c)
    return torch.stack(columns, dim=1)


@right("A mask of pairs that overlap multiplies the raw product")
def masked_product(A, B):
    lt, rb = torch.max(A[:, None, :2], B[:, :2]), torch.min(A[:, None, 2:], B[:, 2:])
    inter = (rb - lt).prod(-1) * (rb > lt).all(-1)
    area = lambda X: (X[:, 2] - X[:, 0]) * (X[:, 3] - X[:, 1])  # noqa: E731
    union = area(A).unsqueeze(1) + area(B).unsqueeze(0) - inter
    hull = (torch.max(A[:, None, 2:], B[:, 2:]) - torch.min(A[:, None, :2], B[:, :2])).prod(-1)
    return inter / union - 1 + union / hull


@right("In at least single precision, and back to the input's type")
def in_single_or_better(A, B):
    kind = A.dtype
    A, B = (X.to(torch.promote_types(kind, torch.float32)) for X in (A, B))
    inter = (torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])).clamp(min=0).prod(2)
    union = (A[:, 2:] - A[:, :2]).prod(1)[:, None] + (B[:, 2:] - B[:, :2]).prod(1)[None] - inter
    hull = (torch.max(A[:, None, 2:], B[:, 2:]) - torch.min(A[:, None, :2], B[:, :2])).prod(2)
    return (inter / union - (hull - union) / hull).to(kind)


@right("vmap of a function of two boxes")
def by_vmap(A, B):
    def one(a, b):
        inter = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0)
        inter = inter[0] * inter[1]
        union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter
        hull = torch.maximum(a[2:], b[2:]) - torch.minimum(a[:2], b[:2])
        hull = hull[0] * hull[1]
        return inter / union - (hull - union) / hull

    return torch.vmap(torch.vmap(one, (None, 0)), (0, None))(A, B)


@right("All pairs as two long lists")
def two_long_lists(A, B):
    i = torch.arange(len(A), device=A.device).repeat_interleave(len(B))
    j = torch.arange(len(B), device=A.device).repeat(len(A))
    a, b = A[i], B[j]
    lo, hi = torch.max(a, b), torch.min(a, b)
    inter = (hi[:, 2] - lo[:, 0]).clamp(min=0) * (hi[:, 3] - lo[:, 1]).clamp(min=0)
    hull = (lo[:, 2] - hi[:, 0]) * (lo[:, 3] - hi[:, 1])
    union = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1]) + (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1]) - inter
    return (inter / union - (hull - union) / hull).reshape(len(A), len(B))


# ---------------------------------------------------------------- wrong


def _area(X):
    return (X[..., 2] - X[..., 0]) * (X[..., 3] - X[..., 1])


def _pieces(A, B):
    """intersection, union, hull"""
    a, b = A[:, None], B[None]
    inter = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
    hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).prod(-1)
    return inter, _area(a) + _area(b) - inter, hull


def _giou(i, u, c):
    return i / u - (c - u) / c


@wrong("the shared sides are not clamped", kind="concept")
def without_clamp(A, B):
    _, _, c = _pieces(A, B)
    lt, rb = torch.max(A[:, None, :2], B[:, :2]), torch.min(A[:, None, 2:], B[:, 2:])
    i = (rb - lt).prod(-1)
    return _giou(i, _area(A)[:, None] + _area(B) - i, c)


@wrong("the area is clamped, not its sides", kind="concept")
def clamped_too_late(A, B):
    _, _, c = _pieces(A, B)
    wh = torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])
    i = (wh[..., 0] * wh[..., 1]).clamp(min=0)
    return _giou(i, _area(A)[:, None] + _area(B) - i, c)


@wrong("only the width is clamped", kind="concept")
def width_clamped_only(A, B):
    _, _, c = _pieces(A, B)
    wh = torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])
    i = wh[..., 0].clamp(min=0) * wh[..., 1]
    return _giou(i, _area(A)[:, None] + _area(B) - i, c)


@wrong("the absolute value of the sides in place of a clamp", kind="concept")
def absolute_sides(A, B):
    _, _, c = _pieces(A, B)
    i = (torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])).abs().prod(-1)
    return _giou(i, _area(A)[:, None] + _area(B) - i, c)


@wrong("the intersection is not subtracted from the union", kind="concept")
def sum_of_the_areas(A, B):
    i, u, c = _pieces(A, B)
    return _giou(i, u + i, c)


@wrong("the intersection is subtracted twice", kind="concept")
def subtracted_twice(A, B):
    i, u, c = _pieces(A, B)
    return _giou(i, u - i, c)


@wrong("IoU", kind="concept")
def plain_iou(A, B):
    i, u, _ = _pieces(A, B)
    return i / u


@wrong("the penalty is divided by the union", kind="concept")
def over_the_union(A, B):
    i, u, c = _pieces(A, B)
    return i / u - (c - u) / u


@wrong("the penalty is the hull less the intersection", kind="concept")
def hull_without_intersection(A, B):
    i, u, c = _pieces(A, B)
    return i / u - (c - i) / c


@wrong("IoU less hull over union", kind="concept")
def hull_over_union(A, B):
    i, u, c = _pieces(A, B)
    return i / u - c / u


@wrong("plus the penalty", kind="concept")
def plus(A, B):
    i, u, c = _pieces(A, B)
    return i / u + (c - u) / c


@wrong("the loss 1 - GIoU", kind="concept")
def the_loss(A, B):
    return 1 - _giou(*_pieces(A, B))


@wrong("the sign of everything is inverted", kind="concept")
def negated(A, B):
    return -_giou(*_pieces(A, B))


@wrong("min and max are exchanged in the hull, which is the intersection then", kind="concept")
def hull_is_the_intersection(A, B):
    i, u, _ = _pieces(A, B)
    c = (torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])).prod(-1)
    return _giou(i, u, c)


@wrong("min and max are exchanged in the intersection, which is the hull then", kind="concept")
def intersection_is_the_hull(A, B):
    _, _, c = _pieces(A, B)
    return _giou(c, _area(A)[:, None] + _area(B) - c, c)


@wrong("the hull's area is the sum of both areas", kind="concept")
def hull_as_a_sum(A, B):
    i, u, _ = _pieces(A, B)
    return _giou(i, u, u + i)


@wrong("the hull is the larger of the two boxes", kind="concept")
def hull_as_the_larger(A, B):
    i, u, _ = _pieces(A, B)
    return _giou(i, u, torch.max(_area(A)[:, None], _area(B)[None]))


@wrong("the hull is the whole picture, of area 1", kind="concept")
def hull_as_the_picture(A, B):
    i, u, _ = _pieces(A, B)
    return i / u - (1 - u)


@wrong("boxes are read as centre and size", kind="concept")
def as_centres(A, B):
    f = lambda X: torch.cat([X[:, :2] - X[:, 2:] / 2, X[:, :2] + X[:, 2:] / 2], -1)  # noqa: E731
    return _giou(*_pieces(f(A), f(B)))


@wrong("boxes are read as corner and size", kind="concept")
def as_corner_and_size(A, B):
    f = lambda X: torch.cat([X[:, :2], X[:, :2] + X[:, 2:]], -1)  # noqa: E731
    return _giou(*_pieces(f(A), f(B)))


@wrong("areas as x1 times y1", kind="concept")
def areas_of_the_corner(A, B):
    i, _, c = _pieces(A, B)
    return _giou(i, (A[:, 2] * A[:, 3])[:, None] + B[:, 2] * B[:, 3] - i, c)


@wrong("areas by the sum of the sides", kind="concept")
def sides_added(A, B):
    i, _, c = _pieces(A, B)
    f = lambda X: X[:, 2] - X[:, 0] + X[:, 3] - X[:, 1]  # noqa: E731
    return _giou(i, f(A)[:, None] + f(B) - i, c)


@wrong("order read as x0, x1, y0, y1", kind="concept")
def as_xxyy(A, B):
    order = [0, 2, 1, 3]
    return _giou(*_pieces(A[:, order], B[:, order]))


@wrong("one pixel more on each side", kind="concept")
def plus_one(A, B):
    a, b = A[:, None], B[None]
    f = lambda X: (X[..., 2] - X[..., 0] + 1) * (X[..., 3] - X[..., 1] + 1)  # noqa: E731
    i = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2]) + 1).clamp(min=0).prod(-1)
    c = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2]) + 1).prod(-1)
    return _giou(i, f(a) + f(b) - i, c)


@wrong("clamped at 0 in the end", kind="concept")
def not_negative(A, B):
    return _giou(*_pieces(A, B)).clamp(min=0)


@wrong("moved to 0 to 1: (1 + GIoU) / 2", kind="concept")
def between_0_and_1(A, B):
    return (1 + _giou(*_pieces(A, B))) / 2


@wrong("-1 for pairs that do not overlap", kind="concept")
def minus_one_apart(A, B):
    i, u, c = _pieces(A, B)
    return torch.where(i > 0, _giou(i, u, c), -1.0)


@wrong("0 for pairs that do not overlap", kind="concept")
def zero_apart(A, B):
    i, u, c = _pieces(A, B)
    return torch.where(i > 0, _giou(i, u, c), torch.zeros_like(i))


@wrong("the penalty only for pairs that do not overlap", kind="concept")
def penalty_apart_only(A, B):
    i, u, c = _pieces(A, B)
    return torch.where(i > 0, i / u, -(c - u) / c)


@wrong("DIoU: distance of the centres over the hull's diagonal", kind="concept")
def diou(A, B):
    i, u, _ = _pieces(A, B)
    centre = lambda X: (X[:, :2] + X[:, 2:]) / 2  # noqa: E731
    d = (centre(A)[:, None] - centre(B)).square().sum(-1)
    hull = torch.max(A[:, None, 2:], B[:, 2:]) - torch.min(A[:, None, :2], B[:, :2])
    return i / u - d / hull.square().sum(-1)


@wrong("intersection over the smaller box", kind="concept")
def over_the_smaller(A, B):
    i, u, c = _pieces(A, B)
    return i / torch.min(_area(A)[:, None], _area(B)[None]) - (c - u) / c


@wrong("intersection over the area of A", kind="concept")
def over_A(A, B):
    i, u, c = _pieces(A, B)
    return i / _area(A)[:, None] - (c - u) / c


@wrong("Dice: twice the intersection over the sum", kind="concept")
def dice(A, B):
    i, u, c = _pieces(A, B)
    return 2 * i / (u + i) - (c - u) / c


@wrong("the areas of A and B are added along the wrong axes", kind="shape")
def transposed_result(A, B):
    return _giou(*_pieces(B, A))


@wrong("elementwise, box i with box i", kind="shape")
def elementwise(A, B):
    i = (torch.min(A[:, 2:], B[:, 2:]) - torch.max(A[:, :2], B[:, :2])).clamp(min=0).prod(-1)
    u = _area(A) + _area(B) - i
    c = (torch.max(A[:, 2:], B[:, 2:]) - torch.min(A[:, :2], B[:, :2])).prod(-1)
    return _giou(i, u, c)


@wrong("elementwise on as many as both have", kind="shape")
def elementwise_cut(A, B):
    n = min(len(A), len(B))
    return elementwise(A[:n], B[:n])


@wrong("the mean over all pairs", kind="shape")
def averaged(A, B):
    return _giou(*_pieces(A, B)).mean()


@wrong("the best of B for each of A", kind="shape")
def best_of_each(A, B):
    return _giou(*_pieces(A, B)).max(dim=1).values


@wrong("a last axis of size 1 is left", kind="shape")
def one_axis_more(A, B):
    return _giou(*_pieces(A, B)).unsqueeze(-1)


@wrong("area of A for both", kind="concept")
def only_area_of_A(A, B):
    i, _, c = _pieces(A, B)
    return _giou(i, 2 * _area(A)[:, None] - i, c)


@wrong("IoU, and the penalty as a tuple", kind="interface")
def two_results(A, B):
    i, u, c = _pieces(A, B)
    return i / u, (c - u) / c


@wrong("eps of 1e-6 in the denominators, as much as small boxes have", kind="numerics")
def with_eps(A, B):
    i, u, c = _pieces(A, B)
    return i / (u + 1e-6) - (c - u) / (c + 1e-6)


@wrong("no gradient", kind="gradient")
def under_no_grad(A, B):
    with torch.no_grad():
        return _giou(*_pieces(A, B))


@wrong("a result in float32, filled by loops with .item()", kind="gradient")
def by_items(A, B):
    values = _giou(*_pieces(A, B))
    out = torch.zeros(len(A), len(B))
    for n in range(len(A)):
        for m in range(len(B)):
            out[n, m] = values[n, m].item()
    return out


@wrong("the boxes are sorted into order in place", kind="process")
def in_place(A, B):
    A[:, 2:] -= A[:, :2]
    B[:, 2:] -= B[:, :2]
    a = torch.cat([A[:, :2], A[:, :2] + A[:, 2:]], 1)
    b = torch.cat([B[:, :2], B[:, :2] + B[:, 2:]], 1)
    return _giou(*_pieces(a, b))


@wrong("in half precision on the way", kind="numerics")
def by_half(A, B):
    return _giou(*_pieces(A.half(), B.half())).to(A.dtype)


@wrong("coordinates are clamped to the picture first", kind="concept")
def clamped_to_the_picture(A, B):
    return _giou(*_pieces(A.clamp(0, 1), B.clamp(0, 1)))


@left_open("eps of 1e-12, less than rounding", kind="numerics")
def tiny_eps(A, B):
    i, u, c = _pieces(A, B)
    return i / (u + 1e-12) - (c - u) / (c + 1e-12)
