"""Exercise 3: multi-head attention with one fused projection, self and cross."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

SELF, CROSS = "self-attention", "cross-attention"


@exercise(
    points={SELF: 3, CROSS: 1},
    section="One projection for all",
    source="Vaswani et al. 2017, section 3.2.2",
    outputs="Y A",
    gradients="Y",
    formula="W_QKV gives Q, K, V side by side, each H*D_H wide; Q from X, K and V from context (from X if it is None); for"
    " each head A = softmax(Q Kᵀ/√D_H), A V; heads side by side through W_O: Y [B, N_Q, H*D_H], A [B, H, N_Q, N_X]",
    cases=[
        Case("a batch, self", values={"context": None}, sizes={"B": 2, "H": 3}, part=SELF),
        Case("one head, self", values={"context": None}, sizes={"H": 1}, part=SELF),
        Case(
            "a batch of one, heads of 16 features, self", values={"context": None}, sizes={"B": 1, "D_H": 16}, part=SELF
        ),
        Case("a batch, cross", sizes={"B": 2, "H": 3}, part=CROSS),
        Case("a single query, cross", sizes={"N_Q": 1, "H": 4}, part=CROSS),
    ],
    forbidden=FUSED,
    equivalent={
        "context).transpose(1, 0))": "either way the two axes change places",
        "X.transpose(1, 0), (X if context is None else context).transpose(0, 1))": "either way the two axes change places",
        "return (Y.transpose(1, 0), A)": "either way the two axes change places",
        "*into, *out, average_attn_weights=False)": "nothing is dropped out, in training mode either",
        "training=True, average_attn_weights=False)": "nothing is dropped out, in training mode either",
        "None, None, False, 1.0), (self.W_O.weight, self.W_O.bias))": "in eval mode nothing is dropped out, at any rate",
    },
)
class MultiHeadAttention(nn.Module):
    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.H = H
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H)
        self.W_O = nn.Linear(H * D_H, H * D_H)

    def forward(
        self, X: Float[Tensor, "B N_Q H*D_H"], context: Float[Tensor, "B N_X H*D_H"] | None = None
    ) -> tuple[Float[Tensor, "B N_Q H*D_H"], Float[Tensor, "B H N_Q N_X"]]:
        Q, K = X.transpose(0, 1), (X if context is None else context).transpose(0, 1)
        into, out = (self.W_QKV.weight, self.W_QKV.bias, None, None, False, 0.0), (self.W_O.weight, self.W_O.bias)
        Y, A = F.multi_head_attention_forward(
            Q, K, K, X.shape[-1], self.H, *into, *out, training=False, average_attn_weights=False
        )
        return Y.transpose(0, 1), A


def _projected(self, X, context, thirds=(0, 1, 2)):
    """Q, K and V, [B, N, H*D_H] each, from the thirds of W_QKV with these numbers."""
    W, b = self.W_QKV.weight.chunk(3), self.W_QKV.bias.chunk(3)
    sources = (X, *[X if context is None else context] * 2)
    return tuple(F.linear(source, W[third], b[third]) for source, third in zip(sources, thirds))


def _split(self, X):
    return X.unflatten(-1, (self.H, -1)).transpose(1, 2)


def _merge(Y):
    return Y.transpose(1, 2).flatten(2)


def _attend(self, Q, K, V, split=_split, divisor=None, dim=-1, merge=_merge):
    Q, K, V = (split(self, one) for one in (Q, K, V))
    E = Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)
    A = E.softmax(dim=dim)
    return self.W_O(merge(A @ V)), A


@MultiHeadAttention.misconception
def not_scaled(self, X, context=None):
    """The scores are not divided by √D_H, so the softmax of wide heads would saturate."""
    return _attend(self, *_projected(self, X, context), divisor=1)


@MultiHeadAttention.misconception
def multiplied_by_the_root(self, X, context=None):
    """The scores are multiplied by √D_H, not divided by it. Look for a * in the place of a /, or for a bracket or a minus
    in the exponent that is missing."""
    Q, K, V = _projected(self, X, context)
    return _attend(self, Q, K, V, divisor=(Q.shape[-1] // self.H) ** -0.5)


@MultiHeadAttention.misconception
def scaled_by_the_data(self, X, context=None):
    """The scores are divided by √N_X, the root of how many data vectors there are. The dot product runs over the D_H
    features of a head: divide by √D_H."""
    return _attend(self, *_projected(self, X, context), divisor=math.sqrt((X if context is None else context).shape[1]))


@MultiHeadAttention.misconception
def scaled_by_the_queries(self, X, context=None):
    """The scores are divided by √N_Q, the root of how many queries there are. The dot product runs over the D_H features of a
    head: divide by √D_H."""
    return _attend(self, *_projected(self, X, context), divisor=math.sqrt(X.shape[1]))


def _split_at_once(self, one):
    return one.reshape(len(one), self.H, one.shape[1], -1)


def _merge_at_once(Y):
    return Y.reshape(len(Y), Y.shape[2], -1)


@MultiHeadAttention.misconception
def split_without_exchange(self, X, context=None):
    """The split into heads is one reshape to [B, H, N, D_H]. It does not move numbers, so that a head holds pieces of different
    vectors: split the last axis, then exchange N and H."""
    return _attend(self, *_projected(self, X, context), split=_split_at_once)


@MultiHeadAttention.misconception
def merged_without_exchange(self, X, context=None):
    """The heads were merged by one reshape from [B, H, N, D_H]. It does not move numbers, so that rows mix vectors: exchange H
    and N first, then join."""
    return _attend(self, *_projected(self, X, context), merge=_merge_at_once)


@MultiHeadAttention.misconception
def reshaped_there_and_back(self, X, context=None):
    """Splitting to [B, H, N, D_H] and merging are one reshape each. It does not move numbers, so that a head holds pieces of
    different vectors: split the last axis, then exchange N and H; before merging exchange them back."""
    return _attend(self, *_projected(self, X, context), split=_split_at_once, merge=_merge_at_once)


@MultiHeadAttention.misconception
def output_projection_forgotten(self, X, context=None):
    """The heads stand side by side, but W_O was not applied. It mixes what the heads have found."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return _merge(A @ V), A


@MultiHeadAttention.misconception
def weights_averaged(self, X, context=None):
    """The weights were averaged over the heads, as nn.MultiheadAttention does unless told otherwise. Here each head's weights are
    asked for: A [B, H, N_Q, N_X]."""
    Y, A = _attend(self, *_projected(self, X, context))
    return Y, A.mean(dim=1)


def _in_turns(self, one):
    return one.unflatten(-1, (-1, self.H)).permute(0, 3, 1, 2)


@MultiHeadAttention.misconception
def features_take_turns(self, X, context=None):
    """The width was split as [D_H, H], so that neighbouring features belong to different heads. Head h owns the D_H features
    from h·D_H on: [H, D_H], H first."""
    return _attend(self, *_projected(self, X, context), split=_in_turns)


@MultiHeadAttention.misconception
def features_take_turns_there_and_back(self, X, context=None):
    """The width was split as [D_H, H], and merged so again: neighbouring features belong to different heads. Head h owns the D_H
    features from h·D_H on: [H, D_H], H first."""

    def merge(Y):
        return Y.permute(0, 2, 3, 1).flatten(2)

    return _attend(self, *_projected(self, X, context), split=_in_turns, merge=merge)


@MultiHeadAttention.misconception
def keys_ask(self, X, context=None):
    """Queries and keys have changed places in the product: K Qᵀ has a row for each data vector. Each query needs one: Q Kᵀ."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    A = (K @ Q.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O(_merge(A @ V)), A


@MultiHeadAttention.misconception
def one_wide_head(self, X, context=None):
    """There is one head of the whole width. The width is to be split into H heads, each with scores and weights of its own."""

    def whole(self, one):
        return one[:, None]

    return _attend(self, *_projected(self, X, context), split=whole)


@MultiHeadAttention.misconception
def never_split(self, X, context=None):
    """There are no heads: queries and keys were compared at their whole width. Split it into H heads of D_H features, each with
    scores and weights of its own: A is [B, H, N_Q, N_X]."""
    Q, K, V = _projected(self, X, context)
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O(A @ V), A


@MultiHeadAttention.alternative
def through_the_fused_layer(self, X, context=None):
    if context is None:
        Q, K, V = self.W_QKV(X).chunk(3, dim=-1)
    else:
        Q, (K, V) = self.W_QKV(X).chunk(3, dim=-1)[0], self.W_QKV(context).chunk(3, dim=-1)[1:]
    return _attend(self, Q, K, V)


@MultiHeadAttention.alternative
def by_einsum(self, X, context=None):
    Q, K, V = (one.unflatten(-1, (self.H, -1)) for one in _projected(self, X, context))
    A = torch.einsum("bqhd,bxhd->bhqx", Q, K).div(Q.shape[-1] ** 0.5).softmax(dim=-1)
    return self.W_O(torch.einsum("bhqx,bxhd->bqhd", A, V).flatten(2)), A


@MultiHeadAttention.alternative
def head_by_head(self, X, context=None):
    thirds = [one.chunk(self.H, dim=-1) for one in _projected(self, X, context)]
    found, weights = [], []
    for Q, K, V in zip(*thirds):
        A = torch.softmax(torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.shape[-1]), dim=2)
        weights.append(A)
        found.append(torch.bmm(A, V))
    return self.W_O(torch.cat(found, dim=-1)), torch.stack(weights, dim=1)


@MultiHeadAttention.alternative
def heads_in_the_batch(self, X, context=None):
    Q, K, V = (_split(self, one).flatten(0, 1) for one in _projected(self, X, context))
    A = torch.bmm(Q * Q.shape[-1] ** -0.5, K.mT).softmax(dim=-1)
    Y = torch.bmm(A, V).unflatten(0, (len(X), self.H))
    return self.W_O(_merge(Y)), A.unflatten(0, (len(X), self.H))
