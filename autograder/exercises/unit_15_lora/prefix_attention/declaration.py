"""Exercise: causal self-attention with learned keys and values in front, as prefix tuning has it."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

MANY = {"B": 2, "H": 3, "N": 9, "P": 4}  # rows in which one key takes nearly all: each mistake shows in some of them


def _future_far_above(inputs, rng):
    """The last key has scores that leave nothing to the others, wherever it is not hidden."""
    inputs["Q"][..., 0] = 1 + np.abs(inputs["Q"][..., 0])
    inputs["K"][..., -1, 0] = 400


def _far_below(inputs, rng):
    """All scores lie below −10⁹, so that a number of that size hides nothing."""
    inputs["Q"][..., 0] = 3e5
    for name in ("K", "P_K"):
        inputs[name][..., 0] = -3e5 * rng.uniform(1, 2, inputs[name].shape[:-1])


def _case(text, scale=None, edit=None, extreme=False, edge=False, **sizes):
    """Batch and heads are always given: with hundreds of tokens, A would be too large for many of them."""
    return Case(text, sizes=sizes, scale=scale or {}, edit=edit, extreme=extreme, edge=edge)


@exercise(
    points=2,
    section="Prefix tuning",
    source="Li and Liang 2021, Prefix-Tuning",
    outputs="Y A",
    gradients="Y",
    zeros="A",
    formula="for sequence b and head h: keys [P_K; K] and values [P_V; V], the prefix in front and the same for all b; token n"
    " = 0, …, N − 1 attends to the keys j ≤ P + n: A_n = softmax of q_n · k_j/√D_H over just these, 0 at the others; Y_n ="
    " Σ_j A_nj v_j; Q and K [B, H, N, D_H], V [B, H, N, D_V], P_K [H, P, D_H], P_V [H, P, D_V] give Y [B, H, N, D_V] and"
    " A [B, H, N, P+N]",
    cases=[
        _case("a batch", B=2, H=3),
        _case("a prefix longer than the sequence", B=3, H=2, N=4, P=9),
        _case("a prefix of one vector", B=3, H=2, P=1),
        _case("as many sequences as heads", B="H", H=3, N=5, P=2),
        _case("one sequence, one head", B=1, H="B"),
        _case("scores in the hundreds", **MANY, scale={"Q": 25.0, "K": 8.0, "P_K": 8.0}, extreme=True),
        _case("a last token far above the others", B=2, H=3, edit=_future_far_above, extreme=True, edge=True),
        _case("scores far below 0", **MANY, edit=_far_below, extreme=True, edge=True),
        _case("a long prefix", B=1, H=2, P=150, N=4, edge=True),
    ],
    forbidden=FUSED,
    equivalent={"one_hot = torch.eye(P + N, dtype=Q.dtype, device=Q.device)": "one table for all heads broadcasts"},
)
def prefix_attention(
    Q: Float[Tensor, "B H N D_H"],
    K: Float[Tensor, "B H N D_H"],
    V: Float[Tensor, "B H N D_V"],
    P_K: Float[Tensor, "H P D_H"],
    P_V: Float[Tensor, "H P D_V"],
) -> tuple[Float[Tensor, "B H N D_V"], Float[Tensor, "B H N P+N"]]:
    keys = torch.cat([P_K.expand(len(K), -1, -1, -1), K], dim=2)  # [B, H, P+N, D_H]
    values = torch.cat([P_V.expand(len(V), -1, -1, -1), V], dim=2)  # [B, H, P+N, D_V]
    P, N = P_K.shape[1], K.shape[2]
    j, n = torch.arange(P + N, device=Q.device), torch.arange(N, device=Q.device)
    allowed = j <= P + n[:, None]  # [N, P+N]
    one_hot = torch.eye(P + N, dtype=Q.dtype, device=Q.device).expand(*Q.shape[:2], -1, -1)  # values whose mean is A
    A = F.scaled_dot_product_attention(Q, keys, one_hot, attn_mask=allowed)
    return F.scaled_dot_product_attention(Q, keys, values, attn_mask=allowed), A


def _in_front(prefix, X):
    """The prefix of each head before the tokens of each sequence, [B, H, P+N, D]."""
    return torch.cat([prefix.expand(len(X), -1, -1, -1), X], dim=2)


def _lower(Q, rows, columns, diagonal):
    return torch.ones(rows, columns, dtype=torch.bool, device=Q.device).tril(diagonal)


def _mask(Q, P_K, diagonal=0):
    """[N, P+N], True where a token may attend; the diagonal is counted from the token itself."""
    N, P = Q.shape[2], P_K.shape[1]
    return _lower(Q, N, P + N, P + diagonal)


def _scores(Q, keys):
    return Q @ keys.mT / math.sqrt(Q.shape[-1])


def _weights(E, allowed):
    return E.masked_fill(~allowed, -math.inf).softmax(dim=-1)


def _attend(Q, K, V, P_K, P_V, allowed=None, weights=_weights, scores=_scores):
    """Attention in which the mask, what is made of the scores, or the scores may be wrong."""
    A = weights(scores(Q, _in_front(P_K, K)), _mask(Q, P_K) if allowed is None else allowed)
    return A @ _in_front(P_V, V), A


@prefix_attention.misconception
def counted_from_the_prefix(Q, K, V, P_K, P_V):
    """Token n attends to the first n + 1 of all P + N keys, as if it stood where the prefix does: a triangle that starts at the
    upper left corner does this. There are P keys before token 0: token n attends to the keys j ≤ P + n."""
    return _attend(Q, K, V, P_K, P_V, _mask(Q, P_K, -P_K.shape[1]))


@prefix_attention.misconception
def future_not_hidden(Q, K, V, P_K, P_V):
    """Every token attends to all tokens, also to those after it. The attention is causal: besides the prefix, token n
    attends to the tokens 0 to n only."""
    return _attend(Q, K, V, P_K, P_V, _mask(Q, P_K, Q.shape[2]))


@prefix_attention.misconception
def itself_hidden(Q, K, V, P_K, P_V):
    """No token attends to itself: the causal mask is one place too narrow. Token n attends to the prefix and to the tokens up
    to itself, j ≤ P + n."""
    return _attend(Q, K, V, P_K, P_V, _mask(Q, P_K, -1))


@prefix_attention.misconception
def next_token_seen(Q, K, V, P_K, P_V):
    """Each token attends to the one after it as well: the causal mask is one place too wide. Token n attends to the prefix and
    to the tokens up to itself, j ≤ P + n."""
    return _attend(Q, K, V, P_K, P_V, _mask(Q, P_K, 1))


@prefix_attention.misconception
def mask_turned_round(Q, K, V, P_K, P_V):
    """The mask is turned round: each token attends to its future alone, and the last one, which has none, to nothing, which
    gives NaN. Hidden are the tokens after token n; the prefix and the tokens 0 to n keep their scores."""
    return _attend(Q, K, V, P_K, P_V, ~_mask(Q, P_K))


@prefix_attention.misconception
def mask_turned_round_and_even(Q, K, V, P_K, P_V):
    """The mask is turned round: each token attends to its future alone, and the last one, which has none, evenly to everything.
    Hidden are the tokens after token n; the prefix and the tokens 0 to n keep their scores."""
    return _attend(Q, K, V, P_K, P_V, _mask(Q, P_K), lambda E, allowed: E.masked_fill(allowed, -1e9).softmax(dim=-1))


@prefix_attention.alternative
def as_a_student(Q, K, V, P_K, P_V):
    B, H, N, D_H = Q.shape
    P = P_K.shape[1]
    keys = torch.cat([P_K.unsqueeze(0).expand(B, -1, -1, -1), K], dim=2)
    values = torch.cat([P_V.unsqueeze(0).expand(B, -1, -1, -1), V], dim=2)
    E = Q @ keys.transpose(-2, -1) / math.sqrt(D_H)
    mask = torch.tril(torch.ones(N, P + N, dtype=torch.bool, device=Q.device), diagonal=P)
    A = torch.softmax(E.masked_fill(~mask, float("-inf")), dim=-1)
    return A @ values, A


@prefix_attention.alternative
def scores_side_by_side(Q, K, V, P_K, P_V):
    """The prefix broadcasts over the batch and is never copied."""
    P = P_K.shape[1]
    future = torch.full((Q.shape[2],) * 2, -math.inf, dtype=Q.dtype, device=Q.device).triu(1)
    E = torch.cat([_scores(Q, P_K), _scores(Q, K) + future], dim=-1)
    A = E.softmax(dim=-1)
    return A[..., :P] @ P_V + A[..., P:] @ V, A


@prefix_attention.alternative
def at_negative_positions(Q, K, V, P_K, P_V):
    m, n = torch.arange(Q.shape[2], device=Q.device), torch.arange(-P_K.shape[1], Q.shape[2], device=Q.device)
    keys = torch.cat([P_K.repeat(len(Q), 1, 1, 1), K], dim=-2)
    E = torch.einsum("bhmd,bhnd->bhmn", Q * Q.shape[-1] ** -0.5, keys)
    E = torch.where(n <= m[:, None], E, torch.finfo(E.dtype).min)
    A = torch.exp(E - E.logsumexp(dim=-1, keepdim=True))
    return torch.einsum("bhmn,bhnd->bhmd", A, torch.cat([P_V.repeat(len(Q), 1, 1, 1), V], dim=-2)), A


@prefix_attention.alternative
def two_softmaxes_joined(Q, K, V, P_K, P_V):
    """Each part's share is its part of all exponentials."""
    E_P, E_X = _scores(Q, P_K), _scores(Q, K).masked_fill(~_lower(Q, *[Q.shape[2]] * 2, 0), -math.inf)
    share = torch.sigmoid(E_P.logsumexp(dim=-1, keepdim=True) - E_X.logsumexp(dim=-1, keepdim=True))
    A_P, A_X = E_P.softmax(dim=-1) * share, E_X.softmax(dim=-1) * (1 - share)
    return A_P @ P_V + A_X @ V, torch.cat([A_P, A_X], dim=-1)


@prefix_attention.alternative
def written_into_empty_tensors(Q, K, V, P_K, P_V):
    B, H, N, D_H = Q.shape
    P = P_K.shape[1]
    Y, A = V.new_zeros(V.shape), Q.new_zeros(B, H, N, P + N)
    for b in range(B):
        for h in range(H):
            keys, values = torch.cat([P_K[h], K[b, h]]), torch.cat([P_V[h], V[b, h]])
            E = keys @ Q[b, h].T / D_H**0.5  # [P+N, N]
            E[P:].masked_fill_(torch.ones(N, N, device=Q.device).tril(-1).bool(), -math.inf)
            A[b, h] = E.softmax(dim=0).T
            Y[b, h] = A[b, h].clone() @ values
    return Y, A
