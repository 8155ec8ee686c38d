"""Packs an exercise with its frozen numbers for a file, in which repeated values are written once, and unpacks it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from utils.checking.packs.packing import pack, unpack_case, unpack_observation, unpack_value
from utils.checking.records import FrozenCase, FrozenExercise, Observation


def tabulate_mistakes(packed: dict, names: list[str]) -> dict:
    """The JSON form of an exercise in which mistakes that differ in their numbers alone are rows of a table.

    A case's "same" are the numbers, among `names`, of the mistakes that give what is expected, its "table" those of the rows.
    """
    return {**packed, "cases": [_tabulate_case(case, names) for case in packed["cases"]]}


def _tabulate_case(case: dict, names: list[str]) -> dict:
    mistakes = case.get("mistakes", {})
    same = [number for number, name in enumerate(names) if name in mistakes and mistakes[name] is None]
    rows = [number for number, name in enumerate(names) if _is_plain(mistakes.get(name), case["expected"])]
    sketches = [[unpack_value(output["sketch"]) for output in mistakes[names[number]]["outputs"]] for number in rows]
    rest = {name: packed for name, packed in mistakes.items() if packed and names.index(name) not in rows}
    with np.errstate(over="ignore"):  # a number that single precision cannot hold becomes infinite, and matches nothing
        table = {"table": rows, "sketches": pack(np.asarray(sketches, dtype=np.float32))} if rows else {}
    return {**{key: value for key, value in case.items() if key != "mistakes"}, "mistakes": rest, "same": same, **table}


def _is_plain(packed_mistake: dict | None, expected: dict) -> bool:
    """Whether a mistake's observation is the expected one but for its outputs' numbers, of which there are sketches."""
    if (
        not packed_mistake
        or set(packed_mistake) != {"structure", "outputs"}
        or packed_mistake["structure"] != expected.get("structure")
    ):
        return False
    forms = [
        [{key: output.get(key) for key in _FORM} for output in packed["outputs"]]
        for packed in (packed_mistake, expected)
    ]
    return forms[0] == forms[1] and all("sketch" in output for output in packed_mistake["outputs"])


_FORM = ("kind", "dtype", "device", "shape")


def _unpack_mistakes(case: dict, expected: Observation, names: list[str]) -> dict:
    """A case's mistakes by name, from what `tabulate_mistakes` made of them."""
    mistakes = {name: packed and unpack_observation(packed) for name, packed in case.get("mistakes", {}).items()}
    mistakes |= {names[number]: None for number in case.get("same", ())}
    sketches = unpack_value(case["sketches"]) if "table" in case else ()
    for number, row in zip(case.get("table", ()), sketches):
        outputs = tuple(
            replace(output, values=None, sketch=sketch.astype(np.float64), carries_gradient=False)
            for output, sketch in zip(expected.outputs, row)
        )
        mistakes[names[number]] = Observation(structure=expected.structure, outputs=outputs)
    return mistakes


def share_arrays(packed: dict) -> dict:
    """The JSON form of an exercise with each array's bytes written once, under "shared", and numbered where they belong."""
    shared: dict[str, int] = {}

    def number(array: dict) -> dict:
        return {**array, "data": shared.setdefault(array["data"], len(shared))}

    return {**_each_array(packed, number), "shared": list(shared)}


def spread_arrays(data: dict) -> dict:
    """The form that `share_arrays` took; a form without shared arrays as it is."""
    shared = data.get("shared", [])

    def bring(array: dict) -> dict:
        return {**array, "data": shared[array["data"]]} if isinstance(array["data"], int) else array

    return _each_array({name: value for name, value in data.items() if name != "shared"}, bring)


def _each_array(value: Any, change: Callable) -> Any:
    if isinstance(value, dict):
        if "array" in value:
            return change(value)
        return {name: _each_array(item, change) for name, item in value.items()}
    return [_each_array(item, change) for item in value] if isinstance(value, (list, tuple)) else value


def unpack_exercise(data: dict) -> FrozenExercise:
    """A FrozenExercise from its JSON form."""
    data = spread_arrays(data)
    names = list(data["misconceptions"])
    cases = []
    for item in data["cases"]:
        expected = unpack_observation(item["expected"])
        units = tuple(np.asarray(unpack_value(unit)) for unit in item.get("units", ()))
        cases.append(FrozenCase(unpack_case(item["case"]), expected, _unpack_mistakes(item, expected, names), units))
    rest = {
        name: tuple(data.get(name, ()))
        for name in ("parameters", "constructor", "forbidden", "zeros", "taught", "invented", "universal")
    }
    outputs = tuple((name, shape) for name, shape in data["outputs"])
    return FrozenExercise(**{**data, **rest, "outputs": outputs, "cases": tuple(cases)})
