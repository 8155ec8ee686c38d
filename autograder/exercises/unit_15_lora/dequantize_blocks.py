"""The exercise dequantize_blocks: from codes and scales back to weights."""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_15_lora._shared import INTEGERS, NF4, drawn_code


def _drawn(inputs, sizes, rng):
    """Any bytes, in the padding too."""
    packed = rng.integers(0, 256, sizes["bytes"]).astype("uint8")
    return {"packed": packed, "absmax": abs(inputs["absmax"]) + 0.3, "code": drawn_code(rng)}


def _with(code=None, zero=None, factor=1):
    """What gives a case a code book, a block of zeros, and large scales."""

    def edit(inputs, rng):
        inputs["code"] = inputs["code"] if code is None else code.copy()
        if zero is not None:
            inputs["absmax"][zero] = 0
        inputs["absmax"] *= np.float32(factor)

    return edit


def _case(property, block, D_out, D_in, code=None, zero=None, factor=1, **more):
    """The sizes of an input follow from those of the weights and of blocks."""
    blocks = -(-D_out * D_in // block)
    sizes = {"bytes": blocks * block // 2 if block > 2 else "blocks", "blocks": blocks, "D_out": D_out, "D_in": D_in}
    return Case(property, sizes=sizes, edit=_with(code, zero, factor), **more)


@exercise(
    points=2,
    section="Weights of four bits",
    source="Dettmers et al. 2023, QLoRA: Efficient Finetuning of Quantized LLMs, section 2, block-wise k-bit quantization",
    outputs="W",
    formula="c[2p] = packed[p] // 16 and c[2p + 1] = packed[p] % 16; block = 2·bytes / blocks; w[n] = code[c[n]] ·"
    " absmax[n // block]; W[i, j] = w[i·D_in + j], and what stands behind these is padding; packed [bytes], absmax [blocks]"
    " and code [16] give W [D_out, D_in]",
    cases=[
        _case("numbers that fill whole blocks", 8, 4, 6, NF4),
        _case("a last block that is not full", 8, 5, 9, NF4),
        _case("another code book", 10, 2, 12),
        _case("rows longer than a block", 4, 3, 13),
        _case("blocks of two numbers", 2, 3, 7),
        _case("a block of zeros", 8, 3, 29, NF4, zero=1),
        _case("one block, with padding", 24, 3, 5, NF4),
        _case("padding of almost a block", 12, 2, 37),
        _case("blocks of 64, as in QLoRA", 64, 24, 41, NF4, edge=True),
        _case("hundreds of small blocks", 6, 47, 53, INTEGERS, edge=True),
        _case(
            "hundreds of large scales in bfloat16",
            6,
            47,
            53,
            factor=1e37,
            precision="bfloat16",
            extreme=True,
            edge=True,
        ),
        _case("one row", 6, 1, 17, edge=True),
        _case("one column", 6, 17, 1, edge=True),
        _case("one number", 2, 1, 1, edge=True),
        _case("sizes that coincide", 10, 4, 4, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def dequantize_blocks(
    packed: UInt8[Tensor, "bytes"], absmax: Float[Tensor, "blocks"], code: Float[Tensor, "16"], D_out: int, D_in: int
) -> Float[Tensor, "D_out D_in"]:
    byte = packed.long()
    c = torch.stack([byte // 16, byte % 16], dim=1)  # [bytes, 2]
    w = code[c].reshape(len(absmax), -1) * absmax[:, None]  # [blocks, block]
    return w.flatten()[: D_out * D_in].view(D_out, D_in)


def _codes(packed):
    return torch.stack([packed >> 4, packed & 15], dim=1).long().flatten()


def _cut(w, D_out, D_in):
    """The weights without the padding, in rows."""
    return w.flatten()[: D_out * D_in].reshape(D_out, D_in)


def _scaled(numbers, absmax):
    return (numbers.reshape(len(absmax), -1) * absmax[:, None]).flatten()


@dequantize_blocks.misconception
def low_half_first(packed, absmax, code, D_out, D_in):
    """The halves of each byte are exchanged. The first of two numbers stands in the high half, packed // 16."""
    return _cut(_scaled(code[_codes(packed).view(-1, 2).flip(1)], absmax), D_out, D_in)


@dequantize_blocks.misconception
def high_half_twice(packed, absmax, code, D_out, D_in):
    """Both numbers of a byte are looked up by its high half. The code of the second is the low half, packed % 16."""
    return _cut(_scaled(code[_codes(packed)[::2].repeat_interleave(2)], absmax), D_out, D_in)


@dequantize_blocks.misconception
def all_high_halves_first(packed, absmax, code, D_out, D_in):
    """First come the codes of all high halves, then those of all low halves, as cat gives them. The two codes of a byte are
    neighbours: stack them along a last axis, then flatten."""
    return _cut(_scaled(code[_codes(packed).view(-1, 2).mT.flatten()], absmax), D_out, D_in)


@dequantize_blocks.misconception
def bytes_as_a_mask(packed, absmax, code, D_out, D_in):
    """The code book is indexed by a tensor of uint8, which torch takes for a mask, as if it were True and False. Indices are
    int64: packed.long() first."""
    return _cut(_scaled(torch.stack([code[packed >> 4], code[packed & 15]], dim=1), absmax), D_out, D_in)


@dequantize_blocks.misconception
def codes_as_a_mask(packed, absmax, code, D_out, D_in):
    """The code book is indexed by codes of uint8, which torch takes for a mask, as if they were True and False. Indices are
    int64: codes.long() first."""
    codes = torch.stack([packed >> 4, packed & 15], dim=1).flatten()
    return _cut(_scaled(code[codes], absmax), D_out, D_in)


@dequantize_blocks.misconception
def codes_not_looked_up(packed, absmax, code, D_out, D_in):
    """The codes themselves were multiplied by the scales. A code is a place in the code book, from 0 to 15; the number that it
    stands for is code[c]."""
    return _cut(_scaled(_codes(packed).to(code), absmax), D_out, D_in)


@dequantize_blocks.misconception
def signed_codes(packed, absmax, code, D_out, D_in):
    """The codes were taken for signed numbers, so that code 0 is looked up at place 8. A code is a place in the code book, from 0
    to 15: what stands for negative numbers is for the code book to say."""
    return _cut(_scaled(code[(_codes(packed) + 8) % 16], absmax), D_out, D_in)


@dequantize_blocks.misconception(universal=True)
def always_integers(packed, absmax, code, D_out, D_in):
    """Each code c stands for (c − 8)/8 here, as in signed integers, whatever `code` holds. Look the codes up in the code book
    that is given."""
    return _cut(_scaled(torch.from_numpy(INTEGERS).to(code)[_codes(packed)], absmax), D_out, D_in)


@dequantize_blocks.misconception(universal=True)
def evenly_spaced_codes(packed, absmax, code, D_out, D_in):
    """The codes stand for 16 evenly spaced numbers from −1 to 1, whatever `code` holds. Look them up in the code book."""
    return _cut(_scaled(torch.linspace(-1, 1, 16).to(code)[_codes(packed)], absmax), D_out, D_in)


@dequantize_blocks.misconception
def not_scaled(packed, absmax, code, D_out, D_in):
    """These are the numbers of the code book, from −1 to 1. Each has to be multiplied by the absmax of its block."""
    return _cut(code[_codes(packed)], D_out, D_in)


@dequantize_blocks.misconception
def divided_by_the_scale(packed, absmax, code, D_out, D_in):
    """The numbers of the code book were divided by absmax. Weights were divided by it, to lie between −1 and 1; the way back is
    to multiply."""
    return _cut(_scaled(code[_codes(packed)], 1 / absmax), D_out, D_in)


@dequantize_blocks.misconception
def blocks_of_bytes(packed, absmax, code, D_out, D_in):
    """Each scale was used for half as many numbers as a block has, as if a byte held one number. It holds two: a block has
    2·bytes/blocks numbers."""
    numbers = code[_codes(packed)]
    scales = absmax.repeat_interleave(len(packed) // len(absmax))
    return _cut(numbers * scales.repeat(2)[: len(numbers)], D_out, D_in)


@dequantize_blocks.misconception
def scales_in_turn(packed, absmax, code, D_out, D_in):
    """Neighbouring numbers got different scales, one after another, as repeat and tile give them. A block is made of numbers that
    follow each other, and all of them have one scale: repeat_interleave, or one row for each block."""
    numbers = code[_codes(packed)]
    return _cut(numbers * absmax.repeat(len(numbers) // len(absmax)), D_out, D_in)


@dequantize_blocks.misconception
def block_counted_in_bytes(packed, absmax, code, D_out, D_in):
    """Each scale was used for twice as many numbers as it should be, as if a block were so many bytes. A byte holds two numbers:
    byte p belongs to block 2p // block."""
    block = 2 * len(packed) // len(absmax)
    numbers = code[_codes(packed)]
    return _cut(numbers * absmax[torch.arange(len(numbers), device=packed.device) // (2 * block)], D_out, D_in)


@dequantize_blocks.misconception
def padding_not_counted(packed, absmax, code, D_out, D_in):
    """The size of a block was taken from the numbers of W, D_out·D_in, so it is too small where there is much padding. All
    blocks are of one size, the last one with its padding: 2·bytes / blocks."""
    numbers = code[_codes(packed)][: D_out * D_in]
    block = -(-len(numbers) // len(absmax))
    return _cut(numbers * absmax.repeat_interleave(block)[: len(numbers)], D_out, D_in)


@dequantize_blocks.misconception
def first_scale_for_all(packed, absmax, code, D_out, D_in):
    """All numbers were multiplied by the scale of the first block. Each block has its own."""
    return _cut(code[_codes(packed)] * absmax[0], D_out, D_in)


@dequantize_blocks.misconception
def a_scale_for_each_row(packed, absmax, code, D_out, D_in):
    """Each row of W was multiplied by one scale. Blocks know nothing of rows: number n of the whole list belongs to block
    n // block, and a block may end within a row."""
    row = torch.arange(D_out, device=packed.device).clamp(max=len(absmax) - 1)
    return _cut(code[_codes(packed)], D_out, D_in) * absmax[row, None]


@dequantize_blocks.misconception(universal=True)
def always_64(packed, absmax, code, D_out, D_in):
    """The scale changes after 64 numbers, whatever the size of a block is. That is QLoRA's size; here it follows from the
    inputs: 2·bytes / blocks."""
    numbers = code[_codes(packed)]
    place = torch.arange(len(numbers), device=packed.device) // 64
    return _cut(numbers * absmax[place], D_out, D_in)


@dequantize_blocks.misconception
def cut_at_the_front(packed, absmax, code, D_out, D_in):
    """The first numbers were left out. Padding stands behind the last number of W, so the first D_out·D_in numbers are the ones
    to keep."""
    return _scaled(code[_codes(packed)], absmax)[-D_out * D_in :].view(D_out, D_in)


@dequantize_blocks.misconception
def padding_cut_off_each_row(packed, absmax, code, D_out, D_in):
    """Padding was cut off the end of each row. It stands behind the last number of all alone: leave it out first, then make
    rows."""
    return _scaled(code[_codes(packed)], absmax).view(D_out, -1)[:, :D_in]


@dequantize_blocks.misconception
def filled_column_by_column(packed, absmax, code, D_out, D_in):
    """W is filled column by column. The numbers follow each other row by row: W[0, 0], W[0, 1], …"""
    return _cut(_scaled(code[_codes(packed)], absmax), D_in, D_out).mT


@dequantize_blocks.misconception(universal=True)
def always_nf4(packed, absmax, code, D_out, D_in):
    """The numbers are those of NF4, whatever `code` holds. Look the codes up in the code book that is given."""
    return _cut(_scaled(torch.from_numpy(NF4).to(code)[_codes(packed)], absmax), D_out, D_in)


@dequantize_blocks.alternative
def as_a_student(packed, absmax, code, D_out, D_in):
    high = (packed >> 4).to(torch.int64)
    low = (packed & 0x0F).to(torch.int64)
    codes = torch.stack((high, low), dim=-1).reshape(-1)
    values = code[codes]
    block = values.numel() // absmax.numel()
    weights = values * absmax.repeat_interleave(block)
    return weights[: D_out * D_in].reshape(D_out, D_in)


@dequantize_blocks.alternative
def number_by_number(packed, absmax, code, D_out, D_in):
    W = torch.zeros(D_out, D_in, dtype=code.dtype, device=code.device)
    block = 2 * packed.shape[0] // absmax.shape[0]
    for n in range(D_out * D_in):
        byte = int(packed[n // 2])
        c = byte // 16 if n % 2 == 0 else byte % 16
        W[n // D_in, n % D_in] = code[c] * absmax[n // block]
    return W


@dequantize_blocks.alternative
def into_an_empty_list(packed, absmax, code, D_out, D_in):
    """Every other number, then the scales in place."""
    w = code.new_empty(2 * len(packed))
    w[::2], w[1::2] = code.index_select(0, packed.int() >> 4), code.index_select(0, packed.int() & 15)
    w.view(len(absmax), -1).mul_(absmax.unsqueeze(1))
    return w[: D_out * D_in].view(D_out, D_in)


@dequantize_blocks.alternative
def with_a_table(packed, absmax, code, D_out, D_in):
    """Both numbers of each of the 256 bytes."""
    table = torch.stack([code.repeat_interleave(16), code.repeat(16)], dim=1)
    w = torch.einsum("sn,s->sn", table[packed.long()].reshape(len(absmax), -1), absmax)
    return w.reshape(-1)[: D_out * D_in].unflatten(0, (D_out, D_in))


@dequantize_blocks.alternative
def with_outer_products(packed, absmax, code, D_out, D_in):
    """All codes at every scale, and the place of each number among them."""
    codes = torch.cat([packed[:, None].div(16, rounding_mode="floor"), packed[:, None].remainder(16)], dim=1).flatten()
    n = torch.arange(D_out * D_in, device=packed.device).view(D_out, D_in)
    return torch.outer(absmax, code)[n // (len(codes) // len(absmax)), codes.long()[n]]
