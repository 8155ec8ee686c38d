"""Finds facts about where numbers are wrong: only at the first or last position of an axis, or everywhere but there."""

import numpy as np

from utils.checking.explaining.facts import Fact, Facts, Kind, called, last_of_each
from utils.checking.judging.tolerance import close
from utils.checking.messages.facts import places as words

POSITIONS = "NTSLM"  # the first letters of axes whose indices are positions: of tokens, patches, objects, steps
STEPS = ("steps", "L", "T")  # axes along which each position depends on those before


def place_facts(name: str, axes: list[str], expected: np.ndarray, actual: np.ndarray, limit: float) -> Facts:
    """Whether, along an axis of at least three positions, only the first or the last is wrong, or only one of these is right."""
    right = close(actual, expected, limit)
    facts: Facts = []
    for axis in range(right.ndim):
        if right.shape[axis] >= 3:
            label = called(axes, axis, right.ndim)
            label = "the batch" if axis == 0 and label.startswith("B") else label
            facts += _ends(name, label, right, axis) + _prefix(name, label, right, axis)
    return last_of_each(facts)


def _ends(name: str, label: str, right: np.ndarray, axis: int) -> Facts:
    """Whether the first or the last position of an axis is the only one that is wrong, or the only one that is right."""
    others = tuple(other for other in range(right.ndim) if other != axis)
    all_right, some_wrong = np.asarray(right.all(axis=others)), np.asarray((~right).any(axis=others))
    facts: Facts = []
    for which, place in (("first", 0), ("last", -1)):
        alone = np.zeros(len(all_right), dtype=np.bool_)
        alone[place] = True
        if np.array_equal(some_wrong, alone):
            sentence = words.wrong_at(name, which=which, axis=label)
            facts.append(Fact(Kind.WRONG_AT, name, axis=label, value=which, sentence=sentence))
        elif np.array_equal(all_right, alone) and not (which == "first" and label in STEPS):
            sentence = words.right_at(name, which=which, axis=label)
            facts.append(Fact(Kind.RIGHT_AT, name, axis=label, value=which, sentence=sentence))
    return facts


def _prefix(name: str, label: str, right: np.ndarray, axis: int) -> Facts:
    """Whether, along an axis of steps, the first steps are right and none afterwards, or none from the start."""
    if label not in STEPS or right.all():
        return []
    steps = np.moveaxis(right, axis, 0).reshape(right.shape[axis], -1)
    first = int((~steps.all(axis=1)).argmax())
    if first:
        sentence = words.right_at_first(name, axis=label, count=first)
        return [
            Fact(Kind.AFTER_A_START, name, value=first, sentence=sentence),
            Fact(Kind.AFTER_A_START, name, sentence=words.wrong_later(name, axis=label)),
        ]
    return [Fact(Kind.FROM_THE_START, name, sentence=words.wrong_from_the_start(name, axis=label))]
