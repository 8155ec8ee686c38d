"""Whether two self-check files say the same although two machines computed them, and where they do not."""

import json

import numpy as np

from autograder.bank.rounding import RESULTS
from autograder.bank.separation import SEPARATION
from utils.checking.judging.comparing import excess
from utils.checking.judging.tolerance import GRADIENTS, sketch, tolerance
from utils.checking.packs.packed_exercise import spread_arrays, unpack_exercise
from utils.checking.packs.packing import unpack_value
from utils.checking.records import DrawnCase, FrozenCase, Observation, Output

ALIKE = 1e-3  # numbers this close, relative to 1 and the largest beside them, are taken for the same
COUNTED = 1e-6  # sums of whole numbers, which a file holds in single precision
_MEASURED = 2.5  # what rounding was measured to move differs between machines by less: by 2.4 for singular vectors
_ROOM = ("tolerance", "gradient_tolerances")
_SEEN = ("expected", "mistakes", "same", "table", "sketches")  # what a case's JSON form says of results


def differences(one: str, other: str) -> list[str]:
    """Where two self-check files differ by more than machines do, which add in other orders; empty if they agree.

    A misconception that comes so near to what is right that the last digits decide may be told in one of them alone.
    """
    units = [json.loads(text) for text in (one, other)]
    first, second = ({**unit, "exercises": [_exact(each) for each in unit["exercises"]]} for unit in units)
    found = _unlike(first, second, "")
    if not found:
        for a, b in zip(*(map(unpack_exercise, unit["exercises"]) for unit in units)):
            for number, cases in enumerate(zip(a.cases, b.cases)):
                found += [f"{a.name}, case {number}, {name}" for name in _told_otherwise(*cases)]
    return found


def alike(case: DrawnCase, one: Observation, other: Observation, near: float = ALIKE) -> bool:
    """Whether two observations of a case differ by little numbers at most: `near`, relative to 1 and the largest of a sketch.

    Unlike the judge's relation, it does not hang on last digits where observations either are the same or lie well apart.
    """
    told = [
        (seen.failure, seen.structure, set(seen.changed), excess(case, seen), _kinds(seen)) for seen in (one, other)
    ]
    if told[0] != told[1]:
        return False
    return all(_alike(a, b, near) for a, b in zip(one.outputs, other.outputs))


def _alike(one: Output, other: Output, near: float) -> bool:
    a, b = _short(one), _short(other)
    if a is None or b is None:
        return a is b
    return _close(a, b, near if "float" in one.dtype else COUNTED)


def _exact(exercise: dict) -> dict:
    """The JSON form of an exercise without what is decided by a measurement."""
    spread = spread_arrays(exercise)
    return {
        **spread,
        "cases": [_without(case, _SEEN) | {"case": _without(case["case"], _ROOM)} for case in spread["cases"]],
    }


def _without(data: dict, names: tuple) -> dict:
    return {name: value for name, value in data.items() if name not in names}


def _unlike(a: object, b: object, where: str) -> list[str]:
    """The places at which two JSON values differ."""
    if isinstance(a, dict) and "array" in a and isinstance(b, dict) and "array" in b:
        x, y = unpack_value(a), unpack_value(b)
        return [] if x.dtype == y.dtype and x.shape == y.shape and _close(x, y, ALIKE) else [where]
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [place for key in a for place in _unlike(a[key], b[key], f"{where}.{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [place for number, pair in enumerate(zip(a, b)) for place in _unlike(*pair, f"{where}.{number}")]
    return [] if a == b else [where]


def _close(x: np.ndarray, y: np.ndarray, near: float) -> bool:
    if y.dtype.kind != "f":
        return np.array_equal(x, y)
    return np.allclose(x, y, rtol=0, atol=near * (1 + np.abs(y[np.isfinite(y)]).max(initial=0)), equal_nan=True)


def _told_otherwise(one: FrozenCase, other: FrozenCase) -> list[str]:
    """What two forms of a case say otherwise: of the room that results have, of results, and of misconceptions."""
    rooms = {name: (_room(one, name), _room(other, name)) for name in _gradients(one) | _gradients(other)}
    rooms[RESULTS] = _room(one), _room(other)
    found = [f"room of {name}" for name, pair in rooms.items() if max(pair) > _MEASURED * min(pair)]
    if not alike(one.case, one.expected, other.expected, _MEASURED * _room(one)):
        found.append("result")
    for name in _gradients(one) | _gradients(other):
        x, y = (case.expected.gradients.get(name) for case in (one, other))
        if x is not y and (x is None or y is None or not _close(x, y, _MEASURED * _room(one, name))):
            found.append(f"gradient of {name}")
    near = max(ALIKE, _MEASURED * SEPARATION * _room(one))
    for name in one.mistakes | other.mistakes:
        first, second = (case.mistakes.get(name) or case.expected for case in (one, other))
        if not alike(one.case, first, second, near):
            found.append(f"misconception {name}")
    return found


def _room(one: FrozenCase, gradient: str = RESULTS) -> float:
    usual = tolerance(one.case, one.expected)
    return usual if gradient == RESULTS else one.case.gradient_tolerances.get(gradient, GRADIENTS * usual)


def _gradients(one: FrozenCase) -> dict:
    return one.expected.gradients | one.case.gradient_tolerances


def _kinds(seen: Observation) -> list[tuple]:
    return [(output.kind, output.dtype, output.shape) for output in seen.outputs]


def _short(output: Output) -> np.ndarray | None:
    return output.sketch if output.values is None else sketch(output.values)
