"""GPT again: mistakes in the mask, in the blocks and in how they follow each other, and correct models in other styles."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercises.unit_11_language_models.GPT.declaration import GPT, _embedded, _head, _later, _run


def _masked(self, tokens, mask):
    """The model whose mask is another."""
    return _head(self, _run(self, _embedded(self, tokens), mask=mask))


# the mask


@GPT.misconception
def no_mask(self, tokens):
    """There is no mask: each position attends to the later ones too, and so to the very token that it has to predict.
    Position i may attend to the positions 0, …, i."""
    return _masked(self, tokens, None)


@GPT.misconception
def mask_says_what_is_allowed(self, tokens):
    """The mask is read the wrong way round: each position attends to the later ones alone, and the last to none. torch's
    layers forbid where a Boolean mask is True, unlike scaled_dot_product_attention: give them True at the later positions."""
    return _masked(self, tokens, lambda X: ~_later(X))


@GPT.misconception
def mask_transposed(self, tokens):
    """The attention looks the wrong way: each position attends to itself and to the later ones. Row i of the mask belongs to
    the query at position i, and forbids the keys behind it."""
    return _masked(self, tokens, lambda X: _later(X).mT)


@GPT.misconception
def position_itself_forbidden(self, tokens):
    """No position attends to itself, and the first to nothing at all. Position i predicts token i + 1, so it may read token
    i: forbid the later positions alone, triu(diagonal=1)."""
    return _masked(self, tokens, lambda X: _later(X, 0))


@GPT.misconception
def next_position_allowed(self, tokens):
    """Each position attends to the next one too. That is the token which it has to predict: the loss would fall to nearly 0,
    and nothing be learned. Forbid all later positions: triu(diagonal=1)."""
    return _masked(self, tokens, lambda X: _later(X, 2))


@GPT.misconception
def mask_added_as_numbers(self, tokens):
    """The mask is made of numbers, 1 and 0, which torch's layers add to the scores. That hides nothing. Forbidden is what a
    Boolean mask has True at, or where a mask of numbers is −∞."""
    return _masked(self, tokens, lambda X: (~_later(X)).to(X.dtype))


@GPT.misconception
def later_positions_added_as_numbers(self, tokens):
    """The mask is made of numbers, with 1 at the later positions. torch's layers add it to the scores, which makes the later
    positions more likely. Make it Boolean, or put −∞ where it is 1."""
    return _masked(self, tokens, lambda X: _later(X).to(X.dtype))


@GPT.misconception
def mask_of_the_whole_context(self, tokens):
    """The mask is [N, N], which fits only texts of exactly N tokens. A text may be shorter, n ≤ N: the mask is [n, n], made
    in forward, or cut there."""
    N = self.positions.num_embeddings
    return _masked(self, tokens, lambda X: torch.ones(N, N, dtype=torch.bool, device=X.device).triu(1))


@GPT.misconception
def hint_without_a_mask(self, tokens):
    """The blocks are given is_causal=True and no mask. To torch's layers that is a hint of what the mask is like, not a mask:
    give them src_mask, with or without the hint."""
    X = _embedded(self, tokens)
    for block in self.blocks:
        X = block(X, is_causal=True)
    return _head(self, X)


# which blocks run


@GPT.misconception
def no_blocks(self, tokens):
    """The result is that of embeddings, norm and head alone: no block was applied, or what it gave was not kept. Each block
    reads what the one before it gives."""
    return _head(self, _embedded(self, tokens))


@GPT.misconception
def last_block_for_all(self, tokens):
    """All blocks have the weights of the last one. This happens where one layer is made and put into the list L times:
    [layer] * L holds a single layer. Make a new one for each block."""
    return _head(self, _run(self, _embedded(self, tokens), [self.blocks[-1]] * len(self.blocks)))


@GPT.misconception
def blocks_beside_each_other(self, tokens):
    """Every block reads the embeddings, and only the last one's result is kept. Each block reads what the one before it
    gives."""
    return _head(self, _run(self, _embedded(self, tokens), self.blocks[-1:]))


# how the blocks are made


def _with(self, tokens, **settings):
    """The model whose blocks were made with other settings."""
    for block in self.blocks:
        for name, setting in settings.items():
            setattr(block, name, setting)
    return _head(self, _run(self, _embedded(self, tokens)))


@GPT.misconception
def post_norm(self, tokens):
    """The blocks are post-norm: each norm stands after the sum. nn.TransformerEncoderLayer makes them so unless told
    otherwise. From GPT-2 on, a GPT is pre-norm: norm_first=True."""
    return _with(self, tokens, norm_first=False)


@GPT.misconception
def relu(self, tokens):
    """The activation of the MLPs is ReLU, as nn.TransformerEncoderLayer has it unless told otherwise. A GPT has GELU:
    activation="gelu"."""
    return _with(self, tokens, activation=F.relu)


@GPT.misconception
def post_norm_and_relu(self, tokens):
    """Two settings of the blocks are those that nn.TransformerEncoderLayer has by itself: post-norm, and ReLU. Asked for are
    norm_first=True and activation="gelu"."""
    return _with(self, tokens, norm_first=False, activation=F.relu)


@GPT.misconception
def positions_on_the_first_axis(self, tokens):
    """The attention runs across the texts of the batch: torch's layers take the first axis for the positions unless they are
    made with batch_first=True. A mask [n, n] does not fit then, except where there are as many texts as positions."""
    X = _embedded(self, tokens)
    for block in self.blocks:
        X = block(X.transpose(0, 1), src_mask=_later(X)).transpose(0, 1)
    return _head(self, X)


@GPT.misconception
def settings_left_at_their_defaults(self, tokens):
    """Three settings of the blocks are those that nn.TransformerEncoderLayer has by itself: post-norm, ReLU, and the positions on
    the first axis, so that the attention runs across the batch and a mask [n, n] hardly ever fits. Asked for are norm_first=True,
    activation="gelu" and batch_first=True."""
    for block in self.blocks:
        block.norm_first, block.activation = False, F.relu
    return positions_on_the_first_axis(self, tokens)


# correct models


@GPT.alternative
def by_addition(self, tokens):
    """The mask as numbers, and the sum of embeddings as products with one-hot vectors."""
    B, n = tokens.shape
    E, P = self.tokens.weight, self.positions.weight
    X = F.one_hot(tokens, len(E)).to(E.dtype) @ E + P.narrow(0, 0, n).expand(B, n, -1)
    mask = nn.Transformer.generate_square_subsequent_mask(n, device=E.device, dtype=E.dtype)
    for block in self.blocks:
        X = block(X, mask, is_causal=True)
    return torch.stack([self.norm(one) @ E.mT for one in X])


@GPT.alternative
def in_one_encoder(self, tokens):
    """torch's own stack of layers, which holds a last norm too."""
    X = _embedded(self, tokens)
    encoder = nn.TransformerEncoder(self.blocks[0], num_layers=1, norm=self.norm, enable_nested_tensor=False)
    encoder.layers, encoder.num_layers = self.blocks, len(self.blocks)
    return torch.einsum("...d,vd->...v", encoder(X, mask=_later(X), is_causal=True), self.tokens.weight)


@GPT.alternative
def block_by_block(self, tokens):
    """The blocks written out, with the layers that they hold, and attention from its formula."""
    X = _embedded(self, tokens)
    for block in self.blocks:
        layer = block.self_attn
        QKV = F.linear(block.norm1(X), layer.in_proj_weight, layer.in_proj_bias)
        Q, K, V = QKV.unflatten(-1, (3, layer.num_heads, -1)).permute(2, 0, 3, 1, 4)  # [B, H, n, D/H]
        E = (Q @ K.mT / math.sqrt(Q.shape[-1])).masked_fill(_later(X), -math.inf)
        X = X + layer.out_proj((E.softmax(dim=-1) @ V).transpose(1, 2).flatten(2))
        X = X + block.linear2(F.gelu(block.linear1(block.norm2(X))))
    return _head(self, X)
