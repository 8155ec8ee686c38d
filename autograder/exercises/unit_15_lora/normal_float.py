"""The code book of NormalFloat: quantiles of the normal distribution, with an exact 0."""

from statistics import NormalDist

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _case(bits, text="", **more):
    return Case(text or f"a code of {bits} bits", values={"bits": bits}, **more)


@exercise(
    points=2,
    section="NormalFloat: numbers where the weights are",
    source="Dettmers et al. 2023, QLoRA, section 3 and appendix E; create_normal_map in bitsandbytes",
    outputs="code",
    formula="with o = 1 − ½·(1/(2·2^bits) + 1/(2·(2^bits − 1))) and h = 2^(bits − 1): h numbers Φ⁻¹(o + (½ − o)·i/h), i from 0 to"
    " h − 1; h − 1 numbers −Φ⁻¹(o + (½ − o)·i/(h − 1)), i from 0 to h − 2; and 0. Φ⁻¹ gives the quantiles of the normal"
    " distribution. All divided by the largest, ascending: code [2^bits], torch.float32",
    cases=[
        _case(4, "NF4, the code of 4 bits"),
        _case(3),
        _case(2),
        *[_case(bits, edge=True) for bits in (5, 6, 7, 8)],  # where the two offsets are near each other
    ],
    differentiable=False,
    zeros="code",
)
def normal_float(bits: int) -> Float[Tensor, "2**bits"]:
    half, normal = 2 ** (bits - 1), NormalDist()
    o = 1 - (1 / (2 * 2**bits) + 1 / (2 * (2**bits - 1))) / 2
    above = [normal.inv_cdf(o + (0.5 - o) * i / half) for i in range(half)]
    below = [-normal.inv_cdf(o + (0.5 - o) * i / (half - 1)) for i in range(half - 1)]
    return torch.tensor(sorted([*above, 0.0, *below])) / max(above)  # [2^bits]


def _offset(bits):
    """The largest probability, o."""
    return 1 - (1 / 2 ** (bits + 1) + 1 / (2 ** (bits + 1) - 2)) / 2


def _side(o, count, spare=1):
    """Quantiles at probabilities from o down towards a half; the last of the evenly spaced ones is left out."""
    return torch.special.ndtri(torch.linspace(o, 0.5, count + spare, dtype=torch.float64)[:count])


def _code(above, below):
    """A code book of both sides and 0."""
    code = torch.cat([above, -below, torch.zeros(1, dtype=torch.float64)]).sort().values
    return (code / code.max()).float()


def _with_offset(bits, o, o_below=None):
    half = 2 ** (bits - 1)
    return _code(_side(o, half), _side(o_below or o, half - 1))


# which probabilities


@normal_float.misconception(universal=True)
def offset_of_four_bits(bits):
    """The largest probability is that of NF4, whatever `bits` is. The 32 and 30 in it are 2·2^bits and 2·(2^bits − 1)
    at 4 bits; with more or fewer numbers, o is another."""
    return _with_offset(bits, _offset(4))


@normal_float.misconception
def offset_of_all_numbers(bits):
    """The largest probability is 1 − 1/(2·2^bits). That is one of two; o is the mean of this and 1 − 1/(2·(2^bits −
    1))."""
    return _with_offset(bits, 1 - 1 / (2 * 2**bits))


@normal_float.misconception
def offset_of_one_number_less(bits):
    """The largest probability is 1 − 1/(2·(2^bits − 1)). That is one of two; o is the mean of this and 1 −
    1/(2·2^bits)."""
    return _with_offset(bits, 1 - 1 / (2 * (2**bits - 1)))


@normal_float.misconception
def an_offset_for_each_side(bits):
    """The positive numbers begin at 1 − 1/(2·2^bits) and the negative ones at 1 − 1/(2·(2^bits − 1)). Both sides begin
    at o, the mean of the two, so that the code reaches from −1 to 1."""
    return _with_offset(bits, 1 - 1 / (2 * 2**bits), 1 - 1 / (2 * (2**bits - 1)))


@normal_float.misconception
def too_far_from_one(bits):
    """1 − o is twice as large as it should be: it is half the sum of 1/(2·2^bits) and 1/(2·(2^bits − 1)), and one of
    these halves is missing."""
    return _with_offset(bits, 2 * _offset(bits) - 1)


@normal_float.misconception
def shares_of_equal_size(bits):
    """The numbers are the middles of 2^bits equally probable shares. This code is symmetric and has no 0: a weight of 0
    would come back as another number. Take the quantiles of each side, from o, and the number 0 beside them."""
    code = torch.special.ndtri((torch.arange(2**bits, dtype=torch.float64) + 0.5) / 2**bits)
    return (code / code.max()).float()


@normal_float.misconception
def formula_four_of_the_paper(bits):
    """The first number is −∞, the quantile of 0: the numbers are the middles of the quantiles of i/(2^bits + 1), as in
    the paper's formula (4). That formula tells the idea; NormalFloat begins at o, takes the quantiles themselves, and
    has a 0."""
    i = torch.arange(2**bits + 1, dtype=torch.float64)
    q = torch.special.ndtri(i / (2**bits + 1))
    code = (q[:-1] + q[1:]) / 2
    return (code / code.max()).float()


@normal_float.misconception
def probabilities_beyond_one(bits):
    """Every number is NaN. Is a probability above 1? It has no quantile: Φ⁻¹ gives NaN for it, and what is divided by
    NaN is NaN too. o lies below 1, halfway between 1 − 1/(2·2^bits) and 1 − 1/(2·(2^bits − 1))."""
    return torch.full((2**bits,), torch.nan)


@normal_float.misconception
def offset_of_one_side(bits):
    """The largest probability is that of a code with one bit less: 2^(bits − 1), the numbers of one side, stands in o where all
    2^bits are meant."""
    half = 2 ** (bits - 1)
    return _with_offset(bits, 1 - (1 / (2 * half) + 1 / (2 * (half - 1))) / 2)


@normal_float.misconception
def middles_of_steps(bits):
    """The probabilities are those in the middle of each step, i + ½ in the place of i. The first should be o itself: leave out
    the ½."""
    o, half = _offset(bits), 2 ** (bits - 1)
    i = torch.arange(half, dtype=torch.float64) + 0.5
    above, below = (torch.special.ndtri(o + (0.5 - o) * i[:count] / count) for count in (half, half - 1))
    return _code(above, below)


# how many on each side, and 0


@normal_float.misconception
def without_zero(bits):
    """The code has no 0: its probabilities are spaced evenly from 1 − o to o, over both sides at once. Each side is
    spaced by itself, from o towards a half, and 0 is a number of the code."""
    code = torch.special.ndtri(torch.linspace(1 - _offset(bits), _offset(bits), 2**bits, dtype=torch.float64))
    return (code / code.max()).float()


@normal_float.misconception
def middles_of_quantiles(bits):
    """Each number is the middle of two neighbouring quantiles, from 1 − o to o, over both sides at once. That gives a
    symmetric code without a 0. Here the quantiles themselves are the code, each side is spaced by itself, and 0 is a
    number of the code."""
    q = torch.special.ndtri(torch.linspace(1 - _offset(bits), _offset(bits), 2**bits + 1, dtype=torch.float64))
    return ((q[1:] + q[:-1]) / (q[-1] + q[-2])).float()


@normal_float.misconception
def always_sixteen(bits):
    """There are always 16 numbers, 8 positive and 7 negative ones. That is so at 4 bits; in general there are 2^bits."""
    return _code(_side(_offset(bits), 8), _side(_offset(bits), 7))


@normal_float.misconception
def zero_twice(bits):
    """0 occurs twice: both sides reach a probability of a half, whose quantile is 0. One code would be wasted; the
    positive side has 2^(bits − 1) numbers beside 0."""
    half = _side(_offset(bits), 2 ** (bits - 1), spare=0)
    return (torch.cat([-half, half.flip(0)]) / half.max()).float()


@normal_float.misconception
def one_number_less(bits):
    """There are 2^bits − 1 numbers, as many negative as positive ones. With 0 that leaves one code unused; the positive
    side has one number more, 2^(bits − 1)."""
    below = _side(_offset(bits), 2 ** (bits - 1) - 1)
    return _code(below, below)


@normal_float.misconception
def more_negative_numbers(bits):
    """There is one negative number more than positive ones. It is the positive side that has one more: 2^(bits − 1)
    positive numbers, 2^(bits − 1) − 1 negative ones, and 0."""
    half = 2 ** (bits - 1)
    return _code(_side(_offset(bits), half - 1), _side(_offset(bits), half))


@normal_float.misconception
def mirrored(bits):
    """The negative numbers are the positive ones with a minus, all but the smallest. The negative side has one number
    less, so its probabilities from o to a half are further apart: it is spaced by itself."""
    above = _side(_offset(bits), 2 ** (bits - 1))
    return _code(above, above[:-1])


@normal_float.misconception
def mirrored_without_the_largest(bits):
    """The negative numbers are the positive ones with a minus, all but the largest, so −1 is missing. The negative side
    has one number less, but it begins at o as well and is spaced by itself, further apart."""
    above = _side(_offset(bits), 2 ** (bits - 1))
    return _code(above, above[1:])


# from probabilities to numbers


@normal_float.misconception
def evenly_spaced_numbers(bits):
    """The numbers are evenly spaced from −1 to 1. What is evenly spaced is the probabilities; their quantiles lie
    closer together near 0, where most weights are."""
    return torch.linspace(-1, 1, 2**bits)


@normal_float.misconception
def evenly_spaced_on_each_side(bits):
    """On each side the numbers are evenly spaced, from 1 or −1 to 0. What is evenly spaced is the probabilities, from o to a
    half; their quantiles lie closer together near 0."""
    half = 2 ** (bits - 1)
    above, below = (torch.linspace(1, 0, count + 1, dtype=torch.float64)[:-1] for count in (half, half - 1))
    return _code(above, below)


@normal_float.misconception
def probabilities_themselves(bits):
    """The numbers are shares Φ(p), not quantiles. Φ gives the share of a normal distribution below a number; asked for is its
    inverse, Φ⁻¹, the number below which a share lies: ndtri, icdf or ppf, not ndtr or cdf."""
    half, o = 2 ** (bits - 1), _offset(bits)
    above, below = (
        torch.special.ndtr(torch.linspace(o, 0.5, count + 1, dtype=torch.float64)[:-1]) for count in (half, half - 1)
    )
    return _code(above, below)


@normal_float.misconception
def error_function_of_p(bits):
    """The numbers are erfinv(p). The inverse of the error function gives a quantile as √2·erfinv(2p − 1)."""
    half, o = 2 ** (bits - 1), _offset(bits)
    above, below = (
        torch.erfinv(torch.linspace(o, 0.5, count + 1, dtype=torch.float64)[:-1]) for count in (half, half - 1)
    )
    return _code(above, below)


@normal_float.misconception
def not_divided(bits):
    """The numbers are the quantiles themselves and reach beyond 1. Divide by the largest, so that the code reaches from
    −1 to 1, as a block does that was divided by its largest magnitude."""
    half, o = 2 ** (bits - 1), _offset(bits)
    return (_with_offset(bits, o).double() * _side(o, half).max()).float()


@normal_float.alternative
def as_a_student(bits):
    n = 2**bits
    o = 0.5 * ((1 - 1 / (2 * n)) + (1 - 1 / (2 * (n - 1))))
    positive = torch.special.ndtri(torch.linspace(o, 0.5, n // 2 + 1)[:-1])
    negative = -torch.special.ndtri(torch.linspace(o, 0.5, n // 2)[:-1])
    code = torch.cat([positive, torch.zeros(1), negative])
    code, _ = torch.sort(code)
    return code / code.max()


@normal_float.alternative
def from_the_smallest_on(bits):
    half, o = 2 ** (bits - 1), _offset(bits)
    icdf = torch.distributions.Normal(0.0, 1.0).icdf
    below, above = icdf(torch.linspace(1 - o, 0.5, half)), icdf(torch.linspace(0.5, o, half + 1))
    return torch.cat([below / -below[0], above[1:] / above[-1]])  # 0 is the last number of the first


@normal_float.alternative
def with_the_error_function(bits):
    half, o, code = 2 ** (bits - 1), _offset(bits), torch.zeros(2**bits, dtype=torch.float64)
    reach = 2 * o - 1
    code[half:] = torch.erfinv(reach * torch.arange(1, half + 1, dtype=torch.float64) / half)
    code[: half - 1] = torch.erfinv(reach * (torch.arange(half - 1, dtype=torch.float64) / (half - 1) - 1))
    return code.div(torch.erfinv(torch.tensor(reach, dtype=torch.float64))).to(torch.float32)


@normal_float.alternative
def number_by_number(bits):
    code, half, o = torch.zeros(2**bits), 2 ** (bits - 1), torch.tensor(_offset(bits))
    for i in range(half):
        code[-1 - i] = torch.special.ndtri(o - (o - 0.5) * i / half)
        if i < half - 1:
            code[i] = -torch.special.ndtri(o - (o - 0.5) * i / (half - 1))
    code /= code[-1].clone()
    return code
