"""Exercise 7 again: what is miscounted in the blocks or all over the model, and correct counts in other styles."""

import torch
from torch import nn

from autograder.exercises.unit_13_vision_transformer.count_vit.declaration import _count, count_vit

# in the blocks


@count_vit.misconception
def one_block(*sizes):
    """A single block is counted. The model has L of them, each with weights of its own."""
    return _count(sizes, blocks=lambda D, D_F, **_: 4 * D * D + 9 * D + 2 * D * D_F + D_F)


def _missing(number):
    """The blocks' parameters, with `number` of the sizes missing in each block."""
    return lambda D, L, D_F, **_: L * (4 * D * D + 9 * D + 2 * D * D_F + D_F - number(D, D_F))


@count_vit.misconception
def four_vectors_missing_in_each_block(*sizes):
    """In each block 4·D parameters are missing. So many are the biases of the attention (3·D for queries, keys and values, D
    for the output), and so many have the two LayerNorms with their weights and biases."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 4 * D))


@count_vit.misconception
def eight_vectors_missing_in_each_block(*sizes):
    """In each block 8·D parameters are missing: so many have the biases of the attention (4·D) and the two LayerNorms (4·D)
    together."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 8 * D))


@count_vit.misconception
def two_vectors_missing_in_each_block(*sizes):
    """In each block 2·D parameters are missing, as many as one LayerNorm has. A block has two, with weight and bias: 4·D."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 2 * D))


@count_vit.misconception
def three_vectors_missing_in_each_block(*sizes):
    """In each block 3·D parameters are missing, as many as the biases of queries, keys and values. All four projections of the
    attention have a bias, 4·D in all."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 3 * D))


@count_vit.misconception
def one_vector_missing_in_each_block(*sizes):
    """In each block D parameters are missing. Each bias is counted by what comes out of its layer: D for the output of the
    attention, D_F for the MLP's first layer and D for its second."""
    return _count(sizes, blocks=_missing(lambda D, D_F: D))


@count_vit.misconception
def biases_of_the_mlp_left_out(*sizes):
    """The MLP's biases are missing: D_F of its first layer and D of its second, in each block."""
    return _count(sizes, blocks=_missing(lambda D, D_F: D_F + D))


@count_vit.misconception
def biases_of_the_blocks_left_out(*sizes):
    """The biases of the blocks' linear layers are missing: 4·D in the attention, D_F + D in the MLP."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 5 * D + D_F))


@count_vit.misconception
def matrices_alone(*sizes):
    """Of the blocks only the matrices are counted, 4·D² + 2·D·D_F each. Biases have 5·D + D_F more, two LayerNorms 4·D."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 9 * D + D_F))


@count_vit.misconception
def output_projection_left_out(*sizes):
    """In each block D² + D parameters are missing, as many as one of the four projections of the attention has: queries, keys,
    values, and the output, which is easily forgotten."""
    return _count(sizes, blocks=_missing(lambda D, D_F: D * D + D))


@count_vit.misconception
def one_projection_for_three(*sizes):
    """In each block 2·D² + 2·D parameters are missing, as many as two of the four projections of the attention have. Queries,
    keys and values have one each, and the output is the fourth."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 2 * D * D + 2 * D))


@count_vit.misconception
def one_matrix_in_the_mlp(*sizes):
    """In each block D·D_F parameters and a bias of D are missing: the second layer of the MLP, which leads from D_F back to
    D."""
    return _count(sizes, blocks=_missing(lambda D, D_F: D * D_F + D))


@count_vit.misconception
def hidden_width_four_times(*sizes):
    """The MLP's hidden width is taken to be 4·D. That is usual, but here it is given: D_F."""
    return _count(sizes, blocks=lambda D, L, **_: L * (12 * D * D + 13 * D))


# in the whole model


@count_vit.misconception
def norms_left_out(*sizes):
    """All LayerNorms are missing. There are 2·L + 1, and each has D weights and D biases."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 4 * D), norm=lambda D, **_: 0 * D)


@count_vit.misconception
def half_of_the_norms(*sizes):
    """(2·L + 1)·D parameters are missing, D for each LayerNorm. Beside its D weights, a LayerNorm has D biases."""
    return _count(sizes, blocks=_missing(lambda D, D_F: 2 * D), norm=lambda D, **_: D)


@count_vit.misconception
def biases_left_out(*sizes):
    """All biases of linear layers are missing: of the patch embedding (D), of the blocks (5·D + D_F each) and of the head."""
    others = {"patches": lambda C, P, D, **_: C * P * P * D, "head": lambda D, classes, **_: D * classes}
    return _count(sizes, blocks=_missing(lambda D, D_F: 5 * D + D_F), **others)


@count_vit.misconception
def biases_of_norms_left_out_too(*sizes):
    """All biases are missing: those of the patch embedding (D), of the blocks' layers (5·D + D_F each), of the head, and of
    the 2·L + 1 LayerNorms (D each)."""
    others = {"patches": lambda C, P, D, **_: C * P * P * D, "head": lambda D, classes, **_: D * classes}
    return _count(sizes, blocks=_missing(lambda D, D_F: 7 * D + D_F), norm=lambda D, **_: D, **others)


@count_vit.alternative
def term_by_term(size, P, C, D, L, D_F, classes):
    """As a student would write it."""
    N = (size // P) ** 2
    attention = 4 * (D * D + D)
    mlp = D * D_F + D_F + D_F * D + D
    embedding = C * P**2 * D + D + D + (N + 1) * D
    return embedding + L * (attention + mlp + 4 * D) + 2 * D + D * classes + classes


@count_vit.alternative
def factored(size, P, C, D, L, D_F, classes):
    rows = torch.div(size, P, rounding_mode="floor")
    outside = C * P.square() + rows * rows + 5 + classes
    return D * (outside + L * (4 * D + 2 * D_F + 9)) + L * D_F + classes


@count_vit.alternative
def of_layers(size, P, C, D, L, D_F, classes):
    """Layers without numbers are made, and what they hold is counted."""
    counts = []
    for s, p, c, d, blocks, f, k in zip(*(one.tolist() for one in (size, P, C, D, L, D_F, classes))):
        block = nn.TransformerEncoderLayer(d, 1, f, device="meta")
        others = [nn.Conv2d(c, d, p, stride=p, device="meta"), nn.LayerNorm(d, device="meta")]
        others += [nn.Linear(d, k, device="meta")]
        once, often = (
            sum(weight.numel() for one in layers for weight in one.parameters()) for layers in (others, [block])
        )
        positions = torch.empty((s // p) ** 2 + 1, d, device="meta")
        counts.append(d + positions.numel() + once + blocks * often)
    return torch.tensor(counts, device=size.device)


@count_vit.alternative
def model_by_model(size, P, C, D, L, D_F, classes):
    count = torch.zeros_like(size)
    for i in range(len(size)):
        d, f = int(D[i]), int(D_F[i])
        N = (int(size[i]) // int(P[i])) ** 2
        block = 3 * (d * d + d) + (d * d + d) + (d * f + f) + (f * d + d) + 2 * 2 * d
        count[i] = int(C[i]) * int(P[i]) ** 2 * d + d + d + (N + 1) * d + int(L[i]) * block + 2 * d
        count[i] += d * int(classes[i]) + int(classes[i])
    return count
