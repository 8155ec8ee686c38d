"""How each student stands in a course: points by unit, what is missing, and who may be falling behind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from autograder.gradebook.marks import Total
from autograder.gradebook.outcomes import Record
from autograder.grading.examined import MALFORMED, MISSING, WRONG_NOTEBOOK

LAST = 3  # units by which one sees who is falling behind
ENOUGH_OF_THEM = 2  # of these, missing or far below
FAR_BELOW = 0.5  # of the share of points that the median student has


@dataclass(frozen=True)
class InUnit:
    """What a student has in one unit.

    Attributes:
        of: the points that are graded so far; what a human has not marked yet is in neither number.
        open: the points that are not graded yet.
        state: missing (nothing was handed in), unread (nothing that could be graded), or nothing.
    """

    points: float
    of: float
    open: float
    state: str

    @property
    def share(self) -> float:
        return self.points / self.of if self.of else 0.0


@dataclass
class InCourse:
    """A student's line: what is there of each unit that the student was in the class for.

    Attributes:
        missing: of the last units, those without a submission.
        below: of the last units, those with less than half of the share that the class's median student has.
    """

    student: str
    units: dict[str, InUnit] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        return sum(one.points for one in self.units.values())

    @property
    def of(self) -> float:
        return sum(one.of for one in self.units.values())

    @property
    def absent(self) -> bool:
        """Whether nothing was ever handed in."""
        return all(one.state == MISSING for one in self.units.values())

    def at_risk(self, last: int) -> bool:
        """Whether enough of the last units are missing or far below, of a student who does hand in."""
        return not self.absent and len(self.missing) + len(self.below) >= min(ENOUGH_OF_THEM, last)


def in_course(
    results: Mapping[str, Iterable[Record]], totals: Mapping[str, Mapping[str, Total]]
) -> tuple[list[InCourse], dict[str, float]]:
    """The students in the order of their names, and the median share of each unit among those who handed in.

    Args:
        results: the records of each unit, in the order of the units.
        totals: the gradebook's totals; where it has none of a student, what was graded automatically counts.
    """
    found: dict[str, InCourse] = {}
    for unit, records in results.items():
        rows: dict[str, list[Record]] = {}
        for one in records:
            rows.setdefault(one["student"], []).append(one)
        for student, row in rows.items():
            line = found.setdefault(student, InCourse(student))
            line.units[unit] = _in_unit(row, totals.get(unit, {}).get(student))
    everyone = [found[student] for student in sorted(found)]
    medians = {unit: _median(unit, everyone) for unit in results}
    for unit in list(results)[-LAST:]:
        for line in everyone:
            if own := line.units.get(unit):
                if own.state == MISSING:
                    line.missing.append(unit)
                elif own.share < FAR_BELOW * medians[unit]:
                    line.below.append(unit)
    return everyone, medians


def _median(unit: str, everyone: list[InCourse]) -> float:
    there = [line.units[unit].share for line in everyone if unit in line.units and line.units[unit].state != MISSING]
    return median(there) if there else 0.0


def _in_unit(row: list[Record], total: Total | None) -> InUnit:
    states = {one["state"] for one in row}
    state = MISSING if states == {MISSING} else "unread" if states <= {MALFORMED, WRONG_NOTEBOOK} else ""
    if total:
        return InUnit(total.points, total.most - total.open, total.open, state)
    return InUnit(sum(one["points"] for one in row), sum(one["max_points"] for one in row), 0.0, state)
