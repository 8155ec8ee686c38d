"""Answers to normal_float (assignment 15)."""

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import torch
from answers import before, change, left_open, right, wrong


def _o(bits):
    """The probability that the code begins at."""
    return 0.5 * ((1 - 1 / (2 * 2**bits)) + (1 - 1 / (2 * (2**bits - 1))))


def _side(o, steps):
    """Quantiles from o towards a half in so many steps, without the half, float64."""
    i = torch.arange(steps, dtype=torch.float64)
    return torch.special.ndtri(o + (0.5 - o) * i / steps)


def _book(positive, negative):
    """Both sides and 0, ascending and divided by the largest, float32."""
    book = torch.cat([-negative, torch.zeros(1, dtype=torch.float64), positive.flip(0)])
    return (book / book.max()).float()


# --------------------------------------------------------------------------------------------------------------- right


@right("linspace without its last number, ndtri, sort; float64 on the way")
def by_linspace(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive, negative = (
        torch.special.ndtri(torch.linspace(o, 0.5, n + 1, dtype=torch.float64)[:-1]) for n in (h, h - 1)
    )
    book = torch.cat([positive, -negative, positive.new_zeros(1)]).sort().values
    return (book / book[-1]).to(torch.float32)


@right("single precision throughout")
def in_single_precision(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive = torch.special.ndtri(torch.linspace(o, 0.5, h + 1, dtype=torch.float32)[:h])
    negative = torch.special.ndtri(torch.linspace(o, 0.5, h, dtype=torch.float32)[: h - 1])
    book = torch.cat([-negative, torch.zeros(1, dtype=torch.float32), positive.flip(0)])
    return book / positive[0]


@right("NormalDist of Python's statistics, in a list")
def by_statistics(bits):
    h, o, quantile = 2 ** (bits - 1), _o(bits), NormalDist().inv_cdf
    numbers = [0.0]
    for i in range(h):
        numbers.append(quantile(o + (0.5 - o) * i / h))
    for i in range(h - 1):
        numbers.append(-quantile(o + (0.5 - o) * i / (h - 1)))
    largest = max(numbers)
    return torch.tensor(sorted(number / largest for number in numbers), dtype=torch.float32)


@right("erfinv without the root of two, which the division cancels")
def by_erfinv(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive = torch.erfinv(2 * (o + (0.5 - o) * torch.arange(h, dtype=torch.float64) / h) - 1)
    negative = torch.erfinv(1 - 2 * (o + (0.5 - o) * torch.arange(h - 1, dtype=torch.float64) / (h - 1)))
    return _book(positive, -negative)


@right("icdf of a standard normal distribution, from the half up, positive side first")
def by_icdf(bits):
    h = 1 << (bits - 1)
    normal = torch.distributions.Normal(torch.tensor(0.0).double(), torch.tensor(1.0).double())
    up = normal.icdf(torch.linspace(0.5, _o(bits), h + 1, dtype=torch.float64))[1:]
    down = normal.icdf(torch.linspace(1 - _o(bits), 0.5, h, dtype=torch.float64))[:-1]
    return torch.cat((down, torch.zeros_like(up[:1]), up)).div(up[-1]).float()


@right("both sides with the half, whose quantile 0 they share: unique sorts and leaves one of them")
def by_unique(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive = torch.special.ndtri(torch.linspace(o, 0.5, h + 1, dtype=torch.float64))
    negative = -torch.special.ndtri(torch.linspace(o, 0.5, h, dtype=torch.float64))
    book = torch.unique(torch.cat([positive, negative]))
    return (book / book[-1]).float()


@right("bisection with math.erf")
def by_bisection(bits):
    def quantile(p):
        low, high = 0.0, 8.0
        for _ in range(80):
            middle = (low + high) / 2
            if 0.5 * (1 + math.erf(middle / math.sqrt(2))) < p:
                low = middle
            else:
                high = middle
        return low

    h, o = 2 ** (bits - 1), _o(bits)
    negative = [-quantile(o + (0.5 - o) * i / (h - 1)) for i in range(h - 1)]
    positive = [quantile(o + (0.5 - o) * i / h) for i in reversed(range(h))]
    return torch.tensor([number / positive[-1] for number in [*negative, 0.0, *positive]]).to(torch.float32)


@right("probabilities as exact fractions, Newton's method for the quantiles")
def by_newton(bits):
    def quantile(p):
        x = 0.0
        for _ in range(60):
            x -= (math.erf(x / math.sqrt(2)) / 2 + 0.5 - float(p)) * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
        return x

    n = 2**bits
    o = 1 - (Fraction(1, 2 * n) + Fraction(1, 2 * (n - 1))) / 2
    sides = [(+1, n // 2), (-1, n // 2 - 1)]
    numbers = {0.0} | {
        sign * quantile(o + (Fraction(1, 2) - o) * Fraction(i, steps)) for sign, steps in sides for i in range(steps)
    }
    book = np.array(sorted(numbers))
    return torch.from_numpy((book / book[-1]).astype(np.float32))


@right("numpy for the probabilities, written into slices of one tensor")
def into_slices(bits):
    size = 2**bits
    h, o = size // 2, _o(bits)
    book = torch.zeros(size, dtype=torch.float64)
    book[: h - 1] = -torch.special.ndtri(torch.from_numpy(np.linspace(o, 0.5, h - 1, endpoint=False)))
    book[h:] = torch.special.ndtri(torch.from_numpy(np.linspace(o, 0.5, h, endpoint=False)[::-1].copy()))
    book /= book.amax()
    return book.type(torch.float32)


@right("one formula for all codes: signed steps from the middle, each side divided by its own number of steps")
def signed_steps(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    step = torch.arange(1 - h, h + 1, dtype=torch.float64)
    share = torch.where(step > 0, step / h, step / (h - 1))
    return (
        torch.special.ndtri(0.5 + (o - 0.5) * share) / torch.special.ndtri(torch.tensor(o, dtype=torch.float64))
    ).float()


@right("the extremes are shifted and stretched to -1 and 1, which leaves 0 at 0")
def shifted(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    book, _ = torch.cat([_side(o, h), -_side(o, h - 1), torch.zeros(1).double()]).sort()
    low, high = book.aminmax()
    return (2 * (book - low) / (high - low) - 1).float()


@right("recursion along a side")
def recursive(bits):
    h, o = 2 ** (bits - 1), _o(bits)

    def side(n, i=0):
        return [] if i == n else [NormalDist().inv_cdf(o + (0.5 - o) * (i / n)), *side(n, i + 1)]

    positive, negative = side(h), side(h - 1)
    book = [-x for x in negative] + [0] + positive[::-1]
    return torch.tensor(book, dtype=torch.double).div_(positive[0]).float()


# ------------------------------------------------------------------------------------------------ wrong: o (concept)


@wrong("o is the constant 0.9677083 of 4 bits for all numbers of bits", kind="concept")
def o_of_four_bits(bits):
    h = 2 ** (bits - 1)
    return _book(_side(0.9677083, h), _side(0.9677083, h - 1))


# Right, and not registered: answers below are changes of it.
def _plain(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    return _book(_side(o, h), _side(o, h - 1))


change(_plain, "o_rounded", "o is rounded to four digits", "numerics",
       ("_o(bits)", "round(_o(bits), 4)"))
change(_plain, "first_term", "o is 1 - 1/(2 * 2^bits), the first term alone and not the mean of both", "concept",
       ("_o(bits)", "1 - 1 / (2 * 2**bits)"))


@wrong(
    "each side begins at its own term: the positive one at 1 - 1/(2 * 2^bits), the negative one at 1 - 1/(2 (2^bits - 1))",
    kind="concept",
)
def own_o(bits):
    h = 2 ** (bits - 1)
    return _book(_side(1 - 1 / (2 * 2**bits), h), _side(1 - 1 / (2 * (2**bits - 1)), h - 1))


change(_plain, "geometric_mean", "the geometric mean of both terms instead of the arithmetic one", "concept",
       ("_o(bits)", "math.sqrt((1 - 1 / (2 * 2**bits)) * (1 - 1 / (2 * (2**bits - 1))))"))
change(_plain, "without_half",
       "the outer half of o is missing, so that o is above 1 and the quantiles are NaN", "concept",
       ("_o(bits)", "2 * _o(bits)"))
change(_plain, "bracket_missing", "1/(2 * 2^bits - 1) instead of 1/(2 (2^bits - 1)): a bracket is missing", "concept",
       ("_o(bits)", "0.5 * ((1 - 1 / (2 * 2**bits)) + (1 - 1 / (2 * 2**bits - 1)))"))
change(_plain, "o_of_half", "h = 2^(bits - 1) stands in the formula of o where 2^bits belongs", "concept",
       ("h, o = 2 ** (bits - 1), _o(bits)", """
        h = 2 ** (bits - 1)
        o = 0.5 * ((1 - 1 / (2 * h)) + (1 - 1 / (2 * (h - 1))))"""))


# Right, and not registered: answers below are changes of it.
def _both_sides(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive, negative = (torch.special.ndtri(torch.linspace(o, 0.5, n + 1, dtype=torch.float64)[:-1]) for n in (h, h - 1))
    return _book(positive, negative)


# ------------------------------------------------------------------------------------------- wrong: steps (concept)


change(_both_sides, "with_both_ends",
       "linspace with h and h - 1 numbers includes the half on both sides, so that 0 is there three times", "concept",
       (".linspace(o, 0.5, n + 1, dtype=torch.float64)[:-1]", ".linspace(o, 0.5, n, dtype=torch.float64)"))
change(_both_sides, "short_sides",
       "the half is cut off from linspace with h and h - 1 numbers, which leaves each side one number short", "shape",
       ("n + 1", "n"))
change(_plain, "sides_exchanged", "h negative numbers and h - 1 positive ones: the sides are exchanged", "concept",
       ("_side(o, h), _side(o, h - 1)", "_side(o, h - 1), _side(o, h)"))


@wrong("both sides have h numbers and there is no 0", kind="concept")
def no_zero(bits):
    positive = _side(_o(bits), 2 ** (bits - 1))
    book = torch.cat([-positive, positive.flip(0)])
    return (book / book[-1]).float()


@wrong("both sides have h numbers and 0 comes to them: 2^bits + 1 in all", kind="shape")
def one_too_many(bits):
    positive = _side(_o(bits), 2 ** (bits - 1))
    return _book(positive, positive)


change(one_too_many, "one_too_few", "both sides have h - 1 numbers: 2^bits - 1 in all, as of a symmetric code", "shape",
       ("2 ** (bits - 1)", "2 ** (bits - 1) - 1"))
change(one_too_many, "same_steps", "the negative side takes the positive side's steps, i/h, up to i = h - 2", "concept",
       ("positive, positive", "positive, positive[:-1]"))


@wrong("the negative side is the positive one without its largest, so that it does not reach -1", kind="concept")
def largest_dropped(bits):
    positive = _side(_o(bits), 2 ** (bits - 1))
    return _book(positive, positive[1:])


@wrong("i begins at 1 and ends at h (h - 1): o is left out, and the half is in", kind="concept")
def from_one(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive, negative = (
        torch.special.ndtri(o + (0.5 - o) * torch.arange(1, n + 1, dtype=torch.float64) / n) for n in (h, h - 1)
    )
    return _book(positive, negative)


change(from_one, "middle_of_steps",
       "the probabilities are those in the middle of each step, i + 1/2 instead of i", "concept",
       ("torch.arange(1, n + 1, dtype=torch.float64)", "(torch.arange(n, dtype=torch.float64) + 0.5)"))


@wrong("even steps between the quantiles and not between the probabilities", kind="concept")
def even_quantiles(bits):
    h = 2 ** (bits - 1)
    top = NormalDist().inv_cdf(_o(bits))
    return _book(*(torch.linspace(top, 0, n + 1, dtype=torch.float64)[:-1] for n in (h, h - 1)))


# Right, and not registered: answers below are changes of it.
def _in_one_call(bits):
    return by_linspace(bits)


change(_in_one_call, "evenly_spaced", "the code of integers: 2^bits evenly spaced numbers from -1 to 1", "concept",
       ("by_linspace(bits)", "torch.linspace(-1, 1, 2**bits)"))


@wrong("2^bits probabilities in even steps from 1 - o to o: symmetric, and without 0", kind="concept")
def one_line_of_steps(bits):
    o = _o(bits)
    book = torch.special.ndtri(torch.linspace(1 - o, o, 2**bits, dtype=torch.float64))
    return (book / book[-1]).float()


@wrong("formula (4) of the paper without its ends: means of neighbouring quantiles at i/(2^bits + 2)", kind="concept")
def paper_inside(bits):
    n = 2**bits
    quantile = torch.special.ndtri(torch.arange(1, n + 2, dtype=torch.float64) / (n + 2))
    book = (quantile[:-1] + quantile[1:]) / 2
    return (book / book.abs().max()).float()


@wrong("formula (4) of the paper taken literally: the quantile of 0 makes the first number -inf", kind="concept")
def paper_literally(bits):
    n = 2**bits
    quantile = torch.special.ndtri(torch.arange(n + 1, dtype=torch.float64) / (n + 1))
    book = (quantile[:-1] + quantile[1:]) / 2
    return (book / book[:-1].max()).float()


change(_both_sides, "by_arange",
       "arange with a step of its own up to the half: rounding lets the half in for some numbers of bits", "edge",
       (".linspace(o, 0.5, n + 1, dtype=torch.float64)[:-1]", ".from_numpy(np.arange(o, 0.5, (0.5 - o) / n))"))


@wrong("h - 2 steps on the negative side, which fails for 2 bits and takes the half in for more", kind="edge")
def division_by_zero(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    probabilities = [o + (0.5 - o) * i / (h - 2) for i in range(h - 1)]
    return _book(_side(o, h), torch.special.ndtri(torch.tensor(probabilities, dtype=torch.float64)))


# ------------------------------------------------------------------------------------------ wrong: quantiles (concept)


change(by_linspace, "by_cdf", "the distribution's CDF instead of its inverse", "concept",
       (".ndtri", ".ndtr"),
       ("""
        book = torch.cat([positive, -negative, positive.new_zeros(1)]).sort().values
        return (book / book[-1]).to(torch.float32)""", "return _book(positive, negative)"))
change(_both_sides, "by_logit", "quantiles of the logistic distribution (logit) instead of the normal one", "concept",
       (".special.ndtri", ".logit"))
change(_both_sides, "erfinv_of_p", "erfinv of p instead of 2 p - 1", "concept",
       (".special.ndtri", ".erfinv"))


@wrong("a coarse formula for the quantile (Abramowitz and Stegun 26.2.22), wrong in the third digit", kind="numerics")
def coarse_quantile(bits):
    h, o = 2 ** (bits - 1), _o(bits)

    def quantile(p):
        t = torch.sqrt(-2 * torch.log(1 - p))
        return t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t**2)

    positive, negative = (quantile(torch.linspace(o, 0.5, n + 1, dtype=torch.float64)[:-1]) for n in (h, h - 1))
    return _book(positive, negative)


@wrong("quantiles of 20000 random numbers instead of the distribution's, other ones in each call", kind="process")
def of_a_sample(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    sample = torch.randn(20000, dtype=torch.float64)
    positive, negative = (
        torch.quantile(sample, torch.linspace(o, 0.5, n + 1, dtype=torch.float64)[:-1]) for n in (h, h - 1)
    )
    return _book(positive, negative)


# --------------------------------------------------------------------------------------------- wrong: scale and order


@wrong("the quantiles are not divided by the largest", kind="concept")
def not_scaled(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    return torch.cat([-_side(o, h - 1), torch.zeros(1).double(), _side(o, h).flip(0)]).float()


@wrong("divided by the distance between smallest and largest, so that they reach from -1/2 to 1/2", kind="concept")
def scaled_by_range(bits):
    return by_linspace(bits) / 2


@wrong("divided by the root mean square instead of the largest", kind="concept")
def scaled_by_rms(bits):
    book = by_linspace(bits)
    return book / book.square().mean().sqrt()


@wrong(
    "divided by the last number before sorting, the smallest of the negative side, and not by the largest",
    kind="concept",
)
def scaled_by_last(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    book = torch.cat([_side(o, h), torch.zeros(1).double(), -_side(o, h - 1)])
    return (book / book[-1]).sort().values.float()


@wrong("0 is left where the mean of the others puts it: the mean is subtracted, and 0 is not exact", kind="concept")
def centred(bits):
    book = by_linspace(bits)
    book = book - book.mean()
    return book / book.abs().max()


change(_in_one_call, "descending", "descending order", "concept",
       ("by_linspace(bits)", "by_linspace(bits).flip(0)"))


@wrong("not sorted: the positive side, 0 and the negative side, one after the other", kind="concept")
def not_sorted(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive = _side(o, h)
    return (torch.cat([positive, torch.zeros(1).double(), -_side(o, h - 1)]) / positive[0]).float()


change(_plain, "not_turned", "the positive side is not turned round: after 0 the numbers fall from 1", "concept",
       ("_side(o, h)", "_side(o, h).flip(0)"))
change(_in_one_call, "no_sign", "the negative side has no sign: all numbers are from 0 to 1", "concept",
       ("by_linspace(bits)", "by_linspace(bits).abs().sort().values"))


@wrong("0 is put at the end and not between both sides", kind="concept")
def zero_at_the_end(bits):
    book = by_linspace(bits)
    return torch.cat([book[book != 0], book[book == 0]])


# --------------------------------------------------------------------------------------------- wrong: sizes, numerics


change(_in_one_call, "table", "the 16 numbers of NF4 from a table, whatever bits is", "shape",
       ("by_linspace(bits)", "by_linspace(4)"))


@wrong("zeros fill the book up to 256 numbers, as in the authors' program", kind="shape")
def filled_up(bits):
    book = by_linspace(bits)
    h = 2 ** (bits - 1)
    return torch.cat([book[: h - 1], torch.zeros(256 - len(book) + 1), book[h:]])


@wrong("the number of codes is of type uint8, in which 2^8 is 0: 8 bits fail", kind="edge")
def uint8_codes(bits):
    n = int(torch.tensor(2, dtype=torch.uint8) ** bits)
    h = n // 2
    o = 0.5 * ((1 - 1 / (2 * n)) + (1 - 1 / (2 * (n - 1))))
    return _book(_side(o, h), _side(o, h - 1))


@wrong("rounded to two decimals and made unique: with many bits numbers fall together", kind="numerics")
def two_decimals(bits):
    return by_linspace(bits).round(decimals=2).unique()


change(_in_one_call, "four_digits", "rounded to the four digits in which the text prints the numbers", "numerics",
       ("by_linspace(bits)", "(by_linspace(bits) * 10000).round() / 10000"))


@wrong("probabilities in half precision, and the result in float32", kind="numerics")
def in_half_precision(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive, negative = (
        torch.special.ndtri((o + (0.5 - o) * torch.arange(n).double() / n).half().double()) for n in (h, h - 1)
    )
    return _book(positive, negative)


@wrong("two mistakes: the sides are exchanged, and nothing is divided by the largest", kind="concept")
def exchanged_and_not_scaled(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    return torch.cat([-_side(o, h), torch.zeros(1).double(), _side(o, h - 1).flip(0)]).float()


# -------------------------------------------------------------------------------------------- wrong: interface, process


@right("the result is float64")
def in_double(bits):
    h, o = 2 ** (bits - 1), _o(bits)
    positive = _side(o, h)
    return torch.cat([-_side(o, h - 1), torch.zeros(1).double(), positive.flip(0)]) / positive[0]


change(_in_one_call, "numpy_array", "the result is a numpy array", "interface",
       ("by_linspace(bits)", "by_linspace(bits).numpy()"))
change(_in_one_call, "a_list", "the result is a list of numbers", "interface",
       ("by_linspace(bits)", "by_linspace(bits).tolist()"))
change(_in_one_call, "printed", "the result is printed and not returned", "interface",
       ("return by_linspace(bits)", "print(by_linspace(bits))"))
change(_in_one_call, "a_row", "the result is a row [1, 2^bits]", "shape",
       ("by_linspace(bits)", "by_linspace(bits)[None]"))


@right("the argument is called k, so that bits by name fails")
def called_k(k):
    return by_linspace(k)


_BOOKS = []


@wrong("the first book that was ever made is kept and returned for other numbers of bits too", kind="process")
def kept(bits):
    if not _BOOKS:
        _BOOKS.append(by_linspace(bits))
    return _BOOKS[0].clone()


# ----------------------------------------------------------------------------------------------------------------- open


@left_open(
    "the same tensor comes back in every call with the same bits: who changes it changes later results", kind="process"
)
@lru_cache(maxsize=None)
def cached(bits):
    return by_linspace(bits)


change(_in_one_call, "refuses_others", "bits below 2 or above 8 raise an error", "edge",
       before("return", """
        if not 2 <= bits <= 8:
            raise ValueError(bits)"""), verdict="open")


@wrong("the 0 is the quantile of a half that was reached with rounding: a small number, not 0", kind="numerics")
def half_reached_in_steps(bits):
    o = 0.5 * ((1 - 1 / (2 * 2**bits)) + (1 - 1 / (2 * (2**bits - 1))))
    h = 2 ** (bits - 1)
    p = torch.tensor([o] * (h + 1), dtype=torch.float32)
    for i in range(1, h + 1):
        p[i] = p[i - 1] - (o - 0.5) / h
    code = torch.cat([torch.special.ndtri(p), -torch.special.ndtri(torch.linspace(o, 0.5, h)[:-1])]).sort().values
    return code / code.max()
