"""Answers to qformer_parameters (assignment 17)."""

import functools
import math

import torch
from answers import before, change, right, wrong
from torch import nn


def _each_width(count):
    """The count, for each width of a picture encoder in D_P [S]."""

    @functools.wraps(count)
    def counted(L, D, F, D_P, every):
        return torch.tensor([count(L, D, F, width, every) for width in D_P.tolist()], device=D_P.device)

    return counted


# ---------------------------------------------------------------- right


@right("A helper for the parameters of a Linear and one for a LayerNorm, summed layer by layer in a loop")
@_each_width
def helpers_in_a_loop(L, D, F, D_P, every):
    def linear(inputs, outputs):
        return (inputs + 1) * outputs

    norm = 2 * D
    total = norm
    for layer in range(L):
        total += 4 * linear(D, D) + norm
        total += linear(D, F) + linear(F, D) + norm
        if layer % every == 0:
            total += 2 * linear(D, D) + 2 * linear(D_P, D) + norm
    return total


@right("One polynomial, multiplied out, with the ceiling of L / every by negative floor division")
@_each_width
def one_polynomial(L, D, F, D_P, every):
    C = -(-L // every)
    return 2 * D + L * (4 * D * D + 2 * D * F + F + 9 * D) + C * 2 * D * (D + D_P + 3)


@right("The layers are built on the meta device and their parameters counted")
@_each_width
def built_on_meta(L, D, F, D_P, every):
    with torch.device("meta"):
        modules = nn.ModuleList([nn.LayerNorm(D)])
        for layer in range(L):
            modules.extend([nn.Linear(D, D) for _ in range(4)])
            modules.extend([nn.LayerNorm(D), nn.Linear(D, F), nn.Linear(F, D), nn.LayerNorm(D)])
            if layer % every == 0:
                modules.extend(
                    [nn.Linear(D, D), nn.Linear(D_P, D), nn.Linear(D_P, D), nn.Linear(D, D), nn.LayerNorm(D)]
                )
    return sum(weight.numel() for weight in modules.parameters())


@right("A list of all shapes, and the sum of their products")
@_each_width
def shapes_and_products(L, D, F, D_P, every):
    norm = [(D,), (D,)]
    own = 4 * [(D, D), (D,)] + norm
    mlp = [(F, D), (F,), (D, F), (D,)] + norm
    cross = 2 * [(D, D), (D,)] + 2 * [(D, D_P), (D,)] + norm
    shapes = norm + L * (own + mlp) + len(range(0, L, every)) * cross
    return sum(map(math.prod, shapes))


@right("Recursion over the layers, from the last one down")
@_each_width
def recursion(L, D, F, D_P, every):
    def down_from(L):
        if L == 0:
            return D + D
        here = 4 * D**2 + 4 * D + 2 * D + D * F + F + F * D + D + 2 * D
        if (L - 1) % every == 0:
            here += D * (2 * D + 2 * D_P) + 4 * D + 2 * D
        return here + down_from(L - 1)

    return down_from(L)


@right("Weights, biases and norms are counted apart and added at the end")
@_each_width
def kinds_apart(L, D, F, D_P, every):
    crossing = sum(1 for layer in range(L) if not layer % every)
    weights = L * (4 * D * D + 2 * D * F) + crossing * (2 * D * D + 2 * D_P * D)
    biases = L * (4 * D + F + D) + crossing * 4 * D
    norms = 1 + 2 * L + crossing
    return weights + biases + norms * 2 * D


@right("A dictionary of parts times how often each occurs, the ceiling by divmod")
@_each_width
def parts_and_times(L, D, F, D_P, every):
    whole, rest = divmod(L, every)
    crossing = whole + bool(rest)
    square, wide = D * D + D, D_P * D + D
    times = {
        "square": (square, 4 * L + 2 * crossing),
        "wide": (wide, 2 * crossing),
        "up": (D * F + F, L),
        "down": (F * D + D, L),
        "norm": (2 * D, 2 * L + crossing + 1),
    }
    return sum(size * often for size, often in times.values())


# ---------------------------------------------------------------- wrong: concepts


def _linear(inputs, outputs):
    return inputs * outputs + outputs


def _own(D):
    return 4 * _linear(D, D) + 2 * D


def _mlp(D, F):
    return _linear(D, F) + _linear(F, D) + 2 * D


def _cross(D, D_P):
    return 2 * _linear(D, D) + 2 * _linear(D_P, D) + 2 * D


def _crossing(L, every):
    return (L + every - 1) // every


# Right, and not registered: answers below are changes of it.
@_each_width
def _plain(L, D, F, D_P, every):
    return 2 * D + L * (_own(D) + _mlp(D, F)) + _crossing(L, every) * _cross(D, D_P)


change(_plain, "no_norm_at_the_entrance", "the LayerNorm at the entrance is not counted", "concept",
       ("2 * D + L", "L"))
change(_plain, "no_bias", "no Linear has a bias", "concept",
       before("return", "layer = 4 * D * D + 2 * D * F + 4 * D"), ("(_own(D) + _mlp(D, F))", "layer"),
       ("_cross(D, D_P)", "(2 * D * D + 2 * D * D_P + 2 * D)"))
change(_plain, "mlp_without_bias", "the MLP has no biases", "concept",
       ("_mlp(D, F)", "2 * D * F + 2 * D"))
change(_plain, "picture_as_wide_as_the_queries",
       "the cross-attention's keys and values are D -> D: D_P is ignored", "concept",
       ("_cross(D, D_P)", "_own(D)"))
change(_plain, "only_keys_wide", "of the cross-attention only the keys have D_P inputs, the values D", "concept",
       before("return", "cross = 3 * _linear(D, D) + _linear(D_P, D) + 2 * D"), ("_cross(D, D_P)", "cross"))
change(_plain, "cross_in_every_layer", "every layer has a cross-attention: `every` is ignored", "concept",
       ("L * (_own(D) + _mlp(D, F)) + _crossing(L, every) * _cross(D, D_P)",
        "L * (_own(D) + _mlp(D, F) + _cross(D, D_P))"))


@wrong("a layer has a cross-attention or a self-attention, not both", kind="concept")
@_each_width
def one_attention_for_each_layer(L, D, F, D_P, every):
    crossing = _crossing(L, every)
    return 2 * D + L * _mlp(D, F) + (L - crossing) * _own(D) + crossing * _cross(D, D_P)


change(_plain, "cross_norm_of_the_picture",
       "the cross-attention's LayerNorm is over the picture: it has 2·D_P parameters", "concept",
       before("return", "cross = _cross(D, D_P) - 2 * D + 2 * D_P"), ("_cross(D, D_P)", "cross"))
change(_plain, "own_without_output", "self-attention has three Linears: the output layer is forgotten", "concept",
       before("return", "own = 3 * _linear(D, D) + 2 * D"), ("_own(D)", "own"))
change(_plain, "with_the_text_mlp", "each layer has two MLPs, the text's too", "concept",
       ("_mlp(D, F)", "2 * _mlp(D, F)"))
change(_plain, "entrance_over_the_picture",
       "the LayerNorm at the entrance is over the picture: 2·D_P parameters", "concept",
       ("2 * D", "2 * D_P"))
change(_plain, "one_mlp_for_all", "the MLP is counted once, outside the layers, as if they shared it", "concept",
       ("L * (_own(D) + _mlp(D, F))", "L * _own(D) + _mlp(D, F)"))
change(_plain, "cross_norm_in_every_layer",
       "the norm of the cross-attention is counted in every layer, also where there is no cross-attention", "concept",
       before("return", "cross = _cross(D, D_P) - 2 * D"), ("_mlp(D, F)", "_mlp(D, F) + 2 * D"),
       ("_cross(D, D_P)", "cross"))


# ---------------------------------------------------------------- wrong: edges


change(_plain, "rounded_down", "the number of layers with cross-attention is rounded down: L // every", "edge",
       ("_crossing(L, every)", "L // every"))
change(_plain, "layer_0_forgotten",
       "layers are counted from 1: cross-attention in layers every, 2·every, ... up to L - 1, not in layer 0", "edge",
       ("_crossing(L, every)", "len(range(every, L, every))"))
change(_plain, "always_every_second",
       "`every` is taken to be 2: cross-attention in the even layers whatever it says", "edge",
       ("L, every", "L, 2"))


# ---------------------------------------------------------------- wrong: numerics, interface


change(_plain, "a_fraction",
       "L / every is not rounded up: the number is a float, and too small where every does not divide L", "interface",
       ("_crossing(L, every)", "L / every"))


@wrong("the number is given in millions", kind="interface")
@_each_width
def in_millions(L, D, F, D_P, every):
    total = 2 * D + L * (_own(D) + _mlp(D, F)) + _crossing(L, every) * _cross(D, D_P)
    return total / 1e6


@wrong("the example's number is given back, whatever the arguments", kind="interface")
@_each_width
def the_example_always(L, D, F, D_P, every):
    return 105_137_664


@wrong("a second LayerNorm is counted at the end of the network", kind="concept")
@_each_width
def norm_at_the_end(L, D, F, D_P, every):
    layers = L * (4 * (D * D + D) + 2 * D * F + F + D + 4 * D)
    return 4 * D + layers + -(-L // every) * (2 * (D * D + D) + 2 * (D_P * D + D) + 2 * D)
