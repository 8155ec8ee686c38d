"""Unit 04, the attention layer: from one query's scores to cross-attention, and a measurement of why √D."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank import Case, exercise

FUSED = ("scaled_dot_product", "multi_head_attention", "native_multi_head")
SMALL = {"B_1": 3, "B_2": 2}  # two batch axes of any size would make large self-checks
SOFTMAX = ("softmax", "log_softmax", "safe_softmax", "logsumexp", "softmin", "cross_entropy", "nll_loss", *FUSED)

# ---------------------------------------------------------------------------------------------------------------------


@exercise(
    points=2,
    section="How similar are a query and a data vector?",
    outputs="e",
    formula="e_i = q · X_i with q [*B, D_Q], X [*B, N_X, D_Q] gives e [*B, N_X]; *B: any leading axes, or none",
    cases=[
        Case("one query and its data vectors", expand={"*B": ""}),
        Case("a batch of queries, each with its own data", expand={"*B": "B"}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
    ],
)
def attention_scores(q: Float[Tensor, "*B D_Q"], X: Float[Tensor, "*B N_X D_Q"]) -> Float[Tensor, "*B N_X"]:
    return torch.matmul(X, q.unsqueeze(-1)).squeeze(-1)


@attention_scores.misconception
def products_not_summed(q, X):
    """The products are there but not summed: q · X_i is one number for each data vector, the sum over its D_Q products."""
    return X * q.unsqueeze(-2)


@attention_scores.misconception
def summed_over_data(q, X):
    """The sum runs over the N_X data vectors, so one number is left for each feature. A score compares the query with one
    data vector: sum over the features, the last axis, and keep one score for each data vector."""
    return (X * q.unsqueeze(-2)).sum(dim=-2)


@attention_scores.misconception
def averaged_products(q, X):
    """The products are averaged, so each score is divided by D_Q. A dot product is their sum."""
    return (X * q.unsqueeze(-2)).mean(dim=-1)


@attention_scores.misconception
def scaled_already(q, X):
    """The scores are divided by √D_Q. The scaling comes in a later exercise; here the score is the plain dot product."""
    return torch.einsum("...nd,...d->...n", X, q) / math.sqrt(q.shape[-1])


@attention_scores.misconception
def softmax_already(q, X):
    """These are attention weights: they are positive and sum to 1. Scores are what goes into the softmax, so leave it out."""
    return torch.einsum("...nd,...d->...n", X, q).softmax(dim=-1)


@attention_scores.misconception
def cosine_similarity(q, X):
    """This is the cosine similarity: both vectors were divided by their lengths. The dot product keeps the lengths, so a
    long data vector scores higher than a short one in the same direction."""
    return F.cosine_similarity(X, q.unsqueeze(-2), dim=-1)


@attention_scores.misconception
def distance(q, X):
    """This is the Euclidean distance between query and data vectors: it is small where they are alike. The dot product is
    large where they point the same way."""
    return (X - q.unsqueeze(-2)).norm(dim=-1)


@attention_scores.misconception
def negative_squared_distance(q, X):
    """This is the negative squared distance, −|q − X_i|². It ranks by nearness; the dot product also depends on how long
    X_i is."""
    return -(X - q.unsqueeze(-2)).square().sum(dim=-1)


@attention_scores.misconception
def absolute_value(q, X):
    """The sign is lost: an absolute value is taken somewhere. A data vector that points against the query has a negative
    score, and will get a small weight."""
    return torch.einsum("...nd,...d->...n", X, q).abs()


@attention_scores.misconception
def first_query_for_all(q, X):
    """Every batch element is scored with the first query. Each one has its own: q[b] goes with X[b]."""
    return X @ q.reshape(-1, q.shape[-1])[0]


@attention_scores.misconception
def every_query_with_every_batch(q, X):
    """Each batch element's data is scored with the queries of all batch elements, which adds an axis. q[b] goes with X[b]
    alone: give q an axis of size 1 (unsqueeze) and let matmul keep the batch axes apart."""
    return X @ (q if q.ndim == 1 else q.mT)


@attention_scores.misconception
def query_read_as_matrix(q, X):
    """X @ q works for one query and fails for a batch: @ reads the batch of queries as one matrix. Give each query a last
    axis of size 1, q[..., None], and take it away from the result."""
    return X @ q


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


# ---------------------------------------------------------------------------------------------------------------------


def _around_a_thousand(inputs, rng):
    inputs["e"] += 1000


def _rows_far_apart(inputs, rng):
    inputs["e"] -= 400 * torch.arange(inputs["e"].shape[0]).numpy()[:, None].astype("float32")


def _one_far_above(inputs, rng):
    e = inputs["e"]
    e[..., 1] = e[..., 0] + 2
    e[..., :2] += 300


def _some_masked(inputs, rng):
    inputs["e"][0, 1] = inputs["e"][1, 0] = -math.inf


@exercise(
    points={"the definition": 2, "large scores": 1},
    section="From scores to weights",
    outputs="a",
    formula="a_i = exp(e_i − m) / Σ_j exp(e_j − m), with m the largest e_j along `dim` and the sum along `dim`",
    cases=[
        Case("the last axis of a matrix", expand={"*S": "N_Q N_X"}, values={"dim": -1}, part="the definition"),
        Case("the first axis", expand={"*S": "N_X N_Q"}, values={"dim": 0}, part="the definition"),
        Case("an axis in the middle", expand={"*S": "B N_X N_Q"}, values={"dim": 1}, part="the definition"),
        Case("a single vector", expand={"*S": "N_X"}, values={"dim": 0}, part="the definition"),
        Case("scores of −inf get weight 0", expand={"*S": "N_Q N_X"}, values={"dim": -1}, edit=_some_masked,
             sizes={"N_Q": 3, "N_X": 5}, part="the definition"),
        Case("scores around 1000", expand={"*S": "N_Q N_X"}, values={"dim": -1}, edit=_around_a_thousand,
             part="large scores", extreme=True),
        Case("rows that lie far apart", expand={"*S": "N_Q N_X"}, values={"dim": -1}, edit=_rows_far_apart,
             sizes={"N_Q": 4}, part="large scores", extreme=True),
        Case("two scores far above the others", expand={"*S": "N_Q N_X"}, values={"dim": 1}, edit=_one_far_above,
             sizes={"N_Q": 3, "N_X": 7}, part="large scores", extreme=True),
    ],
    forbidden=SOFTMAX,
)  # fmt: skip
def stable_softmax(e: Float[Tensor, "*S"], dim: int = -1) -> Float[Tensor, "*S"]:
    exponentials = (e - e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def largest_not_subtracted(e, dim=-1):
    """Right for small scores, but exp overflows for large ones: inf/inf is NaN. Subtract the largest score along `dim` first;
    numerator and denominator shrink by the same factor, so the result stays the same."""
    return e.exp() / e.exp().sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def largest_of_everything_subtracted(e, dim=-1):
    """The largest number of the whole tensor is subtracted. A row far below it underflows: all its exponentials are 0, and
    0/0 is NaN. Each slice along `dim` needs its own largest number: amax(dim=dim, keepdim=True)."""
    exponentials = (e - e.max()).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def mean_subtracted(e, dim=-1):
    """Not the largest but the mean was subtracted. It helps only while all scores are near each other: one far above the
    others still overflows. After subtracting the largest, no exponent is above 0."""
    exponentials = (e - e.mean(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def divided_by_largest(e, dim=-1):
    """The scores are divided by the largest one. That changes how far apart they are, and so the weights; subtracting it
    changes nothing but the size of the exponentials."""
    exponentials = (e / e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def always_the_last_axis(e, dim=-1):
    """The softmax runs over the last axis whatever `dim` says. Both the largest score and the sum belong to the axis `dim`."""
    exponentials = (e - e.amax(dim=-1, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@stable_softmax.misconception
def always_the_first_axis(e, dim=-1):
    """The softmax runs over the first axis whatever `dim` says. Both the largest score and the sum belong to the axis `dim`."""
    exponentials = (e - e.amax(dim=0, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=0, keepdim=True)


@stable_softmax.misconception
def sum_over_everything(e, dim=-1):
    """The exponentials are divided by their sum over the whole tensor, so all weights together sum to 1. Each slice along
    `dim` should sum to 1 by itself: sum(dim=dim, keepdim=True)."""
    exponentials = (e - e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum()


@stable_softmax.misconception
def not_normalised(e, dim=-1):
    """These are the exponentials, not yet divided by their sum: the largest is 1, and they do not sum to 1 along `dim`."""
    return (e - e.amax(dim=dim, keepdim=True)).exp()


@stable_softmax.misconception
def not_exponentiated(e, dim=-1):
    """The scores are divided by their sum without exp. Scores may be negative or sum to 0; exp makes each positive first."""
    return e / e.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def logarithm_returned(e, dim=-1):
    """These are the logarithms of the weights (log-softmax): they are negative. Take exp of them."""
    return e - e.logsumexp(dim=dim, keepdim=True)


@stable_softmax.misconception
def keepdim_forgotten(e, dim=-1):
    """The sum, or the largest score, lost its axis, so it lines up with the wrong axis or does not fit at all. keepdim=True
    leaves an axis of size 1 in its place, and each slice meets its own largest score and its own sum."""
    exponentials = (e - e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim)


@stable_softmax.misconception
def nan_replaced(e, dim=-1):
    """The overflow was hidden, not prevented: NaN was replaced by 0, and the weights of large scores are lost. Subtract the
    largest score along `dim` and nothing overflows."""
    return (e.exp() / e.exp().sum(dim=dim, keepdim=True)).nan_to_num(0.0)


@stable_softmax.misconception
def scores_clamped(e, dim=-1):
    """The scores were cut off at a largest value, which makes all large scores equal. Subtracting the largest score keeps
    their differences, and these are all that softmax depends on."""
    exponentials = e.clamp(max=80).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def subtracted_in_place(e, dim=-1):
    """The scores that were handed in are overwritten (-=, sub_ or exp_). The caller still needs them: make a new tensor,
    e = e - …"""
    e -= e.amax(dim=dim, keepdim=True)
    return e.exp() / e.exp().sum(dim=dim, keepdim=True)


@stable_softmax.alternative
def with_max_values(e, dim=-1):
    shifted = torch.exp(e - torch.max(e, dim=dim, keepdim=True).values)
    return shifted / torch.sum(shifted, dim, keepdim=True)


@stable_softmax.alternative
def with_a_detached_largest(e, dim=-1):
    shifted = e - e.detach().amax(dim, keepdim=True)
    return shifted.exp() * shifted.exp().sum(dim, keepdim=True).reciprocal()


@stable_softmax.alternative
def in_the_logarithm(e, dim=-1):
    shifted = e - e.amax(dim=dim, keepdim=True)
    return (shifted - shifted.exp().sum(dim=dim, keepdim=True).log()).exp()


@stable_softmax.alternative
def slice_by_slice(e, dim=-1):
    rows = []
    for row in e.movedim(dim, -1).reshape(-1, e.shape[dim]):
        powers = (row - row.max()).exp()
        rows.append(powers / powers.sum())
    moved = e.movedim(dim, -1).shape
    return torch.stack(rows).reshape(moved).movedim(-1, dim)


# ---------------------------------------------------------------------------------------------------------------------


@exercise(
    points={"a list of data vectors": 2, "a feature grid": 1},
    section="One query looks at all data vectors",
    outputs="y a",
    formula="e_i = q · X_i, a = softmax(e) over all data vectors, y = Σ_i a_i X_i; a has the shape of X without D_Q",
    cases=[
        Case("N_X data vectors", scale={"q": 0.4}, part="a list of data vectors"),
        Case("an H×W grid of feature vectors", expand={"*N_X": "H W"}, scale={"q": 0.4}, part="a feature grid"),
        Case("many data vectors", sizes={"N_X": 40}, scale={"q": 0.4}, part="a list of data vectors", hidden=True),
    ],
    forbidden=FUSED,
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
    """On a grid your softmax runs over the last axis, so every row of the grid sums to 1. One query has one distribution
    over all H·W places: flatten the grid, take the softmax, and shape the weights back."""
    a = (X @ q).softmax(dim=-1)
    return _pooled(X, a), a


@attention_pooling.misconception
def each_grid_column_by_itself(q, X):
    """On a grid your softmax runs over the first axis, so every column of the grid sums to 1. One query has one
    distribution over all H·W places: flatten the grid, take the softmax, and shape the weights back."""
    a = (X @ q).softmax(dim=0)
    return _pooled(X, a), a


@attention_pooling.misconception
def weights_left_flat(q, X):
    """The weights of the grid are right but flat, [H·W]. Shape them back to [H, W], so that each weight lies where its
    feature vector lies: a.reshape(X.shape[:-1])."""
    a = (X @ q).flatten().softmax(dim=0)
    return _pooled(X, a.reshape(X.shape[:-1])), a


@attention_pooling.misconception
def output_left_in_the_grid(q, X):
    """On a grid y still has a grid axis: the weighted sum ran over one axis only. The output is one vector [D_Q], summed
    over all H·W places."""
    a = _weights_over_all(X @ q)
    return (a[..., None] * X).sum(dim=0), a


@attention_pooling.misconception
def features_and_places_mixed(q, X):
    """X.reshape(D_Q, …) does not move the feature axis to the front; it cuts the numbers up in another order and mixes
    the vectors. The feature axis is already last: X.reshape(-1, D_Q) gives one row for each vector."""
    flat = X.reshape(X.shape[-1], -1).mT
    a = (flat @ q).softmax(dim=0)
    return a @ flat, a.reshape(X.shape[:-1])


@attention_pooling.misconception
def plain_mean(q, X):
    """y is the plain mean of the data vectors: the weights were computed, but not used. Each X_i counts with its own a_i."""
    return X.reshape(-1, X.shape[-1]).mean(dim=0), _weights_over_all(X @ q)


@attention_pooling.misconception
def plain_sum(q, X):
    """y is the plain sum of the data vectors: the weights were computed, but not used. Each X_i counts with its own a_i."""
    return X.reshape(-1, X.shape[-1]).sum(dim=0), _weights_over_all(X @ q)


@attention_pooling.misconception
def weighted_mean_divided_again(q, X):
    """The weighted sum is divided by the number of data vectors once more (mean instead of sum). The weights already sum
    to 1: y = Σ_i a_i X_i."""
    a = _weights_over_all(X @ q)
    return _pooled(X, a) / a.numel(), a


@attention_pooling.misconception
def best_match_only(q, X):
    """y is the one data vector with the highest score (argmax, "hard" attention). Nothing can be learned through an argmax;
    attention is soft: every data vector counts, with its weight."""
    a = torch.zeros_like(X @ q)
    a.view(-1)[(X @ q).flatten().argmax()] = 1
    return _pooled(X, a), a


@attention_pooling.misconception
def raw_scores_as_weights(q, X):
    """The scores themselves are used as weights. They may be negative and do not sum to 1; softmax turns them into a
    distribution first."""
    return _pooled(X, X @ q), X @ q


@attention_pooling.misconception
def scores_returned(q, X):
    """y is right, but the second result is the scores e, not the weights a = softmax(e)."""
    return _pooled(X, _weights_over_all(X @ q)), X @ q


@attention_pooling.misconception
def independent_gates(q, X):
    """The weights come from a sigmoid: each lies between 0 and 1, but together they do not sum to 1. In attention the data
    vectors compete: softmax."""
    a = (X @ q).sigmoid()
    return _pooled(X, a), a


@attention_pooling.misconception
def scaled_too_early(q, X):
    """The scores are divided by √D_Q. The scaling comes with the next exercise; here e_i = q · X_i."""
    a = _weights_over_all(X @ q / math.sqrt(q.shape[-1]))
    return _pooled(X, a), a


@attention_pooling.misconception
def results_in_the_other_order(q, X):
    """The two results are swapped: return y first, then the weights a."""
    a = _weights_over_all(X @ q)
    return a, _pooled(X, a)


@attention_pooling.misconception
def query_pooled(q, X):
    """y is a multiple of the query, not a mix of the data: the weights multiply q. They belong to the data vectors:
    y = Σ_i a_i X_i."""
    a = _weights_over_all(X @ q)
    return a.sum() * q, a


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
    powers = [torch.exp(sum(q * x)) for x in vectors]
    total = sum(powers)
    y = sum(p / total * x for p, x in zip(powers, vectors))
    return y, torch.stack([p / total for p in powers]).reshape(X.shape[:-1])


# ---------------------------------------------------------------------------------------------------------------------

BATCHED = [
    Case("one sequence", expand={"*B": ""}, part="one sequence"),
    Case("a batch of sequences", expand={"*B": "B"}, part="a batch"),
    Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL, part="a batch"),
    Case("64 features, where the scale matters most", expand={"*B": ""}, sizes={"D_Q": 64}, part="one sequence"),
]


@exercise(
    points={"one sequence": 2, "a batch": 1},
    section="Many queries at once",
    outputs="Y A",
    formula="E = Q Xᵀ/√D_Q [*B, N_Q, N_X], A = softmax(E, dim=-1), Y = A X [*B, N_Q, D_Q]; *B: any leading axes, or none",
    cases=BATCHED,
    forbidden=FUSED,
)
def scaled_dot_product_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], X: Float[Tensor, "*B N_X D_Q"]
) -> tuple[Float[Tensor, "*B N_Q D_Q"], Float[Tensor, "*B N_Q N_X"]]:
    A = F.softmax(torch.matmul(Q, X.transpose(-2, -1)) * Q.shape[-1] ** -0.5, dim=-1)
    return torch.matmul(A, X), A


def _attend(Q, K, V, divisor=None, dim=-1):
    """Attention with the scale and the softmax's axis left open, for mistakes."""
    E = Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)
    A = E.softmax(dim=dim)
    return A @ V, A


@scaled_dot_product_attention.misconception
def not_scaled(Q, X):
    """The scores are not divided by √D_Q. A dot product of D_Q independent terms has a spread that grows as √D_Q, so the
    softmax of wide vectors would saturate."""
    return _attend(Q, X, X, divisor=1)


@scaled_dot_product_attention.misconception
def divided_by_width(Q, X):
    """The scores are divided by D_Q, not by its square root. It is their standard deviation that grows as √D_Q; dividing by
    D_Q makes wide vectors' weights nearly equal."""
    return _attend(Q, X, X, divisor=Q.shape[-1])


@scaled_dot_product_attention.misconception
def multiplied_by_root(Q, X):
    """The scores are multiplied by √D_Q. Divide: the scale is there to make large scores smaller."""
    return _attend(Q, X, X, divisor=1 / math.sqrt(Q.shape[-1]))


@scaled_dot_product_attention.misconception
def divided_by_root_of_length(Q, X):
    """The scores are divided by √N_X, the number of data vectors. The scale belongs to the width of the vectors in the dot
    product, D_Q: Q.shape[-1]."""
    return _attend(Q, X, X, divisor=math.sqrt(X.shape[-2]))


@scaled_dot_product_attention.misconception
def divided_by_root_of_queries(Q, X):
    """The scores are divided by √N_Q, the number of queries. The scale belongs to the width of the vectors in the dot
    product, D_Q: Q.shape[-1]."""
    return _attend(Q, X, X, divisor=math.sqrt(Q.shape[-2]))


@scaled_dot_product_attention.misconception
def scaled_after_softmax(Q, X):
    """The division by √D_Q comes after the softmax, so the weights no longer sum to 1. Scale the scores, then take the
    softmax."""
    A = (Q @ X.mT).softmax(dim=-1) / math.sqrt(Q.shape[-1])
    return A @ X, A


@scaled_dot_product_attention.misconception
def both_sides_scaled(Q, X):
    """Q and X are each divided by √D_Q, so the scores are divided by D_Q. Divide once, or each by the fourth root."""
    root = math.sqrt(Q.shape[-1])
    return _attend(Q / root, X / root, X / root, divisor=1)


@scaled_dot_product_attention.misconception
def outputs_scaled_too(Q, X):
    """The weights are right, but Y mixes data vectors that were divided by √D_Q. The scale belongs to the scores alone:
    Y = A X with X as it came."""
    return _attend(Q, X / math.sqrt(Q.shape[-1]), X / math.sqrt(Q.shape[-1]), divisor=1)


@scaled_dot_product_attention.misconception
def softmax_over_queries(Q, X):
    """Your weights sum to 1 over the queries: softmax ran over dim=-2. Each query needs its own distribution over the N_X
    data vectors, so softmax runs over the last dimension of E [N_Q, N_X]."""
    return _attend(Q, X, X, dim=-2)


@scaled_dot_product_attention.misconception
def softmax_over_axis_one(Q, X):
    """softmax(dim=1) is right for one sequence, E [N_Q, N_X], but with a batch in front axis 1 is another one. The data
    vectors are always last: dim=-1."""
    return _attend(Q, X, X, dim=1)


@scaled_dot_product_attention.misconception
def scores_instead_of_weights(Q, X):
    """Y is right, but the second result is the scores E, not the weights A = softmax(E)."""
    Y, _ = _attend(Q, X, X)
    return Y, Q @ X.mT / math.sqrt(Q.shape[-1])


@scaled_dot_product_attention.misconception
def no_softmax(Q, X):
    """There is no softmax: the scores themselves are used as weights. They may be negative and do not sum to 1."""
    E = Q @ X.mT / math.sqrt(Q.shape[-1])
    return E @ X, E


@scaled_dot_product_attention.misconception
def weights_transposed(Q, X):
    """A comes as [N_X, N_Q]. Row i belongs to query i, and column j to data vector j: A is [N_Q, N_X]."""
    Y, A = _attend(Q, X, X)
    return Y, A.mT


@scaled_dot_product_attention.misconception
def data_not_transposed(Q, X):
    """Q @ X without a transpose does not fit: the product needs the features of both side by side, Q [N_Q, D_Q] times
    X transposed [D_Q, N_X]. For a batch that is X.mT, or X.transpose(-2, -1)."""
    A = (Q @ X / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ X, A


@scaled_dot_product_attention.misconception
def first_two_axes_swapped(Q, X):
    """transpose(0, 1) swaps the first two axes: right for one sequence, but with a batch in front it moves the batch. Swap
    the last two: X.mT, or X.transpose(-2, -1)."""
    A = (Q @ X.transpose(0, 1) / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ X, A


@scaled_dot_product_attention.misconception
def results_swapped(Q, X):
    """The two results are swapped: return the outputs Y first, then the weights A."""
    Y, A = _attend(Q, X, X)
    return A, Y


@scaled_dot_product_attention.misconception
def weights_forgotten(Q, X):
    """Only Y is returned. Return both, the outputs and the weights: `return Y, A`."""
    return _attend(Q, X, X)[0]


@scaled_dot_product_attention.alternative
def einsum_both_ways(Q, X):
    A = torch.einsum("...qd,...xd->...qx", Q, X).div(Q.size(-1) ** 0.5).softmax(-1)
    return torch.einsum("...qx,...xd->...qd", A, X), A


@scaled_dot_product_attention.alternative
def query_by_query(Q, X):
    rows, outputs = [], []
    for i in range(Q.shape[-2]):
        a = torch.softmax((X * Q[..., i : i + 1, :]).sum(-1) / math.sqrt(X.shape[-1]), dim=-1)
        rows.append(a)
        outputs.append((a.unsqueeze(-1) * X).sum(-2))
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)


@scaled_dot_product_attention.alternative
def fourth_root_on_both_sides(Q, X):
    root = Q.shape[-1] ** 0.25
    E = (Q / root) @ (X / root).transpose(-1, -2)
    A = torch.exp(E - E.logsumexp(-1, keepdim=True))
    return A @ X, A


@scaled_dot_product_attention.alternative
def flattened_batches(Q, X):
    flat_Q, flat_X = Q.reshape(-1, *Q.shape[-2:]), X.reshape(-1, *X.shape[-2:])
    E = torch.bmm(flat_Q, flat_X.transpose(1, 2)) / torch.tensor(Q.shape[-1], dtype=Q.dtype, device=Q.device).sqrt()
    A = torch.softmax(E, dim=2)
    Y = torch.bmm(A, flat_X)
    return Y.reshape(*Q.shape[:-1], X.shape[-1]), A.reshape(*Q.shape[:-1], X.shape[-2])


# ---------------------------------------------------------------------------------------------------------------------


@exercise(
    points=3,
    section="Keys and values",
    outputs="Y A",
    formula="K = X W_K [*B, N_X, D_Q], V = X W_V [*B, N_X, D_V], A = softmax(Q Kᵀ/√D_Q, dim=-1), Y = A V [*B, N_Q, D_V]",
    cases=[
        Case("a batch of sequences", expand={"*B": "B"}),
        Case("one sequence", expand={"*B": ""}),
        Case("keys of 64 features", expand={"*B": "B"}, sizes={"D_Q": 64}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL, hidden=True),
    ],
    forbidden=FUSED,
)
class AttentionLayer(nn.Module):
    def __init__(self, D_X: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(
        self, Q: Float[Tensor, "*B N_Q D_Q"], X: Float[Tensor, "*B N_X D_X"]
    ) -> tuple[Float[Tensor, "*B N_Q D_V"], Float[Tensor, "*B N_Q N_X"]]:
        K, V = self.W_K(X), self.W_V(X)
        A = F.softmax(torch.matmul(Q, K.transpose(-2, -1)) * K.shape[-1] ** -0.5, dim=-1)
        return torch.matmul(A, V), A


@AttentionLayer.misconception
def layer_not_scaled(self, Q, X):
    """The scores are not divided by √D_Q. Keys of many features make scores so large that the softmax saturates."""
    return _attend(Q, self.W_K(X), self.W_V(X), divisor=1)


@AttentionLayer.misconception
def scaled_by_data_width(self, Q, X):
    """The scores are divided by √D_X, the width of the data. The dot product runs over queries and keys, both D_Q wide; X
    is no longer part of it once it has been projected."""
    return _attend(Q, self.W_K(X), self.W_V(X), divisor=math.sqrt(X.shape[-1]))


@AttentionLayer.misconception
def scaled_by_value_width(self, Q, X):
    """The scores are divided by √D_V, the width of the values. Values play no part in the scores; queries and keys do, and
    they are D_Q wide."""
    V = self.W_V(X)
    return _attend(Q, self.W_K(X), V, divisor=math.sqrt(V.shape[-1]))


@AttentionLayer.misconception
def layer_divided_by_width(self, Q, X):
    """The scores are divided by D_Q, not by its square root."""
    return _attend(Q, self.W_K(X), self.W_V(X), divisor=Q.shape[-1])


@AttentionLayer.misconception
def layer_softmax_over_queries(self, Q, X):
    """Your weights sum to 1 over the queries: softmax ran over dim=-2. Each query needs its own distribution over the N_X
    keys, so softmax runs over the last dimension of E [N_Q, N_X]."""
    return _attend(Q, self.W_K(X), self.W_V(X), dim=-2)


@AttentionLayer.misconception
def layer_softmax_over_batch(self, Q, X):
    """softmax(dim=0) normalises across the batch, so that unrelated sequences compete. Each query needs its own distribution
    over its N_X keys: dim=-1."""
    return _attend(Q, self.W_K(X), self.W_V(X), dim=0)


@AttentionLayer.misconception
def data_used_as_values(self, Q, X):
    """Y mixes the data X itself; W_V is not used. The values V = X W_V [N_X, D_V] are what is mixed, so Y is D_V wide."""
    _, A = _attend(Q, self.W_K(X), self.W_V(X))
    return A @ X, A


@AttentionLayer.misconception
def keys_used_as_values(self, Q, X):
    """Y mixes the keys. Keys decide how much each data vector counts; what is mixed are the values V = X W_V."""
    _, A = _attend(Q, self.W_K(X), self.W_V(X))
    return A @ self.W_K(X), A


@AttentionLayer.misconception
def data_used_as_keys(self, Q, X):
    """The queries are compared with the data X itself; W_K is not used. Queries are D_Q wide and X is D_X wide, so they only
    fit after K = X W_K."""
    A = (Q @ X.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ self.W_V(X), A


@AttentionLayer.misconception
def values_used_as_keys(self, Q, X):
    """The queries are compared with the values. Scores come from queries and keys, Q Kᵀ; values enter only in Y = A V."""
    V = self.W_V(X)
    return _attend(Q, V, V)


@AttentionLayer.misconception
def queries_projected_too(self, Q, X):
    """The queries are sent through W_K as well. In this layer the queries come ready, D_Q wide; only the data X is
    projected."""
    return _attend(self.W_K(Q), self.W_K(X), self.W_V(X))


@AttentionLayer.misconception
def values_projected_from_keys(self, Q, X):
    """The values are computed from the keys, W_V(K). Both projections start from the data: K = X W_K and V = X W_V."""
    K = self.W_K(X)
    return _attend(Q, K, self.W_V(K))


@AttentionLayer.misconception
class biases_added(AttentionLayer.reference):
    """The layers have biases. The key and value matrices of this exercise are plain matrices: nn.Linear(…, …, bias=False)."""

    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.W_K, self.W_V = nn.Linear(D_X, D_Q), nn.Linear(D_X, D_V)


@AttentionLayer.misconception
class key_and_value_widths_swapped(AttentionLayer.reference):
    """The widths of keys and values are swapped: keys are compared with the queries, so W_K maps D_X to D_Q; values become
    the output, so W_V maps D_X to D_V."""

    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_V, D_Q)


@AttentionLayer.misconception
class linear_arguments_swapped(AttentionLayer.reference):
    """nn.Linear takes the width that goes in first, then the width that comes out: nn.Linear(D_X, D_Q). Yours are the other
    way round."""

    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.W_K, self.W_V = nn.Linear(D_Q, D_X, bias=False), nn.Linear(D_V, D_X, bias=False)


@AttentionLayer.misconception
def layer_scores_instead_of_weights(self, Q, X):
    """Y is right, but the second result is the scores E, not the weights A = softmax(E)."""
    K = self.W_K(X)
    return _attend(Q, K, self.W_V(X))[0], Q @ K.mT / math.sqrt(K.shape[-1])


@AttentionLayer.misconception
def layer_returns_outputs_alone(self, Q, X):
    """Only Y is returned. Return both, the outputs and the weights: `return Y, A`."""
    return _attend(Q, self.W_K(X), self.W_V(X))[0]


@AttentionLayer.alternative
def weights_applied_by_hand(self, Q, X):
    K, V = X @ self.W_K.weight.T, X @ self.W_V.weight.T
    A = torch.softmax(torch.einsum("...qd,...xd->...qx", Q, K) / math.sqrt(K.shape[-1]), dim=-1)
    return torch.einsum("...qx,...xv->...qv", A, V), A


@AttentionLayer.alternative
def one_fused_projection(self, Q, X):
    KV = F.linear(X, torch.cat([self.W_K.weight, self.W_V.weight]))
    K, V = KV.split([self.W_K.out_features, self.W_V.out_features], dim=-1)
    return _attend(Q, K, V)


@AttentionLayer.alternative
def keys_folded_into_queries(self, Q, X):
    A = ((Q @ self.W_K.weight) @ X.mT / self.W_K.out_features**0.5).softmax(dim=-1)
    return self.W_V(A @ X), A


@AttentionLayer.alternative
class plain_parameters_inside_linear(AttentionLayer.reference):
    def __init__(self, D_X, D_Q, D_V):
        nn.Module.__init__(self)
        self.D_Q = D_Q
        self.W_V = nn.Linear(in_features=D_X, out_features=D_V, bias=False)
        self.W_K = nn.Linear(in_features=D_X, out_features=D_Q, bias=False)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, Q, X):
        A = self.softmax(Q.div(self.D_Q**0.5) @ self.W_K(X).transpose(-1, -2))
        return A.matmul(self.W_V(X)), A


# ---------------------------------------------------------------------------------------------------------------------


@exercise(
    points=2,
    section="Cross-attention: two sequences",
    outputs="Y A",
    formula="Q = S W_Q + b_Q, K = X W_K + b_K, V = X W_V + b_V, A = softmax(Q Kᵀ/√D_Q, dim=-1) [*B, N_Q, N_X], Y = A V",
    cases=[
        Case("a batch of pairs of sequences", expand={"*B": "B"}),
        Case("one pair of sequences", expand={"*B": ""}),
        Case("queries and keys of 64 features", expand={"*B": "B"}, sizes={"D_Q": 64}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL, hidden=True),
    ],
    forbidden=FUSED,
)
class CrossAttentionLayer(nn.Module):
    def __init__(self, D_S: int, D_X: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q = nn.Linear(D_S, D_Q)
        self.W_K = nn.Linear(D_X, D_Q)
        self.W_V = nn.Linear(D_X, D_V)

    def forward(
        self, S: Float[Tensor, "*B N_Q D_S"], X: Float[Tensor, "*B N_X D_X"]
    ) -> tuple[Float[Tensor, "*B N_Q D_V"], Float[Tensor, "*B N_Q N_X"]]:
        Q, K, V = self.W_Q(S), self.W_K(X), self.W_V(X)
        A = F.softmax(torch.matmul(Q, K.transpose(-2, -1)) * K.shape[-1] ** -0.5, dim=-1)
        return torch.matmul(A, V), A


@CrossAttentionLayer.misconception
def cross_not_scaled(self, S, X):
    """The scores are not divided by √D_Q, the width of queries and keys."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(X), divisor=1)


@CrossAttentionLayer.misconception
def scaled_by_query_source_width(self, S, X):
    """The scores are divided by √D_S, the width of the sequence that asks. After the projection queries and keys are D_Q
    wide, and the dot product runs over these."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(X), divisor=math.sqrt(S.shape[-1]))


@CrossAttentionLayer.misconception
def cross_scaled_by_data_width(self, S, X):
    """The scores are divided by √D_X, the width of the data. After the projection queries and keys are D_Q wide, and the
    dot product runs over these."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(X), divisor=math.sqrt(X.shape[-1]))


@CrossAttentionLayer.misconception
def cross_scaled_by_value_width(self, S, X):
    """The scores are divided by √D_V, the width of the values. Values play no part in the scores; queries and keys do, and
    they are D_Q wide."""
    V = self.W_V(X)
    return _attend(self.W_Q(S), self.W_K(X), V, divisor=math.sqrt(V.shape[-1]))


@CrossAttentionLayer.misconception
def cross_divided_by_width(self, S, X):
    """The scores are divided by D_Q, not by its square root."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(X), divisor=self.W_Q.out_features)


@CrossAttentionLayer.misconception
def roles_of_the_sequences_swapped(self, S, X):
    """The sequences have changed roles: queries are made from X, or keys and values from S. S asks, X answers: Q = S W_Q,
    K = X W_K, V = X W_V."""
    return _attend(self.W_Q(X), self.W_K(S), self.W_V(S))


@CrossAttentionLayer.misconception
def keys_from_the_asking_sequence(self, S, X):
    """The keys are made from S, the sequence that asks. Keys describe the data that is looked at: K = X W_K."""
    return _attend(self.W_Q(S), self.W_K(S), self.W_V(X))


@CrossAttentionLayer.misconception
def values_from_the_asking_sequence(self, S, X):
    """The values are made from S, the sequence that asks. What is mixed comes from the data that is looked at: V = X W_V."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(S))


@CrossAttentionLayer.misconception
def cross_softmax_over_queries(self, S, X):
    """Your weights sum to 1 over the queries: softmax ran over dim=-2. Each query needs its own distribution over the N_X
    keys, so softmax runs over the last dimension of E [N_Q, N_X]."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(X), dim=-2)


@CrossAttentionLayer.misconception
def all_biases_dropped(self, S, X):
    """The biases are left out: the weights are applied by hand, without b. Calling the layer, self.W_Q(S), adds it."""
    return _attend(S @ self.W_Q.weight.T, X @ self.W_K.weight.T, X @ self.W_V.weight.T)


@CrossAttentionLayer.misconception
def value_bias_dropped(self, S, X):
    """The bias of the values is left out. V = X W_V + b_V; as the weights sum to 1, Y is off by just b_V."""
    return _attend(self.W_Q(S), self.W_K(X), X @ self.W_V.weight.T)


@CrossAttentionLayer.misconception
class layers_without_bias(CrossAttentionLayer.reference):
    """The layers have no biases. This exercise asks for nn.Linear as it is, with bias: the formula ends in + b."""

    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__(D_S, D_X, D_Q, D_V)
        self.W_Q = nn.Linear(D_S, D_Q, bias=False)
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)


@CrossAttentionLayer.misconception
class query_layer_for_the_wrong_sequence(CrossAttentionLayer.reference):
    """W_Q is built for the width of X. Queries come from S: nn.Linear(D_S, D_Q)."""

    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__(D_S, D_X, D_Q, D_V)
        self.W_Q = nn.Linear(D_X, D_Q)


@CrossAttentionLayer.misconception
class key_layer_for_the_wrong_sequence(CrossAttentionLayer.reference):
    """W_K is built for the width of S. Keys come from X: nn.Linear(D_X, D_Q)."""

    def __init__(self, D_S, D_X, D_Q, D_V):
        super().__init__(D_S, D_X, D_Q, D_V)
        self.W_K = nn.Linear(D_S, D_Q)


@CrossAttentionLayer.misconception
def cross_returns_outputs_alone(self, S, X):
    """Only Y is returned. Return both, the outputs and the weights: `return Y, A`."""
    return _attend(self.W_Q(S), self.W_K(X), self.W_V(X))[0]


@CrossAttentionLayer.alternative
def cross_with_einsum(self, S, X):
    Q, K, V = self.W_Q(S), self.W_K(X), self.W_V(X)
    A = torch.einsum("...qd,...xd->...qx", Q, K).mul(Q.shape[-1] ** -0.5).softmax(-1)
    return torch.einsum("...qx,...xv->...qv", A, V), A


@CrossAttentionLayer.alternative
def keys_and_values_in_one_call(self, S, X):
    weight = torch.cat([self.W_K.weight, self.W_V.weight])
    bias = torch.cat([self.W_K.bias, self.W_V.bias])
    K, V = torch.split(F.linear(X, weight, bias), [self.W_K.out_features, self.W_V.out_features], dim=-1)
    return _attend(self.W_Q(S), K, V)


@CrossAttentionLayer.alternative
def without_the_key_bias(self, S, X):
    # q · b_K is the same for every key, so the softmax does not see it
    Q, K = self.W_Q(S), X @ self.W_K.weight.T + 0 * self.W_K.bias
    return _attend(Q, K, self.W_V(X))


@CrossAttentionLayer.alternative
def values_projected_after_mixing(self, S, X):
    A = _attend(self.W_Q(S), self.W_K(X), X)[1]
    return self.W_V(A @ X), A


# ---------------------------------------------------------------------------------------------------------------------

MEASURED = [
    Case("scores that are not scaled", values={"scaled": False}, scale={"Q": 0.5}, sizes={"N_X": 9}),
    Case("scaled scores", values={"scaled": True}, sizes={"N_X": 8}),
    Case("64 features, scaled", values={"scaled": True}, sizes={"D_Q": 64, "N_X": 10}),
]


@exercise(
    points=2,
    section="Why divide by √D?",
    outputs="g",
    formula="e = q·X_j (÷ √D_Q if scaled), a = softmax(e), J_ij = ∂a_i/∂e_j = a_i (δ_ij − a_j), g = √(Σ_ij J_ij²), one g a query",
    cases=MEASURED,
    forbidden=FUSED,
    differentiable=False,
)
def gradient_through_softmax(
    Q: Float[Tensor, "N_Q D_Q"], X: Float[Tensor, "N_X D_Q"], scaled: bool
) -> Float[Tensor, "N_Q"]:
    A = _softmaxed(Q, X, scaled)
    return torch.linalg.matrix_norm(torch.diag_embed(A) - A.unsqueeze(-1) * A.unsqueeze(-2))


def _softmaxed(Q, X, scaled, dim=-1):
    E = Q @ X.mT
    return (E / math.sqrt(Q.shape[-1]) if scaled else E).softmax(dim=dim)


def _jacobian(A):
    return torch.diag_embed(A) - A[..., :, None] * A[..., None, :]


@gradient_through_softmax.misconception
def never_scaled(Q, X, scaled):
    """The argument `scaled` makes no difference: the scores are never divided by √D_Q."""
    return _jacobian(_softmaxed(Q, X, False)).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def always_scaled(Q, X, scaled):
    """The argument `scaled` makes no difference: the scores are always divided by √D_Q."""
    return _jacobian(_softmaxed(Q, X, True)).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def scaled_the_other_way_round(Q, X, scaled):
    """`scaled` is read the other way round: the scores are divided by √D_Q when it is False."""
    return _jacobian(_softmaxed(Q, X, not scaled)).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def measured_by_width(Q, X, scaled):
    """The scores are divided by D_Q, not by its square root."""
    A = (Q @ X.mT / (Q.shape[-1] if scaled else 1)).softmax(dim=-1)
    return _jacobian(A).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def gradient_of_the_sum(Q, X, scaled):
    """This is the gradient of Σ_i a_i, which is 0 whatever the scores are: the weights always sum to 1. Each weight a_i has a
    gradient of its own; together they are the Jacobian."""
    E = (Q @ X.mT / (math.sqrt(Q.shape[-1]) if scaled else 1)).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(E.softmax(dim=-1).sum(), E)
    return gradient.norm(dim=-1)


@gradient_through_softmax.misconception
def diagonal_alone(Q, X, scaled):
    """Only the diagonal a_i (1 − a_i) is counted. A score also moves all the other weights: the entries off the diagonal
    are −a_i a_j."""
    A = _softmaxed(Q, X, scaled)
    return (A * (1 - A)).norm(dim=-1)


@gradient_through_softmax.misconception
def outer_product_forgotten(Q, X, scaled):
    """The term −a_i a_j is missing: this is the length of a itself, or of diag(a)."""
    return _softmaxed(Q, X, scaled).norm(dim=-1)


@gradient_through_softmax.misconception
def outer_product_added(Q, X, scaled):
    """The term a_i a_j is added; it is subtracted. More score for one data vector leaves less weight for the others."""
    A = _softmaxed(Q, X, scaled)
    return (torch.diag_embed(A) + A[:, :, None] * A[:, None, :]).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def root_forgotten(Q, X, scaled):
    """This is the sum of the squares; its square root is missing."""
    return _jacobian(_softmaxed(Q, X, scaled)).square().sum(dim=(1, 2))


@gradient_through_softmax.misconception
def absolute_values_summed(Q, X, scaled):
    """The absolute values are summed. The Frobenius norm is the root of the sum of the squares."""
    return _jacobian(_softmaxed(Q, X, scaled)).abs().sum(dim=(1, 2))


@gradient_through_softmax.misconception
def largest_singular_value(Q, X, scaled):
    """This is the spectral norm (the largest singular value, ord=2). The Frobenius norm counts every entry of the
    Jacobian."""
    return torch.linalg.matrix_norm(_jacobian(_softmaxed(Q, X, scaled)), ord=2)


@gradient_through_softmax.misconception
def averaged_over_queries(Q, X, scaled):
    """The result is one number, the mean over the queries. Return one number for each query; the plot below averages them."""
    return _jacobian(_softmaxed(Q, X, scaled)).flatten(1).norm(dim=1).mean()


@gradient_through_softmax.misconception
def differentiated_before_the_scale(Q, X, scaled):
    """The factor 1/√D_Q of the scaling is in the result: this is the gradient with respect to q·X_j before the division. e is
    what goes into the softmax, so the scaling is already inside it."""
    g = _jacobian(_softmaxed(Q, X, scaled)).flatten(1).norm(dim=1)
    return g / math.sqrt(Q.shape[-1]) if scaled else g


@gradient_through_softmax.misconception
def measured_over_queries(Q, X, scaled):
    """The softmax runs over the queries. Each query has its own distribution over the N_X data vectors: dim=-1."""
    return _jacobian(_softmaxed(Q, X, scaled, dim=0)).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def one_norm_for_all(Q, X, scaled):
    """One norm is taken over all queries together. Each query has its own Jacobian and its own norm: the result is [N_Q]."""
    return _jacobian(_softmaxed(Q, X, scaled)).norm()


@gradient_through_softmax.alternative
def by_autograd(Q, X, scaled):
    norms = []
    for q in Q:
        e = X @ q / (math.sqrt(len(q)) if scaled else 1)
        norms.append(torch.autograd.functional.jacobian(lambda scores: scores.softmax(dim=-1), e).norm())
    return torch.stack(norms)


@gradient_through_softmax.alternative
def in_closed_form(Q, X, scaled):
    A = _softmaxed(Q, X, scaled)
    squares = A.square().sum(-1)
    return (squares - 2 * A.pow(3).sum(-1) + squares.square()).sqrt()


@gradient_through_softmax.alternative
def number_by_number(Q, X, scaled):
    norms = []
    for q in Q:
        e = torch.stack([q @ x for x in X])
        a = torch.softmax(e / Q.shape[1] ** 0.5 if scaled else e, dim=0)
        n = len(a)
        norms.append(sum((a[i] * (float(i == j) - a[j])) ** 2 for i in range(n) for j in range(n)) ** 0.5)
    return torch.stack(norms)


@gradient_through_softmax.alternative
def by_vmapped_jacobian(Q, X, scaled):
    E = Q @ X.T
    E = E / math.sqrt(Q.shape[-1]) if scaled else E
    jacobian = torch.func.vmap(torch.func.jacrev(lambda e: torch.softmax(e, dim=-1)))(E)
    return jacobian.flatten(start_dim=1).norm(dim=1)
