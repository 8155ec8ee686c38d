"""Compares two self-check files that two machines computed, and lists where they differ by more than rounding."""

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
COUNTED = 1e-6  # relative closeness of sketches of whole numbers, which a file holds in single precision
# measured effects of rounding differ between machines by less than this factor: by 2.4 for singular vectors
_MEASURED = 2.5
_ROOM = ("tolerance", "gradient_tolerances")
_RESULT_FIELDS = ("expected", "mistakes", "same", "table", "sketches")  # what a case's JSON form says of results


def differences(one: str, other: str) -> list[str]:
    """Where two self-check files differ by more than machines do, which add in other orders; empty if they agree.

    A misconception so near to the right result that the last digits decide may be recognised in one of the files alone.
    """
    units = [json.loads(text) for text in (one, other)]
    first, second = (
        {**unit, "exercises": [_exact_parts(exercise) for exercise in unit["exercises"]]} for unit in units
    )
    places = _differing_places(first, second, "")
    if not places:
        for a, b in zip(*(map(unpack_exercise, unit["exercises"]) for unit in units)):
            for number, cases in enumerate(zip(a.cases, b.cases)):
                places += [f"{a.name}, case {number}, {name}" for name in _changed_parts(*cases)]
    return places


def observations_agree(case: DrawnCase, one: Observation, other: Observation, near: float = ALIKE) -> bool:
    """Whether two observations of a case differ by little numbers at most: `near`, relative to 1 and the largest of a sketch.

    Unlike the judge's relation, it does not hang on last digits where observations either are the same or lie well apart.
    """
    comparable = [
        (
            observation.failure,
            observation.structure,
            set(observation.changed),
            excess(case, observation),
            _output_kinds(observation),
        )
        for observation in (one, other)
    ]
    if comparable[0] != comparable[1]:
        return False
    return all(_outputs_agree(a, b, near) for a, b in zip(one.outputs, other.outputs))


def _outputs_agree(first: Output, second: Output, near: float) -> bool:
    a, b = _sketch_of(first), _sketch_of(second)
    if a is None or b is None:
        return a is b
    return _close(a, b, near if "float" in first.dtype else COUNTED)


def _exact_parts(exercise: dict) -> dict:
    """The JSON form of an exercise without the values that a measurement decides."""
    spread = spread_arrays(exercise)
    return {
        **spread,
        "cases": [
            _without_names(case, _RESULT_FIELDS) | {"case": _without_names(case["case"], _ROOM)}
            for case in spread["cases"]
        ],
    }


def _without_names(data: dict, names: tuple) -> dict:
    return {name: value for name, value in data.items() if name not in names}


def _differing_places(a: object, b: object, where: str) -> list[str]:
    """The places at which two JSON values differ."""
    if isinstance(a, dict) and "array" in a and isinstance(b, dict) and "array" in b:
        x, y = unpack_value(a), unpack_value(b)
        return [] if x.dtype == y.dtype and x.shape == y.shape and _close(x, y, ALIKE) else [where]
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return [place for key in a for place in _differing_places(a[key], b[key], f"{where}.{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [
            place for number, pair in enumerate(zip(a, b)) for place in _differing_places(*pair, f"{where}.{number}")
        ]
    return [] if a == b else [where]


def _close(x: np.ndarray, y: np.ndarray, near: float) -> bool:
    if y.dtype.kind != "f":
        return np.array_equal(x, y)
    return np.allclose(x, y, rtol=0, atol=near * (1 + np.abs(y[np.isfinite(y)]).max(initial=0)), equal_nan=True)


def _changed_parts(first: FrozenCase, second: FrozenCase) -> list[str]:
    """The parts in which two forms of a case differ: tolerances, results, gradients and misconceptions."""
    rooms = {
        name: (_tolerance_of(first, name), _tolerance_of(second, name))
        for name in _gradient_names(first) | _gradient_names(second)
    }
    rooms[RESULTS] = _tolerance_of(first), _tolerance_of(second)
    parts = [f"room of {name}" for name, pair in rooms.items() if max(pair) > _MEASURED * min(pair)]
    if not observations_agree(first.case, first.expected, second.expected, _MEASURED * _tolerance_of(first)):
        parts.append("result")
    for name in _gradient_names(first) | _gradient_names(second):
        x, y = (case.expected.gradients.get(name) for case in (first, second))
        if x is not y and (x is None or y is None or not _close(x, y, _MEASURED * _tolerance_of(first, name))):
            parts.append(f"gradient of {name}")
    near = max(ALIKE, _MEASURED * SEPARATION * _tolerance_of(first))
    for name in first.mistakes | second.mistakes:
        first_observation, second_observation = (case.mistakes.get(name) or case.expected for case in (first, second))
        if not observations_agree(first.case, first_observation, second_observation, near):
            parts.append(f"misconception {name}")
    return parts


def _tolerance_of(frozen_case: FrozenCase, gradient: str = RESULTS) -> float:
    usual = tolerance(frozen_case.case, frozen_case.expected)
    return usual if gradient == RESULTS else frozen_case.case.gradient_tolerances.get(gradient, GRADIENTS * usual)


def _gradient_names(frozen_case: FrozenCase) -> dict:
    return frozen_case.expected.gradients | frozen_case.case.gradient_tolerances


def _output_kinds(observation: Observation) -> list[tuple]:
    return [(output.kind, output.dtype, output.shape) for output in observation.outputs]


def _sketch_of(output: Output) -> np.ndarray | None:
    return output.sketch if output.values is None else sketch(output.values)
