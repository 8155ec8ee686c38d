"""Every kind of wrong answer gets its own sentence; unusual right answers pass."""

import functools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from conftest import plain
from torch import nn

from utils.checking.judging.points import ROBUSTNESS


def unfinished(q, X):
    raise NotImplementedError()


def stops(q, X):
    return q @ X


def returns_none(q, X):
    (q.unsqueeze(-2) * X).sum(-1)


def as_numpy(q, X):
    return (q.numpy()[..., None, :] * X.numpy()).sum(-1)


def as_list(q, X):
    return [x for x in (q.unsqueeze(-2) * X).sum(-1)]


def in_double(q, X):
    return (q.unsqueeze(-2).double() * X.double()).sum(-1)


def elsewhere(q, X):
    return (q.unsqueeze(-2) * X).sum(-1).to("meta")


def not_a_number(q, X):
    return (q.unsqueeze(-2) * X).sum(-1) * math.nan


def by_keyword(*, X, q):
    return (q.unsqueeze(-2) * X).sum(-1)


def into_the_input(q, X):
    X *= q.unsqueeze(-2)
    return X.sum(-1)


def into_its_gradient(q, X):
    X.requires_grad_()
    e = (q.unsqueeze(-2) * X).sum(-1)
    e.sum().backward(inputs=[X])
    X.requires_grad_(False)
    return e.detach()


def by_chance(q, X):
    return F.dropout((q.unsqueeze(-2) * X).sum(-1), 0.5)


def detached(q, X):
    return (q.unsqueeze(-2) * X).sum(-1).detach()


def one_argument(q):
    return q


def with_an_extra_axis(q, X):
    return X @ q.unsqueeze(-1)


def in_pieces(q, X):
    return (X @ q.unsqueeze(-1)).squeeze(-1).unbind(-1)


def in_a_row(q, X):
    return (X @ q.unsqueeze(-1)).view(2, 2)


def halved(q, X):
    return X.reshape(2, X.numel() / 2)


def stacked(q, X):
    return torch.stack(X @ q.unsqueeze(-1))


def sparse(q, X):
    return (q.unsqueeze(-2) * X).sum(-1).to_sparse()


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, X):
        return (X @ q[..., None])[..., 0]

    @staticmethod
    def backward(ctx, slope):
        raise ValueError("my own backward")


def own_backward(q, X):
    return Backward.apply(q, X)


BUFFERS = {}


def into_a_buffer(q, X):
    e = (X @ q[..., None])[..., 0]
    if e.requires_grad:
        return e
    return BUFFERS.setdefault(e.shape, torch.empty_like(e)).copy_(e)


def hooked(q, X):
    e = (X @ q[..., None])[..., 0]
    if e.requires_grad:
        e.register_hook(lambda slope: slope.no_such_thing)
    return e


def squeezed(q, X):
    return (X @ q[..., None]).squeeze()


# what loses the share for robustness alone
RIGHT_IDEAS = (
    as_numpy, in_double, into_the_input, into_its_gradient, into_a_buffer, by_keyword, detached, own_backward, hooked,
)  # fmt: skip


@pytest.mark.parametrize(
    ("made", "problem", "said"),
    [
        (unfinished, "unfinished", "Not written yet"),
        (stops, "exception", "in your line return q @ X"),
        (returns_none, "returned_none", "`return e`"),
        (as_numpy, "not_a_tensor", "NumPy array"),
        (as_list, "wrong_structure", "torch.stack"),
        (in_double, "wrong_dtype", "torch.float64"),
        (elsewhere, "wrong_device", "meta"),
        (not_a_number, "not_finite", "contains NaN"),
        (into_the_input, "changed_input", "X came back changed"),
        (into_its_gradient, "changed_input", "X came back changed"),
        (by_chance, "unstable", "Two calls"),
        (into_a_buffer, "overwritten", "A later call changed what an earlier one had returned"),
        (by_keyword, "wrong_signature", "in this order, without their names too"),
        (detached, "no_gradient", "no gradient reaches q, X"),
        (one_argument, "wrong_signature", "attention_scores(q, X)"),
        (with_an_extra_axis, "wrong_shape", "one axis too many, of size 1"),
        (in_pieces, "wrong_structure", "Pieces of equal shape become one tensor with torch.stack"),
        (in_a_row, "exception", "must hold as many numbers as the old one"),
        (halved, "exception", "// divides without a fraction"),
        (stacked, "exception", "take a list of tensors"),
        (sparse, "not_a_tensor", "sparse"),
        (own_backward, "backward_failed", "ValueError: my own backward"),
        (hooked, "backward_failed", "no_such_thing"),
        (squeezed, "wrong_shape", "squeeze() without an axis"),
        (lambda q, X: {"e": X}, "not_a_tensor", "dict"),
        (torch.ones(3), "wrong_signature", "not a function"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_each_fault_of_a_function_has_its_own_sentence(examine, made, problem, said):
    result = examine("attention_scores", made)
    assert (result.problem, result.points) == (problem, 2 * (1 - ROBUSTNESS) if made in RIGHT_IDEAS else 0)
    assert said in plain(result.message)
    assert result.message.startswith("✗ attention_scores · ")
    assert 'reread lesson 04, "' in result.message
    assert "Traceback" not in result.message


class Layer(nn.Module):
    """The right layer; faults below change one thing in it."""

    def __init__(self, D_X, D_Q, D_V):
        super().__init__()
        self.W_K = nn.Linear(D_X, D_Q, bias=False)
        self.W_V = nn.Linear(D_X, D_V, bias=False)

    def forward(self, Q, X):
        K = self.W_K(X)
        A = (Q @ K.mT / K.shape[-1] ** 0.5).softmax(-1)
        return A @ self.W_V(X), A


class Unnamed(Layer):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.keys = self.W_K
        del self.W_K


class WithoutSuper(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        self.W_K = nn.Linear(D_X, D_Q, bias=False)


class OneWidth(Layer):
    def __init__(self, D):
        super().__init__(D, D, D)


class WithoutForward(nn.Module):
    __init__ = Layer.__init__

    def foward(self, Q, X):
        return Q


WithoutForward.__init__ = lambda self, D_X, D_Q, D_V: nn.Module.__init__(self)


class OtherForward(Layer):
    def forward(self, X):
        return X


class Extra(Layer):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.W_O = nn.Linear(D_V, D_V)


class KeepsItsKeys(Layer):
    def forward(self, Q, X):
        if not hasattr(self, "K"):
            self.K = self.W_K(X)
        A = (Q @ self.K.mT / self.K.shape[-1] ** 0.5).softmax(-1)
        return A @ self.W_V(X), A


class KeepsItsNumber(Layer):
    """How many vectors there were in the first call."""

    def forward(self, Q, X):
        if not hasattr(self, "N_X"):
            self.N_X = X.shape[-2]
        Y, A = super().forward(Q, X)
        return Y * (X.shape[-2] / self.N_X), A


class KeepsItsMatrix(Layer):
    """What its weight was in the first call."""

    def forward(self, Q, X):
        if not hasattr(self, "matrix"):
            self.matrix = self.W_K.weight.detach().clone().T
        A = (Q @ (X @ self.matrix + 0 * self.W_K(X)).mT / Q.shape[-1] ** 0.5).softmax(-1)
        return A @ self.W_V(X), A


class KeysWithoutGradient(Layer):
    def forward(self, Q, X):
        with torch.no_grad():
            K = self.W_K(X)
        A = (Q @ K.mT / K.shape[-1] ** 0.5).softmax(-1)
        return A @ self.W_V(X), A


class Aliased(Layer):
    """Right: the asked names are there, beside others for the same layers."""

    def __init__(self, D_X, D_Q, D_V):
        nn.Module.__init__(self)
        self.layers = nn.ModuleDict({"W_K": nn.Linear(D_X, D_Q, bias=False), "W_V": nn.Linear(D_X, D_V, bias=False)})
        self.W_K, self.W_V = self.layers["W_K"], self.layers["W_V"]


class Forgetful(Layer):
    def forward(self, Q, X):
        return self.W_V(X) / self.D_Q**0.5, Q


class Stubborn(nn.Module):
    def __init__(self, D_X, D_Q, D_V):
        raise ValueError("no")


@pytest.mark.parametrize(
    ("made", "problem", "said"),
    [
        (Unnamed, "wrong_parameters", "no parameter W_K.weight"),
        (WithoutSuper, "constructor_failed", "super().__init__()"),
        (OneWidth, "wrong_signature", "__init__(self, D_X, D_Q, D_V)"),
        (WithoutForward, "wrong_signature", "no method forward"),
        (OtherForward, "wrong_signature", "forward(self, Q, X)"),
        (Extra, "wrong_parameters", "not asked for: W_O"),
        (KeepsItsKeys, "unstable", "earlier call"),
        (KeepsItsNumber, "unstable", "earlier call"),
        (KeepsItsMatrix, "unstable", "earlier call"),
        (KeysWithoutGradient, "no_gradient", "no gradient reaches W_K.weight"),
        (Forgetful, "exception", "what forward needs of it is kept there: self.D_Q = D_Q"),
        (Stubborn, "constructor_failed", "ValueError: no"),
        (lambda D_X, D_Q, D_V: None, "wrong_signature", "class AttentionLayer(nn.Module)"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_fault_of_a_module_has_its_own_sentence(examine, made, problem, said):
    result = examine("AttentionLayer", made)
    right_idea = problem in ("unstable", "no_gradient")
    assert (result.problem, result.points) == (problem, 3 * (1 - ROBUSTNESS) if right_idea else 0), result.message
    assert said in plain(result.message)


@pytest.mark.parametrize(
    "softmax",
    [
        lambda e, dim=-1: F.softmax(e, dim=dim),
        lambda e, dim=-1: e.softmax(dim),
        lambda e, dim=-1: nn.Softmax(dim=dim)(e),
        lambda e, dim=-1: F.log_softmax(e, dim=dim).exp(),
        lambda e, dim=-1: (e - e.logsumexp(dim, keepdim=True)).exp(),
        lambda e, dim=-1: torch.sparse.softmax(e.to_sparse(), dim).to_dense(),
        lambda e, dim=-1: torch._masked_softmax(e, torch.zeros_like(e, dtype=torch.bool), dim),
        lambda e, dim=-1: torch._C._nn.__dict__.get("softmax", torch._softmax)(e, dim, False),
    ],
)
def test_a_forbidden_call_is_seen_by_whatever_way_it_is_made(examine, softmax):
    result = examine("stable_softmax", softmax)
    assert (result.problem, result.points) == ("forbidden_call", 0), result.message


def test_fused_attention_is_forbidden_where_attention_is_to_be_built(examine):
    def fused(Q, X):
        return F.scaled_dot_product_attention(Q, X, X), (Q @ X.mT / Q.shape[-1] ** 0.5).softmax(-1)

    result = examine("scaled_dot_product_attention", fused)
    assert result.problem == "forbidden_call"
    assert "Your code reaches scaled_dot_product_attention" in result.message


class WithBuffer(Layer):
    def __init__(self, D_X, D_Q, D_V):
        super().__init__(D_X, D_Q, D_V)
        self.register_buffer("scale", torch.sqrt(torch.tensor(float(D_Q))))

    def forward(self, Q, X):
        A = (Q @ self.W_K(X).mT / self.scale).softmax(-1)
        return [A @ self.W_V(X), A]


def decorated(function):
    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


def chained(e, dim=-1):
    largest = e.amax(dim, keepdim=True)
    total = largest + (e - largest).exp().sum(dim, keepdim=True).log()
    return (e - total).exp()


def through_numpy_shapes(Q, X, scaled):
    A = (Q @ X.mT / np.sqrt(Q.shape[-1] if scaled else 1).item()).softmax(-1)
    return torch.stack([(torch.diag(a) - torch.outer(a, a)).norm() for a in A])


def vmapped(Q, X, scaled):
    def one(q, X, scaled):
        a = (X @ q / (math.sqrt(len(q)) if scaled else 1)).softmax(0)
        return (torch.diag(a) - torch.outer(a, a)).square().sum().sqrt()

    return torch.vmap(one, in_dims=(0, None, None))(Q, X, scaled)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("attention_scores", functools.partial(lambda factor, q, X: factor * (X @ q[..., None])[..., 0], 1.0)),
        ("attention_scores", decorated(lambda q, X: (q.unsqueeze(-2) * X).sum(-1))),
        ("attention_scores", lambda q, X, extra=None: torch.einsum("...d,...nd->...n", q, X)),
        ("stable_softmax", chained),
        ("AttentionLayer", WithBuffer),
        ("AttentionLayer", Aliased),
        ("gradient_through_softmax", through_numpy_shapes),
        ("gradient_through_softmax", vmapped),
    ],
)
def test_unusual_right_answers_pass(examine, name, made):
    result = examine(name, made)
    assert result.passed, result.message


def test_a_helper_that_is_not_written_yet_is_named(examine):
    def stable_softmax(e):
        raise NotImplementedError()

    result = examine("attention_pooling", lambda q, X: (q, stable_softmax(X @ q)))
    assert result.problem == "unfinished"
    assert "`stable_softmax`, which is not written yet" in plain(result.message)


def test_what_torch_does_not_implement_is_no_unfinished_exercise(examine):
    result = examine("attention_scores", lambda q, X: torch.bmm((X > 0)[None], (X > 0)[None]))
    assert result.problem == "exception" and "not written yet" not in result.message.lower()


def test_a_result_without_its_beginning_is_told_as_that(examine):
    def greedy_decode(decoder, s, max_length):
        y = torch.full((len(s),), 1, device=s.device)
        written, ended = [], torch.zeros_like(y, dtype=torch.bool)
        while len(written) < max_length and not ended.all():
            logits, s = decoder(y, s)
            y = logits.argmax(dim=-1)
            written.append(torch.where(ended, 0, y))
            ended = ended | (y == 2)
        return torch.stack(written, dim=1)[:, 1:]

    assert "its beginning is missing, and the rest is right" in plain(examine("greedy_decode", greedy_decode).message)


def test_what_fails_is_told_with_the_numbers_of_the_case_itself(examine, shipped):
    def failing(layer, X, order):
        raise ValueError(f"order {order.tolist()}")

    case = shipped["equivariance_gap"].cases[0].case
    assert f"order {case.inputs['order'].tolist()}" in plain(examine("equivariance_gap", failing).message)


def test_numbers_of_hidden_cases_are_not_told():
    from examining import examine_hidden

    from autograder.bank import catalogue
    from autograder.bank.freezing import freeze

    frozen = freeze(catalogue.find_exercise("attention_scores"), "hidden", grading=True)
    seen = examine_hidden(frozen, lambda q, X: 3 * (q.unsqueeze(-2) * X).sum(-1))
    assert "Each number of e is the right one times 3." in seen.message
    told = seen.message.replace("lesson 04", "").replace("times 3", "")
    assert not any(digit in told for digit in "0123456789")


def test_parameters_may_have_names_of_ones_own(examine):
    assert examine("attention_scores", lambda a, b: (a.unsqueeze(-2) * b).sum(-1)).passed


def test_success_says_how_much_grading_examines(examine, shipped):
    result = examine("AttentionLayer", Layer)
    assert result.passed
    assert f"Grading examines the same on {shipped['AttentionLayer'].examined} draws" in result.message
    assert shipped["AttentionLayer"].examined > len(shipped["AttentionLayer"].cases)


def test_messages_fit_a_validation_window(shipped, examine):
    for name, exercise in shipped.items():
        for sentence in exercise.misconceptions.values():
            assert len(sentence) < 400, f"{name}: nobody reads {len(sentence)} characters"
    message = examine("attention_scores", in_double).message
    assert max(map(len, message.splitlines())) <= 82
