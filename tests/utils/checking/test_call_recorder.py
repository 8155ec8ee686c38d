"""Which torch functions ran, and how large what they made is."""

import threading
from dataclasses import replace

import pytest
import torch
from conftest import plain

from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking.concluding import examine
from utils.checking.observing.call_recorder import WatchedCalls

X = torch.ones(6, 50)
CALLS = 5  # on other numbers, on the case, again, on fewer positions, and once more


def counted(made) -> dict:
    with WatchedCalls(sizes=True) as notes:
        made()
    return notes.counts


def called(made) -> set:
    with WatchedCalls() as notes:
        made()
    return notes.names


def test_what_is_made_counts_and_views_do_not():
    assert counted(lambda: X.mT[:40]) == {"largest": 0, "made": 0, "kept": 0}
    assert counted(lambda: X[:, None].expand(6, 9, 50)) == {"largest": 0, "made": 0, "kept": 0}
    assert counted(lambda: [X.sum(dim=0) for _ in range(3)]) == {"largest": 50, "made": 150, "kept": 150}
    assert counted(lambda: [X.sum(dim=0).sum() for _ in range(3)])["kept"] < 110


def test_a_copy_in_the_shape_of_a_view_counts():
    assert counted(lambda: X.mT.reshape(-1))["largest"] == 300
    assert counted(lambda: X[:, None].expand(6, 9, 50).reshape(-1))["largest"] == 2700


def test_names_are_those_that_python_and_the_dispatcher_know():
    assert {"softmax", "_softmax"} <= called(lambda: X.softmax(dim=-1))
    assert "requires_grad =" in called(lambda: setattr(X.clone(), "requires_grad", True))


def test_a_thread_is_watched_too():
    def elsewhere():
        thread = threading.Thread(target=lambda: torch.bmm(X[None], X.mT[None]))
        thread.start()
        thread.join()

    assert "bmm" in called(elsewhere)


def softmax_in_call(number: int):
    """A right softmax that in one call takes torch's own; its calls are counted."""
    calls = []

    def stable_softmax(e, dim=-1):
        calls.append(1)
        if len(calls) == number:
            torch.softmax(e, dim)
        p = (e - e.amax(dim, keepdim=True)).exp()
        return p / p.sum(dim, keepdim=True)

    return stable_softmax, calls


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_no_call_of_those_by_which_a_case_is_examined_goes_unwatched(number):
    frozen = freeze(find_exercise("stable_softmax"), "a draw", mistakes=False)
    first = replace(frozen, cases=frozen.cases[:1])
    answer, calls = softmax_in_call(number)
    assert examine(first, answer).problem == "forbidden_call" and len(calls) == CALLS
    assert examine(first, softmax_in_call(0)[0]).passed


def by_a_kernel(Q, K, V, block):
    ready, D_Q = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, Q.shape[-1]
    padded = [torch.nn.functional.pad(v, (0, D_Q - v.shape[-1])) for v in V.split(D_Q, dim=-1)]
    pieces = [ready(Q[:, None], K[:, None], v[:, None])[0][:, 0] for v in padded]
    return torch.cat(pieces, dim=-1)[..., : V.shape[-1]]


def test_a_kernel_that_does_all_of_it_is_as_forbidden_as_the_function_that_calls_it():
    result = examine(freeze(find_exercise("tiled_attention"), "a draw", grading=True, mistakes=False), by_a_kernel)
    assert result.problem == "forbidden_call", plain(result.message)
    assert "_scaled_dot_product_flash_attention" in result.message or "scaled_dot_product" in result.message


def checkpointed(Q, X):
    from torch.utils.checkpoint import checkpoint

    def attend(Q, X):
        A = (Q @ X.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
        return A @ X, A

    return checkpoint(attend, Q, X, use_reentrant=True)


def test_gradients_of_a_checkpoint_that_knows_backward_alone_are_observed():
    frozen = freeze(find_exercise("scaled_dot_product_attention"), "a draw", grading=True, mistakes=False)
    assert list(find_exercise("scaled_dot_product_attention").signature.parameters)[:1] == ["Q"]
    result = examine(frozen, checkpointed)
    assert result.passed, plain(result.message)
