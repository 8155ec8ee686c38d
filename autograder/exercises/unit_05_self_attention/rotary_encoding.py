"""Exercise 6: the rotary position embedding, in both pairings."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Positions in order, but not from 0 on."""
    return {"positions": torch.arange(2, 2 + sizes["N"]).numpy()}


def _scattered(inputs, rng):
    inputs["positions"] = rng.permutation(24)[: len(inputs["positions"])].astype("int64")


def _far(inputs, rng):
    """Further out than the usual tables reach; with four features single precision is still exact enough there."""
    inputs["positions"] = (5100 + rng.permutation(3000)[: len(inputs["positions"])]).astype("int64")


def _repeated(inputs, rng):
    inputs["positions"][1:] = inputs["positions"][:-1]


def _beyond(inputs, rng):
    """Further than 16 bits count."""
    inputs["positions"] = (40000 + rng.permutation(3000)[: len(inputs["positions"])]).astype("int64")


def _cases(interleaved: bool, part: str) -> list[Case]:
    def case(text, base=10000.0, **more):
        return Case(f"{part}, {text}", values={"base": base, "interleaved": interleaved}, part=part, **more)

    return [
        case("a batch", expand={"*B": "B"}, sizes={"D": 8}),
        case("one sequence, positions in any order", expand={"*B": ""}, sizes={"D": 10}, edit=_scattered),
        case("two batch axes", expand={"*B": "B_1 B_2"}, sizes={"B_1": 3, "B_2": 2, "D": 6}),
        case("another base", base=50.0, expand={"*B": ""}, sizes={"D": 8}, edit=_scattered),
        case("a single pair", expand={"*B": "B"}, sizes={"D": 2}),
        case("positions that repeat", expand={"*B": ""}, sizes={"D": 6}, edit=_repeated),
        case("positions beyond 40000", expand={"*B": ""}, sizes={"D": 4}, edit=_beyond, extreme=True, edge=True),
        case("far positions", expand={"*B": ""}, sizes={"D": 4}, edit=_far, extreme=True),
    ]


@exercise(
    points={"pairs (j, j + D/2)": 2, "pairs (2j, 2j + 1)": 2},
    section="Rotary position embedding (RoPE)",
    source="Su et al. 2021, RoFormer, equation 34",
    outputs="X_turned",
    formula="each pair (x, y) of row n becomes (x cos φ − y sin φ, x sin φ + y cos φ), φ = positions[n] · base^(−2j/D), j = 0, …,"
    " D/2 − 1; pair j is features (j, j + D/2), or (2j, 2j + 1) if interleaved; X_turned [*B, N, D]",
    cases=[*_cases(False, "pairs (j, j + D/2)"), *_cases(True, "pairs (2j, 2j + 1)")],
    draws=_drawn,
    waived={
        "bfloat16": "a far position's angle cannot be told in so few digits, and the text does not say in which type it is"
        " computed"
    },
    equivalent={
        ".double() / D))": "angles of more digits",
        "X.device) / D)).to(X.dtype)": "frequencies in single precision are allowed",
        "reshape(*batch, N, D)": "float32 and float64 keep their type; bfloat16 is not asked",
    },
)
def rotary_encoding(
    X: Float[Tensor, "*B N D"], positions: Int[Tensor, "N"], base: float, interleaved: bool
) -> Float[Tensor, "*B N D"]:
    *batch, N, D = X.shape
    given, X = X.dtype, X.to(torch.promote_types(X.dtype, torch.float32))
    angles = torch.outer(positions.double(), base ** (-torch.arange(0, D, 2, device=X.device).double() / D)).to(X.dtype)
    turn = torch.polar(torch.ones_like(angles), angles)  # [N, D/2], complex: cos φ + i sin φ
    pairs = X.unflatten(-1, (D // 2, 2)) if interleaved else X.unflatten(-1, (2, D // 2)).mT
    turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
    return (turned if interleaved else turned.mT).reshape(*batch, N, D).to(given)


def _pairs(X, interleaved):
    """First and second features of the pairs, [*B, N, D/2] each."""
    return (X[..., 0::2], X[..., 1::2]) if interleaved else X.chunk(2, dim=-1)


def _joined(x, y, interleaved):
    return torch.stack([x, y], dim=-1).flatten(-2) if interleaved else torch.cat([x, y], dim=-1)


def _angles(X, positions, base, powers=None):
    D = X.shape[-1]
    powers = torch.arange(0, D, 2, device=X.device) / D if powers is None else powers
    return (positions.double()[:, None] * base ** -powers.double()).to(X.dtype)  # [N, D/2]


def _turned(X, angles, interleaved):
    x, y = _pairs(X, interleaved)
    return _joined(x * angles.cos() - y * angles.sin(), x * angles.sin() + y * angles.cos(), interleaved)


@rotary_encoding.misconception
def always_in_halves(X, positions, base, interleaved):
    """The pairs are (j, j + D/2) whether interleaved is True or not: the argument is not used, or a reshape cuts the
    neighbours wrongly. If it is True, the pairs are neighbours, (2j, 2j + 1)."""
    return _turned(X, _angles(X, positions, base), False)


@rotary_encoding.misconception
def always_neighbours(X, positions, base, interleaved):
    """The pairs are (2j, 2j + 1) whether interleaved is True or not: the argument is not used, or a reshape cuts the
    halves wrongly. If it is False, the pairs are (j, j + D/2)."""
    return _turned(X, _angles(X, positions, base), True)


@rotary_encoding.misconception
def pairings_exchanged(X, positions, base, interleaved):
    """The two pairings have changed places: neighbours (2j, 2j + 1) belong to interleaved=True, halves (j, j + D/2) to False."""
    return _turned(X, _angles(X, positions, base), not interleaved)


@rotary_encoding.misconception
def turned_backwards(X, positions, base, interleaved):
    """The pairs are rotated by −φ: the sines have the wrong signs. (x, y) becomes (x cos φ − y sin φ, x sin φ + y cos
    φ)."""
    return _turned(X, -_angles(X, positions, base), interleaved)


@rotary_encoding.misconception
def minus_forgotten(X, positions, base, interleaved):
    """The minus is missing: the first feature of a pair becomes x cos φ − y sin φ. Without the minus this is not a
    rotation, and it changes the lengths of vectors."""
    x, y = _pairs(X, interleaved)
    cos, sin = _angles(X, positions, base).cos(), _angles(X, positions, base).sin()
    return _joined(x * cos + y * sin, y * cos + x * sin, interleaved)


@rotary_encoding.misconception
def positions_from_one(X, positions, base, interleaved):
    """Each position is one too large. At position 0 a vector should stay as it is."""
    return _turned(X, _angles(X, positions + 1, base), interleaved)


@rotary_encoding.misconception(universal=True)
def base_ignored(X, positions, base, interleaved):
    """The result is that of base 10000, whatever base is given: is 10000 written into the code, or are frequencies kept from
    an earlier call? The base is an argument: use it in each call."""
    return _turned(X, _angles(X, positions, 10000.0), interleaved)


@rotary_encoding.misconception
def frequencies_counted_from_one(X, positions, base, interleaved):
    """The pairs are counted from 1, so the highest frequency, 1, is missing. The first pair, j = 0, is rotated by the
    position itself, in radians."""
    D = X.shape[-1]
    return _turned(X, _angles(X, positions, base, 2 * torch.arange(1, D // 2 + 1, device=X.device) / D), interleaved)


@rotary_encoding.misconception
def half_the_exponent(X, positions, base, interleaved):
    """The exponent of pair j is −j/D; it should be −2j/D."""
    D = X.shape[-1]
    return _turned(X, _angles(X, positions, base, torch.arange(D // 2, device=X.device) / D), interleaved)


@rotary_encoding.misconception
def frequencies_rising(X, positions, base, interleaved):
    """The frequencies grow with j, base^(+2j/D): the minus is missing. The first pair should have the highest
    frequency."""
    D = X.shape[-1]
    return _turned(X, _angles(X, positions, base, -2 * torch.arange(D // 2, device=X.device) / D), interleaved)


@rotary_encoding.misconception
def one_frequency(X, positions, base, interleaved):
    """All pairs are rotated by the same angle, the position itself. Pair j has its own frequency, base^(−2j/D)."""
    return _turned(X, _angles(X, positions, base, torch.zeros(X.shape[-1] // 2, device=X.device)), interleaved)


@rotary_encoding.misconception
def angles_of_the_other_pairing(X, positions, base, interleaved):
    """The pairs are right, but the angles are arranged for the other pairing: the two features of a pair are rotated
    by different angles. Halves need all angles and then all angles again (cat); neighbours need each angle twice in a
    row (repeat_interleave)."""
    angles = _angles(X, positions, base)
    wide = torch.cat([angles, angles], dim=-1) if interleaved else angles.repeat_interleave(2, dim=-1)
    x, y = _pairs(X, interleaved)
    return X * wide.cos() + _joined(-y, x, interleaved) * wide.sin()


@rotary_encoding.misconception
def halves_mixed_for_neighbours(X, positions, base, interleaved):
    """If interleaved is True, the angles are right for neighbours, but each feature is mixed with the one D/2 away:
    (−second half, first half) belongs to the pairs (j, j + D/2). The partner of feature 2j is 2j + 1, and that of 2j
    + 1 is 2j."""
    x, y = X.chunk(2, dim=-1)
    angles = _angles(X, positions, base)
    wide = _joined(angles, angles, interleaved)
    return X * wide.cos() + torch.cat([-y, x], dim=-1) * wide.sin()


@rotary_encoding.misconception
def a_frequency_for_each_feature(X, positions, base, interleaved):
    """Each feature i has its own angle, position · base^(−i/D). The two features of a pair are rotated together, by
    one angle: that of pair j is position · base^(−2j/D)."""
    angles = _angles(X, positions, base, torch.arange(X.shape[-1], device=X.device) / X.shape[-1])
    x, y = _pairs(X, interleaved)
    return X * angles.cos() + _joined(-y, x, interleaved) * angles.sin()


@rotary_encoding.misconception
def second_sign_wrong(X, positions, base, interleaved):
    """The second feature of a pair has the wrong sign: it becomes x sin φ + y cos φ. Only the first, x cos φ − y sin
    φ, has a minus."""
    x, y = _pairs(X, interleaved)
    cos, sin = _angles(X, positions, base).cos(), _angles(X, positions, base).sin()
    return _joined(x * cos - y * sin, y * cos - x * sin, interleaved)


@rotary_encoding.misconception
def sine_and_cosine_exchanged(X, positions, base, interleaved):
    """Sine and cosine have changed places: at angle 0 a vector would not stay as it is. (x, y) becomes (x cos φ − y
    sin φ, x sin φ + y cos φ)."""
    x, y = _pairs(X, interleaved)
    cos, sin = _angles(X, positions, base).sin(), _angles(X, positions, base).cos()
    return _joined(x * cos - y * sin, x * sin + y * cos, interleaved)


@rotary_encoding.misconception
def twice_the_exponent(X, positions, base, interleaved):
    """The exponent of pair j is −4j/D; it should be −2j/D. Write either arange(0, D, 2) / D or 2 · arange(D/2) / D, but
    not both factors of 2."""
    D = X.shape[-1]
    return _turned(X, _angles(X, positions, base, 2 * torch.arange(0, D, 2, device=X.device) / D), interleaved)


@rotary_encoding.misconception
def slowest_pair_at_the_base(X, positions, base, interleaved):
    """The exponents 2j/(D − 2) run up to 1, so that the last frequency is 1/base. The formula divides by D: 2j/D."""
    D = X.shape[-1]
    return _turned(
        X, _angles(X, positions, base, 2 * torch.arange(D // 2, device=X.device) / max(1, D - 2)), interleaved
    )


@rotary_encoding.misconception
def floored_exponents(X, positions, base, interleaved):
    """The exponents were rounded down: −2j // D, an integer division, is −1 for each j from 1 on. Write −2j / D."""
    D = X.shape[-1]
    return _turned(X, _angles(X, positions, base, -(-2 * torch.arange(D // 2, device=X.device) // D)), interleaved)


@rotary_encoding.misconception
def whole_turns(X, positions, base, interleaved):
    """The angle was multiplied by 2π. It is position · base^(−2j/D), in radians."""
    # in single precision, as most write it: angles this large differ by type
    turns = _angles(X.float(), positions, base)
    return _turned(X, (2 * math.pi * turns).to(X.dtype), interleaved)


@rotary_encoding.misconception
def degrees(X, positions, base, interleaved):
    """The angle was taken for degrees: it was multiplied by π/180. position · base^(−2j/D) is already in radians."""
    return _turned(X, torch.deg2rad(_angles(X, positions, base)), interleaved)


@rotary_encoding.misconception
def added_to_the_vectors(X, positions, base, interleaved):
    """Sines and cosines are added to X, as in the sinusoidal encoding. A rotary encoding rotates the vectors: each
    pair is multiplied by a rotation."""
    angles = _angles(X, positions, base)
    return X + _joined(angles.sin(), angles.cos(), interleaved)


@rotary_encoding.misconception
def cosine_alone(X, positions, base, interleaved):
    """The result is X cos φ alone. A rotation has a second term, in which the other feature of the pair is multiplied
    by ∓ sin φ."""
    angles = _angles(X, positions, base)
    return X * _joined(angles.cos(), angles.cos(), interleaved)


@rotary_encoding.misconception
def half_of_the_features(X, positions, base, interleaved):
    """Only half of the features are rotated, and the others stay as they are. Some models do that on purpose; here
    all D/2 pairs are rotated."""
    D = X.shape[-1]
    angles = _angles(X, positions, base).masked_fill(torch.arange(D // 2, device=X.device) >= (D + 2) // 4, 0)
    return _turned(X, angles, interleaved)


@rotary_encoding.misconception
def overwritten_too_early(X, positions, base, interleaved):
    """The second feature of a pair is computed from the new value of the first. Both need the old values of
    x and y."""
    x, y = _pairs(X, interleaved)
    angles = _angles(X, positions, base)
    x = x * angles.cos() - y * angles.sin()
    return _joined(x, x * angles.sin() + y * angles.cos(), interleaved)


@rotary_encoding.alternative
def rotate_half(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    x, y = _pairs(X, interleaved)
    return (
        X * _joined(angles, angles, interleaved).cos()
        + _joined(-y, x, interleaved) * _joined(angles, angles, interleaved).sin()
    )


@rotary_encoding.alternative
def by_matrices(X, positions, base, interleaved):
    angles = _angles(X, positions, base)
    rows = [torch.stack([angles.cos(), -angles.sin()], dim=-1), torch.stack([angles.sin(), angles.cos()], dim=-1)]
    R = torch.stack(rows, dim=-2)  # [N, D/2, 2, 2]
    pairs = torch.stack(_pairs(X, interleaved), dim=-1)  # [*B, N, D/2, 2]
    turned = (R @ pairs[..., None])[..., 0]
    return _joined(turned[..., 0], turned[..., 1], interleaved)


@rotary_encoding.alternative
def pair_by_pair(X, positions, base, interleaved):
    D, columns = X.shape[-1], [None] * X.shape[-1]
    for j in range(D // 2):
        a, b = (2 * j, 2 * j + 1) if interleaved else (j, j + D // 2)
        angle = (positions.double() * base ** (-2 * j / D)).to(X.dtype)
        columns[a] = X[..., a] * angle.cos() - X[..., b] * angle.sin()
        columns[b] = X[..., a] * angle.sin() + X[..., b] * angle.cos()
    return torch.stack(columns, dim=-1)


@rotary_encoding.alternative
def sorted_first(X, positions, base, interleaved):
    D = X.shape[-1]
    order = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)]).to(X.device)
    if interleaved:
        return _turned(X[..., order], _angles(X, positions, base), False)[..., order.argsort()]
    return _turned(X, _angles(X, positions, base), False)
