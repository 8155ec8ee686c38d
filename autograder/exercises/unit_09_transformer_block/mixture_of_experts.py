"""Exercise 8, a stretch: a mixture of experts that computes each expert only for the tokens that chose it."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise

ALL = ("T", "E", "D_F")  # the hidden layers of all experts for all tokens
MANY = {"T": 20, "E": 32, "D": 3, "D_F": 24}  # a loop makes far less, even if it makes its sum anew for each expert
MOST = 3  # experts that a token chooses, or a few more where an expert would be left over


def _drawn(inputs, sizes, rng):
    """Each token has chosen a few experts, and each expert was chosen. The gates of a token do not sum to 1."""
    T, E = inputs["gates"].shape
    places = rng.random((T, E)).argsort(axis=1)
    chosen = places < rng.integers(1, min(MOST, E) + 1, (T, 1))
    for e in np.flatnonzero(~chosen.any(axis=0)):
        chosen[e % T, e] = True
    return {"gates": (chosen * (0.2 + 0.8 * rng.random((T, E)))).astype("float32")}


def _without_an_expert(inputs, rng):
    inputs["gates"][:, 1] = 0


def _without_a_token(inputs, rng):
    inputs["gates"][1] = 0


def _small(inputs, rng):
    """All gates of a token are small: it still has what its experts give."""
    inputs["gates"][1] *= 1e-5


def _one_for_all(inputs, rng):
    inputs["gates"][:, 1:] = 0
    inputs["gates"][:, 0] = 0.2 + 0.8 * rng.random(len(inputs["gates"]))


@exercise(
    points=0,
    section="Mixture of experts",
    source="Shazeer et al. 2017, section 2, equation 1",
    outputs="Y",
    formula="Y_t = Σ_e gates_te · GELU(X_t W_in_e) W_out_e over the experts e with gates_te ≠ 0; X [T, D], gates [T, E], W_in"
    " [E, D, D_F], W_out [E, D_F, D] give Y [T, D], and all that is made on the way has fewer than T·E·D_F numbers",
    cases=[
        Case("a few tokens"),
        Case("more tokens than experts", sizes={"T": 11, "E": 3}),
        Case("an expert that no token chose", edit=_without_an_expert),
        Case("a token that chose no expert", edit=_without_a_token),
        Case("one expert for all tokens", edit=_one_for_all, edge=True),
        Case("a token with small gates", edit=_small, edge=True),
        Case("many experts, few of them chosen", sizes=MANY, bounds={"largest": ALL, "made": ALL}),
    ],
    draws=_drawn,
)
def mixture_of_experts(
    X: Float[Tensor, "T D"],
    gates: Float[Tensor, "T E"],
    W_in: Float[Tensor, "E D D_F"],
    W_out: Float[Tensor, "E D_F D"],
) -> Float[Tensor, "T D"]:
    given = gates.masked_fill(gates == 0, 0)  # who was not chosen is not computed, and sends no gradient back
    hidden = F.gelu(torch.einsum("td,edh->teh", X, W_in))
    return torch.einsum("te,teh,ehd->td", given, hidden, W_out)  # of all experts, which is easy to trust


def _served(X, gates, W_in, W_out, serve):
    """The sum over the experts of what `serve(x, g, w_in, w_out)` gives for the tokens that chose each."""
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        t = gates[:, e].nonzero().squeeze(-1)
        Y = Y.index_add(0, t, serve(X[t], gates[t, e, None], W_in[e], W_out[e]))
    return Y


def _expert(x, g, w_in, w_out):
    return g * (F.gelu(x @ w_in) @ w_out)


@mixture_of_experts.misconception
def all_experts_at_once(X, gates, W_in, W_out):
    """The numbers are right, but on the way a tensor is made that is as large as the hidden layers of all E experts for all T
    tokens: are all experts computed for all tokens, and multiplied by gates that are mostly 0? Then nothing is saved. Compute
    each expert only for the tokens that chose it."""
    return torch.einsum("te,ted->td", gates, torch.einsum("teh,ehd->ted", _hidden(X, W_in), W_out))


def _hidden(X, W_in):
    return F.gelu(torch.einsum("td,edh->teh", X, W_in))


@mixture_of_experts.misconception
def all_tokens_for_each_expert(X, gates, W_in, W_out):
    """The numbers are right, but all that is made on the way is together as large as the hidden layers of all E experts for
    all T tokens: is each expert computed for all tokens, one expert after the other? Then nothing is saved. Compute each
    expert only for the tokens that chose it."""
    Y = torch.zeros_like(X)
    for e in range(gates.shape[1]):
        Y += gates[:, e, None] * (F.gelu(X @ W_in[e]) @ W_out[e])
    return Y


@mixture_of_experts.misconception
def gates_left_out(X, gates, W_in, W_out):
    """The outputs of a token's chosen experts were added as they are. Each is to be multiplied by its gate first."""
    return _served(X, gates, W_in, W_out, lambda x, g, w_in, w_out: F.gelu(x @ w_in) @ w_out)


@mixture_of_experts.misconception
def all_experts_added(X, gates, W_in, W_out):
    """The outputs of all E experts were added, chosen or not, without the gates. A token gets the outputs of the experts that
    it chose, each multiplied by its gate."""
    return torch.einsum("teh,ehd->td", _hidden(X, W_in), W_out)


@mixture_of_experts.misconception
def averaged(X, gates, W_in, W_out):
    """The outputs of a token's experts, with their gates, were divided by the number of its experts. The gates are the only
    weights: add up the products."""
    return _served(X, gates, W_in, W_out, _expert) / (gates != 0).sum(dim=1, keepdim=True).clamp(min=1)


@mixture_of_experts.misconception(universal=True)
def gates_divided_by_their_sum(X, gates, W_in, W_out):
    """The gates of each token were divided by their sum. They are given as they are to be used, whatever they sum to."""
    total = gates.sum(dim=1, keepdim=True)
    return _served(X, gates / total.where(total > 0, 1), W_in, W_out, _expert)


@mixture_of_experts.misconception
def strongest_expert_alone(X, gates, W_in, W_out):
    """Each token has only the output of the expert with its largest gate. It may have chosen several experts: their outputs
    are added, each multiplied by its gate."""
    return _served(X, gates * (gates == gates.amax(dim=1, keepdim=True)), W_in, W_out, _expert)


@mixture_of_experts.misconception
def last_expert_alone(X, gates, W_in, W_out):
    """Of each token's experts only the last one counts: its output has replaced those of the experts before. Add each output
    to what the token already has, as index_add does."""
    later = (gates != 0).flip(1).cumsum(dim=1).flip(1)  # how many of the token's experts are this one or come after it
    return _served(X, gates * (later == 1), W_in, W_out, _expert)


@mixture_of_experts.misconception
def gates_on_the_way_in(X, gates, W_in, W_out):
    """The gate was multiplied with the expert's input, before the GELU. The GELU is not linear, so that this is another
    number: multiply the expert's output by the gate."""
    return _served(X, gates, W_in, W_out, lambda x, g, w_in, w_out: F.gelu(g * x @ w_in) @ w_out)


@mixture_of_experts.misconception
def without_gelu(X, gates, W_in, W_out):
    """There is no GELU between W_in_e and W_out_e. Without it, an expert is a single linear map from D to D."""
    return _served(X, gates, W_in, W_out, lambda x, g, w_in, w_out: g * (x @ w_in @ w_out))


@mixture_of_experts.misconception
def relu_for_gelu(X, gates, W_in, W_out):
    """A ReLU stands between W_in_e and W_out_e. Here it is a GELU, F.gelu, which is smooth and lets small negative numbers
    through."""
    return _served(X, gates, W_in, W_out, lambda x, g, w_in, w_out: g * (F.relu(x @ w_in) @ w_out))


@mixture_of_experts.misconception
def silu_for_gelu(X, gates, W_in, W_out):
    """A SiLU, x · sigmoid(x), stands between W_in_e and W_out_e. Here it is a GELU, F.gelu, as in the ungated MLP."""
    return _served(X, gates, W_in, W_out, lambda x, g, w_in, w_out: g * (F.silu(x @ w_in) @ w_out))


@mixture_of_experts.misconception
def gelu_at_the_end(X, gates, W_in, W_out):
    """The GELU was applied to an expert's output, after W_out_e. It belongs between the two matrices: GELU(X_t W_in_e)
    W_out_e."""
    return _served(X, gates, W_in, W_out, lambda x, g, w_in, w_out: g * F.gelu(x @ w_in @ w_out))


@mixture_of_experts.misconception
def in_the_experts_order(X, gates, W_in, W_out):
    """The outputs stand one below the other, expert after expert, with one row for each choice. Y has one row for each token:
    add each output to the row of its token, as index_add does."""
    rows = [gates[:, e].nonzero().squeeze(-1) for e in range(gates.shape[1])]
    return torch.cat([_expert(X[t], gates[t, e, None], W_in[e], W_out[e]) for e, t in enumerate(rows)])


@mixture_of_experts.alternative
def expert_by_expert(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(len(W_in)):
        tokens = gates[:, e].nonzero().squeeze(-1)
        hidden = F.gelu(X[tokens] @ W_in[e])
        Y.index_add_(0, tokens, gates[tokens, e, None] * (hidden @ W_out[e]))
    return Y


@mixture_of_experts.alternative
def summed_anew_for_each_expert(X, gates, W_in, W_out):
    Y = X.new_zeros(X.shape)
    for gate, w_in, w_out in zip(gates.unbind(1), W_in, W_out):
        t = torch.where(gate > 0)[0]
        y = F.gelu(X.index_select(0, t) @ w_in) @ w_out * gate.index_select(0, t).unsqueeze(1)
        Y = Y.index_add(0, t, y)
    return Y


@mixture_of_experts.alternative
def by_boolean_rows(X, gates, W_in, W_out):
    Y = torch.zeros_like(X)
    for e in range(gates.size(1)):
        chosen = gates[:, e] != 0
        if chosen.any():
            Y[chosen] += torch.matmul(gates[chosen, e : e + 1] * F.gelu(X[chosen] @ W_in[e]), W_out[e])
    return Y


@mixture_of_experts.alternative
def sorted_by_expert(X, gates, W_in, W_out):
    e, t = gates.T.nonzero(as_tuple=True)
    pieces = X[t].split(torch.bincount(e, minlength=len(W_in)).tolist())  # in the experts' order
    out = torch.cat([F.gelu(x @ a) @ b for x, a, b in zip(pieces, W_in, W_out)])
    return torch.zeros_like(X).index_add(0, t, gates[t, e].unsqueeze(-1) * out)


@mixture_of_experts.alternative
def token_by_token(X, gates, W_in, W_out):
    rows = []
    for x, row in zip(X, gates):
        y = torch.zeros_like(x)
        for e in row.nonzero().flatten().tolist():
            y = y + row[e] * (F.gelu(x @ W_in[e]) @ W_out[e])
        rows.append(y)
    return torch.stack(rows)
