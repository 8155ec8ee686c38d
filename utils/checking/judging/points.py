"""Counts points: most of a part's points are for its idea, a share is for robustness, which every exercise demands."""

from collections.abc import Sequence

from utils.checking.judging.verdict import Verdict
from utils.checking.records import FrozenExercise

ROBUSTNESS = 0.25  # the share of a part's points for robustness: types, layouts, sizes, magnitudes, repeated calls


def earned(exercise: FrozenExercise, verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The earned points of each part: none where the idea is missed, all but the share for robustness where only that fails."""
    points: dict[str, float] = {}
    for part, most in exercise.points.items():
        own = [verdict for verdict in verdicts if verdict.part == part]
        if not own or any(verdict.misses_idea for verdict in own):
            points[part] = 0
        else:
            points[part] = most if all(verdict.passed for verdict in own) else most * (1 - ROBUSTNESS)
    return points
