"""Exercise 2: a softmax that does not overflow, from exp and sums."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.attention import FUSED

SOFTMAX = (*FUSED, "softmax", "softmin", "logsumexp", "logcumsumexp", "logaddexp", "cross_entropy")


def _around_a_thousand(inputs, rng):
    inputs["e"] += 1000


def _rows_far_apart(inputs, rng):
    inputs["e"] -= 400 * torch.arange(inputs["e"].shape[0]).numpy()[:, None].astype("float32")


def _one_far_above(inputs, rng):
    e = inputs["e"]
    e[..., 1] = e[..., 0] + 2
    e[..., :2] += 300


def _some_masked(inputs, rng):
    inputs["e"][0, 1] = inputs["e"][1, 0] = -math.inf


@exercise(
    points={"the definition": 2, "large scores": 1},
    section="From scores to attention weights",
    source='Goodfellow, Bengio and Courville 2016, section 4.1',
    outputs="a",
    formula="a_i = exp(e_i − m) / Σ_j exp(e_j − m), with m the largest e_j along `dim` and the sum along `dim`",
    cases=[
        Case("the last axis of a matrix", expand={"*S": "N_Q N_X"}, values={"dim": -1}, part="the definition"),
        Case("the first axis", expand={"*S": "N_X N_Q"}, values={"dim": 0}, part="the definition"),
        Case("an axis in the middle", expand={"*S": "B N_X N_Q"}, values={"dim": -2}, part="the definition"),
        Case("a single vector", expand={"*S": "N_X"}, values={"dim": 0}, part="the definition"),
        Case("dim left out: the last axis", expand={"*S": "N_Q N_X"}, part="the definition"),
        Case("a batch of one", expand={"*S": "B N_X"}, values={"dim": -1}, sizes={"B": 1}, part="the definition"),
        Case("scores of −inf get weight 0", expand={"*S": "N_Q N_X"}, values={"dim": -1}, edit=_some_masked,
             sizes={"N_Q": 3, "N_X": 5}, part="the definition"),
        Case("scores around 1000", expand={"*S": "N_Q N_X"}, values={"dim": -1}, edit=_around_a_thousand,
             part="large scores", extreme=True),
        Case("rows that lie far apart", expand={"*S": "N_Q N_X"}, values={"dim": -1}, edit=_rows_far_apart,
             sizes={"N_Q": 4}, part="large scores", extreme=True),
        Case("two scores far above the others", expand={"*S": "N_Q N_X"}, values={"dim": 1}, edit=_one_far_above,
             sizes={"N_Q": 3, "N_X": 7}, part="large scores", extreme=True),
    ],
    forbidden=SOFTMAX,
    waived=dict.fromkeys(("large", "saturation"), "large scores have a part, and points, of their own"),
)  # fmt: skip
def stable_softmax(e: Float[Tensor, "*S"], dim: int = -1) -> Float[Tensor, "*S"]:
    return F.softmax(e, dim=dim)


@stable_softmax.misconception
def largest_not_subtracted(e, dim=-1):
    """This is right for small scores, but exp overflows for large ones, and inf/inf is NaN. Subtract the largest
    score along `dim` first; numerator and denominator shrink by the same factor, so the result stays the same."""
    return e.exp() / e.exp().sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def largest_of_everything_subtracted(e, dim=-1):
    """The largest number of the whole tensor (or another number that is too large for some slice) is subtracted. In a
    row far below it all exponentials underflow to 0, and 0/0 is NaN. Each slice along `dim` needs its own largest
    number: amax(dim=dim, keepdim=True)."""
    exponentials = (e - e.max()).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def not_the_largest_subtracted(e, dim=-1):
    """Something was subtracted along `dim`, but not the largest score (the mean, or the smallest?). That helps only
    while all scores are close together: a score far above the others overflows, and a score of −∞ makes the mean −∞,
    too. After the largest score has been subtracted, no exponent is above 0."""
    exponentials = (e - e.mean(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def subtracted_in_the_numerator_alone(e, dim=-1):
    """The largest score is subtracted in the numerator or in the denominator only. The factor exp(−m) cancels only if
    both have it: exp(e − m) / Σ exp(e − m)."""
    return (e - e.amax(dim=dim, keepdim=True)).exp() / e.exp().sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def divided_by_largest(e, dim=-1):
    """The scores are divided by the largest one. That changes how far apart they are, and so the weights; subtracting
    it changes only the size of the exponentials."""
    exponentials = (e / e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception(universal=True)
def always_the_last_axis(e, dim=-1):
    """The softmax runs over the last axis whatever `dim` says. Both the largest score and the sum belong to the axis `dim`."""
    exponentials = (e - e.amax(dim=-1, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@stable_softmax.misconception(universal=True)
def always_the_first_axis(e, dim=-1):
    """The softmax runs over the first axis whatever `dim` says. Both the largest score and the sum belong to the axis `dim`."""
    exponentials = (e - e.amax(dim=0, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=0, keepdim=True)


@stable_softmax.misconception
def sum_over_everything(e, dim=-1):
    """The exponentials are divided by their sum over the whole tensor, so all weights together sum to 1. Each slice
    along `dim` should sum to 1 by itself: sum(dim=dim, keepdim=True)."""
    exponentials = (e - e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum()


@stable_softmax.misconception
def not_normalised(e, dim=-1):
    """These are the exponentials, not yet divided by their sum: the largest is 1, and they do not sum to 1 along `dim`."""
    return (e - e.amax(dim=dim, keepdim=True)).exp()


@stable_softmax.misconception
def not_exponentiated(e, dim=-1):
    """The scores are divided by their sum without exp. Scores may be negative or sum to 0; exp makes all of them
    positive first."""
    return e / e.sum(dim=dim, keepdim=True)


@stable_softmax.misconception
def keepdim_forgotten(e, dim=-1):
    """The sum, or the largest score, lost its axis, so it lines up with the wrong axis or does not fit at all.
    keepdim=True keeps an axis of size 1 there, so that each slice is combined with its own largest score and its own
    sum."""
    exponentials = (e - e.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=dim)


@stable_softmax.alternative
def with_max_values(e, dim=-1):
    shifted = torch.exp(e - torch.max(e, dim=dim, keepdim=True).values)
    return shifted / torch.sum(shifted, dim, keepdim=True)


@stable_softmax.alternative
def with_a_detached_largest(e, dim=-1):
    shifted = e - e.detach().amax(dim, keepdim=True)
    return shifted.exp() * shifted.exp().sum(dim, keepdim=True).reciprocal()


@stable_softmax.alternative
def in_the_logarithm(e, dim=-1):
    shifted = e - e.amax(dim=dim, keepdim=True)
    return (shifted - shifted.exp().sum(dim=dim, keepdim=True).log()).exp()


@stable_softmax.alternative
def slice_by_slice(e, dim=-1):
    rows = []
    for row in e.movedim(dim, -1).reshape(-1, e.shape[dim]):
        powers = (row - row.max()).exp()
        rows.append(powers / powers.sum())
    moved = e.movedim(dim, -1).shape
    return torch.stack(rows).reshape(moved).movedim(-1, dim)
