"""Which of a notebook's statements an exercise needs, and in which order they can be run by themselves."""

import builtins
from dataclasses import dataclass, field

from autograder.intake.statements import Statement, statements
from autograder.sandbox.job import JobCell

MAX_STATEMENTS = 5_000  # the most statements of a notebook: nobody writes more by hand
# A name that everybody uses -> how it is imported. A student's kernel may still have it from a cell that is gone.
WELL_KNOWN = {
    "np": "import numpy as np", "numpy": "import numpy", "plt": "import matplotlib.pyplot as plt", "torch": "import torch",
    "nn": "import torch.nn as nn", "F": "import torch.nn.functional as F", "optim": "import torch.optim as optim",
    "Tensor": "from torch import Tensor", "math": "import math", "random": "import random", "time": "import time",
    "copy": "import copy", "itertools": "import itertools", "functools": "import functools", "collections": "import collections",
    "partial": "from functools import partial", "lru_cache": "from functools import lru_cache",
    "defaultdict": "from collections import defaultdict", "Counter": "from collections import Counter",
    "dataclass": "from dataclasses import dataclass", "deepcopy": "from copy import deepcopy",
    "Callable": "from collections.abc import Callable", "tqdm": "from tqdm.auto import tqdm",
    "einops": "import einops", "rearrange": "from einops import rearrange",
    **{name: f"from jaxtyping import {name}" for name in ("Bool", "Float", "Int")},
    **{name: f"from typing import {name}" for name in ("Any", "Dict", "List", "Optional", "Sequence", "Tuple", "Union")},
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A job with only what some exercises need: its cells, and for each exercise the imports that the notebook lacks."""

    cells: list[JobCell]
    imports: dict[str, list[str]]


@dataclass(frozen=True)
class _Placed:
    cell: int
    order: int
    statement: Statement


@dataclass
class _Exercise:
    """What one exercise needs: names, and statements by their order; `own` are the statements that define the exercise."""

    name: str
    check: int
    own: list[_Placed]
    names: set = field(default_factory=set)
    needed: dict[int, _Placed] = field(default_factory=dict)


class Needs:
    """What the exercises of a notebook need of it.

    Args:
        cells: the cells of a job; a cell's "own" names the exercise that the assignment has the cell for.
        first: the released code that runs before the cells.

    Raises:
        ValueError: the cells hold more statements than anybody writes.
    """

    def __init__(self, cells: list[JobCell], first: list[str]):
        self.cells = cells
        texts = [(index, cell["source"]) for index, cell in enumerate(cells) if "source" in cell]
        located = [(index, statement) for index, text in texts for statement in statements(text)]
        if len(located) > MAX_STATEMENTS:
            raise ValueError("too many statements")
        self.placed = [_Placed(index, order, statement) for order, (index, statement) in enumerate(located)]
        self.released = frozenset().union(*(statement.binds for text in first for statement in statements(text)))
        self.binding: dict[str, list[_Placed]] = {}
        self.touching: dict[str, list[_Placed]] = {}
        for placed in self.placed:
            for name in placed.statement.binds:
                self.binding.setdefault(name, []).append(placed)
            for name in placed.statement.touches - self.released:
                self.touching.setdefault(name, []).append(placed)

    def can_be_had(self, name: str) -> bool:
        """Whether something in the notebook would bind the name, or everybody knows what it stands for."""
        return name in self.binding or name in WELL_KNOWN

    def is_disturbed(self, name: str) -> bool:
        """Whether other cells give a name that the exercise needs a new meaning before the exercise's check.

        They do so by binding it after the exercise, or by binding a name of the released imports to something else.
        """
        exercise = self._needs_of(name)
        if not exercise.own:
            return False
        last, own = exercise.own[-1].order, {placed.cell for placed in exercise.own}
        binding = [
            placed for name in exercise.names for placed in self.binding.get(name, ()) if placed.cell < exercise.check
        ]
        between = any(placed.order > last and placed.cell not in own for placed in binding)
        return between or any(self._is_stray(placed, exercise.names) for placed in binding)

    def plan(self, names: list[str]) -> Plan:
        """A job that runs only what the exercises need, and observes each exercise right behind its own statements."""
        exercises = [self._needs_of(name) for name in names]
        needed = {order: placed for exercise in exercises for order, placed in exercise.needed.items()}
        ordered = self._in_order([needed[order] for order in sorted(needed)])
        places = {placed.order: place for place, placed in enumerate(ordered)}
        ends: dict[int, list[str]] = {}
        for exercise in exercises:
            last = max((places[placed.order] for placed in exercise.own), default=len(ordered) - 1)
            ends.setdefault(last, []).append(exercise.name)
        missing = {
            exercise.name: [WELL_KNOWN[name] for name in sorted(self._names_to_import(exercise.names))]
            for exercise in exercises
        }
        lines = dict.fromkeys(line for imports in missing.values() for line in imports)
        cells: list[JobCell] = [{"source": "\n".join(lines)}]
        for place, placed in enumerate(ordered):
            cells.append({"source": placed.statement.source, "pictures": False})
            cells += [{"exercise": name} for name in ends.get(place, ())]
        return Plan(cells + [{"exercise": name} for name in ends.get(-1, ())], missing)

    def _names_to_import(self, names: set) -> set:
        """The well-known names among `names` that neither the released code nor the notebook binds."""
        importable = {name for name in names & WELL_KNOWN.keys() if not hasattr(builtins, name)}
        return importable - self.released - self.binding.keys()

    def _needs_of(self, name: str) -> _Exercise:
        check = next(index for index, cell in enumerate(self.cells) if cell.get("exercise") == name)
        binding = self.binding.get(name, [])
        exercise = _Exercise(name, check, [placed for placed in binding if self._is_own(placed, name)] or binding)
        exercise.needed = {placed.order: placed for placed in exercise.own}
        exercise.needed |= {
            placed.order: placed for placed in self.placed if placed.statement.imports and not placed.statement.binds
        }
        waiting = [name, *(needed_name for placed in exercise.own for needed_name in placed.statement.needs)]
        while waiting:
            needed_name = waiting.pop()
            if needed_name in exercise.names:
                continue
            exercise.names.add(needed_name)
            for placed in (*self.binding.get(needed_name, ()), *self.touching.get(needed_name, ())):
                if placed.order not in exercise.needed and not self._is_other_attempt(placed, exercise):
                    exercise.needed[placed.order] = placed
                    waiting += placed.statement.needs
        own = {placed.order for placed in exercise.own}
        for placed in [*exercise.needed.values()]:
            if placed.order not in own and self._is_stray(placed, exercise.names):
                del exercise.needed[placed.order]
        return exercise

    def _is_own(self, placed: _Placed, name: str) -> bool:
        return self.cells[placed.cell].get("own") == name

    def _is_other_attempt(self, placed: _Placed, exercise: _Exercise) -> bool:
        """Whether a statement is another attempt at the exercise, beside its own."""
        return exercise.name in placed.statement.binds and placed.statement.defines

    def _is_stray(self, placed: _Placed, names: set) -> bool:
        """Whether a statement does no more for the exercise than to give names of the released imports another meaning."""
        statement = placed.statement
        needed = (statement.binds | statement.touches) & names
        plain = not statement.imports and not statement.defines and "own" not in self.cells[placed.cell]
        return bool(needed) and needed <= self.released and plain

    def _in_order(self, needed: list[_Placed]) -> list[_Placed]:
        """The statements in their order; one that alone binds what an earlier one needs at once is moved before that one."""
        first: dict[str, _Placed] = {}
        for placed in needed:
            for name in placed.statement.binds:
                first.setdefault(name, placed)
        done: dict[int, _Placed] = {}
        waiting: set[int] = set()

        def put(placed: _Placed) -> None:
            if placed.order in waiting:
                return
            waiting.add(placed.order)
            for name in sorted(placed.statement.at_once & first.keys()):
                if first[name].order > placed.order and name not in self.released:
                    put(first[name])
            done[placed.order] = placed

        for placed in needed:
            put(placed)
        return [*done.values()]
