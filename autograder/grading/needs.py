"""Which of a notebook's statements an exercise needs, and in which order they can be run by themselves."""

import builtins
from dataclasses import dataclass, field

from autograder.intake.statements import Statement, statements
from autograder.sandbox.job import JobCell

MAX_STATEMENTS = 5_000  # of a notebook: nobody writes more by hand
WELL_KNOWN = {  # what everybody calls it -> how it is imported: left in a kernel by a cell that is gone
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
    """What one exercise needs: names, and statements by their order; `own` are those that define it."""

    name: str
    check: int
    own: list[_Placed]
    names: set = field(default_factory=set)
    needed: dict[int, _Placed] = field(default_factory=dict)


class Needs:
    """What the exercises of a notebook need of it.

    Args:
        cells: of a job; "own" in one names the exercise that the assignment has that cell for.
        first: the released code that runs before them.

    Raises:
        ValueError: there are more statements than anybody writes.
    """

    def __init__(self, cells: list[JobCell], first: list[str]):
        self.cells = cells
        texts = [(index, cell["source"]) for index, cell in enumerate(cells) if "source" in cell]
        read = [(index, one) for index, text in texts for one in statements(text)]
        if len(read) > MAX_STATEMENTS:
            raise ValueError("too many statements")
        self.placed = [_Placed(index, order, one) for order, (index, one) in enumerate(read)]
        self.released = frozenset().union(*(one.binds for text in first for one in statements(text)))
        self.binding: dict[str, list[_Placed]] = {}
        self.touching: dict[str, list[_Placed]] = {}
        for one in self.placed:
            for name in one.statement.binds:
                self.binding.setdefault(name, []).append(one)
            for name in one.statement.touches - self.released:
                self.touching.setdefault(name, []).append(one)

    def can_be_had(self, name: str) -> bool:
        """Whether something in the notebook would bind the name, or everybody knows what it stands for."""
        return name in self.binding or name in WELL_KNOWN

    def is_disturbed(self, name: str) -> bool:
        """Whether a name that the exercise needs is bound again between it and its check, or stands for something else than
        the released imports have it for."""
        wanted = self._exercise(name)
        if not wanted.own:
            return False
        last, own = wanted.own[-1].order, {one.cell for one in wanted.own}
        binding = [one for needed in wanted.names for one in self.binding.get(needed, ()) if one.cell < wanted.check]
        between = any(one.order > last and one.cell not in own for one in binding)
        return between or any(self._is_stray(one, wanted.names) for one in binding)

    def plan(self, names: list[str]) -> Plan:
        """A job in which each exercise is observed right behind its own statements, and nothing runs that none of them needs."""
        wanted = [self._exercise(name) for name in names]
        needed = {order: one for exercise in wanted for order, one in exercise.needed.items()}
        ordered = self._in_order([needed[order] for order in sorted(needed)])
        places = {one.order: place for place, one in enumerate(ordered)}
        ends: dict[int, list[str]] = {}
        for one in wanted:
            last = max((places[each.order] for each in one.own), default=len(ordered) - 1)
            ends.setdefault(last, []).append(one.name)
        missing = {one.name: [WELL_KNOWN[each] for each in sorted(self._missing(one.names))] for one in wanted}
        lines = dict.fromkeys(line for found in missing.values() for line in found)
        cells: list[JobCell] = [{"source": "\n".join(lines)}]
        for place, placed in enumerate(ordered):
            cells.append({"source": placed.statement.source, "pictures": False})
            cells += [{"exercise": name} for name in ends.get(place, ())]
        return Plan(cells + [{"exercise": name} for name in ends.get(-1, ())], missing)

    def _missing(self, names: set) -> set:
        known = {name for name in names & WELL_KNOWN.keys() if not hasattr(builtins, name)}
        return known - self.released - self.binding.keys()

    def _exercise(self, name: str) -> _Exercise:
        check = next(index for index, cell in enumerate(self.cells) if cell.get("exercise") == name)
        binding = self.binding.get(name, [])
        found = _Exercise(name, check, [one for one in binding if self._is_own(one, name)] or binding)
        found.needed = {one.order: one for one in found.own}
        found.needed |= {one.order: one for one in self.placed if one.statement.imports and not one.statement.binds}
        waiting = [name, *(need for one in found.own for need in one.statement.needs)]
        while waiting:
            needed = waiting.pop()
            if needed in found.names:
                continue
            found.names.add(needed)
            for one in (*self.binding.get(needed, ()), *self.touching.get(needed, ())):
                if one.order not in found.needed and not self._is_other(one, found):
                    found.needed[one.order] = one
                    waiting += one.statement.needs
        for one in [*found.needed.values()]:
            if one not in found.own and self._is_stray(one, found.names):
                del found.needed[one.order]
        return found

    def _is_own(self, one: _Placed, name: str) -> bool:
        return self.cells[one.cell].get("own") == name

    def _is_other(self, one: _Placed, exercise: _Exercise) -> bool:
        """Whether a statement is another attempt at the exercise, beside its own."""
        return exercise.name in one.statement.binds and one.statement.defines

    def _is_stray(self, one: _Placed, names: set) -> bool:
        """Whether a statement makes something else of a name of the released imports, and nothing that is needed."""
        statement = one.statement
        needed = (statement.binds | statement.touches) & names
        plain = not statement.imports and not statement.defines and "own" not in self.cells[one.cell]
        return bool(needed) and needed <= self.released and plain

    def _in_order(self, placed: list[_Placed]) -> list[_Placed]:
        """The statements in their order, but before each those further down that alone bind what it needs at once."""
        first: dict[str, _Placed] = {}
        for one in placed:
            for name in one.statement.binds:
                first.setdefault(name, one)
        done: dict[int, _Placed] = {}
        waiting: set[int] = set()

        def put(one: _Placed) -> None:
            if one.order in waiting:
                return
            waiting.add(one.order)
            for name in sorted(one.statement.at_once & first.keys()):
                if first[name].order > one.order and name not in self.released:
                    put(first[name])
            done[one.order] = one

        for one in placed:
            put(one)
        return [*done.values()]
