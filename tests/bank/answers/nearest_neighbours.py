"""Answers to nearest_neighbours (assignment 12)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
import math
import numpy as np

# ---------------------------------------------------------------- right


@right("norm of broadcast differences, topk of the smallest")
def by_norms(points, k):
    return torch.linalg.vector_norm(points[:, :, None] - points[:, None], dim=-1).topk(k, largest=False).indices


@right("topk of the negative distances")
def negative_distances(points, k):
    return torch.topk(-((points.unsqueeze(1) - points.unsqueeze(2)) ** 2).sum(3), k)[1]


@right("cdist and sort")
def sorted_cdist(points, k):
    return torch.cdist(points, points, p=2.0).sort(dim=2)[1][:, :, 0:k]


@right("coordinate by coordinate")
def coordinate_by_coordinate(points, k):
    total = 0
    for x in points.unbind(-1):
        total = total + (x[:, :, None] - x[:, None, :]).pow(2)
    return total.argsort(-1).narrow(-1, 0, k)


@right("point by point, with a list of distances")
def point_by_point(points, k):
    sets = []
    for cloud in points:
        lists = [torch.argsort(((cloud - point) ** 2).sum(1))[:k] for point in cloud]
        sets.append(torch.stack(lists))
    return torch.stack(sets)


@right("products in double precision")
def products_in_double(points, k):
    X = points.double()
    X = X - X[:, :1]
    squares = X.square().sum(-1)
    return (squares[:, :, None] + squares[:, None] - 2 * torch.bmm(X, X.mT)).argsort(-1)[..., :k]


@right("kthvalue after kthvalue")
def kth_after_kth(points, k):
    D = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    return torch.stack([D.kthvalue(j + 1, dim=-1).indices for j in range(k)], -1)


@right("vmap over sets and points")
def by_vmap(points, k):
    def one(point, cloud):
        return (cloud - point).square().sum(-1).argsort()[:k]

    return torch.vmap(lambda cloud: torch.vmap(lambda point: one(point, cloud))(cloud))(points)


@right("numpy's argsort for one set after the other")
def by_numpy(points, k):
    given = points.detach().cpu().numpy()
    lists = [((x[:, None] - x[None]) ** 2).sum(-1).argsort(-1, kind="stable")[:, :k] for x in given]
    return torch.stack([torch.from_numpy(one.copy()) for one in lists]).to(points.device)


# ---------------------------------------------------------------- wrong


def _squares(points):
    return (points[:, :, None] - points[:, None]).square().sum(-1)


# Right, and not registered: answers below are changes of it.
def _plain(points, k):
    return _squares(points).argsort(-1)[..., :k]


change(_plain, "without_itself", "itself is left out", "concept",
       ("..., :k", "..., 1 : k + 1"))


@wrong("itself is left out by an infinite diagonal; where k is N it comes last", kind="concept")
def infinite_diagonal(points, k):
    D = _squares(points) + torch.diag(torch.full((points.shape[1],), torch.inf))
    return D.argsort(-1)[..., :k]


change(_plain, "one_too_many", "k + 1 neighbours", "concept",
       ("..., :k", "..., : k + 1"))
change(_plain, "one_too_few", "k - 1 neighbours: itself is cut off after topk(k)", "concept",
       (".argsort(-1)[..., :k]", ".topk(k, largest=False).indices[..., 1:]"))
change(_plain, "topk_of_distances", "the farthest points", "concept",
       (".argsort(-1)[..., :k]", ".topk(k).indices"))
change(_plain, "reversed_order", "the nearest, the farthest of them first", "concept",
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k].flip(-1)"))
change(_plain, "descending_from_behind", "descending order cut from behind", "concept",
       (".argsort(-1)[..., :k]", ".argsort(-1, descending=True)[..., -k:]"))
change(_plain, "sorted_by_number", "the nearest in order of their numbers", "concept",
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k].sort(-1)[0]"))


@wrong("boolean mask of the nearest, nonzero: in order of their numbers", kind="concept")
def from_a_mask(points, k):
    D = _squares(points)
    near = D <= D.kthvalue(k, -1, keepdim=True).values
    return near.nonzero()[:, 2].view(*points.shape[:2], k)


@wrong("topk with sorted=False, then reversed", kind="concept")
def unsorted(points, k):
    index = _squares(points).topk(k, largest=False, sorted=False).indices
    return index.roll(1, -1)


@wrong("itself last, after the others", kind="concept")
def itself_last(points, k):
    order = _squares(points).argsort(-1)[..., :k]
    return torch.cat([order[..., 1:], order[..., :1]], -1)


change(_plain, "from_the_origin", "distances from the origin", "concept",
       before("return", "D = points.norm(dim=-1)[:, None].expand(-1, points.shape[1], -1)"), ("_squares(points)", "D"))


@wrong("differences of the lengths: distance from the origin compared with one's own", kind="concept")
def similar_length(points, k):
    length = points.norm(dim=-1)
    return (length[:, :, None] - length[:, None]).abs().argsort(-1)[..., :k]


@wrong("distances from the mean of the set", kind="concept")
def from_the_mean(points, k):
    D = (points - points.mean(1, keepdim=True)).norm(dim=-1)[:, None].expand(-1, points.shape[1], -1)
    return D.argsort(-1)[..., :k]


change(from_the_mean, "from_the_first_point", "distances from the first point for all", "concept",
       ("points.mean(1, keepdim=True)", "points[:, :1]"))
change(_plain, "manhattan", "L1", "concept",
       ("_squares(points)", "torch.cdist(points, points, p=1)"))
change(_plain, "chebyshev", "maximum norm", "concept",
       ("_squares(points)", 'torch.cdist(points, points, p=float("inf"))'))


@wrong("cosine similarity", kind="concept")
def by_cosine(points, k):
    X = F.normalize(points, dim=-1)
    return (X @ X.mT).topk(k).indices


change(_plain, "by_products", "largest products", "concept",
       ("return _squares(points).argsort(-1)[..., :k]", "return (points @ points.mT).topk(k).indices"))
change(_plain, "by_smallest_products", "smallest products", "concept",
       ("_squares(points)", "(points @ points.mT)"))
change(_plain, "by_absolute_products", "smallest absolute products", "concept",
       ("_squares(points)", "(points @ points.mT).abs()"))


@wrong("|y|² - x·y: the factor 2 is forgotten", kind="concept")
def factor_forgotten(points, k):
    lengths = points.square().sum(-1)
    return (lengths[:, :, None] + lengths[:, None] - points @ points.mT).argsort(-1)[..., :k]


change(_plain, "sum_for_difference", "the sign of the product is wrong: |x + y|", "concept",
       ("_squares(points)", "(points[:, :, None] + points[:, None]).square().sum(-1)"))
change(_plain, "not_squared", "differences without squares", "concept",
       ("_squares(points)", "(points[:, :, None] - points[:, None]).sum(-1)"))
change(_plain, "not_squared_other", "differences the other way round, without squares", "concept",
       ("_squares(points)", "(points[:, None] - points[:, :, None]).sum(-1)"))
change(_plain, "squared_after_the_sum", "squared after the sum", "concept",
       ("_squares(points)", "(points[:, :, None] - points[:, None]).sum(-1).square()"))
change(_plain, "first_coordinate", "the first coordinate only", "concept",
       ("_squares(points)", "(points[:, :, None, 0] - points[:, None, :, 0]).abs()"))
change(_plain, "last_coordinate", "the last coordinate only", "concept",
       ("_squares(points)", "(points[:, :, None, -1] - points[:, None, :, -1]).abs()"))
change(_plain, "in_the_plane", "the first two coordinates only, as in a plane", "concept",
       ("_squares(points)", "_squares(points[..., :2])"))


@wrong("coordinates are standardised first", kind="concept")
def standardised(points, k):
    X = (points - points.mean(1, keepdim=True)) / (points.std(1, keepdim=True, unbiased=False) + 1e-9)
    return _squares(X).argsort(-1)[..., :k]


change(_plain, "rounded", "points are rounded to whole numbers before", "numerics",
       ("_squares(points).argsort(-1)", "_squares(points.round()).argsort(dim=-1, stable=True)"))


@wrong("positions in the list in place of places in space", kind="concept")
def nearest_in_the_list(points, k):
    place = torch.arange(points.shape[1])
    order = (place[:, None] - place).abs().argsort(dim=-1, stable=True)[:, :k]
    return order.repeat(len(points), 1, 1)


@wrong("the first k points for all", kind="concept")
def first_k(points, k):
    return torch.arange(k).expand(*points.shape[:2], k).clone()


@wrong("a window of k numbers around each point's number", kind="concept")
def window_of_numbers(points, k):
    N = points.shape[1]
    first = (torch.arange(N) - k // 2).clamp(0, N - k)
    return (first[:, None] + torch.arange(k)).repeat(len(points), 1, 1)


@wrong("all sets are searched together", kind="concept")
def all_sets_together(points, k):
    flat = points.flatten(0, 1)
    return torch.cdist(flat, flat).argsort(-1)[:, :k].view(*points.shape[:2], k)


change(_plain, "with_offset", "numbers with an offset b·N, as for a flattened batch", "concept",
       before("return", "B, N, _ = points.shape"),
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k] + N * torch.arange(B)[:, None, None]"))
change(_plain, "from_one_on", "numbers from 1 on", "concept",
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k] + 1"))


@wrong("neighbours of the first set for all sets", kind="concept")
def first_set_for_all(points, k):
    return _squares(points[:1]).argsort(-1)[..., :k].repeat(len(points), 1, 1)


change(_plain, "against_the_first_set", "compared with the points of the first set", "concept",
       ("_squares(points)", "(points[:, :, None] - points[:1, None]).square().sum(-1)"))
change(_plain, "summed_over_the_batch", "distances summed over the batch", "concept",
       (".argsort(-1)[..., :k]", ".sum(0, keepdim=True).argsort(-1)[..., :k].repeat(len(points), 1, 1)"))
change(_plain, "argsort_twice", "ranks in place of numbers (argsort twice)", "concept",
       (".argsort(-1)", ".argsort(-1).argsort(-1)"))
change(_plain, "argsort_along_queries", "argsort along the wrong axis, first k columns", "concept",
       (".argsort(-1)", ".argsort(1)"))


@wrong("sorted along the wrong axis, transposed to the right shape only by a reshape", kind="concept")
def reshaped_result(points, k):
    return _squares(points).argsort(1)[:, :k].reshape(*points.shape[:2], k)


@wrong("each point appears once only: taken neighbours are not taken again", kind="concept")
def cumulative_path(points, k):
    D = _squares(points)
    current = torch.arange(points.shape[1]).repeat(len(points), 1)
    path = [current]
    seen = torch.zeros_like(D).scatter(-1, current[..., None], torch.inf)
    for _ in range(k - 1):
        from_here = D.gather(1, current[..., None].expand_as(D)) + seen
        current = from_here.argmin(-1)
        seen = seen.scatter(-1, current[..., None], torch.inf)
        path.append(current)
    return torch.stack(path, -1)


change(_plain, "points_last", "the result is [B, k, N]", "shape",
       (".argsort(-1)[..., :k]", ".argsort(1)[:, :k]"))
change(_plain, "three_always", "k is 3 whatever is asked", "shape",
       ("..., :k", "..., :3"))
change(_plain, "all_by_distance", "k is ignored: all points by distance", "shape",
       (".argsort(-1)[..., :k]", ".argsort(-1)"))
change(_plain, "distances", "the distances in place of the numbers", "interface",
       (".argsort(-1)[..., :k]", ".sqrt().topk(k, largest=False).values"))


@wrong("squared distances and numbers as a pair", kind="interface")
def a_pair(points, k):
    return tuple(_squares(points).topk(k, largest=False))


@wrong("a mask [B, N, N] in place of numbers", kind="interface")
def a_mask(points, k):
    D = _squares(points)
    return D <= D.kthvalue(k, -1, keepdim=True).values


change(_plain, "as_floats", "numbers as floats", "interface",
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k].float()"))
change(_plain, "as_bytes", "numbers in uint8, which hundreds of points do not fit into", "numerics",
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k].to(torch.uint8).long()"))
change(_plain, "squeezed", "squeeze() loses axes of one", "shape",
       (".argsort(-1)[..., :k]", ".argsort(-1)[..., :k].squeeze()"))


@wrong("the expanded square, which loses all digits far from the origin", kind="numerics")
def expanded_square(points, k):
    lengths = (points**2).sum(-1, keepdim=True)
    return (lengths - 2 * points @ points.mT + lengths.mT).argsort(-1)[..., :k]


@wrong("the expanded square with a clamp at 0: ties far from the origin", kind="numerics")
def expanded_and_clamped(points, k):
    lengths = (points**2).sum(-1, keepdim=True)
    return (lengths - 2 * points @ points.mT + lengths.mT).clamp(min=0).sqrt().topk(k, largest=False).indices


@wrong("distances beyond 10⁶ count as infinite", kind="numerics")
def cut_off(points, k):
    D = _squares(points)
    return D.masked_fill(D > 1e6, 1e6).argsort(dim=-1, stable=True)[..., :k]


change(_plain, "by_kernel", "exp(-distance) as nearness: underflows at large distances", "numerics",
       ("_squares(points).argsort(-1)", "(-_squares(points)).exp().argsort(-1, descending=True)"))
change(_plain, "centred_in_place", "the points are centred in place", "interface",
       before("return", "points -= points.mean(1, keepdim=True)"))


@wrong("three coordinates are written into the code", kind="shape")
def three_coordinates(points, k):
    x, y, z = points.unbind(-1)
    D = sum((c[:, :, None] - c[:, None]) ** 2 for c in (x, y, z))
    return D.argsort(-1)[..., :k]


# ---------------------------------------------------------------- of a second author, who knew the text alone


@right("All differences [B, N, N, S], their squares added up, topk of the smallest")
def differences_and_topk(points, k):
    squares = (points[:, :, None] - points[:, None]).square().sum(-1)
    return squares.topk(k, dim=-1, largest=False).indices


@right("argsort of the lengths of the differences")
def argsort_of_lengths(points, k):
    distances = torch.linalg.vector_norm(points.unsqueeze(2) - points.unsqueeze(1), dim=3)
    return torch.argsort(distances, dim=-1)[:, :, :k]


@right("cdist in double precision without the matrix product, sort")
def cdist_without_product(points, k):
    x = points.detach().double()
    distances = torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")
    return distances.sort(dim=-1).indices[..., :k]


@right("Point by point with sort")
def point_by_point_too(points, k):
    return torch.stack([torch.stack([(x - p).pow(2).sum(1).sort()[1][:k] for p in x]) for x in points])


@right("k times the argmin, which is then crossed out; the point itself is written down first")
def repeated_argmin(points, k):
    B, N, _ = points.shape
    squares = (points[:, None] - points[:, :, None]).pow(2).sum(-1)
    itself = torch.arange(N, device=points.device).expand(B, N)
    found = [itself]
    squares = squares.scatter(2, itself[..., None], math.inf)
    while len(found) < k:
        nearest = squares.argmin(-1)
        squares = squares.scatter(2, nearest[..., None], math.inf)
        found.append(nearest)
    return torch.stack(found, dim=-1)


@right("numpy's argsort, in double precision")
def by_numpy_too(points, k):
    x = points.detach().cpu().double().numpy()
    squares = ((x[:, :, None, :] - x[:, None, :, :]) ** 2).sum(axis=-1)
    return torch.from_numpy(np.argsort(squares, axis=-1)[:, :, :k].copy()).to(points.device)


@right("One coordinate after the other is added to the squares, topk of what is turned negative")
def coordinate_by_coordinate_too(points, k):
    squares = 0
    for x in points.unbind(-1):
        squares = squares + (x[:, :, None] - x[:, None, :]) ** 2
    return torch.topk(-squares, k)[1]


@right("The matrix is symmetric: topk down the columns, transposed at the end")
def down_the_columns(points, k):
    distances = (points[:, None] - points[:, :, None]).norm(dim=-1)
    return distances.topk(k, dim=1, largest=False)[1].transpose(1, 2)


@right("Python's sorted with the distance as its key")
def by_pythons_sorted(points, k):
    result = []
    for x in points.tolist():
        result.append([sorted(range(len(x)), key=lambda m: math.dist(x[n], x[m]))[:k] for n in range(len(x))])
    return torch.tensor(result, device=points.device)


@right("Ranks: how many points are nearer; whoever has rank r stands at place r")
def by_ranks(points, k):
    squares = (points[:, :, None] - points[:, None]).square().sum(-1)
    ranks = (squares[:, :, :, None] > squares[:, :, None, :]).sum(-1)
    places = torch.arange(k, device=points.device)
    return (ranks[:, :, None, :] == places[:, None]).int().argmax(-1)


@right("Flattened to S columns of differences with repeat_interleave, one set at a time")
def repeated_rows(points, k):
    def one(x):
        n = x.shape[0]
        change = x.repeat_interleave(n, 0) - x.repeat(n, 1)
        return change.mul(change).sum(1).view(n, n).argsort(1, descending=False)[:, :k]

    return torch.stack([one(x) for x in points.unbind()])


def _squares_too(points):
    return (points[:, :, None] - points[:, None]).square().sum(-1)


change(_plain, "last_of_the_sorted", "the last k of the sorted points", "concept",
       ("return _squares(points).argsort(-1)[..., :k]", "return _squares_too(points).argsort(-1)[..., -k:]"))
change(_plain, "product_of_squares", "squared differences are multiplied, not added", "concept",
       ("_squares(points)", "(points[:, :, None] - points[:, None]).square().prod(-1)"))


@wrong("farthest point sampling as in PointNet++", kind="concept")
def farthest_point_sampling(points, k):
    B, N, _ = points.shape
    squares = _squares_too(points)
    found = [torch.arange(N).expand(B, N)]
    nearest = squares
    while len(found) < k:
        found.append(nearest.argmax(-1))
        nearest = torch.minimum(nearest, squares.gather(1, found[-1][..., None].expand(B, N, N)))
    return torch.stack(found, -1)


@wrong("a ball query: the first k points within a radius, filled up with the first of them", kind="concept")
def ball_query(points, k, radius=1.0):
    B, N, _ = points.shape
    numbers = torch.arange(N).expand(B, N, N).clone()
    numbers[_squares_too(points) > radius**2] = N
    numbers = numbers.sort(-1).values[..., :k]
    return torch.where(numbers == N, numbers[..., :1].expand_as(numbers), numbers)


change(_plain, "on_the_sphere", "the points are first moved to the unit sphere", "concept",
       ("_squares(points)", "_squares_too(F.normalize(points, dim=-1))"))


@wrong("two mistakes: the farthest first, and only one set searched", kind="concept")
def farthest_of_the_first_set(points, k):
    return (points[:, :, None] - points[:1, None]).square().sum(-1).topk(k).indices


@wrong("DGCNN's knn: the same by negative squares, all digits lost far from the origin", kind="numerics")
def as_in_dgcnn(points, k):
    x = points.transpose(2, 1)
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    xx = torch.sum(x**2, dim=1, keepdim=True)
    return (-xx - inner - xx.transpose(2, 1)).topk(k=k, dim=-1)[1]


change(_plain, "cdist_by_product", "cdist by the matrix product", "numerics",
       ("_squares(points)", 'torch.cdist(points, points, compute_mode="use_mm_for_euclid_dist")'))
change(_plain, "in_half_precision", "coordinates in half precision", "numerics",
       ("_squares(points)", "_squares_too(points.half().float())"))


@wrong("topk takes k + 1, as if the point itself came on top", kind="edge")
def one_too_many_too(points, k):
    return _squares_too(points).topk(k + 1, largest=False).indices


change(_plain, "one_too_few_too", "k - 1 neighbours: the point itself is not counted", "edge",
       ("_squares", "_squares_too"), ("..., :k", "..., : k - 1"))
change(_plain, "squeezed_too", "squeezed: with one set, or one neighbour, an axis is lost", "edge",
       ("_squares(points)", "_squares_too(points).squeeze()"))


@wrong("the neighbours' coordinates", kind="interface")
def coordinates_returned(points, k):
    nearest = _squares_too(points).argsort(-1)[..., :k]
    return points[torch.arange(len(points))[:, None, None], nearest]
