"""Exercise 1: queries, keys and values from one sequence."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families import attention
from autograder.bank.families.attention import FUSED, SMALL, attend, declare_mechanics


@exercise(
    points=3,
    section="Self-attention: every token attends to every token",
    source="Vaswani et al. 2017, section 3.2; Stanford CS231n, lecture 8, attention layers",
    outputs="Y A",
    gradients="Y",
    formula="Q = X W_Q, K = X W_K [*B, N, D_Q], V = X W_V [*B, N, D_V], A = softmax(Q Kᵀ/√D_Q, dim=-1) [*B, N, N], Y = A V",
    cases=[
        Case("a batch of sequences", expand={"*B": "B"}),
        Case("one sequence", expand={"*B": ""}),
        Case("queries of 64 features", expand={"*B": "B"}, sizes={"D_Q": 64}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}),
        Case("a sequence of one vector", expand={"*B": "B"}, sizes={"N": 1}),
    ],
    forbidden=FUSED,
)
class SelfAttentionLayer(nn.Module):
    def __init__(self, D: int, D_Q: int, D_V: int):
        super().__init__()
        self.W_Q = nn.Linear(D, D_Q, bias=False)
        self.W_K = nn.Linear(D, D_Q, bias=False)
        self.W_V = nn.Linear(D, D_V, bias=False)

    def forward(self, X: Float[Tensor, "*B N D"]) -> tuple[Float[Tensor, "*B N D_V"], Float[Tensor, "*B N N"]]:
        Q, K, V = self.W_Q(X), self.W_K(X), self.W_V(X)
        A = F.softmax(torch.matmul(Q, K.transpose(-2, -1)) * K.shape[-1] ** -0.5, dim=-1)
        return F.scaled_dot_product_attention(Q, K, V), A


declare_mechanics(
    SelfAttentionLayer,
    lambda self, X: (self.W_Q(X), self.W_K(X), self.W_V(X)),
    leave_out=(attention.divided_by_root_of_queries,),  # queries and data are equally many here
    words=(
        (
            "A comes as [N_X, N_Q]. Row i belongs to query i, and column j to data vector j: A is [N_Q, N_X].",
            "A comes transposed: its row i holds what all queries give to key i. Row i belongs to query i, and sums to 1.",
        ),
        ("N_X", "N"),
        ("N_Q", "N"),
        ("data\n    vectors", "vectors"),
        ("data vectors", "vectors"),
        ("Q @ K (or Q @ X)", "Q @ K"),
    ),
)


@SelfAttentionLayer.misconception
def scaled_by_data_width(self, X):
    """The scores are divided by √D, the width of X. The dot product runs over queries and keys, both D_Q wide; X is no longer
    part of it once it has been projected."""
    return attend(self.W_Q(X), self.W_K(X), self.W_V(X), divisor=math.sqrt(X.shape[-1]))


@SelfAttentionLayer.misconception
def nothing_projected_for_the_scores(self, X):
    """X is compared with itself, X Xᵀ; W_Q and W_K are not used. Each vector would then look mostly at itself: what it asks
    for and what it offers are two things, Q = X W_Q and K = X W_K."""
    A = (X @ X.mT / math.sqrt(X.shape[-1])).softmax(dim=-1)
    return A @ self.W_V(X), A


@SelfAttentionLayer.misconception
def data_used_as_values(self, X):
    """Y mixes the data X itself; W_V is not used. The values V = X W_V [N, D_V] are what is mixed, so Y is D_V wide."""
    _, A = attend(self.W_Q(X), self.W_K(X), self.W_V(X))
    return A @ X, A


@SelfAttentionLayer.misconception
def keys_used_as_values(self, X):
    """Y mixes the keys. Keys decide how much each vector counts; what is mixed are the values V = X W_V."""
    _, A = attend(self.W_Q(X), self.W_K(X), self.W_V(X))
    return A @ self.W_K(X), A


@SelfAttentionLayer.misconception
def weights_transposed_in_the_sum(self, X):
    """The values are mixed with Aᵀ. Row n of A holds the weights of query n, so that Y = A V."""
    _, A = attend(self.W_Q(X), self.W_K(X), self.W_V(X))
    return A.mT @ self.W_V(X), A


@SelfAttentionLayer.misconception
def weight_not_transposed(self, X):
    """X @ W_Q.weight does not fit: nn.Linear stores its weight as [out, in]. Call the layer, self.W_Q(X), or transpose the
    weight: X @ self.W_Q.weight.T."""
    return attend(X @ self.W_Q.weight, X @ self.W_K.weight, X @ self.W_V.weight)


@SelfAttentionLayer.alternative
def one_fused_projection(self, X):
    QKV = F.linear(X, torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight]))
    return attend(*QKV.split([self.W_Q.out_features, self.W_K.out_features, self.W_V.out_features], dim=-1))


@SelfAttentionLayer.alternative
def by_einsum(self, X):
    E = torch.einsum("...nd,...md->...nm", self.W_Q(X), self.W_K(X)) / self.W_Q.out_features**0.5
    A = torch.softmax(E, dim=-1)
    return torch.einsum("...nm,...mv->...nv", A, self.W_V(X)), A


@SelfAttentionLayer.alternative
def query_by_query(self, X):
    K, V = self.W_K(X), self.W_V(X)
    rows = []
    for n in range(X.shape[-2]):
        q = self.W_Q(X[..., n, :])
        rows.append(((K * q[..., None, :]).sum(dim=-1) / math.sqrt(q.shape[-1])).softmax(dim=-1))
    A = torch.stack(rows, dim=-2)
    return A @ V, A


@SelfAttentionLayer.alternative
def matrices_folded(self, X):
    bilinear = self.W_Q.weight.T @ self.W_K.weight  # [D, D]
    A = (X @ bilinear @ X.mT / math.sqrt(self.W_Q.out_features)).softmax(dim=-1)
    return self.W_V(A @ X), A
