"""Exercise 4 again: mistakes in what a block is: cut along another axis, too large, left out, counted twice."""

import math

import torch
import torch.nn.functional as F

from autograder.exercises.unit_08_efficient_attention.tiled_attention.declaration import (
    _blocks,
    _divided,
    _scores,
    _tiled,
    tiled_attention,
)


@tiled_attention.misconception
def whole_table(Q, K, V, block):
    """The numbers are right, but on the way a tensor is made that is as large as the whole table of scores: all at once, in
    blocks much larger than `block`, or was something of every block kept and stacked? Look at `block` data vectors at a time
    and keep only m, l and O."""
    return _scores(Q, K).softmax(dim=-1) @ V


@tiled_attention.misconception
def blocks_of_queries_alone(Q, K, V, block):
    """The queries go in blocks, but each block meets all N_X data vectors at once. It is the data vectors that are to come in
    blocks, so that a row of scores is never needed whole: that is what m, l and O are for."""
    return torch.cat([_scores(q, K).softmax(dim=-1) @ V for q in Q.split(block, dim=1)], dim=1)


@tiled_attention.misconception
def blocks_of_another_size(Q, K, V, block):
    """The numbers are right, but the blocks do not hold `block` data vectors: is their size fixed in the code, was `block`
    taken for how many blocks there are, or was something of every block kept and stacked? What fits into the fast memory is for
    the caller to say."""
    return _divided(*_tiled(Q, _blocks(K, V, 8)))


@tiled_attention.misconception
def blocks_of_the_batch(Q, K, V, block):
    """The blocks are cut from the batch, axis 0, as split does without dim. The data vectors are axis 1: split(block, dim=1)."""
    return _divided(*_tiled(Q, list(zip(K.split(block), V.split(block))), V.shape[-1]))


@tiled_attention.misconception
def blocks_of_features(Q, K, V, block):
    """The blocks are cut from the features, the last axis. The data vectors are axis 1: split(block, dim=1)."""
    return _divided(*_tiled(Q, list(zip(K.split(block, dim=-1), V.split(block, dim=-1))), V.shape[-1]))


@tiled_attention.misconception
def last_block_dropped(Q, K, V, block):
    """The last block is left out when it is shorter than the others. range(0, N_X, block) begins it, and a slice ends by itself
    where the vectors end."""
    return _divided(*_tiled(Q, _blocks(K, V, block)[: K.shape[-2] // block], V.shape[-1]))


@tiled_attention.misconception
def last_block_always_dropped(Q, K, V, block):
    """The last block is left out, whether it is shorter than the others or not. range(0, N_X, block) begins all blocks: do
    not subtract anything from N_X."""
    return _divided(*_tiled(Q, _blocks(K, V, block)[:-1], V.shape[-1]))


@tiled_attention.misconception
def last_vector_of_each_block_dropped(Q, K, V, block):
    """The last data vector of each block is left out. A slice itself stops before its end: the block that begins at i is [:, i
    : i + block]."""
    blocks = [(K[:, b : b + block - 1], V[:, b : b + block - 1]) for b in range(0, K.shape[-2], block)]
    return _divided(*_tiled(Q, blocks))


@tiled_attention.misconception
def padding_takes_part(Q, K, V, block):
    """The last block was filled up with zeros, and these take part: a key of zeros has the score 0, and weight. Leave the block
    shorter, or give the filling the score −inf."""
    filling = (0, 0, 0, -K.shape[-2] % block)
    return _divided(*_tiled(Q, _blocks(F.pad(K, filling), F.pad(V, filling), block)))


@tiled_attention.misconception
def last_block_overlaps(Q, K, V, block):
    """The last block begins earlier, so that it is as long as the others: some data vectors are counted twice. A last block may
    be shorter."""
    starts = [max(0, min(b, K.shape[-2] - block)) for b in range(0, K.shape[-2], block)]
    return _divided(*_tiled(Q, [(K[:, b : b + block], V[:, b : b + block]) for b in starts]))


@tiled_attention.misconception
def blocks_overlap(Q, K, V, block):
    """The blocks overlap: each begins one vector after the last, so that most are counted several times. The step of the range is
    the size of a block: range(0, N_X, block)."""
    return _divided(*_tiled(Q, _blocks(K, V, block, step=1)))


@tiled_attention.misconception
def blocks_not_begun_at_multiples(Q, K, V, block):
    """The blocks begin at 0, 1, 2, …, so that they overlap, and do not reach the end. Block i begins at i·block: with range(0,
    N_X, block) the steps are made for you."""
    starts = range(math.ceil(K.shape[-2] / block))
    return _divided(*_tiled(Q, [(K[:, b : b + block], V[:, b : b + block]) for b in starts]))


@tiled_attention.misconception
def blocks_counted_over_the_queries(Q, K, V, block):
    """The blocks are counted over N_Q, the number of queries. They are blocks of data vectors: N_X = K.shape[-2]."""
    blocks = [(K[:, b : b + block], V[:, b : b + block]) for b in range(0, Q.shape[-2], block)]
    return _divided(*_tiled(Q, blocks))


@tiled_attention.misconception
def first_block_alone(Q, K, V, block):
    """Only the first block took part, as if the return stood inside the loop. All blocks share one softmax."""
    return _scores(Q, K[:, :block]).softmax(dim=-1) @ V[:, :block]


@tiled_attention.misconception
def last_block_alone(Q, K, V, block):
    """Only the last block counts. The sums of earlier blocks were overwritten, or multiplied by 0 because m still is −inf:
    at the end of each step m, l and O all become the new ones."""
    return _divided(*_tiled(Q, _blocks(K, V, block)[-1:]))


@tiled_attention.misconception
def own_block_alone(Q, K, V, block):
    """Each block of queries attended to the block of data vectors at the same positions alone. That is local attention; every
    query attends to all data vectors, some at a time."""
    own = _blocks(K, V, block)
    rows = []
    for place, q in enumerate(Q.split(block, dim=1)):
        k, v = own[min(place, len(own) - 1)]
        rows.append(_scores(q, k).softmax(dim=-1) @ v)
    return torch.cat(rows, dim=1)
