"""Answers to quantized_bytes (assignment 15)."""

import math

import numpy as np
import torch
from answers import change, left_open, right, wrong


def _groups(x, k):
    return -(-x // k)


def _count(n, block, second_block, double, groups=_groups):
    """The text's count, with another way of counting groups if one is given."""
    codes, scales = groups(n, 2), groups(n, block)
    return codes + scales + 4 * groups(scales, second_block) + 4 if double else codes + 4 * scales


# --------------------------------------------------------------------------------------------------------------- right


@right("(x + k - 1) // k")
def made_larger(n, block, second_block, double):
    scales = (n + block - 1) // block
    if double:
        return (n + 1) // 2 + scales + 4 * ((scales + second_block - 1) // second_block) + 4
    return (n + 1) // 2 + 4 * scales


@right("the quotient of the negative number, negated")
def negated(n, block, second_block, double):
    return _count(n, block, second_block, double)


@right("quotient, and one more where there is a remainder")
def with_remainder(n, block, second_block, double):
    return _count(n, block, second_block, double, lambda x, k: x // k + (x % k > 0))


@right("(x - 1) // k + 1, rounded down for 0 too")
def one_less(n, block, second_block, double):
    return _count(n, block, second_block, double, lambda x, k: (x - 1) // k + 1)


@right("Python's integers, one matrix after the other, back on the device of n")
def python_integers(n, block, second_block, double):
    counts = []
    for number in n.tolist():
        scales, rest = divmod(number, block)
        scales += rest != 0
        counts.append(number - number // 2 + (scales - (-scales // second_block) * 4 + 4 if double else 4 * scales))
    return torch.tensor(counts, dtype=torch.int64, device=n.device)


@right("torch.div with rounding_mode, bits of the number for the codes")
def shifted_bits(n, block, second_block, double):
    codes = (n >> 1) + (n & 1)
    scales = torch.div(n + (block - 1), block, rounding_mode="floor")
    if not double:
        return codes + (scales << 2)
    return codes + scales + (torch.div(scales + (second_block - 1), second_block, rounding_mode="trunc") << 2) + 4


@right("numpy's ceiling division of integers")
def by_numpy(n, block, second_block, double):
    x = n.cpu().numpy().astype(np.int64)
    scales = -np.floor_divide(-x, block)
    extra = scales - 4 * np.floor_divide(-scales, second_block) + 4 if double else 4 * scales
    return torch.from_numpy(x - x // 2 + extra).to(n.device)


@right("arithmetic with the truth value of double, no branch")
def without_branch(n, block, second_block, double):
    codes, scales = _groups(n, 2), _groups(n, block)
    return codes + scales * (4 - 3 * int(double)) + int(double) * 4 * (_groups(scales, second_block) + 1)


@right("all parts stacked, times what one of each takes, summed over the parts")
def stacked(n, block, second_block, double):
    scales = _groups(n, block)
    counts = torch.stack([_groups(n, 2), scales, _groups(scales, second_block), torch.ones_like(n)], dim=1)
    weights = torch.tensor([1, 1, 4, 4] if double else [1, 4, 0, 0], device=n.device)
    return (counts * weights).sum(dim=1)


@right("recursion: the scales of the scales are counted by the same function, with blocks of second_block")
def recursive(n, block, second_block, double):
    def scales_of(x, k, rest):
        count = (x + (k - 1)).floor_divide(k)
        return 4 * count if not rest else count + 4 + scales_of(count, rest[0], rest[1:])

    return n - n.div(2, rounding_mode="floor") + scales_of(n, block, [second_block] if double else [])


@right("the result written into a new tensor in place, matrix by matrix with slices of one")
def in_place_of_its_own(n, block, second_block, double):
    result = torch.zeros(len(n), dtype=torch.int64, device=n.device)
    for s in range(len(n)):
        one = n[s : s + 1]
        scales = torch.where(one.remainder(block).eq(0), one // block, one // block + 1)
        result[s : s + 1] += one // 2 + one % 2
        if double:
            result[s : s + 1] += scales + 4
            scales = torch.where(
                scales.remainder(second_block).eq(0), scales // second_block, scales // second_block + 1
            )
        result[s : s + 1] += 4 * scales
    return result


# ------------------------------------------------------------------------------------------------------ wrong: concept


change(negated, "codes_down", "codes are rounded down: the last code of an odd number has no byte", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) - n % 2"))
change(negated, "byte_for_each", "one byte for each code and not for two", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) - _groups(n, 2) + n"))
change(negated, "codes_one_more", "n // 2 + 1 bytes of codes, one too many where n is even", "edge",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) + 1 - n % 2"))


@wrong("a last block that is not full has no scale", kind="concept")
def scales_down(n, block, second_block, double):
    scales = n // block
    return (n + 1) // 2 + (scales + 4 * _groups(scales, second_block) + 4 if double else 4 * scales)


change(scales_down, "one_scale_more", "n // block + 1 scales, one too many where all blocks are full", "edge",
       ("n // block", "n // block + 1"))


@wrong("a last block counts only if it is at least half full: the number of blocks is rounded", kind="concept")
def rounded_blocks(n, block, second_block, double):
    return _count(n, block, second_block, double, lambda x, k: (x + k // 2) // k if k != 2 else (x + 1) // 2)


change(one_less, "plus_one", "(x + 1) // k for all groups, which is right for the codes alone", "concept",
       ("(x - 1) // k + 1", "(x + 1) // k"))


@wrong("a last group of scales that is not full has no scale of its own", kind="concept")
def second_down(n, block, second_block, double):
    scales = _groups(n, block)
    return (n + 1) // 2 + (scales + 4 * (scales // second_block) + 4 if double else 4 * scales)


@wrong("scales // second_block + 1 second scales, one too many where the groups are full", kind="edge")
def second_one_more(n, block, second_block, double):
    scales = _groups(n, block)
    return (n + 1) // 2 + (scales + 4 * (scales // second_block + 1) + 4 if double else 4 * scales)


@wrong("scales take 2 bytes without double quantisation, as float16", kind="concept")
def half_scales(n, block, second_block, double):
    return _count(n, block, second_block, double) - (0 if double else 2) * _groups(n, block)


change(negated, "in_bits", "the result is in bits", "concept",
       ("_count(n, block, second_block, double)", "8 * _count(n, block, second_block, double)"))
change(negated, "without_mean", "the mean is forgotten", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) - (4 if double else 0)"))


@wrong("each group of scales has a mean of its own", kind="concept")
def mean_of_each_group(n, block, second_block, double):
    extra = 4 * (_groups(_groups(n, block), second_block) - 1)
    return _count(n, block, second_block, double) + (extra if double else 0)


change(negated, "mean_always", "the mean is stored without double quantisation as well", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) + (0 if double else 4)"))
change(negated, "byte_mean", "the mean takes one byte", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) - (3 if double else 0)"))
change(second_down, "without_second", "the second scales are forgotten", "concept",
       ("4 * (scales // second_block) + 4", "4"))
change(second_down, "byte_second", "second scales take one byte each and not four", "concept",
       ("4 * (scales // second_block)", "_groups(scales, second_block)"))


@wrong("second_block weights share a second scale, and not second_block scales", kind="concept")
def second_of_weights(n, block, second_block, double):
    scales = _groups(n, block)
    return (n + 1) // 2 + (scales + 4 * _groups(n, second_block) + 4 if double else 4 * scales)


change(negated, "block_twice", "the groups of scales have block scales each: second_block is never used", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, block, double)"))
change(negated, "exchanged", "block and second_block are exchanged", "concept",
       ("_count(n, block, second_block, double)", "_count(n, second_block, block, double)"))


@wrong("with double quantisation the scales are still float32", kind="concept")
def scales_still_float(n, block, second_block, double):
    return _count(n, block, second_block, double) + (3 * _groups(n, block) if double else 0)


change(negated, "always_double", "double is ignored: always with double quantisation", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, True)"))
change(negated, "other_way_round", "double is taken the wrong way round", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, not double)"))
change(negated, "code_book", "16 numbers of the code book, a float32 each, are counted", "concept",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double) + 64"))


@wrong("codes are counted with the last block padded", kind="concept")
def padded_codes(n, block, second_block, double):
    padded = _groups(n, block) * block
    return _count(n, block, second_block, double) - _groups(n, 2) + _groups(padded, 2)


@wrong("each block's codes begin with a new byte, which makes a difference for odd blocks", kind="concept")
def blocks_begin_a_byte(n, block, second_block, double):
    codes = n // block * ((block + 1) // 2) + (n % block + 1) // 2
    return _count(n, block, second_block, double) - _groups(n, 2) + codes


@wrong("the 8-bit scales are padded to full groups", kind="concept")
def padded_scales(n, block, second_block, double):
    scales = _groups(n, block)
    return _count(n, block, second_block, double) + (-scales % second_block if double else 0)


@wrong("a missing bracket: with double quantisation the codes are left out", kind="concept")
def codes_left_out(n, block, second_block, double):
    scales = _groups(n, block)
    return (n + 1) // 2 + 4 * scales if not double else scales + 4 * _groups(scales, second_block) + 4


@wrong("the scales' scales are quantised in their turn until one is left", kind="concept")
def on_and_on(n, block, second_block, double):
    scales = _groups(n, block)
    if not double:
        return (n + 1) // 2 + 4 * scales
    total, groups = (n + 1) // 2 + scales + 4, _groups(scales, second_block)
    while second_block > 1 and bool((groups > 1).any()):
        total, groups = total + torch.where(groups > 1, groups, 0), _groups(groups, second_block)
    return total + 4 * groups


@wrong("the total is rounded up to a multiple of 4 bytes", kind="concept")
def aligned(n, block, second_block, double):
    return _groups(_count(n, block, second_block, double), 4) * 4


# -------------------------------------------------------------------------------------------------------- wrong: shape


change(negated, "added_up", "all matrices are added up to one number", "shape",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double).sum()"))


@wrong("one mean for all matrices together: only the first is charged for it", kind="shape")
def one_mean_for_all(n, block, second_block, double):
    result = _count(n, block, second_block, double)
    if double:
        result[1:] -= 4
    return result


change(negated, "squeezed", "squeeze(): a single matrix gives a number without axes", "shape",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double).squeeze()"))


@wrong("math.ceil takes a tensor of one number only, so that several matrices fail", kind="shape")
def by_math_ceil(n, block, second_block, double):
    groups = lambda x, k: math.ceil(x / k)
    return torch.as_tensor(_count(n, block, second_block, double, groups), device=n.device).reshape(1)


# ----------------------------------------------------------------------------------------------- wrong: numerics, edge


change(one_less, "in_float", "true division and ceil in float32: inexact from 2^24 on", "numerics",
       ("(x - 1) // k + 1", "(x / k).ceil().long()"))
change(one_less, "in_double", "true division and ceil in float64: inexact from 2^53 on", "numerics",
       ("(x - 1) // k + 1", "(x.double() / k).ceil().long()"))
change(negated, "in_int32", "counted in int32, which overflows", "numerics",
       ("_count(n, block, second_block, double)", "_count(n.int(), block, second_block, double).long()"))


@wrong("shifts by the logarithm of block: right for powers of two only", kind="numerics")
def by_shift(n, block, second_block, double):
    def groups(x, k):
        bits = k.bit_length() - 1
        return (x + (1 << bits) - 1) >> bits

    return _count(n, block, second_block, double, groups)


change(negated, "cut_off", "counts of more than 2^31 - 1 weights are cut off there", "numerics",
       ("_count(n, block, second_block, double)", "_count(n.clamp(max=2**31 - 1), block, second_block, double)"))
change(scales_down, "small_without_scale", "a matrix smaller than one block has no scale", "edge",
       ("n // block", "torch.where(n < block, 0, _groups(n, block))"))


@wrong("a single scale is not quantised again, it stays a float32", kind="edge")
def single_scale(n, block, second_block, double):
    once, twice = (_count(n, block, second_block, one) for one in (False, True))
    return torch.where(_groups(n, block) == 1, once, twice) if double else once


change(single_scale, "the_smaller", "double quantisation is only used where it takes fewer bytes", "edge",
       (".where(_groups(n, block) == 1, once, twice)", ".minimum(once, twice)"))
change(negated, "hard_coded", "blocks of 64 and 256 are hard-coded", "shape",
       ("_count(n, block, second_block, double)", "_count(n, 64, 256, double)"))


@wrong("block is used as if it were at least 2: with one weight for each scale the scales are halved", kind="edge")
def block_of_one(n, block, second_block, double):
    return _count(n, max(block, 2), second_block, double)


# ---------------------------------------------------------------------------------- wrong: layout, process, interface


@wrong("reads the memory from the first number on, whatever the strides are", kind="layout")
def ignores_strides(n, block, second_block, double):
    numbers = torch.as_strided(n, (1 + (len(n) - 1) * n.stride(0),), (1,))[: len(n)]
    return _count(numbers.expand(len(n)), block, second_block, double)


@wrong("n is made larger by one in place, and stays so for the caller", kind="process")
def in_place(n, block, second_block, double):
    scales = _groups(n, block)
    n += 1
    return n // 2 + (scales + 4 * _groups(scales, second_block) + 4 if double else 4 * scales)


_TOTAL = [0]


@wrong("bytes of earlier calls are added to the first matrix", kind="process")
def running_total(n, block, second_block, double):
    result = _count(n, block, second_block, double)
    result[0] += _TOTAL[0]
    _TOTAL[0] = 1
    return result


change(negated, "result_in_float", "the result is float64", "interface",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double).double()"))
change(negated, "result_in_int32", "the result is int32, in which large counts do not fit", "interface",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double).int()"))
change(negated, "a_list", "a list of Python's integers comes back", "interface",
       ("_count(n, block, second_block, double)", "_count(n, block, second_block, double).tolist()"))


@wrong("the new tensor is on the CPU wherever n is", kind="interface")
def on_the_cpu(n, block, second_block, double):
    return torch.tensor([_count(number, block, second_block, double) for number in n.tolist()], dtype=torch.int64)


@wrong("both counts come back as a pair, without and with double quantisation", kind="interface")
def a_pair(n, block, second_block, double):
    return _count(n, block, second_block, False), _count(n, block, second_block, True)


@wrong(
    "the arguments stand in the order (n, second_block, block, double), so that by position they are exchanged",
    kind="interface",
)
def other_order(n, second_block, block, double):
    return _count(n, block, second_block, double)


@wrong("two mistakes: a last code of its own has no byte, and the mean is forgotten", kind="concept")
def codes_down_without_mean(n, block, second_block, double):
    return _count(n, block, second_block, double) - n % 2 - (4 if double else 0)


# ----------------------------------------------------------------------------------------------------------------- open


@left_open("a matrix of no weights takes 0 bytes with double quantisation too, its mean is not stored", kind="edge")
def nothing_of_nothing(n, block, second_block, double):
    return torch.where(n == 0, 0, _count(n, block, second_block, double))


@left_open("codes counted by their bits: 4 n overflows from 2^61 weights on", kind="numerics")
def bits_first(n, block, second_block, double):
    return _count(n, block, second_block, double) - _groups(n, 2) + (4 * n + 7) // 8
