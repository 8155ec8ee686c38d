"""Which torch functions ran, and how large what they made is."""

import threading

import torch

from utils.checking.observing.call_recorder import WatchedCalls

X = torch.ones(6, 50)


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
