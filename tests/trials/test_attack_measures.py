"""The measures of attacks: what stands outside notes what is done to it, and what remains is told apart from faults."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time

import nbformat
import pytest

from autograder.trials.attacks import run
from autograder.trials.attacks.handing_in_again import faults_of
from autograder.trials.attacks.harms import HEAD, NETWORK, harms
from autograder.trials.attacks.kinds import UNIT, Attack, Remains
from autograder.trials.attacks.leaking import INPUTS
from autograder.trials.attacks.outside import Outside, slowest_page
from autograder.trials.attacks.run import ATTACKS, Tried, TriedClass


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "scratch").mkdir()
    with Outside(tmp_path / "scratch") as entered:
        yield entered


def until(holds):
    for _ in range(200):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_callers_are_noted_by_what_they_send(outside):
    marks = outside.marks
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        file = marks["@STREAM@" if kind == socket.SOCK_STREAM else "@SOCKET@"]
        addresses = {"port": ("127.0.0.1", int(marks["@PORT@"])), "path": file, "name": "\0" + marks["@ABSTRACT@"]}
        for name, address in addresses.items():
            family = socket.AF_INET if name == "port" else socket.AF_UNIX
            with socket.socket(family, kind) as caller:
                caller.connect(address)
                caller.send(f"{name}-{kind.name}".encode())
    expected = {f"{name}-{kind}" for name in ("port", "path", "name") for kind in ("SOCK_STREAM", "SOCK_DGRAM")}
    assert until(lambda: outside.callers == expected), outside.callers


def test_memory_outside_the_sandbox_is_noted_and_that_inside_is_not(outside):
    code = "import sys, time; kept = bytearray(int(sys.argv[1]) << 20); time.sleep(5)"
    takes = [sys.executable, "-c", code]
    with subprocess.Popen([*takes, "300", "inside.warm"]) as inside, subprocess.Popen([*takes, "150"]) as other:
        assert until(lambda: outside.peak > 150 << 20)
        assert outside.peak < 250 << 20
        inside.kill()
        other.kill()


def test_files_are_counted_that_are_deleted_and_open(outside):
    folder = outside.scratch / "submissions-x" / "job-1"
    folder.mkdir(parents=True)
    (folder / "fill-kept-0").write_bytes(bytes(3 << 20))
    code = (
        f"import os, time; file = open('{folder}/fill-gone-0', 'wb', buffering=0); os.unlink(file.name);"
        " file.write(bytes(2 << 20)); time.sleep(9)"
    )
    with subprocess.Popen([sys.executable, "-c", code, "inside.warm"]) as job:
        assert until(lambda: outside.written.get("gone", 0) >= 2 << 20)
        assert outside.written["kept"] >= 3 << 20
        job.kill()


def test_it_is_noted_when_the_process_that_waits_is_ended(tmp_path):
    with Outside(tmp_path) as untouched:
        pass
    (tmp_path / "other").mkdir()
    with Outside(tmp_path / "other") as touched:
        os.kill(int(touched.marks["@PROCESS@"]), signal.SIGIO)
        time.sleep(0.2)
    assert touched.ended and not untouched.ended


def test_the_page_that_others_waited_for_longest_is_found(tmp_path):
    for name, moment in (("a", 1001), ("b", 1002), ("c", 1009)):
        (tmp_path / name / UNIT).mkdir(parents=True)
        (tmp_path / name / UNIT / "page").touch()
        os.utime(tmp_path / name / UNIT / "page", (moment, moment))
    assert slowest_page([*tmp_path.glob("*/*/page")]) == (7, "c")
    assert slowest_page([]) == (0, "")


def test_hidden_inputs_are_found_in_text_and_pictures_and_heads_that_differ_in_pages(outside, tmp_path):
    folder = tmp_path / "class"
    outputs = {
        "clean": nbformat.v4.new_output("stream", text="LEAK, said nobody"),
        "text": nbformat.v4.new_output("stream", text="LEAK0123456"),
        "picture": nbformat.v4.new_output(
            "display_data", {"image/png": base64.b64encode(b"\x89PNG LEAK0123456").decode()}
        ),
    }
    heads = {"a-neighbour": "<title>a</title>", "clean": "<title>b</title>", "text": "<title>c</title><base>"}
    for name, output in outputs.items():
        place = folder / "autograded" / name / UNIT
        place.mkdir(parents=True)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
        (place / f"{UNIT}.ipynb").write_text(json.dumps(notebook))
    for name, head in heads.items():
        place = folder / "feedback" / name / UNIT
        place.mkdir(parents=True)
        (place / f"{UNIT}.html").write_text(f"<html><head>{head}</head></html>")
    left = outside.scratch / "submissions-x" / ".lifted-1" / "attack-left-this-clean-7"
    left.mkdir(parents=True)
    outside.callers.add("clean")
    tried = [Attack(name, "") for name in [*outputs, "message"]]
    found = {*harms(tried, folder, {}, outside, set(), {"message": "LEAK0123456"})}
    assert found == {
        ("clean", NETWORK),
        ("clean", "left its scratch folder"),
        *((name, INPUTS) for name in ("text", "picture", "message")),
        ("text", HEAD),
    }


def test_what_is_known_to_remain_is_no_fault_and_more_than_it_is(monkeypatch):
    known = Remains("It would take much.", 3, ("saw a secret",), ("landlock",))
    attack, plain = Attack("known", "try", remains=known), Attack("plain", "try")
    monkeypatch.setattr(run, "ATTACKS", (attack, plain))
    assert Tried(3, (), ()).held(attack, "landlock") and Tried(2.5, (), ("saw a secret",)).held(attack, "landlock")
    assert not Tried(3.5, (), ()).held(attack, "landlock") and not Tried(3, (), ("saw more",)).held(attack, "landlock")
    assert Tried(0, (), ()).held(attack, "rlimits") and not Tried(3, (), ()).held(attack, "rlimits")
    assert not Tried(0, (), ()).held(Attack("solved", "try", solved=True), "rlimits"), "nobody loses by being contained"
    landlock = {"known": Tried(3, (), ()), "plain": Tried(1, (), ("left",))}
    levels = {
        "landlock": TriedClass(landlock, (1.0, 1.0), 1 << 20, (1.0, "x")),
        "rlimits": TriedClass({"known": Tried(0, (), ())}, (1.0, 1.0), 5 << 30, (99.0, "slow")),
    }
    faults = run.faults(levels)
    assert len(faults) == 3 and "plain at landlock" in faults[0] and "5120 MB" in faults[1] and "slow" in faults[2]
    page = run._page_of(levels, {}, [])
    assert "| known | try | 0 | 3, remains | 0 |" in page
    assert "| plain | try | 0 | **✗** 1; left | **not stopped** |" in page
    assert "- known: up to 3 points where 0 are deserved; saw a secret. It would take much." in page
    stopped = run.faults({"rlimits": levels["rlimits"]})
    assert "known is stopped now" in stopped[-1], "what no longer remains is to be said no longer"


def test_hidden_inputs_may_come_again_only_with_the_same_bytes():
    first, others = {*map(str, range(20))}, {*map(str, range(19, 39))}
    assert faults_of(first, first, others) == []
    assert "same bytes" in faults_of(first, others, others)[0]
    assert "20 of 20" in faults_of(first, first, first)[0]


def test_attacks_of_other_units_say_what_they_deserve():
    assert all(attack.deserves is not None and callable(attack.code) for attack in ATTACKS if attack.unit != UNIT)
