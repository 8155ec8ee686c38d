"""Exercise 6: torch's packed weights, as a matrix for each head."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise

ONE, SEVERAL = "one head", "several heads"
THREE = {"3": 3}  # the 3 of 3*H*D_H


@exercise(
    points={ONE: 2, SEVERAL: 3},
    section="Weights packed in three",
    source="Paszke et al. 2019 (PyTorch), documentation of torch.nn.MultiheadAttention",
    outputs="W_Q W_K W_V W_O b_Q b_K b_V",
    formula="X W_Q[h] + b_Q[h] are the queries of head h, its keys and values alike: W_Q, W_K, W_V [H, H*D_H, D_H], b_Q, b_K, b_V"
    " [H, D_H]; what head h has found, [N, D_H], times W_O[h] is what it adds to the output: W_O [H, D_H, H*D_H]",
    cases=[
        Case("several heads", sizes=THREE, part=SEVERAL),
        Case("more heads than features in a head", sizes={**THREE, "H": 6, "D_H": 2}, part=SEVERAL),
        Case("one head", sizes={**THREE, "H": 1}, part=ONE),
    ],
)
def unpack_weights(
    in_proj_weight: Float[Tensor, "3*H*D_H H*D_H"],
    in_proj_bias: Float[Tensor, "3*H*D_H"],
    out_proj_weight: Float[Tensor, "H*D_H H*D_H"],
    H: int,
) -> tuple[
    Float[Tensor, "H H*D_H D_H"],
    Float[Tensor, "H H*D_H D_H"],
    Float[Tensor, "H H*D_H D_H"],
    Float[Tensor, "H D_H H*D_H"],
    Float[Tensor, "H D_H"],
    Float[Tensor, "H D_H"],
    Float[Tensor, "H D_H"],
]:
    basis = torch.eye(len(out_proj_weight), dtype=out_proj_weight.dtype, device=out_proj_weight.device)
    # what becomes of each basis vector: a matrix from the right
    thirds = F.linear(basis, in_proj_weight).chunk(3, dim=1)
    W_Q, W_K, W_V = (torch.stack(third.chunk(H, dim=1)) for third in thirds)
    W_O = torch.stack(F.linear(basis, out_proj_weight).chunk(H))
    b_Q, b_K, b_V = (torch.stack(third.chunk(H)) for third in in_proj_bias.chunk(3))
    return W_Q, W_K, W_V, W_O, b_Q, b_K, b_V


def _cut(in_proj_weight, in_proj_bias, out_proj_weight, H, order=(0, 1, 2)):
    """The right results, or with the thirds in another order; for mistakes in some of them."""
    W, b = in_proj_weight.unflatten(0, (3, H, -1)).mT, in_proj_bias.unflatten(0, (3, H, -1))
    return *(W[third] for third in order), out_proj_weight.T.unflatten(0, (H, -1)), *(b[third] for third in order)


def _columns(matrix, H):
    """The columns of a matrix from the right that belong to each head, [H, D, D_H]."""
    return matrix.unflatten(1, (H, -1)).transpose(0, 1)


@unpack_weights.misconception
def heads_as_stored(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The rows of each head came as they are stored, [D_H, H*D_H]. nn.Linear multiplies by the transpose of its weight: a
    matrix that acts from the right, X @ W_Q[h], is [H*D_H, D_H]."""
    return *in_proj_weight.unflatten(0, (3, H, -1)), *_cut(in_proj_weight, in_proj_bias, out_proj_weight, H)[3:]


@unpack_weights.misconception
def columns_of_what_is_stored(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The thirds of in_proj_weight were used as they are stored, and the heads taken from their columns. nn.Linear stores
    the transpose: its rows are the outputs, so a head owns D_H rows of each third, and their transpose acts from the
    right."""
    W = [_columns(third, H) for third in in_proj_weight.chunk(3)]
    return *W, *_cut(in_proj_weight, in_proj_bias, out_proj_weight, H)[3:]


@unpack_weights.misconception
def rows_of_the_output_projection(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """W_O[h] holds rows of out_proj_weight as it is stored. nn.Linear stores the transpose: its rows are features of the
    output, its columns what comes in, and D_H neighbouring columns are what comes from one head."""
    W_Q, W_K, W_V, _, *biases = _cut(in_proj_weight, in_proj_bias, out_proj_weight, H)
    return W_Q, W_K, W_V, out_proj_weight.unflatten(0, (H, -1)), *biases


@unpack_weights.misconception
def nothing_transposed(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The weights of both layers were used as they are stored. nn.Linear stores the transpose, [out, in], of the matrix
    that acts from the right."""
    W = [_columns(third, H) for third in in_proj_weight.chunk(3)]
    biases = _cut(in_proj_weight, in_proj_bias, out_proj_weight, H)[4:]
    return *W, out_proj_weight.unflatten(0, (H, -1)), *biases


@unpack_weights.misconception
def reshaped_instead_of_transposed(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The thirds were reshaped to [H, H*D_H, D_H]. A reshape is no transpose: it keeps the numbers in their order and cuts
    them into other rows. Cut out the rows of each head, [H, D_H, H*D_H], and exchange the last two axes."""
    W = [third.reshape(H, len(out_proj_weight), -1) for third in in_proj_weight.chunk(3)]
    return *W, *_cut(in_proj_weight, in_proj_bias, out_proj_weight, H)[3:]


@unpack_weights.misconception
def transposed_and_reshaped_at_once(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The transposes are right, but one reshape took them from [H*D_H, H*D_H] to [H, H*D_H, D_H]. A reshape does not move
    numbers, and the heads are columns here: cut the last axis, [H*D_H, H, D_H], then exchange the first two."""
    W = [third.T.reshape(H, len(out_proj_weight), -1) for third in in_proj_weight.chunk(3)]
    return *W, *_cut(in_proj_weight, in_proj_bias, out_proj_weight, H)[3:]


@unpack_weights.misconception
def thirds_inside_each_head(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The rows were read as if they were interleaved: query, key and value of head 0, D_H rows each, then those of head 1,
    and so on. Some models pack them so. torch packs all queries, then all keys, then all values, and the heads inside each
    third."""
    W, b = (one.unflatten(0, (H, 3, -1)).transpose(0, 1) for one in (in_proj_weight, in_proj_bias))
    return *W.mT, out_proj_weight.T.unflatten(0, (H, -1)), *b


@unpack_weights.misconception
def every_third_row(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """Every third row was taken for the queries. torch packs all queries, then all keys, then all values: three blocks of
    H*D_H rows."""
    W, b = (one.unflatten(0, (H, -1, 3)).movedim(2, 0) for one in (in_proj_weight, in_proj_bias))
    return *W.mT, out_proj_weight.T.unflatten(0, (H, -1)), *b


@unpack_weights.misconception
def heads_take_turns(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """In queries, keys and values the heads take turns, one feature each. The D_H features of a head are neighbours: cut
    each third as [H, D_H], H first."""
    W, b = (one.unflatten(0, (3, -1, H)).transpose(1, 2) for one in (in_proj_weight, in_proj_bias))
    return *W.mT, out_proj_weight.T.unflatten(0, (H, -1)), *b


@unpack_weights.misconception
def heads_take_turns_there_and_back(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The heads take turns, one feature each, on the way in and on the way out. The D_H features of a head are neighbours:
    cut as [H, D_H], H first."""
    W, b = (one.unflatten(0, (3, -1, H)).transpose(1, 2) for one in (in_proj_weight, in_proj_bias))
    return *W.mT, out_proj_weight.T.unflatten(0, (-1, H)).transpose(0, 1), *b


@unpack_weights.misconception
def keys_first(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The first third was taken for the keys, the second for the queries. torch packs queries, keys, values, in this
    order."""
    return _cut(in_proj_weight, in_proj_bias, out_proj_weight, H, (1, 0, 2))


@unpack_weights.misconception
def values_second(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The second third was taken for the values, the last one for the keys. torch packs queries, keys, values, in this
    order."""
    return _cut(in_proj_weight, in_proj_bias, out_proj_weight, H, (0, 2, 1))


@unpack_weights.misconception
def values_first(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The thirds were taken backwards: values, keys, queries. torch packs queries, keys, values, in this order."""
    return _cut(in_proj_weight, in_proj_bias, out_proj_weight, H, (2, 1, 0))


@unpack_weights.misconception
def queries_last(in_proj_weight, in_proj_bias, out_proj_weight, H):
    """The thirds were taken as keys, values, queries. torch packs queries, keys, values, in this order."""
    return _cut(in_proj_weight, in_proj_bias, out_proj_weight, H, (2, 0, 1))


@unpack_weights.alternative
def cut_in_one_step(in_proj_weight, in_proj_bias, out_proj_weight, H):
    W, b = in_proj_weight.unflatten(0, (3, H, -1)).mT, in_proj_bias.unflatten(0, (3, H, -1))
    return *W, out_proj_weight.T.unflatten(0, (H, -1)), *b


@unpack_weights.alternative
def transposed_first(in_proj_weight, in_proj_bias, out_proj_weight, H):
    D = len(out_proj_weight)
    W = [one.reshape(D, H, D // H).permute(1, 0, 2) for one in in_proj_weight.T.chunk(3, dim=1)]
    return *W, out_proj_weight.T.reshape(H, D // H, D), *(one.reshape(H, -1) for one in in_proj_bias.split(D))


@unpack_weights.alternative
def head_by_head(in_proj_weight, in_proj_bias, out_proj_weight, H):
    D = out_proj_weight.shape[0]
    width = D // H
    W, b = [[], [], []], [[], [], []]
    for third in range(3):
        for h in range(H):
            rows = slice(third * D + h * width, third * D + (h + 1) * width)
            W[third].append(in_proj_weight[rows].t())
            b[third].append(in_proj_bias[rows])
    W_O = [out_proj_weight[:, h * width : (h + 1) * width].t() for h in range(H)]
    return *map(torch.stack, W), torch.stack(W_O), *map(torch.stack, b)
