"""Exercise 1: self-attention with positional encodings in queries and keys, and not in the values."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families import attention
from autograder.bank.families.attention import FUSED, SMALL, attend, declare_mechanics

PLAIN, TOLD = "without positions", "with positions"
ALONE = {"P": None}


@exercise(
    points={PLAIN: 1, TOLD: 2},
    section={
        PLAIN: "Self-attention: every token attends to every token",
        TOLD: "What a positional encoding should be",
    },
    source="Vaswani et al. 2017, section 3.2; Carion et al. 2020, DETR, appendix A.3",
    outputs="Y A",
    gradients="Y",
    formula="Q = (X + P) W_Q, K = (X + P) W_K [*B, N, D_Q], V = X W_V [*B, N, D_V], A = softmax(Q Kᵀ/√D_Q, dim=-1) [*B, N, N],"
    " Y = A V; without P, Q = X W_Q and K = X W_K",
    cases=[
        Case("a batch of sequences", expand={"*B": "B"}, values=ALONE, part=PLAIN),
        Case("one sequence", expand={"*B": ""}, values=ALONE, part=PLAIN),
        Case("queries of 64 features", expand={"*B": "B"}, values=ALONE, sizes={"D_Q": 64}, part=PLAIN),
        Case("a sequence of one vector", expand={"*B": "B"}, values=ALONE, sizes={"N": 1}, part=PLAIN),
        Case("a batch of sequences and their positions", expand={"*B": "B"}, part=TOLD),
        Case("one sequence and its positions", expand={"*B": ""}, part=TOLD),
        Case("two batch axes and positions", expand={"*B": "B_1 B_2"}, sizes=SMALL, part=TOLD),
        Case("a batch of one, with positions", expand={"*B": "B"}, sizes={"B": 1}, part=TOLD),
    ],
    forbidden=FUSED,
)
class SelfAttentionLayer(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)

    def forward(
        self, X: Float[Tensor, "*B N D"], P: Float[Tensor, "N D"] | None = None
    ) -> tuple[Float[Tensor, "*B N D_V"], Float[Tensor, "*B N N"]]:
        located = X if P is None else X + P
        Q, K, V = self.W_Q(located), self.W_K(located), self.W_V(X)
        A = F.softmax(torch.matmul(Q, K.mT) * K.shape[-1] ** -0.5, dim=-1)
        return F.scaled_dot_product_attention(Q, K, V), A


def _located(X, P):
    return X if P is None else X + P


def _projected(self, X, P=None):
    return self.W_Q(_located(X, P)), self.W_K(_located(X, P)), self.W_V(X)


declare_mechanics(
    SelfAttentionLayer,
    _projected,
    leave_out=(attention.divided_by_root_of_queries,),  # queries and data are equally many here
    words=(
        (
            "A comes as [N_X, N_Q]. Row i belongs to query i, and column j to data vector j: A is [N_Q, N_X].",
            "A comes transposed: its row m holds the weights that all queries give to key m. Row m belongs to query m.",
        ),
        ("N_X", "N"),
        ("N_Q", "N"),
        ("data\n    vectors", "vectors"),
        ("data vectors", "vectors"),
        ("Q @ K (or Q @ X)", "Q @ K"),
    ),
)


@SelfAttentionLayer.misconception
def positions_ignored(self, X, P=None):
    """P has no effect: the scores are those of X alone. Where P is given, queries and keys are made from X + P."""
    return attend(self.W_Q(X), self.W_K(X), self.W_V(X))


@SelfAttentionLayer.misconception
def positions_in_the_values_too(self, X, P=None):
    """The values depend on P, too: V is made from X + P. Positions should only influence which vectors are attended
    to; the values are V = X W_V, without P."""
    return attend(self.W_Q(_located(X, P)), self.W_K(_located(X, P)), self.W_V(_located(X, P)))


@SelfAttentionLayer.misconception
def positions_in_the_queries_alone(self, X, P=None):
    """Only the queries depend on P. Then the scores depend on the position of the query, but not on that of the key:
    make the keys from X + P, too."""
    return attend(self.W_Q(_located(X, P)), self.W_K(X), self.W_V(X))


@SelfAttentionLayer.misconception
def positions_in_the_keys_alone(self, X, P=None):
    """Only the keys depend on P. Then the scores depend on the position of the key, but not on that of the query:
    make the queries from X + P, too."""
    return attend(self.W_Q(X), self.W_K(_located(X, P)), self.W_V(X))


@SelfAttentionLayer.misconception
def positions_in_the_values_alone(self, X, P=None):
    """Only the values depend on P. It should be the other way round: queries and keys are made from X + P, values
    from X."""
    return attend(self.W_Q(X), self.W_K(X), self.W_V(_located(X, P)))


@SelfAttentionLayer.misconception
def positions_in_place_of_the_vectors(self, X, P=None):
    """Where P is given, queries and keys are made from P alone, so the weights no longer depend on X. Add P to X."""
    located = X if P is None else P.expand_as(X)
    return attend(self.W_Q(located), self.W_K(located), self.W_V(X))


@SelfAttentionLayer.misconception
def positions_scored_apart(self, X, P=None):
    """The scores are those of X with X plus those of P with P. The two terms between them are missing, X with P and P
    with X: queries and keys are made from the sum X + P."""
    E = self.W_Q(X) @ self.W_K(X).mT
    if P is not None:
        E = E + self.W_Q(P) @ self.W_K(P).mT
    A = (E / math.sqrt(self.W_Q.out_features)).softmax(dim=-1)
    return A @ self.W_V(X), A


@SelfAttentionLayer.misconception
def positions_multiplied(self, X, P=None):
    """X is multiplied by P, number by number. A positional encoding is added: X + P."""
    located = X if P is None else X * P
    return attend(self.W_Q(located), self.W_K(located), self.W_V(X))


@SelfAttentionLayer.misconception
def scaled_by_data_width(self, X, P=None):
    """The scores are divided by √D, the width of X. The dot product runs over the features of queries and keys, which
    are D_Q wide; after the projection, the width of X no longer matters."""
    return attend(*_projected(self, X, P), divisor=math.sqrt(X.shape[-1]))


@SelfAttentionLayer.misconception
def nothing_projected_for_the_scores(self, X, P=None):
    """The vectors are compared as they are, and W_Q and W_K are not used. Then each vector would attend mostly to
    itself. What a token looks for and what it offers are two things: queries are made with W_Q, keys with W_K."""
    located = _located(X, P)
    A = (located @ located.mT / math.sqrt(X.shape[-1])).softmax(dim=-1)
    return A @ self.W_V(X), A


@SelfAttentionLayer.misconception
def data_used_as_values(self, X, P=None):
    """Y mixes the data X itself, and W_V is not used. The values V = X W_V [N, D_V] are what is mixed, so Y is D_V
    wide."""
    _, A = attend(*_projected(self, X, P))
    return A @ X, A


@SelfAttentionLayer.misconception
def keys_used_as_values(self, X, P=None):
    """Y mixes the keys. The keys decide how much each vector counts; what is mixed are the values V = X W_V."""
    Q, K, _ = _projected(self, X, P)
    return attend(Q, K, K)


@SelfAttentionLayer.misconception
def weights_transposed_in_the_sum(self, X, P=None):
    """The values are mixed with Aᵀ. Row m of A holds the weights of query m, so Y = A V."""
    _, A = attend(*_projected(self, X, P))
    return A.mT @ self.W_V(X), A


@SelfAttentionLayer.misconception
def weight_not_transposed(self, X, P=None):
    """X @ W_Q.weight does not fit: nn.Linear stores its weight as [out, in]. Call the layer, self.W_Q(X), or transpose the
    weight: X @ self.W_Q.weight.T."""
    located = _located(X, P)
    return attend(located @ self.W_Q.weight, located @ self.W_K.weight, X @ self.W_V.weight)


@SelfAttentionLayer.alternative
def one_fused_projection(self, X, P=None):
    QK = F.linear(_located(X, P), torch.cat([self.W_Q.weight, self.W_K.weight]))
    return attend(*QK.chunk(2, dim=-1), self.W_V(X))


@SelfAttentionLayer.alternative
def by_einsum(self, X, P=None):
    Q, K, V = _projected(self, X, P)
    A = torch.softmax(torch.einsum("...nd,...md->...nm", Q, K) / self.W_Q.out_features**0.5, dim=-1)
    return torch.einsum("...nm,...mv->...nv", A, V), A


@SelfAttentionLayer.alternative
def query_by_query(self, X, P=None):
    Q, K, V = _projected(self, X, P)
    rows = []
    for n in range(X.shape[-2]):
        q = Q[..., n, :]
        rows.append(((K * q[..., None, :]).sum(dim=-1) / math.sqrt(q.shape[-1])).softmax(dim=-1))
    A = torch.stack(rows, dim=-2)
    return A @ V, A


@SelfAttentionLayer.alternative
def projected_apart_and_added(self, X, P=None):
    Q, K = self.W_Q(X), self.W_K(X)
    if P is not None:
        Q, K = Q + self.W_Q(P), K + self.W_K(P)
    return attend(Q, K, self.W_V(X))


@SelfAttentionLayer.alternative
def four_terms(self, X, P=None):
    P = torch.zeros_like(X) if P is None else P
    M = self.W_Q.weight.T @ self.W_K.weight / math.sqrt(self.W_Q.out_features)  # [D, D]
    A = (X @ M @ X.mT + X @ M @ P.mT + P @ M @ X.mT + P @ M @ P.mT).softmax(dim=-1)
    return A @ self.W_V(X), A


@SelfAttentionLayer.alternative
def matrices_folded(self, X, P=None):
    located = _located(X, P)
    bilinear = self.W_Q.weight.T @ self.W_K.weight  # [D, D]
    A = (located @ bilinear @ located.mT / math.sqrt(self.W_Q.out_features)).softmax(dim=-1)
    return self.W_V(A @ X), A
