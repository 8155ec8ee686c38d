"""Two self-check files agree where machines alone make the difference, and differ where the bank does."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from autograder.bank import freezing
from autograder.bank.agreement import differences
from utils.checking.packs.packed_exercise import spread_arrays
from utils.checking.packs.packing import pack, unpack_value

UNIT, EXERCISE = "07_masking", "MaskedMultiHeadAttention"
OTHER_PROCESSOR = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}


def shipped(change=lambda exercise: None) -> str:
    """A shipped file with one exercise alone, after a change to its JSON form."""
    unit = json.loads((freezing.PACKS / f"{UNIT}.json").read_text(encoding="utf-8"))
    exercise = spread_arrays(unit["exercises"][unit["names"].index(EXERCISE)])
    change(exercise)
    return json.dumps({"unit": UNIT, "names": [EXERCISE], "exercises": [exercise]})


def times(array: dict, factor: float) -> dict:
    return pack(unpack_value(array) * np.float32(factor))


def in_each_case(change):
    """A change to the JSON form of each case that has a table of misconceptions and gradients."""

    def made(exercise):
        cases = [case for case in exercise["cases"] if "table" in case and case["expected"].get("gradients")]
        assert cases
        for case in cases:
            change(case)

    return made


def results(factor: float):
    def change(case):
        case["sketches"] = times(case["sketches"], factor)
        seen = case["expected"]
        seen["outputs"] = [{**one, "values": times(one["values"], factor)} for one in seen["outputs"]]
        seen["gradients"] = {name: one and times(one, factor) for name, one in seen["gradients"].items()}

    return in_each_case(change)


def gradients(factor: float):
    def change(case):
        seen = case["expected"]
        seen["gradients"] = {name: one and times(one, factor) for name, one in seen["gradients"].items()}

    return in_each_case(change)


def room(factor: float):
    return in_each_case(lambda case: case["case"].update(tolerance=factor * case["case"].get("tolerance", 1e-5)))


def a_misconception_told_no_more(exercise):
    case = next(case for case in exercise["cases"] if case.get("table"))
    case["table"], case["sketches"] = case["table"][1:], pack(unpack_value(case["sketches"])[1:])


def another_sentence(exercise):
    name = next(iter(exercise["misconceptions"]))
    exercise["misconceptions"][name] += " Look."


def a_case_less(exercise):
    exercise["cases"].pop()


def other_inputs(exercise):
    inputs = exercise["cases"][0]["case"]["inputs"]
    name = next(
        name for name, one in inputs.items() if isinstance(one, dict) and one.get("array", "").startswith("float")
    )
    inputs[name] = times(inputs[name], 1.01)


@pytest.mark.parametrize("change", [results(1 + 1e-6), gradients(1 + 1e-5), room(1.5)])
def test_what_machines_make_of_last_digits_is_no_difference(change):
    assert not differences(shipped(), shipped(change)) and not differences(shipped(change), shipped())


@pytest.mark.parametrize(
    "change",
    [
        results(1.01),
        gradients(1.01),
        room(3),
        a_misconception_told_no_more,
        another_sentence,
        a_case_less,
        other_inputs,
    ],
)
def test_what_the_bank_says_otherwise_is(change):
    assert differences(shipped(), shipped(change)) and differences(shipped(change), shipped())


def test_another_processor_makes_the_same_files():
    """Its vectors are shorter, and its sums run in another order."""
    code = f"import sys; from autograder.bank import freezing; sys.stdout.write(freezing.pack_unit({UNIT!r}))"
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **OTHER_PROCESSOR}, check=True
    ).stdout
    there = (freezing.PACKS / f"{UNIT}.json").read_text(encoding="utf-8")
    assert not differences(there, made)
