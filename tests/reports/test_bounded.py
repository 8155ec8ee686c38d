"""Work on what students wrote ends in bounded time and memory, whatever it does, and holds up no other."""

import os
import signal
import time
from functools import partial

import pytest

from autograder.reports.bounded import Bounds, each_bounded, is_bounded
from autograder.settings import KitError

BOUNDS = Bounds(seconds=1, memory=100 << 20, wait=5.0)


def _work(task):
    if task == "computes":
        while True:
            pass
    if task == "waits":
        time.sleep(1000)
    if task == "fills memory":
        return len(bytearray(200 << 20))
    if task == "fails":
        raise ValueError("no")
    if task == "leaves":
        raise SystemExit
    if task == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "concerns the class":
        raise KitError("mend this")
    return f"{task} done in {is_bounded()}"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("bad", ["computes", "waits", "fills memory", "fails", "leaves", "dies"])
def test_the_others_are_done_and_the_bad_one_is_told(bad, workers):
    started = time.monotonic()
    tasks = ["one", bad, "two", "three"]
    results = dict(each_bounded(_work, tasks, workers, BOUNDS))
    assert results == {bad: None, **{task: f"{task} done in True" for task in ("one", "two", "three")}}
    assert time.monotonic() - started < 30 and not is_bounded()


def test_a_short_task_does_not_wait_for_a_long_one():
    order = [task for task, _ in each_bounded(_work, ["computes", "one", "two"], 2, BOUNDS)]
    assert order == ["one", "two", "computes"]


def test_time_is_counted_for_each_task_anew():
    tasks = [0.6] * 4
    assert [done for _, done in each_bounded(_compute, tasks, 1, BOUNDS)] == [True] * 4


def _compute(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return True


def test_what_concerns_the_class_is_raised():
    with pytest.raises(KitError, match="mend this"):
        list(each_bounded(_work, ["one", "concerns the class", "two"], 2, BOUNDS))


def test_a_partial_function_is_work_too():
    assert list(each_bounded(partial(max, 3), [1, 5], 1)) == [(1, 3), (5, 5)]
