"""Exercise 7, a stretch: attention with linear biases (ALiBi), for scores that look both ways."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import SMALL


def _zero(inputs, rng):
    """What is left are the biases."""
    inputs["E"][:] = 0


@exercise(
    points=0,
    section="Length extrapolation: past the training length",
    source="Press, Smith and Lewis 2022, section 3; there a query sees no later keys",
    outputs="E_biased",
    formula="E_biased[h, i, j] = E[h, i, j] − m_h · |i − j| with m_h = 2^(−8h/H), h = 1, …, H; E [*B, H, N, N] gives E_biased"
    " [*B, H, N, N]",
    cases=[
        Case("scores that are all 0", expand={"*B": "B"}, edit=_zero),
        Case("a batch", expand={"*B": "B"}),
        Case("one sequence, eight heads", expand={"*B": ""}, sizes={"H": 8}),
        Case("six heads, no power of 2", expand={"*B": "B"}, sizes={"H": 6, "N": 5}),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("one head", expand={"*B": "B"}, sizes={"H": 1}),
        Case("a longer sequence", expand={"*B": ""}, sizes={"H": 3, "N": 24}),
    ],
    equivalent={"E.shape[-2])": "E is square"},
)
def add_linear_biases(E: Float[Tensor, "*B H N N"]) -> Float[Tensor, "*B H N N"]:
    H, N = E.shape[-3], E.shape[-1]
    distances = [[abs(i - j) for j in range(N)] for i in range(N)]
    biases = [[[-math.pow(2, -8 * h / H) * one for one in row] for row in distances] for h in range(1, H + 1)]
    return E + torch.tensor(biases, dtype=E.dtype, device=E.device)


def _steps(E):
    """How far key j lies behind query i, i − j; negative where it lies ahead."""
    places = torch.arange(E.shape[-1], device=E.device)
    return (places[:, None] - places).to(E.dtype)


def _slopes(E, slope=lambda h, H: 2 ** (-8 * h / H)):
    """The slope of each head, [H, 1, 1]."""
    H = E.shape[-3]
    return torch.tensor([slope(h, H) for h in range(1, H + 1)], dtype=E.dtype, device=E.device)[:, None, None]


def _with_slopes(E, slope):
    return E - _slopes(E, slope) * _steps(E).abs()


def _right(E):
    return E - _slopes(E) * _steps(E).abs()


@add_linear_biases.misconception
def heads_from_zero(E):
    """The first head has the slope 1: h was counted from 0. It runs from 1 to H, so that the first slope is 2^(−8/H) and the
    last one 2^(−8)."""
    return _with_slopes(E, lambda h, H: 2 ** (-8 * (h - 1) / H))


@add_linear_biases.misconception
def slopes_of_eight_heads(E):
    """The slopes are 1/2, 1/4, 1/8 and so on, one power of 2 for each head. That is right for eight heads. With H heads the
    exponent is −8h/H: it comes to −8 at the last head, however many there are."""
    return _with_slopes(E, lambda h, H: 2.0**-h)


@add_linear_biases.misconception
def slopes_of_a_power_of_two(E):
    """Where H is no power of 2, these are the slopes of the authors' own code: those for the next smaller power of 2, and
    further ones from between them. The exercise asks for 2^(−8h/H) for every H."""
    power = 2 ** int(math.log2(E.shape[-3]))

    def slope(h, H):
        return 2 ** (-8 * h / power) if h <= power else 2 ** (-4 * (2 * (h - power) - 1) / power)

    return _with_slopes(E, slope)


@add_linear_biases.misconception
def steepest_head_last(E):
    """The heads have their slopes in reverse order. The first head has the steepest slope, 2^(−8/H), the last one the
    gentlest, 2^(−8)."""
    return _with_slopes(E, lambda h, H: 2 ** (-8 * (H + 1 - h) / H))


@add_linear_biases.misconception
def same_slope_for_all(E):
    """Every head has the slope of the first. With a slope of its own, each head looks at a neighbourhood of another size."""
    return _with_slopes(E, lambda h, H: 2 ** (-8 / H))


@add_linear_biases.misconception
def distances_without_slopes(E):
    """The distance itself is subtracted from the scores, in every head. It is multiplied by the head's slope m_h first, so
    that each head looks at a neighbourhood of another size."""
    return E - _steps(E).abs()


@add_linear_biases.misconception
def farther_is_larger(E):
    """The biases are added with a plus: the farther a key, the larger its score. Near keys are to be favoured, so m_h·|i − j|
    is subtracted."""
    return E + _slopes(E) * _steps(E).abs()


@add_linear_biases.misconception
def keys_ahead_raised(E):
    """i − j was taken with its sign, so keys ahead of the query gain where they should lose. A distance has no sign: take
    |i − j|."""
    return E - _slopes(E) * _steps(E)


@add_linear_biases.misconception
def keys_behind_raised(E):
    """j − i was taken with its sign, so keys behind the query gain where they should lose. A distance has no sign: take
    |i − j|."""
    return E + _slopes(E) * _steps(E)


@add_linear_biases.misconception
def keys_ahead_without_bias(E):
    """Keys ahead of the query have no bias. In the paper they need none, because a query sees no later key there. Here it
    sees all of them, and distance counts in both directions: |i − j|."""
    return E - _slopes(E) * _steps(E).clamp(min=0)


@add_linear_biases.misconception
def keys_ahead_hidden(E):
    """The scores of keys ahead of the query are minus infinity, so these get no weight. That is the causal form of the paper.
    Here a query attends in both directions, and a key ahead loses m_h·|i − j| like one behind."""
    return _right(E).masked_fill(_steps(E) < 0, -torch.inf)


@add_linear_biases.misconception
def keys_ahead_far_down(E):
    """The scores of keys ahead of the query are −10⁹, so these get no weight. That is the causal form of the paper. Here a
    query attends in both directions, and a key ahead loses m_h·|i − j| like one behind."""
    return _right(E).masked_fill(_steps(E) < 0, -1e9)


@add_linear_biases.misconception
def position_of_the_key(E):
    """m_h·j was added, the position of the key in the place of its distance. Among earlier keys that is the same for a
    softmax, since m_h·j and −m_h·(i − j) differ by m_h·i, one number for the whole row. For keys ahead it is not: subtract
    m_h·|i − j|."""
    return E + _slopes(E) * torch.arange(E.shape[-1], device=E.device)


@add_linear_biases.misconception
def shares_of_the_length(E):
    """The distances are divided by N, the length of the sequence. Then a distance of 3 means something else in every
    length, and a layer could not be used on longer sequences than in training. Count the positions: |i − j|."""
    return E - _slopes(E) * _steps(E).abs() / E.shape[-1]


@add_linear_biases.misconception
def scores_multiplied(E):
    """The scores were multiplied by e^(−m_h·|i − j|). That factor belongs to the weights, before they are normalised. The
    softmax makes it of what is subtracted from the scores, m_h·|i − j|."""
    return E * (-_slopes(E) * _steps(E).abs()).exp()


@add_linear_biases.alternative
def by_broadcasting(E):
    H, N = E.shape[-3:-1]
    slopes = torch.exp2(-8 * torch.arange(1, H + 1, dtype=E.dtype, device=E.device) / H)
    i = torch.arange(N, device=E.device)
    return E - slopes[:, None, None] * (i[:, None] - i[None, :]).abs()


@add_linear_biases.alternative
def head_by_head(E):
    N, made = E.shape[-1], []
    i, j = torch.meshgrid(torch.arange(N), torch.arange(N), indexing="ij")
    distance = torch.maximum(i - j, j - i).to(E)
    ratio = 2 ** (-8 / E.shape[-3])  # from slope to slope
    slope = 1.0
    for scores in E.unbind(dim=-3):
        slope *= ratio
        made.append(scores - slope * distance)
    return torch.stack(made, dim=-3)


@add_linear_biases.alternative
def diagonal_by_diagonal(E):
    H, N = E.shape[-3], E.shape[-1]
    slopes = torch.logspace(-8 / H, -8, H, base=2, dtype=torch.float64, device=E.device)
    made = E.clone()
    for step in range(1, N):
        for k in (step, -step):
            made.diagonal(k, dim1=-2, dim2=-1).sub_((slopes * step).to(E.dtype)[:, None])
    return made
