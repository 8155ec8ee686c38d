"""Exercise 8: through how many layers or steps a position learns of another one."""

import math

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """Near and far, 1 among them: spread evenly over powers of two."""
    distance = np.exp2(rng.uniform(1, 10, size=sizes["S"])).astype("int64")
    distance[rng.integers(sizes["S"])] = 1
    return {"distance": distance}


def _just_reached(inputs, rng):
    """Distances that some number of layers just reaches, and the next ones: first of gaps that grow, then of those of 1."""
    half, growth = (inputs["k"] - 1) // 2, inputs["growth"]
    grown = [half * (growth**layers - 1) // (growth - 1) for layers in (1, 2, 3, 4)]
    known = [*grown, *[half * layers for layers in (2, 7)]]
    inputs["distance"][:] = rng.permutation([one + more for one in known for more in (0, 1)])


def _far(inputs, rng):
    """Up to 10¹², among them distances that some number of layers just reaches or just misses."""
    half, growth = (inputs["k"] - 1) // 2, inputs["growth"]
    layers = int(math.log(10**12 / half, growth))
    just = half * (growth**layers - 1) // (growth - 1)
    inputs["distance"][:] = 10**12, just, just + 1, 10**11 + int(rng.integers(10**9)), half * 10**9 + 1


def _case(text, k, growth, S=7, **more):
    return Case(text, values={"k": k, "growth": growth}, sizes={"S": S}, **more)


@exercise(
    points=2,
    section="Three ways to process a sequence",
    source="Vaswani et al. 2017, table 1; van den Oord et al. 2016 (WaveNet), section 2.1, for gaps that grow",
    outputs="layers",
    formula="layers[s] = (distance, the least L with L·(k−1)/2 ≥ distance, the least L with (growth⁰ + growth¹ + … +"
    " growth^(L−1))·(k−1)/2 ≥ distance, 1), for distance = distance[s]; layers [S, 4], whole numbers",
    cases=[
        _case("near and far positions", 5, 2),
        _case("gaps that grow by a factor of 3", 7, 3),
        _case("convolutions of width 3", 3, 4),
        _case("distances that are just reached, and the next ones", 5, 3, S=12, edit=_just_reached),
        _case("distances of up to 10¹²", 9, 3, S=5, edit=_far, edge=True),
        _case("a width that reaches everything", 2047, 2, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def path_lengths(distance: Int[Tensor, "S"], k: int, growth: int) -> Int[Tensor, "S 4"]:
    half, rows = (k - 1) // 2, []
    for far in distance.tolist():
        plain, few = -(-far // half), range(far.bit_length())  # as gaps at least double
        reaches = [half * sum(growth**layer for layer in range(layers)) for layers in few]
        rows.append([far, plain, sum(reach < far for reach in reaches), 1])
    return torch.tensor(rows, device=distance.device)


def _row(d, k, growth, *, recurrent=0, reach=None, plain=None, gap=None, grown=None, attention=1):
    """The four numbers of one distance: `reach` of a convolution, the `gap` of a layer, or what stands in a column's place."""
    half = reach or (k - 1) // 2
    if grown is None:
        grown, reached = 0, 0
        while reached < d:
            reached += (gap(grown) if gap else growth**grown) * half
            grown += 1
    return [d + recurrent, -(-d // half) if plain is None else plain, grown, attention]


def _made(rows, distance):
    return torch.tensor(rows, device=distance.device)


def _wrong(change):
    """All rows, with keywords for `_row` that `change` gives for (distance, half, k, growth)."""

    def made(distance, k, growth):
        return _made([_row(d, k, growth, **change(d, (k - 1) // 2, k, growth)) for d in distance.tolist()], distance)

    return made


@path_lengths.misconception
def rounded_down(distance, k, growth):
    """The stacked convolutions are rounded down: distance // ((k − 1)/2) layers do not get all the way where a rest is left. The
    least number that does is the quotient rounded up."""
    return _wrong(lambda d, half, k, growth: {"plain": d // half})(distance, k, growth)


@path_lengths.misconception
def rest_always_counted(distance, k, growth):
    """The stacked convolutions have a layer too many where the distance is a multiple of (k − 1)/2. There the last layer reaches
    the other position exactly."""
    return _wrong(lambda d, half, k, growth: {"plain": d // half + 1})(distance, k, growth)


@path_lengths.misconception
def whole_window(distance, k, growth):
    """Each convolution is taken to reach k − 1 further. So wide is its window, to the left and the right together; to one side it
    reaches (k − 1)/2."""
    return _wrong(lambda d, half, k, growth: {"reach": k - 1})(distance, k, growth)


@path_lengths.misconception
def width_for_reach(distance, k, growth):
    """Each convolution is taken to reach k further. k positions are its whole window: itself and (k − 1)/2 to either side."""
    return _wrong(lambda d, half, k, growth: {"reach": k})(distance, k, growth)


@path_lengths.misconception
def gaps_from_growth(distance, k, growth):
    """The gaps begin with growth. Layer 0 has the dilation growth⁰ = 1: it is an ordinary convolution."""
    return _wrong(lambda d, half, k, growth: {"gap": lambda layer: growth ** (layer + 1)})(distance, k, growth)


@path_lengths.misconception
def last_layer_alone(distance, k, growth):
    """With gaps that grow, the last layer alone is asked to reach the distance. The layers lie on one another, so what they reach
    adds up: fewer are enough."""
    grown = lambda d, half, growth: next(layer for layer in range(10**4) if growth**layer * half >= d) + 1  # noqa: E731
    return _wrong(lambda d, half, k, growth: {"grown": grown(d, half, growth)})(distance, k, growth)


@path_lengths.misconception
def last_layers_number(distance, k, growth):
    """With gaps that grow, the number is one too small: it is that of the last layer that is needed, and layers are numbered from
    0. How many there are is one more."""
    right = path_lengths.reference(distance, k, growth)
    return right - torch.tensor([0, 0, 1, 0], device=distance.device)


@path_lengths.misconception
def equal_gaps(distance, k, growth):
    """The gaps do not grow: every layer has the dilation `growth`. Layer l has the dilation growth**l."""
    return _wrong(lambda d, half, k, growth: {"grown": -(-d // (growth * half))})(distance, k, growth)


@path_lengths.misconception
def gaps_grow_by_adding(distance, k, growth):
    """The gaps grow by adding: 1, 1 + growth, 1 + 2·growth, …. Each is `growth` times the one before, so layer l has the dilation
    growth**l."""
    return _wrong(lambda d, half, k, growth: {"gap": lambda layer: 1 + layer * growth})(distance, k, growth)


@path_lengths.misconception
def logarithm_of_the_table(distance, k, growth):
    """With gaps that grow, this is the logarithm of the distance to base k, as in the papers' table: an order of growth. Asked
    for is how many layers it takes: add up what layers reach, growth**l · (k − 1)/2 each."""
    logarithm = lambda d, k: next(layers for layers in range(100) if k**layers >= d)  # noqa: E731
    return _wrong(lambda d, half, k, growth: {"grown": logarithm(d, k)})(distance, k, growth)


@path_lengths.misconception
def positions_between(distance, k, growth):
    """The recurrent layer has one step too few: the positions in between were counted. From one position to the next is a step,
    so a distance takes as many steps as it is long."""
    return _wrong(lambda d, half, k, growth: {"recurrent": -1})(distance, k, growth)


@path_lengths.misconception
def attention_for_nothing(distance, k, growth):
    """Self-attention counts 0. Every position looks at every other one at once, but that is a layer, too: 1."""
    return _wrong(lambda d, half, k, growth: {"attention": 0})(distance, k, growth)


@path_lengths.misconception
def logarithm_to_base_growth(distance, k, growth):
    """With gaps that grow, this is the logarithm of the distance to base growth, rounded up. It tells neither how wide a
    convolution is nor that reaches add up: layer l reaches growth**l · (k − 1)/2 further than those before it."""
    logarithm = lambda d, growth: next(layers for layers in range(100) if growth**layers >= d)  # noqa: E731
    return _wrong(lambda d, half, k, growth: {"grown": logarithm(d, growth)})(distance, k, growth)


@path_lengths.misconception
def logarithm_in_few_digits(distance, k, growth):
    """The numbers of layers come from fractions in single precision, which has seven digits: at a distance that is just reached,
    or very long, they are off. Count with whole numbers."""
    half = (k - 1) // 2
    grown = torch.log1p(distance.float() * (growth - 1) / half) / math.log(growth)
    plain = (distance.float() / half).ceil().long()
    return torch.stack([distance, plain, grown.ceil().long(), torch.ones_like(distance)], dim=1)


@path_lengths.alternative
def row_by_row(distance, k, growth):
    return _made([_row(d, k, growth) for d in distance.tolist()], distance)


@path_lengths.alternative
def all_at_once(distance, k, growth):
    half = (k - 1) // 2
    grown, reached, gap = torch.zeros_like(distance), torch.zeros_like(distance), 1
    while bool((reached < distance).any()):
        grown, reached, gap = grown + (reached < distance), reached + gap * half, gap * growth
    return torch.stack([distance, (distance + half - 1) // half, grown, torch.ones_like(distance)], dim=-1)


@path_lengths.alternative
def by_searching(distance, k, growth):
    half, reaches = (k - 1) // 2, [0]
    while reaches[-1] < int(distance.max()):
        reaches.append(half + growth * reaches[-1])
    grown = torch.searchsorted(torch.tensor(reaches, device=distance.device), distance.contiguous())
    plain = torch.div(distance - 1, half, rounding_mode="floor") + 1
    return torch.stack((distance, plain, grown, torch.ones_like(distance)), 1)
