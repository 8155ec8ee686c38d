"""Runs a notebook's cells and observes named objects, beside the student's code: it knows no expected values.

It is told what to do step by step (see `autograder.sandbox.conversation`), and writes a line of JSON for each turn of
a step. While student code runs, nothing of what is still to come can be met, and the word by which answers count is not
there yet.
"""

import base64
import gc
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from json import dumps, loads
from pathlib import Path

from utils.checking.observing.observe import observe
from utils.checking.observing.refusals import told
from utils.checking.packs.packing import pack, unpack_case
from utils.checking.records import DrawnCase, Failure, Observation

from . import confine
from .shell import Shell, TimeLimit, run_cell, unseen
from .tampering import Original


def work(channel: int, shell: Shell) -> None:
    """The life of one job's process, which talks to the grader over a descriptor; never returns."""
    status = 1
    try:
        signal.signal(signal.SIGALRM, _out_of_time)
        desk = _Desk(shell)
        # No name leads to the iterator, which is suspended while student code runs, nor to what it holds.
        for turn in _turns(channel):
            turn.append(dumps(desk.answer(loads(turn.pop()))).encode())
        status = 0
    finally:
        os._exit(status)


def _turns(channel: int) -> Iterator[list[bytes]]:
    """Yields what is to be done, alone in a list, and takes the answer from the end of that."""
    original, read, pipe = Original(), open(channel, "rb").read, open(channel, "wb", 1 << 16, closefd=False)
    gc.freeze()  # hides this generator and what it holds from gc.get_objects()
    pipe.write(dumps({"place": [0, 0]}).encode() + b"\n")
    turns = b"1"
    while turns != b"0":
        pipe.flush()
        word, observed, turns = read(int(read(8))).split()
        changed = observed == b"1" and not original.is_unchanged()
        pipe.write(word + (b" tampered\n" if changed else b"\n"))
        pipe.flush()
        for _ in range(int(turns)):
            turn = [read(int(read(8)))]
            yield turn
            pipe.write(turn.pop() + b"\n")


def _out_of_time(*_):
    raise TimeLimit("time limit")


class _Desk:
    """Where turns are taken: it knows how much time an exercise has left, and keeps what it shows from being seen."""

    def __init__(self, shell: Shell):
        self.shell, self.seconds_left, self.hidden = shell, 0.0, ExitStack()

    def answer(self, asked: dict) -> dict:
        """Does what is asked: "files" to write, "source" to run, or a "case" of an "exercise" to observe."""
        done: dict = {}
        for name, data in asked.get("files", {}).items():
            Path(name).write_bytes(base64.b64decode(data))
        if "source" in asked:
            with confine.reserve():
                done = run_cell(self.shell, asked["source"], asked["seconds"], asked["pictures"])
        elif "case" in asked:
            done = self._observe(asked)
        return {"place": asked["place"], **done}

    def _observe(self, asked: dict) -> dict:
        """Observes an object on one case; all cases of an exercise share the time that a cell may take."""
        if asked["place"][1] == 0:
            self.seconds_left = asked["seconds"]
            self.hidden.enter_context(unseen())
        started = time.monotonic()
        try:
            if self.seconds_left <= 0:
                raise TimeLimit
            signal.setitimer(signal.ITIMER_REAL, self.seconds_left)
            case = unpack_case(asked["case"])
            about = asked["exercise"], case, asked["device"], asked["watched"]
            observation = _observe_case(self.shell.user_ns, *about)
        except TimeLimit:
            self.seconds_left = 0.0
            observation = Observation(failure=Failure("timeout", "TimeLimit", f"{asked['seconds']:g} s"))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        seconds = time.monotonic() - started
        self.seconds_left -= seconds
        if asked["last"]:
            self.hidden.close()
        return {"observation": pack(observation), "seconds": round(seconds, 6)}


def _observe_case(namespace: dict, name: str, case: DrawnCase, device: str, watched: bool) -> Observation:
    """Observes one case; an error that no part of `observe` has foreseen costs this case, not the whole submission."""
    if name not in namespace:
        return Observation(failure=Failure("missing", "missing"))
    try:
        return _with_cause(observe(namespace[name], case, device, watched=watched))
    except TimeLimit:
        raise
    except KeyboardInterrupt:
        return Observation(failure=Failure("call", "KeyboardInterrupt"))
    except BaseException as error:
        return Observation(failure=Failure("call", type(error).__name__))


def _with_cause(observation: Observation) -> Observation:
    """An observation in which a failure that the confinement brought about is reported as such."""
    refused = observation.failure.refused if observation.failure else told(observation.backward)
    failure = observation.failure or Failure("call", *observation.backward.partition(": ")[::2])
    return replace(observation, failure=replace(failure, stage=refused)) if refused else observation
