"""Exercise 6: on which inputs each output depends, found by derivatives."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_07_masking.find_dependencies.models import (
    CALM,
    FAINT,
    causal,
    constant_at_the_edge,
    idle_at_the_edge,
    mixed_before,
    off_by_one,
    opposite_inputs,
    opposite_outputs,
    scattered,
    single_output,
    strictly_past,
    taking,
    window,
    with_padding,
)


def _case(text, edit, batch="B", **more):
    return Case(text, edit=edit, expand={"*B": batch}, **more)


@exercise(
    points=3,
    section="What an output depends on",
    source="Baydin et al. 2018, Automatic differentiation in machine learning: a survey",
    outputs="depends",
    formula="depends[m, n] = True where the derivative of Y[m, j] with respect to X[n, i] is not exactly 0 for some features j"
    " and i, else False; Y = model(X); depends [*B, N, N], torch.bool, with a row for each output",
    cases=[
        _case("a causal mask", taking(causal, size=CALM)),
        _case("one sequence, a window of two positions", taking(window), batch=""),
        _case("a mask that is off by one, in two layers", taking(off_by_one, layers=2), sizes={"N": 8}),
        _case("sequences with padding", with_padding(window), sizes={"B": 3, "N": 7}),
        _case("outputs whose features have the sum 0", taking(window, change=opposite_outputs)),
        _case("derivatives that have the sum 0", taking(window, change=opposite_inputs), sizes={"D": 4}),
        _case("inputs of which some features do not count", taking(scattered, change=idle_at_the_edge), sizes={"N": 6}),
        _case(
            "outputs of which some features are constant",
            taking(scattered, change=constant_at_the_edge),
            sizes={"N": 7},
        ),
        _case("positions that are hidden from themselves", taking(strictly_past, own=0)),
        _case("a weak dependence", taking(scattered, attended=FAINT), sizes={"N": 6}),
        _case("positions that are mixed before the attention", taking(window, change=mixed_before), batch=""),
        _case("outputs of one feature", taking(window, layers=2, change=single_output)),
        _case("dozens of positions", taking(scattered), batch="", sizes={"N": 24}, edge=True),
    ],
    differentiable=False,
    waived={
        "large": "where the softmax of a model saturates, its derivatives underflow, and are 0 for no other reason",
        "scale": "some right ways to compute take memory for each pair of features of all positions",
    },
)
def find_dependencies(model: Callable, X: Float[Tensor, "*B N D"]) -> Bool[Tensor, "*B N N"]:
    def summed(X):
        Y = model(X)
        return Y.reshape(-1, *Y.shape[-2:]).sum(dim=0)  # sequences do not depend on each other

    J = torch.func.jacrev(summed)(X)  # [N, D_V, *B, N, D]
    return (J != 0).any(dim=-1).any(dim=1).movedim(0, -2)


def _leaf(X):
    return X.detach().clone().requires_grad_()


def _drawn_sum(Y):
    """A sum of the features with weights drawn at random, in which nothing cancels."""
    return Y @ torch.randn(Y.shape[-1], dtype=Y.dtype, device=Y.device)


def _sum(Y):
    return Y.sum(dim=-1)


def _slopes(model, X, of=_drawn_sum):
    """For each output the derivative of `of` its features, [*B, N, D]."""
    X = _leaf(X)
    Y = model(X)
    for m in range(X.shape[-2]):
        yield torch.autograd.grad(of(Y[..., m, :]).sum(), X, retain_graph=True)[0]


def _depends(slopes, found=lambda slope: (slope != 0).any(dim=-1)):
    """[*B, N, N] of what was found in each slope."""
    return torch.stack(list(map(found, slopes)), dim=-2)


@find_dependencies.misconception
def features_summed(model, X):
    """The features of an output were summed, or averaged, before the derivative was taken. In a sum derivatives may cancel:
    where the features always have the same sum, as probabilities have, its derivative is 0 although each of them depends on X.
    Take the derivative of each feature, or of a sum with weights drawn at random."""
    return _depends(_slopes(model, X, of=_sum))


@find_dependencies.misconception
def derivatives_summed_with_their_signs(model, X):
    """The derivatives with respect to the features of an input were summed with their signs, so that they may cancel. Take
    their absolute values first, or ask whether any of them is not 0."""
    return _depends(_slopes(model, X), lambda slope: slope.sum(dim=-1) != 0)


@find_dependencies.misconception
def both_summed(model, X):
    """The features of an output were summed before the derivative was taken, and the derivatives with respect to the features
    of an input were summed with their signs. In both sums what depends may cancel. Take the derivative of each feature, or of a
    sum with weights drawn at random, and absolute values before you sum derivatives."""
    return _depends(_slopes(model, X, of=_sum), lambda slope: slope.sum(dim=-1) != 0)


@find_dependencies.misconception(universal=True)
def features_squared(model, X):
    """The derivative is that of the squares of an output's features, or of their absolute values, or of a norm. It is 0 where
    the output itself is 0, whatever the output depends on. Take the derivative of each feature, or of a sum with weights drawn
    at random."""
    return _depends(_slopes(model, X, of=lambda Y: Y.square().sum(dim=-1)))


@find_dependencies.misconception
def gradients_accumulated(model, X):
    """Each row has what the rows before it have as well: the derivatives of the outputs before were added up. backward() adds
    to .grad; clear it before each output (X.grad = None), or use torch.autograd.grad, which adds nothing up."""
    return _depends(_slopes(model, X)).cumsum(dim=-2) > 0


@find_dependencies.misconception
def accumulated_sums(model, X):
    """Each row has what the rows before it have as well, and features were summed before the derivative was taken. backward()
    adds to .grad: clear it before each output (X.grad = None), or use torch.autograd.grad. And in a sum of features derivatives
    may cancel: take each feature by itself, or a sum with weights drawn at random."""
    return _depends(_slopes(model, X, of=_sum)).cumsum(dim=-2) > 0


@find_dependencies.misconception
def below_a_threshold(model, X):
    """Small derivatives count as 0: there is a threshold, or a comparison with a tolerance. A weak dependence is one as well,
    and what a mask hides has derivatives of exactly 0: compare with 0."""
    return _depends(_slopes(model, X), lambda slope: (slope.abs() > 1e-6).any(dim=-1))


@find_dependencies.misconception
def positive_sums_alone(model, X):
    """Only positive derivatives, or sums of them, count. An output depends on an input as well where it falls when that grows:
    take absolute values before anything is summed, and derivatives of each feature of the output, since those of a sum may
    cancel."""
    return _depends(_slopes(model, X, of=_sum), lambda slope: slope.sum(dim=-1) > 0)


@find_dependencies.misconception
def positive_derivatives_alone(model, X):
    """Only positive derivatives count, and the features of an output were summed before. An output depends on an input as well
    where it falls when that grows: compare with !=, and take derivatives of each feature of the output, since those of a sum
    may cancel."""
    return _depends(_slopes(model, X, of=_sum), lambda slope: (slope > 0).any(dim=-1))


@find_dependencies.misconception
def all_features_needed(model, X):
    """True stands only where derivatives of all features are not 0. One feature of an output that depends on one of an input is
    enough: any, not all."""
    return _depends(_slopes(model, X), lambda slope: (slope != 0).all(dim=-1))


@find_dependencies.misconception
def first_feature_of_the_outputs(model, X):
    """Only one feature of each output was looked at. Another one may depend on other inputs: take every feature, or a sum with
    weights drawn at random."""
    return _depends(_slopes(model, X, of=lambda Y: Y[..., 0]))


@find_dependencies.misconception
def first_feature_of_the_inputs(model, X):
    """Only the derivatives with respect to one feature of each input were looked at. An output may depend on others alone: take
    those with respect to all of them."""
    return _depends(_slopes(model, X), lambda slope: slope[..., 0] != 0)


@find_dependencies.alternative
def feature_by_feature(model, X):
    X = _leaf(X)
    Y = model(X)
    depends = torch.zeros(*X.shape[:-1], X.shape[-2], dtype=torch.bool, device=X.device)
    for m in range(X.shape[-2]):
        for j in range(Y.shape[-1]):
            (slope,) = torch.autograd.grad(Y[..., m, j].sum(), X, retain_graph=True)
            depends[..., m, :] |= slope.abs().sum(dim=-1) > 0
    return depends


@find_dependencies.alternative
def with_weights_and_backward(model, X):
    X = _leaf(X)
    y = _drawn_sum(model(X))  # [*B, N]
    rows = []
    for m in range(y.shape[-1]):
        X.grad = None
        y[..., m].sum().backward(retain_graph=True)
        rows.append(X.grad.norm(dim=-1) > 0)
    return torch.stack(rows, dim=-2)


@find_dependencies.alternative
def in_one_backward_pass(model, X):
    N = X.shape[-2]
    copies = X.detach().expand(N, *X.shape).clone().requires_grad_()  # copy m is asked for output m
    y = _drawn_sum(model(copies))  # [N, *B, N]
    y.diagonal(dim1=0, dim2=-1).sum().backward()
    return copies.grad.ne(0).any(dim=-1).movedim(0, -2)


@find_dependencies.alternative
def sequence_by_sequence(model, X):
    jacobian = torch.func.jacrev(model)
    for _ in X.shape[:-2]:
        jacobian = torch.func.vmap(jacobian)
    return jacobian(X).ne(0).any(dim=-1).any(dim=-2)  # [*B, N, D_V, N, D]


@find_dependencies.alternative
def forwards(model, X):
    """From the inputs on: which outputs change with each feature of each input."""
    N, D = X.shape[-2:]
    directions = torch.eye(N * D, dtype=X.dtype, device=X.device).reshape(N * D, *[1] * (X.ndim - 2), N, D)

    def changed(direction):
        return torch.func.jvp(model, (X,), (direction.expand_as(X),))[1]

    changes = torch.func.vmap(changed)(directions)  # [N*D, *B, N, D_V]
    return changes.ne(0).any(dim=-1).unflatten(0, (N, D)).any(dim=1).movedim(0, -1)
