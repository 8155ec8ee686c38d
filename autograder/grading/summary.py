"""What grading a unit has come to, in a screen: marks, exercises, what needs a person, and what to do next."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import mean, median

from autograder.gradebook.marks import Lateness
from autograder.gradebook.outcomes import Record
from autograder.grading.examined import UNJUDGED
from autograder.intake.places import listed
from autograder.sandbox import levels

BY_HAND = "to be marked by hand in formgrader, since grading could not run them"
_STATES = {  # told when it is not "graded"
    "missing": "handed nothing in",
    "malformed": "handed in a file that cannot be read",
    "other_notebook": "handed in another notebook",
    "timeout": "took too long somewhere",
    "killed": "ended the process somewhere",
}


def summary(unit: str, records: list[Record], late: Mapping[str, Lateness], waiting: int) -> list[str]:
    """The lines that `grade` prints by default, at most about twenty.

    Args:
        late: who handed in late.
        waiting: how many written answers wait for a mark.
    """
    rows = _by_student(records)
    there = {student: own for student, own in rows.items() if {one["state"] for one in own} != {"missing"}}
    most = sum(one["max_points"] for one in next(iter(rows.values()), []))
    lines = [f"{unit}: {_count(len(rows), 'student')}, {len(there)} handed in", *_marks(there, most), ""]
    lines += _exercises(there)
    lines += ["", *_needing(rows), *_late(late), *_to_mark(unit, waiting)]
    used = sorted({one["sandbox"] for one in records} - {""})
    lines += [f"sandbox: {level} ({levels.MEANING[level]})" for level in used]
    number = unit[:2]
    lines.append(f"next: report {number}, feedback {number}; `grade {number} --table` has a line for each student")
    return lines


def who_needs_you(unit: str, records: list[Record], waiting: int) -> list[str]:
    """The lines of it that ask something of the instructor: hand-ins that could not be examined, and answers without a mark."""
    return [*_needing(_by_student(records)), *_to_mark(unit, waiting)]


def _by_student(records: list[Record]) -> dict[str, list[Record]]:
    rows: dict[str, list[Record]] = defaultdict(list)
    for one in records:
        rows[one["student"]].append(one)
    return rows


def _marks(there: Mapping[str, list[Record]], most: float) -> list[str]:
    totals = [sum(one["points"] for one in own) for own in there.values()]
    if not totals:
        return []
    return [f"mean {mean(totals):.1f} of {most:g}, median {median(totals):g}, from {min(totals):g} to {max(totals):g}"]


def _exercises(there: Mapping[str, list[Record]]) -> list[str]:
    by_name: dict[str, list[Record]] = defaultdict(list)
    for own in there.values():
        for one in own:
            by_name[one["exercise"]].append(one)
    if not by_name:
        return []
    wide = max(map(len, by_name))
    lines = [f"{'exercise':<{wide}}   max   mean  right  most frequent"]
    for name, found in by_name.items():
        points = found[0]["max_points"]
        right = sum(not one["problem"] for one in found) / len(found)
        said = Counter(one["misconception"] or one["problem"] for one in found if one["problem"])
        most = ", ".join(f"{what} {count}" for what, count in said.most_common(2))
        average = f"{mean(one['points'] for one in found):6.1f}" if points else "     ·"
        lines.append(f"{name:<{wide}}  {points or '·':>4}{average}  {right:5.0%}  {most}".rstrip())
    return lines


def _needing(rows: Mapping[str, list[Record]]) -> list[str]:
    lines = []
    for state, what in _STATES.items():
        students = sorted(student for student, own in rows.items() if any(one["state"] == state for one in own))
        if students:
            lines.append(f"{len(students)} {what}: {listed(students)}")
    left = [f"{one['student']} {one['exercise']}" for own in rows.values() for one in own if one["state"] == UNJUDGED]
    return lines + ([f"{BY_HAND}: {', '.join(left)}"] if left else [])


def _late(late: Mapping[str, Lateness]) -> list[str]:
    if not late:
        return []
    paying = sorted(student for student, one in late.items() if one.penalty)
    cost = f"; {len(paying)} lose points: {listed(paying)}" if paying else "; nobody loses points"
    return [f"{len(late)} handed in after the due date{cost}"]


def _to_mark(unit: str, waiting: int) -> list[str]:
    """A line that says how many written answers wait for a mark; none where none do."""
    verb = "waits" if waiting == 1 else "wait"
    return [f"{_count(waiting, 'written answer')} {verb} for a mark: mark {unit[:2]}"] if waiting else []


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
