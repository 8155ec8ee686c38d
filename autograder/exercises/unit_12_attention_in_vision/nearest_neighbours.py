"""Exercise 3: the k nearest points of each point of a set."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

CLEAR = (
    1e-4  # by how much two squared distances from a point differ at least, against the largest square of a coordinate
)
FAR = 2000.0
TRIES = 100


def _drawn(inputs, sizes, rng):
    """Points whose distances from each point differ clearly, whichever k + 1 of them are the nearest."""
    return {"points": np.stack([_clear(one, sizes["k"], rng) for one in inputs["points"]])}


def _clear(points, k, rng):
    """The points, those drawn anew whose nearest cannot be told from the next nearest beyond doubt."""
    for _ in range(TRIES):
        exact = points.astype(np.float64)
        squares = ((exact[:, None] - exact) ** 2).sum(axis=-1)
        nearest = np.sort(squares, axis=1)[:, : k + 1]
        gaps = np.diff(nearest, axis=1).min(axis=1, initial=np.inf)
        unclear = np.flatnonzero(gaps < CLEAR * (exact**2).sum(axis=1).max())
        if not len(unclear):
            break
        points = points.copy()
        points[unclear] = rng.standard_normal((len(unclear), points.shape[1])).astype(np.float32)
    return points


def _far(inputs, rng):
    """All points far from the origin, by different ways along each coordinate; what is between them stays."""
    points = inputs["points"]
    points += (FAR * (1 + np.arange(points.shape[-1]))).astype(np.float32)


def _off_centre(inputs, rng):
    inputs["points"] += 3.0


def _case(text, edit=None, edge=False, **sizes):
    return Case(text, sizes={"N": 9, "k": 4, **sizes}, edit=edit, edge=edge)


@exercise(
    points=2,
    section="Points in space",
    source="Qi et al. 2017 (PointNet++), section 3.2; Zhao et al. 2021 (Point Transformer): neighbourhoods of k nearest points",
    outputs="neighbours",
    formula="neighbours[b, n] are the numbers m of the k points with the smallest ‖points[b, n] − points[b, m]‖, by growing"
    " distance, n itself first; neighbours [B, N, k]",
    cases=[
        _case("points in space"),
        _case("points in the plane, all on one side of the origin", S=2, edit=_off_centre),
        _case("more sets than points", B=8, N=7, k=5, S=3),
        _case("all points by their distance", N=6, k="N", S=2, B=3),
        _case("the nearest alone, itself", edge=True, k=1),
        _case("points along a line", edge=True, S=1),
        _case("hundreds of points", edge=True, N=260, B=2, S=3),
        _case("points far from the origin, where |x|² + |y|² − 2 x·y loses its digits", edge=True, S=3, edit=_far),
    ],
    draws=_drawn,
    differentiable=False,
    equivalent={"squares.argsort()[..., :k]": "argsort sorts along the last axis by itself"},
)
def nearest_neighbours(points: Float[Tensor, "B N S"], k: int) -> Int[Tensor, "B N k"]:
    differences = points.unsqueeze(2) - points.unsqueeze(1)  # [B, N, N, S]
    squares = differences.square().sum(dim=-1)
    return squares.argsort(dim=-1)[..., :k]


def _squares(points, others=None):
    others = points if others is None else others
    return (points.unsqueeze(2) - others.unsqueeze(1)).square().sum(dim=-1)


def _smallest(D, k):
    return D.argsort(dim=-1)[..., :k]


@nearest_neighbours.misconception
def itself_left_out(points, k):
    """A point is not among its own neighbours here. Its distance from itself is 0, so it comes first, and k − 1 others
    follow."""
    return _squares(points).argsort(dim=-1)[..., 1 : k + 1]


@nearest_neighbours.misconception
def farthest(points, k):
    """These are the k farthest points. The nearest have the smallest distances: topk takes the largest unless it is told
    largest=False."""
    return _squares(points).argsort(dim=-1, descending=True)[..., :k]


@nearest_neighbours.misconception
def in_order_of_their_numbers(points, k):
    """The right points are there, but in the order of their numbers. They are listed by growing distance, so that the point
    itself comes first."""
    return _smallest(_squares(points), k).sort(dim=-1).values


@nearest_neighbours.misconception
def nearest_to_the_origin(points, k):
    """All points of a set have the same list: the points nearest to the origin. What counts is the distance between two points,
    the length of their difference."""
    distances = points.square().sum(dim=-1).unsqueeze(1)
    return _smallest(distances.expand(-1, points.shape[1], -1), k)


@nearest_neighbours.misconception
def nearest_to_the_centre(points, k):
    """All points of a set have the same list: the points nearest to the set's mean. Each point has neighbours of its own, by
    their distance from this point."""
    distances = (points - points.mean(dim=1, keepdim=True)).square().sum(dim=-1).unsqueeze(1)
    return _smallest(distances.expand(-1, points.shape[1], -1), k)


@nearest_neighbours.misconception
def sums_of_absolute_differences(points, k):
    """Distances are sums of absolute differences (L1). The Euclidean distance is the root of the sum of their squares; the root
    changes no order, but the squares do."""
    return _smallest((points.unsqueeze(2) - points.unsqueeze(1)).abs().sum(dim=-1), k)


@nearest_neighbours.misconception
def differences_with_their_signs(points, k):
    """Differences are summed with their signs, so that they cancel, and a negative sum counts as near. Square the differences
    before they are summed over the coordinates."""
    return _smallest((points.unsqueeze(2) - points.unsqueeze(1)).sum(dim=-1), k)


@nearest_neighbours.misconception
def first_coordinate_alone(points, k):
    """Points count as near when their first coordinates are. The squares of the differences are summed over all S
    coordinates."""
    return _smallest(_squares(points[..., :1]), k)


@nearest_neighbours.misconception
def largest_products(points, k):
    """The k points with the largest scalar products are chosen. A product also grows with the length of a vector, so a point
    far from the origin seems near to many; the distance is asked for."""
    return _smallest(-points @ points.mT, k)


@nearest_neighbours.misconception
def smallest_products(points, k):
    """The k points with the smallest scalar products are chosen, as if a product were a distance. Products are small where
    vectors point in opposite directions; the length of the difference is asked for."""
    return _smallest(points @ points.mT, k)


@nearest_neighbours.misconception
def largest_cosines(points, k):
    """Points count as near when they lie in the same direction from the origin: cosines are compared. Distances are asked for;
    in one direction points can be far apart."""
    unit = points / points.norm(dim=-1, keepdim=True)
    return _smallest(-unit @ unit.mT, k)


@nearest_neighbours.misconception
def points_of_all_sets(points, k):
    """The points of all sets of the batch are searched together, so that numbers beyond N occur. Each set is searched by
    itself, and its points are numbered from 0."""
    B, N, S = points.shape
    return _smallest(_squares(points.reshape(1, B * N, S)), k).reshape(B, N, k)


@nearest_neighbours.misconception
def ranks(points, k):
    """These are ranks: how many points are nearer than point 0, point 1, … A list of neighbours says it the other way round:
    which point is nearest, next nearest, …"""
    return _squares(points).argsort(dim=-1).argsort(dim=-1)[..., :k]


@nearest_neighbours.misconception
def digits_cancel(points, k):
    """The order is lost where points lie far from the origin: in |x|² + |y|² − 2 x·y large numbers cancel, and with them the
    digits of a small distance. Subtract the points first, then square."""
    lengths = points.square().sum(dim=-1)
    return _smallest(lengths.unsqueeze(2) + lengths.unsqueeze(1) - 2 * points @ points.mT, k)


@nearest_neighbours.alternative
def with_topk(points, k):
    return _squares(points).topk(k, dim=-1, largest=False, sorted=True).indices


@nearest_neighbours.alternative
def with_cdist(points, k):
    return torch.cdist(points, points).argsort(dim=-1)[:, :, :k]


@nearest_neighbours.alternative
def from_the_centre(points, k):
    """Products of differences from the mean: what is far from the origin comes near first."""
    X = points - points.mean(dim=1, keepdim=True)
    lengths = X.square().sum(dim=-1)
    return (lengths.unsqueeze(1) - 2 * X @ X.mT).sort(dim=-1).indices[..., :k]


@nearest_neighbours.alternative
def one_after_the_other(points, k):
    D = _squares(points).sqrt()
    found = []
    for _ in range(k):
        found.append(D.argmin(dim=-1))
        D = D.scatter(-1, found[-1].unsqueeze(-1), torch.inf)
    return torch.stack(found, dim=-1)
