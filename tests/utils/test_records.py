"""Records travel as JSON and come back equal; what is not of their form is refused."""

import base64
import json

import numpy as np
import pytest

from utils.checking.records import Failure, Observation, Output, pack, unpack_observation, unpack_value


def roundtrip(value):
    return json.loads(json.dumps(pack(value)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "uint8"])
def test_arrays_come_back_equal(dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    back = unpack_value(roundtrip(array))
    assert back.dtype == array.dtype and np.array_equal(back, array)


def test_not_finite_numbers_come_back():
    array = np.array([np.nan, np.inf, -np.inf, -0.0])
    assert unpack_value(roundtrip(array)).tobytes() == array.tobytes()


def test_observations_come_back():
    seen = Observation(
        structure="tuple",
        outputs=(Output("tensor", "torch.float32", "cpu", (2,), np.array([1.0, 2.0])), Output("NoneType")),
        failure=Failure("call", "ValueError", "text", "line", "where"),
        changed=("X",),
        called=("softmax",),
        gradients={"q": None, "X": np.ones(3)},
        backward="in-place",
        unstable=True,
        device="cuda",
    )
    assert pack(unpack_observation(roundtrip(seen))) == pack(seen)


@pytest.mark.parametrize(
    "crafted",
    [
        {"array": "object", "shape": [1], "data": base64.b64encode(b"x" * 8).decode()},
        {"array": "float64", "shape": [2], "data": base64.b64encode(b"x" * 8).decode()},
        {"array": "float64", "shape": [-1], "data": ""},
        {"array": "float64", "shape": [10**9, 10**9], "data": ""},
        {"array": "float64", "shape": [1], "data": "not base64!"},
        {"array": "S8", "shape": [1], "data": base64.b64encode(b"x" * 8).decode()},
        {"array": "no such type", "shape": [0], "data": ""},
        {"array": "float64", "shape": "ab", "data": ""},
    ],
)
def test_crafted_arrays_are_refused(crafted):
    with pytest.raises((ValueError, TypeError)):
        unpack_value(crafted)


@pytest.mark.parametrize(
    "crafted", [None, [], 3, {"outputs": 3}, {"outputs": [{}]}, {"gradients": []}, {"failure": [1]}]
)
def test_crafted_observations_are_refused(crafted):
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        unpack_observation(crafted)
