"""Exercise 6 again: mistakes in the blocks and in how they follow each other, and correct models in other styles."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercises.unit_13_vision_transformer.VisionTransformer.declaration import (
    VisionTransformer,
    _after,
    _encoded,
    _pooled,
)

# which blocks run


@VisionTransformer.misconception
def one_block_alone(self, X):
    """Only the first block was applied. The tokens run through all `depth` blocks, one after the other."""
    return _after(self, _encoded(self, X, self.blocks[:1]))


@VisionTransformer.misconception
def last_block_left_out(self, X):
    """The last block was not applied. The tokens run through all `depth` blocks, one after the other."""
    return _after(self, _encoded(self, X, self.blocks[:-1]))


@VisionTransformer.misconception
def first_block_for_all(self, X):
    """The first block is applied `depth` times. Each block has weights of its own, and each is applied once."""
    return _after(self, _encoded(self, X, [self.blocks[0]] * len(self.blocks)))


@VisionTransformer.misconception
def last_block_for_all(self, X):
    """All blocks have the weights of the last one. This happens where one layer is made and put into the list `depth` times:
    [layer] * depth holds a single layer. Make a new one for each block."""
    return _after(self, _encoded(self, X, [self.blocks[-1]] * len(self.blocks)))


@VisionTransformer.misconception
def blocks_in_reverse(self, X):
    """The blocks run in reverse order. blocks[0] reads X, and each block reads what the one before it gives."""
    return _after(self, _encoded(self, X, reversed(self.blocks)))


@VisionTransformer.misconception
def blocks_beside_each_other(self, X):
    """Every block reads X itself, and only the last one's result is kept. Each block reads what the one before it gives."""
    for block in self.blocks:
        Y = block(X)
    return _after(self, Y)


@VisionTransformer.misconception
def residual_around_the_blocks(self, X):
    """X is added to what each block gives. A block has its residual connections inside: what it gives contains X already."""
    for block in self.blocks:
        X = X + block(X)
    return _after(self, X)


@VisionTransformer.misconception
def no_blocks(self, X):
    """The result is that of norm, pooling and head alone: no block was applied, or what it gave was not kept. Each block reads
    what the one before it gives."""
    return _after(self, X)


# what attends to what


@VisionTransformer.misconception
def causal_mask(self, X):
    """The attention is causal: each token attends to itself and to those before it. The class token stands first, so it would
    see no patch at all. An image is all there at once: no mask."""
    mask = nn.Transformer.generate_square_subsequent_mask(X.shape[1], device=X.device, dtype=X.dtype)
    for block in self.blocks:
        X = block(X, src_mask=mask)
    return _after(self, X)


@VisionTransformer.misconception
def attention_across_the_batch(self, X):
    """The attention runs across the images of the batch, so that an image's logits depend on the others. torch's layers take
    the first axis for the positions unless they are told: batch_first=True."""
    return _after(self, _encoded(self, X.transpose(0, 1)).transpose(0, 1))


# how the blocks are made


def _with(self, X, **settings):
    """The model whose blocks were made with other settings."""
    for block in self.blocks:
        for name, setting in settings.items():
            setattr(block, name, setting)
    return _after(self, _encoded(self, X))


@VisionTransformer.misconception
def post_norm(self, X):
    """The blocks are post-norm: each norm stands after the sum. nn.TransformerEncoderLayer makes them so unless told
    otherwise. A Vision Transformer is pre-norm: norm_first=True."""
    return _with(self, X, norm_first=False)


@VisionTransformer.misconception
def relu(self, X):
    """The activation of the MLPs is ReLU, as nn.TransformerEncoderLayer has it unless told otherwise. A Vision Transformer has
    GELU: activation="gelu"."""
    return _with(self, X, activation=F.relu)


@VisionTransformer.misconception
def post_norm_and_relu(self, X):
    """Two settings of the blocks are those that nn.TransformerEncoderLayer has by itself: post-norm, and ReLU. A Vision
    Transformer is pre-norm with GELU: norm_first=True, activation="gelu"."""
    return _with(self, X, norm_first=False, activation=F.relu)


@VisionTransformer.misconception
def post_norm_without_the_last(self, X):
    """The blocks are post-norm, and norm is not applied after the last one. That is how the first Transformers were built. A
    Vision Transformer is pre-norm, norm_first=True, and a last norm comes after its blocks."""
    for block in self.blocks:
        block.norm_first = False
    return self.head(_pooled(self, _encoded(self, X)))


@VisionTransformer.misconception
def settings_left_at_their_defaults(self, X):
    """Three settings of the blocks are those that nn.TransformerEncoderLayer has by itself: post-norm, ReLU, and the positions
    on the first axis, so that the attention runs across the batch. Asked for are norm_first=True, activation="gelu" and
    batch_first=True."""
    for block in self.blocks:
        block.norm_first, block.activation = False, F.relu
    return _after(self, _encoded(self, X.transpose(0, 1)).transpose(0, 1))


# correct models


@VisionTransformer.alternative
def step_by_step(self, X):
    """As a student would write it."""
    for block in self.blocks:
        X = block(X)
    Y = self.norm(X)
    pooled = Y[:, 1:].mean(dim=1) if self.mean_pooling else Y[:, 0]
    return self.head(pooled)


@VisionTransformer.alternative
def logits_before_the_mean(self, X):
    """The head is linear: the mean of the patches' logits is the head of their mean."""
    X = nn.Sequential(*self.blocks, self.norm)(X)
    return torch.mean(self.head(X[:, 1:]), dim=-2) if self.mean_pooling else self.head(X).select(1, 0)


@VisionTransformer.alternative
def weights_for_the_mean(self, X):
    B, tokens, _ = X.shape
    share = torch.zeros(B, 1, tokens, dtype=X.dtype, device=X.device)
    if self.mean_pooling:
        share[:, :, 1:] = 1 / (tokens - 1)
    else:
        share[:, :, 0] = 1
    Y = F.layer_norm(_encoded(self, X), X.shape[-1:], self.norm.weight, self.norm.bias, self.norm.eps)
    return self.head(torch.bmm(share, Y).squeeze(1))


@VisionTransformer.alternative
def block_by_block(self, X):
    """The blocks written out, with the layers that they hold."""
    for block in self.blocks:
        read = block.norm1(X)
        X = X + block.self_attn(read, read, read, need_weights=False)[0]
        X = X + block.linear2(F.gelu(block.linear1(block.norm2(X))))
    if self.mean_pooling:
        _, patches = X.split([1, X.shape[1] - 1], dim=1)
        return F.linear(self.norm(patches).sum(1) / patches.shape[1], self.head.weight, self.head.bias)
    return self.head(self.norm(X[:, 0]))
