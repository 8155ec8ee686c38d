"""Exercise 2: how far a layer is from being permutation equivariant."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from utils.checking.records import Helper


def _drawn(inputs, sizes, rng):
    """A layer that is not equivariant, and an order in which no vector and no pair keeps its position."""
    B, N, D, D_V = (sizes[name] for name in ("B", "N", "D", "D_V"))
    turn = (rng.permutation(N), 1 + rng.integers(N - 2) if N > 2 else 1)
    # a cycle through all, so never its own inverse
    order = (turn[0][(turn[0].argsort() + turn[1]) % N]).astype("int64")
    weights = {"W": (D, D_V), "M": (N, N)}
    arguments = {name: rng.standard_normal(shape).astype("float32") for name, shape in weights.items()}
    return {"layer": Helper("ToyLayer", arguments), "order": order}


def _one_place_apart(inputs, rng):
    """What a vector gets from the others does not depend on its position, except at one position."""
    arguments = dict(inputs["layer"].arguments)
    N = len(arguments["M"])
    arguments["M"] = 0.3 + 1.2 * torch.eye(N).numpy()
    arguments["M"][0, 1] += 0.8
    inputs["layer"] = Helper("ToyLayer", arguments)


@exercise(
    points=2,
    section="Permutation equivariance: shuffle the words",
    source="Lee et al. 2019, Set Transformer; Stanford CS231n, lecture 8, attention layers",
    outputs="gap",
    formula="gap[b] = largest |layer(X permuted)[b] − (layer(X) permuted)[b]|; permuted: row n is what row order[n] was",
    cases=[
        Case("a layer that is not equivariant", sizes={"B": 3, "D_V": 4}),
        Case("a layer that goes wrong in one place", sizes={"B": 3, "D_V": 4}, edit=_one_place_apart),
        Case("another length", sizes={"B": 2, "N": 9, "D_V": 3}),
        Case("a batch of one", sizes={"B": 1, "D_V": 4}),
    ],
    draws=_drawn,
    differentiable=False,
)
def equivariance_gap(layer: Callable, X: Float[Tensor, "B N D"], order: Int[Tensor, "N"]) -> Float[Tensor, "B"]:
    P = torch.eye(len(order), dtype=X.dtype, device=X.device)[order]
    return (layer(P @ X) - P @ layer(X)).abs().flatten(1).amax(dim=1)


def _gap(ours, others):
    return (ours - others).abs().amax(dim=(1, 2))


@equivariance_gap.misconception
def compared_with_the_unpermuted(layer, X, order):
    """The output for the permuted input is compared with the unpermuted output. That tests invariance. Equivariance
    means that the outputs are permuted along with the inputs: compare with layer(X), permuted in the same way."""
    return _gap(layer(X[:, order]), layer(X))


@equivariance_gap.misconception
def permuted_back_the_wrong_way(layer, X, order):
    """Input and output are permuted in opposite ways, or the output for the permuted input was permuted once more.
    Index X and layer(X) with the same order, and compare."""
    return _gap(layer(X[:, order]), layer(X)[:, order.argsort()])


@equivariance_gap.misconception
def inverse_on_the_input(layer, X, order):
    """The input is permuted by the inverse of the order (P[:, order] = X does that), but the output with which it is
    compared is not. Row n of the permuted X is row order[n]: index X and layer(X) with the same order, X[:,
    order]."""
    return _gap(layer(X[:, order.argsort()]), layer(X)[:, order])


@equivariance_gap.misconception
def inverse_on_both(layer, X, order):
    """Both sides are permuted by the inverse of the order, order.argsort(). Row n of the permuted X is row order[n]
    of X: X[:, order]."""
    back = order.argsort()
    return _gap(layer(X[:, back]), layer(X)[:, back])


@equivariance_gap.misconception(universal=True)
def nothing_permuted(layer, X, order):
    """The layer is compared with itself on the same input, so the gap is 0 whatever the layer does. On one side the
    input must be permuted."""
    return _gap(layer(X), layer(X))


@equivariance_gap.misconception
def input_alone_compared(layer, X, order):
    """The output for X is permuted and compared with the output for X. One of the two outputs must belong to the
    permuted input: layer(X[:, order])."""
    return _gap(layer(X), layer(X)[:, order])


@equivariance_gap.misconception
def averaged(layer, X, order):
    """The differences are averaged. A layer that fails at a single position only would hardly show: take the largest
    difference."""
    return (layer(X[:, order]) - layer(X)[:, order]).abs().mean(dim=(1, 2))


@equivariance_gap.misconception
def without_absolute_values(layer, X, order):
    """The largest difference is taken with its sign, so large negative differences are overlooked. Take absolute
    values first."""
    return (layer(X[:, order]) - layer(X)[:, order]).amax(dim=(1, 2))


@equivariance_gap.misconception
def length_of_the_difference(layer, X, order):
    """This is the root of the summed squares. The gap is the largest single difference, which does not grow with the
    number of entries."""
    return (layer(X[:, order]) - layer(X)[:, order]).square().sum(dim=(1, 2)).sqrt()


@equivariance_gap.misconception
def longest_difference_of_a_vector(layer, X, order):
    """For each vector the length of its difference was computed, the root of the summed squares, and then the largest
    of these lengths. The gap is the largest difference of two numbers, without a sum over the features."""
    return (layer(X[:, order]) - layer(X)[:, order]).square().sum(dim=-1).sqrt().amax(dim=-1)


@equivariance_gap.misconception
def squared(layer, X, order):
    """The differences are squared. The gap is the largest absolute difference."""
    return (layer(X[:, order]) - layer(X)[:, order]).square().amax(dim=(1, 2))


@equivariance_gap.misconception
def one_number_for_all(layer, X, order):
    """This is one number for the whole batch. Each sequence has its own gap: take the largest over its N vectors and
    their features, not over B."""
    return (layer(X[:, order]) - layer(X)[:, order]).abs().max()


@equivariance_gap.misconception
def one_number_for_each_vector(layer, X, order):
    """This is a gap for each vector, [B, N]. Take the largest over the vectors, too: one number for each sequence."""
    return (layer(X[:, order]) - layer(X)[:, order]).abs().amax(dim=-1)


@equivariance_gap.misconception
def one_number_for_each_feature(layer, X, order):
    """This is a gap for each feature, [B, D_V]. Take the largest over the features, too: one number for each
    sequence."""
    return (layer(X[:, order]) - layer(X)[:, order]).abs().amax(dim=1)


@equivariance_gap.misconception
def batch_permuted(layer, X, order):
    """X[order] permutes the first axis, the batch. The vectors of a sequence lie along the second: X[:, order]."""
    return _gap(layer(X[order]), layer(X)[order])


@equivariance_gap.alternative
def by_index_select(layer, X, order):
    return (layer(X.index_select(1, order)) - layer(X).index_select(1, order)).abs().max(dim=2).values.max(dim=1).values


@equivariance_gap.alternative
def undone_afterwards(layer, X, order):
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order), device=order.device)
    return (layer(X[:, order])[:, back] - layer(X)).abs().flatten(1).max(dim=-1)[0]


@equivariance_gap.alternative
def sequence_by_sequence(layer, X, order):
    gaps = []
    for x in X:
        difference = layer(x[None, order])[0] - layer(x[None])[0, order]
        gaps.append(torch.linalg.vector_norm(difference, ord=float("inf")))
    return torch.stack(gaps)
