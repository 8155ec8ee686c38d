"""Converts records to plain JSON and back (no pickle anywhere); data from a student's process is bounded in size."""

import base64
import re
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from utils.checking.records import (
    MAX_DIMENSIONS,
    MAX_OUTPUTS,
    MAX_TEXT,
    MAX_VALUES,
    DrawnCase,
    Failure,
    Helper,
    Observation,
    Output,
)

FAILURE = ("stage", "type", "text", "line", "where", "bases")
# The types that an array may have. numpy reads a name as a description of a type, which can take minutes.
_NUMBERS = {np.dtype(code).name: np.dtype(code) for code in f"?{np.typecodes['AllInteger']}{np.typecodes['Float']}"}
_OF_TORCH = (
    "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 complex128"
    " quint8 qint8 qint32 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
).split()
_DTYPES = frozenset({"", *_NUMBERS, *(f"torch.{name}" for name in _OF_TORCH)})
UNKNOWN_DTYPE = "an unknown type"
_PLAIN = frozenset({str, bool, int, float, type(None)})


def pack(value: Any) -> Any:
    """Turns records, arrays and containers into what `json` can write."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        return {
            "array": value.dtype.name,
            "shape": list(value.shape),  # that of `little` is [1] for a single number
            "data": base64.b64encode(little.tobytes()).decode(),
        }
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        values_and_defaults = [(name, getattr(value, name), default) for name, default in _field_defaults(type(value))]
        return {
            name: pack(value_held)
            for name, value_held, default in values_and_defaults
            if isinstance(value_held, np.ndarray) or value_held != default
        }
    if isinstance(value, dict):
        return {str(key): pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(item) for item in value]
    return value


@lru_cache
def _field_defaults(record: type) -> tuple[tuple[str, object], ...]:
    """The fields of a record, and what each holds if nothing is given."""
    return tuple(
        (
            record_field.name,
            record_field.default_factory() if record_field.default_factory is not MISSING else record_field.default,
        )
        for record_field in fields(record)
    )


def unpack_value(value: Any) -> Any:
    """The array, number, string or Helper that `pack` wrote.

    Raises:
        ValueError: an array's declared size and its bytes disagree, its type is not numeric, or it is too large.
    """
    if isinstance(value, dict) and "helper" in value:
        return Helper(value["helper"], _unpack_values(value["arguments"]), value.get("limit", 0))
    if not (isinstance(value, dict) and "array" in value):
        return value
    if len(value["shape"]) > MAX_DIMENSIONS:
        raise ValueError("an array with more dimensions than there can be")
    dtype, shape = _NUMBERS.get(value["array"]), tuple(int(n) for n in value["shape"])
    if dtype is None or any(n < 0 for n in shape):
        raise ValueError("an array with a type or shape that cannot be")
    data = base64.b64decode(value["data"], validate=True)
    count = 1
    for n in shape:
        count *= n
    if count > MAX_VALUES or count * dtype.itemsize != len(data):
        raise ValueError("an array whose size and data disagree")
    return np.frombuffer(data, dtype=dtype.newbyteorder("<")).reshape(shape).astype(dtype)


def unpack_array(data: Any) -> np.ndarray | None:
    return None if data is None else np.asarray(unpack_value(data))


def _unpack_values(mapping: dict) -> dict:
    return {bounded_text(name): unpack_value(item) for name, item in mapping.items()}


def unpack_case(data: dict) -> DrawnCase:
    """A DrawnCase from its JSON form."""
    return DrawnCase(
        **{**data, "inputs": _unpack_values(data["inputs"]), "weights": _unpack_values(data.get("weights", {}))}
    )


def unpack_observation(data: dict) -> Observation:
    """An Observation from its JSON form; raises ValueError, KeyError, TypeError or AttributeError on anything else."""
    failure = data.get("failure")
    return Observation(
        structure=bounded_text(data.get("structure", "")),
        outputs=tuple(_unpack_output(item) for item in data.get("outputs", ())[:MAX_OUTPUTS]),
        failure=failure and _unpack_failure(failure),
        changed=tuple(bounded_text(name) for name in data.get("changed", ())[:MAX_TEXT]),
        called=tuple(bounded_text(name) for name in data.get("called", ())[:MAX_TEXT]),
        gradients=_unpack_values(_bounded_mapping(data, "gradients")),
        asking=tuple(bounded_text(name) for name in data.get("asking", ())[:MAX_TEXT]),
        backward=bounded_text(data.get("backward", "")),
        unstable=bool(data.get("unstable", False)),
        overwritten=bool(data.get("overwritten", False)),
        asked_only=bool(data.get("asked_only", False)),
        made={bounded_text(name): int(count) for name, count in _bounded_mapping(data, "made").items()},
        starts={bounded_text(name): bounded_text(start) for name, start in _bounded_mapping(data, "starts").items()},
        device=bounded_text(data.get("device", "cpu")),
        there=unpack_observation({**data["there"], "there": None}) if data.get("there") else None,
    )


def _bounded_mapping(data: dict, name: str) -> dict:
    """A mapping in an observation, of no more entries than an observation has."""
    mapping = data.get(name, {})
    if len(mapping) > MAX_TEXT:
        raise ValueError(f"more {name} than there can be")
    return mapping


def _unpack_failure(data: dict) -> Failure:
    return Failure(
        **{name: bounded_text(data.get(name, "")) for name in FAILURE},
        own=bool(data.get("own")),
        helper=bool(data.get("helper")),
    )


def bounded_text(value: object) -> str:
    """A possibly malicious text as a harmless one: bounded, without control characters and memory addresses."""
    text = str(value)[:MAX_TEXT]
    if not text.isprintable():
        text = "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text)
    return re.sub(r"\b0x[0-9a-fA-F]{6,}", "0x…", text) if "0x" in text else text


def _unpack_output(data: dict) -> Output:
    shape = data.get("shape", ())
    if len(shape) > MAX_DIMENSIONS:
        raise ValueError("an array with more dimensions than there can be")
    values = unpack_array(data.get("values"))
    if values is not None and values.shape != tuple(shape):
        raise ValueError("numbers of another shape than is declared")
    return Output(
        kind=bounded_text(data["kind"]),
        carries_gradient=bool(data.get("carries_gradient", False)),
        dtype=dtype if (dtype := data.get("dtype", "")) in _DTYPES else UNKNOWN_DTYPE,
        device=bounded_text(data.get("device", "")),
        shape=tuple(int(n) for n in shape),
        values=values,
        sketch=unpack_array(data.get("sketch")),
    )
