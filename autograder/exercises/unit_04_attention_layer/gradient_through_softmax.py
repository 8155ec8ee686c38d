"""Exercise 7: the gradient through the softmax, with and without the scale."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

MEASURED = [
    Case("scores that are not scaled", values={"scaled": False}, scale={"Q": 0.5}, sizes={"N_X": 9}),
    Case("scaled scores", values={"scaled": True}, sizes={"N_X": 8}),
    Case("a single query", values={"scaled": True}, sizes={"N_Q": 1, "N_X": 7}),
    Case("64 features, not scaled", values={"scaled": False}, sizes={"D_Q": 64, "N_X": 9}, extreme=True, edge=True),
    Case("64 features, scaled", values={"scaled": True}, sizes={"D_Q": 64, "N_X": 10}),
]


@exercise(
    points=2,
    section="Why divide by √D?",
    source="Vaswani et al. 2017, footnote 4",
    outputs="g",
    formula="e = q·X_j (÷ √D_Q if scaled), a = softmax(e), J_ij = ∂a_i/∂e_j = a_i (δ_ij − a_j), g = √(Σ_ij J_ij²); g [N_Q]",
    cases=MEASURED,
    forbidden=FUSED,
    differentiable=False,
    waived={"scale": "a Jacobian of every query takes long; wide vectors have a case of their own"},
    equivalent={
        "norm(dim=1)": "there are two axes",
    },
)
def gradient_through_softmax(
    Q: Float[Tensor, "N_Q D_Q"], X: Float[Tensor, "N_X D_Q"], scaled: bool
) -> Float[Tensor, "N_Q"]:
    return _jacobian(_softmaxed(Q, X, scaled)).flatten(-2).norm(dim=-1)  # an alternative below leaves it to autograd


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
    """`scaled` is used the other way round: the scores are divided by √D_Q when it is False."""
    return _jacobian(_softmaxed(Q, X, not scaled)).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception
def measured_by_width(Q, X, scaled):
    """The scores are divided by D_Q, not by its square root."""
    A = (Q @ X.mT / (Q.shape[-1] if scaled else 1)).softmax(dim=-1)
    return _jacobian(A).flatten(1).norm(dim=1)


@gradient_through_softmax.misconception(universal=True)
def gradient_of_the_sum(Q, X, scaled):
    """This is the gradient of Σ_i a_i, which is 0 whatever the scores are, because the weights always sum to 1. Each
    weight a_i has a gradient of its own; together these gradients are the Jacobian."""
    E = (Q @ X.mT / (math.sqrt(Q.shape[-1]) if scaled else 1)).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(E.softmax(dim=-1).sum(), E)
    return gradient.norm(dim=-1)


@gradient_through_softmax.misconception
def diagonal_alone(Q, X, scaled):
    """Only the diagonal a_i (1 − a_i) is counted. A change of one score changes all the other weights, too: the
    entries off the diagonal are −a_i a_j."""
    A = _softmaxed(Q, X, scaled)
    return (A * (1 - A)).norm(dim=-1)


@gradient_through_softmax.misconception
def diagonal_summed(Q, X, scaled):
    """This is Σ_i a_i (1 − a_i), the lesson's "remaining gradient", which is the sum of the diagonal of J alone. Here all
    entries count, including −a_i a_j off the diagonal: g is the root of the sum of their squares."""
    A = _softmaxed(Q, X, scaled)
    return (A * (1 - A)).sum(dim=-1)


@gradient_through_softmax.misconception
def diagonal_taken_instead_of_made(Q, X, scaled):
    """torch.diag of a matrix takes its diagonal; of a vector it makes a matrix. To get one matrix for each query, use
    torch.diag_embed(A), which is [N_Q, N_X, N_X]."""
    A = _softmaxed(Q, X, scaled)
    return (torch.diag(A) - A @ A.T).norm(dim=-1)


@gradient_through_softmax.misconception
def outer_product_forgotten(Q, X, scaled):
    """The term −a_i a_j is missing: this is the norm of a itself, or of diag(a)."""
    return _softmaxed(Q, X, scaled).norm(dim=-1)


@gradient_through_softmax.misconception
def outer_product_added(Q, X, scaled):
    """The term a_i a_j is added, but it should be subtracted. A higher score of one data vector leaves less weight
    for the others."""
    A = _softmaxed(Q, X, scaled)
    return (torch.diag_embed(A) + A[:, :, None] * A[:, None, :]).flatten(1).norm(dim=1)


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
    """The result is one number, the mean over the queries. Return one number for each query; the plot below computes
    the median over them."""
    return _jacobian(_softmaxed(Q, X, scaled)).flatten(1).norm(dim=1).mean()


@gradient_through_softmax.misconception
def one_norm_for_all(Q, X, scaled):
    """This is one norm for all queries together. Each query has its own Jacobian and its own norm: the result is
    [N_Q]."""
    return _jacobian(_softmaxed(Q, X, scaled)).norm()


@gradient_through_softmax.alternative
def as_matrix_norms(Q, X, scaled):
    A = _softmaxed(Q, X, scaled)
    return torch.linalg.matrix_norm(torch.diag_embed(A) - A.unsqueeze(-1) * A.unsqueeze(-2))


@gradient_through_softmax.alternative
def by_autograd(Q, X, scaled):
    norms = []
    for q in Q:
        e = X @ q / (math.sqrt(len(q)) if scaled else 1)
        norms.append(torch.autograd.functional.jacobian(lambda scores: scores.softmax(dim=-1), e).norm())
    return torch.stack(norms)


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
