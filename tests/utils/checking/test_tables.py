"""Tables that torch's modes do not see are found: of numpy, of lists, of tensors with modes off; answers without are right."""

import math
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import plain
from torch.autograd import profiler_legacy

from autograder.bank import practice
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine
from utils.checking.observing import tables
from utils.checking.observing.tables import FACTOR, unseen_table

MANY = 100
BOUNDS = {"largest": MANY * MANY - 1}
X = np.ones((MANY, 3), "f4")
stop, start, reset_peak, clear_traces = (
    getattr(tracemalloc, name) for name in ("stop", "start", "reset_peak", "clear_traces")
)


def of_numpy(X):
    return (X @ X.T).sum()


def of_half_precision(X):
    return (X.astype("f2") @ X.T.astype("f2")).max()


def of_torch(X):
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        return (torch.from_numpy(X) @ torch.from_numpy(X.T)).sum()


def of_lists(X):
    rows = X.tolist()
    return sum(map(sum, [[sum(map(float.__mul__, one, other)) for other in rows] for one in rows]))


def by_rows(X):
    return sum((X @ row).sum() for row in X)


def long_lists(X):
    """As much as a table takes, but twice as much for inputs twice as long."""
    return [[float(number)] * 700 for number in X[:, 0]]


def wide_tensor(X):
    return torch.from_numpy(X[:, :1]).expand(-1, 3000).clone()


def found(*calls, bounds=BOUNDS) -> int:
    return unseen_table(lambda inputs: lambda: [call(inputs["X"]) is None for call in calls], {"X": X}, bounds)


@pytest.mark.parametrize("table", [of_numpy, of_half_precision, of_lists, of_torch])
def test_a_table_counts_whatever_it_is_made_of(table):
    assert found(table) >= MANY * MANY


def test_what_grows_with_the_inputs_and_not_with_their_pairs_is_no_table():
    assert found(by_rows) == found(long_lists) == found(wide_tensor) == 0
    longer, most = tables._lengthened(X), MANY**2 * FACTOR**2
    taken = tables._measured(lambda: [long_lists(longer) is None, wide_tensor(longer)], most)
    assert all(one.exceeded for one in taken), "they take as much as a table"


@pytest.mark.parametrize(
    "set_back",
    [
        (lambda X: tracemalloc.reset_peak(),),
        (lambda X: tracemalloc.stop(), lambda X: tracemalloc.start()),
        (lambda X: tracemalloc.clear_traces(),),
        (lambda X: reset_peak(),),
        (lambda X: stop(),),
        (lambda X: stop(), lambda X: start()),
        (lambda X: clear_traces(),),
    ],
)
def test_setting_the_measure_of_pythons_memory_back_does_not_help(set_back):
    assert found(of_numpy, *set_back) > BOUNDS["largest"]
    assert not tracemalloc.is_tracing()


@pytest.mark.parametrize("again", [False, True])
def test_setting_the_measure_of_torchs_memory_back_does_not_help(again):
    def ends_the_profiler(X):
        profiler_legacy._disable_profiler_legacy()
        if again:
            profiler_legacy._enable_profiler_legacy(profiler_legacy.profile(profile_memory=True).config())

    assert found(of_torch, ends_the_profiler) > BOUNDS["largest"]
    assert found(by_rows) == 0, "no profiler is left behind"


def test_where_another_profiler_runs_torchs_memory_is_not_measured():
    with profiler_legacy.profile(profile_memory=True) as running:
        assert found(of_torch) == 0
    assert "aten::mm" in {event.name for event in running.function_events}


def test_code_that_measures_itself_goes_on_and_what_was_measured_before_too():
    def measured(X):
        tracemalloc.start()
        by_rows(X)
        assert tracemalloc.get_traced_memory()[1] > 0
        tracemalloc.stop()

    assert found(measured) == 0 and not tracemalloc.is_tracing()
    tracemalloc.start()
    assert found(by_rows) == 0 and tracemalloc.is_tracing()
    tracemalloc.stop()
    with pytest.raises(ZeroDivisionError):
        found(lambda X: 1 // 0)
    assert (tracemalloc.stop, tracemalloc.reset_peak) == (stop, reset_peak) and not tracemalloc.is_tracing()


def test_nothing_is_called_without_a_bound_or_a_long_axis_and_slow_code_is_called_once():
    for inputs, bounds in (({"X": X}, {}), ({"X": X}, {"made": 9}), ({"X": X[:30], "block": 2}, BOUNDS)):
        assert unseen_table(lambda inputs: pytest.fail(), inputs, bounds) == 0
    lengths = []

    def slow(X):
        lengths.append(len(X))
        started = time.process_time()
        while time.process_time() < started + tables.SLOW:
            of_numpy(X)

    assert found(slow) == 0 and lengths == [MANY]


def by_numpy(forward):
    """An answer whose numbers come from numpy, with gradients."""

    class Answer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.save_for_backward(*tensors)
            return torch.from_numpy(forward(*(one.detach().numpy() for one in tensors)))

        @staticmethod
        def backward(ctx, gradient):
            tensors = [one.detach().requires_grad_() for one in ctx.saved_tensors]
            with torch.enable_grad():
                return torch.autograd.grad(plainly(*tensors), tensors, gradient)

    return lambda *arguments: Answer.apply(*(one for one in arguments if isinstance(one, torch.Tensor)))


def plainly(Q, K, V):
    """Tiled attention's numbers, query by query."""
    rows = [((q[:, None] @ K.mT) * Q.shape[-1] ** -0.5).softmax(dim=-1) @ V for q in Q.unbind(dim=1)]
    return torch.cat(rows, dim=1)


def whole_table(Q, K, V):
    E = Q @ K.swapaxes(-1, -2) * np.asarray(Q.shape[-1] ** -0.5, Q.dtype)
    A = np.exp(E - E.max(axis=-1, keepdims=True))
    return A / A.sum(axis=-1, keepdims=True) @ V


def measured(frozen):
    """The exercise with the case alone on which tables are looked for, behind its first one."""
    cases = [one for one in frozen.cases if not one.case.condition and "largest" in one.case.bounds]
    return replace(frozen, cases=(frozen.cases[0], max(cases, key=lambda one: one.case.bounds["largest"])))


def test_a_table_of_numpy_costs_the_points_of_tiled_attention():
    frozen = freeze(find_exercise("tiled_attention"), "a draw", grading=True, mistakes=False)
    result = examine(frozen, by_numpy(whole_table))
    assert (result.problem, result.points) == ("too_large", 0)
    unbounded = [replace(one, case=replace(one.case, bounds={})) for one in frozen.cases]
    assert examine(replace(frozen, cases=tuple(unbounded)), by_numpy(whole_table)).points == 3, (
        "but for its table it is right"
    )


def test_a_table_made_while_torchs_modes_are_off_costs_the_points_of_tiled_attention():
    def unseen(Q, K, V, block):
        with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
            return (Q @ K.mT * Q.shape[-1] ** -0.5).softmax(dim=-1) @ V

    result = examine(freeze(find_exercise("tiled_attention"), "a draw", mistakes=False), unseen)
    assert (result.problem, result.points) == ("too_large", 0)


def tiled_in_lists(Q, K, V, block):
    outputs = []
    for q, k, v in zip(Q.tolist(), K.tolist(), V.tolist()):
        tops, sums, rows = [-math.inf] * len(q), [0.0] * len(q), [[0.0] * len(v[0]) for _ in q]
        for b in range(0, len(k), block):
            for i, one in enumerate(q):
                scores = [sum(map(float.__mul__, one, key)) / math.sqrt(len(one)) for key in k[b : b + block]]
                top = max(tops[i], *scores)
                weights, factor = [math.exp(score - top) for score in scores], math.exp(tops[i] - top)
                mixed = [sum(map(float.__mul__, weights, column)) for column in zip(*v[b : b + block])]
                rows[i] = [factor * old + new for old, new in zip(rows[i], mixed)]
                tops[i], sums[i] = top, factor * sums[i] + sum(weights)
        outputs.append([[number / total for number in row] for row, total in zip(rows, sums)])
    return torch.tensor(outputs)


def linear_in_lists(Q, K, V):
    q, k, v = Q.tolist(), K.tolist(), V.tolist()
    q, k = ([[x + 1 if x > 0 else math.exp(x) for x in row] for row in rows] for rows in (q, k))
    products = [[[x * y for y in value] for x in key] for key, value in zip(k, v)]  # [N_X, D_Q, D_V]
    mixed = [[sum(one) for one in zip(*rows)] for rows in zip(*products)]
    sums = [sum(column) for column in zip(*k)]
    totals = [sum(map(float.__mul__, one, sums)) for one in q]
    return torch.tensor(
        [[sum(map(float.__mul__, one, c)) / total for c in zip(*mixed)] for one, total in zip(q, totals)]
    )


@pytest.mark.parametrize(
    ("name", "answer"), [("tiled_attention", tiled_in_lists), ("linear_attention", linear_in_lists)]
)
def test_an_answer_in_lists_that_makes_no_table_is_right(name, answer):
    frozen = freeze(find_exercise(name), "a draw", mistakes=False)
    result = examine(replace(frozen, cases=measured(frozen).cases[1:]), answer)
    assert result.passed, plain(result.message)


@pytest.mark.parametrize("name", ["tiled_attention", "linear_attention", "windowed_attention"])
def test_right_answers_are_far_from_a_table(name, monkeypatch):
    """They hold at most half of what counts as one, or grow at most half as much: what they hold once may be modules' own."""
    import torch._dynamo  # noqa: F401 - once it is there, checkpointing takes some memory, whatever the inputs are

    exercise, measures, measured_call = find_exercise(name), [], tables._measured

    def noted(call, most):
        measures.append(measured_call(call, 0))  # a peak that is not raised to what is allowed
        for measure, size in zip(measures[-1], (tables.SINGLE, tables.HALF)):
            measure.allowed, measure.exceeded = most * size, False
        return measures[-1]

    monkeypatch.setattr(tables, "_measured", noted)
    monkeypatch.setattr(tables, "SLOW", 60)
    frozen = measured(freeze(exercise, "a draw", mistakes=False))
    shares = {}
    for answer in [*exercise.alternatives, *(one for one in practice.practices(exercise) if not one.of_reference)]:
        measures.clear()
        result = examine(frozen, answer.object)
        assert result.passed, plain(result.message)
        assert len(measures) in (2, 4), "each case is measured twice"
        shares[answer] = max(
            min(more.bytes / more.allowed, more.bytes / max(1, tables.GROWTH * less.bytes))
            for before, after in zip(measures[::2], measures[1::2])
            for less, more in zip(before, after)
        )
    assert max(shares.values()) < 0.5, shares
