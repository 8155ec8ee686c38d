"""Exercise 1: the scores of one query against its data vectors."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import SMALL


@exercise(
    points=2,
    section="How similar are a query and a data vector?",
    source="Stanford CS231n, lecture 8, attention layers",
    outputs="e",
    formula="e_i = q · X_i with q [*B, D_Q], X [*B, N_X, D_Q] gives e [*B, N_X]; *B: any leading axes, or none",
    cases=[
        Case("one query and its data vectors", expand={"*B": ""}),
        Case("a batch of queries, each with its own data", expand={"*B": "B"}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("a batch of one", sizes={"B": 1}),
        Case("a single data vector", expand={"*B": ""}, sizes={"N_X": 1}),
    ],
)
def attention_scores(q: Float[Tensor, "*B D_Q"], X: Float[Tensor, "*B N_X D_Q"]) -> Float[Tensor, "*B N_X"]:
    return torch.matmul(X, q.unsqueeze(-1)).squeeze(-1)


@attention_scores.misconception
def products_not_summed(q, X):
    """The products are not summed: q · X_i is one number for each data vector, the sum of its D_Q products."""
    return X * q.unsqueeze(-2)


@attention_scores.misconception
def summed_over_data(q, X):
    """The sum runs over the N_X data vectors, so one number is left for each feature. A score compares the query with
    one data vector: sum over the features, the last axis, and keep one score for each data vector."""
    return (X * q.unsqueeze(-2)).sum(dim=-2)


@attention_scores.misconception
def averaged_products(q, X):
    """The products are averaged, so each score is divided by D_Q. A dot product is their sum."""
    return (X * q.unsqueeze(-2)).mean(dim=-1)


@attention_scores.misconception
def cosine_similarity(q, X):
    """This is the cosine similarity: both vectors were divided by their lengths. The dot product keeps the lengths:
    if two data vectors have the same direction, the score of the longer one lies further from zero."""
    return F.cosine_similarity(X, q.unsqueeze(-2), dim=-1)


@attention_scores.misconception
def distance(q, X):
    """This is the Euclidean distance between the query and each data vector, which is small where the two are alike.
    The dot product is large where they point in the same direction."""
    return (X - q.unsqueeze(-2)).norm(dim=-1)


@attention_scores.misconception
def negative_squared_distance(q, X):
    """This is the negative squared distance, −|q − X_i|² = 2 q·X_i − |q|² − |X_i|², which lowers the score of a long
    data vector by its squared length. The dot product subtracts nothing."""
    return -(X - q.unsqueeze(-2)).square().sum(dim=-1)


@attention_scores.misconception
def absolute_value(q, X):
    """The sign is lost: an absolute value is taken somewhere. A data vector that points against the query has a
    negative score, and will get a small weight."""
    return torch.einsum("...nd,...d->...n", X, q).abs()


@attention_scores.misconception
def first_query_for_all(q, X):
    """Every batch element is scored with the first query. Each batch element has its own query: q[b] belongs to
    X[b]."""
    return X @ q.reshape(-1, q.shape[-1])[0]


@attention_scores.misconception
def every_query_with_every_batch(q, X):
    """Each batch element's data are scored with the queries of all batch elements, which adds an axis. q[b] belongs
    to X[b] alone: give q an axis of size 1 (unsqueeze) and let matmul keep the batch axes apart."""
    return X @ (q if q.ndim == 1 else q.mT)


@attention_scores.misconception
def query_read_as_matrix(q, X):
    """X @ q works for one query and fails for a batch: @ reads the batch of queries as one matrix. Give each query a
    last axis of size 1, q[..., None], and remove this axis from the result."""
    return X @ q


@attention_scores.misconception
def squeezed_away(q, X):
    """squeeze() without an axis, or with the wrong one, removes an axis of size 1 that belongs to the result, such as
    that of a batch of one or of a single data vector. Name the axis to be removed: squeeze(-1)."""
    return (X @ q.unsqueeze(-1)).squeeze()


@attention_scores.alternative
def multiplied_and_summed(q, X):
    return (q[..., None, :] * X).sum(-1)


@attention_scores.alternative
def with_einsum(q, X):
    return torch.einsum("...d,...nd->...n", q, X)


@attention_scores.alternative
def with_a_loop_over_data(q, X):
    return torch.stack([(q * X[..., i, :]).sum(dim=-1) for i in range(X.shape[-2])], dim=-1)


@attention_scores.alternative
def with_vecdot(q, X):
    return torch.linalg.vecdot(X, q.unsqueeze(-2))
