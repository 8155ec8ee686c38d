"""Answers to generalised_iou (assignment 14)."""

import torch
from answers import before, change, right, wrong

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


change(clamped_too_late, "width_clamped_only", "only the width is clamped", "concept",
       ("i = (wh[..., 0] * wh[..., 1]).clamp(min=0)", "i = wh[..., 0].clamp(min=0) * wh[..., 1]"))


@wrong("the absolute value of the sides in place of a clamp", kind="concept")
def absolute_sides(A, B):
    _, _, c = _pieces(A, B)
    i = (torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])).abs().prod(-1)
    return _giou(i, _area(A)[:, None] + _area(B) - i, c)


# Right, and not registered: answers below are changes of it.
def _in_pieces(A, B):
    i, u, c = _pieces(A, B)
    return i / u - (c - u) / c


change(_in_pieces, "sum_of_the_areas", "the intersection is not subtracted from the union", "concept",
       ("return i / u - (c - u) / c", "return _giou(i, u + i, c)"))
change(_in_pieces, "subtracted_twice", "the intersection is subtracted twice", "concept",
       ("return i / u - (c - u) / c", "return _giou(i, u - i, c)"))
change(_in_pieces, "plain_iou", "IoU", "concept",
       ("i, u, c", "i, u, _"), ("i / u - (c - u) / c", "i / u"))
change(_in_pieces, "over_the_union", "the penalty is divided by the union", "concept",
       ("(c - u) / c", "(c - u) / u"))
change(_in_pieces, "hull_without_intersection", "the penalty is the hull less the intersection", "concept",
       ("c - u", "c - i"))
change(_in_pieces, "hull_over_union", "IoU less hull over union", "concept",
       ("(c - u) / c", "c / u"))
change(_in_pieces, "plus", "plus the penalty", "concept",
       ("i / u - (c - u) / c", "i / u + (c - u) / c"))


# Right, and not registered: answers below are changes of it.
def _plain(A, B):
    return _giou(*_pieces(A, B))


change(_plain, "the_loss", "the loss 1 - GIoU", "concept",
       ("_giou(*_pieces(A, B))", "1 - _giou(*_pieces(A, B))"))
change(_plain, "negated", "the sign of everything is inverted", "concept",
       ("_giou(*_pieces(A, B))", "-_giou(*_pieces(A, B))"))


@wrong("min and max are exchanged in the hull, which is the intersection then", kind="concept")
def hull_is_the_intersection(A, B):
    i, u, _ = _pieces(A, B)
    c = (torch.min(A[:, None, 2:], B[:, 2:]) - torch.max(A[:, None, :2], B[:, :2])).prod(-1)
    return _giou(i, u, c)


@wrong("min and max are exchanged in the intersection, which is the hull then", kind="concept")
def intersection_is_the_hull(A, B):
    _, _, c = _pieces(A, B)
    return _giou(c, _area(A)[:, None] + _area(B) - c, c)


change(_in_pieces, "hull_as_a_sum", "the hull's area is the sum of both areas", "concept",
       ("i, u, c", "i, u, _"), ("return i / u - (c - u) / c", "return _giou(i, u, u + i)"))


@wrong("the hull is the larger of the two boxes", kind="concept")
def hull_as_the_larger(A, B):
    i, u, _ = _pieces(A, B)
    return _giou(i, u, torch.max(_area(A)[:, None], _area(B)[None]))


change(_in_pieces, "hull_as_the_picture", "the hull is the whole picture, of area 1", "concept",
       ("i, u, c", "i, u, _"), ("(c - u) / c", "(1 - u)"))


@wrong("boxes are read as centre and size", kind="concept")
def as_centres(A, B):
    f = lambda X: torch.cat([X[:, :2] - X[:, 2:] / 2, X[:, :2] + X[:, 2:] / 2], -1)  # noqa: E731
    return _giou(*_pieces(f(A), f(B)))


change(as_centres, "as_corner_and_size", "boxes are read as corner and size", "concept",
       ("X[:, :2] - X[:, 2:] / 2, X[:, :2] + X[:, 2:] / 2", "X[:, :2], X[:, :2] + X[:, 2:]"))


@wrong("areas as x1 times y1", kind="concept")
def areas_of_the_corner(A, B):
    i, _, c = _pieces(A, B)
    return _giou(i, (A[:, 2] * A[:, 3])[:, None] + B[:, 2] * B[:, 3] - i, c)


@wrong("areas by the sum of the sides", kind="concept")
def sides_added(A, B):
    i, _, c = _pieces(A, B)
    f = lambda X: X[:, 2] - X[:, 0] + X[:, 3] - X[:, 1]  # noqa: E731
    return _giou(i, f(A)[:, None] + f(B) - i, c)


change(_plain, "as_xxyy", "order read as x0, x1, y0, y1", "concept",
       before("return", "order = [0, 2, 1, 3]"), ("_pieces(A, B)", "_pieces(A[:, order], B[:, order])"))


@wrong("one pixel more on each side", kind="concept")
def plus_one(A, B):
    a, b = A[:, None], B[None]
    f = lambda X: (X[..., 2] - X[..., 0] + 1) * (X[..., 3] - X[..., 1] + 1)  # noqa: E731
    i = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2]) + 1).clamp(min=0).prod(-1)
    c = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2]) + 1).prod(-1)
    return _giou(i, f(a) + f(b) - i, c)


change(_plain, "not_negative", "clamped at 0 in the end", "concept",
       ("_giou(*_pieces(A, B))", "_giou(*_pieces(A, B)).clamp(min=0)"))
change(_plain, "between_0_and_1", "moved to 0 to 1: (1 + GIoU) / 2", "concept",
       ("return _giou(*_pieces(A, B))", "return (1 + _giou(*_pieces(A, B))) / 2"))
change(_in_pieces, "minus_one_apart", "-1 for pairs that do not overlap", "concept",
       ("return i / u - (c - u) / c", "return torch.where(i > 0, _giou(i, u, c), -1.0)"))
change(_in_pieces, "zero_apart", "0 for pairs that do not overlap", "concept",
       ("return i / u - (c - u) / c", "return torch.where(i > 0, _giou(i, u, c), torch.zeros_like(i))"))
change(_in_pieces, "penalty_apart_only", "the penalty only for pairs that do not overlap", "concept",
       ("return i / u - (c - u) / c", "return torch.where(i > 0, i / u, -(c - u) / c)"))


@wrong("DIoU: distance of the centres over the hull's diagonal", kind="concept")
def diou(A, B):
    i, u, _ = _pieces(A, B)
    centre = lambda X: (X[:, :2] + X[:, 2:]) / 2  # noqa: E731
    d = (centre(A)[:, None] - centre(B)).square().sum(-1)
    hull = torch.max(A[:, None, 2:], B[:, 2:]) - torch.min(A[:, None, :2], B[:, :2])
    return i / u - d / hull.square().sum(-1)


change(_in_pieces, "over_the_smaller", "intersection over the smaller box", "concept",
       ("i / u", "i / torch.min(_area(A)[:, None], _area(B)[None])"))
change(_in_pieces, "over_A", "intersection over the area of A", "concept",
       ("i / u", "i / _area(A)[:, None]"))
change(_in_pieces, "dice", "Dice: twice the intersection over the sum", "concept",
       ("i / u", "2 * i / (u + i)"))
change(_plain, "transposed_result", "the areas of A and B are added along the wrong axes", "shape",
       ("_pieces(A, B)", "_pieces(B, A)"))


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


change(_plain, "averaged", "the mean over all pairs", "shape",
       ("_giou(*_pieces(A, B))", "_giou(*_pieces(A, B)).mean()"))
change(_plain, "best_of_each", "the best of B for each of A", "shape",
       ("_giou(*_pieces(A, B))", "_giou(*_pieces(A, B)).max(dim=1).values"))
change(_plain, "one_axis_more", "a last axis of size 1 is left", "shape",
       ("_giou(*_pieces(A, B))", "_giou(*_pieces(A, B)).unsqueeze(-1)"))


@wrong("area of A for both", kind="concept")
def only_area_of_A(A, B):
    i, _, c = _pieces(A, B)
    return _giou(i, 2 * _area(A)[:, None] - i, c)


change(_in_pieces, "two_results", "IoU, and the penalty as a tuple", "interface",
       ("i / u - (c - u) / c", "i / u, (c - u) / c"))
change(_in_pieces, "with_eps", "eps of 1e-6 in the denominators, as much as small boxes have", "numerics",
       ("i / u - (c - u) / c", "i / (u + 1e-6) - (c - u) / (c + 1e-6)"))


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


change(_plain, "by_half", "in half precision on the way", "numerics",
       ("_giou(*_pieces(A, B))", "_giou(*_pieces(A.half(), B.half())).to(A.dtype)"))
change(_plain, "clamped_to_the_picture", "coordinates are clamped to the picture first", "concept",
       ("_pieces(A, B)", "_pieces(A.clamp(0, 1), B.clamp(0, 1))"))
change(_in_pieces, "tiny_eps", "eps of 1e-12, less than rounding", "numerics",
       ("i / u - (c - u) / c", "i / (u + 1e-12) - (c - u) / (c + 1e-12)"), verdict="open")
