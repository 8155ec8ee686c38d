"""Finds out from an exercise's declaration what a general hint may speak of: masks, softmax."""

from utils.checking.records import FrozenExercise

_HIDING = ("mask", "allowed", "causal", "padd", "lengths", "attend", "just these", "these alone")
_EXPONENTIALS = ("softmax", "exp(")


def hides(exercise: FrozenExercise) -> bool:
    """Whether some positions do not count in the exercise, so that a hint may speak of masks."""
    declared = " ".join((exercise.name, exercise.formula, *exercise.parameters)).lower()
    return bool(exercise.zeros) or any(word in declared for word in _HIDING)


def takes_exponentials(exercise: FrozenExercise) -> bool:
    """Whether the exercise's formula has a softmax, or exp by itself."""
    return any(word in exercise.formula for word in _EXPONENTIALS)
