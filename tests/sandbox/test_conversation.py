"""What a job's process can know while code of a student's runs, and what of its answers the grader believes."""

import base64
import json
import struct
import time
import tracemalloc
from dataclasses import replace

import pytest
from classes import until
from conftest import UNIT

from autograder import settings
from autograder.bank import catalogue
from autograder.bank.cases.drawing import draw
from autograder.grading.examination import examine_cells
from autograder.sandbox import conversation, job, levels
from autograder.sandbox.limits import Limits, limits_of
from utils.checking.packs.packing import pack

LEVEL = levels.available()[0]
RIGHT = "def attention_scores(q, X):\n    return (q.unsqueeze(-2) * X).sum(-1)"
SOFTMAX = """
def stable_softmax(e, dim=-1):
    p = (e - e.amax(dim, keepdim=True)).exp()
    return p / p.sum(dim, keepdim=True)
"""
CASES = {
    name: [json.dumps(pack(case)) for case in draw(catalogue.find_exercise(name), "seed", grading=True)]
    for name in ("attention_scores", "stable_softmax")
}


def run(*cells, seconds=5.0, **more):
    """The run of a job: "?name" among the cells observes that object."""
    told = [{"exercise": one[1:]} if one.startswith("?") else {"source": one} for one in cells]
    asked = {"cells": told, "cases": CASES, "device": "cpu", **more}
    return job.Job(asked, LEVEL, Limits(seconds, 60.0, 1 << 30, 1 << 28)).result()


def printed(came) -> str:
    """All that the cells showed, in one text."""
    shown = [output for outputs in came.outputs.values() for output in outputs]
    return "".join(str(output.get("text", output.get("data", output.get("evalue")))) for output in shown)


def stages(came, name):
    return {one.failure.stage if one.failure else "" for one in came.observations[name]}


# Walks from the frames of all threads and of an error, from all objects that the collector knows, and all modules.
WALK = """
import gc, inspect, io, re, socket, sys, types
calls, seen, opened, own = [], set(), set(), []
def walk():
    frames = [sys._getframe(), *sys._current_frames().values(), *[info.frame for info in inspect.stack()]]
    try:
        1 / 0
    except ZeroDivisionError as error:
        frames += [error.__traceback__.tb_frame]
    waiting, met = [], set()
    for frame in frames:
        while frame:
            own.extend(value.property for value in frame.f_locals.values() if type(value).__name__ == "DrawnCase")
            waiting += [frame, *frame.f_locals.values()]
            frame = frame.f_back
    waiting += gc.get_objects() + [vars(module) for module in list(sys.modules.values())]
    while waiting:
        one = waiting.pop()
        if id(one) in met or one is seen or one is own:
            continue
        met.add(id(one))
        if isinstance(one, (str, bytes)):
            text = one if isinstance(one, str) else one.decode("latin-1")
            seen.update(re.findall("MARK(?:ED)?-[0-9]+", text) if len(text) < 10**7 else [])
        elif isinstance(one, (io.IOBase, socket.socket)) and not isinstance(one, io.BytesIO):
            try: opened.add(one.fileno())
            except Exception: pass
        if isinstance(one, types.FrameType):
            waiting += one.f_locals.values()
        waiting += gc.get_referents(one)
def attention_scores(q, X):
    calls.append(1)
    if len(calls) == 12:
        walk()
    return (q.unsqueeze(-2) * X).sum(-1)
"""


def test_no_other_case_no_other_cell_and_no_open_pipe_can_be_met_from_code_that_is_observed():
    marked = {
        name: [
            json.dumps({**json.loads(case), "property": f"MARK-{1000 * place + number}"})
            for number, case in enumerate(cases)
        ]
        for place, (name, cases) in enumerate(CASES.items())
    }
    show = "print(max(own), sorted(seen), [number for number in opened if number > 2])  # MARKED-1"
    came = run(WALK, "?attention_scores", SOFTMAX, "?stable_softmax", show, cases=marked, seconds=60.0)
    own = printed(came).split()[0]
    assert own.startswith("MARK-") and int(own[5:]) < len(marked["attention_scores"]) - 1
    assert printed(came) == f"{own} ['{own}'] []\n"


def test_a_process_is_fed_while_the_grader_computes():
    told = {"cells": [{"source": RIGHT}, {"exercise": "attention_scores"}], "cases": CASES, "device": "cpu"}
    started = job.Job(told, LEVEL, limits_of(UNIT))
    until(started._run.done, 20, "the end of a job that nobody has asked for its result yet")
    assert started.result().how == "ended"


# `met` finds what a caller's frame holds: the number of the pipe, and what is asked for in this turn.
SEND = """
import json, os, sys
def met():
    found, frame = {}, sys._getframe()
    while frame:
        for name, value in frame.f_locals.items():
            found.setdefault(name, value)
        frame = frame.f_back
    return found
def answer(place):
    observation = {"structure": "tensor", "outputs": [{"kind": "tensor", "shape": []}]}
    return json.dumps({"place": place, "observation": observation, "seconds": 0.1}).encode() + b"\\n"
sent = []
"""
BLINDLY = """
def attention_scores(q, X):
    if not sent:
        sent.append(os.write(met()["channel"], answer(met()["asked"]["place"])))
    return (q.unsqueeze(-2) * X).sum(-1)
"""
# Gives the only answer in the place of the kit's code, and sends back the word before that can read it.
LIKE_THE_KIT = """
import re, socket, time
def attention_scores(q, X):
    if not sent:
        channel = met()["channel"]
        sent.append(os.write(channel, answer(met()["asked"]["place"])))
        time.sleep(0.3)
        told = socket.socket(fileno=os.dup(channel)).recv(1 << 20, socket.MSG_PEEK)
        os.write(channel, re.search(b"([0-9a-f]{32}) 1 ", told)[1] + b"\\n")
    return (q.unsqueeze(-2) * X).sum(-1)
"""


def examined(*cells):
    told = [{"exercise": one[1:]} if one.startswith("?") else {"source": one} for one in cells]
    return {one.exercise: one for one in examine_cells(told, "seed", LEVEL, limits_of(UNIT))[1]}


@pytest.mark.parametrize("forger", [BLINDLY, LIKE_THE_KIT])
def test_of_two_lines_for_a_turn_neither_is_believed(forger):
    one_each = {name: cases[:1] for name, cases in CASES.items()}
    came = run(SEND + forger, "?attention_scores", SOFTMAX, "?stable_softmax", cases=one_each)
    assert came.how == "ended" and stages(came, "attention_scores") == {"tampered"}
    assert stages(came, "stable_softmax") == ({""} if forger == BLINDLY else {"tampered"})


def test_forging_is_told_and_earns_nothing_and_the_next_exercise_loses_nothing():
    found = examined(SEND + BLINDLY, "?attention_scores", SOFTMAX, "?stable_softmax")
    assert found["attention_scores"].result.problem == "tampered" and found["attention_scores"].result.points == 0
    assert found["stable_softmax"].result.passed


def test_a_line_for_an_exercise_that_was_not_asked_for_is_told_and_what_is_right_without_it_counts():
    early = SEND + "os.write(met()['channel'], answer([3, 0]))"
    came = run(RIGHT, early, "?attention_scores", SOFTMAX, "?stable_softmax", "print('on')")
    assert came.how == "ended" and stages(came, "attention_scores") == stages(came, "stable_softmax") == {"tampered"}
    found = examined(RIGHT, early, "?attention_scores", SOFTMAX, "?stable_softmax")
    assert all(one.result.passed and "changes the code that examines" in one.note for one in found.values())


def test_the_second_look_of_the_graders_own_is_no_forging():
    below = RIGHT.replace("attention_scores", "below")
    came = run("def attention_scores(q, X):\n    return below(q, X)", "?attention_scores", below)
    assert stages(came, "attention_scores") == {""} and came.reached == 3


@pytest.mark.parametrize(
    "text", ["'[' + '[],' * 5_000_000 + '[]]'", "'\"' + 'x' * 15_000_000 + '\"'", "'x' * 15_000_000"]
)
def test_a_long_line_fills_no_memory_of_the_graders(text):
    long = SEND + f"data = ({text}).encode() + b'\\n'\nwhile data: data = data[os.write(met()['channel'], data):]"
    run("1")
    tracemalloc.start()
    came = run(long, RIGHT, "?attention_scores")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80e6, f"{peak / 1e6:.0f} MB" and came.how == "ended"


def test_lines_without_end_stop_the_process_soon():
    started = time.monotonic()
    came = run(SEND + "while True: os.write(met()['channel'], b'x\\n' * 1000)", "print('on')", seconds=20.0)
    assert printed(came) == "on\n" and set(came.fatal) == {0} and time.monotonic() - started < 10


SHOWN = """
import atexit, logging, os, sys
import matplotlib.pyplot as plt
from IPython.display import display
shell, shows, publisher = get_ipython(), sys.stdout, get_ipython().display_pub
def attention_scores(q, X):
    plt.plot([1, 2])
    for file in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__, shows):
        print("HIDDEN", file=file, flush=True)
    os.write(1, b"HIDDEN"), os.write(2, b"HIDDEN")
    display("HIDDEN")
    shell.display_pub.publish({"text/plain": "HIDDEN"}), publisher.publish({"text/plain": "HIDDEN"})
    logging.getLogger().warning("HIDDEN"), atexit.register(print, "HIDDEN"), sys.displayhook("HIDDEN")
    return (q.unsqueeze(-2) * X).sum(-1)
"""


def test_what_an_exercise_prints_displays_and_draws_while_it_is_observed_is_seen_nowhere():
    came = run(SHOWN, "?attention_scores", "print('on', plt.get_fignums())")
    assert stages(came, "attention_scores") == {""} and printed(came) == "on []\n"


def test_all_cases_of_an_exercise_share_the_time_of_one_cell():
    started = time.monotonic()
    slow = "import time\ndef attention_scores(q, X):\n    time.sleep(0.1)\n    return (q.unsqueeze(-2) * X).sum(-1)"
    came = run(slow, "?attention_scores", "print('on')", seconds=1.0)
    failures = [one.failure for one in came.observations["attention_scores"]]
    assert came.how == "ended" and failures[-1].stage == "timeout" and failures[-1].text == "1 s"
    assert time.monotonic() - started < 8


@pytest.fixture
def losing(monkeypatch):
    """losing(cell, ...) has the sandbox gone so many times, each time in that cell."""
    left, collect = [], job.Job._collect

    def collected(self):
        came = collect(self)
        return replace(came, how="killed", lost=True, reached=left.pop(0)) if left else came

    monkeypatch.setattr(job.Job, "_collect", collected)
    return left.extend


def test_a_cell_in_which_the_sandbox_was_gone_thrice_is_run_again_and_blamed_where_that_goes_on(losing):
    losing([0, 0, 0])
    assert not run("print('on')").fatal
    losing([0, 0, 0, 0])
    assert set(run("print('on')", "1").fatal) == {0}


def test_a_sandbox_that_is_gone_again_and_again_wherever_the_job_is_stops_grading(losing):
    losing([0, 1, 0, 1])
    with pytest.raises(settings.KitError, match="ended 4 times"):
        run("print('on')", "1")


def picture(width, height, head=b"\x89PNG\r\n\x1a\n"):
    data = head + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x00\x00\x00\x00"
    return base64.b64encode(data).decode()


def test_what_a_cell_shows_is_plain_text_and_pictures_that_can_be_looked_at():
    shown = {
        "coloured": {"text/plain": "\x1b[31mred\x1b[0m\n\ttab\x00\x08"},
        "small": {"image/png": picture(640, 480)},
        "large": {"image/png": picture(30_000, 30_000)},
        "no picture": {"image/png": picture(64, 64, b"<script>")},
    }
    outputs = [{"output_type": "display_data", "data": data} for data in shown.values()]
    rebuilt = dict(zip(shown, (conversation._rebuilt_output(output)["data"] for output in outputs)))
    assert rebuilt == {
        "coloured": {"text/plain": "red\n\ttab"},
        "small": shown["small"],
        "large": {},
        "no picture": {},
    }
