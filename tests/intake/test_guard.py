"""Reading what was handed in ends, whatever it is: by its own clock, or by that of what it is a part of."""

import signal
import threading
import time

import pytest

from autograder.intake.guard import OutOfTime, guarded, within


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
    return "done"


@guarded(lambda error, *_: type(error).__name__, 0.3)
def read(seconds):
    return work(seconds)


def test_what_takes_too_long_is_cut_off_and_what_does_not_is_not():
    assert read(0.01) == "done"
    before = time.thread_time()
    assert read(30) == "OutOfTime" and time.thread_time() - before < 3
    assert read(0.01) == "done"


def test_the_handler_and_the_timer_are_as_they_were():
    def own(*_):
        pass

    before = signal.signal(signal.SIGVTALRM, own)
    try:
        assert read(30) == "OutOfTime" and read(0.01) == "done"
        assert signal.getsignal(signal.SIGVTALRM) is own
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)


def test_a_timer_of_somebody_elses_goes_on():
    rung = []
    before = signal.signal(signal.SIGVTALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.1)
        assert read(0.5) == "done" and rung == [1]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_a_part_that_is_cut_off_leaves_the_rest_its_time():
    @guarded(lambda *_: "cut off", 20)
    def whole():
        return read(30), work(0.5), read(0.01)

    assert whole() == ("OutOfTime", "done", "done")


def test_a_part_has_no_more_time_than_the_whole_and_says_nothing_when_that_is_over():
    said = []

    @guarded(lambda *_: said.append("part"), 30)
    def part():
        return work(30)

    @guarded(lambda *_: said.append("unclocked"))
    def unclocked():
        return part()

    @guarded(lambda *_: "whole", 0.3)
    def whole():
        return unclocked()

    assert whole() == "whole" and not said and read(0.01) == "done"


def test_an_except_on_the_way_does_not_keep_it():
    @within(0.3)
    def stubborn():
        while True:
            try:
                work(30)
            except Exception:
                pass

    with pytest.raises(OutOfTime):
        stubborn()


def test_another_thread_reads_without_a_clock():
    found = []
    thread = threading.Thread(target=lambda: found.append(read(0.6)))
    thread.start()
    thread.join()
    assert found == ["done"]
