"""The exercise quantize_blocks: mistakes in which code a number gets, and in how two of them share a byte."""

import torch

from autograder.exercises.unit_15_lora._shared import NF4
from autograder.exercises.unit_15_lora.quantize_blocks.declaration import _blocks, _nearest, _quantised, quantize_blocks


@quantize_blocks.misconception
def rounded_up(W, code, block):
    """Each number got the first code that is not below it, so it is always rounded up, as by a search in the code book itself.
    The nearest code may be the one below: compare distances, or search among the numbers halfway between codes."""
    return _quantised(W, code, block, choose=lambda w, code: torch.bucketize(w, code).clamp(max=15))


@quantize_blocks.misconception
def rounded_down(W, code, block):
    """Each number got the last code that is not above it, so it is always rounded down. The nearest code may be the one above:
    compare distances, or search among the numbers halfway between codes."""
    below = lambda w, code: torch.bucketize(w, code, right=True).sub(1).clamp(0, 15)  # noqa: E731
    return _quantised(W, code, block, choose=below)


@quantize_blocks.misconception
def evenly_spaced_codes(W, code, block):
    """The codes are as if the numbers of the code book were evenly spaced from −1 to 1. They need not be: compare with the
    numbers that `code` holds."""
    return _quantised(W, torch.linspace(-1, 1, 16, dtype=W.dtype, device=W.device), block)


@quantize_blocks.misconception
def zeros_get_code_7(W, code, block):
    """In a block of zeros every code is 7, the place of 0 in NF4. Other code books have their 0 at another place: look for the
    nearest number there, too."""
    zero = _blocks(W, block).abs().amax(dim=1, keepdim=True) == 0
    return _quantised(W, code, block, choose=lambda w, code: torch.where(zero, 7, _nearest(w, code)))


@quantize_blocks.misconception(universal=True)
def always_nf4(W, code, block):
    """The codes are those of NF4, whatever `code` holds. Compare the numbers with the code book that is given."""
    return _quantised(W, torch.from_numpy(NF4).to(W), block)


@quantize_blocks.misconception
def code_0_in_the_padding(W, code, block):
    """Behind the last number the codes are 0, as if the codes were filled up. Fill up the numbers: a zero gets the code that
    stands for 0, and code 0 stands for code[0], the most negative number."""

    def choose(w, code):
        codes = _nearest(w, code).flatten()
        return torch.where(torch.arange(len(codes), device=W.device) < W.numel(), codes, 0)

    return _quantised(W, code, block, choose=choose)


def _paired(first, second):
    return (16 * first + second).flatten().to(torch.uint8)


@quantize_blocks.misconception
def first_in_the_low_half(W, code, block):
    """The halves of each byte are exchanged. The first of two codes stands in the high half, the four bits that count 16 each."""
    return _quantised(W, code, block, pack=lambda c: _paired(c[:, 1::2], c[:, ::2]))


@quantize_blocks.misconception
def halves_of_all_paired(W, code, block):
    """A byte holds one code of the first half of the whole list, and one of its second half. Neighbours share a byte: codes 0 and
    1, then codes 2 and 3."""
    return _quantised(W, code, block, pack=lambda c: _paired(*c.flatten().chunk(2)))


@quantize_blocks.misconception
def not_packed(W, code, block):
    """Each code has a byte to itself. A code needs four bits only, so two of them share a byte, and there are half as many
    bytes as numbers."""
    return _quantised(W, code, block, pack=lambda c: c.flatten().to(torch.uint8))


@quantize_blocks.misconception
def shifted_by_a_sum(W, code, block):
    """The first code was shifted by 4 and the second code together: + binds more tightly than <<, so a << 4 + b is a << (4 + b).
    Write (a << 4) + b, or a << 4 | b."""
    return _quantised(W, code, block, pack=lambda c: (c[:, ::2] << (4 + c[:, 1::2])).flatten().to(torch.uint8))
