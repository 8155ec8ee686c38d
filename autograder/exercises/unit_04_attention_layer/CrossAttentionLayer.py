"""Exercise 6: cross-attention, with queries from one sequence and data from another."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED, SMALL, attend, declare_mechanics


@exercise(
    points=2,
    section="Cross-attention: two sequences",
    source="Vaswani et al. 2017, section 3.2.3",
    outputs="Y A",
    gradients="Y",
    formula="Q = S W_Q + b_Q, K = X W_K + b_K, V = X W_V + b_V, A = softmax(Q Kᵀ/√D_Q, dim=-1) [*B, N_Q, N_X], Y = A V",
    cases=[
        Case("a batch of pairs of sequences", expand={"*B": "B"}),
        Case("one pair of sequences", expand={"*B": ""}),
        Case("queries and keys of 64 features", expand={"*B": "B"}, sizes={"D_Q": 64}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}),
        Case("a single query", expand={"*B": "B"}, sizes={"N_Q": 1}),
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
        A = F.softmax(torch.matmul(Q, K.mT) * K.shape[-1] ** -0.5, dim=-1)
        return F.scaled_dot_product_attention(Q, K, V), A


declare_mechanics(CrossAttentionLayer, lambda self, S, X: (self.W_Q(S), self.W_K(X), self.W_V(X)))


@CrossAttentionLayer.misconception
def roles_of_the_sequences_swapped(self, S, X):
    """The layer W_Q is given X, which has another width. The sequence S provides the queries, and X provides the keys
    and values: Q = S W_Q + b_Q, K = X W_K + b_K, V = X W_V + b_V."""
    return attend(self.W_Q(X), self.W_K(S), self.W_V(S))


@CrossAttentionLayer.misconception
def keys_from_the_asking_sequence(self, S, X):
    """The keys are made from S, the sequence of the queries. Keys describe the data vectors that are attended to: K =
    X W_K + b_K."""
    return attend(self.W_Q(S), self.W_K(S), self.W_V(X))


@CrossAttentionLayer.misconception
def values_from_the_asking_sequence(self, S, X):
    """The values are made from S, the sequence of the queries. What is mixed comes from the data vectors that are
    attended to: V = X W_V + b_V."""
    return attend(self.W_Q(S), self.W_K(X), self.W_V(S))


@CrossAttentionLayer.misconception
def all_biases_dropped(self, S, X):
    """The biases are left out. Calling the layer, self.W_Q(S), adds its bias; a product with its weight alone does
    not."""
    return attend(S @ self.W_Q.weight.T, X @ self.W_K.weight.T, X @ self.W_V.weight.T)


@CrossAttentionLayer.misconception
def data_used_as_cross_values(self, S, X):
    """Y mixes the data X itself, and W_V is not used. The values V = X W_V + b_V are what is mixed, so Y is D_V
    wide."""
    _, A = attend(self.W_Q(S), self.W_K(X), self.W_V(X))
    return A @ X, A


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
    return attend(self.W_Q(S), K, V)


@CrossAttentionLayer.alternative
def without_the_key_bias(self, S, X):
    # q · b_K is the same for every key, so the softmax does not see it
    return attend(self.W_Q(S), X @ self.W_K.weight.T, self.W_V(X))


@CrossAttentionLayer.alternative
def values_projected_after_mixing(self, S, X):
    A = attend(self.W_Q(S), self.W_K(X), X)[1]
    return self.W_V(A @ X), A
