"""Exercise 4: attention among points, in which each point attends to its neighbours alone."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import attend

TRIES = 50


def _drawn(inputs, sizes, rng):
    """For each point k different points in any order, itself among them or not, and each is somebody's where that can be."""
    B, N, k = sizes["B"], sizes["N"], sizes["k"]
    sets = []
    for _ in range(B):
        for _ in range(TRIES):
            chosen = rng.random((N, N)).argsort(axis=-1)[:, :k]
            if len(np.unique(chosen)) == N:
                break
        sets.append(chosen)
    return {"neighbours": np.stack(sets)}


def _without_itself(inputs, rng):
    """Each point's neighbours are others: in a ring, those that come by some steps later, the same steps for a whole set."""
    B, N, k = inputs["neighbours"].shape
    for b in range(B):
        steps = 1 + rng.permutation(N - 1)[:k]
        inputs["neighbours"][b] = (np.arange(N)[:, None] + steps) % N


def _itself_first(inputs, rng):
    """As a search for the nearest gives them: each point itself, then others."""
    _without_itself(inputs, rng)
    inputs["neighbours"][..., 0] = np.arange(inputs["neighbours"].shape[1])


def _case(text, edit=None, edge=False, **sizes):
    return Case(text, sizes={"N": 7, "k": 3, **sizes}, edit=edit, edge=edge)


@exercise(
    points=2,
    section="Points in space",
    source="Zhao et al. 2021 (Point Transformer), section 3: attention among the k nearest points, here with scalar products",
    outputs="Y",
    formula="Y[b, n] = Σ_j a_j V[b, m_j] with m_j = neighbours[b, n, j] and a = softmax over the k neighbours of"
    " Q[b, n] · K[b, m_j] / √D; Y [B, N, D_V]",
    cases=[
        _case("sets of points and their neighbours"),
        _case("points that are not among their own neighbours", edit=_without_itself),
        _case("points that come first among their neighbours", edit=_itself_first, N=8, k=4),
        _case("more sets than points", B=9, N=6, k=2),
        _case("one neighbour", edge=True, k=1),
        _case("all points are neighbours", edge=True, N=6, k="N"),
    ],
    draws=_drawn,
)
def neighbour_attention(
    Q: Float[Tensor, "B N D"],
    K: Float[Tensor, "B N D"],
    V: Float[Tensor, "B N D_V"],
    neighbours: Int[Tensor, "B N k"],
) -> Float[Tensor, "B N D_V"]:
    own = torch.arange(len(Q), device=Q.device)[:, None, None]  # the number of each set
    keys, values = K[own, neighbours], V[own, neighbours]  # [B, N, k, D], [B, N, k, D_V]
    E = torch.einsum("bnd,bnkd->bnk", Q, keys) / math.sqrt(Q.shape[-1])
    return torch.einsum("bnk,bnkd->bnd", E.softmax(dim=-1), values)


def _of(X, neighbours):
    """The vectors of each point's neighbours, [B, N, k, D]."""
    return X[torch.arange(len(X), device=X.device)[:, None, None], neighbours]


def _mask(neighbours, like):
    """True at [b, n, m] where m is a neighbour of n."""
    N = like.shape[1]
    empty = torch.zeros(len(like), N, N, dtype=torch.bool, device=like.device)
    return empty.scatter(-1, neighbours, True)


def _scores(Q, K, divisor=None):
    return Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)


def _masked(Q, K, V, mask):
    return _scores(Q, K).masked_fill(~mask, -math.inf).softmax(dim=-1) @ V


def _gathered(Q, K, V, neighbours, divisor=None, dim=-1):
    """What is asked for, with another divisor, or a softmax along other axes."""
    E = (Q.unsqueeze(2) * _of(K, neighbours)).sum(dim=-1) / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)
    return (E.softmax(dim=dim).unsqueeze(-1) * _of(V, neighbours)).sum(dim=2)


@neighbour_attention.misconception
def all_points(Q, K, V, neighbours):
    """Each point attends to all N points of its set. It attends to the k points neighbours[b, n] and to no other; what lies
    farther away is reached by the next layers."""
    return attend(Q, K, V)[0]


@neighbour_attention.misconception
def neighbours_hidden(Q, K, V, neighbours):
    """Each point attends to all points but its neighbours: the mask is the wrong way round. The listed points are the ones that
    are seen. {NaN} Where all points are neighbours nothing is left, and the softmax gives NaN."""
    return _masked(Q, K, V, ~_mask(neighbours, Q))


@neighbour_attention.misconception
def itself_added(Q, K, V, neighbours):
    """Each point attends to itself beside its neighbours. Whether a point is among its own neighbours, the list says: where it is
    not there, it gets no weight."""
    itself = torch.eye(Q.shape[1], dtype=torch.bool, device=Q.device)
    return _masked(Q, K, V, _mask(neighbours, Q) | itself)


@neighbour_attention.misconception
def itself_left_out(Q, K, V, neighbours):
    """A point gives itself no weight even where it is listed among its own neighbours. It attends to all k points that are
    listed, itself included."""
    itself = torch.eye(Q.shape[1], dtype=torch.bool, device=Q.device)
    return _masked(Q, K, V, _mask(neighbours, Q) & ~itself)


@neighbour_attention.misconception
def scores_of_zero_elsewhere(Q, K, V, neighbours):
    """The scores of the other points are 0, so they still get weight: exp(0) is 1. A point that must get none has the score −∞;
    or take the softmax over the k neighbours alone."""
    return _scores(Q, K).masked_fill(~_mask(neighbours, Q), 0.0).softmax(dim=-1) @ V


@neighbour_attention.misconception
def weights_cut_after_the_softmax(Q, K, V, neighbours):
    """The softmax runs over all N points, and afterwards the others' weights are dropped: what is left does not sum to 1. The
    softmax runs over the k neighbours alone."""
    return _scores(Q, K).softmax(dim=-1).masked_fill(~_mask(neighbours, Q), 0.0) @ V


@neighbour_attention.misconception
def largest_value(Q, K, V, neighbours):
    """The result is the largest value of each feature among the neighbours, as PointNet++ pools them. Here the values are
    added, each times its weight from the softmax."""
    return _of(V, neighbours).amax(dim=2)


@neighbour_attention.misconception
def largest_score_alone(Q, K, V, neighbours):
    """The neighbour with the largest score has all the weight. A softmax gives every neighbour a share, and lets gradients reach
    the scores."""
    best = (Q.unsqueeze(2) * _of(K, neighbours)).sum(dim=-1).argmax(dim=-1, keepdim=True)
    return _of(V, neighbours.gather(-1, best)).squeeze(2)


@neighbour_attention.misconception
def weights_of_one(Q, K, V, neighbours):
    """Each neighbour has the weight 1, so the result is the sum of their values. The weights of a point's k neighbours sum to 1;
    a softmax along an axis with a single entry gives 1 everywhere."""
    return _of(V, neighbours).sum(dim=2)


@neighbour_attention.misconception(universal=True)
def first_left_out(Q, K, V, neighbours):
    """The first neighbour in each list gets no weight, as if it were always the point itself. All k that are listed count, in
    whatever order they stand, and a point may be its own neighbour."""
    return _gathered(Q, K, V, neighbours[..., 1:] if neighbours.shape[-1] > 1 else neighbours)


@neighbour_attention.misconception
def who_lists_me(Q, K, V, neighbours):
    """A point attends to those that list it among their neighbours: rows and columns are exchanged. Row n of neighbours says
    which points n attends to; this relation is not the same in both directions. {NaN} A point that nobody lists has no key
    to attend to here, which gives NaN."""
    return _masked(Q, K, V, _mask(neighbours, Q).mT)


@neighbour_attention.misconception
def both_directions(Q, K, V, neighbours):
    """A point also attends to those that list it. It attends to the points that it lists itself, neighbours[b, n], whether or not
    it is among theirs."""
    mask = _mask(neighbours, Q)
    return _masked(Q, K, V, mask | mask.mT)


@neighbour_attention.misconception
def softmax_twice(Q, K, V, neighbours):
    """The softmax is applied twice, which makes the weights of all neighbours nearly the same. The scores go through one
    softmax."""
    E = (Q.unsqueeze(2) * _of(K, neighbours)).sum(dim=-1) / math.sqrt(Q.shape[-1])
    A = E.softmax(dim=-1).softmax(dim=-1)
    return (A.unsqueeze(-1) * _of(V, neighbours)).sum(dim=2)


@neighbour_attention.misconception
def queries_looked_up(Q, K, V, neighbours):
    """Each neighbour's key meets its own query: the queries were looked up by neighbours too. The query is that of the point that
    asks, Q[b, n]; the keys and values are those of its neighbours."""
    E = (_of(Q, neighbours) * _of(K, neighbours)).sum(dim=-1) / math.sqrt(Q.shape[-1])
    return (E.softmax(dim=-1).unsqueeze(-1) * _of(V, neighbours)).sum(dim=2)


@neighbour_attention.misconception
def divided_by_the_root_of_k(Q, K, V, neighbours):
    """The scores are divided by √k, the root of the number of neighbours. The root is that of the width D of queries and keys,
    over which the products are summed."""
    return _gathered(Q, K, V, neighbours, divisor=math.sqrt(neighbours.shape[-1]))


@neighbour_attention.misconception
def values_not_looked_up(Q, K, V, neighbours):
    """The weights belong to the listed neighbours, but they meet the values of the first k points of the set. The values are
    looked up by neighbours as the keys are."""
    E = (Q.unsqueeze(2) * _of(K, neighbours)).sum(dim=-1) / math.sqrt(Q.shape[-1])
    return E.softmax(dim=-1) @ V[:, : neighbours.shape[-1]]


@neighbour_attention.alternative
def with_a_mask(Q, K, V, neighbours):
    return _masked(Q, K, V, _mask(neighbours, Q))


@neighbour_attention.alternative
def with_gather(Q, K, V, neighbours):
    B, N, k = neighbours.shape
    places = neighbours.reshape(B, N * k, 1)
    keys = K.gather(1, places.expand(-1, -1, K.shape[-1])).view(B, N, k, -1)
    values = V.gather(1, places.expand(-1, -1, V.shape[-1])).view(B, N, k, -1)
    A = (Q.unsqueeze(2) @ keys.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
    return (A @ values).squeeze(2)


@neighbour_attention.alternative
def fused(Q, K, V, neighbours):
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=_mask(neighbours, Q))


@neighbour_attention.alternative
def point_by_point(Q, K, V, neighbours):
    sets = []
    for q, k, v, lists in zip(Q, K, V, neighbours):
        rows = [(k[near] @ query / math.sqrt(len(query))).softmax(dim=0) @ v[near] for query, near in zip(q, lists)]
        sets.append(torch.stack(rows))
    return torch.stack(sets)
