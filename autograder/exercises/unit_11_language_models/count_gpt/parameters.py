"""count_gpt: what is miscounted among the parameters, alone or in both counts, and correct counts in other styles."""

import numpy as np
import torch
from torch import nn

from autograder.exercises.unit_11_language_models.count_gpt.declaration import _off, _right, count_gpt

# the tables and the head


@count_gpt.misconception
def tied_head_counted(*sizes):
    """The head is counted although it is tied. A tied head reads the table of tokens that is there already, so it adds no
    parameters."""
    return _right(*sizes[:-1], False)[0], _right(*sizes)[1]


@count_gpt.misconception
def head_never_counted(*sizes):
    """The head has no parameters of its own even where it is not tied. Then it is a second matrix of V·D, beside the table of
    tokens."""
    return _right(*sizes[:-1], True)[0], _right(*sizes)[1]


@count_gpt.misconception
def tied_turned_round(*sizes):
    """Tied and not tied have changed places: `tied` True means that the head shares the table of tokens, and adds nothing."""
    return _right(*sizes[:-1], not sizes[-1])[0], _right(*sizes)[1]


@count_gpt.misconception
def tilde_for_not(*sizes):
    """V·D is subtracted: twice where the head is tied, once where it is not. That is what (~tied) * V * D does, since ~ makes
    −2 of Python's True and −1 of False. Write `not tied`, or an if."""
    V, _, D, *_, tied = sizes
    return _right(*sizes[:-1], True)[0] + (-2 if tied else -1) * V * D, _right(*sizes)[1]


@count_gpt.misconception
def bias_of_the_head(*sizes):
    """There are V parameters too many where the head is not tied, as many as its bias would have. GPT-2's head has none."""
    return _off(sizes, parameters=lambda V, tied, **_: 0 * V if tied else V)


@count_gpt.misconception
def table_of_tokens_left_out(*sizes):
    """V·D parameters are missing, tied or not. The table of tokens is always there, with a row of D numbers for each
    of the V words."""
    return _off(sizes, parameters=lambda V, D, **_: -V * D)


@count_gpt.misconception
def tied_table_never_counted(*sizes):
    """Where the head is tied, V·D parameters are missing. Table and head are one matrix then, and it counts once."""
    return _off(sizes, parameters=lambda V, D, tied, **_: -V * D if tied else 0 * V)


@count_gpt.misconception
def positions_left_out(*sizes):
    """N·D parameters are missing: GPT-2 learns its positions, a table with a row of D numbers for each of the N positions."""
    return _off(sizes, parameters=lambda N, D, **_: -N * D)


# the norms


@count_gpt.misconception
def last_norm_left_out(*sizes):
    """2·D parameters are missing in the whole model. So many has the LayerNorm after the last block, weight and bias."""
    return _off(sizes, parameters=lambda D, **_: -2 * D)


@count_gpt.misconception
def norms_left_out(*sizes):
    """All LayerNorms are missing. There are 2·L + 1, and each has D weights and D biases."""
    return _off(sizes, parameters=lambda D, L, **_: -(2 * L + 1) * 2 * D)


@count_gpt.misconception
def half_of_the_norms(*sizes):
    """(2·L + 1)·D parameters are missing, D for each LayerNorm. Beside its D weights, a LayerNorm has D biases."""
    return _off(sizes, parameters=lambda D, L, **_: -(2 * L + 1) * D)


# the blocks


@count_gpt.misconception
def one_vector_missing_in_each_block(*sizes):
    """In each block D parameters are missing, as many as one bias has: that of the attention's output, or of the MLP's second
    layer. Each linear layer has a bias as wide as what comes out of it."""
    return _off(sizes, parameters=lambda D, L, **_: -L * D)


@count_gpt.misconception
def two_vectors_missing_in_each_block(*sizes):
    """In each block 2·D parameters are missing. So many has one of its two LayerNorms, and so many are lost where the bias of
    queries, keys and values is counted as D. It is 3·D."""
    return _off(sizes, parameters=lambda D, L, **_: -L * 2 * D)


@count_gpt.misconception
def three_vectors_missing_in_each_block(*sizes):
    """In each block 3·D parameters are missing, as many as the biases of queries, keys and values. In GPT-2 all four
    projections of the attention have a bias, 4·D in all."""
    return _off(sizes, parameters=lambda D, L, **_: -L * 3 * D)


@count_gpt.misconception
def four_vectors_missing_in_each_block(*sizes):
    """In each block 4·D parameters are missing. So many are the biases of the attention (3·D for queries, keys and values, D
    for the output), and so many have the two LayerNorms with their weights and biases."""
    return _off(sizes, parameters=lambda D, L, **_: -L * 4 * D)


@count_gpt.misconception
def biases_of_the_mlp_left_out(*sizes):
    """The MLP's biases are missing in each block: D_F of its first layer and D of its second. A bias is as wide as what comes
    out of its layer."""
    return _off(sizes, parameters=lambda D, L, D_F, **_: -L * (D_F + D))


@count_gpt.misconception
def biases_left_out(*sizes):
    """The biases of the linear layers are missing, 5·D + D_F in each block: 4·D in the attention, D_F + D in the MLP."""
    return _off(sizes, parameters=lambda D, L, D_F, **_: -L * (D_F + 5 * D))


@count_gpt.misconception
def matrices_alone(*sizes):
    """Only tables and matrices are counted. In each block biases have 5·D + D_F more and two LayerNorms 4·D, and the last
    LayerNorm has 2·D."""
    return _off(sizes, parameters=lambda D, L, D_F, **_: -L * (D_F + 9 * D) - 2 * D)


# both counts


def _fewer(sizes, matrices, biases):
    """Both counts with so many numbers of matrices missing in each block, and of their biases."""
    fewer = {
        "parameters": lambda L, **known: -L * (matrices(**known) + biases(**known)),
        "operations": lambda L, N, **known: -L * 2 * N * matrices(N=N, **known),
    }
    return _off(sizes, **fewer)


@count_gpt.misconception
def output_projection_left_out(*sizes):
    """One of the four projections [D, D] of the attention is missing in both counts. Queries, keys and values have one each,
    and the fourth, which is easily forgotten, makes the attention's output."""
    return _fewer(sizes, lambda D, **_: D * D, lambda D, **_: D)


@count_gpt.misconception
def one_projection_for_three(*sizes):
    """Two of the four projections [D, D] of the attention are missing in both counts. Queries, keys and values have one each,
    and the output is the fourth."""
    return _fewer(sizes, lambda D, **_: 2 * D * D, lambda D, **_: 2 * D)


@count_gpt.misconception
def one_matrix_in_the_mlp(*sizes):
    """The second layer of the MLP, which leads from D_F back to D, is missing in both counts."""
    return _fewer(sizes, lambda D, D_F, **_: D * D_F, lambda D, **_: D)


@count_gpt.misconception
def hidden_width_four_times(V, N, D, L, D_F, tied):
    """The MLP's hidden width is taken to be 4·D, as in GPT-2. Here it is given: D_F."""
    return _right(V, N, D, L, 4 * D, tied)


@count_gpt.misconception
def one_block(V, N, D, L, D_F, tied):
    """A single block is counted in both results. The model has L of them, each with weights of its own."""
    return _right(V, N, D, torch.ones_like(L), D_F, tied)


@count_gpt.misconception
def results_swapped(*sizes):
    """The two results are swapped: parameters first, then operations."""
    return _right(*sizes)[::-1]


@count_gpt.alternative
def as_a_student(V, N, D, L, D_F, tied):
    attention = 4 * (D * D + D)
    mlp = D * D_F + D_F + D_F * D + D
    parameters = V * D + N * D + L * (attention + mlp + 2 * 2 * D) + 2 * D
    if not tied:
        parameters = parameters + V * D
    block = 2 * N * 4 * D**2 + 2 * N * N * D + 2 * N * N * D + 2 * (2 * N * D * D_F)
    return parameters, L * block + 2 * N * D * V


@count_gpt.alternative
def factored(V, N, D, L, D_F, tied):
    matrices = 2 * D * (2 * D + D_F)
    outside = D * (N + 2 + V * (1 if tied else 2))
    return outside + L * (matrices + 9 * D + D_F), 2 * N * (L * (matrices + 2 * N * D) + D * V)


@count_gpt.alternative
def of_layers(V, N, D, L, D_F, tied):
    """Layers without numbers are made, and what they hold is counted."""
    parameters, operations = [], []
    for v, n, d, depth, f in torch.stack([V, N, D, L, D_F], dim=1).tolist():
        block = nn.TransformerEncoderLayer(d, 1, f, device="meta")
        tables = torch.empty(v + n, d, device="meta"), torch.empty(0 if tied else v, d, device="meta")
        often = sum(one.numel() for one in block.parameters())
        once = sum(one.numel() for one in (*tables, *nn.LayerNorm(d, device="meta").parameters()))
        parameters.append(once + depth * often)
        matrices = sum(one.numel() for one in block.parameters() if one.dim() == 2)
        operations.append(2 * n * (depth * (matrices + 2 * n * d) + v * d))
    return torch.tensor(parameters, device=V.device), torch.tensor(operations, device=V.device)


@count_gpt.alternative
def model_by_model(V, N, D, L, D_F, tied):
    parameters, operations = torch.zeros_like(V), torch.zeros_like(V)
    for i in range(len(V)):
        v, n, d, f = (int(one[i]) for one in (V, N, D, D_F))
        parameters[i] += (v + n + 2) * d
        for _ in range(int(L[i])):
            parameters[i] += d * 3 * d + 3 * d + d * d + d + d * f + f + f * d + d + 4 * d
            operations[i] += 2 * n * d * 3 * d + 2 * 2 * n * n * d + 2 * n * d * d + 2 * 2 * n * d * f
        operations[i] += 2 * n * d * v
        if not tied:
            parameters[i] += v * d
    return parameters, operations


@count_gpt.alternative
def through_numpy(V, N, D, L, D_F, tied):
    v, n, d, depth, f = (one.cpu().numpy() for one in (V, N, D, L, D_F))
    shapes = [(d, d)] * 4 + [(d, f), (f, d)]
    parameters = (
        (v + n) * d + depth * (np.add.reduce([k * m + m for k, m in shapes]) + 4 * d) + 2 * d + v * d * (not tied)
    )
    operations = depth * sum(2 * n * k * m for k, m in [*shapes, (d, n), (n, d)]) + 2 * n * d * v
    return torch.from_numpy(parameters).to(V.device), torch.from_numpy(operations).to(V.device)
