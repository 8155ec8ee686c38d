"""Records travel as JSON and come back equal; what is not of their form is refused."""

import base64
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from utils.checking.explaining.shapes import shape_facts
from utils.checking.messages.shapes import looks_like, symbolic
from utils.checking.packs.packing import pack, unpack_observation, unpack_value
from utils.checking.records import Failure, Observation, Output


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


anything = settings(max_examples=60, deadline=None, derandomize=True)
ARRAYS = st.sampled_from(["f4", "f8", "i4", "i8", "u1", "?"]).flatmap(
    lambda kind: arrays_of.arrays(
        np.dtype(kind), arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    )
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key not in ("array", "helper")), inner)
    ),
    max_leaves=8,
)
SHAPES = st.lists(st.integers(0, 9), max_size=5).map(tuple)


@anything
@given(ARRAYS)
def test_every_array_comes_back_bit_by_bit(array):
    back = unpack_value(roundtrip(array))
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


@anything
@given(PLAIN)
def test_whatever_is_sent_in_an_observations_place_is_taken_or_refused_in_a_known_way(sent):
    try:
        taken = unpack_observation(sent)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return
    assert isinstance(taken, Observation)


@anything
@given(SHAPES, SHAPES)
def test_every_shape_is_told_in_words_and_symbols(wanted, got):
    sizes = {f"N_{axis}": size for axis, size in enumerate(wanted)}
    text = symbolic(got, sizes)
    assert text.startswith("[") and text.count(",") == max(0, len(got) - 1)
    for name, size in zip(text.strip("[]").split(", "), got):
        assert sizes.get(name, size) == size and (name in sizes or name == str(size))
    assert looks_like(wanted, got).endswith((".", "?"))
    outputs = [
        Output("tensor", shape=shape, values=np.arange(math.prod(shape)).reshape(shape)) for shape in (wanted, got)
    ]
    found = shape_facts("Y", list(sizes), *outputs, sizes)
    assert all(fact.kind.group == "shape" and fact.sentence.endswith((".", "?")) for fact in found)
