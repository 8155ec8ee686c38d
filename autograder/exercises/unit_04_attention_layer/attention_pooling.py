"""Exercise 3: one query's attention pooling, over a list of vectors or a grid."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED


@exercise(
    points={"a list of data vectors": 2, "a feature grid": 1},
    section="One query attends to all data vectors",
    source="Stanford CS231n, lecture 8, attention layers",
    outputs="y a",
    gradients="y",
    formula="e_i = q · X_i, a = softmax(e) over all data vectors, y = Σ_i a_i X_i; a has the shape of X without D_Q",
    cases=[
        Case("N_X data vectors", scale={"q": 0.4}, part="a list of data vectors"),
        Case("an H×W grid of feature vectors", expand={"*N_X": "H W"}, scale={"q": 0.4}, part="a feature grid"),
        Case("a single data vector", sizes={"N_X": 1}, part="a list of data vectors"),
        Case("a grid of one row", expand={"*N_X": "H W"}, sizes={"H": 1}, scale={"q": 0.4}, part="a feature grid"),
        Case("many data vectors", sizes={"N_X": 40}, scale={"q": 0.4}, part="a list of data vectors", edge=True),
    ],
    forbidden=FUSED,
    equivalent={
        "F.softmax(torch.mv(flat, q))": "there is one axis",
    },
)
def attention_pooling(
    q: Float[Tensor, "D_Q"], X: Float[Tensor, "*N_X D_Q"]
) -> tuple[Float[Tensor, "D_Q"], Float[Tensor, "*N_X"]]:
    flat = X.reshape(-1, X.shape[-1])
    a = F.softmax(torch.mv(flat, q), dim=0)
    return torch.mv(flat.mT, a), a.reshape(X.shape[:-1])


def _pooled(X, a):
    return (a[..., None] * X).reshape(-1, X.shape[-1]).sum(dim=0)


def _weights_over_all(e):
    return e.flatten().softmax(dim=0).reshape(e.shape)


@attention_pooling.misconception
def each_grid_row_by_itself(q, X):
    """On a grid your softmax runs over the last axis, so every row of the grid sums to 1. One query has one
    distribution over all H·W positions: flatten the grid, apply the softmax, and reshape the weights to the grid."""
    a = (X @ q).softmax(dim=-1)
    return _pooled(X, a), a


@attention_pooling.misconception
def each_grid_column_by_itself(q, X):
    """On a grid your softmax runs over the first axis, so every column of the grid sums to 1. One query has one
    distribution over all H·W positions: flatten the grid, apply the softmax, and reshape the weights to the grid."""
    a = (X @ q).softmax(dim=0)
    return _pooled(X, a), a


@attention_pooling.misconception
def weights_left_flat(q, X):
    """The weights of the grid are right but flat, [H·W]. Reshape them to [H, W], so that each weight stands at the
    position of its feature vector: a.reshape(X.shape[:-1])."""
    a = (X @ q).flatten().softmax(dim=0)
    return _pooled(X, a.reshape(X.shape[:-1])), a


@attention_pooling.misconception
def output_left_in_the_grid(q, X):
    """On a grid y still has a grid axis: the weighted sum ran over one axis only. The output is one vector [D_Q],
    summed over all H·W positions."""
    a = _weights_over_all(X @ q)
    return (a[..., None] * X).sum(dim=0), a


@attention_pooling.misconception
def features_and_places_mixed(q, X):
    """X.reshape(D_Q, …) does not move the feature axis to the front; it keeps the numbers in their order and cuts
    them into other rows, which mixes the vectors. The feature axis is already last: X.reshape(-1, D_Q) gives one row
    for each vector."""
    flat = X.reshape(X.shape[-1], -1).mT
    a = (flat @ q).softmax(dim=0)
    return a @ flat, a.reshape(X.shape[:-1])


@attention_pooling.misconception
def plain_mean(q, X):
    """y is the plain mean of the data vectors: the weights were computed, but not used. Each X_i is multiplied by its
    own a_i."""
    return X.reshape(-1, X.shape[-1]).mean(dim=0), _weights_over_all(X @ q)


@attention_pooling.misconception
def plain_sum(q, X):
    """y is the plain sum of the data vectors: the weights were computed, but not used. Each X_i is multiplied by its
    own a_i."""
    return X.reshape(-1, X.shape[-1]).sum(dim=0), _weights_over_all(X @ q)


@attention_pooling.misconception
def scores_returned(q, X):
    """y is right, but the second result holds the scores e, not the weights a = softmax(e)."""
    return _pooled(X, _weights_over_all(X @ q)), X @ q


@attention_pooling.misconception
def results_in_the_other_order(q, X):
    """The two results are swapped: return y first, then the weights a."""
    a = _weights_over_all(X @ q)
    return a, _pooled(X, a)


@attention_pooling.misconception
def weights_all_one(q, X):
    """All weights are 1: the softmax ran over an axis of size 1. It runs over the data vectors."""
    flat = X.reshape(-1, X.shape[-1])
    a = (flat @ q[:, None]).softmax(dim=-1).reshape(X.shape[:-1])
    return _pooled(X, a), a


@attention_pooling.alternative
def flattened_then_einsum(q, X):
    flat = X.flatten(end_dim=-2)
    a = torch.softmax(torch.einsum("nd,d->n", flat, q), dim=-1)
    return torch.einsum("n,nd->d", a, flat), a.unflatten(0, X.shape[:-1])


@attention_pooling.alternative
def tensordot_over_all_places(q, X):
    e = torch.tensordot(X, q, dims=1)
    a = (e - e.logsumexp(dim=tuple(range(e.ndim)))).exp()
    return torch.tensordot(a, X, dims=a.ndim), a


@attention_pooling.alternative
def vector_by_vector(q, X):
    vectors = list(X.reshape(-1, X.shape[-1]))
    scores = [sum(q * x) for x in vectors]
    powers = [torch.exp(score - max(scores)) for score in scores]
    total = sum(powers)
    y = sum(p / total * x for p, x in zip(powers, vectors))
    return y, torch.stack([p / total for p in powers]).reshape(X.shape[:-1])
