"""Exercise 7: the parameters of the Q-Former, layer by layer."""

import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

BLIP_2 = {"L": 12, "D": 768, "F": 3072, "every": 2}


def _drawn(inputs, sizes, rng):
    return {"D_P": rng.permutation(2000)[: sizes["S"]].astype("int64") + 3}


def _published(inputs, rng):
    """The widths of ViT-g, of ViT-L, and of others between."""
    inputs["D_P"][:2] = 1408, 1024


def _case(text, edit=None, edge=False, sizes=None, **values):
    return Case(text, values={**BLIP_2, **values}, edit=edit, edge=edge, sizes=sizes or {"S": 3})


@exercise(
    points=2,
    section="What the papers report",
    source="Li et al. 2023 (BLIP-2), section 3.1 and table 2; the count of transformers' Blip2QFormerModel",
    outputs="parameters",
    formula="2D + L · (self-attention 4(D² + D) + 2D, MLP 2·D·F + F + D + 2D) + ⌈L / every⌉ · cross-attention"
    " (2(D² + D) + 2(D_P·D + D) + 2D)",
    cases=[
        _case("BLIP-2 with several picture encoders", edit=_published),
        _case("sizes that are odd", D=1021, F=4099),
        _case("cross-attention in every layer", L=4, D=64, F=256, every=1),
        _case("layers that are no multiple of every", L=5, D=96, F=160, every=3),
        _case("fewer layers than every", edge=True, L=2, D=32, F=64, every=4),
        _case("one picture encoder, a single layer", edge=True, sizes={"S": 1}, L=1, D=16, F=32, every=1),
    ],
    draws=_drawn,
    differentiable=False,
)
def qformer_parameters(L: int, D: int, F: int, D_P: Int[Tensor, "S"], every: int) -> Int[Tensor, "S"]:
    norm, linear = 2 * D, D * D + D
    layer = 4 * linear + norm + D * F + F + F * D + D + norm
    counted = [
        norm + L * layer + len(range(0, L, every)) * (2 * linear + 2 * (width * D + D) + norm) for width in D_P.tolist()
    ]
    return torch.tensor(counted, device=D_P.device)


def _counted(
    L,
    D,
    F,
    D_P,
    every,
    *,
    norm=2,
    bias=1,
    mlp_bias=1,
    mlps=1,
    entrance=1,
    own=4,
    square=2,
    wide=2,
    cross_norm=1,
    crossed=None,
):
    """The count from its parts: D's in a norm, biases, MLPs, linear layers of each kind, and how many layers are crossed."""
    norm, linear = norm * D, D * D + bias * D
    layer = own * linear + mlps * (2 * D * F + mlp_bias * (F + D) + norm) + norm
    cross = square * linear + wide * (D_P * D + bias * D) + cross_norm * norm
    return entrance * norm + L * layer + (len(range(0, L, every)) if crossed is None else crossed) * cross


@qformer_parameters.misconception
def norms_left_out(L, D, F, D_P, every):
    """The LayerNorms are not counted. Each has a weight and a bias, 2D numbers: one at the entrance, one behind each sublayer."""
    return _counted(L, D, F, D_P, every, norm=0)


@qformer_parameters.misconception
def biases_left_out(L, D, F, D_P, every):
    """The biases of the linear layers are not counted. Each linear layer has one, as wide as its output."""
    return _counted(L, D, F, D_P, every, bias=0, mlp_bias=0)


@qformer_parameters.misconception
def cross_attention_in_every_layer(L, D, F, D_P, every):
    """Cross-attention is counted in each layer. Only the layers 0, every, 2·every, … have one."""
    return _counted(L, D, F, D_P, every, crossed=L)


@qformer_parameters.misconception
def cross_attention_rounded_down(L, D, F, D_P, every):
    """One cross-attention is missing where L is no multiple of every: L // every of them are counted. The first layer has one, so
    the number is rounded up."""
    return _counted(L, D, F, D_P, every, crossed=L // every)


@qformer_parameters.misconception
def keys_as_wide_as_queries(L, D, F, D_P, every):
    """The keys and values of the cross-attention are counted as layers D → D. They read the picture, whose vectors have D_P
    numbers: D_P → D."""
    return _counted(L, D, F, D_P, every, square=4, wide=0)


@qformer_parameters.misconception
def norm_at_the_entrance_left_out(L, D, F, D_P, every):
    """The LayerNorm at the entrance is missing, 2D numbers."""
    return _counted(L, D, F, D_P, every, entrance=0)


@qformer_parameters.misconception
def output_layer_left_out(L, D, F, D_P, every):
    """The self-attention is counted with three linear layers. It has four: queries, keys, values, and the output."""
    return _counted(L, D, F, D_P, every, own=3)


@qformer_parameters.misconception
def norms_without_biases(L, D, F, D_P, every):
    """A LayerNorm is counted with D numbers. It has a weight and a bias of D numbers each, 2D."""
    return _counted(L, D, F, D_P, every, norm=1)


@qformer_parameters.misconception
def mlp_without_biases(L, D, F, D_P, every):
    """The biases of the MLP are not counted. It has two, F numbers and D numbers."""
    return _counted(L, D, F, D_P, every, mlp_bias=0)


@qformer_parameters.misconception
def a_second_mlp(L, D, F, D_P, every):
    """Each layer is counted with two MLPs. The second one is the text's, which is left out here."""
    return _counted(L, D, F, D_P, every, mlps=2)


@qformer_parameters.misconception
def all_layers_of_the_cross_attention_wide(L, D, F, D_P, every):
    """All four layers of the cross-attention are counted as D_P → D. Only keys and values read the picture;
    queries and output are D → D."""
    return _counted(L, D, F, D_P, every, square=0, wide=4)


@qformer_parameters.misconception
def values_as_wide_as_queries(L, D, F, D_P, every):
    """The cross-attention is counted with one layer D_P → D. It has two: keys and values both read the picture."""
    return _counted(L, D, F, D_P, every, square=3, wide=1)


@qformer_parameters.misconception
def output_of_the_cross_attention_left_out(L, D, F, D_P, every):
    """The cross-attention is counted without its output layer, D² + D numbers in each."""
    return _counted(L, D, F, D_P, every, square=1)


@qformer_parameters.misconception
def norm_of_the_cross_attention_left_out(L, D, F, D_P, every):
    """The cross-attention is counted without its LayerNorm, 2D numbers in each."""
    return _counted(L, D, F, D_P, every, cross_norm=0)


@qformer_parameters.misconception
def every_other_layer_but_the_first(L, D, F, D_P, every):
    """The cross-attention stands in the wrong layers: where the first layer has one, it is left out, and the others have it. The
    layers 0, every, 2·every, … have one."""
    return _counted(L, D, F, D_P, every, crossed=L - len(range(0, L, every)))


@qformer_parameters.alternative
def layer_by_layer(L, D, F, D_P, every):
    def linear(before, after):
        return (before + 1) * after

    total = 2 * D
    for layer in range(L):
        total += 4 * linear(D, D) + linear(D, F) + linear(F, D) + 4 * D
        if layer % every == 0:
            total += 2 * linear(D, D) + 2 * linear(D_P, D) + 2 * D
    return total


@qformer_parameters.alternative
def in_closed_form(L, D, F, D_P, every):
    crossed = -(-L // every)
    return 2 * D + L * (4 * D * D + 2 * D * F + 9 * D + F) + crossed * (2 * D * D + 2 * D_P * D + 6 * D)


@qformer_parameters.alternative
def from_shapes(L, D, F, D_P, every):
    own, crossed = [(D, D)] * 4 + [(D, F), (F, D)], (L + every - 1) // every
    shapes = [own * L + [(D, D), (D, D), (width, D), (width, D)] * crossed for width in D_P.tolist()]
    norms = 2 * D * (1 + 2 * L + crossed)
    counted = [norms + sum(rows * columns + columns for rows, columns in those) for those in shapes]
    return D_P.new_tensor(counted)
