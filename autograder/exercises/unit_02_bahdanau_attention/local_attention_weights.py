"""Exercise 9, a stretch: the weights of predictive local attention."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import SMALL

SLACK = 1e-3  # so that rounding moves no position over a window's edge; none that is drawn lies that near outside


def _drawn(inputs, sizes, rng):
    """Centres anywhere in the sentence, well between two positions; some windows reach over each end."""
    shape, T_x = inputs["p"].shape, sizes["T_x"]
    whole = rng.integers(0, max(1, T_x - 1), size=shape)
    whole[..., 0], whole[..., -1] = 0, max(0, T_x - 2)
    return {"p": (whole + rng.uniform(0.15, 0.85, size=shape) * (T_x > 1)).astype(np.float32)}


def _on_positions(inputs, rng):
    """Centres that are whole numbers, so that positions lie just on the windows' edges; one at each end."""
    inputs["p"] = np.round(inputs["p"])
    inputs["p"][..., 0], inputs["p"][..., -1] = 0, inputs["E"].shape[-1] - 1


def _high_outside(inputs, rng):
    """Scores that would win, if they were inside; exp of them overflows."""
    far = np.abs(np.arange(inputs["E"].shape[-1]) - inputs["p"][..., None]) > inputs["D"]
    inputs["E"][far] += 200


def _far_below_zero(inputs, rng):
    inputs["E"] = -1e10 * (np.abs(inputs["E"]) + np.float32(0.1))


@exercise(
    points=0,
    section="Padding gets no weight",
    source="Luong, Pham and Manning 2015, section 3.2, equation 10",
    outputs="A",
    zeros="A",
    formula="A_ts = exp(E_ts) / Σ_j exp(E_tj) · exp(−(s − p_t)² / (2σ²)), σ = D/2, for the positions s of 0, …, T_x − 1 that lie"
    " in [p_t − D, p_t + D], where j runs over these alone; A_ts = 0 at all others; E and A [*B, T_y, T_x], p [*B, T_y]",
    cases=[
        Case("one sentence", values={"D": 1}, expand={"*B": ""}, sizes={"T_x": 7}),
        Case("a batch of sentences", values={"D": 2}, expand={"*B": "B"}, sizes={"T_x": 9}),
        Case("two batch axes", values={"D": 1}, expand={"*B": "B_1 B_2"}, sizes=SMALL),
        Case("centres that are positions", values={"D": 2}, expand={"*B": "B"}, sizes={"T_x": 8}, edit=_on_positions),
        Case("a window wider than the sentence", values={"D": 9}, expand={"*B": "B"}, sizes={"T_x": 6}),
        Case("the highest scores outside the window", values={"D": 3}, sizes={"T_x": 12}, edit=_high_outside),
        Case("all scores far below zero", values={"D": 1}, sizes={"T_x": 8}, edit=_far_below_zero, extreme=True),
    ],
    draws=_drawn,
    waived=dict.fromkeys(
        ("large", "spread", "saturation"), "p is a position in the sentence; large scores are cases of their own"
    ),
    equivalent={"distance.abs() < D + SLACK": "no distance is just that"},
)
def local_attention_weights(
    E: Float[Tensor, "*B T_y T_x"], p: Float[Tensor, "*B T_y"], D: int
) -> Float[Tensor, "*B T_y T_x"]:
    distance = torch.arange(E.shape[-1], device=E.device) - p.unsqueeze(-1)  # [*B, T_y, T_x]
    inside = distance.abs() <= D + SLACK
    return torch.where(inside, E, -torch.inf).softmax(dim=-1) * torch.exp(-2 * (distance / D) ** 2)


def _distance(E, p):
    return torch.arange(E.shape[-1], device=E.device) - p.unsqueeze(-1)


def _hidden(E, p, D):
    return E.masked_fill(_distance(E, p).abs() > D, -torch.inf)


def _gaussian(E, p, D, twice_variance=None):
    return torch.exp(-(_distance(E, p) ** 2) / (D * D / 2 if twice_variance is None else twice_variance))


@local_attention_weights.misconception
def normalised_again(E, p, D):
    """The weights were normalised again, so each row sums to 1; or the exponent of the Gaussian was added to the scores before
    the softmax, which gives the same. In the paper the Gaussian comes last, and the rows sum to less than 1."""
    A = _hidden(E, p, D).softmax(dim=-1) * _gaussian(E, p, D)
    return A / A.sum(dim=-1, keepdim=True)


@local_attention_weights.misconception
def softmax_over_the_sentence(E, p, D):
    """The softmax runs over the whole sentence, and the window is cut out afterwards, so positions outside the window still take
    a part of the weight. Hide them before the softmax: it runs over the window alone."""
    return E.softmax(dim=-1) * _gaussian(E, p, D) * (_distance(E, p).abs() <= D)


@local_attention_weights.misconception
def no_window(E, p, D):
    """There is no window: positions far from p get weight too, though the Gaussian makes it small. Outside [p − D, p + D] the
    weight is exactly 0, and the softmax runs over the window alone."""
    return E.softmax(dim=-1) * _gaussian(E, p, D)


@local_attention_weights.misconception
def no_gaussian(E, p, D):
    """The window is right, but its positions are not weighted by their distance from p: the factor exp(−(s − p)²/(2σ²)) is
    missing. It also is the only way for gradients to reach p."""
    return _hidden(E, p, D).softmax(dim=-1) + 0 * p.unsqueeze(-1)


@local_attention_weights.misconception
def half_width_for_sigma(E, p, D):
    """The standard deviation is D. It is σ = D/2, half of that, so that the Gaussian has nearly ended at the edges of the
    window."""
    return _hidden(E, p, D).softmax(dim=-1) * _gaussian(E, p, D, 2 * D * D)


@local_attention_weights.misconception
def sigma_not_squared(E, p, D):
    """The distance is squared and σ is not: the exponent is −(s − p)²/(2σ). It is −(s − p)²/(2σ²)."""
    return _hidden(E, p, D).softmax(dim=-1) * _gaussian(E, p, D, D)


@local_attention_weights.misconception
def factor_two_forgotten(E, p, D):
    """The exponent is −(s − p)²/σ²: the 2 below is missing. It is −(s − p)²/(2σ²)."""
    return _hidden(E, p, D).softmax(dim=-1) * _gaussian(E, p, D, D * D / 4)


@local_attention_weights.misconception
def multiplied_by_sigma(E, p, D):
    """The exponent is −(s − p)²/2 · σ², multiplied by σ² where it should be divided: a / 2 * b is (a / 2) * b. It is −(s −
    p)²/(2σ²)."""
    return _hidden(E, p, D).softmax(dim=-1) * _gaussian(E, p, D, 8 / D**2)


@local_attention_weights.misconception
def positions_off_the_ends(E, p, D):
    """Where a window reaches over an end of the sentence, positions that do not exist take a part of the weight. The softmax runs
    over those positions of the window that the sentence has."""
    distance = torch.arange(-D, E.shape[-1] + D, device=E.device) - p.unsqueeze(-1)
    wide = torch.nn.functional.pad(E, (D, D)).masked_fill(distance.abs() > D, -torch.inf)
    return wide.softmax(dim=-1)[..., D:-D] * _gaussian(E, p, D)


@local_attention_weights.misconception
def scores_times_gaussian(E, p, D):
    """The scores are multiplied by the Gaussian, before the softmax. The Gaussian multiplies the weights, after it."""
    return (_hidden(E, p, D) * _gaussian(E, p, D)).softmax(dim=-1)


@local_attention_weights.misconception
def centre_rounded(E, p, D):
    """The centre is rounded to a position. p is a real number, in the window as in the Gaussian, and it must stay one: rounding
    has no gradient, so p could not be learned."""
    near = p.round() + 0 * p
    return _hidden(E, near, D).softmax(dim=-1) * _gaussian(E, near, D)


@local_attention_weights.misconception
def window_of_a_rounded_centre(E, p, D):
    """The Gaussian stands at p, but the window is that of p rounded to a position, so it may begin or end one position too far.
    The window holds the positions s with p − D ≤ s ≤ p + D."""
    return _hidden(E, p.round(), D).softmax(dim=-1) * _gaussian(E, p, D)


@local_attention_weights.misconception
def edges_left_out(E, p, D):
    """Positions at a distance of just D get no weight. The window is closed, p − D ≤ s ≤ p + D, so they belong to it."""
    inside = _distance(E, p).abs() < D
    return E.masked_fill(~inside, -torch.inf).softmax(dim=-1) * _gaussian(E, p, D)


@local_attention_weights.misconception
def counted_from_one(E, p, D):
    """The positions are counted from 1. Here they are 0, …, T_x − 1."""
    return _hidden(E, p - 1, D).softmax(dim=-1) * _gaussian(E, p - 1, D)


@local_attention_weights.misconception
def scores_zeroed(E, p, D):
    """Positions outside the window have a score of 0 in the softmax. exp(0) is 1, so they still take a part of the weight. A
    score of −∞ takes none."""
    inside = _distance(E, p).abs() <= D
    return (E * inside).softmax(dim=-1) * _gaussian(E, p, D) * inside


@local_attention_weights.alternative
def position_by_position(E, p, D):
    rows = []
    for e, centre in zip(E.reshape(-1, E.shape[-1]), p.reshape(-1)):
        first, last = max(0, int(torch.ceil(centre - D))), min(len(e) - 1, int(torch.floor(centre + D)))
        s = torch.arange(first, last + 1, device=E.device)
        part = e[first : last + 1].softmax(dim=0) * torch.exp(-((s - centre) ** 2) / (2 * (D / 2) ** 2))
        rows.append(torch.cat([e.new_zeros(first), part, e.new_zeros(len(e) - 1 - last)]))
    return torch.stack(rows).reshape(E.shape)


@local_attention_weights.alternative
def by_two_comparisons(E, p, D):
    s, centre = torch.arange(E.shape[-1], device=E.device, dtype=E.dtype), p[..., None]
    inside = (s >= centre - D) & (s <= centre + D)
    a = E.masked_fill(~inside, torch.finfo(E.dtype).min).softmax(-1)
    return torch.where(inside, a * torch.exp(-0.5 * ((s - centre) / (D / 2)).square()), torch.zeros_like(a))


@local_attention_weights.alternative
def exponents_added(E, p, D):
    distance = torch.arange(E.shape[-1], device=E.device).sub(p[..., None])
    hidden = E + torch.zeros_like(E).masked_fill(distance.abs() > D, -torch.inf)
    return torch.exp(hidden - hidden.logsumexp(dim=-1, keepdim=True) - 2 * distance.square() / D**2)
