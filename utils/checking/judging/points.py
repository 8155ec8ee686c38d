"""Counts points: most of a part's points are for its idea, a share is for what holds everywhere."""

from collections.abc import Sequence

from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenExercise

ROBUSTNESS = 0.25  # of a part's points: for types, layouts, sizes, magnitudes, repeated calls


def earned(exercise: FrozenExercise, verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The points of each part: none where the idea is missed, all but the share for robustness where something else fails."""
    points: dict[str, float] = {}
    for part, most in exercise.points.items():
        own = [one for one in verdicts if one.part == part]
        if not own or any(one.misses_idea for one in own):
            points[part] = 0
        else:
            points[part] = most if all(one.passed for one in own) else most * (1 - ROBUSTNESS)
    return points
