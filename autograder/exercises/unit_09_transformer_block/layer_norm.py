"""Exercise 1: layer normalisation, each position over its own features."""

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


def _one_constant(inputs, rng):
    """At one position all numbers are equal, and without rounding their mean is that number."""
    inputs["X"][0, 1] = 1.5


def _far(inputs, rng):
    """Each position lies far from 0 compared with its spread, and has a mean of its own."""
    X = inputs["X"]
    X += 4000 + 2000 * rng.random((*X.shape[:-1], 1))


@exercise(
    points=2,
    section="Layer normalisation",
    source="Ba, Kiros and Hinton 2016, section 3",
    outputs="Y",
    formula="at each position of X [*S, D]: μ = mean of its D numbers, σ² = mean of their (x − μ)²,"
    " y = (x − μ) / √(σ² + eps) · weight + bias; Y [*S, D]",
    cases=[
        case("a batch of sequences", "B N", 0.1),
        case("one sequence", "N", 0.5),
        case("one position by itself", "", 0.3, edit=off_zero),
        case("three axes in front", "B_1 B_2 N", 0.2, sizes=SMALL),
        case("a batch of one", "B N", 0.4, sizes={"B": 1}),
        case("an eps that is larger than the variance", "B N", 2.5),
        case("a position whose numbers are all equal", "B N", 0.01, edit=_one_constant),
        case("positions far from 0", "B N", 1e-5, sizes={"B": 4, "N": 6}, edit=_far),
        case("a small eps", "B N", 1e-6, edge=True),
        case("one large feature among many", "B N", 1e-5, sizes={"D": 43}, edit=one_large, edge=True),
        case("a position of small numbers", "B N", 1e-12, edit=small_spread, edge=True),
        case("features of very large size", "B N", 0.1, edit=all_large, edge=True),
    ],
    forbidden=("layer_norm", "group_norm", "instance_norm", "batch_norm"),
)
def layer_norm(
    X: Float[Tensor, "*S D"], weight: Float[Tensor, "D"], bias: Float[Tensor, "D"], eps: float
) -> Float[Tensor, "*S D"]:
    return F.layer_norm(X, weight.shape, weight, bias, eps)


def _normalise(X, weight, bias, eps, dim=-1, correction=0):
    """Normalised along `dim`, with the sum of squares divided by their number minus `correction`."""
    variance, mean = torch.var_mean(X, dim=dim, correction=correction, keepdim=True)
    return (X - mean) / torch.sqrt(variance + eps) * weight + bias


def _parts(X):
    """What is above the fraction bar, x − μ, and the variance."""
    centred = X - X.mean(dim=-1, keepdim=True)
    return centred, centred.square().mean(dim=-1, keepdim=True)


@layer_norm.misconception
def divided_by_one_less(X, weight, bias, eps):
    """The sum of the squares is divided by D − 1. That is the default of torch.var and torch.std, which estimate the variance
    of a population from a sample. Layer normalisation divides by D, all the numbers there are: correction=0. With D − 1 a
    position with a single feature gives 0/0."""
    return _normalise(X, weight, bias, eps, correction=1)


@layer_norm.misconception
def eps_outside_the_root(X, weight, bias, eps):
    """eps is added to the standard deviation, outside the root. It is added to the variance, inside: √(σ² + eps). {NaN} Outside,
    the root of a variance of 0 has an infinite slope, and gradients become NaN."""
    centred, variance = _parts(X)
    return centred / (variance.sqrt() + eps) * weight + bias


@layer_norm.misconception
def one_less_and_eps_outside(X, weight, bias, eps):
    """Two things differ: the sum of the squares is divided by D − 1, as torch.std does by default, and eps is added to the
    standard deviation. The variance here is the mean of the squares, over D, and eps is added to it inside the root:
    √(σ² + eps)."""
    return (X - X.mean(dim=-1, keepdim=True)) / (X.std(dim=-1, keepdim=True) + eps) * weight + bias


@layer_norm.misconception
def one_less_and_no_eps(X, weight, bias, eps):
    """Two things differ: the sum of the squares is divided by D − 1, as torch.std does by default, and eps makes no difference.
    The variance here is the mean of the squares, over D, and eps is added to it inside the root: √(σ² + eps)."""
    return _normalise(X, weight, bias, 0.0, correction=1)


@layer_norm.misconception
def eps_left_out(X, weight, bias, eps):
    """The result is that of eps = 0: eps is not added to the variance. {NaN} Where all numbers of a position are equal the
    variance is 0, and 0/0 is NaN."""
    return _normalise(X, weight, bias, 0.0)


@layer_norm.misconception
def eps_of_its_own(X, weight, bias, eps):
    """Whatever the argument eps says, the result is that of a very small eps, such as 1e-5. Add the argument itself to the
    variance."""
    return _normalise(X, weight, bias, 1e-5)


@layer_norm.misconception
def root_forgotten(X, weight, bias, eps):
    """X − μ is divided by the variance, without the root. What belongs below the fraction bar is √(σ² + eps), which grows in
    proportion to X; only then does the scale of X drop out."""
    centred, variance = _parts(X)
    return centred / (variance + eps) * weight + bias


@layer_norm.misconception
def squares_summed(X, weight, bias, eps):
    """The squares of x − μ are summed, so that each position is divided by its length. The variance is their mean, over D:
    then each number, not the whole vector, has a size of about 1."""
    centred, variance = _parts(X)
    return centred / torch.sqrt(variance * X.shape[-1] + eps) * weight + bias


@layer_norm.misconception
def variance_around_zero(X, weight, bias, eps):
    """The mean is subtracted above the fraction bar but not below it, where the mean of the squares of X itself stands. The
    variance is the mean of (x − μ)²."""
    return (X - X.mean(dim=-1, keepdim=True)) / torch.sqrt(X.square().mean(dim=-1, keepdim=True) + eps) * weight + bias


@layer_norm.misconception
def mean_not_subtracted(X, weight, bias, eps):
    """X is divided by √(σ² + eps), but its mean is not subtracted first. The normalised numbers of a position have mean 0:
    (x − μ) / √(σ² + eps)."""
    return X / torch.sqrt(_parts(X)[1] + eps) * weight + bias


@layer_norm.misconception
def not_divided(X, weight, bias, eps):
    """The mean is subtracted, but nothing is divided by √(σ² + eps): the numbers of each position have mean 0 and keep their
    scale. Layer normalisation takes away both."""
    return _parts(X)[0] * weight + bias


@layer_norm.misconception
def variance_by_difference(X, weight, bias, eps):
    """The variance is lost to rounding where numbers lie far from 0. This happens to mean(X²) − μ²: on paper it is the
    variance, but there two huge numbers nearly cancel, and their difference may even be negative, so that its root is NaN.
    Subtract the mean first, then square."""
    mean = X.mean(dim=-1, keepdim=True)
    return (X - mean) / torch.sqrt((X**2).mean(dim=-1, keepdim=True) - mean**2 + eps) * weight + bias


declare_wrong_axes(layer_norm, _normalise, "Layer normalisation", "Mean and variance were")


@layer_norm.misconception
def keepdim_forgotten(X, weight, bias, eps):
    """The mean or the variance lost its axis and does not line up with X any more. keepdim=True keeps an axis of size 1 in the
    place of the features, [*S, 1], so that each position meets its own mean and variance."""
    variance, mean = torch.var_mean(X, dim=-1, correction=0)
    return (X - mean) / torch.sqrt(variance + eps) * weight + bias


@layer_norm.misconception
def weight_and_bias_left_out(X, weight, bias, eps):
    """X is normalised, but neither scaled by weight nor shifted by bias. With these two the model learns which mean and which
    scale each feature should have afterwards."""
    return F.layer_norm(X, weight.shape, None, None, eps)


@layer_norm.misconception
def weight_left_out(X, weight, bias, eps):
    """bias is added, but weight makes no difference. Each feature is multiplied by its own weight after the division."""
    return F.layer_norm(X, weight.shape, None, bias, eps)


@layer_norm.misconception
def bias_before_weight(X, weight, bias, eps):
    """The bias is multiplied by weight as well. Scale first, then shift: (x − μ) / √(σ² + eps) · weight + bias."""
    return (F.layer_norm(X, weight.shape, None, None, eps) + bias) * weight


@layer_norm.misconception
def scaled_before_it_is_normalised(X, weight, bias, eps):
    """weight and bias were applied to X before it was normalised, which takes much of them away again. They come last, after
    the division."""
    return F.layer_norm(X * weight + bias, weight.shape, None, None, eps)


@layer_norm.alternative
def step_by_step(X, weight, bias, eps):
    mean = X.mean(dim=-1, keepdim=True)
    variance = ((X - mean) ** 2).mean(dim=-1, keepdim=True)
    return (X - mean) / torch.sqrt(variance + eps) * weight + bias


@layer_norm.alternative
def with_torch_var(X, weight, bias, eps):
    normalised = (X - X.mean(-1, keepdim=True)) * torch.rsqrt(X.var(-1, unbiased=False, keepdim=True) + eps)
    return torch.addcmul(bias, weight, normalised)


@layer_norm.alternative
def by_length(X, weight, bias, eps):
    D = X.size(-1)
    centred = X - X.sum(-1, keepdim=True) / D
    return bias + weight * centred / (torch.linalg.vector_norm(centred, dim=-1, keepdim=True) ** 2 / D + eps) ** 0.5


@layer_norm.alternative
def by_einsum(X, weight, bias, eps):
    centred = X - torch.einsum("...d->...", X)[..., None] / len(weight)
    variance = torch.einsum("...d,...d->...", centred, centred) / len(weight)
    return torch.einsum("...d,...,d->...d", centred, (variance + eps) ** -0.5, weight) + bias


@layer_norm.alternative
def position_by_position(X, weight, bias, eps):
    rows = []
    for x in X.reshape(-1, X.shape[-1]):
        x = x - x.mean()
        rows.append(weight * x / (x.pow(2).mean() + eps).sqrt() + bias)
    return torch.stack(rows).reshape(X.shape)
