"""Exercise 4 again: mistakes that have nothing to do with the mask: projections, scale, heads."""

import math

from autograder.exercises.unit_07_masking.MaskedMultiHeadAttention.declaration import (
    MaskedMultiHeadAttention,
    _attend,
    _for_heads,
    _heads,
    _merge,
    _weights,
)


def _split_at_once(self, X):
    return (one.reshape(len(X), self.H, X.shape[1], -1) for one in self.W_QKV(X).chunk(3, dim=-1))


def _merge_at_once(found):
    return found.reshape(len(found), found.shape[2], -1)


class Plain(MaskedMultiHeadAttention.reference):
    """Right, and without torch's own attention: what mistakes of the constructor are made of."""

    def forward(self, X, mask):
        return _attend(self, X, mask)


@MaskedMultiHeadAttention.misconception
def not_scaled(self, X, mask):
    """The scores are not divided by √D_H, so the softmax of wide heads would saturate."""
    return _attend(self, X, mask, divisor=1)


@MaskedMultiHeadAttention.misconception
def output_projection_forgotten(self, X, mask):
    """The heads stand side by side, but W_O was not applied. It mixes what the heads have found."""
    Q, K, V = _heads(self, X)
    A = _weights(Q @ K.mT / math.sqrt(Q.shape[-1]), _for_heads(mask))
    return _merge(A @ V), A


@MaskedMultiHeadAttention.misconception
def split_without_exchange(self, X, mask):
    """The split into heads is one reshape to [B, H, N, D_H]. It does not move numbers, so that a head holds pieces of different
    vectors: split the last axis, then exchange N and H."""
    return _attend(self, X, mask, heads=_split_at_once)


@MaskedMultiHeadAttention.misconception
def merged_without_exchange(self, X, mask):
    """The heads were merged by one reshape from [B, H, N, D_H]. It does not move numbers, so that rows mix vectors, and with
    them the past and the future: exchange H and N first, then join."""
    return _attend(self, X, mask, merge=_merge_at_once)


@MaskedMultiHeadAttention.misconception
def split_and_merged_without_exchange(self, X, mask):
    """Heads were split off and merged by a reshape alone. It does not move numbers, so that a head holds pieces of different
    vectors, the past and the future mixed: split the last axis, exchange N and H, and go the same way back."""
    return _attend(self, X, mask, heads=_split_at_once, merge=_merge_at_once)


@MaskedMultiHeadAttention.misconception
def weights_averaged(self, X, mask):
    """The weights were averaged over the heads, as nn.MultiheadAttention does unless told otherwise. Here each head's weights
    are asked for: A [B, H, N, N]."""
    Y, A = _attend(self, X, mask)
    return Y, A.mean(dim=1)


@MaskedMultiHeadAttention.misconception
def thirds_inside_each_head(self, X, mask):
    """The output of W_QKV was cut into heads first and each head's part into thirds. Here all queries come first, then all keys,
    then all values: three thirds, then heads."""
    inside = self.W_QKV(X).unflatten(-1, (self.H, 3, -1)).permute(3, 0, 2, 1, 4)
    return _attend(self, X, mask, heads=lambda self, X: inside)


@MaskedMultiHeadAttention.misconception
def keys_first(self, X, mask):
    """Queries and keys are exchanged. Either the thirds of W_QKV were taken keys first (the name says the order: queries, keys,
    values), or the scores are K Qᵀ: their rows must belong to the queries, Q Kᵀ."""
    return _attend(self, X, mask, heads=lambda self, X: _heads(self, X)[[1, 0, 2]])
