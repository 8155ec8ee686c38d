"""Exercise 2: normalisation by the root mean square, without the mean."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import exercise
from autograder.bank.families.attention import SMALL
from autograder.exercises.unit_09_transformer_block._shared import (
    all_large,
    case,
    declare_wrong_axes,
    off_zero,
    one_large,
    small_spread,
)


def _one_of_zeros(inputs, rng):
    inputs["X"][0, 1] = 0


def _one_constant(inputs, rng):
    """At one position all numbers are equal: nothing would be left of it without its mean."""
    inputs["X"][0, 1] = -1.5


@exercise(
    points=2,
    section="RMSNorm: without the mean",
    source="Zhang and Sennrich 2019, section 3; eps as in Touvron et al. 2023 (Llama) and torch.nn.RMSNorm",
    outputs="Y",
    formula="at each position of X [*S, D]: m = mean of the squares of its D numbers, y = x / √(m + eps) · weight; Y [*S, D]",
    cases=[
        case("a batch of sequences", "B N", 0.1),
        case("one sequence", "N", 0.5),
        case("one position by itself", "", 0.3, edit=off_zero),
        case("three axes in front", "B_1 B_2 N", 0.2, sizes=SMALL),
        case("a batch of one", "B N", 0.4, sizes={"B": 1}),
        case("an eps that is larger than the squares", "B N", 3.5),
        case("a position of zeros", "B N", 0.01, edit=_one_of_zeros),
        case("a position whose numbers are all equal", "B N", 0.05, edit=_one_constant),
        case("a small eps", "B N", 1e-6, edge=True),
        case("one large feature among many", "B N", 1e-5, sizes={"D": 43}, edit=one_large, edge=True),
        case("a position of small numbers", "B N", 1e-12, edit=small_spread, edge=True),
        case("features of very large size", "B N", 0.1, edit=all_large, edge=True),
    ],
    forbidden=("rms_norm", "layer_norm"),
)
def rms_norm(X: Float[Tensor, "*S D"], weight: Float[Tensor, "D"], eps: float) -> Float[Tensor, "*S D"]:
    return F.rms_norm(X, weight.shape, weight, eps)


def _divide(X, weight, eps, dim=-1):
    """Divided by the root mean square along `dim`."""
    return X / torch.sqrt(X.square().mean(dim=dim, keepdim=True) + eps) * weight


def _centred(X):
    return X - X.mean(dim=-1, keepdim=True)


@rms_norm.misconception
def mean_subtracted(X, weight, eps):
    """This is layer normalisation without its bias: the mean is subtracted, and X − μ divided by its own root mean square.
    RMSNorm leaves the mean where it is, above the fraction bar and below it."""
    return _divide(_centred(X), weight, eps)


@rms_norm.misconception
def mean_subtracted_and_one_less(X, weight, eps):
    """The mean is subtracted, and X − μ divided by its standard deviation, with D − 1 in the place of D, as in torch.std. RMSNorm
    leaves the mean where it is: divide X by the root of the mean of its own squares, over D."""
    return _centred(X) / torch.sqrt(X.var(dim=-1, keepdim=True) + eps) * weight


@rms_norm.misconception
def mean_subtracted_above(X, weight, eps):
    """The mean is subtracted from X before it is divided. RMSNorm leaves the mean where it is: x / √(m + eps), with the x that
    came in."""
    return _centred(X) / torch.sqrt(X.square().mean(dim=-1, keepdim=True) + eps) * weight


@rms_norm.misconception
def divided_by_the_deviation(X, weight, eps):
    """X is divided by its standard deviation, whose squares are those of x − μ. The squares of RMSNorm are those of X itself:
    no mean is subtracted, neither above the fraction bar nor below it."""
    return X / torch.sqrt(X.var(dim=-1, correction=0, keepdim=True) + eps) * weight


@rms_norm.misconception
def divided_by_the_deviation_of_a_sample(X, weight, eps):
    """X is divided by its standard deviation, with D − 1 in the place of D, as in torch.std. The squares of RMSNorm are those of
    X itself, not of x − μ, and m is their mean, over D."""
    return X / torch.sqrt(X.var(dim=-1, keepdim=True) + eps) * weight


@rms_norm.misconception
def eps_outside_the_root(X, weight, eps):
    """eps is added to the root. Here, as in torch and in Llama, it is added to the mean of the squares, inside the root:
    √(m + eps). (The authors of RMSNorm add it outside in their own code.) {NaN} Outside, the root of 0 has an infinite slope, so
    that a position of zeros has no gradient but NaN."""
    return X / (X.square().mean(dim=-1, keepdim=True).sqrt() + eps) * weight


@rms_norm.misconception
def eps_left_out(X, weight, eps):
    """The result is that of eps = 0: eps is not added to the mean of the squares. {NaN} A position of zeros is then 0/0, which
    is NaN."""
    return _divide(X, weight, 0.0)


@rms_norm.misconception
def eps_of_its_own(X, weight, eps):
    """Whatever the argument eps says, the result is that of a very small eps, such as 1e-6. Add the argument itself to the
    mean of the squares."""
    return _divide(X, weight, 1e-6)


@rms_norm.misconception
def squares_summed(X, weight, eps):
    """The squares are summed, so that each position is divided by its length as a vector. Below the root stands their mean, over
    D: then each number, not the whole vector, has a size of about 1."""
    return X / torch.sqrt(X.square().sum(dim=-1, keepdim=True) + eps) * weight


@rms_norm.misconception
def mean_squared(X, weight, eps):
    """X is divided by the root of the squared mean, where positive and negative numbers have cancelled. Square first, then take
    the mean: m is the mean of the squares."""
    return X / torch.sqrt(X.mean(dim=-1, keepdim=True).square() + eps) * weight


@rms_norm.misconception
def root_forgotten(X, weight, eps):
    """X is divided by the mean of its squares, without the root. √(m + eps) grows in proportion to X, and only then does the
    scale of X drop out."""
    return X / (X.square().mean(dim=-1, keepdim=True) + eps) * weight


@rms_norm.misconception
def multiplied_by_the_root(X, weight, eps):
    """X is multiplied by √(m + eps), which makes large positions larger still. Divide by it, or multiply by torch.rsqrt, which
    is 1 over the root."""
    return X * torch.sqrt(X.square().mean(dim=-1, keepdim=True) + eps) * weight


declare_wrong_axes(rms_norm, _divide, "RMSNorm", "The mean of the squares was")


@rms_norm.misconception
def keepdim_forgotten(X, weight, eps):
    """The mean of the squares lost its axis and does not line up with X any more. keepdim=True keeps an axis of size 1 in the
    place of the features, [*S, 1], so that each position is divided by its own root."""
    return X / torch.sqrt(X.square().mean(dim=-1) + eps) * weight


@rms_norm.misconception
def weight_left_out(X, weight, eps):
    """X is divided by √(m + eps), but weight makes no difference. Each feature is multiplied by its own weight after the
    division."""
    return _divide(X, 1, eps)


@rms_norm.misconception
def weight_added(X, weight, eps):
    """weight is added to the normalised X. It is a factor for each feature; RMSNorm adds nothing."""
    return _divide(X, 1, eps) + weight


@rms_norm.misconception
def one_plus_weight(X, weight, eps):
    """The normalised X is multiplied by 1 + weight. Some models do so, whose weight starts at 0; here it is multiplied by weight
    itself."""
    return _divide(X, 1 + weight, eps)


@rms_norm.misconception
def scaled_before_it_is_normalised(X, weight, eps):
    """X was multiplied by weight before its root mean square was taken, which takes much of the weight away again. weight comes
    last, after the division."""
    return _divide(X * weight, 1, eps)


@rms_norm.alternative
def step_by_step(X, weight, eps):
    mean_square = (X**2).mean(dim=-1, keepdim=True)
    return X / torch.sqrt(mean_square + eps) * weight


@rms_norm.alternative
def with_rsqrt(X, weight, eps):
    return weight * (X * torch.rsqrt(X.pow(2).mean(-1, keepdim=True) + eps))


@rms_norm.alternative
def by_length(X, weight, eps):
    D = X.shape[-1]
    return weight * X / (torch.linalg.vector_norm(X, dim=-1, keepdim=True) ** 2 / D + eps) ** 0.5


@rms_norm.alternative
def by_einsum(X, weight, eps):
    m = torch.einsum("...d,...d->...", X, X) / X.size(-1)
    return torch.einsum("...d,...,d->...d", X, (m + eps) ** -0.5, weight)


@rms_norm.alternative
def position_by_position(X, weight, eps):
    rows = [x * weight / ((x @ x) / len(x) + eps).sqrt() for x in X.reshape(-1, X.shape[-1])]
    return torch.stack(rows).reshape(X.shape)
