"""Exercise 3: multi-head attention with one fused projection, self and cross."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank import Case, exercise
from autograder.exercises.unit_04_attention_layer.common import FUSED

SELF, CROSS = "self-attention", "cross-attention"


@exercise(
    points={SELF: 3, CROSS: 1},
    section="One projection for all",
    outputs="Y A",
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


def _projected(self, X, context):
    """Q, K and V, [B, N, H*D_H] each."""
    W, b = self.W_QKV.weight.chunk(3), self.W_QKV.bias.chunk(3)
    context = X if context is None else context
    return F.linear(X, W[0], b[0]), F.linear(context, W[1], b[1]), F.linear(context, W[2], b[2])


def _split(self, X):
    return X.unflatten(-1, (self.H, -1)).transpose(1, 2)


def _merge(Y):
    return Y.transpose(1, 2).flatten(2)


def _attend(self, Q, K, V, split=_split, divisor=None, dim=-1, merge=_merge):
    Q, K, V = (split(self, one) for one in (Q, K, V))
    E = Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)
    A = E.softmax(dim=dim)
    return self.W_O(merge(A @ V)), A


class Plain(MultiHeadAttention.reference):
    """Right, and without torch's own attention: what mistakes of the constructor are made of."""

    def forward(self, X, context=None):
        return _attend(self, *_projected(self, X, context))


@MultiHeadAttention.misconception
def scaled_by_the_whole_width(self, X, context=None):
    """The scores are divided by √D, the width of X. In each head the dot product runs over D_H features: divide by √D_H."""
    return _attend(self, *_projected(self, X, context), divisor=math.sqrt(X.shape[-1]))


@MultiHeadAttention.misconception
def not_scaled(self, X, context=None):
    """The scores are not divided by √D_H, so the softmax of wide heads would saturate."""
    return _attend(self, *_projected(self, X, context), divisor=1)


@MultiHeadAttention.misconception
def root_forgotten(self, X, context=None):
    """The scores are divided by D_H; the scale is its root: √D_H."""
    Q, K, V = _projected(self, X, context)
    return _attend(self, Q, K, V, divisor=Q.shape[-1] // self.H)


@MultiHeadAttention.misconception
def multiplied_by_the_root(self, X, context=None):
    """The scores are multiplied by √D_H, not divided by it. Look for a bracket, or a minus in the exponent, that is missing."""
    Q, K, V = _projected(self, X, context)
    return _attend(self, Q, K, V, divisor=(Q.shape[-1] // self.H) ** -0.5)


@MultiHeadAttention.misconception
def split_without_exchange(self, X, context=None):
    """The split into heads is one reshape to [B, H, N, D_H]. It does not move numbers, so that a head holds pieces of different
    vectors: split the last axis, then exchange N and H."""

    def at_once(self, one):
        return one.reshape(len(one), self.H, one.shape[1], -1)

    return _attend(self, *_projected(self, X, context), split=at_once)


@MultiHeadAttention.misconception
def merged_without_exchange(self, X, context=None):
    """The heads were merged by one reshape from [B, H, N, D_H]. It does not move numbers, so that rows mix vectors: exchange H
    and N first, then join."""
    return _attend(self, *_projected(self, X, context), merge=lambda Y: Y.reshape(len(Y), Y.shape[2], -1))


@MultiHeadAttention.misconception
def heads_look_at_heads(self, X, context=None):
    """The scores are [B, N, H, H]: in each vector the heads looked at each other, because the heads were split off and not moved
    in front of the vectors. Exchange N and H before Q Kᵀ."""
    Q, K, V = (one.unflatten(-1, (self.H, -1)) for one in _projected(self, X, context))
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O((A @ V).flatten(2)), A


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


@MultiHeadAttention.misconception
def keys_first(self, X, context=None):
    """The thirds of W_QKV were taken in another order, keys first. The name says the order: queries, keys, values."""
    W, b = self.W_QKV.weight.chunk(3), self.W_QKV.bias.chunk(3)
    context = X if context is None else context
    return _attend(self, F.linear(X, W[1], b[1]), F.linear(context, W[0], b[0]), F.linear(context, W[2], b[2]))


@MultiHeadAttention.misconception
def values_second(self, X, context=None):
    """Keys and values have changed places: the second third of W_QKV makes the keys, the last one the values."""
    Q, K, V = _projected(self, X, context)
    return _attend(self, Q, V, K)


@MultiHeadAttention.misconception
def thirds_take_turns(self, X, context=None):
    """Every third number of W_QKV's output was taken for a query's: it was cut as [H, D_H, 3]. First come all queries, then all
    keys, then all values: three thirds, then heads."""
    outputs = [self.W_QKV(one).unflatten(-1, (-1, 3)) for one in (X, X if context is None else context)]
    return _attend(self, outputs[0][..., 0], outputs[1][..., 1], outputs[1][..., 2])


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
def thirds_inside_each_head(self, X, context=None):
    """The output of W_QKV was cut into heads first and each head's part into thirds, [H, 3, D_H]. Some models are laid out so.
    Here all queries come first, then all keys, then all values: three thirds, then heads."""
    source = X if context is None else context
    Q = self.W_QKV(X).unflatten(-1, (self.H, 3, -1)).transpose(1, 2)[:, :, :, 0]
    K, V = self.W_QKV(source).unflatten(-1, (self.H, 3, -1)).transpose(1, 2)[:, :, :, 1:].unbind(dim=3)
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O(_merge(A @ V)), A


@MultiHeadAttention.misconception
def softmax_over_queries(self, X, context=None):
    """Your weights sum to 1 over the queries: softmax ran over dim=-2. Each query of each head has a distribution over the data
    vectors: dim=-1."""
    return _attend(self, *_projected(self, X, context), dim=-2)


@MultiHeadAttention.misconception
def softmax_over_heads(self, X, context=None):
    """softmax(dim=1) runs over the heads, so that they compete. Each head has weights of its own that sum to 1 over the data
    vectors: dim=-1."""
    return _attend(self, *_projected(self, X, context), dim=1)


@MultiHeadAttention.misconception
def without_a_softmax(self, X, context=None):
    """There is no softmax: the scores themselves mix the values. A = softmax(Q Kᵀ/√D_H) over the data vectors."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    E = Q @ K.mT / math.sqrt(Q.shape[-1])
    return self.W_O(_merge(E @ V)), E


@MultiHeadAttention.misconception
def scores_returned(self, X, context=None):
    """Y is right, but what came with it are the scores before the softmax. Asked for are the weights A, which sum to 1."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    E = Q @ K.mT / math.sqrt(Q.shape[-1])
    return self.W_O(_merge(E.softmax(dim=-1) @ V)), E


@MultiHeadAttention.misconception
def keys_ask(self, X, context=None):
    """Queries and keys have changed places in the product: K Qᵀ has a row for each data vector. Each query needs one: Q Kᵀ."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    A = (K @ Q.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O(_merge(A @ V)), A


@MultiHeadAttention.misconception
def data_mixed(self, X, context=None):
    """The weights mix the data vectors themselves. They mix the values, the last third of W_QKV's output: A V."""
    Q, K, _ = _projected(self, X, context)
    return _attend(self, Q, K, X if context is None else context)


@MultiHeadAttention.misconception
def keys_mixed(self, X, context=None):
    """The weights mix the keys. They mix the values, the last third of W_QKV's output: A V."""
    Q, K, _ = _projected(self, X, context)
    return _attend(self, Q, K, K)


@MultiHeadAttention.misconception
def all_from_the_context(self, X, context=None):
    """Queries too are made from the context, so that X is not looked at. X asks, the context answers: only keys and values come
    from it."""
    return _attend(self, *_projected(self, X if context is None else context, context))


@MultiHeadAttention.misconception
def context_for_the_keys_alone(self, X, context=None):
    """The keys come from the context, the values from X. What is found through the keys are the context's values: both are made
    from it."""
    return _attend(self, *_projected(self, X, context)[:2], _projected(self, X, None)[2])


@MultiHeadAttention.misconception
def context_for_the_values_alone(self, X, context=None):
    """The values come from the context, the keys from X. A value is found through its own key: both are made from the context."""
    Q, K, _ = _projected(self, X, None)
    return _attend(self, Q, K, _projected(self, X, context)[2])


@MultiHeadAttention.misconception
def context_ignored(self, X, context=None):
    """The context is not looked at: keys and values are made from X. If a context is given, X asks and the context answers."""
    return _attend(self, *_projected(self, X, None))


@MultiHeadAttention.misconception
def context_asks(self, X, context=None):
    """The queries are made from the context, and keys and values from X. It is the other way round: X asks, the context
    answers."""
    return _attend(self, *_projected(self, X if context is None else context, X))


@MultiHeadAttention.misconception
def one_wide_head(self, X, context=None):
    """There is one head of the whole width. The width is to be split into H heads, each with scores and weights of its own."""

    def whole(self, one):
        return one[:, None]

    return _attend(self, *_projected(self, X, context), split=whole)


@MultiHeadAttention.misconception
def biases_ignored(self, X, context=None):
    """W_QKV's bias is not added. Call the layer, or pass the bias to F.linear as well."""
    W = self.W_QKV.weight.chunk(3)
    context = X if context is None else context
    return _attend(self, X @ W[0].T, context @ W[1].T, context @ W[2].T)


@MultiHeadAttention.misconception
def all_biases_ignored(self, X, context=None):
    """No bias is added, neither W_QKV's nor W_O's. Call the layers, or pass the biases to F.linear as well."""
    W, context = self.W_QKV.weight.chunk(3), X if context is None else context
    Q, K, V = (_split(self, one) for one in (X @ W[0].T, context @ W[1].T, context @ W[2].T))
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return _merge(A @ V) @ self.W_O.weight.T, A


@MultiHeadAttention.misconception
def output_bias_ignored(self, X, context=None):
    """W_O's bias is not added. Call the layer, or pass the bias to F.linear as well."""
    Y, A = _attend(self, *_projected(self, X, context))
    return Y - self.W_O.bias, A


@MultiHeadAttention.misconception
def output_weight_not_transposed(self, X, context=None):
    """W_O's weight was multiplied from the right as it is stored. nn.Linear keeps [out, in], the transpose: call the layer, or
    use F.linear."""
    Q, K, V = (_split(self, one) for one in _projected(self, X, context))
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return _merge(A @ V) @ self.W_O.weight + self.W_O.bias, A


@MultiHeadAttention.misconception
def never_split(self, X, context=None):
    """There are no heads: queries and keys were compared at their whole width. Split it into H heads of D_H features, each with
    scores and weights of its own: A is [B, H, N_Q, N_X]."""
    Q, K, V = _projected(self, X, context)
    A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return self.W_O(A @ V), A


@MultiHeadAttention.misconception
class layers_without_bias(Plain):
    """The layers have no bias. This exercise asks for one: leave out bias=False."""

    def __init__(self, H, D_H):
        super().__init__(H, D_H)
        self.W_QKV = nn.Linear(H * D_H, 3 * H * D_H, bias=False)
        self.W_O = nn.Linear(H * D_H, H * D_H, bias=False)


@MultiHeadAttention.misconception
class one_head_of_queries(Plain):
    """W_QKV is 3*D_H wide, enough for one head. All heads' queries, keys and values come out of it: 3*H*D_H."""

    def __init__(self, H, D_H):
        super().__init__(H, D_H)
        self.W_QKV = nn.Linear(H * D_H, 3 * D_H)


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
