"""The numbers of a report: totals, histogram, quarters of a class, and how well an exercise tells students apart."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation, mean, median, pstdev

# With fewer students than this, a statistic says nothing.
ENOUGH = 5
QUARTERS = ("lowest quarter", "second", "third", "highest quarter")


@dataclass(frozen=True)
class Spread:
    """Mean, median and standard deviation of some numbers of points."""

    mean: float
    median: float
    deviation: float

    @classmethod
    def of(cls, points: Sequence[float]) -> "Spread | None":
        """The spread of some numbers of points; None where there are no numbers."""
        return cls(mean(points), median(points), pstdev(points)) if points else None


def histogram(points: Sequence[float], top: float) -> list[dict]:
    """How many of some totals lie in each of at most twelve steps whose width is a whole number of points."""
    width = next(candidate for candidate in (1, 2, 5, 10, 20, 50, 100, 1000) if top <= 12 * candidate)
    steps = max(1, -(-int(top) // width))
    counts = Counter(min(steps - 1, int(total // width)) for total in points)
    return [
        {"from": step * width, "to": min(top, (step + 1) * width), "students": counts[step]} for step in range(steps)
    ]


def quarters(totals: dict[str, float]) -> dict[str, tuple[float, ...]]:
    """Each student's shares of the four quarters of a class by total score, the lowest first; they add up to 1.

    Students of one score take up neighbouring places, in no order among them: each of them has the same share of every
    quarter that these places reach into.
    """
    size, counts, below, shares = len(totals), Counter(totals.values()), 0, {}
    for score in sorted(counts):
        first, last = 4 * below / size, 4 * (below + counts[score]) / size  # on a scale on which a quarter is 1
        shares[score] = tuple(max(0.0, min(last, index + 1) - max(first, index)) / (last - first) for index in range(4))
        below += counts[score]
    return {name: shares[score] for name, score in totals.items()}


def discrimination(scores: dict[str, float], rest: dict[str, float]) -> float | None:
    """Correlation of an exercise's points with the rest of each student's score; None where it cannot be said."""
    if len(scores) < ENOUGH:
        return None
    try:
        return correlation(list(scores.values()), [rest[name] for name in scores])
    except StatisticsError:  # everybody has the same
        return None
