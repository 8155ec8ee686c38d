"""Exercise 5: context vectors."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import exercise
from autograder.bank.families.attention import FUSED
from autograder.exercises.unit_02_bahdanau_attention._shared import score_cases


def _drawn(inputs, sizes, rng):
    powers = np.exp(inputs["A"])
    return {"A": (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)}


@exercise(
    points=1,
    section="A context vector for every output token",
    source="Bahdanau, Cho and Bengio 2015, equation 5",
    outputs="C",
    formula="c_t = Σ_i A_ti h_i, with A [*B, T_y, T_x] and H [*B, T_x, D_H] gives C [*B, T_y, D_H]",
    cases=score_cases(),
    forbidden=FUSED,
    draws=_drawn,
)
def context_vectors(A: Float[Tensor, "*B T_y T_x"], H: Float[Tensor, "*B T_x D_H"]) -> Float[Tensor, "*B T_y D_H"]:
    return torch.einsum("...tx,...xd->...td", A, H)


@context_vectors.misconception
def plain_mean(A, H):
    """Every context vector is the plain mean of the encoder states: the weights were not used."""
    return H.mean(dim=-2, keepdim=True).expand(*A.shape[:-1], H.shape[-1])


@context_vectors.misconception
def plain_sum(A, H):
    """Every context vector is the plain sum of the encoder states: the weights were not used."""
    return H.sum(dim=-2, keepdim=True).expand(*A.shape[:-1], H.shape[-1])


@context_vectors.misconception
def most_weighted_state(A, H):
    """Each context vector is the one encoder state with the largest weight. Attention mixes: every state counts by its
    weight."""
    return F.one_hot(A.argmax(dim=-1), A.shape[-1]).to(H.dtype) @ H


@context_vectors.misconception
def divided_by_the_length(A, H):
    """The sum is divided by T_x. The weights sum to 1 already, so the weighted sum is an average as it is."""
    return A @ H / H.shape[-2]


@context_vectors.misconception
def softmax_once_more(A, H):
    """A softmax is applied to the weights once more, which makes them nearly equal. Use the weights as they are."""
    return A.softmax(dim=-1) @ H


@context_vectors.misconception
def weights_of_one_step(A, H):
    """Every context vector uses the weights of one decoder step. Row t of A belongs to step t."""
    return (A[..., :1, :] @ H).expand(*A.shape[:-1], H.shape[-1])


@context_vectors.misconception
def weights_in_reverse(A, H):
    """The weights meet the encoder states in reverse order. The weight A_ti belongs to h_i, with the same i."""
    return A.flip(-1) @ H


@context_vectors.misconception
def weights_turned_round(A, H):
    """A is transposed, or the wrong axes meet. The sum runs over the T_x encoder states, which are the last axis of A
    and the second-to-last axis of H: A @ H."""
    return A.mT @ H


@context_vectors.misconception
def not_summed(A, H):
    """The weighted states are there, but not summed: the context vector of a step is one vector, the sum over the T_x
    states."""
    return A.unsqueeze(-1) * H.unsqueeze(-3)


@context_vectors.misconception
def steps_summed_too(A, H):
    """The context vectors of all steps are added up into one. Each decoder step has its own context vector."""
    return (A @ H).sum(dim=-2)


@context_vectors.alternative
def one_product(A, H):
    return A @ H


@context_vectors.alternative
def step_by_step(A, H):
    return torch.stack([(A[..., t, :, None] * H).sum(dim=-2) for t in range(A.shape[-2])], dim=-2)


@context_vectors.alternative
def state_by_state(A, H):
    total = torch.zeros(*A.shape[:-1], H.shape[-1], dtype=H.dtype, device=H.device)
    for i in range(H.shape[-2]):
        total = total + A[..., i, None] * H[..., i, :].unsqueeze(-2)
    return total


@context_vectors.alternative
def as_a_batch(A, H):
    flat = torch.bmm(A.reshape(-1, *A.shape[-2:]), H.reshape(-1, *H.shape[-2:]))
    return flat.reshape(*A.shape[:-1], H.shape[-1])
