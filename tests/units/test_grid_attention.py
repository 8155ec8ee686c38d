"""The references of unit 12 that attend over a grid, against torch, plain loops, transformers, and timm where it is installed."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from autograder.bank.catalogue import find_exercise

B, ROWS, COLUMNS, C, C_K, D = 2, 6, 4, 5, 3, 8


def reference(name):
    return find_exercise(name).reference


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def grids(D=D):
    return [drawn(B, ROWS, COLUMNS, D, seed=seed) for seed in range(3)]


def attended(query, keys, values, scale):
    """One query among its keys, by plain loops."""
    powers = [math.exp(scale * sum(q * k for q, k in zip(query.tolist(), key.tolist()))) for key in keys]
    return sum(power * value for power, value in zip(powers, values)) / sum(powers)


def by_loops(Q, K, V, seen):
    """Attention of each cell over the cells that `seen` allows, by (r, c) and (s, t)."""
    Y, (_, rows, columns, D) = torch.zeros_like(V), Q.shape
    cells = [(r, c) for r in range(rows) for c in range(columns)]
    for b in range(len(Q)):
        for r, c in cells:
            places = [(s, t) for s, t in cells if seen(r, c, s, t)]
            keys, values = ([X[b, s, t] for s, t in places] for X in (K, V))
            Y[b, r, c] = attended(Q[b, r, c], keys, values, D**-0.5)
    return Y


def block(gamma):
    torch.manual_seed(0)
    made = reference("SelfAttention2d")(C, C_K).double()
    with torch.no_grad():
        made.gamma.fill_(gamma)
    return made


def test_a_new_block_of_sagan_changes_nothing():
    made, X = reference("SelfAttention2d")(C, C_K), drawn(B, C, ROWS, COLUMNS).float()
    assert made.gamma.shape == () and made.gamma.requires_grad
    assert torch.equal(made(X), X)


def test_the_block_of_sagan_is_torchs_attention_over_all_cells():
    made, X = block(0.7), drawn(B, C, ROWS, COLUMNS)
    Q, K, V = (layer(X).flatten(2).mT for layer in (made.queries, made.keys, made.values))
    found = F.scaled_dot_product_attention(Q, K, V, scale=1.0).mT.reshape(B, C_K, ROWS, COLUMNS)
    assert_close(made(X), X + 0.7 * made.output(found))


def test_the_block_of_sagan_is_torchs_multi_head_attention():
    """With one head as wide as C = C_K; queries times the root, by which torch divides."""
    torch.manual_seed(1)
    made, theirs = reference("SelfAttention2d")(C, C).double(), nn.MultiheadAttention(C, 1, batch_first=True).double()
    layers = (made.queries, made.keys, made.values)
    with torch.no_grad():
        made.gamma.fill_(-1.5)
        theirs.in_proj_weight.copy_(torch.cat([layer.weight[:, :, 0, 0] for layer in layers]))
        theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
        theirs.in_proj_weight[:C] *= math.sqrt(C)
        theirs.in_proj_bias[:C] *= math.sqrt(C)
        theirs.out_proj.weight.copy_(made.output.weight[:, :, 0, 0])
        theirs.out_proj.bias.copy_(made.output.bias)
    X = drawn(B, C, ROWS, COLUMNS)
    x = X.flatten(2).mT
    found, _ = theirs(x, x, x, need_weights=False)
    assert_close(made(X), X - 1.5 * found.mT.unflatten(2, (ROWS, COLUMNS)))


def test_the_block_of_sagan_is_what_plain_loops_give():
    made, X = block(0.4), drawn(B, C, ROWS, COLUMNS)
    Q, K, V = (layer(X).detach() for layer in (made.queries, made.keys, made.values))
    mixed = torch.zeros_like(V)
    cells = [(r, c) for r in range(ROWS) for c in range(COLUMNS)]
    for b in range(B):
        for r, c in cells:
            keys, values = ([grid[b, :, s, t] for s, t in cells] for grid in (K, V))
            mixed[b, :, r, c] = attended(Q[b, :, r, c], keys, values, 1.0)
    assert_close(made(X), X + 0.4 * made.output(mixed))


@pytest.mark.parametrize("M", [1, 2])
def test_windows_are_what_plain_loops_give(M):
    Q, K, V = grids()
    found = by_loops(Q, K, V, lambda r, c, s, t: (r // M, c // M) == (s // M, t // M))
    assert_close(reference("attention_in_windows")(Q, K, V, M), found)


def test_one_window_is_torchs_attention():
    Q, K, V = (grid[:, :COLUMNS] for grid in grids())
    found = F.scaled_dot_product_attention(*(grid.flatten(1, 2) for grid in (Q, K, V))).view_as(V)
    assert_close(reference("attention_in_windows")(Q, K, V, COLUMNS), found)


@pytest.mark.parametrize("M", [2, 3])
def test_windows_are_those_of_swin(M):
    """transformers' partition and its inverse, with torch's attention in each window."""
    swin = pytest.importorskip("transformers.models.swin.modeling_swin")
    Q, K, V = (drawn(B, 6, 12, D, seed=seed) for seed in range(3))
    cut = [swin.window_partition(grid, M).flatten(1, 2) for grid in (Q, K, V)]
    found = F.scaled_dot_product_attention(*cut).unflatten(1, (M, M))
    assert_close(reference("attention_in_windows")(Q, K, V, M), swin.window_reverse(found, M, 6, 12))


@pytest.mark.parametrize("M", [2, 3])
def test_windows_are_those_of_timm(M):
    """timm's window attention of one head, whose relative biases are 0, with weights of ours."""
    timm = pytest.importorskip("timm.models.swin_transformer")
    torch.manual_seed(2)
    theirs = timm.WindowAttention(D, num_heads=1, window_size=M).double().eval()
    with torch.no_grad():
        theirs.relative_position_bias_table.zero_()
    X = drawn(B, 6, 12, D)
    Q, K, V = theirs.qkv(X).chunk(3, dim=-1)
    windows = theirs(timm.window_partition(X, (M, M)).flatten(1, 2)).unflatten(1, (M, M))
    ours = theirs.proj(reference("attention_in_windows")(Q, K, V, M))
    assert_close(ours, timm.window_reverse(windows, (M, M), 6, 12))


def test_axial_attention_is_what_plain_loops_give():
    Q, K, V = grids()
    found = by_loops(Q, K, V, lambda r, c, s, t: r == s or c == t)
    assert_close(reference("axial_attention")(Q, K, V), found)


def test_axial_attention_is_torchs_with_a_mask():
    Q, K, V = grids()
    number = torch.arange(ROWS * COLUMNS).view(ROWS, COLUMNS)
    row, column = (number // COLUMNS).flatten(), (number % COLUMNS).flatten()
    mask = (row[:, None] == row) | (column[:, None] == column)
    assert (mask.sum(dim=1) == ROWS + COLUMNS - 1).all()
    found = F.scaled_dot_product_attention(*(grid.flatten(1, 2) for grid in (Q, K, V)), attn_mask=mask)
    assert_close(reference("axial_attention")(Q, K, V), found.view_as(V))


def test_axial_attention_of_one_row_is_torchs_attention():
    Q, K, V = (grid[:, :1] for grid in grids())
    assert_close(reference("axial_attention")(Q, K, V), F.scaled_dot_product_attention(Q, K, V))
