"""Exercise 5: an attention layer with a key matrix and a value matrix."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED, SMALL, attend, declare_mechanics


@exercise(
    points=3,
    section="Keys and values",
    source="Stanford CS231n, lecture 8, attention layers",
    outputs="Y A",
    gradients="Y",
    formula="K = X W_K [*B, N_X, D_Q], V = X W_V [*B, N_X, D_V], A = softmax(Q Kᵀ/√D_Q, dim=-1), Y = A V [*B, N_Q, D_V]",
    cases=[
        Case("a batch of sequences", expand={"*B": "B"}),
        Case("one sequence", expand={"*B": ""}),
        Case("keys of 64 features", expand={"*B": "B"}, sizes={"D_Q": 64}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}),
        Case("a single query", expand={"*B": "B"}, sizes={"N_Q": 1}),
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
        A = F.softmax(torch.matmul(Q, K.mT) * K.shape[-1] ** -0.5, dim=-1)
        return F.scaled_dot_product_attention(Q, K, V), A


declare_mechanics(AttentionLayer, lambda self, Q, X: (Q, self.W_K(X), self.W_V(X)))


@AttentionLayer.misconception
def scaled_by_data_width(self, Q, X):
    """The scores are divided by √D_X, the width of the data. The dot product runs over the features of queries and
    keys, which are D_Q wide; after the projection, the width of X no longer matters."""
    return attend(Q, self.W_K(X), self.W_V(X), divisor=math.sqrt(X.shape[-1]))


@AttentionLayer.misconception
def data_used_as_values(self, Q, X):
    """Y mixes the data X itself, and W_V is not used. The values V = X W_V [N_X, D_V] are what is mixed, so Y is D_V
    wide."""
    _, A = attend(Q, self.W_K(X), self.W_V(X))
    return A @ X, A


@AttentionLayer.misconception
def keys_used_as_values(self, Q, X):
    """Y mixes the keys. The keys decide how much each data vector counts; what is mixed are the values V = X W_V."""
    _, A = attend(Q, self.W_K(X), self.W_V(X))
    return A @ self.W_K(X), A


@AttentionLayer.misconception
def data_used_as_keys(self, Q, X):
    """The queries are compared with the data X itself, and W_K is not used. Queries are D_Q wide and X is D_X wide,
    so they fit together only after the projection K = X W_K."""
    A = (Q @ X.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return A @ self.W_V(X), A


@AttentionLayer.misconception
def values_used_as_keys(self, Q, X):
    """The queries are compared with the values, or keys and values have changed places. The scores come from queries
    and keys, Q Kᵀ with K = X W_K; the values V = X W_V are used only in Y = A V."""
    V = self.W_V(X)
    return attend(Q, V, V)


@AttentionLayer.misconception
def weight_not_transposed(self, Q, X):
    """X @ W_K.weight does not fit: nn.Linear stores its weight as [out, in]. Call the layer, self.W_K(X), or transpose the
    weight: X @ self.W_K.weight.T."""
    return attend(Q, X @ self.W_K.weight, X @ self.W_V.weight)


@AttentionLayer.misconception
def queries_projected_too(self, Q, X):
    """The queries are projected by W_K as well. In this layer the queries are given and already D_Q wide; only the
    data X are projected."""
    return attend(self.W_K(Q), self.W_K(X), self.W_V(X))


@AttentionLayer.misconception
def values_projected_from_keys(self, Q, X):
    """The values are computed from the keys, W_V(K). Both projections start from the data: K = X W_K and V = X
    W_V."""
    K = self.W_K(X)
    return attend(Q, K, self.W_V(K))


@AttentionLayer.alternative
def weights_applied_by_hand(self, Q, X):
    K, V = X @ self.W_K.weight.T, X @ self.W_V.weight.T
    A = torch.softmax(torch.einsum("...qd,...xd->...qx", Q, K) / math.sqrt(K.shape[-1]), dim=-1)
    return torch.einsum("...qx,...xv->...qv", A, V), A


@AttentionLayer.alternative
def one_fused_projection(self, Q, X):
    KV = F.linear(X, torch.cat([self.W_K.weight, self.W_V.weight]))
    K, V = KV.split([self.W_K.out_features, self.W_V.out_features], dim=-1)
    return attend(Q, K, V)


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
