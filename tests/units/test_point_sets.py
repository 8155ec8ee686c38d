"""The references on sets of points against torch's attention, a search tree, and plain loops."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from autograder.bank.catalogue import find_exercise

B, N, S, D, D_V = 3, 9, 3, 5, 4


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def reference(name):
    return find_exercise(name).reference


@pytest.mark.parametrize("k", [1, 4, N])
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_nearest_points_are_those_of_a_search_tree(k, far):
    spatial = pytest.importorskip("scipy.spatial")
    points = torch.randn(B, N, S, dtype=torch.float64) + far
    found = reference("nearest_neighbours")(points, k)
    for cloud, lists in zip(points.numpy(), found):
        _, wanted = spatial.cKDTree(cloud).query(cloud, k=[*range(1, k + 1)])
        assert lists.tolist() == wanted.tolist()


def test_nearest_points_are_those_of_plain_loops():
    points, k = torch.randn(B, N, S), 4
    found = reference("nearest_neighbours")(points, k)
    assert found.dtype == torch.int64
    for b in range(B):
        for n in range(N):
            distances = [math.dist(points[b, n].tolist(), other) for other in points[b].tolist()]
            assert found[b, n].tolist() == sorted(range(N), key=distances.__getitem__)[:k]


@pytest.mark.parametrize("k", [1, 4, N])
def test_attention_among_neighbours_is_full_attention_with_a_mask(k):
    Q, K, V = torch.randn(B, N, D), torch.randn(B, N, D), torch.randn(B, N, D_V)
    neighbours = torch.rand(B, N, N).argsort(dim=-1)[..., :k]
    mask = torch.zeros(B, N, N, dtype=torch.bool)
    for b in range(B):
        for n in range(N):
            mask[b, n, neighbours[b, n]] = True
    wanted = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    assert_close(reference("neighbour_attention")(Q, K, V, neighbours), wanted)


def test_what_two_layers_of_neighbours_reach():
    """Where gradients come from is what a point attends to: neighbours after one layer, theirs too after two."""
    points = torch.randn(1, N, S)
    neighbours = reference("nearest_neighbours")(points, 3)
    attention = reference("neighbour_attention")
    X = torch.randn(1, N, D, requires_grad=True)
    for layers in (1, 2):
        Y = X
        for _ in range(layers):
            Y = attention(Y, Y, Y, neighbours)
        (gradient,) = torch.autograd.grad(Y[0, 0].sum(), X)
        reached = {0}
        for _ in range(layers):
            reached |= {m for n in reached for m in neighbours[0, n].tolist()}
        assert set(gradient[0].abs().sum(dim=-1).nonzero().flatten().tolist()) == reached


def test_pooling_is_torchs_attention_with_one_query():
    ours = reference("SetPooling")(D)
    theirs = nn.MultiheadAttention(D, num_heads=1, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([torch.eye(D), ours.W_K.weight, ours.W_V.weight]))
        theirs.out_proj.weight.copy_(torch.eye(D))
    X, mask = torch.randn(B, N, D), torch.rand(B, N) < 0.5
    mask[:, 2] = True
    wanted, _ = theirs(ours.seed.expand(B, 1, D), X, X, key_padding_mask=~mask)
    assert_close(ours(X, mask), wanted.squeeze(1))


def test_pooling_is_that_of_plain_loops():
    ours = reference("SetPooling")(D).requires_grad_(False)
    X, mask = torch.randn(B, N, D), torch.rand(B, N) < 0.5
    mask[:, -1] = True
    for b, pooled in enumerate(ours(X, mask)):
        there = [x for x, real in zip(X[b], mask[b]) if real]
        powers = [math.exp(float(ours.seed @ (ours.W_K.weight @ x)) / math.sqrt(D)) for x in there]
        values = [ours.W_V.weight @ x for x in there]
        assert_close(pooled, sum(power / sum(powers) * value for power, value in zip(powers, values)))


def test_the_order_of_a_set_makes_no_difference():
    ours = reference("SetPooling")(D)
    X, mask, order = torch.randn(B, N, D), torch.rand(B, N) < 0.5, torch.randperm(N)
    mask[:, 0] = True
    assert_close(ours(X[:, order], mask[:, order]), ours(X, mask))
