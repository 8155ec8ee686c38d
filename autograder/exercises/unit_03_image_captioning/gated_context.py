"""Exercise 8, a stretch: a gate that the image takes part in, by a visual sentinel."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

# neither the tanh nor the softmax is saturated, and the sentinel counts
SOFT = {
    "W": 0.5,
    "U": 0.5,
    "U_r": 0.5,
    "v": 0.5,
}


@exercise(
    points=0,
    section="One token at a time",
    source="Lu et al. 2017, Knowing When to Look, the adaptive attention model",
    outputs="c beta",
    formula="e_i = tanh(s W + x_i U) · v for the L cells, e_r = tanh(s W + r U_r) · v; (a_1, …, a_L, a_r) = one softmax over the"
    " L + 1 scores; c = Σ_i a_i x_i + a_r r, β = Σ_i a_i over the cells; c [B, D], β [B]",
    cases=[
        Case("a batch of images", scale=SOFT),
        Case("a batch of one", scale=SOFT, sizes={"B": 1}),
        Case("many cells", scale=SOFT, sizes={"L": 30}),
        Case("strong features", scale={**SOFT, "X": 3.0, "r": 3.0}),
    ],
    forbidden=FUSED,
)
def gated_context(
    s: Float[Tensor, "B D_S"],
    X: Float[Tensor, "B L D"],
    r: Float[Tensor, "B D"],
    W: Float[Tensor, "D_S D_A"],
    U: Float[Tensor, "D D_A"],
    U_r: Float[Tensor, "D D_A"],
    v: Float[Tensor, "D_A"],
) -> tuple[Float[Tensor, "B D"], Float[Tensor, "B"]]:
    state = torch.einsum("bs,sa->ba", s, W)
    e = torch.einsum("bla,a->bl", torch.tanh(state[:, None] + torch.einsum("bld,da->bla", X, U)), v)
    e_r = torch.einsum("ba,a->b", torch.tanh(state + torch.einsum("bd,da->ba", r, U_r)), v)
    beta = torch.sigmoid(torch.logsumexp(e, dim=1) - e_r)  # the softmax over all, taken apart
    looked = torch.einsum("bl,bld->bd", torch.softmax(e, dim=1), X)
    return beta[:, None] * looked + torch.sigmoid(e_r - torch.logsumexp(e, dim=1))[:, None] * r, beta


def _scores(s, X, r, W, U, U_r, v):
    """The cells' [B, L], and the sentinel's [B, 1]."""
    state = (s @ W)[:, None]
    return torch.tanh(state + X @ U) @ v, torch.tanh(state + (r @ U_r)[:, None]) @ v


def _shares(*given):
    """The weights of the cells [B, L], and the sentinel's [B, 1]."""
    A = torch.cat(_scores(*given), dim=1).softmax(dim=1)
    return A[:, :-1], A[:, -1:]


def _mixed(a, X):
    return (a[..., None] * X).sum(dim=1)


@gated_context.misconception
def share_of_the_sentinel(s, X, r, W, U, U_r, v):
    """beta is the weight of the sentinel. Here β is what is left for the cells, the sum of their weights, so that β near 1
    lets the image through, as in exercise 5."""
    a, a_r = _shares(s, X, r, W, U, U_r, v)
    return _mixed(a, X) + a_r * r, a_r[:, 0]


@gated_context.misconception
def softmax_over_the_cells_alone(s, X, r, W, U, U_r, v):
    """The softmax runs over the cells alone, and a sigmoid of the sentinel's score decides about the sentinel. Then cells and
    sentinel do not compete: put its score beside theirs, and take one softmax over all L + 1."""
    e, e_r = _scores(s, X, r, W, U, U_r, v)
    share = torch.sigmoid(e_r)
    return (1 - share) * _mixed(e.softmax(dim=1), X) + share * r, 1 - share[:, 0]


@gated_context.misconception
def sentinel_not_mixed_in(s, X, r, W, U, U_r, v):
    """The sentinel takes part in the softmax, but its vector is missing in c. Where the cells get little weight, c should come
    from the sentinel: c = Σ_i a_i x_i + a_r r."""
    a, a_r = _shares(s, X, r, W, U, U_r, v)
    return _mixed(a, X), a.sum(dim=1)


@gated_context.misconception
def gated_twice(s, X, r, W, U, U_r, v):
    """The sum over the cells was multiplied by β, although its weights sum to β already: the gate acts twice."""
    a, a_r = _shares(s, X, r, W, U, U_r, v)
    beta = a.sum(dim=1)
    return beta[:, None] * _mixed(a, X) + a_r * r, beta


@gated_context.misconception
def cells_weighed_again(s, X, r, W, U, U_r, v):
    """The cells' weights in c sum to 1 by themselves, and the sentinel is added to that: all L + 1 weights together sum to 1,
    and the cells have only β of it."""
    a, a_r = _shares(s, X, r, W, U, U_r, v)
    beta = a.sum(dim=1)
    return _mixed(a, X) / beta[:, None] + a_r * r, beta


@gated_context.misconception
def shares_exchanged(s, X, r, W, U, U_r, v):
    """In c the cells have the share 1 − β and the sentinel has β: it is the other way round. The cells' weights sum to β."""
    a, a_r = _shares(s, X, r, W, U, U_r, v)
    beta = a.sum(dim=1, keepdim=True)
    return a_r * _mixed(a, X) / beta + beta * r, beta[:, 0]


@gated_context.misconception
def orders_differ(s, X, r, W, U, U_r, v):
    """Weights and vectors are in different orders: the sentinel is last in one of them and first in the other, so that each
    weight meets the vector of another cell. Join both in the same order."""
    a, a_r = _shares(s, X, r, W, U, U_r, v)
    weights, vectors = torch.cat([a, a_r], dim=1), torch.cat([r[:, None], X], dim=1)
    return _mixed(weights, vectors), a.sum(dim=1)


@gated_context.misconception
def scored_as_a_cell(s, X, r, W, U, U_r, v):
    """The sentinel was scored with U, like a cell. It has a matrix of its own, U_r, since it holds what the decoder remembers
    and no features of the image."""
    a, a_r = _shares(s, X, r, W, U, U, v)
    return _mixed(a, X) + a_r * r, a.sum(dim=1)


@gated_context.misconception
def state_not_asked_about_the_sentinel(s, X, r, W, U, U_r, v):
    """The state s is missing in the sentinel's score: e_r = tanh(s W + r U_r) · v. The same token may need the image in one
    state and not in another."""
    e, _ = _scores(s, X, r, W, U, U_r, v)
    A = torch.cat([e, torch.tanh(r @ U_r)[:, None] @ v], dim=1).softmax(dim=1)
    return _mixed(A[:, :-1], X) + A[:, -1:] * r, A[:, :-1].sum(dim=1)


@gated_context.misconception
def tanh_left_out(s, X, r, W, U, U_r, v):
    """The tanh of the scores is missing. Then the state adds the same number to all L + 1 scores, the softmax removes it, and
    the gate is the same in every state."""
    A = torch.cat([X @ U, (r @ U_r)[:, None]], dim=1) @ v + (s @ W @ v)[:, None]
    A = A.softmax(dim=1)
    return _mixed(A[:, :-1], X) + A[:, -1:] * r, A[:, :-1].sum(dim=1)


@gated_context.misconception
def softmax_over_images(s, X, r, W, U, U_r, v):
    """The softmax runs over the images of the batch. In each image a weight of 1 is distributed over its own L cells and its
    own sentinel: dim=-1."""
    A = torch.cat(_scores(s, X, r, W, U, U_r, v), dim=1).softmax(dim=0)
    return _mixed(A[:, :-1], X) + A[:, -1:] * r, A[:, :-1].sum(dim=1)


@gated_context.alternative
def one_more_cell(s, X, r, W, U, U_r, v):
    projected = torch.cat([X @ U, (r @ U_r)[:, None]], dim=1)
    a = (torch.tanh((s @ W)[:, None] + projected) @ v).softmax(dim=-1)
    c = (a[:, None] @ torch.cat([X, r[:, None]], dim=1))[:, 0]
    return c, a[:, :-1].sum(dim=-1)


@gated_context.alternative
def by_exponentials(s, X, r, W, U, U_r, v):
    e, e_r = _scores(s, X, r, W, U, U_r, v)
    top = torch.maximum(e.amax(dim=1, keepdim=True), e_r)
    cells, sentinel = (e - top).exp(), (e_r - top).exp()
    total = cells.sum(dim=1, keepdim=True) + sentinel
    return (torch.einsum("bl,bld->bd", cells, X) + sentinel * r) / total, (cells / total).sum(dim=1)


@gated_context.alternative
def what_the_sentinel_leaves(s, X, r, W, U, U_r, v):
    found = []
    for state, cells, sentinel in zip(s, X, r):
        e = torch.stack(
            [torch.tanh(state @ W + x @ U) @ v for x in cells] + [torch.tanh(state @ W + sentinel @ U_r) @ v]
        )
        a = torch.softmax(e, dim=0)
        found.append((a[:-1] @ cells + a[-1] * sentinel, 1 - a[-1]))
    c, beta = zip(*found)
    return torch.stack(c), torch.stack(beta)
