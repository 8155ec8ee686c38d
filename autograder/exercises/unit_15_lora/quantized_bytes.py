"""The bytes that quantised weights take."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

LARGE = 200_000_001  # a matrix of GPT-3; float32 holds all whole numbers up to 2²⁴ alone
HUGE = 2**56 + 1  # beyond what float64 holds


def _drawn(inputs, sizes, rng):
    """Odd numbers of weights, whose last blocks of weights and of scales are not full."""
    block, second = (inputs.get(name) for name in ("block", "second_block"))
    if block is None:
        block, second = map(int, rng.choice((11, 13, 17, 19, 23), 2, replace=False))
    n = np.arange(2001, 10_000, 2)
    n = n[((n % block > 0) | (block == 1)) & (-(-n // block) % second > 0)]
    return {"n": rng.permutation(n)[: sizes["S"]], "block": block, "second_block": second}


def _large(inputs, rng):
    inputs["n"][:] = LARGE + 2 * rng.permutation(10**6)[: len(inputs["n"])]


def _huge(inputs, rng):
    inputs["n"][:] = HUGE + 2 * rng.permutation(10**6)[: len(inputs["n"])]


def _even(inputs, rng):
    """Whole blocks, and whole blocks of scales."""
    inputs["n"][:] = 2 * inputs["block"] * inputs["second_block"] * (1 + rng.permutation(20)[: len(inputs["n"])])


def _edges(inputs, rng):
    """A single number, a block less one, a block, and one more; the same for blocks of scales."""
    block, second = inputs["block"], inputs["second_block"]
    whole = block * second
    inputs["n"][:] = 1, block - 1, block, block + 1, whole - 1, whole, whole + 1


def _case(text, double, **more):
    values = {"double": double}
    if more.pop("qlora", False):
        values |= {"block": 64, "second_block": 256}
    if more.pop("ones", False):
        values |= {"block": 1, "second_block": 7}
    return Case(f"{text}, {'double' if double else 'simple'} quantisation", values=values, **more)


@exercise(
    points=1,
    section="Double quantisation: what the scales cost",
    source="Dettmers et al. 2023, QLoRA, section 3, double quantisation",
    outputs="size",
    formula="with ⌈x⌉ rounded up: ⌈n/2⌉ bytes of codes, and m = ⌈n/block⌉ scales. Simple: + 4·m. Double: + m + 4·⌈m/second_block⌉"
    " + 4, one byte a scale, a float32 for each block of scales, and their mean. Whole numbers [S], each matrix by itself",
    cases=[
        _case("a few matrices", True),
        _case("a few matrices", False),
        _case("QLoRA's blocks", True, qlora=True),
        _case("QLoRA's blocks", False, qlora=True),
        _case("large matrices", True, qlora=True, edit=_large),
        _case("whole blocks", True, edit=_even),
        _case("large matrices", False, qlora=True, edit=_large),
        _case("whole blocks", False, edit=_even),
        _case("sizes at their edges", True, sizes={"S": 7}, edit=_edges, edge=True),
        _case("sizes at their edges", False, sizes={"S": 7}, edit=_edges, edge=True),
        _case("blocks of one number", True, ones=True, edge=True),
        _case("blocks of one number", False, ones=True, edge=True),
        _case("numbers beyond double precision", True, qlora=True, edit=_huge, edge=True),
        _case("numbers beyond double precision", False, qlora=True, edit=_huge, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def quantized_bytes(n: Int[Tensor, "S"], block: int, second_block: int, double: bool) -> Int[Tensor, "S"]:
    found = []
    for numbers in n.tolist():
        codes, scales = -(-numbers // 2), -(-numbers // block)
        found.append(codes + (scales + 4 * -(-scales // second_block) + 4 if double else 4 * scales))
    return torch.tensor(found, device=n.device)


def _up(numbers, by):
    return (numbers + by - 1) // by


def _size(n, block, second_block, double, codes=None, means=4, scales=None, seconds=None):
    """The right sizes, but for what is given: bytes of codes and of means, numbers of scales and of scales of scales."""
    codes, scales = _up(n, 2) if codes is None else codes, _up(n, block) if scales is None else scales
    seconds = _up(scales, second_block) if seconds is None else seconds
    return codes + (scales + 4 * seconds + means if double else 4 * scales)


# the codes


@quantized_bytes.misconception
def a_byte_for_each_code(*given):
    """Each code is counted as a byte. It has 4 bits: two share a byte."""
    return _size(*given, codes=given[0])


@quantized_bytes.misconception
def last_code_lost(*given):
    """Half a byte was rounded down. Where n is odd, the last code has a byte to itself: ⌈n/2⌉."""
    return _size(*given, codes=given[0] // 2)


@quantized_bytes.misconception
def padded_to_whole_blocks(*given):
    """The codes are counted as if the last block were full. There are n codes, ⌈n/2⌉ bytes; only the number of scales
    is rounded up to whole blocks."""
    n, block, *_ = given
    return _size(*given, codes=_up(_up(n, block) * block, 2))


@quantized_bytes.misconception
def each_block_begins_a_byte(*given):
    """The codes of each block were given whole bytes. Where a block has an odd number of weights, its last code shares a byte
    with the first code of the next block: all codes together take ⌈n/2⌉ bytes."""
    n, block, *_ = given
    return _size(*given, codes=n // block * _up(block, 2) + _up(n % block, 2))


@quantized_bytes.misconception
def everything_rounded_down(n, block, second_block, double):
    """Whatever is divided is rounded down. The last code, the last block and the last block of scales take their bytes
    also where they are not full: round up."""
    scales = n // block
    return n // 2 + (scales + 4 * (scales // second_block) + 4 if double else 4 * scales)


@quantized_bytes.misconception
def rounded_to_the_nearest(n, block, second_block, double):
    """The numbers of blocks were rounded to the nearest whole number. A last block takes its scale however few weights it has:
    round up."""
    scales = (n + block // 2) // block
    return _size(n, block, second_block, double, scales=scales, seconds=(scales + second_block // 2) // second_block)


@quantized_bytes.misconception
def one_added_before(n, block, second_block, double):
    """Before each division 1 was added. That rounds up where the divisor is 2; in general it is the divisor less one that is to
    be added: (n + block − 1) // block."""
    scales = (n + 1) // block
    return _size(n, block, second_block, double, scales=scales, seconds=(scales + 1) // second_block)


@quantized_bytes.misconception
def bits_per_weight(n, block, second_block, double):
    """The sizes are n times the bits per weight, 4 + 32/block or 4 + 8/block + 32/(block·second_block). That is an
    average: codes, scales and scales of scales are rounded up each for itself, the mean comes on top, and a product
    with a fraction is not exact."""
    bits = 4 + 8 / block + 32 / (block * second_block) if double else 4 + 32 / block
    return torch.ceil(n * bits / 8).long()


# the scales


@quantized_bytes.misconception
def last_scale_lost(*given):
    """The number of scales was rounded down. A last block that is not full has a scale too: ⌈n/block⌉."""
    return _size(*given, scales=given[0] // given[1])


@quantized_bytes.misconception
def a_scale_more(*given):
    """There is one scale too many where n is a multiple of the block. n // block + 1 is right only where something is
    left over."""
    return _size(*given, scales=given[0] // given[1] + 1)


@quantized_bytes.misconception
def one_more_of_each(n, block, second_block, double):
    """What divides evenly is rounded up as well, to one more. n // block + 1 is right only where something is left
    over."""
    scales = n // block + 1
    return n // 2 + 1 + (scales + 4 * (scales // second_block + 1) + 4 if double else 4 * scales)


@quantized_bytes.misconception
def scales_of_two_bytes(*given):
    """Each float32 is counted as 2 bytes. It has 32 bits, which are 4 bytes."""
    n, block, second, double = given
    scales = _up(n, block)
    return _up(n, 2) + (scales + 2 * _up(scales, second) + 2 if double else 2 * scales)


# double quantisation


@quantized_bytes.misconception
def never_double(*given):
    """The sizes are those of simple quantisation also where `double` is True. Then each scale takes 1 byte, and beside
    them there are a float32 for each block of scales and the mean."""
    return _size(*given[:3], False)


@quantized_bytes.misconception
def mean_left_out(*given):
    """With double quantisation 4 bytes are missing in each matrix. The scales' mean is subtracted before they are
    quantised, and stored as a float32."""
    return _size(*given, means=0)


@quantized_bytes.misconception
def one_mean_for_all(*given):
    """With double quantisation only the first matrix has the 4 bytes of its scales' mean. Each matrix is quantised by itself and
    has a mean of its own."""
    size = _size(*given, means=0)
    size[:1] += 4 * given[3]
    return size


@quantized_bytes.misconception
def scales_padded(*given):
    """With double quantisation the scales were counted as if their last block were full. There are m of them, one byte each;
    only the number of their blocks is rounded up."""
    n, block, second, double = given
    return _size(*given) + (-_up(n, block) % second if double else 0)


@quantized_bytes.misconception
def a_mean_for_each_block(*given):
    """With double quantisation each block of scales has a mean of its own. There is one for all scales of a matrix, 4
    bytes."""
    n, block, second, _ = given
    return _size(*given, means=4 * _up(_up(n, block), second))


@quantized_bytes.misconception
def scales_kept(*given):
    """With double quantisation the scales are counted twice, as float32 and as bytes. The bytes stand in the place of
    the float32."""
    n, block, _, double = given
    return _size(*given) + (4 * _up(n, block) if double else 0)


@quantized_bytes.misconception
def scales_of_scales_left_out(*given):
    """With double quantisation the scales' own scales are missing: a float32 for each block of `second_block`
    scales."""
    return _size(*given, seconds=0)


@quantized_bytes.misconception
def blocks_of_weights(*given):
    """`second_block` is taken as a number of weights. It is a number of scales: there are ⌈m/second_block⌉ blocks of
    the m scales."""
    return _size(*given, seconds=_up(given[0], given[2]))


@quantized_bytes.misconception
def last_block_of_scales_lost(*given):
    """The number of blocks of scales was rounded down. The last of them has a scale too, if it is not full:
    ⌈m/second_block⌉."""
    return _size(*given, seconds=_up(given[0], given[1]) // given[2])


# whole numbers


@quantized_bytes.misconception
def in_single_precision(*given):
    """Large sizes are not exact. Whole numbers divided with / are float32, which holds them up to 2²⁴ and rounds
    beyond; // stays with whole numbers."""
    n, block, second, double = given
    scales = torch.ceil(n / block)
    rest = scales + 4 * torch.ceil(scales / second) + 4 if double else 4 * scales
    return (torch.ceil(n / 2) + rest).long()


@quantized_bytes.alternative
def as_a_student(n, block, second_block, double):
    codes = (n + 1) // 2
    scales = (n + block - 1) // block
    if double:
        return codes + scales + 4 * ((scales + second_block - 1) // second_block) + 4
    return codes + 4 * scales


@quantized_bytes.alternative
def with_remainders(n, block, second_block, double):
    total = n // 2 + n % 2
    scales = n // block + (n % block > 0)
    if not double:
        return total + scales * 4
    return total + scales + (scales // second_block + (scales % second_block != 0)) * 4 + 4


@quantized_bytes.alternative
def matrix_by_matrix(n, block, second_block, double):
    size = torch.zeros_like(n)
    for s, count in enumerate(n):
        scales = -(count // -block)
        size[s] = -(count // -2) + scales * (1 if double else 4)
        if double:
            size[s] += 4 * (-(scales // -second_block) + 1)
    return size


@quantized_bytes.alternative
def in_one_step(n, block, second_block, double):
    """Blocks of scales are blocks of block·second_block weights."""
    up = lambda by: torch.div(n + (by - 1), by, rounding_mode="floor")  # noqa: E731
    return up(2) + (up(block) + 4 * up(block * second_block) + 4 if double else 4 * up(block))
