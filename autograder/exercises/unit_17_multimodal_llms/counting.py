"""Exercise 7: the parameters of the Q-Former, layer by layer."""

import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

BLIP_2 = {"L": 12, "D": 768, "F": 3072, "every": 2}


def _drawn(inputs, sizes, rng):
    return {"D_P": 8 * (rng.permutation(200)[: sizes["S"]].astype("int64") + 3)}


def _published(inputs, rng):
    """The widths of ViT-g, of ViT-L, and of others between."""
    inputs["D_P"][:2] = 1408, 1024


def _case(text, edit=None, edge=False, sizes=None, **values):
    return Case(text, values={**BLIP_2, **values}, edit=edit, edge=edge, sizes=sizes or {"S": 3})


@exercise(
    points=2,
    section="How little must be learned?",
    source="Li et al. 2023 (BLIP-2), section 3.1 and table 2; the count of transformers' Blip2QFormerModel",
    outputs="parameters",
    formula="2D + L · (self-attention 4(D² + D) + 2D, MLP 2·D·F + F + D + 2D) + ⌈L / every⌉ · cross-attention"
    " (2(D² + D) + 2(D_P·D + D) + 2D)",
    cases=[
        _case("BLIP-2 with several picture encoders", edit=_published),
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


def _counted(L, D, F, D_P, every, *, norms=True, biases=1, entrance=1, keys_from=None, crossed=None, linears=4):
    norm, linear = 2 * D * norms, D * D + biases * D
    own, mlp = linears * linear + norm, 2 * D * F + biases * (F + D) + norm
    source = D_P if keys_from is None else torch.full_like(D_P, keys_from)
    cross = 2 * linear + 2 * (source * D + biases * D) + norm
    return entrance * norm + L * (own + mlp) + (len(range(0, L, every)) if crossed is None else crossed) * cross


@qformer_parameters.misconception
def norms_left_out(L, D, F, D_P, every):
    """The LayerNorms are not counted. Each has a weight and a bias, 2D numbers: one at the entrance, one behind each sublayer."""
    return _counted(L, D, F, D_P, every, norms=False)


@qformer_parameters.misconception
def biases_left_out(L, D, F, D_P, every):
    """The biases of the linear layers are not counted. Each linear layer has one, as wide as its output."""
    return _counted(L, D, F, D_P, every, biases=0)


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
    return _counted(L, D, F, D_P, every, keys_from=D)


@qformer_parameters.misconception
def norm_at_the_entrance_left_out(L, D, F, D_P, every):
    """The LayerNorm at the entrance is missing, 2D numbers."""
    return _counted(L, D, F, D_P, every, entrance=0)


@qformer_parameters.misconception
def output_layer_left_out(L, D, F, D_P, every):
    """The self-attention is counted with three linear layers. It has four: queries, keys, values, and the output."""
    return _counted(L, D, F, D_P, every, linears=3)


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
