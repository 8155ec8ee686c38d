"""How each student stands in a course: points by unit, what is missing, and who may be falling behind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from autograder.gradebook.marks import Total
from autograder.gradebook.outcomes import Record
from autograder.grading.examined import MALFORMED, MISSING, WRONG_NOTEBOOK

LAST = 3  # last units, by which one sees who is falling behind
ENOUGH_OF_THEM = 2  # of these units, missing or far below the median
FAR_BELOW = 0.5  # a share of the points below this part of the median student's is far below


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
        return sum(result.points for result in self.units.values())

    @property
    def of(self) -> float:
        return sum(result.of for result in self.units.values())

    @property
    def absent(self) -> bool:
        """Whether nothing was ever handed in."""
        return all(result.state == MISSING for result in self.units.values())

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
    lines: dict[str, InCourse] = {}
    for unit, records in results.items():
        rows: dict[str, list[Record]] = {}
        for record in records:
            rows.setdefault(record["student"], []).append(record)
        for student, row in rows.items():
            line = lines.setdefault(student, InCourse(student))
            line.units[unit] = _in_unit(row, totals.get(unit, {}).get(student))
    everyone = [lines[student] for student in sorted(lines)]
    medians = {unit: _median_share(unit, everyone) for unit in results}
    for unit in list(results)[-LAST:]:
        for line in everyone:
            if in_unit := line.units.get(unit):
                if in_unit.state == MISSING:
                    line.missing.append(unit)
                elif in_unit.share < FAR_BELOW * medians[unit]:
                    line.below.append(unit)
    return everyone, medians


def _median_share(unit: str, everyone: list[InCourse]) -> float:
    shares = [line.units[unit].share for line in everyone if unit in line.units and line.units[unit].state != MISSING]
    return median(shares) if shares else 0.0


def _in_unit(records: list[Record], total: Total | None) -> InUnit:
    states = {record["state"] for record in records}
    state = MISSING if states == {MISSING} else "unread" if states <= {MALFORMED, WRONG_NOTEBOOK} else ""
    if total:
        return InUnit(total.points, total.most - total.open, total.open, state)
    return InUnit(
        sum(record["points"] for record in records), sum(record["max_points"] for record in records), 0.0, state
    )
