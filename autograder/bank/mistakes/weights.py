"""Weights that could be another: 0, negated or exchanged; in equal blocks all at once, as a mistake in a block's code has it."""

import re
from collections.abc import Callable, Iterator
from itertools import combinations

import torch
from torch import nn

from autograder.bank.declaration import Exercise

BLOCKS = 4  # of a list of equal blocks, where weights are looked for
MOST_PAIRS = 12  # of weights that could stand for each other; a module of many layers would have hundreds


def of_weights(exercise: Exercise) -> Iterator[tuple]:
    """Changes of weights: a name, what is another, a question, and the change itself of weights by name."""
    if not exercise.is_module:
        return
    names = _weights(exercise)
    for name in names:
        question = "Is it added?" if name.endswith("bias") else "Is it used, and does it make a difference there?"
        yield f"{name} zero", f"{name} were 0{_for_all(name)}", question, _each(name, lambda weight: weight * 0)
        opposite = f"{name} had the opposite sign{_for_all(name)}"
        yield f"{name} negated", opposite, "", _each(name, lambda weight: -weight)
    pairs = [pair for pair in combinations(names, 2) if _same_role(*pair)]
    for one, other in pairs[:MOST_PAIRS]:
        swapped = f"{one} and {other} changed places{_for_all(one)}"
        yield f"{one} and {other} swapped", swapped, "", _exchanging(one, other, True)
        for stays, goes in ((one, other), (other, one)):
            too = f"{stays} stood in the place of {goes} too{_for_all(one)}"
            yield f"{stays} for {goes}", too, "", _exchanging(stays, goes, False)


def _weights(exercise: Exercise) -> list[str]:
    """The names of a module's weights; of equal blocks, as many as are asked for, those of all in one: blocks[i].norm.bias."""
    sizes = dict.fromkeys(exercise.constructor, BLOCKS)
    with torch.random.fork_rng(devices=[]):
        module = exercise.reference(**sizes)
    names = [name for name, _ in module.named_parameters()]
    for blocks, one in module.named_modules():
        if isinstance(one, nn.ModuleList) and len(one) == BLOCKS:
            own = re.compile(rf"{re.escape(blocks)}\.\d+\.")
            names = [own.sub(f"{blocks}[i].", name) for name in names]
    return list(dict.fromkeys(names))


def _for_all(name: str) -> str:
    return " for all i" if "[i]" in name else ""


def _own(name: str, weights: dict) -> dict[tuple, str]:
    """The weights that a name stands for, by what stands in the place of i."""
    pattern = re.compile(re.escape(name).replace(r"\[i\]", r"\.(\d+)"))
    found = {match.groups(): weight for weight in weights if (match := pattern.fullmatch(weight))}
    if not found:
        raise ValueError(f"there is no {name}")
    return found


def _each(name: str, change: Callable) -> Callable:
    return lambda weights: {**weights, **{own: change(weights[own]) for own in _own(name, weights).values()}}


def _same_role(one: str, other: str) -> bool:
    return one.rpartition(".")[2] == other.rpartition(".")[2] and one.count("[i]") == other.count("[i]")


def _exchanging(one: str, other: str, both: bool) -> Callable:
    """Weights with `one` in the place of `other`; with `both` the other way round too. Their shapes must fit."""

    def changed(weights: dict) -> dict:
        names = [_own(name, weights) for name in (one, other)]
        pairs = [(names[0][place], names[1][place]) for place in names[0].keys() | names[1].keys()]
        if any(weights[a].shape != weights[b].shape for a, b in pairs):
            raise ValueError(f"{one} and {other} have different shapes")
        placed = {b: weights[a] for a, b in pairs} | ({a: weights[b] for a, b in pairs} if both else {})
        return {**weights, **placed}

    return changed
