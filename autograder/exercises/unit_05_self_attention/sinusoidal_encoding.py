"""Exercise 4: the sinusoidal positional encoding."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Positions from 3 on."""
    return {"positions": torch.arange(3, 3 + sizes["N"]).numpy()}


def _from_zero(inputs, rng):
    inputs["positions"] = torch.arange(len(inputs["positions"])).numpy()


def _scattered(inputs, rng):
    """Positions in any order, with gaps."""
    inputs["positions"] = rng.permutation(30)[: len(inputs["positions"])].astype("int64")


def _far(inputs, rng):
    """Further out than the usual tables reach. With four features single precision is still exact enough there; from 8192 on a
    cosine that is written as sin(angle + π/2) would not be."""
    inputs["positions"] = (5100 + rng.permutation(3000)[: len(inputs["positions"])]).astype("int64")


def _case(text, D=8, base=10000.0, **more):
    return Case(text, values={"D": D, "base": base}, **more)


@exercise(
    points=3,
    section="Sinusoidal positional encoding",
    source="Vaswani et al. 2017, section 3.5",
    outputs="P",
    formula="P[n, 2i] = sin(pos_n · ω_i), P[n, 2i + 1] = cos(pos_n · ω_i), ω_i = base^(−2i/D), i = 0, …, D/2 − 1; P [N, D]",
    cases=[
        _case("positions from 3 on"),
        _case("positions in any order", edit=_scattered, D=10),
        _case("50 features, positions 0 to 3", D=50, sizes={"N": 4}, edit=_from_zero),
        _case("another base", base=100.0, edit=_scattered),
        _case("two features", D=2, edit=_scattered),
        _case("one position", sizes={"N": 1}, edit=_scattered),
        _case("far positions", edit=_far, extreme=True, D=4),
        Case("called without base, which is 10000 then", values={"D": 6}),
    ],
    draws=_drawn,
    differentiable=False,
    equivalent={
        "torch.tensor(rows, device=positions.device)": "numbers of Python become float32 by themselves",
    },
)
def sinusoidal_encoding(positions: Int[Tensor, "N"], D: int, base: float = 10000.0) -> Float[Tensor, "N D"]:
    rows = [
        [f(float(place) * base ** (-2 * i / D)) for i in range(D // 2) for f in (math.sin, math.cos)]
        for place in positions.tolist()
    ]
    return torch.tensor(rows, dtype=torch.float32, device=positions.device)


def _angles(positions, D, base, exponent=None):
    """[N, D/2]: position times frequency."""
    i = torch.arange(D // 2, device=positions.device)
    powers = 2 * i / D if exponent is None else exponent
    return positions[:, None] * (base**-powers)


def _waves(angles):
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


@sinusoidal_encoding.misconception
def frequencies_counted_from_one(positions, D, base=10000.0):
    """The pairs are counted from 1, ω = base^(−2/D), base^(−4/D), …, so the highest frequency, ω = 1, is missing.
    Count from 0: the first pair has ω = base^0 = 1."""
    return _waves(_angles(positions, D, base, 2 * torch.arange(1, D // 2 + 1, device=positions.device) / D))


@sinusoidal_encoding.misconception
def half_the_exponent(positions, D, base=10000.0):
    """The exponent of pair i is i/D; it should be 2i/D. With i/D the lowest frequency is only about √base times
    smaller than the highest."""
    return _waves(_angles(positions, D, base, torch.arange(D // 2, device=positions.device) / D))


@sinusoidal_encoding.misconception
def twice_the_exponent(positions, D, base=10000.0):
    """The exponent of pair i is 4i/D; it should be 2i/D. Write either arange(0, D, 2) / D or 2 · arange(D/2) / D, but
    not both factors of 2."""
    return _waves(_angles(positions, D, base, 2 * torch.arange(0, D, 2, device=positions.device) / D))


@sinusoidal_encoding.misconception
def a_frequency_for_each_feature(positions, D, base=10000.0):
    """The sine and the cosine of a pair have different frequencies: each feature j has its own, base^(−j/D). Both
    features of pair i have the frequency ω_i."""
    j = torch.arange(D, device=positions.device)
    angles = positions[:, None] * base ** (-j / D)
    return torch.where(j % 2 == 0, angles.sin(), angles.cos())


@sinusoidal_encoding.misconception
def double_exponent_for_each_feature(positions, D, base=10000.0):
    """Feature j has the frequency base^(−2j/D): the number of the feature was used for i, which is the number of the
    pair. Features 2i and 2i + 1 both have the frequency ω_i = base^(−2i/D)."""
    j = torch.arange(D, device=positions.device)
    angles = positions[:, None] * base ** (-2 * j / D)
    return torch.where(j % 2 == 0, angles.sin(), angles.cos())


@sinusoidal_encoding.misconception
def frequencies_rising(positions, D, base=10000.0):
    """The frequencies grow with i, base^(+2i/D): the minus is missing. Each pair should have a lower frequency than
    the one before it."""
    return _waves(_angles(positions, D, base, -2 * torch.arange(D // 2, device=positions.device) / D))


@sinusoidal_encoding.misconception
def slowest_pair_at_the_base(positions, D, base=10000.0):
    """The exponents 2i/(D − 2) run up to 1, so that the last ω is 1/base. Some programs do that; the formula divides
    by D."""
    return _waves(_angles(positions, D, base, 2 * torch.arange(D // 2, device=positions.device) / max(1, D - 2)))


@sinusoidal_encoding.misconception
def positions_from_one(positions, D, base=10000.0):
    """Each position is one too large. Position 0 should give sin 0 = 0 and cos 0 = 1."""
    return _waves(_angles(positions + 1, D, base))


@sinusoidal_encoding.misconception
def positions_as_shares(positions, D, base=10000.0):
    """The positions were divided by their number. Then the same position has another encoding in a sequence of
    another length; use the positions as they are."""
    return _waves(_angles(positions / len(positions), D, base))


@sinusoidal_encoding.misconception
def whole_turns(positions, D, base=10000.0):
    """The angle was multiplied by 2π. It is pos · ω, in radians."""
    return _waves(2 * math.pi * _angles(positions, D, base))


@sinusoidal_encoding.misconception
def degrees(positions, D, base=10000.0):
    """The angles were taken for degrees: pos · ω was multiplied by π/180. It is already in radians."""
    return _waves(torch.deg2rad(_angles(positions, D, base)))


@sinusoidal_encoding.misconception
def sines_alone(positions, D, base=10000.0):
    """Both features of a pair are sines. The second one should be a cosine: a sine alone has the same value twice in
    each turn."""
    angles = _angles(positions, D, base)
    return torch.stack([angles.sin(), angles.sin()], dim=-1).flatten(1)


@sinusoidal_encoding.misconception
def transposed(positions, D, base=10000.0):
    """This is [D, N]. Row n is the encoding of positions[n], which has D numbers: [N, D]."""
    return _waves(_angles(positions, D, base)).T


@sinusoidal_encoding.misconception
def one_frequency(positions, D, base=10000.0):
    """All pairs have the frequency 1: 2i // D, an integer division, is 0 for each i. Write 2i / D."""
    return _waves(_angles(positions, D, base, 2 * torch.arange(D // 2, device=positions.device) // D))


@sinusoidal_encoding.misconception
def floored_exponents(positions, D, base=10000.0):
    """The exponents were rounded down: −2i // D, an integer division, is −1 for each i from 1 on. Write −2i / D."""
    return _waves(_angles(positions, D, base, -(-2 * torch.arange(D // 2, device=positions.device) // D)))


@sinusoidal_encoding.misconception
def angles_one_list_after_the_other(positions, D, base=10000.0):
    """The list of angles was repeated as a whole, and then sine and cosine were applied in turns, so the two features
    of a pair have different frequencies. Each angle is needed twice in a row."""
    angles = _angles(positions, D, base)
    wide = torch.cat([angles, angles], dim=-1)
    return torch.where(torch.arange(D, device=positions.device) % 2 == 0, wide.sin(), wide.cos())


@sinusoidal_encoding.misconception
def power_before_product(positions, D, base=10000.0):
    """base ** 2 * i / D means (base ** 2) · i / D: the power comes first. Put the exponent into brackets: base ** (2
    * i / D)."""
    i = torch.arange(D // 2, device=positions.device)
    return _waves(positions[:, None] / (base**2 * i / D))


@sinusoidal_encoding.misconception
def logarithm_to_ten(positions, D, base=10000.0):
    """The frequencies are exp(−2i/D · log10(base)). With exp the natural logarithm is needed: math.log(base)."""
    powers = 2 * torch.arange(D // 2, device=positions.device) / D
    return _waves(positions[:, None] * torch.exp(-powers * math.log10(base)))


@sinusoidal_encoding.misconception
def exponent_without_logarithm(positions, D, base=10000.0):
    """The frequencies are exp(−2i/D): the logarithm of the base is missing. base^x is exp(x · log(base))."""
    powers = 2 * torch.arange(D // 2, device=positions.device) / D
    return _waves(positions[:, None] * torch.exp(-powers))


@sinusoidal_encoding.alternative
def by_exponentials(positions, D, base=10000.0):
    frequencies = torch.exp(torch.arange(0, D, 2, device=positions.device) * (-math.log(base) / D))
    P = torch.zeros(len(positions), D, device=positions.device)
    P[:, 0::2] = torch.sin(positions[:, None] * frequencies)
    P[:, 1::2] = torch.cos(positions[:, None] * frequencies)
    return P


@sinusoidal_encoding.alternative
def by_complex_numbers(positions, D, base=10000.0):
    angles = _angles(positions, D, base)
    turned = torch.polar(torch.ones_like(angles), angles)  # cos + i sin
    return torch.view_as_real(turned).flip(-1).flatten(1)


@sinusoidal_encoding.alternative
def as_shifted_sines(positions, D, base=10000.0):
    j = torch.arange(D, device=positions.device)
    angles = positions.unsqueeze(1).double() / base ** (2 * (j // 2) / D).double()
    return torch.sin(angles + (j % 2) * math.pi / 2).float()


@sinusoidal_encoding.alternative
def from_double_precision(positions, D, base=10000.0):
    angles = torch.outer(positions.double(), base ** -(torch.arange(0, D, 2, device=positions.device).double() / D))
    return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(len(positions), D).to(torch.float32)
