"""Exercise 4 again: mistakes inside attention and MLP, and correct blocks in other styles."""

import math

import torch
import torch.nn.functional as F

from autograder.exercises.unit_09_transformer_block.TransformerBlock.declaration import (
    TransformerBlock,
    _attention,
    _heads,
    _merge,
    _weights,
    _wired,
)


def _with_attention(self, X, mask, **wrong):
    """The block whose attention is wrong in these parts."""
    return _wired(self, X, mask, attention=lambda self, X, mask: _attention(self, X, mask, **wrong))


def _with_mask(self, X, mask, hide):
    """The block whose attention hides keys by `hide(E, mask)`, where there is a mask."""
    return _with_attention(self, X, mask, weights=lambda E, mask: (_weights if mask is None else hide)(E, mask))


def _with_thirds(self, X, mask, order):
    return _with_attention(self, X, mask, heads=lambda self, X: _heads(self, X)[list(order)])


def _with_mlp(self, X, mask, activation, after=None):
    def mlp(self, X):
        X = self.W_out(activation(self.W_in(X)))
        return X if after is None else after(X)

    return _wired(self, X, mask, mlp=mlp)


# the mask


@TransformerBlock.misconception
def mask_ignored(self, X, mask=None):
    """The mask makes no difference: every token attends to every token. Hand it on from forward to the softmax."""
    return _wired(self, X, None)


@TransformerBlock.misconception(universal=True)
def always_causal(self, X, mask=None):
    """Every token attends to itself and to those before it, whatever the mask says. Which keys are allowed is given: those of the
    mask, and without a mask all."""
    N = X.shape[1]
    return _wired(self, X, torch.ones(len(X), N, N, dtype=torch.bool, device=X.device).tril())


@TransformerBlock.misconception
def mask_turned_round(self, X, mask=None):
    """The mask is read the wrong way round: the allowed keys are hidden. nn.MultiheadAttention reads True as forbidden; here, as
    in scaled_dot_product_attention, True means that a query may attend to the key."""
    return _with_mask(self, X, mask, lambda E, mask: _weights(E, ~mask))


@TransformerBlock.misconception
def mask_added_as_numbers(self, X, mask=None):
    """The mask was added to the scores as numbers, 1 and 0, as scaled_dot_product_attention does if its attn_mask is no boolean.
    That hides nothing. Leave the mask boolean, or give forbidden scores −∞."""
    return _with_mask(self, X, mask, lambda E, mask: (E + mask[:, None].to(E.dtype)).softmax(dim=-1))


@TransformerBlock.misconception
def scores_set_to_zero(self, X, mask=None):
    """The forbidden scores were set to 0 before the softmax. exp(0) is 1, so forbidden keys still get weight. The score
    whose weight is 0 is −∞."""
    return _with_mask(self, X, mask, lambda E, mask: (E * mask[:, None]).softmax(dim=-1))


@TransformerBlock.misconception
def multiplied_after_the_softmax(self, X, mask=None):
    """The forbidden weights were set to 0 after the softmax, so what is left sums to less than 1. Hide the scores before the
    softmax: −∞."""
    return _with_mask(self, X, mask, lambda E, mask: E.softmax(dim=-1) * mask[:, None])


@TransformerBlock.misconception
def mask_transposed(self, X, mask=None):
    """The mask is transposed. Row n of the mask belongs to query n, as row n of the scores does; its columns are the keys."""
    return _with_mask(self, X, mask, lambda E, mask: _weights(E, mask.mT))


@TransformerBlock.misconception
def no_axis_for_the_heads(self, X, mask=None):
    """The mask [B, N, N] has no axis for the heads. Against scores [B, H, N, N] its B lines up with H: an error or, where there
    are as many sequences as heads, head h gets the mask of sequence h. The axis of size 1 stands behind the batch:
    mask.unsqueeze(1)."""
    return _with_mask(self, X, mask, lambda E, mask: E.masked_fill(~mask, -math.inf).softmax(dim=-1))


@TransformerBlock.misconception
def masks_of_other_sequences(self, X, mask=None):
    """Heads of one sequence get masks of others: batch and heads were joined to one axis, and the masks were repeated one whole
    batch after the other. On the joined axis the H heads of a sequence are neighbours: repeat_interleave, or keep the two axes
    apart."""

    def hide(E, mask):
        repeated = mask.repeat(self.H, 1, 1).unflatten(0, (-1, self.H))
        return E.masked_fill(~repeated, -math.inf).softmax(dim=-1)

    return _with_mask(self, X, mask, hide)


# heads


@TransformerBlock.misconception
def not_scaled(self, X, mask=None):
    """The scores are not divided by √(D/H), so the softmax of wide heads would saturate."""
    return _with_attention(self, X, mask, divisor=1)


@TransformerBlock.misconception
def scaled_by_the_whole_width(self, X, mask=None):
    """The scores are divided by √D, the root of the width of all heads together. The dot product of a head runs over its own D/H
    features: divide by √(D/H)."""
    return _with_attention(self, X, mask, divisor=math.sqrt(X.shape[-1]))


@TransformerBlock.misconception
def one_wide_head(self, X, mask=None):
    """There is one head of the whole width D. The width is to be split into H heads, each with scores and weights of its own."""

    def heads(self, X):
        return (one[:, None] for one in self.W_QKV(X).chunk(3, dim=-1))

    return _with_attention(self, X, mask, heads=heads)


def _split_at_once(self, X):
    return (one.reshape(len(X), self.H, X.shape[1], -1) for one in self.W_QKV(X).chunk(3, dim=-1))


def _merge_at_once(found):
    return found.reshape(len(found), found.shape[2], -1)


@TransformerBlock.misconception
def split_without_exchange(self, X, mask=None):
    """The split into heads is one reshape to [B, H, N, D/H]. It does not move numbers, so that a head holds pieces of different
    vectors: split the last axis, then exchange N and H."""
    return _with_attention(self, X, mask, heads=_split_at_once)


@TransformerBlock.misconception
def merged_without_exchange(self, X, mask=None):
    """The heads were merged by one reshape from [B, H, N, D/H]. It does not move numbers, so that rows mix vectors: exchange H
    and N first, then join."""
    return _with_attention(self, X, mask, merge=_merge_at_once)


@TransformerBlock.misconception
def split_and_merged_without_exchange(self, X, mask=None):
    """Heads were split off and merged by a reshape alone. It does not move numbers, so that a head holds pieces of different
    vectors: split the last axis, exchange N and H, and go the same way back."""
    return _with_attention(self, X, mask, heads=_split_at_once, merge=_merge_at_once)


@TransformerBlock.misconception
def features_take_turns(self, X, mask=None):
    """The width was split as [D/H, H], and merged so again: neighbouring features belong to different heads. Head h owns the
    columns from h·D/H to (h+1)·D/H of each third: [H, D/H], H first."""

    def heads(self, X):
        return self.W_QKV(X).unflatten(-1, (3, -1, self.H)).permute(2, 0, 4, 1, 3)

    return _with_attention(self, X, mask, heads=heads, merge=lambda found: found.permute(0, 2, 3, 1).flatten(2))


@TransformerBlock.misconception
def thirds_inside_each_head(self, X, mask=None):
    """The output of W_QKV was cut into heads first and each head's part into thirds, [H, 3, D/H]. Here all queries come first,
    then all keys, then all values: three thirds, then heads."""

    def heads(self, X):
        return self.W_QKV(X).unflatten(-1, (self.H, 3, -1)).permute(3, 0, 2, 1, 4)

    return _with_attention(self, X, mask, heads=heads)


@TransformerBlock.misconception
def keys_first(self, X, mask=None):
    """Queries and keys are exchanged. Either the thirds of W_QKV were taken keys first (the name says the order: queries, keys,
    values), or the scores are K Qᵀ: their rows must belong to the queries, Q Kᵀ."""
    return _with_thirds(self, X, mask, (1, 0, 2))


@TransformerBlock.misconception
def values_second(self, X, mask=None):
    """Keys and values have changed places: the second third of W_QKV makes the keys, the last one the values."""
    return _with_thirds(self, X, mask, (0, 2, 1))


@TransformerBlock.misconception
def values_first(self, X, mask=None):
    """The thirds of W_QKV were taken backwards: values, keys, queries. The name says the order: queries, keys, values."""
    return _with_thirds(self, X, mask, (2, 1, 0))


@TransformerBlock.misconception
def output_projection_left_out(self, X, mask=None):
    """The heads stand side by side, but W_O was not applied. It mixes what the heads have found, before the sum with X."""

    def attention(self, X, mask):
        Q, K, V = _heads(self, X)
        return _merge(_weights(Q @ K.mT / math.sqrt(Q.shape[-1]), mask) @ V)

    return _wired(self, X, mask, attention=attention)


# the MLP


@TransformerBlock.misconception
def no_activation(self, X, mask=None):
    """Nothing stands between W_in and W_out. Two linear layers in a row are no more than one: apply GELU to what W_in gives."""
    return _with_mlp(self, X, mask, lambda X: X)


@TransformerBlock.misconception
def relu(self, X, mask=None):
    """The MLP's activation is ReLU, as in the first Transformer and in nn.TransformerEncoderLayer unless told otherwise. This
    block has GELU, as GPT-2 and BERT do."""
    return _with_mlp(self, X, mask, F.relu)


@TransformerBlock.misconception
def silu(self, X, mask=None):
    """The MLP's activation is SiLU, x·sigmoid(x). It belongs to SwiGLU; this block has GELU, x times the normal distribution
    function of x."""
    return _with_mlp(self, X, mask, F.silu)


@TransformerBlock.misconception
def activation_at_the_end_too(self, X, mask=None):
    """GELU is applied once more to what W_out gives. The MLP ends with a linear layer, so that what is added to X may have either
    sign: GELU stands between W_in and W_out only."""
    return _with_mlp(self, X, mask, F.gelu, F.gelu)


@TransformerBlock.misconception
def activation_at_the_end(self, X, mask=None):
    """GELU is applied to what W_out gives, not to what W_in gives. It stands between the two layers."""
    return _with_mlp(self, X, mask, lambda X: X, F.gelu)


# correct blocks


@TransformerBlock.alternative
def plain(self, X, mask=None):
    return _wired(self, X, mask)


@TransformerBlock.alternative
def by_einsum(self, X, mask=None):
    def attention(self, X, mask):
        Q, K, V = (one.unflatten(-1, (self.H, -1)) for one in self.W_QKV(X).chunk(3, dim=-1))
        E = torch.einsum("bqhd,bxhd->bhqx", Q, K) / Q.shape[-1] ** 0.5
        if mask is not None:
            E = torch.where(mask[:, None], E, torch.finfo(E.dtype).min)
        return self.W_O(torch.einsum("bhqx,bxhd->bqhd", E.softmax(dim=-1), V).flatten(2))

    return _wired(self, X, mask, attention=attention)


@TransformerBlock.alternative
def head_by_head(self, X, mask=None):
    def attention(self, X, mask):
        found = []
        for Q, K, V in zip(*(one.chunk(self.H, dim=-1) for one in self.W_QKV(X).chunk(3, dim=-1))):
            E = torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.shape[-1])
            found.append(torch.bmm((E if mask is None else E.masked_fill(~mask, -math.inf)).softmax(dim=-1), V))
        return self.W_O(torch.cat(found, dim=-1))

    return _wired(self, X, mask, attention=attention)


@TransformerBlock.alternative
def heads_in_the_batch(self, X, mask=None):
    """With nothing but tensors: the two norms too, and GELU by its formula."""

    def norm(layer, X):
        centred = X - X.mean(dim=-1, keepdim=True)
        return centred / (centred.square().mean(dim=-1, keepdim=True) + layer.eps).sqrt() * layer.weight + layer.bias

    def attention(X):
        Q, K, V = (one.flatten(0, 1) for one in _heads(self, X))
        hidden = None if mask is None else torch.zeros_like(mask, dtype=X.dtype).masked_fill(~mask, -math.inf)
        E = torch.bmm(Q * Q.shape[-1] ** -0.5, K.mT)
        E = E if hidden is None else E + hidden.repeat_interleave(self.H, dim=0)
        return self.W_O(_merge(torch.bmm(E.softmax(dim=-1), V).unflatten(0, (len(X), self.H))))

    def mlp(X):
        X = self.W_in(X)
        return self.W_out(0.5 * X * (1 + torch.erf(X / math.sqrt(2))))

    for norm_layer, layer in ((self.norm_1, attention), (self.norm_2, mlp)):
        X = X + layer(norm(norm_layer, X)) if self.norm_first else norm(norm_layer, X + layer(X))
    return X
