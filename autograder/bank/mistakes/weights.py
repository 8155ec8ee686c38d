"""Changes of weights: set to 0, negated or exchanged; in equal blocks all at once, as a mistake in a block's code has it."""

import re
from collections.abc import Callable, Iterator
from itertools import combinations

import torch
from torch import nn

from autograder.bank.declaration import Exercise

BLOCKS = 4  # equal blocks in a module's list, when the names of its weights are collected
MOST_PAIRS = 12  # pairs of weights that could stand for each other; a module of many layers would have hundreds


def of_weights(exercise: Exercise) -> Iterator[tuple]:
    """(name, what would be so, a question, the change of all weights by name) for each change of an exercise's weights."""
    if not exercise.is_module:
        return
    names = _weight_names(exercise)
    for name in names:
        question = "Is it added?" if name.endswith("bias") else "Is it used, and does it make a difference there?"
        yield (
            f"{name} zero",
            f"{name} were 0{_for_all_blocks(name)}",
            question,
            _changing_each(name, lambda weight: weight * 0),
        )
        opposite = f"{name} had the opposite sign{_for_all_blocks(name)}"
        yield f"{name} negated", opposite, "", _changing_each(name, lambda weight: -weight)
    pairs = [pair for pair in combinations(names, 2) if _same_role(*pair)]
    for first, second in pairs[:MOST_PAIRS]:
        swapped = f"{first} and {second} changed places{_for_all_blocks(first)}"
        yield f"{first} and {second} swapped", swapped, "", _exchanging(first, second, True)
        for stays, goes in ((first, second), (second, first)):
            too = f"{stays} stood in the place of {goes} too{_for_all_blocks(first)}"
            yield f"{stays} for {goes}", too, "", _exchanging(stays, goes, False)


def _weight_names(exercise: Exercise) -> list[str]:
    """The names of a module's weights, with one name for the same weight of all equal blocks: blocks[i].norm.bias."""
    sizes = dict.fromkeys(exercise.constructor, BLOCKS)
    with torch.random.fork_rng(devices=[]):
        module = exercise.reference(**sizes)
    names = [name for name, _ in module.named_parameters()]
    for blocks, module_list in module.named_modules():
        if isinstance(module_list, nn.ModuleList) and len(module_list) == BLOCKS:
            own = re.compile(rf"{re.escape(blocks)}\.\d+\.")
            names = [own.sub(f"{blocks}[i].", name) for name in names]
    return list(dict.fromkeys(names))


def _for_all_blocks(name: str) -> str:
    return " for all i" if "[i]" in name else ""


def _weights_by_index(name: str, weights: dict) -> dict[tuple, str]:
    """The names of the weights that a name with [i] stands for, by the indices in the place of i."""
    pattern = re.compile(re.escape(name).replace(r"\[i\]", r"\.(\d+)"))
    weights_by_index = {match.groups(): weight for weight in weights if (match := pattern.fullmatch(weight))}
    if not weights_by_index:
        raise ValueError(f"there is no {name}")
    return weights_by_index


def _changing_each(name: str, change: Callable) -> Callable:
    return lambda weights: {
        **weights,
        **{own: change(weights[own]) for own in _weights_by_index(name, weights).values()},
    }


def _same_role(first: str, second: str) -> bool:
    return first.rpartition(".")[2] == second.rpartition(".")[2] and first.count("[i]") == second.count("[i]")


def _exchanging(source: str, target: str, both: bool) -> Callable:
    """Weights with `source` in the place of `target`; with `both` the two change places. Their shapes must fit."""

    def changed(weights: dict) -> dict:
        names = [_weights_by_index(name, weights) for name in (source, target)]
        pairs = [(names[0][place], names[1][place]) for place in names[0].keys() | names[1].keys()]
        if any(weights[a].shape != weights[b].shape for a, b in pairs):
            raise ValueError(f"{source} and {target} have different shapes")
        placed = {b: weights[a] for a, b in pairs} | ({a: weights[b] for a, b in pairs} if both else {})
        return {**weights, **placed}

    return changed
