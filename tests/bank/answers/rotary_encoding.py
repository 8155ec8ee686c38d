"""Answers to exercise rotary_encoding of assignment 05."""
import functools
import math

import torch
from answers import before, change, left_open, right, wrong


def _frequencies(D, base, device=None):
    return float(base) ** (-torch.arange(0, D, 2, dtype=torch.float64, device=device) / D)


def _angles(X, positions, base):
    return positions.double()[:, None] * _frequencies(X.shape[-1], base, X.device)


def _take(X, interleaved):
    if interleaved:
        return X[..., 0::2], X[..., 1::2]
    return X.chunk(2, dim=-1)


def _put(x, y, interleaved):
    if interleaved:
        return torch.stack((x, y), dim=-1).flatten(-2)
    return torch.cat((x, y), dim=-1)


def _turned(X, angles, interleaved):
    x, y = _take(X, interleaved)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return _put(x * cos - y * sin, x * sin + y * cos, interleaved)


# ----------------------------------------------------------------------------------------------------------- right


@right("As the hints say, the angles in double precision")
def by_the_hints(X, positions, base, interleaved):
    D = X.shape[-1]
    i2 = torch.arange(0, D, 2, device=X.device, dtype=torch.float64)
    phi = positions[:, None] * base ** (-i2 / D)
    cos, sin = phi.cos().to(X.dtype), phi.sin().to(X.dtype)
    if interleaved:
        x, y = X[..., 0::2], X[..., 1::2]
    else:
        x, y = X.chunk(2, dim=-1)
    new_x, new_y = x * cos - y * sin, x * sin + y * cos
    return torch.stack([new_x, new_y], dim=-1).flatten(-2) if interleaved else torch.cat([new_x, new_y], dim=-1)


@right("rotate_half with full tables of cosines and sines, as in the library transformers")
def rotate_half_tables(X, positions, base, interleaved):
    D = X.shape[-1]
    inverse = 1.0 / base ** (torch.arange(0, D, 2, device=X.device).double() / D)
    phi = torch.outer(positions.double(), inverse)
    if interleaved:
        phi = phi.repeat_interleave(2, dim=-1)
        other = torch.stack((-X[..., 1::2], X[..., ::2]), dim=-1).flatten(-2)
    else:
        phi = torch.cat((phi, phi), dim=-1)
        other = torch.cat((-X[..., D // 2:], X[..., : D // 2]), dim=-1)
    return X * phi.cos().to(X) + other * phi.sin().to(X)


@right("Complex numbers, in double precision, turned by one complex product")
def by_complex_numbers(X, positions, base, interleaved):
    x, y = _take(X.double(), interleaved)
    angles = _angles(X, positions, base)
    z = torch.complex(x.contiguous(), y.contiguous()) * torch.polar(torch.ones_like(angles), angles)
    return _put(z.real, z.imag, interleaved).to(X.dtype)


@right("An axis of pairs at one of two places, and 2 x 2 matrices in an einsum")
def by_two_by_two(X, positions, base, interleaved):
    half = X.shape[-1] // 2
    phi = _angles(X, positions, base)
    turn = torch.stack((phi.cos(), -phi.sin(), phi.sin(), phi.cos()), dim=-1).unflatten(-1, (2, 2)).to(X.dtype)
    if interleaved:
        return torch.einsum("njab,...njb->...nja", turn, X.unflatten(-1, (half, 2))).flatten(-2)
    return torch.einsum("njab,...nbj->...naj", turn, X.unflatten(-1, (2, half))).flatten(-2)


@right("A loop over the pairs, collecting the features as columns in a list")
def pair_by_pair(X, positions, base, interleaved):
    D = X.shape[-1]
    columns = [None] * D
    for j in range(D // 2):
        a, b = (2 * j, 2 * j + 1) if interleaved else (j, j + D // 2)
        phi = positions.to(torch.float64) * base ** (-2 * j / D)
        c, s = torch.cos(phi).type_as(X), torch.sin(phi).type_as(X)
        columns[a] = c * X[..., a] - s * X[..., b]
        columns[b] = s * X[..., a] + c * X[..., b]
    return torch.stack(columns, dim=-1)


@right("A loop over the rows, one at a time")
def row_by_row(X, positions, base, interleaved):
    frequencies = _frequencies(X.shape[-1], base, X.device)
    rows = []
    for row, position in zip(X.unbind(dim=-2), positions.tolist()):
        x, y = _take(row, interleaved)
        c, s = (position * frequencies).cos().to(X.dtype), (position * frequencies).sin().to(X.dtype)
        rows.append(_put(c * x - s * y, c * y + s * x, interleaved))
    return torch.stack(rows, dim=-2)


@right("Neighbours are sorted into halves by an index, turned, and sorted back by the inverse index")
def sorted_into_halves(X, positions, base, interleaved):
    D = X.shape[-1]
    order = torch.arange(D, device=X.device)
    if interleaved:
        order = order.view(-1, 2).t().reshape(-1)
    Z = X.index_select(-1, order)
    phi = _angles(X, positions, base).repeat(1, 2)
    sign = torch.ones(D, dtype=torch.float64, device=X.device)
    sign[: D // 2] = -1
    Z = Z * phi.cos().to(X.dtype) + Z.roll(D // 2, dims=-1) * (sign * phi.sin()).to(X.dtype)
    return Z[..., order.argsort()]


@right("Each feature with its partner, found by bit arithmetic or by adding D/2 modulo D")
def with_its_partner(X, positions, base, interleaved):
    D = X.shape[-1]
    d = torch.arange(D, device=X.device)
    if interleaved:
        partner, pair, first = d ^ 1, d // 2, d % 2 == 0
    else:
        partner, pair, first = (d + D // 2) % D, d % (D // 2), d < D // 2
    phi = positions[:, None].double() * torch.pow(float(base), -2.0 * pair.double() / D)
    sine = torch.where(first, -phi.sin(), phi.sin())
    return phi.cos().to(X.dtype) * X + sine.to(X.dtype) * X[..., partner]


@right("A full D x D matrix for each row, and one product")
def a_matrix_for_each_row(X, positions, base, interleaved):
    D, half = X.shape[-1], X.shape[-1] // 2
    j = torch.arange(half, device=X.device)
    a, b = (2 * j, 2 * j + 1) if interleaved else (j, j + half)
    phi = _angles(X, positions, base)
    R = torch.zeros(len(positions), D, D, dtype=torch.float64, device=X.device)
    R[:, a, a] = R[:, b, b] = phi.cos()
    R[:, a, b], R[:, b, a] = -phi.sin(), phi.sin()
    return (R.to(X.dtype) @ X[..., None]).squeeze(-1)


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, angles, interleaved):
        ctx.save_for_backward(angles)
        ctx.interleaved = interleaved
        return _turned(X, angles, interleaved)

    @staticmethod
    def backward(ctx, grad):
        (angles,) = ctx.saved_tensors
        return _turned(grad, -angles, ctx.interleaved), None, None


@right("A torch.autograd.Function of its own, whose backward turns back")
def own_backward(X, positions, base, interleaved):
    return _Turn.apply(X, _angles(X, positions, base), interleaved)


@right("Cosines and sines of each different position once, angles reduced modulo 2 pi in double precision")
def different_positions_once(X, positions, base, interleaved):
    seen, where = torch.unique(positions, return_inverse=True)
    phi = torch.remainder(seen.double().unsqueeze(1) * _frequencies(X.shape[-1], base, X.device), 2 * math.pi)
    return _turned(X, phi[where], interleaved)


@right("Neighbours by a call of itself on the halves")
def calls_itself(X, positions, base, interleaved):
    D = X.shape[-1]
    if interleaved:
        halves = torch.cat((X[..., ::2], X[..., 1::2]), dim=-1)
        return calls_itself(halves, positions, base, False).unflatten(-1, (2, D // 2)).mT.flatten(-2)
    phi = torch.einsum("n,j->nj", positions.double(), torch.exp(-math.log(base) * torch.arange(
        D // 2, device=X.device, dtype=torch.float64) * 2 / D))
    x, y = X.split(D // 2, dim=-1)
    c, s = phi.cos().to(X), phi.sin().to(X)
    return torch.cat((torch.addcmul(x * c, y, s, value=-1), torch.addcmul(y * c, x, s)), dim=-1)


@right("A result made by empty_like and filled by slices")
def fills_slices(X, positions, base, interleaved):
    D = X.shape[-1]
    first, second = (slice(0, D, 2), slice(1, D, 2)) if interleaved else (slice(0, D // 2), slice(D // 2, D))
    angles = _angles(X, positions, base)
    cos, sin = torch.cos(angles).to(X.dtype), torch.sin(angles).to(X.dtype)
    result = torch.empty_like(X)
    result[..., first] = X[..., first] * cos - X[..., second] * sin
    result[..., second] = X[..., first] * sin + X[..., second] * cos
    return result


# --------------------------------------------------------------------------------------------------- wrong: concept


@wrong("turns backwards, by -phi instead of phi, in both pairings", kind="concept")
def backwards(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    phi = _angles(X, positions, base)
    cos, sin = phi.cos().to(X.dtype), phi.sin().to(X.dtype)
    return _put(x * cos + y * sin, y * cos - x * sin, interleaved)


@wrong("the two pairings are exchanged: interleaved=True takes halves, interleaved=False neighbours", kind="concept")
def pairings_exchanged(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions, base), not interleaved)


# Right, and not registered: answers below are changes of it.
def _plain(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions, base), interleaved)


change(_plain, "always_halves", "ignores interleaved and always pairs j with j + D/2", "concept",
       ("_angles(X, positions, base), interleaved", "_angles(X, positions, base), False"))
change(_plain, "always_neighbours", "ignores interleaved and always pairs 2j with 2j + 1", "concept",
       ("_angles(X, positions, base), interleaved", "_angles(X, positions, base), True"))


@wrong("the exponent is -j/D instead of -2j/D: the factor 2 is missing", kind="concept")
def exponent_without_two(X, positions, base, interleaved):
    D = X.shape[-1]
    j = torch.arange(D // 2, dtype=torch.float64, device=X.device)
    return _turned(X, positions[:, None] * base ** (-j / D), interleaved)


@wrong("the exponent is -2j/(D/2) instead of -2j/D: the 2 counts double", kind="concept")
def exponent_doubled(X, positions, base, interleaved):
    half = X.shape[-1] // 2
    j = torch.arange(half, dtype=torch.float64, device=X.device)
    return _turned(X, positions[:, None] * base ** (-2 * j / half), interleaved)


change(_plain, "exponent_positive", "the exponent is +2j/D instead of -2j/D: frequencies grow with j", "concept",
       ("_angles(X, positions, base)", "positions.double()[:, None] / _frequencies(X.shape[-1], base, X.device)"))


@wrong("the frequencies begin at j = 1: base ** (-2(j + 1)/D)", kind="concept")
def frequencies_from_one(X, positions, base, interleaved):
    D = X.shape[-1]
    j = torch.arange(1, D // 2 + 1, dtype=torch.float64, device=X.device)
    return _turned(X, positions[:, None] * base ** (-2 * j / D), interleaved)


change(_plain, "frequencies_reversed", "the frequencies stand in reverse order: pair 0 turns slowest", "concept",
       ("_angles(X, positions, base)", "_angles(X, positions, base).flip(-1)"))
change(_plain, "ignores_positions", "ignores the positions and takes 0 to N - 1", "concept",
       ("_angles(X, positions, base)", "_angles(X, torch.arange(X.shape[-2], device=X.device), base)"))
change(_plain, "from_the_first", "subtracts the first position from all, so that they begin at 0", "concept",
       ("_angles(X, positions, base)", "_angles(X, positions - positions[0], base)"))
change(_plain, "counts_from_one", "adds 1 to each position, counting from one", "concept",
       ("_angles(X, positions, base)", "_angles(X, positions + 1, base)"))


@wrong("sine and cosine are exchanged", kind="concept")
def sine_for_cosine(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    angles = _angles(X, positions, base)
    cos, sin = angles.sin().to(X.dtype), angles.cos().to(X.dtype)
    return _put(x * cos - y * sin, x * sin + y * cos, interleaved)


@wrong("the second feature becomes x sin - y cos: a reflection, no turn", kind="concept")
def reflects(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    angles = _angles(X, positions, base)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return _put(x * cos - y * sin, x * sin - y * cos, interleaved)


@wrong("rotate_half without the minus: the first feature becomes x cos + y sin, the second y cos + x sin",
       kind="concept")
def no_minus(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    angles = _angles(X, positions, base)
    return X * _put(angles, angles, interleaved).cos().to(X) + _put(y, x, interleaved) * _put(
        angles, angles, interleaved).sin().to(X)


@wrong("the second feature is made of the first one after it has been turned (it was overwritten in a copy of X)",
       kind="concept")
def overwritten_first(X, positions, base, interleaved):
    result = X.clone(memory_format=torch.contiguous_format)
    x, y = _take(result, interleaved)
    angles = _angles(X, positions, base)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    turned_x = x * cos - y * sin
    return _put(turned_x, turned_x * sin + y * cos, interleaved)


@wrong("with interleaved=True the turned features come back as halves instead of by turns", kind="concept")
def neighbours_come_back_as_halves(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    angles = _angles(X, positions, base)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return torch.cat((x * cos - y * sin, x * sin + y * cos), dim=-1)


@wrong("with interleaved=False the turned features come back by turns instead of as halves", kind="concept")
def halves_come_back_by_turns(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    angles = _angles(X, positions, base)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return torch.stack((x * cos - y * sin, x * sin + y * cos), dim=-1).flatten(-2)


change(own_backward, "added_to_X", "adds the turned features to X instead of returning them alone", "concept",
       ("_Turn.apply", "X + _turned"))
change(_plain, "in_degrees", "angles are taken for degrees and divided by 180/pi", "concept",
       ("_angles(X, positions, base)", "torch.deg2rad(_angles(X, positions, base))"))
change(_plain, "whole_turns", "angles are multiplied by 2 pi, as if the frequency counted whole turns", "concept",
       ("_angles(X, positions, base)", "2 * math.pi * _angles(X, positions, base)"))
change(_plain, "base_ten_thousand", "ignores base and always uses 10000", "concept",
       ("_angles(X, positions, base)", "_angles(X, positions, 10000.0)"))


@wrong("the exponential form uses the logarithm to base 10 instead of the natural one", kind="concept")
def common_logarithm(X, positions, base, interleaved):
    D = X.shape[-1]
    i2 = torch.arange(0, D, 2, dtype=torch.float64, device=X.device)
    return _turned(X, positions[:, None] * torch.exp(-i2 / D * math.log10(base)), interleaved)


@wrong("without interleaving, feature j is paired with D - 1 - j instead of j + D/2", kind="concept")
def folded_halves(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    if interleaved:
        return _turned(X, angles, True)
    x, y = X.chunk(2, dim=-1)
    y = y.flip(-1)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return torch.cat((x * cos - y * sin, (x * sin + y * cos).flip(-1)), dim=-1)


@wrong("turns only the first D/2 features (partial rotary) and leaves the rest as they are, where D is 4 or more",
       kind="concept")
def partial(X, positions, base, interleaved):
    part = max(2, X.shape[-1] // 4 * 2)
    head, rest = X[..., :part], X[..., part:]
    return torch.cat((_turned(head, _angles(head, positions, base), interleaved), rest), dim=-1)


@wrong("adds the waves (sines and cosines of the angles) to X instead of turning it", kind="concept")
def adds_waves(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    return X + _put(angles.sin(), angles.cos(), interleaved).to(X.dtype)


@wrong("with interleaved=True cosines and sines stand as two halves (cat) beside features that stand by turns",
       kind="concept")
def half_tables_for_neighbours(X, positions, base, interleaved):
    angles = torch.cat([_angles(X, positions, base)] * 2, dim=-1)
    x, y = _take(X, interleaved)
    return X * angles.cos().to(X) + _put(-y, x, interleaved) * angles.sin().to(X)


@wrong("with interleaved=False cosines and sines stand by turns (repeat_interleave) beside features in halves",
       kind="concept")
def turn_tables_for_halves(X, positions, base, interleaved):
    angles = _angles(X, positions, base).repeat_interleave(2, dim=-1)
    x, y = _take(X, interleaved)
    return X * angles.cos().to(X) + _put(-y, x, interleaved) * angles.sin().to(X)


@wrong("only with interleaved=True turns backwards: the minus stands at the wrong one of the two features",
       kind="concept")
def neighbours_backwards(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    return _turned(X, -angles if interleaved else angles, interleaved)


@wrong("the exponent is divided by the number of rows N instead of D", kind="concept")
def exponent_over_rows(X, positions, base, interleaved):
    N, D = X.shape[-2:]
    i2 = torch.arange(0, D, 2, dtype=torch.float64, device=X.device)
    return _turned(X, positions[:, None] * base ** (-i2 / N), interleaved)


change(_plain, "relative_positions", "positions are divided by the largest of them", "concept",
       before("return", "share = positions.double() / positions.max().clamp(min=1)"),
       ("_angles(X, positions, base)", "_angles(X, share, base)"))
change(_plain, "one_frequency", "all pairs turn with the frequency of pair 0, by the position itself", "concept",
       before("return", "angles = positions.double()[:, None].expand(-1, X.shape[-1] // 2)"),
       ("_angles(X, positions, base)", "angles"))


@wrong("integer division in the exponent makes it 0 for each pair, so all frequencies are 1", kind="concept")
def integer_exponent(X, positions, base, interleaved):
    D = X.shape[-1]
    frequencies = base ** -(torch.arange(0, D, 2, device=X.device) // D).double()
    return _turned(X, positions[:, None] * frequencies, interleaved)


@wrong("frequencies run evenly (in the logarithm) from 1 to exactly 1/base: the exponent is -2j/(D - 2)",
       kind="concept")
def last_frequency_is_one_over_base(X, positions, base, interleaved):
    half = X.shape[-1] // 2
    frequencies = torch.logspace(0, -1, half, base=base, dtype=torch.float64, device=X.device)
    return _turned(X, positions[:, None] * frequencies, interleaved)


@wrong("turned vectors are scaled to length 1", kind="concept")
def unit_length(X, positions, base, interleaved):
    return torch.nn.functional.normalize(_turned(X, _angles(X, positions, base), interleaved), dim=-1)


# ------------------------------------------------------------------------------------------------ wrong: two at once


change(_plain, "from_one_and_backwards", "counts positions from 1, and turns backwards", "concept",
       ("_angles(X, positions, base)", "-_angles(X, positions + 1, base)"))
change(_plain, "only_X_matters", "ignores base (always 10000), and ignores positions (always 0 to N - 1)", "concept",
       ("_angles(X, positions, base)", "_angles(X, torch.arange(X.shape[-2], device=X.device), 10000.0)"))
change(exponent_without_two, "exchanged_and_slow",
       "the pairings are exchanged, and the exponent lacks its 2", "concept",
       ("positions[:, None] * base ** (-j / D),", "positions[:, None] * base ** (-j / D), not"))


@wrong("sine and cosine are exchanged, and the result is single precision whatever X is", kind="concept")
def exchanged_in_single(X, positions, base, interleaved):
    return _turned(X.float(), math.pi / 2 - _angles(X, positions, base), interleaved)


@wrong("cuts the rows instead of the features into halves (only even N works), and always takes halves", kind="shape")
def pairs_of_rows(X, positions, base, interleaved):
    x, y = X.chunk(2, dim=-2)
    angles = torch.cat([_angles(X, positions, base)] * 2, dim=-1)[: x.shape[-2]]
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return torch.cat((x * cos - y * sin, x * sin + y * cos), dim=-2)


# -------------------------------------------------------------------------------------------------- wrong: numerics


@left_open("positions are cast to X's type: in bfloat16 a position above 256 is rounded, by whole radians", kind="numerics")
def positions_in_the_type_of_X(X, positions, base, interleaved):
    angles = positions.to(X.dtype)[:, None].double() * _frequencies(X.shape[-1], base, X.device)
    return _turned(X, angles, interleaved)


@left_open("frequencies are cast to X's type before the product: in bfloat16 angles of large positions are far off",
       kind="numerics")
def frequencies_in_the_type_of_X(X, positions, base, interleaved):
    frequencies = _frequencies(X.shape[-1], base, X.device).to(X.dtype)
    return _turned(X, positions[:, None].double() * frequencies.double(), interleaved)


@wrong("angles go through half precision whatever X is: positions above 2048 are rounded", kind="numerics")
def positions_in_half(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions.half(), base), interleaved)


@wrong("positions are cast to int16: above 32767 they overflow to negative numbers", kind="numerics")
def positions_in_int16(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions.to(torch.int16), base), interleaved)


@left_open("angles are computed in single precision even where X is double: errors of 1e-7 times the position",
       kind="numerics")
def angles_in_single(X, positions, base, interleaved):
    D = X.shape[-1]
    i2 = torch.arange(0, D, 2, device=X.device).float()
    angles = positions.float()[:, None] * base ** (-i2 / D)
    return _turned(X, angles, interleaved)


@left_open("cosine and sine are rounded to single precision even where X is double", kind="numerics")
def tables_in_single(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    cos, sin = angles.cos().float().to(X.dtype), angles.sin().float().to(X.dtype)
    x, y = _take(X, interleaved)
    return _put(x * cos - y * sin, x * sin + y * cos, interleaved)


@wrong("angles are reduced modulo 6.28318 in place of 2 pi: the error grows with the position", kind="numerics")
def rough_pi(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions, base) % 6.28318, interleaved)


@wrong("the sine is taken as the root of 1 - cos^2: its sign is lost for angles between pi and 2 pi", kind="numerics")
def sine_from_cosine(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    cos = _angles(X, positions, base).cos()
    sin = (1 - cos**2).clamp(min=0).sqrt()
    cos, sin = cos.to(X.dtype), sin.to(X.dtype)
    return _put(x * cos - y * sin, x * sin + y * cos, interleaved)


@wrong("cosine and sine by the first terms of their series: right for angles up to about 1, far off for large ones",
       kind="numerics")
def by_series(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    phi = _angles(X, positions, base)
    cos = sum((-1) ** k * phi ** (2 * k) / math.factorial(2 * k) for k in range(6)).to(X.dtype)
    sin = sum((-1) ** k * phi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(6)).to(X.dtype)
    return _put(x * cos - y * sin, x * sin + y * cos, interleaved)


@wrong("the result is rounded to three decimals", kind="numerics")
def rounded(X, positions, base, interleaved):
    result = _turned(X, _angles(X, positions, base), interleaved)
    return result + (result.detach() * 1000).round() / 1000 - result.detach()


@wrong("results are clamped to -100 .. 100, though X may be larger", kind="numerics")
def clamped(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions, base), interleaved).clamp(-100, 100)


@wrong("goes through length and angle of each pair (atan2): a pair (0, 0) gets a gradient of nan, and squares of "
       "large numbers overflow", kind="gradient")
def length_and_angle(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    length, angle = (x**2 + y**2).sqrt(), torch.atan2(y, x)
    angle = angle + _angles(X, positions, base)
    length = length.to(angle.dtype)
    return _put(length * angle.cos(), length * angle.sin(), interleaved).to(X.dtype)


# ------------------------------------------------------------------------------------------------- wrong: positions


change(_plain, "clamped_positions", "positions above 4095 are clamped to 4095", "edge",
       ("_angles(X, positions, base)", "_angles(X, positions.clamp(max=4095), base)"))
change(_plain, "interpolated_positions",
       "where a position is 2048 or more, all positions are shrunk to fit in 2048 (position interpolation)", "edge",
       before("return", "factor = min(1.0, 2047 / max(1, int(positions.max())))"),
       ("_angles(X, positions, base)", "_angles(X, positions.double() * factor, base)"))


@wrong("a table for positions 0 to N - 1 is made and indexed by the positions: IndexError for positions of N or more",
       kind="edge")
def table_of_N_rows(X, positions, base, interleaved):
    table = torch.arange(X.shape[-2], device=X.device).double()[:, None] * _frequencies(X.shape[-1], base, X.device)
    return _turned(X, table[positions], interleaved)


_TABLE_LENGTH = 1024


@wrong("a table of fixed size, 1024 positions: IndexError beyond", kind="process")
def fixed_table(X, positions, base, interleaved):
    table = torch.arange(_TABLE_LENGTH, device=X.device)[:, None] * _frequencies(X.shape[-1], base, X.device)
    return _turned(X, table[positions], interleaved)


change(_plain, "sorted_positions", "sorts the positions first, so that shuffled ones go to wrong rows", "edge",
       ("_angles(X, positions, base)", "_angles(X, positions.sort().values, base)"))


@wrong("keeps every position once, at its first place: behind a repeated position all rows get wrong positions",
       kind="edge")
def unique_positions(X, positions, base, interleaved):
    kept = list(dict.fromkeys(positions.tolist()))
    kept += [kept[-1] + 1 + i for i in range(len(positions) - len(kept))]
    return _turned(X, _angles(X, torch.tensor(kept, device=X.device), base), interleaved)


@wrong("row 0 is left unturned, as if its position were always 0", kind="edge")
def first_row_as_it_is(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    angles = torch.cat((torch.zeros_like(angles[:1]), angles[1:]))
    return _turned(X, angles, interleaved)


@wrong("takes the steps between positions to be all equal to the first one (arange from the first with that step)",
       kind="edge")
def even_steps(X, positions, base, interleaved):
    step = positions[1] - positions[0] if len(positions) > 1 else 1
    regular = positions[0] + step * torch.arange(len(positions), device=X.device)
    return _turned(X, _angles(X, regular, base), interleaved)


# ----------------------------------------------------------------------------------------------------- wrong: layout


@wrong("the table of angles is [D/2, N], and is turned only if its shape does not fit: for N = D/2 it stays "
       "transposed", kind="shape")
def transposed_when_it_fits(X, positions, base, interleaved):
    angles = _frequencies(X.shape[-1], base, X.device)[:, None] * positions.double()
    if angles.shape != (X.shape[-2], X.shape[-1] // 2):
        angles = angles.T
    return _turned(X, angles, interleaved)


@wrong("pairs are cut by view: X that is transposed, expanded or sliced with a step raises a RuntimeError",
       kind="layout")
def cut_by_view(X, positions, base, interleaved):
    half = X.shape[-1] // 2
    pairs = X.view(-1, half, 2) if interleaved else X.view(-1, 2, half).mT
    x, y = pairs.unflatten(0, X.shape[:-1]).unbind(-1)
    angles = _angles(X, positions, base)
    cos, sin = angles.cos().to(X.dtype), angles.sin().to(X.dtype)
    return _put(x * cos - y * sin, x * sin + y * cos, interleaved)


@wrong("takes exactly one batch axis (B, N, D = X.shape): none or several raise an error", kind="layout")
def one_batch_axis(X, positions, base, interleaved):
    B, N, D = X.shape
    angles = _angles(X, positions, base).expand(B, N, D // 2)
    return _turned(X, angles, interleaved)


@wrong("takes axis 1 for the rows and unsqueezes the angles for each axis behind it: wrong or an error for any "
       "number of batch axes but one", kind="layout")
def rows_are_axis_one(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    angles = angles.reshape(X.shape[1], *[1] * (X.dim() - 3), X.shape[-1] // 2)
    return _turned(X, angles, interleaved)


@wrong("squeezes the result: axes of size 1 disappear", kind="layout")
def squeezed(X, positions, base, interleaved):
    return _turned(X, _angles(X, positions, base), interleaved).squeeze()


@wrong("reads X as if its numbers lay side by side in memory (as_strided): wrong for transposed, expanded or sliced X",
       kind="layout")
def as_it_lies_in_memory(X, positions, base, interleaved):
    strides = [math.prod(X.shape[i + 1:]) for i in range(X.dim())]
    return _turned(torch.as_strided(X, X.shape, strides), _angles(X, positions, base), interleaved)


change(_plain, "batch_axes_joined", "reshapes to [-1, N, D] and forgets to bring the batch axes back", "layout",
       (", _angles(X, positions, base)", ".reshape(-1, *X.shape[-2:]), _angles(X, positions, base)"))


@left_open("turns with view_as_complex, which bfloat16 does not have: a bfloat16 X raises an error", kind="interface")
def complex_view(X, positions, base, interleaved):
    pairs = torch.stack(_take(X, interleaved), dim=-1).contiguous()
    angles = _angles(X, positions, base)
    z = torch.view_as_complex(pairs)
    z = torch.view_as_real(z * torch.polar(torch.ones_like(angles), angles).to(z.dtype))
    return _put(z[..., 0], z[..., 1], interleaved)


# ------------------------------------------------------------------------------------- wrong: gradient and interface


change(_plain, "detached", "detaches X: no gradient flows to it", "gradient",
       (", _angles(X, positions, base)", ".detach(), _angles(X, positions, base)"))
change(reflects, "partner_detached",
       "the second feature of each pair is detached in the new first one: half of its gradient is missing", "gradient",
       ("x * cos - y * sin, x * sin - y * cos", "x * cos - y.detach() * sin, x * sin + y * cos"))


@wrong("rebuilds the result by torch.tensor from a nested list: no gradient flows to X", kind="gradient")
def rebuilt(X, positions, base, interleaved):
    result = _turned(X, _angles(X, positions, base), interleaved)
    return torch.tensor(result.tolist(), dtype=X.dtype, device=X.device)


class _TurnForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X, angles, interleaved):
        ctx.save_for_backward(angles)
        ctx.interleaved = interleaved
        return _turned(X, angles, interleaved)

    @staticmethod
    def backward(ctx, grad):
        return _turned(grad, ctx.saved_tensors[0], ctx.interleaved), None, None


@wrong("its own backward turns the gradient by phi instead of -phi: the gradient of X is wrong", kind="gradient")
def backward_turns_forwards(X, positions, base, interleaved):
    return _TurnForward.apply(X, _angles(X, positions, base), interleaved)


@wrong("writes the turned features into X itself and returns it: the input is changed, "
       "and its gradient is that of the identity", kind="interface")
def in_place(X, positions, base, interleaved):
    with torch.no_grad():
        return X.copy_(_turned(X, _angles(X, positions, base), interleaved))


@wrong("casts X to single precision and never back: float64 and bfloat16 come out as float32", kind="interface")
def always_single(X, positions, base, interleaved):
    return _turned(X.float(), _angles(X, positions, base), interleaved)


@wrong("fills a tensor made by torch.zeros without a type: the result is float32, on the CPU, whatever X is",
       kind="interface")
def zeros_without_type(X, positions, base, interleaved):
    result = torch.zeros(X.shape)
    result[...] = _turned(X, _angles(X, positions, base), interleaved)
    return result


@wrong("double cosines and sines are not cast to X's type: float32 X comes out as float64", kind="interface")
def comes_out_double(X, positions, base, interleaved):
    x, y = _take(X, interleaved)
    angles = _angles(X, positions, base)
    return _put(x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos(), interleaved)


_kept = {}


@wrong("angles are kept from call to call by N and D alone: later calls with other positions or another base get the "
       "old ones", kind="interface")
def kept_angles(X, positions, base, interleaved):
    if X.shape[-2:] not in _kept:
        _kept[X.shape[-2:]] = _angles(X, positions, base)
    return _turned(X, _kept[X.shape[-2:]].to(X.device), interleaved)


@functools.cache
def _kept_frequencies(D):
    return {}


@wrong("frequencies are kept from call to call by D alone: a later call with another base gets those of the first",
       kind="interface")
def kept_frequencies(X, positions, base, interleaved):
    kept = _kept_frequencies(X.shape[-1])
    frequencies = kept.setdefault("frequencies", _frequencies(X.shape[-1], base, X.device))
    return _turned(X, positions[:, None].double() * frequencies.to(X.device), interleaved)


@right("the arguments have other names (x, pos, theta, neighbours): a call by keyword fails")
def other_names(x, pos, theta, neighbours):
    return _turned(x, _angles(x, pos, theta), neighbours)


change(_plain, "keyword_only", "interleaved must be given by keyword: a call by position fails", "interface",
       ("base, interleaved", "base, *, interleaved"))


@wrong("returns a pair, the turned X and the angles, instead of the turned X alone", kind="interface")
def returns_angles_too(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    return _turned(X, angles, interleaved), angles
