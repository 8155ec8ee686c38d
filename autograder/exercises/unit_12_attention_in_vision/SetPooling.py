"""Exercise 5: a set is pooled to one vector by attention with a learned query."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise

LARGE = 1000.0


def _drawn(inputs, sizes, rng):
    """Points that are there at any places: not all of the first set, one or more of each, and at each place some set's."""
    B, N = sizes["B"], sizes["N"]
    mask = rng.random((B, N)) < 0.5
    mask[rng.integers(B, size=N), np.arange(N)] = True
    missing = rng.integers(N)
    mask[0, missing] = False
    mask[1:, missing] |= rng.integers(1, max(B, 2)) == np.arange(1, B)
    empty = ~mask.any(axis=1)
    mask[empty, (missing + 1) % N] = True
    return {"mask": mask}


def _in_front(inputs, rng):
    """Sets of different sizes, their points in front, as padding makes them."""
    B, N = inputs["mask"].shape
    inputs["mask"][:] = np.arange(N) < (N - np.arange(B)[::-1] % N)[:, None]


def _all(inputs, rng):
    inputs["mask"][:] = True


def _one(inputs, rng):
    """One point is there, not the first, and its numbers are large, so that some scores are far below a hidden one of −100."""
    inputs["mask"][:] = False
    inputs["mask"][:, -1] = True
    inputs["X"][:, -1] *= LARGE


def _large_elsewhere(inputs, rng):
    """What stands where no point is, is large."""
    inputs["X"][~inputs["mask"]] *= LARGE


def _case(text, edit=None, edge=False, **sizes):
    return Case(text, sizes=sizes, edit=edit, edge=edge)


@exercise(
    points=2,
    section="Pooling a set",
    source="Lee et al. 2019 (Set Transformer), section 3.2: pooling by attention, here with one seed and without MLPs",
    outputs="Y",
    formula="Y[b] = Σ_n a_n · W_V(X[b, n]), a = softmax over the points n where mask[b, n] is True of seed · W_K(X[b, n]) / √D,"
    " and 0 elsewhere; Y [B, D]",
    cases=[
        _case("sets with points that are missing"),
        _case("sets that are padded at the end", edit=_in_front, B=4, N=6, D=5),
        _case("sets without padding", edit=_all),
        _case("more sets than points", B=8, N=3, D=6),
        _case("one point a set, with large numbers", edit=_one, edge=True, B=7, N=3, D=5),
        _case("large numbers where no point is", edit=_large_elsewhere, edge=True),
    ],
    draws=_drawn,
    equivalent={"masked_fill(~mask, -math.inf).softmax(dim=1)": "E has two axes, and 1 is the last"},
)
class SetPooling(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.seed = nn.Parameter(torch.randn(D))
        self.W_K, self.W_V = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)

    def forward(self, X: Float[Tensor, "B N D"], mask: Bool[Tensor, "B N"]) -> Float[Tensor, "B D"]:
        E = self.W_K(X) @ self.seed / math.sqrt(X.shape[-1])  # [B, N]
        A = E.masked_fill(~mask, -math.inf).softmax(dim=-1)
        return torch.einsum("bn,bnd->bd", A, self.W_V(X))


def _scores(self, X, divisor=None):
    return self.W_K(X) @ self.seed / (math.sqrt(X.shape[-1]) if divisor is None else divisor)


def _softmax(E, mask, dim=-1):
    """A softmax over what is there, and zeros elsewhere."""
    powers = (E - E.detach().amax(dim=dim, keepdim=True)).exp() * mask
    return powers / powers.sum(dim=dim, keepdim=True)


def _mean(values, mask):
    return torch.einsum("bn,bnd->bd", mask.to(values.dtype) / mask.sum(dim=1, keepdim=True), values)


def _mixed(A, values):
    return (A.unsqueeze(-1) * values).sum(dim=1)


@SetPooling.misconception
def sum_of_the_values(self, X, mask):
    """Each point has the weight 1, so the result is the sum of the values. The weights of a set sum to 1; a softmax along
    an axis with a single entry gives 1 everywhere."""
    return _mixed(mask.to(X.dtype), self.W_V(X))


@SetPooling.misconception
def mean_of_the_points(self, X, mask):
    """The result is the mean of the points as they are: no attention, and nothing that is learned. Weights come from the products
    of the seed with the keys, and what they add up are values."""
    return _mean(X, mask)


@SetPooling.misconception
def largest_value(self, X, mask):
    """The result is the largest value of each feature, as PointNet pools a set. Here the values are added, each times its weight
    from the softmax."""
    return self.W_V(X).masked_fill(~mask.unsqueeze(-1), -math.inf).amax(dim=1)


@SetPooling.misconception
def largest_score_alone(self, X, mask):
    """The point with the largest score has all the weight. A softmax gives every point a share, and lets gradients reach the
    seed and W_K."""
    best = _scores(self, X).masked_fill(~mask, -math.inf).argmax(dim=1)
    return self.W_V(X)[torch.arange(len(X), device=X.device), best]


@SetPooling.misconception
def what_is_missing(self, X, mask):
    """The mask is the wrong way round: the weights lie on the places where mask is False, and a set without such a place gets the
    mean of its values. True stands where a point is."""
    return _mixed(_scores(self, X).masked_fill(mask, -1e9).softmax(dim=-1), self.W_V(X))


@SetPooling.misconception
def scores_as_weights(self, X, mask):
    """The scores are the weights, without a softmax, so that weights can be negative and do not sum to 1. The softmax over the
    points that are there makes weights of them."""
    return _mixed(_scores(self, X) * mask, self.W_V(X))


@SetPooling.misconception
def softmax_twice(self, X, mask):
    """The softmax is applied twice, which makes the weights of a set's points nearly the same. The scores go through one
    softmax."""
    A = _softmax(_scores(self, X), mask)
    return _mixed(_softmax(A, mask), self.W_V(X))


@SetPooling.misconception
def scores_of_zero_at_padding(self, X, mask):
    """Where mask is False the scores are 0, so these places still get weight: exp(0) is 1. A place that must get none has the
    score −∞ before the softmax."""
    return _mixed(_scores(self, X).masked_fill(~mask, 0.0).softmax(dim=-1), self.W_V(X))


@SetPooling.misconception
def padding_as_zeros(self, X, mask):
    """The vectors where mask is False count as zeros. Their values then add nothing, but their scores of 0 still take weight
    from the points that are there. Their weights have to be 0: a score of −∞ before the softmax."""
    X = X * mask.unsqueeze(-1)
    return _mixed(_scores(self, X).softmax(dim=-1), self.W_V(X))


@SetPooling.misconception
def softmax_over_the_features(self, X, mask):
    """The softmax runs over the D features of each point, so that features compete and points do not. A point has one score, the
    scalar product of the seed with its key, and the softmax runs over the points of a set."""
    A = (self.W_K(X) * self.seed / math.sqrt(X.shape[-1])).softmax(dim=-1)
    return (A * mask.unsqueeze(-1) * self.W_V(X)).sum(dim=1)


@SetPooling.misconception
def each_feature_by_itself(self, X, mask):
    """Each feature has weights of its own: the products of the seed and a key were not summed before the softmax. The score of a
    point is one number, the scalar product of the seed with its key."""
    E = self.W_K(X) * self.seed / math.sqrt(X.shape[-1])
    return (_softmax(E, mask.unsqueeze(-1), dim=1) * self.W_V(X)).sum(dim=1)


@SetPooling.misconception
def not_scaled(self, X, mask):
    """The scores are not divided by √D. The scalar product of the seed with a key is a sum of D products, whose spread grows
    like √D; with wide vectors the softmax would saturate."""
    return _mixed(_softmax(_scores(self, X, 1), mask), self.W_V(X))


@SetPooling.misconception
def divided_by_D(self, X, mask):
    """The scores are divided by D. They are divided by its root, √D, since the spread of a sum of D products grows like that."""
    return _mixed(_softmax(_scores(self, X, X.shape[-1]), mask), self.W_V(X))


@SetPooling.misconception
def divided_by_the_root_of_N(self, X, mask):
    """The scores are divided by √N, the root of the number of places. The root is that of the width D, over which the products
    of the seed and a key are summed."""
    return _mixed(_softmax(_scores(self, X, math.sqrt(X.shape[1])), mask), self.W_V(X))


@SetPooling.misconception
def points_as_keys(self, X, mask):
    """The seed is compared with the points as they are. It is compared with their keys, W_K(X)."""
    return _mixed(_softmax(X @ self.seed / math.sqrt(X.shape[-1]), mask), self.W_V(X))


@SetPooling.misconception
def points_as_values(self, X, mask):
    """The weights meet the points as they are. What is summed are their values, W_V(X)."""
    return _mixed(_softmax(_scores(self, X), mask), X)


@SetPooling.misconception
def seed_projected(self, X, mask):
    """The seed goes through W_K as the points do. It is the query already, learned as such: only the points become keys."""
    return _mixed(_softmax(self.W_K(X) @ self.W_K(self.seed) / math.sqrt(X.shape[-1]), mask), self.W_V(X))


@SetPooling.misconception
def seed_added(self, X, mask):
    """The seed is added to the result, as by the residual connection in the Set Transformer's own block. The result is the
    weighted sum of the values alone."""
    return self.seed + _mixed(_softmax(_scores(self, X), mask), self.W_V(X))


@SetPooling.alternative
def fused(self, X, mask):
    query = self.seed.expand(len(X), 1, -1)
    return F.scaled_dot_product_attention(query, self.W_K(X), self.W_V(X), attn_mask=mask.unsqueeze(1)).squeeze(1)


@SetPooling.alternative
def set_by_set(self, X, mask):
    rows = []
    for points in (x[there] for x, there in zip(X, mask)):
        weights = (self.W_K(points) @ self.seed / len(self.seed) ** 0.5).softmax(dim=0)
        rows.append(weights @ self.W_V(points))
    return torch.stack(rows)


@SetPooling.alternative
def seed_through_the_keys_weight(self, X, mask):
    """seed · W_K x = (W_Kᵀ seed) · x, and the values of a mean are the mean of the values."""
    E = X @ (self.seed @ self.W_K.weight) / math.sqrt(X.shape[-1])
    A = E.masked_fill(mask.logical_not(), float("-inf")).softmax(dim=1)
    return self.W_V((A.unsqueeze(1) @ X).squeeze(1))
