"""Exercise 4: a learning rate that rises and then falls."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

LATE = 8  # times the warm-up: the latest step of a case


def _drawn(inputs, sizes, rng):
    """Steps in no order: some of the warm-up, its last one, and some behind it, as far as there is room."""
    S, warmup = sizes["S"], inputs["warmup"]
    early, late = (1 + rng.permutation(many) for many in (warmup - 1, LATE * max(S, warmup)))
    chosen = np.concatenate([[warmup], early[: (S - 1) // 2], warmup + late])[:S]
    return {"step": rng.permutation(chosen).astype("int64")}


def _from_the_first(inputs, rng):
    """Training from its first step on."""
    inputs["step"][:] = 1 + np.arange(len(inputs["step"]))


def _early(inputs, rng):
    inputs["step"][:] = rng.integers(1, inputs["warmup"] - 1, len(inputs["step"]))


def _late(inputs, rng):
    inputs["step"][:] = inputs["warmup"] * (1 + rng.permutation(50)[: len(inputs["step"])]) + 1


def _case(text, D, warmup, S, edit=None, edge=False):
    return Case(text, values={"D": D, "warmup": warmup}, sizes={"S": S}, edit=edit, edge=edge)


@exercise(
    points=1,
    section="A warm-up for the learning rate",
    source="Vaswani et al. 2017, equation 3",
    outputs="rate",
    formula="rate = D^(−1/2) · min(step^(−1/2), step · warmup^(−3/2)) for each step, the first of which is 1; rate [S]",
    cases=[
        _case("steps on both sides of the end of the warm-up", D=16, warmup=6, S=8),
        _case("another width and a longer warm-up", D=9, warmup=20, S=10),
        _case("training from its first step on", D=5, warmup=4, S=12, edit=_from_the_first),
        _case("long after the warm-up", D=2, warmup=3, S=7, edit=_late),
        _case("a warm-up of one step", D=7, warmup=1, S=6, edge=True),
        _case("a single step of the warm-up", D=12, warmup=9, S=1, edit=_early, edge=True),
        _case("a single step behind the warm-up", D=11, warmup=5, S=1, edit=_late, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def learning_rate(step: Int[Tensor, "S"], D: int, warmup: int) -> Float[Tensor, "S"]:
    share = step / warmup  # 1 at the end of the warm-up
    return (warmup * D) ** -0.5 * torch.minimum(share, share.rsqrt())


def _rising(step, D, warmup):
    return D**-0.5 * step * warmup**-1.5


def _falling(step, D, warmup):
    return D**-0.5 * step**-0.5


@learning_rate.misconception
def larger_of_the_two(step, D, warmup):
    """The larger of the two is taken. Before step = warmup the line of the warm-up is the smaller one, and behind it the root.
    The rate is their minimum: it rises to where they meet, and falls from there."""
    return torch.maximum(_rising(step, D, warmup), _falling(step, D, warmup))


@learning_rate.misconception
def constant_after_the_warm_up(step, D, warmup):
    """After the warm-up the rate stays at its peak. It falls from there, in proportion to 1/√step."""
    return _rising(step.clamp(max=warmup), D, warmup)


@learning_rate.misconception
def constant_before_the_end_of_the_warm_up(step, D, warmup):
    """During the warm-up the rate stays at its peak. That is another schedule, T5's; here it rises from near 0 in a straight
    line, step · warmup^(−3/2), while Adam's averages are still made of few gradients."""
    return _falling(step.clamp(min=warmup), D, warmup)


@learning_rate.misconception
def no_warm_up(step, D, warmup):
    """There is no warm-up: the rate falls in proportion to 1/√step from the first step, where it is largest. For the first
    `warmup` steps it has to rise in a straight line."""
    return _falling(step, D, warmup)


@learning_rate.misconception
def rises_for_ever(step, D, warmup):
    """The rate goes on rising along the line of the warm-up. From step = warmup on, D^(−1/2) · step^(−1/2) is the smaller of
    the two, and the rate falls."""
    return _rising(step, D, warmup)


@learning_rate.misconception
def falls_like_one_over_the_step(step, D, warmup):
    """After the warm-up the rate falls in proportion to 1/step, which is too fast: at four times the step it is a quarter. It
    falls with the root, so at four times the step it is half."""
    share = step / warmup
    return (warmup * D) ** -0.5 * torch.minimum(share, 1 / share)


@learning_rate.misconception
def falls_in_a_straight_line(step, D, warmup):
    """After the warm-up the rate falls in a straight line, to 0 at the last step that is given. That is another schedule, which
    has to know how long training takes; this one falls in proportion to 1/√step and never reaches 0."""
    last = max(int(step.max()), warmup + 1)
    return (warmup * D) ** -0.5 * torch.minimum(step / warmup, (last - step) / (last - warmup))


@learning_rate.misconception
def rises_to_one(step, D, warmup):
    """During the warm-up the rate is D^(−1/2) times step / warmup, which does not meet the falling curve where the warm-up
    ends. The line is step · warmup^(−3/2): at step = warmup it is warmup^(−1/2), as the other one is."""
    return torch.where(step <= warmup, D**-0.5 * step / warmup, _falling(step, D, warmup))


@learning_rate.misconception
def smaller_with_a_steep_line(step, D, warmup):
    """The line of the warm-up is too steep, step / warmup where step · warmup^(−3/2) is asked for. So the smaller of the two is
    the falling one long before step = warmup."""
    return torch.minimum(D**-0.5 * step / warmup, _falling(step, D, warmup))


@learning_rate.misconception
def too_steep_by_warmup(step, D, warmup):
    """The exponent of warmup is −1/2 where −3/2 is asked for. Then the line is so steep that the falling curve is the smaller
    one almost at once: the two should meet at step = warmup, where both are warmup^(−1/2)."""
    return torch.minimum(D**-0.5 * step * warmup**-0.5, _falling(step, D, warmup))


@learning_rate.misconception
def width_for_the_falling_curve_alone(step, D, warmup):
    """The factor D^(−1/2) is missing in the line of the warm-up. It stands in front of the minimum: the wider the model, the
    smaller its rate, all the time."""
    return torch.minimum(step * warmup**-1.5, _falling(step, D, warmup))


@learning_rate.misconception
def share_of_the_falling_curve(step, D, warmup):
    """During the warm-up the rate is step / warmup times the falling curve, so that it rises like √step. It rises in a straight
    line, in proportion to step."""
    return _falling(step, D, warmup) * (step / warmup).clamp(max=1)


@learning_rate.misconception
def counted_from_the_end_of_the_warm_up(step, D, warmup):
    """Behind the warm-up the steps are counted anew, so the falling curve begins there as it would at the first step. The root
    is that of `step` itself, counted from the beginning of training."""
    anew = (step - warmup).clamp(min=1)
    return torch.where(step <= warmup, _rising(step, D, warmup), _falling(anew, D, warmup))


@learning_rate.misconception
def power_of_the_product(step, D, warmup):
    """The exponent −3/2 is applied to step · warmup. It belongs to warmup alone: the line of the warm-up is step times
    warmup^(−3/2)."""
    return torch.minimum(_falling(step, D, warmup), D**-0.5 * (step * warmup) ** -1.5)


@learning_rate.alternative
def as_in_the_paper(step, D, warmup):
    return D**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


@learning_rate.alternative
def step_by_step(step, D, warmup):
    rates = [min(1 / math.sqrt(one), one / math.sqrt(warmup) ** 3) / math.sqrt(D) for one in step.tolist()]
    return torch.tensor(rates, device=step.device)


@learning_rate.alternative
def in_two_phases(step, D, warmup):
    """In double precision, which is as good."""
    peak = 1 / math.sqrt(D * warmup)
    step = step.double()
    return torch.where(step < warmup, peak * step / warmup, peak * (warmup / step).sqrt())


@learning_rate.alternative
def by_the_later_of_the_two(step, D, warmup):
    later = step.clamp(min=warmup).float()
    return torch.rsqrt(D * later) * (step / later)
