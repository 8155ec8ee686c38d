"""The exercise quantize_blocks: mistakes in how the weights are cut into blocks, and in what a block is divided by."""

import torch
import torch.nn.functional as F

from autograder.exercises.unit_15_lora.quantize_blocks.declaration import (
    _blocks,
    _by_largest,
    _nearest,
    _packed,
    _quantised,
    quantize_blocks,
)


@quantize_blocks.misconception
def one_scale_for_all(W, code, block):
    """All numbers were divided by the largest magnitude of the whole matrix. A single large weight then leaves
    few codes for all the others, which is what blocks are against: each has a scale of its own."""
    return _quantised(W, code, block, scale=lambda w: (w / w.abs().max(), w.abs().max().expand(len(w)).clone()))


@quantize_blocks.misconception
def one_scale_a_row(W, code, block):
    """There is one scale for each row of W. Blocks know nothing of rows: W is read row by row as one long list, and a block is
    the next `block` numbers of it."""
    scaled, absmax = _by_largest(W)
    return _packed(_nearest(_blocks(scaled, block), code)), absmax


@quantize_blocks.misconception
def column_by_column(W, code, block):
    """W was read column by column. Asked for is row by row: W[0, 0], W[0, 1], …, as flatten() gives it."""
    return _quantised(W.mT, code, block)


@quantize_blocks.misconception
def last_block_left_out(W, code, block):
    """Where the numbers fill no whole block, the last ones were left out. All weights are needed: fill the last block up with
    zeros."""
    return _quantised(W, code, block, split=lambda W, block: W.flatten()[: W.numel() // block * block].view(-1, block))


@quantize_blocks.misconception(universal=True)
def not_divided(W, code, block):
    """The codes are nearest to the weights themselves. The code book reaches from −1 to 1, whatever size weights have: divide
    each block by its absmax first."""
    return _quantised(W, code, block, scale=lambda w: (w, _by_largest(w)[1]))


@quantize_blocks.misconception
def largest_with_its_sign(W, code, block):
    """A block is divided by its largest number, not by its largest magnitude. Where a negative number is larger in magnitude, the
    block leaves the range from −1 to 1; take abs() first."""

    def scale(w):
        largest = w.amax(dim=1)
        return (w / largest[:, None]).nan_to_num(), largest

    return _quantised(W, code, block, scale=scale)


def _by(size):
    """Each block over its size, and these."""

    def scale(w):
        sizes = size(w)
        return w / torch.where(sizes > 0, sizes, 1)[:, None], sizes

    return scale


@quantize_blocks.misconception
def mean_magnitude(W, code, block):
    """A block is divided by the mean of its magnitudes, so that numbers leave the range from −1 to 1. absmax is the largest
    magnitude."""
    return _quantised(W, code, block, scale=_by(lambda w: w.abs().mean(dim=1)))


@quantize_blocks.misconception
def length_of_the_block(W, code, block):
    """A block is divided by its length as a vector, the root of the sum of squares, which leaves the outer codes unused. absmax
    is the largest magnitude."""
    return _quantised(W, code, block, scale=_by(lambda w: w.norm(dim=1)))


@quantize_blocks.misconception
def zeros_in_front(W, code, block):
    """The list was filled up with zeros in front of the first number. They belong behind the last one, so that block 0 begins
    with W[0, 0]."""
    return _quantised(
        W, code, block, split=lambda W, block: F.pad(W.flatten(), (-W.numel() % block, 0)).view(-1, block)
    )


@quantize_blocks.misconception
def every_so_many(W, code, block):
    """Your blocks take one number in every so many, as if the list had been reshaped to [block, blocks]. A block should hold
    numbers that follow each other: reshape to [blocks, block]."""
    return _quantised(W, code, block, split=lambda W, block: _blocks(W, block).reshape(block, -1).mT)


def _unguarded(blocks):
    absmax = blocks.abs().amax(dim=1)
    return blocks / absmax[:, None], absmax


@quantize_blocks.misconception
def largest_magnitude_with_its_sign(W, code, block):
    """absmax is the number of largest magnitude with its sign, and a magnitude is never negative. Divided by a negative
    number, a block has the wrong signs; take abs()."""

    def scale(w):
        largest = w.gather(1, w.abs().argmax(dim=1, keepdim=True))
        return (w / largest).nan_to_num(), largest[:, 0]

    return _quantised(W, code, block, scale=scale)


@quantize_blocks.misconception
def each_row_filled_up(W, code, block):
    """Each row of W was filled up with zeros to whole blocks. Only the end of the whole list is: W is read row by row, and a
    block may go on in the next row."""
    return _quantised(torch.nn.functional.pad(W, (0, -W.shape[1] % block)), code, block)


@quantize_blocks.misconception
def zeros_divided_by_zero(W, code, block):
    """In a block of zeros every code is code 0, as argmin gives it for the NaN of 0 / 0, or where all distances are the same.
    Such a block needs the code that stands for 0: divide it by 1, say, or replace the NaN."""
    return _quantised(W, code, block, scale=_unguarded)


@quantize_blocks.misconception
def zeros_beyond_the_last_code(W, code, block):
    """In a block of zeros every code is code 15, as a search gives it for the NaN of 0 / 0. Such a block needs the code that
    stands for 0: divide it by 1, say, or replace the NaN."""

    def choose(w, code):
        return torch.where(w.isnan(), 15, _nearest(w, code))

    return _quantised(W, code, block, scale=_unguarded, choose=choose)


@quantize_blocks.misconception
def zeros_have_scale_1(W, code, block):
    """The absmax of a block of zeros comes back as 1. A 1 may be what such a block is divided by; returned is its largest
    magnitude, which is 0."""

    def scale(w):
        scaled, absmax = _by_largest(w)
        return scaled, torch.where(absmax > 0, absmax, 1)

    return _quantised(W, code, block, scale=scale)
