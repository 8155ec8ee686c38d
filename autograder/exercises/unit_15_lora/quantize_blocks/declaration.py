"""The exercise quantize_blocks: weights in blocks, each number one of 16 codes."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_15_lora._shared import INTEGERS, NF4, apart, drawn_code

SMALLER = 0.01  # a row than the one before


def _drawn(inputs, sizes, rng):
    code = drawn_code(rng)
    return {"code": code, "W": apart(inputs["W"], code, inputs["block"])}


def _edited(code=None, change=None):
    """What gives the inputs of a case a code book, and changes their weights in place."""

    def edit(inputs, rng):
        inputs["code"] = inputs["code"] if code is None else code.copy()
        if change:
            change(inputs["W"], inputs["block"])
        inputs["W"] = apart(inputs["W"], inputs["code"], inputs["block"])

    return edit


def _zero_block(W, block):
    W.ravel()[block : 2 * block] = 0


def _zero_rows(W, block):
    W[:-1] *= 0.02
    W[-1] = 0


def _unlike_rows(W, block):
    for row in range(len(W)):
        W[row] *= SMALLER**row


def _large(W, block):
    W *= 1e30  # whose squares overflow


def _small(W, block):
    W *= 1e-30  # beside which any epsilon is large


def _one_large_row(W, block):
    W[1] *= 300


def _all_zero(W, block):
    W[:] = 0


def _case(property, block, D_out=0, D_in=0, code=None, change=None, **more):
    sizes = {"D_out": D_out, "D_in": D_in} if D_out else {}
    return Case(property, values={"block": block}, sizes=sizes, edit=_edited(code, change), **more)


@exercise(
    points=3,
    section="Weights of four bits",
    source="Dettmers et al. 2023, QLoRA: Efficient Finetuning of Quantized LLMs, section 2, block-wise k-bit quantization",
    outputs="packed absmax",
    formula="W row by row, and zeros up to whole blocks of `block` numbers, is w; absmax[s] = max |w[n]| over block s, that is"
    " n = s·block, …, (s + 1)·block − 1; code[c[n]] is the number of the code book nearest to w[n] / absmax[s], or to 0 where"
    " absmax[s] = 0; packed[p] = 16·c[2p] + c[2p + 1]; W [D_out, D_in] and code [16] give packed [bytes], torch.uint8, and"
    " absmax [blocks], with bytes = blocks·block/2",
    cases=[
        _case("numbers that fill whole blocks", 8, 4, 6, NF4),
        _case("a last block that is not full", 8, 5, 7, NF4),
        _case("another code book", 8),
        _case("rows longer than a block", 4, 3, 10),
        _case("blocks of two numbers", 2, 3, 5),
        _case("a block of zeros", 8, 4, 7, NF4, _zero_block),
        _case("small weights, and a row of zeros", 4, 3, 8, change=_zero_rows),
        _case("rows of very different sizes", 6, 4, 5, NF4, _unlike_rows),
        _case("blocks of 64, as in QLoRA", 64, 24, 41, NF4, edge=True),
        _case("signed integers as code book", 8, 6, 5, INTEGERS, edge=True),
        _case("one block, not full", 16, 3, 4, NF4, edge=True),
        _case("large weights", 8, 4, 5, NF4, _large, edge=True, extreme=True),
        _case("small weights alone", 8, 4, 5, NF4, _small, edge=True),
        _case("one row of large weights", 6, 5, 4, NF4, _one_large_row, edge=True, extreme=True),
        _case("all weights 0", 8, 4, 5, change=_all_zero, edge=True),
        _case("all weights 0, whole blocks", 4, 4, 5, NF4, _all_zero, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
    zeros="absmax",
    waived={
        "large": "the code book would grow with the weights; large weights have cases of their own",
        "spread": "the code book would grow with the weights; rows of very different sizes have a case of their own",
        "zero": "a code book of zeros has no nearest code; blocks of zeros have cases of their own",
    },
)
def quantize_blocks(
    W: Float[Tensor, "D_out D_in"], code: Float[Tensor, "16"], block: int
) -> tuple[UInt8[Tensor, "bytes"], Float[Tensor, "blocks"]]:
    w = F.pad(W.flatten(), (0, -W.numel() % block)).unflatten(0, (-1, block))  # [blocks, block]
    absmax = w.abs().amax(dim=1)  # [blocks]
    scaled = (w / absmax[:, None]).nan_to_num()  # [blocks, block]; 0 / 0 in a block of zeros
    c = (scaled[:, :, None] - code).abs().argmin(dim=2).flatten()  # [blocks·block]
    packed = 16 * c[::2] + c[1::2]  # [bytes]
    return packed.to(torch.uint8), absmax


def _blocks(W, block):
    return F.pad(W.flatten(), (0, -W.numel() % block)).view(-1, block)


def _by_largest(blocks):
    """Each block over its largest magnitude, and these."""
    absmax = blocks.abs().amax(dim=1)
    return blocks / torch.where(absmax > 0, absmax, 1)[:, None], absmax


def _nearest(scaled, code):
    return (scaled[..., None] - code).abs().argmin(dim=-1)


def _packed(codes):
    """Two codes in a byte, whatever the shape of the codes."""
    pairs = codes.reshape(-1, 2)
    return (pairs[:, 0] * 16 + pairs[:, 1]).to(torch.uint8)


def _quantised(W, code, block, split=_blocks, scale=_by_largest, choose=_nearest, pack=_packed):
    """The right result, but for the steps that are given."""
    scaled, absmax = scale(split(W, block))
    return pack(choose(scaled, code)), absmax


@quantize_blocks.alternative
def as_a_student(W, code, block):
    flat = W.reshape(-1)
    missing = (block - flat.numel() % block) % block
    flat = torch.cat([flat, torch.zeros(missing, dtype=W.dtype, device=W.device)])
    blocks = flat.reshape(-1, block)
    absmax = blocks.abs().max(dim=1).values
    scale = absmax.clone()
    scale[scale == 0] = 1
    normalised = blocks / scale.unsqueeze(1)
    codes = torch.argmin(torch.abs(normalised.unsqueeze(-1) - code), dim=-1).reshape(-1)
    packed = (codes[::2] << 4) | codes[1::2]
    return packed.to(torch.uint8), absmax


@quantize_blocks.alternative
def with_bucketize(W, code, block):
    scaled, absmax = _by_largest(_blocks(W, block))
    halfway = (code[1:] + code[:-1]) / 2
    high, low = torch.bucketize(scaled, halfway).to(torch.uint8).view(-1, 2).unbind(dim=1)
    return high << 4 | low, absmax


@quantize_blocks.alternative
def block_by_block(W, code, block):
    packed, scales = [], []
    for one in W.flatten().split(block):
        one = torch.cat([one, one.new_zeros(block - len(one))])
        absmax = one.abs().max()
        if absmax > 0:
            one = one * (1 / absmax)
        codes = [int((code - x).abs().argmin()) for x in one]
        packed += [16 * high + low for high, low in zip(codes[::2], codes[1::2])]
        scales.append(absmax)
    return torch.tensor(packed, dtype=torch.uint8, device=W.device), torch.stack(scales)


@quantize_blocks.alternative
def codes_times_scale(W, code, block):
    """Instead of the numbers over the scale, the codes times the scale."""
    blocks = _blocks(W, block)
    absmax = torch.linalg.vector_norm(blocks, ord=float("inf"), dim=1)
    table = absmax[:, None] * code  # [blocks, 16]
    codes = torch.cdist(blocks[..., None], table[..., None], p=1).argmin(dim=-1)
    codes[absmax == 0] = code.abs().argmin()
    return (codes.view(-1, 2) * codes.new_tensor([16, 1])).sum(dim=1).byte(), absmax


@quantize_blocks.alternative
def into_empty_blocks(W, code, block):
    blocks = W.new_zeros((W.numel() + block - 1) // block * block)
    blocks[: W.numel()] = W.flatten()
    blocks = blocks.view(-1, block)
    absmax = torch.maximum(blocks.amax(dim=1), -blocks.amin(dim=1))
    blocks[absmax > 0] /= absmax[absmax > 0, None]
    codes = torch.searchsorted((code[1:] + code[:-1]) / 2, blocks)
    return codes[:, ::2].mul(16).add(codes[:, 1::2]).flatten().to(torch.uint8), absmax
