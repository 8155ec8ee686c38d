"""Exercise 4: many queries, scaled and batched."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED, SMALL, declare_mechanics

BATCHED = [
    Case("one sequence", expand={"*B": ""}, part="one sequence"),
    Case("a batch of sequences", expand={"*B": "B"}, part="a batch"),
    Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL, part="a batch"),
    Case("a batch of one", expand={"*B": "B"}, sizes={"B": 1}, part="a batch"),
    Case("a single query", expand={"*B": ""}, sizes={"N_Q": 1}, part="one sequence"),
    Case("64 features, where the scale matters most", expand={"*B": ""}, sizes={"D_Q": 64}, part="one sequence"),
]


@exercise(
    points={"one sequence": 2, "a batch": 1},
    section="Many queries at once",
    source="Vaswani et al. 2017, equation 1",
    outputs="Y A",
    gradients="Y",
    formula="E = Q Xᵀ/√D_Q [*B, N_Q, N_X], A = softmax(E, dim=-1), Y = A X [*B, N_Q, D_Q]; *B: any leading axes, or none",
    cases=BATCHED,
    forbidden=FUSED,
)
def scaled_dot_product_attention(
    Q: Float[Tensor, "*B N_Q D_Q"], X: Float[Tensor, "*B N_X D_Q"]
) -> tuple[Float[Tensor, "*B N_Q D_Q"], Float[Tensor, "*B N_Q N_X"]]:
    A = F.softmax(torch.matmul(Q, X.mT) * Q.shape[-1] ** -0.5, dim=-1)
    return F.scaled_dot_product_attention(Q, X, X), A


declare_mechanics(scaled_dot_product_attention, lambda Q, X: (Q, X, X))


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
