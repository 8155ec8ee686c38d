"""Exercise 5: linear attention."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

TABLE = ("N_Q", "N_X")
# the table is several times as much as any way through the features makes
LONG = {
    "N_Q": 230,
    "N_X": 240,
    "D_Q": 3,
    "D_V": 4,
}


@exercise(
    points=3,
    section="Linear attention",
    source="Katharopoulos et al. 2020, equations 4 to 7",
    outputs="Y",
    formula="φ(x) = elu(x) + 1, Y = φ(Q) (φ(K)ᵀ V) / (φ(Q) · sum of φ(K) over the data vectors); φ(K)ᵀ V [*B, D_Q, D_V] first, so"
    " that nothing on the way is as large as N_Q × N_X, neither at once nor in pieces; Y [*B, N_Q, D_V]",
    cases=[
        Case("a batch", expand={"*B": "B"}),
        Case("one sequence", expand={"*B": ""}),
        Case("heads and a batch", expand={"*B": "B H"}, sizes={"B": 3, "H": 2}),
        Case("long sequences", expand={"*B": ""}, sizes=LONG, bounds={"largest": TABLE, "made": TABLE}),
        Case("a single query", expand={"*B": "B"}, sizes={"N_Q": 1}),
        Case("large features", expand={"*B": ""}, scale={"Q": 4.0, "K": 4.0}),
    ],
    forbidden=FUSED,
    waived=dict.fromkeys(
        ("large", "saturation"), "φ of numbers far below 0 underflows, and 0/0 has no value and no gradient"
    ),
    equivalent={
        "torch.where(K >= 0, K + 1, K.exp()))": "at 0 both are 1, and so are their slopes",
        "torch.where(Q >= 0, Q + 1, Q.exp()), torch.where(K > 0, K + 1, K.exp()))": "at 0 both are 1, and so are their slopes",
    },
)
def linear_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], K: Float[Tensor, "*B N_X D_Q"], V: Float[Tensor, "*B N_X D_V"]
) -> Float[Tensor, "*B N_Q D_V"]:
    similarity = torch.einsum(
        "...qd,...xd->...qx", torch.where(Q > 0, Q + 1, Q.exp()), torch.where(K > 0, K + 1, K.exp())
    )
    return torch.matmul(similarity / similarity.sum(dim=-1, keepdim=True), V)  # the slow way, which is easy to trust


def _feature(x):
    return F.elu(x) + 1


def _linear(Q, K, V, feature=_feature, normalise=True):
    Q, K = feature(Q), feature(K)
    Y = Q @ (K.mT @ V)
    return Y / (Q @ K.sum(dim=-2)[..., None]) if normalise else Y


@linear_attention.misconception
def without_the_one(Q, K, V):
    """φ is elu(x), without + 1. Then similarities may be negative, and their sum may be 0. With + 1 all are positive."""
    return _linear(Q, K, V, feature=F.elu)


@linear_attention.misconception
def one_missing_on_the_keys(Q, K, V):
    """The + 1 is missing on the keys: there φ is elu(x) alone. Keys and queries go through the same φ(x) = elu(x) + 1."""
    q, k = _feature(Q), F.elu(K)
    return q @ (k.mT @ V) / (q @ k.sum(dim=-2)[..., None])


@linear_attention.misconception
def one_missing_on_the_queries(Q, K, V):
    """The + 1 is missing on the queries: there φ is elu(x) alone. Queries and keys go through the same φ(x) = elu(x) + 1."""
    q, k = F.elu(Q), _feature(K)
    return q @ (k.mT @ V) / (q @ k.sum(dim=-2)[..., None])


@linear_attention.misconception
def feature_of_the_product(Q, K, V):
    """φ was applied to the products Q Kᵀ. It is applied to queries and keys before, each for itself; then no table of N_Q × N_X
    is needed."""
    A = _feature(Q @ K.mT)
    return (A / A.sum(dim=-1, keepdim=True)) @ V


@linear_attention.misconception
def one_inside(Q, K, V):
    """The 1 is added inside: elu(x + 1). It is added to what elu gives: φ(x) = elu(x) + 1."""
    return _linear(Q, K, V, feature=lambda x: F.elu(x + 1))


@linear_attention.misconception
def relu_as_feature(Q, K, V):
    """φ is relu. It has no gradient below 0 and may be 0 everywhere; here φ(x) = elu(x) + 1."""
    return _linear(Q, K, V, feature=torch.relu)


@linear_attention.misconception
def exponential_as_feature(Q, K, V):
    """φ is the exponential of each feature. Here φ(x) = elu(x) + 1, which is exp(x) below 0 and x + 1 above."""
    return _linear(Q, K, V, feature=torch.exp)


@linear_attention.misconception
def no_feature_map(Q, K, V):
    """Queries and keys are used as they are. φ(x) = elu(x) + 1 makes all features positive, so that the weights are shares."""
    return _linear(Q, K, V, feature=lambda x: x)


@linear_attention.misconception
def keys_alone_mapped(Q, K, V):
    """φ was applied to the keys alone. The queries go through it as well."""
    Q, K = Q, _feature(K)
    return Q @ (K.mT @ V) / (Q @ K.sum(dim=-2)[..., None])


@linear_attention.misconception
def queries_alone_mapped(Q, K, V):
    """φ was applied to the queries alone. The keys go through it as well."""
    Q = _feature(Q)
    return Q @ (K.mT @ V) / (Q @ K.sum(dim=-2)[..., None])


@linear_attention.misconception
def values_mapped_too(Q, K, V):
    """φ was applied to the values as well. Apply it to queries and keys alone: the values are mixed as they are."""
    return _linear(Q, K, _feature(V))


@linear_attention.misconception
def scaled_by_root(Q, K, V):
    """The similarities were divided by √D_Q before φ. There is no exponential here that could saturate, and so no scale."""
    return _linear(Q / math.sqrt(Q.shape[-1]), K / math.sqrt(Q.shape[-1]), V)


@linear_attention.misconception
def softmax_without_a_scale(Q, K, V):
    """This is attention with a softmax, softmax(Q Kᵀ) V. Linear attention has none: the similarity is φ(q) · φ(k), and the
    products are taken in another order."""
    return (Q @ K.mT).softmax(dim=-1) @ V


@linear_attention.misconception
def softmax_attention(Q, K, V):
    """This is attention with a softmax. Linear attention has none: the similarity is φ(q) · φ(k), and the products are taken in
    another order."""
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V


@linear_attention.misconception
def softmax_of_similarities(Q, K, V):
    """The similarities φ(q) · φ(k) went through a softmax. They are positive already: divide them by their sum, which needs no
    table of N_Q × N_X."""
    return (_feature(Q) @ _feature(K).mT).softmax(dim=-1) @ V


@linear_attention.misconception
def table_in_pieces(Q, K, V):
    """The numbers are right, but each query still meets each key: φ(Q) φ(K)ᵀ is made in pieces, or row by row. That spares the
    memory and not the work, which grows as N_Q · N_X. The other order spares both: φ(K)ᵀ V first, [D_Q, D_V]."""
    pieces = []
    for q in _feature(Q).split(16, dim=-2):
        similarity = q @ _feature(K).mT
        pieces.append(similarity @ V / similarity.sum(dim=-1, keepdim=True))
    return torch.cat(pieces, dim=-2)


@linear_attention.misconception
def keys_divided_by_their_sum(Q, K, V):
    """Each feature of the keys was divided by its own sum over the data vectors. The weights of a query then sum to the sum of
    φ(q), not to 1: divide the result by φ(Q) · Σ φ(K)."""
    K = _feature(K)
    return _feature(Q) @ ((K / K.sum(dim=-2, keepdim=True)).mT @ V)


@linear_attention.misconception
def mean_of_the_keys(Q, K, V):
    """The result is N_X times too large: the denominator is a mean over the data vectors, and the numerator is a sum. Take
    sums in both."""
    return _linear(Q, K, V) * K.shape[-2]


@linear_attention.misconception
def softmax_over_the_data(Q, K, V):
    """The queries went through a softmax over their features, the keys through one over the data vectors. That is another linear
    attention; here φ(x) = elu(x) + 1 for both, and a division."""
    return Q.softmax(dim=-1) @ (K.softmax(dim=-2).mT @ V)


@linear_attention.misconception
def softmax_on_features(Q, K, V):
    """Queries and keys went through softmaxes over their features. That is another linear attention; here φ(x) = elu(x) + 1."""
    return _linear(Q, K, V, feature=lambda x: x.softmax(dim=-1))


@linear_attention.misconception
def normalised_over_queries(Q, K, V):
    """The division is by φ(K) · Σ φ(Q), or along the wrong axis: the weights sum to 1 over the queries. Each query's weights sum
    to 1 over the data vectors."""
    A = _feature(Q) @ _feature(K).mT
    return (A / A.sum(dim=-2, keepdim=True)) @ V


@linear_attention.alternative
def by_einsum(Q, K, V):
    q, k = F.elu(Q) + 1, F.elu(K) + 1
    state, total = torch.einsum("...xd,...xv->...dv", k, V), k.sum(dim=-2)
    return torch.einsum("...qd,...dv->...qv", q, state) / torch.einsum("...qd,...d->...q", q, total).unsqueeze(-1)


@linear_attention.alternative
def ones_beside_the_values(Q, K, V):
    q, k = torch.where(Q > 0, Q + 1, Q.clamp(max=0).exp()), torch.where(K > 0, K + 1, K.clamp(max=0).exp())
    both = q @ (k.mT @ torch.cat([V, torch.ones_like(V[..., :1])], dim=-1))
    return both[..., :-1] / both[..., -1:]


@linear_attention.alternative
def vector_by_vector(Q, K, V):
    q, k = F.elu(Q) + 1, F.elu(K) + 1
    state, total = 0, 0
    for x in range(K.shape[-2]):
        state = state + k[..., x, :, None] * V[..., x, None, :]
        total = total + k[..., x, :]
    return q @ state / (q * total[..., None, :]).sum(dim=-1, keepdim=True)
