"""Exercise 8, a stretch: the gradients of scaled dot-product attention, by hand."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import SMALL

# leaves, what runs back from them, and forward mode
AUTOGRAD = (
    "requires_grad_",
    "requires_grad =",
    "backward",
    "make_dual",
)


@exercise(
    points=0,
    section="Why divide by √D?",
    source="Dao et al. 2022, FlashAttention, appendix B.2",
    outputs="dQ dK dV",
    formula="A = softmax(Q Kᵀ/√D_Q); dV = Aᵀ dY, dA = dY Vᵀ, dE = A ⊙ (dA − sum of dA ⊙ A along each row), dQ = dE K/√D_Q,"
    " dK = dEᵀ Q/√D_Q; dQ [*B, N_Q, D_Q], dK [*B, N_X, D_Q], dV [*B, N_X, D_V]",
    cases=[
        Case("a batch of sequences", expand={"*B": "B"}),
        Case("one sequence", expand={"*B": ""}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("a single query", expand={"*B": ""}, sizes={"N_Q": 1}),
    ],
    forbidden=AUTOGRAD,
    differentiable=False,
)
def attention_backward(
    Q: Float[Tensor, "*B N_Q D_Q"],
    K: Float[Tensor, "*B N_X D_Q"],
    V: Float[Tensor, "*B N_X D_V"],
    dY: Float[Tensor, "*B N_Q D_V"],
) -> tuple[Float[Tensor, "*B N_Q D_Q"], Float[Tensor, "*B N_X D_Q"], Float[Tensor, "*B N_X D_V"]]:
    A = torch.softmax(torch.einsum("...qd,...xd->...qx", Q, K) / math.sqrt(Q.shape[-1]), dim=-1)
    # the sums along the rows, from the outputs, as FlashAttention takes them
    D = (dY * (A @ V)).sum(dim=-1, keepdim=True)
    dS = A * (torch.einsum("...qv,...xv->...qx", dY, V) - D) / math.sqrt(Q.shape[-1])
    return dS @ K, torch.einsum("...qx,...qd->...xd", dS, Q), torch.einsum("...qx,...qv->...xv", A, dY)


def _weights(Q, K):
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)


def _to_scores(A, dA):
    return A * (dA - (dA * A).sum(dim=-1, keepdim=True))


def _backward(Q, K, V, dY, to_scores=_to_scores, weights=_weights):
    """The right way, but for one step."""
    A = weights(Q, K)
    dE = to_scores(A, dY @ V.mT) / math.sqrt(Q.shape[-1])
    return dE @ K, dE.mT @ Q, A.mT @ dY


@attention_backward.misconception
def softmax_passed_over(Q, K, V, dY):
    """dA was used as dE: the way back passes the softmax over. Each weight depends on all scores of its row, so
    dE = A ⊙ (dA − sum of dA ⊙ A along the row)."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: dA)


@attention_backward.misconception
def row_sum_left_out(Q, K, V, dY):
    """dE is A ⊙ dA here: the sum along the row is missing. It is the share of the other weights, which fall when one score
    rises: dE = A ⊙ (dA − sum of dA ⊙ A along the row)."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: A * dA)


@attention_backward.misconception
def diagonal_alone(Q, K, V, dY):
    """dE is A ⊙ (1 − A) ⊙ dA here: only the diagonal of the softmax's Jacobian counts. A score changes the other weights of
    its row, too, by −a_i a_j; with them dE = A ⊙ (dA − sum of dA ⊙ A along the row)."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: A * (1 - A) * dA)


@attention_backward.misconception
def row_sum_not_weighted(Q, K, V, dY):
    """The plain sum of dA along the row is subtracted. Each dA counts with its weight: sum of dA ⊙ A."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: A * (dA - dA.sum(dim=-1, keepdim=True)))


@attention_backward.misconception
def summed_over_queries(Q, K, V, dY):
    """The sum of dA ⊙ A runs over the queries. A softmax belongs to one query, so the sum runs along its row of N_X
    entries: dim=-1, keepdim=True."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: A * (dA - (dA * A).sum(dim=-2, keepdim=True)))


@attention_backward.misconception
def weights_not_multiplied(Q, K, V, dY):
    """dE is dA − sum of dA ⊙ A here: the factor A in front is missing. A score whose weight is 0 gets no gradient."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: dA - (dA * A).sum(dim=-1, keepdim=True))


@attention_backward.misconception
def bracket_left_out(Q, K, V, dY):
    """dE is A ⊙ dA − sum of dA ⊙ A here. The sum, too, is multiplied by A: dE = A ⊙ (dA − sum of dA ⊙ A along the row), so
    that each row of dE sums to 0."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: A * dA - (dA * A).sum(dim=-1, keepdim=True))


@attention_backward.misconception
def difference_turned_round(Q, K, V, dY):
    """dQ and dK have the opposite sign. In dE = A ⊙ (dA − sum of dA ⊙ A along the row) the sum is subtracted from dA."""
    return _backward(Q, K, V, dY, to_scores=lambda A, dA: -_to_scores(A, dA))


@attention_backward.misconception
def never_scaled(Q, K, V, dY):
    """√D_Q is nowhere: neither under the scores, from which A is computed, nor in dQ and dK."""
    A = (Q @ K.mT).softmax(dim=-1)
    dE = _to_scores(A, dY @ V.mT)
    return dE @ K, dE.mT @ Q, A.mT @ dY


@attention_backward.misconception
def weights_not_scaled(Q, K, V, dY):
    """A is the softmax of plain dot products: its scores were not divided by √D_Q. The way back needs the same A as the way
    forward: softmax(Q Kᵀ/√D_Q)."""
    return _backward(Q, K, V, dY, weights=lambda Q, K: (Q @ K.mT).softmax(dim=-1))


@attention_backward.misconception
def gradient_from_above_left_out(Q, K, V, dY):
    """dY makes no difference. These are the gradients of the sum of Y, as if dY were 1 everywhere; by the chain rule the way
    back begins with dY, the gradient of the loss."""
    return _backward(Q, K, V, torch.ones_like(dY))


@attention_backward.alternative
def with_whole_jacobians(Q, K, V, dY):
    A = torch.softmax(torch.einsum("...qd,...xd->...qx", Q, K) * Q.shape[-1] ** -0.5, dim=-1)
    J = torch.diag_embed(A) - A[..., :, None] * A[..., None, :]
    dE = torch.einsum("...qij,...qj->...qi", J, dY @ V.mT) * Q.shape[-1] ** -0.5
    return torch.einsum("...qx,...xd->...qd", dE, K), torch.einsum("...qx,...qd->...xd", dE, Q), A.mT @ dY


@attention_backward.alternative
def step_by_step(Q, K, V, dY):
    root = math.sqrt(Q.size(-1))
    A = torch.softmax(torch.matmul(Q, K.transpose(-2, -1)) / root, dim=-1)
    dA = torch.matmul(dY, V.transpose(-2, -1))
    dE = A * (dA - (dA * A).sum(-1, keepdim=True))
    return (
        torch.matmul(dE, K) / root,
        torch.matmul(dE.transpose(-2, -1), Q) / root,
        torch.matmul(A.transpose(-2, -1), dY),
    )


@attention_backward.alternative
def query_by_query(Q, K, V, dY):
    dQ, dK, dV = [], torch.zeros_like(K), torch.zeros_like(V)
    with torch.no_grad():
        for q, dy in zip(Q.unbind(dim=-2), dY.unbind(dim=-2)):
            a = (K @ q[..., None] / math.sqrt(q.shape[-1])).softmax(dim=-2)  # [*B, N_X, 1]
            da = V @ dy[..., None]
            de = a * (da - (a * da).sum(dim=-2, keepdim=True)) / math.sqrt(q.shape[-1])
            dQ.append((de * K).sum(dim=-2))
            dK, dV = dK + de * q[..., None, :], dV + a * dy[..., None, :]
    return torch.stack(dQ, dim=-2), dK, dV
