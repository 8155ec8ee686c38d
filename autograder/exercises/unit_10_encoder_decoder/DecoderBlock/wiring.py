"""Exercise 1 again: more mistakes of its wiring and its heads."""

import torch

from autograder.exercises.unit_10_encoder_decoder.DecoderBlock.declaration import (
    DecoderBlock,
    _attend,
    _block,
    _cross,
    _merge_at_once,
    _mlp,
    _own,
    _split_at_once,
)

# who reads what


@DecoderBlock.misconception
def queries_not_normed(self, X, memory, mask):
    """The queries of the cross-attention come from X_1 as it is. In a pre-norm block each sublayer reads a normed X, here
    norm_2(X_1)."""
    return _block(self, X, memory, mask, second=lambda X_1, _: _cross(self, X_1, memory, mask))


@DecoderBlock.misconception
def source_first_with_norms_in_order(self, X, memory, mask):
    """The two attentions have changed places, and norm_1 stands in front of the cross-attention. First the translation looks at
    itself (norm_1), then at the source (norm_2)."""
    X = X + _cross(self, self.norm_1(X), memory, mask)
    X = X + _own(self, self.norm_2(X))
    return X + _mlp(self, self.norm_3(X))


@DecoderBlock.misconception
def no_cross_attention(self, X, memory, mask):
    """The result does not depend on the memory: the cross-attention is not in it. Between self-attention and MLP,
    cross-attention(norm_2(X_1), memory) is added."""
    return _block(self, X, memory, mask, second=lambda X_1, _: torch.zeros_like(X_1))


@DecoderBlock.misconception
def no_mlp(self, X, memory, mask):
    """The MLP is not in the result: X_2 is returned as it is. MLP(norm_3(X_2)) is still to be added."""
    return _block(self, X, memory, mask, mlp=lambda self, X: torch.zeros_like(X))


@DecoderBlock.misconception
def outputs_exchanged(self, X, memory, mask):
    """W_O and W_C have changed places. W_O belongs to the self-attention, W_C to the cross-attention."""
    return _projected(self, X, memory, mask, self.W_C, self.W_O)


@DecoderBlock.misconception
def first_output_twice(self, X, memory, mask):
    """W_O is used in both attentions. What the cross-attention finds has an output projection of its own, W_C."""
    return _projected(self, X, memory, mask, self.W_O, self.W_O)


@DecoderBlock.misconception
def no_output_of_cross_attention(self, X, memory, mask):
    """What the heads of the cross-attention find is added without W_C. The heads stand side by side; W_C mixes them."""
    return _projected(self, X, memory, mask, self.W_O, lambda found: found)


def _projected(self, X, memory, mask, output, cross_output):
    """The block with these layers behind the heads of its two attentions."""
    causal = torch.ones(X.shape[1], X.shape[1], dtype=torch.bool, device=X.device).tril()
    X = X + output(_attend(self, self.W_QKV(self.norm_1(X)).chunk(3, dim=-1), causal))
    vectors = (self.W_Q(self.norm_2(X)), *self.W_KV(memory).chunk(2, dim=-1))
    X = X + cross_output(_attend(self, vectors, mask[:, None, None]))
    return X + _mlp(self, self.norm_3(X))


@DecoderBlock.misconception
def keys_and_values_exchanged(self, X, memory, mask):
    """Keys and values of the cross-attention have changed places. As the name W_KV says, the first D of its 2D columns are the
    keys, the others the values."""
    return _block(self, X, memory, mask, cross={"keys": 1})


# norms and sums


@DecoderBlock.misconception
def no_residual_around_self_attention(self, X, memory, mask):
    """The residual connection around the self-attention is missing: X itself has to be added to what the attention finds."""
    X = _own(self, self.norm_1(X))
    X = X + _cross(self, self.norm_2(X), memory, mask)
    return X + _mlp(self, self.norm_3(X))


@DecoderBlock.misconception
def no_residual_around_the_mlp(self, X, memory, mask):
    """The residual connection around the MLP is missing: X_2, which both attentions have left, is to be added to what the MLP
    gives."""
    return _block(self, X, memory, mask, third=lambda X_2, _: _mlp(self, self.norm_3(X_2)))


@DecoderBlock.misconception
def input_added_at_the_end(self, X, memory, mask):
    """What is added to the MLP's result is the X that came into the block. It is X_2, the residual stream as it is at this point:
    otherwise what the two attentions found reaches the result through the MLP alone."""
    return _block(self, X, memory, mask, third=lambda X_2, X: X + _mlp(self, self.norm_3(X_2)))


@DecoderBlock.misconception
def second_norm_twice(self, X, memory, mask):
    """norm_2 is used for the MLP as well. Each sublayer has a norm of its own: norm_3 belongs to the MLP."""
    return _block(self, X, memory, mask, third=lambda X_2, _: X_2 + _mlp(self, self.norm_2(X_2)))


@DecoderBlock.misconception
def mlp_not_normed(self, X, memory, mask):
    """The MLP reads X_2 as it is. In a pre-norm block each sublayer reads a normed X, here norm_3(X_2)."""
    return _block(self, X, memory, mask, third=lambda X_2, _: X_2 + _mlp(self, X_2))


@DecoderBlock.misconception
def norm_at_the_end(self, X, memory, mask):
    """The sum at the end is normed as well. The residual stream leaves a pre-norm block as it is; the one norm at the end of
    the decoder comes after its last block and belongs to none."""
    return self.norm_3(_block(self, X, memory, mask))


# masks and heads


@DecoderBlock.misconception
def earlier_tokens_hidden(self, X, memory, mask):
    """The causal mask is turned round: each position attends to itself and to later ones, which are not written yet.
    Position t attends to 0, …, t, the lower triangle."""
    return _block(self, X, memory, mask, own={"triangle": torch.triu})


@DecoderBlock.misconception
def one_token_ahead(self, X, memory, mask):
    """Each position of the translation attends to one token too many: t sees t + 1, the very token that it should predict.
    Position t attends to 0, …, t."""
    return _block(self, X, memory, mask, own={"triangle": lambda all: all.tril(1)})


@DecoderBlock.misconception
def mask_added_as_numbers(self, X, memory, mask):
    """The mask was added to the scores as numbers, 1 and 0, as scaled_dot_product_attention does if its attn_mask is no boolean.
    That hides nothing. Leave the mask boolean, or give the padding's scores −∞."""
    return _block(self, X, memory, mask, cross={"weights": lambda E, mask: (E + mask.to(E.dtype)).softmax(dim=-1)})


@DecoderBlock.misconception
def scores_of_zero(self, X, memory, mask):
    """The forbidden scores were set to 0 before the softmax. exp(0) is 1, so what is forbidden still gets weight; the score whose
    weight is 0 is −∞."""
    return _block(self, X, memory, mask, both={"weights": lambda E, allowed: (E * allowed).softmax(dim=-1)})


@DecoderBlock.misconception
def not_scaled(self, X, memory, mask):
    """The scores are not divided by √(D/H), so the softmax of wide heads would saturate."""
    return _block(self, X, memory, mask, both={"divisor": 1})


@DecoderBlock.misconception
def one_wide_head(self, X, memory, mask):
    """There is one head of the whole width D. The width is to be split into H heads, each with scores and weights of its own."""
    return _block(self, X, memory, mask, both={"split": lambda self, X: X[:, None]})


@DecoderBlock.misconception
def split_without_exchange(self, X, memory, mask):
    """The split into heads is one reshape to [B, H, T, D/H]. It does not move numbers, so that a head holds pieces of different
    vectors: split the last axis, then exchange positions and H."""
    return _block(self, X, memory, mask, both={"split": _split_at_once})


@DecoderBlock.misconception
def merged_without_exchange(self, X, memory, mask):
    """The heads were merged by one reshape from [B, H, T, D/H]. It does not move numbers, so that rows mix vectors: exchange H
    and T first, then join."""
    return _block(self, X, memory, mask, both={"merge": _merge_at_once})
